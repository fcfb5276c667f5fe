// What of cuDNN is no convolution, on the CPU device, each against its definition in double.
#include <catch2/catch.hpp>
#include <chrono>
#include <map>

#include "test/libraries/dnn_runs.h"

namespace rouse::dnn {
namespace {

constexpr Layout kLayouts[] = {Layout::rows, Layout::channels, Layout::gaps};
constexpr Type kFloats[] = {Type::f32, Type::f16, Type::bf16, Type::f64};
constexpr std::uint16_t kNone = kNoTensor;

// float in every layout, the other types in one each.
bool meets(Layout layout, Type type) { return type == Type::f32 || layout == kLayouts[static_cast<int>(type) % 3]; }

void scaled(Node& node, Type type, bool really) {
  if (type == Type::f64) node.compute = Type::f64;
  if (!really) return;
  node.alpha = 0.5;
  node.beta = 2;
}

}  // namespace

TEST_CASE("pointwise operations: each mode", "[dnn]") {
  for (std::uint16_t mode = 0; mode < 1000; ++mode) {
    const std::uint32_t inputs = pointwiseInputs(mode);
    if (inputs == 0) continue;
    // What has a jump or a pole is asked where it has none.
    const bool positive = mode == 4 || mode == 6 || mode == 8 || mode == 15 || mode == 17 || mode == 22 || mode == 7;
    for (const Type type : {Type::f32, Type::f64}) {
      INFO("mode " << mode << ", type " << int(type));
      GraphOf g;
      const Dims dims{2, 3, 5, 7};
      const auto x = g.tensor(dims, type), b = inputs > 1 ? g.tensor({1, 3, 1, 7}, type) : kNone, t = inputs > 2 ? g.tensor(dims, Type::boolean) : kNone;
      const auto y = g.tensor(dims, type, Layout::channels);
      Node& node = g.node(Operation::pointwise, {x, b, t}, {y}, mode);
      node.compute = type;
      node.numbers[kAxis] = 1;
      node.numbers[kEluAlpha] = 1.3;
      node.numbers[kSwishBeta] = 0.7;
      node.numbers[kSoftplusBeta] = 1.5;
      compare(g, mode, positive ? 0.25 : -2, 2, type == Type::f32 ? 1e-4 : 1e-7);
    }
  }
}

TEST_CASE("pointwise operations: factors, clips, alpha and beta, scalars, repeated dimensions", "[dnn]") {
  for (const Layout layout : kLayouts) {
    for (const Type type : kFloats) {
      GraphOf g;
      const auto x = g.tensor({2, 20, 40, 30}, type, layout), b = g.tensor({1, 20, 1, 1}, type), y = g.tensor({2, 20, 40, 30}, type, layout);
      Node& node = g.node(Operation::pointwise, {x, b}, {y}, 0);
      scaled(node, type, true);
      node.numbers[kScaleX] = 2;
      node.numbers[kScaleB] = -3;
      compare(g, 4, -1, 1, type == Type::f32 ? 0 : 2 * toleranceOf(type));
    }
  }
  GraphOf clipped;
  const auto x = clipped.tensor({3, 50}), y = clipped.tensor({3, 50}), dy = clipped.tensor({3, 50}), dx = clipped.tensor({3, 50});
  for (Node* node : {&clipped.node(Operation::pointwise, {x}, {y}, 100)}) {
    node->numbers[kLowerClip] = -0.5;
    node->numbers[kUpperClip] = 0.75;
    node->numbers[kLowerSlope] = 0.1;
  }
  Node& back = clipped.node(Operation::pointwise, {dy, x}, {dx}, 200);
  back.numbers[kLowerClip] = -0.5;
  back.numbers[kUpperClip] = 0.75;
  back.numbers[kLowerSlope] = 0.1;
  compare(clipped, 5, -2, 2);
  GraphOf scalar;
  const auto z = scalar.tensor({4, 9}), two = scalar.scalar(2.5f, 2), to = scalar.tensor({4, 9});
  scalar.node(Operation::pointwise, {z, two}, {to}, 1);
  compare(scalar);
}

TEST_CASE("activations at numbers that are none, or very large", "[dnn]") {
  for (const bool propagate : {false, true}) {
    for (const std::uint16_t mode : {100, 101, 102, 103, 104, 105, 106, 107, 2, 3}) {
      GraphOf g;
      const auto x = g.tensor({1, 6}), b = pointwiseInputs(mode) == 2 ? g.tensor({1, 6}) : kNone, y = g.tensor({1, 6});
      Node& node = g.node(Operation::pointwise, {x, b}, {y}, mode);
      node.numbers[kUpperClip] = INFINITY;
      if (propagate) node.flags = kPropagateNan;
      Memories memories(g.parts, 1);
      const float numbers[6] = {NAN, INFINITY, -INFINITY, 1000, -1000, 0};
      std::memcpy(reinterpret_cast<void*>(g.parts.tensors[x].address), numbers, sizeof numbers);
      memories.run(Way::straight);
      INFO("mode " << mode);
      const double ofNan = memories.at(y, 0), ofInfinity = memories.at(y, 1), ofLess = memories.at(y, 2), of1000 = memories.at(y, 3), ofMinus = memories.at(y, 4);
      if (mode == 100 || mode < 10) CHECK((ofNan != ofNan) == propagate);
      else CHECK(ofNan != ofNan);
      if (mode >= 100) {
        const bool bounded = mode == 101 || mode == 102;
        CHECK(ofInfinity == (bounded ? 1 : INFINITY));
        CHECK(of1000 == (bounded ? 1 : 1000));
        CHECK(ofMinus == Approx(mode == 101 || mode == 103 ? -1 : 0));
        if (mode <= 105 && mode != 104) CHECK(ofLess == ofMinus);
      }
    }
  }
}

TEST_CASE("what is multiplied by nothing is not read, and may be no number", "[dnn]") {
  GraphOf g;
  const auto x = g.tensor({1, 4}), z = g.tensor({1, 4}), y = g.tensor({1, 4});
  g.node(Operation::pointwise, {x, z}, {y}, 0).numbers[kScaleB] = 0;
  Memories memories(g.parts, 1);
  const float numbers[4] = {NAN, INFINITY, -INFINITY, 1};
  std::memcpy(reinterpret_cast<void*>(g.parts.tensors[z].address), numbers, sizeof numbers);
  memories.run(Way::straight);
  for (std::size_t i = 0; i < 4; ++i) CHECK(memories.at(y, i) == memories.at(x, i));
}

TEST_CASE("whole numbers: rounded to nearest even and clamped", "[dnn]") {
  GraphOf g;
  const auto x = g.tensor({1, 8}), bytes = g.tensor({1, 8}, Type::i8), words = g.tensor({1, 8}, Type::i32), longs = g.tensor({1, 8}, Type::i64), same = g.tensor({1, 8}, Type::i64);
  for (const auto to : {bytes, words, longs}) g.node(Operation::copy, {x}, {to});
  g.node(Operation::copy, {longs}, {same});
  Memories memories(g.parts, 1);
  const float numbers[8] = {0.5f, 1.5f, -2.5f, 200, -200, 3e9f, -1e30f, NAN};
  std::memcpy(reinterpret_cast<void*>(g.parts.tensors[x].address), numbers, sizeof numbers);
  memories.run(Way::straight);
  const double expectedBytes[8] = {0, 2, -2, 127, -128, 127, -128, 0};
  for (std::size_t i = 0; i < 8; ++i) CHECK(memories.at(bytes, i) == expectedBytes[i]);
  CHECK(memories.at(words, 5) == 2147483647);
  CHECK(memories.at(words, 6) == -2147483648.0);
  CHECK(memories.at(longs, 5) == 3e9);
  CHECK(memories.bytes()[longs] == memories.bytes()[same]);
}

TEST_CASE("copies between layouts and types", "[dnn]") {
  for (const Layout from : kLayouts) {
    for (const Layout to : kLayouts) {
      for (const Type type : kFloats) {
        for (const bool mixed : {false, true}) {
          GraphOf g;
          const auto x = g.tensor({3, 17, 33, 21}, type, from), y = g.tensor({3, 17, 33, 21}, mixed ? Type::f32 : type, to);
          scaled(g.node(Operation::copy, {x}, {y}), type, mixed);
          compare(g, 9, -1, 1, mixed ? 0 : toleranceOf(type));
        }
      }
    }
  }
}

TEST_CASE("reductions: each operation, over any dimensions", "[dnn]") {
  for (const Dims& to : {Dims{1, 6, 1, 1}, {3, 1, 1, 8}, {1, 1, 1, 1}, {3, 6, 7, 1}, {1, 6, 7, 8}, {3, 6, 7, 8}}) {
    for (const Layout layout : kLayouts) {
      for (std::uint16_t mode = 0; mode <= 8; ++mode) {
        GraphOf g;
        const auto x = g.tensor({3, 6, 7, 8}, Type::f32, layout), y = g.tensor(to);
        Node& node = g.node(Operation::reduction, {x}, {y}, mode);
        scaled(node, Type::f32, mode % 2 == 0);
        INFO("mode " << mode);
        compare(g, mode, mode == 1 || mode == 8 ? 0.9 : -1, 1.1, 1e-4);
      }
    }
  }
  for (const Type type : kFloats) {
    // Longer than a piece reads at once.
    GraphOf g;
    const auto x = g.tensor({2, 3, 100, 150}, type), y = g.tensor({1, 3, 1, 1}, type);
    scaled(g.node(Operation::reduction, {x}, {y}, 5), type, false);
    compare(g, 2);
  }
}

TEST_CASE("products of matrices: layouts, batches, types", "[dnn]") {
  struct Case {
    Dims a, b, c;
  };
  for (const Case& each : {Case{{5, 7}, {7, 9}, {5, 9}}, {{3, 1, 4, 8}, {3, 2, 8, 6}, {3, 2, 4, 6}}, {{1, 270, 9}, {2, 9, 260}, {2, 270, 260}}, {{2, 3, 1100}, {1, 1100, 4}, {2, 3, 4}},
                           {{2, 1, 64}, {2, 64, 1}, {2, 1, 1}}, {{2, 5, 1}, {1, 1, 7}, {2, 5, 7}}}) {
    for (const Layout layout : kLayouts) {
      for (const Type type : kFloats) {
        if (!meets(layout, type)) continue;
        GraphOf g;
        const auto a = g.tensor(each.a, type, layout), b = g.tensor(each.b, type, layout), c = g.tensor(each.c, type);
        scaled(g.node(Operation::matrixProduct, {a, b}, {c}), type, layout == Layout::rows);
        compare(g, 6, -1, 1, type == Type::f64 ? 0 : std::max(2e-4, 2 * toleranceOf(type)));
      }
    }
    GraphOf g;
    const auto a = g.tensor(each.a, Type::i8), b = g.tensor(each.b, Type::i8), c = g.tensor(each.c, Type::i32);
    g.node(Operation::matrixProduct, {a, b}, {c}).compute = Type::i32;
    compare(g, 6, -128, 127);
  }
  // The second as it is often given: transposed.
  GraphOf g;
  const auto a = g.tensor({2, 40, 33}), b = g.tensor({2, 33, 50}), c = g.tensor({2, 40, 50});
  Tensor& turned = g.parts.tensors[b];
  std::swap(turned.strides[1], turned.strides[2]);
  turned.strides[2] = 33;
  g.node(Operation::matrixProduct, {a, b}, {c});
  compare(g, 6, -1, 1, 1e-4);
}

TEST_CASE("pools", "[dnn]") {
  struct Case {
    Dims x;
    Window window;
  };
  for (const Case& each : {Case{{2, 5, 12, 12}, {0, 0, 2, 1, 2}}, {{1, 3, 17, 15}, {1, 1, 2, 1, 3}}, {{1, 20, 7, 7}, {0, 0, 1, 1, 7}}, {{2, 3, 9, 10}, {1, 0, 1, 1, 3}},
                           {{2, 3, 30}, {1, 1, 3, 1, 4}}, {{1, 2, 6, 7, 8}, {1, 1, 2, 1, 3}}, {{1, 1, 40, 700}, {0, 0, 1, 1, 2}}}) {
    Dims y{each.x[0], each.x[1]};
    const Window& w = each.window;
    for (std::size_t i = 2; i < each.x.size(); ++i) y.push_back((each.x[i] + w.pad + w.padAfter - w.window) / w.stride + 1);
    for (std::uint16_t mode = 0; mode < 4; ++mode) {
      for (const Layout layout : kLayouts) {
        for (const Type type : kFloats) {
          if (!meets(layout, type)) continue;
          INFO("mode " << mode << ", layout " << int(layout) << ", type " << int(type));
          GraphOf g;
          const auto x = g.tensor(each.x, type, layout), out = g.tensor(y, type, layout), dy = g.tensor(y, type, layout), dx = g.tensor(each.x, type, layout);
          Node& forward = g.node(Operation::poolForward, {x}, {out}, mode);
          setWindows(forward, static_cast<std::uint32_t>(y.size() - 2), w);
          scaled(forward, type, false);
          Node& back = g.node(Operation::poolBackward, {x, out, dy}, {dx}, mode);
          setWindows(back, static_cast<std::uint32_t>(y.size() - 2), w);
          scaled(back, type, layout == Layout::rows);
          compare(g, 8, -1, 1, type == Type::f32 ? 0 : 2 * toleranceOf(type));
        }
      }
    }
  }
  GraphOf bytes;
  const auto x = bytes.tensor({1, 4, 8, 8}, Type::i8), y = bytes.tensor({1, 4, 4, 4}, Type::i8);
  setWindows(bytes.node(Operation::poolForward, {x}, {y}, 0), 2, {0, 0, 2, 1, 2});
  compare(bytes, 3, -128, 127);
}

TEST_CASE("softmaxes", "[dnn]") {
  for (const Dims& dims : {Dims{3, 10, 1, 1}, {2, 7, 5, 6}, {4, 3000}, {1, 5, 60, 60}}) {
    for (std::uint16_t mode = 0; mode < 3; ++mode) {
      for (const bool channels : {false, true}) {
        for (const Layout layout : kLayouts) {
          for (const Type type : kFloats) {
            if (!meets(layout, type)) continue;
            GraphOf g;
            const auto x = g.tensor(dims, type, layout), y = g.tensor(dims, type, layout), dy = g.tensor(dims, type, layout), dx = g.tensor(dims, type, layout);
            Node& forward = g.node(Operation::softmaxForward, {x}, {y}, mode);
            Node copied = forward;
            copied.operation = Operation::softmaxBackward;
            copied.inputs[0] = y;
            copied.inputs[1] = dy;
            copied.outputs[0] = dx;
            g.parts.nodes.push_back(copied);
            for (Node& node : g.parts.nodes) {
              scaled(node, type, node.outputs[0] == dx);
              if (channels) node.flags = kOverChannels;
            }
            // A sum of thousands of gradients, each rounded, is as far off as they are together.
            compare(g, 2, -3, 3, std::max(1e-3, 8 * toleranceOf(type)) * (mode == 2 ? 20 : 1) * (type == Type::f64 ? 1e-6 : 1));
          }
        }
      }
    }
  }
  GraphOf large;
  const auto x = large.tensor({1, 4}), y = large.tensor({1, 4});
  large.node(Operation::softmaxForward, {x}, {y}, 1).flags = kOverChannels;
  compare(large, 1, 990, 1010);
}

TEST_CASE("local response norms", "[dnn]") {
  for (const double window : {1.0, 2.0, 5.0, 16.0}) {
    for (const Layout layout : kLayouts) {
      for (const Type type : {Type::f32, Type::f64, Type::f16}) {
        GraphOf g;
        const Dims dims{2, 9, 6, 5};
        const auto x = g.tensor(dims, type, layout), y = g.tensor(dims, type, layout), dy = g.tensor(dims, type, layout), dx = g.tensor(dims, type, layout);
        g.node(Operation::responseNormForward, {x}, {y});
        g.node(Operation::responseNormBackward, {x, y, dy}, {dx});
        for (Node& node : g.parts.nodes) {
          node.numbers[kWindow] = window;
          node.numbers[kAlpha] = 0.3;
          node.numbers[kBeta] = 0.75;
          node.numbers[kK] = 1.5;
          scaled(node, type, node.outputs[0] == dx);
        }
        compare(g, 4, -2, 2, 4 * toleranceOf(type));
      }
    }
  }
}

TEST_CASE("an operation in its input's place", "[dnn]") {
  GraphOf g;
  const auto x = g.tensor({2, 9, 20, 30}), scale = g.tensor({1, 9, 1, 1}), bias = g.tensor({1, 9, 1, 1}), mean = g.tensor({1, 9, 1, 1}), deviation = g.tensor({1, 9, 1, 1});
  Node& norm = g.node(Operation::normForward, {x, scale, bias}, {x, mean, deviation}, 2);
  norm.flags = kTraining;
  norm.numbers[kEpsilon] = 1e-5;
  g.node(Operation::pointwise, {x}, {x}, 100);
  g.node(Operation::softmaxForward, {x}, {x}, 1).flags = kOverChannels;
  compare(g, 1, -1, 1, 2e-4);
}

TEST_CASE("windows far wider than the image take as long as the image does", "[dnn]") {
  constexpr std::int32_t kWidest = 0x7fff'ffff;
  for (const Layout layout : {Layout::rows, Layout::channels}) {
    for (std::uint16_t mode = 0; mode < 4; ++mode) {
      GraphOf g;
      const Dims image{2, 9, 3, 5}, places{2, 9, 2, 2};  // (3 + 2 (2^31 - 2) - (2^31 - 1)) / (2^31 - 1) + 1
      const auto x = g.tensor(image, Type::f32, layout), y = g.tensor(places, Type::f32, layout), dy = g.tensor(places, Type::f32, layout), dx = g.tensor(image, Type::f32, layout);
      setWindows(g.node(Operation::poolForward, {x}, {y}, mode), 2, {kWidest - 1, kWidest - 1, kWidest, 1, kWidest});
      setWindows(g.node(Operation::poolBackward, {x, y, dy}, {dx}, mode), 2, {kWidest - 1, kWidest - 1, kWidest, 1, kWidest});
      REQUIRE(check(g.parts).verdict == Verdict::runs);
      Memories memories(g.parts, 5);
      const auto begin = std::chrono::steady_clock::now();
      memories.run(Way::straight);
      CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));  // 2^31 steps each way take far longer
      // The first window ends with the image's first row and column, the second begins with the next: x[0][0], and the rest of it.
      for (std::size_t n = 0; n < 18; ++n) {
        const bool largest = mode == 0 || mode == 3;
        double most = -2, sum = 0;
        for (std::size_t at = 0; at < 15; ++at) {
          if (at / 5 == 0 || at % 5 == 0) continue;
          most = std::max(most, memories.at(x, n * 15 + at));
          sum += memories.at(x, n * 15 + at);
        }
        const double area = 2147483647.0 * 2147483647.0;
        CHECK(memories.at(y, n * 4) == Approx(largest || mode == 2 ? memories.at(x, n * 15) : memories.at(x, n * 15) / area).margin(1e-25));
        CHECK(memories.at(y, n * 4 + 3) == Approx(largest ? most : mode == 2 ? sum / 8 : sum / area).margin(1e-25));
      }
    }
  }
}

TEST_CASE("sums of unsigned bytes' products are exact, too", "[dnn]") {
  for (const Type type : {Type::i8, Type::u8}) {
    GraphOf g;
    const auto x = g.tensor({1, 300, 5, 5}, type), w = g.tensor({3, 300, 3, 3}, Type::i8), y = g.tensor({1, 3, 3, 3}, Type::f32);
    setWindows(g.node(Operation::convolutionForward, {x, w}, {y}, 1), 2, {});
    Memories memories(g.parts, 8, 100, 127);
    memories.run(Way::straight);
    Reference(g.parts, memories.values()).run();
    // More than 2^25: a sum in float has been rounded many times on the way there, the result once.
    for (std::size_t i = 0; i < 27; ++i) {
      CHECK(memories.values()[y][i] > 1 << 25);
      CHECK(memories.at(y, i) == static_cast<float>(memories.values()[y][i]));
    }
  }
}

TEST_CASE("what needs more memory than a job may have is refused by name", "[dnn]") {
  const auto said = [](const GraphOf& g) {
    REQUIRE(check(g.parts).verdict == Verdict::runs);
    const auto job = library::cpu::prepare(kLibrary, kGraphFunction, putTogether(g.parts), NoMemory{});
    return job.ok() ? std::string("runs") : job.error().message;
  };
  const auto pool = [](std::int64_t side, Operation operation) {
    GraphOf g;
    const auto x = g.tensor({1, 1, side, side}), y = g.tensor({1, 1, 1, 1}), dy = g.tensor({1, 1, 1, 1}), dx = g.tensor({1, 1, side, side});
    Node& node = operation == Operation::poolForward ? g.node(operation, {x}, {y}, 2) : g.node(operation, {x, y, dy}, {dx}, 2);
    setWindows(node, 2, {0, 0, 1, 1, static_cast<std::int32_t>(side)});
    return g;
  };
  CHECK(said(pool(8000, Operation::poolForward)) == "runs");
  CHECK(said(pool(20000, Operation::poolForward)) == "cuDNN on the CPU device: a pool: 1600000004 bytes of working memory for each piece of it; at most 268435456");
  CHECK(said(pool(5000, Operation::poolBackward)) == "runs");
  CHECK(said(pool(8000, Operation::poolBackward)).find("cuDNN on the CPU device: a pool's gradient: ") == 0);
  const auto convolution = [](const Dims& image, const Dims& filters, Operation operation, Type type, std::int32_t pad = 0) {
    GraphOf g;
    Dims out{image[0], filters[0]};
    for (std::size_t i = 2; i < 4; ++i) out.push_back(image[i] + 2 * pad - filters[i] + 1);
    const auto x = g.tensor(image, type), w = g.tensor(filters, type), y = g.tensor(out, type);
    Node& node = operation == Operation::convolutionForward       ? g.node(operation, {x, w}, {y}, 1)
                 : operation == Operation::convolutionBackwardData ? g.node(operation, {y, w}, {x}, 1)
                                                                   : g.node(operation, {x, y}, {w}, 1);
    setWindows(node, 2, {pad, pad, 1, 1, 0});
    return g;
  };
  CHECK(said(convolution({1, 4096, 1, 1}, {1 << 17, 4096, 1, 1}, Operation::convolutionForward, Type::f16)) == "runs");
  CHECK(said(convolution({1, 4096, 1, 1}, {1 << 20, 4096, 1, 1}, Operation::convolutionForward, Type::f16)) ==
        "cuDNN on the CPU device: a convolution: 17179869184 bytes of working memory for as long as it runs; at most 4294967296");
  // As many filters as there may be: in more pieces.
  CHECK(said(convolution({1, 1, 60, 60}, {1 << 28, 1, 1, 1}, Operation::convolutionForward, Type::f32)) == "runs");
  CHECK(said(convolution({1, 1, 9, 9}, {1 << 20, 1, 3, 3}, Operation::convolutionBackwardData, Type::f32)) == "runs");
  CHECK(said(convolution({1, 1, 2000, 2000}, {64, 1, 1999, 1999}, Operation::convolutionBackwardFilter, Type::f32)) == "runs");
  CHECK(said(convolution({1, 1, 9000, 9000}, {1, 1, 3, 3}, Operation::convolutionBackwardData, Type::f32)).find("cuDNN on the CPU device: a convolution's gradient of its image: ") == 0);
  for (const Operation operation : {Operation::softmaxForward, Operation::responseNormForward}) {
    GraphOf g;
    const auto x = g.tensor({1, 1 << 30}), y = g.tensor({1, 1 << 30});
    g.node(operation, {x}, {y}).numbers[kWindow] = 5;
    CHECK(said(g).find(std::string("cuDNN on the CPU device: ") + nameOf(g.parts.nodes[0]) + ": ") == 0);
  }
}

TEST_CASE("bytes that are no graph make no job", "[dnn]") {
  const std::vector<std::byte> bytes = putTogether(fusedConvolution().parts);
  CHECK(!library::cpu::prepare(kLibrary, 1, bytes, NoMemory{}).ok());
  CHECK(!library::cpu::prepare(kLibrary, kGraphFunction, std::span(bytes).first(100), NoMemory{}).ok());
}

namespace {

// A graph of that operation that is allowed, of sizes and modes as they come.
constexpr unsigned kOperations = 18;

GraphOf begun(Operation operation, std::mt19937_64& random) {
  const auto some = [&](std::int64_t least, std::int64_t most) { return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1)); };
  const std::int64_t images = some(1, 2), channels = some(1, 9), filters = some(1, 9);
  const Dims image{images, channels, 5, 5};
  GraphOf g;
  switch (operation) {
    case Operation::poolForward:
    case Operation::poolBackward: {
      const auto window = static_cast<std::int32_t>(some(1, 5)), pad = static_cast<std::int32_t>(some(0, window - 1)), stride = static_cast<std::int32_t>(some(1, 3));
      const std::int64_t places = (5 + 2 * pad - window) / stride + 1;
      const auto x = g.tensor(image), y = g.tensor({images, channels, places, places});
      const auto mode = static_cast<std::uint16_t>(some(0, 3));
      if (operation == Operation::poolForward) setWindows(g.node(operation, {x}, {y}, mode), 2, {pad, pad, stride, 1, window});
      else setWindows(g.node(operation, {x, y, y}, {g.tensor(image)}, mode), 2, {pad, pad, stride, 1, window});
      return g;
    }
    case Operation::normForward:
    case Operation::normBackward: {
      const auto mode = static_cast<std::uint16_t>(some(0, 4));
      // Of layers and RMS each place of an image has its own scale; of groups, all channels are one.
      const bool layer = mode == 0 || mode == 4, rms = mode == 4, training = random() % 2 == 0;
      const Dims scales = layer ? Dims{1, channels, 5, 5} : Dims{1, channels, 1, 1};
      const Dims statistics = mode == 2 ? scales : mode == 1 ? Dims{images, channels, 1, 1} : Dims{images, 1, 1, 1};
      const auto x = g.tensor(image), scale = g.tensor(scales), bias = g.tensor(scales), y = g.tensor(image);
      const auto mean = rms ? kNone : g.tensor(statistics), deviation = g.tensor(statistics);
      Node& node = operation == Operation::normBackward ? g.node(operation, {x, x, scale, training ? kNone : mean, training ? kNone : deviation}, {y, bias}, mode)
                   : training                            ? g.node(operation, {x, scale, bias}, {y, mean, deviation}, mode)
                                                         : g.node(operation, {x, scale, bias, mean, deviation}, {y}, mode);
      if (training && operation == Operation::normForward) node.flags = kTraining;
      node.numbers[kEpsilon] = 1e-5;
      node.numbers[kGroups] = 1;
      return g;
    }
    case Operation::responseNormForward:
    case Operation::responseNormBackward:
    case Operation::softmaxForward:
    case Operation::softmaxBackward: {
      const auto x = g.tensor(image), y = g.tensor(image);
      Node& node = operation == Operation::responseNormBackward ? g.node(operation, {x, x, x}, {y}) : operation == Operation::softmaxBackward ? g.node(operation, {x, x}, {y}) : g.node(operation, {x}, {y});
      node.numbers[kWindow] = 3;
      node.numbers[kK] = 2;
      return g;
    }
    case Operation::reduction: {
      const auto x = g.tensor(image), y = g.tensor({1, channels, 1, 5});
      g.node(operation, {x}, {y}, static_cast<std::uint16_t>(some(0, 8)));
      return g;
    }
    case Operation::matrixProduct: {
      const auto a = g.tensor({images, channels, 5, 7}), b = g.tensor({1, channels, 7, 3}), c = g.tensor({images, channels, 5, 3});
      g.node(operation, {a, b}, {c});
      return g;
    }
    case Operation::copy:
      g.node(operation, {g.tensor(image)}, {g.tensor(image)});
      return g;
    case Operation::attentionForward: {
      const Type type = random() % 2 == 0 ? Type::f16 : Type::f32;
      const auto q = g.tensor({images, 4, 5, 7}, type), k = g.tensor({images, 2, 6, 7}, type), v = g.tensor({images, 4, 6, 3}, type), o = g.tensor({images, 4, 5, 3}, type);
      const auto statistics = random() % 2 == 0 ? kNone : g.tensor({images, 4, 5, 1}), lengths = random() % 2 == 0 ? kNone : g.tensor({images, 1, 1, 1}, Type::i32);
      g.node(operation, {q, k, v, kNone, lengths, lengths}, {o, statistics});
      return g;
    }
    case Operation::random: {
      const auto seed = g.tensor({1, 1, 1, 1}, random() % 2 == 0 ? Type::i32 : Type::i64), offset = random() % 2 == 0 ? kNone : g.tensor({1, 1, 1, 1}, Type::i64);
      g.node(operation, {seed, offset}, {g.tensor(image)}).numbers[kProbability] = 0.5;
      return g;
    }
    case Operation::reorder: {
      // y lies as x does.
      const auto x = g.tensor(image), y = g.tensor({images, channels, 5, 5});
      std::swap(g.parts.tensors[y].strides[2], g.parts.tensors[y].strides[3]);
      g.node(operation, {x}, {y});
      return g;
    }
    case Operation::convolutionBackwardData:
    case Operation::convolutionBackwardFilter: {
      const auto x = g.tensor(image), w = g.tensor({filters, channels, 3, 3}), y = g.tensor({images, filters, 5, 5});
      Node& node = operation == Operation::convolutionBackwardData ? g.node(operation, {y, w}, {x}, 1) : g.node(operation, {x, y}, {w}, 1);
      setWindows(node, 2, {1, 1, 1, 1, 0});
      return g;
    }
    default:
      return fusedConvolution(images, channels, filters, 5);
  }
}

}  // namespace

// Random graphs that are allowed, as they come from random changes: whatever they compute, they stay within their tensors' memory, which
// the address sanitizer looks at.
TEST_CASE("random graphs that are allowed stay within their memory", "[dnn]") {
  std::mt19937_64 random(77);
  std::map<Operation, std::size_t> ran, changed;
  for (int round = 0; round < 20'000; ++round) {
    GraphOf g = begun(static_cast<Operation>(1 + random() % kOperations), random);
    const std::uint64_t changes = random() % 4;
    for (std::uint64_t i = 0; i < changes; ++i) {
      Tensor& t = g.parts.tensors[random() % g.parts.tensors.size()];
      Node& n = g.parts.nodes[random() % g.parts.nodes.size()];
      switch (random() % 14) {
        case 0: t.type = static_cast<Type>(random() % 12); break;
        case 1: t.strides[random() % 4] = static_cast<std::int64_t>(random() % 2000); break;
        case 2: t.dims[random() % 4] = 1 + static_cast<std::int64_t>(random() % 2); break;
        case 3: n.mode = static_cast<std::uint16_t>(random() % 3 == 0 ? random() % 700 : random() % 24); break;
        case 4: n.operation = static_cast<Operation>(1 + random() % kOperations); break;
        case 5: n.inputs[random() % 5] = static_cast<std::uint16_t>(random() % 7 == 6 ? kNoTensor : random() % 6); break;
        case 6: n.padBefore[random() % 2] = static_cast<std::int32_t>(random() % 4); break;
        case 7: n.compute = random() % 2 == 0 ? Type::f64 : Type::i32; break;
        case 8: n.alpha = 0.5, n.beta = static_cast<double>(random() % 2); break;
        case 9: n.window[random() % 2] = static_cast<std::int32_t>(random() % 8); break;
        case 10: n.stride[random() % 2] = static_cast<std::int32_t>(random() % 8 == 0 ? 0x7fff'ffff : random() % 6); break;
        case 11: n.flags = static_cast<std::uint16_t>(random() % 16); break;
        case 12: n.numbers[random() % 9] = random() % 4 == 0 ? double(NAN) : static_cast<double>(random() % 6); break;
        default: setShape(t, {t.dims[0], t.dims[1], t.dims[2], t.dims[3]}, static_cast<Layout>(random() % 3));
      }
    }
    if (check(g.parts).verdict != Verdict::runs) continue;
    for (const Node& node : g.parts.nodes) ++(changes == 0 ? ran : changed)[node.operation];
    Memories memories(g.parts, static_cast<unsigned>(round));
    memories.run(Way::straight);
  }
  for (int operation = 1; operation <= int{kOperations}; ++operation) {
    INFO("operation " << operation);
    CHECK(ran[static_cast<Operation>(operation)] > 100);
    CHECK(changed[static_cast<Operation>(operation)] > 100);
  }
}

TEST_CASE("random numbers: as many as their probability says, by seed, offset and place alone", "[dnn]") {
  const auto drawn = [](double probability, std::int64_t seed, std::int64_t offset, Type type, Layout layout, Way way) {
    GraphOf g;
    const auto of = g.tensor({1, 1, 1, 1}, Type::i64), from = g.tensor({1, 1, 1, 1}, Type::i64), y = g.tensor({3, 4, 61, 97}, type, layout);
    g.node(Operation::random, {of, from}, {y}).numbers[kProbability] = probability;
    REQUIRE(check(g.parts).verdict == Verdict::runs);
    Memories memories(g.parts, 1);
    *reinterpret_cast<std::int64_t*>(g.parts.tensors[of].address) = seed;
    *reinterpret_cast<std::int64_t*>(g.parts.tensors[from].address) = offset;
    memories.run(way);
    std::vector<bool> all;
    const Tensor& t = g.parts.tensors[y];
    for (std::int64_t a = 0; a < 3; ++a) {
      for (std::int64_t b = 0; b < 4; ++b) {
        for (std::int64_t c = 0; c < 61; ++c) {
          for (std::int64_t d = 0; d < 97; ++d) {
            const auto place = static_cast<std::size_t>(a * t.strides[0] + b * t.strides[1] + c * t.strides[2] + d * t.strides[3]) * bytesOf(type);
            const double value = decode(type, reinterpret_cast<const std::byte*>(t.address) + place);
            REQUIRE((value == 0 || value == 1));
            all.push_back(value == 1);
          }
        }
      }
    }
    return all;
  };
  const auto ones = [](const std::vector<bool>& all) { return static_cast<double>(std::count(all.begin(), all.end(), true)) / static_cast<double>(all.size()); };
  const std::vector<bool> first = drawn(0.9, 42, 0, Type::f32, Layout::rows, Way::straight);
  CHECK(ones(first) == Approx(0.9).margin(0.005));  // about five deviations
  CHECK(ones(drawn(0.25, 42, 0, Type::f32, Layout::rows, Way::straight)) == Approx(0.25).margin(0.01));
  CHECK(ones(drawn(0, 1, 0, Type::f16, Layout::rows, Way::straight)) == 0);
  CHECK(ones(drawn(1, 1, 0, Type::f16, Layout::rows, Way::straight)) == 1);
  CHECK(drawn(0.9, 42, 0, Type::f16, Layout::channels, Way::threads) == first);
  // Others: where both are 1 with 0.9 each, 0.81 are.
  for (const auto& other : {drawn(0.9, 43, 0, Type::f32, Layout::rows, Way::straight), drawn(0.9, 42, 1, Type::f32, Layout::rows, Way::straight)}) {
    std::size_t both = 0;
    for (std::size_t i = 0; i < first.size(); ++i) both += first[i] && other[i];
    CHECK(static_cast<double>(both) / static_cast<double>(first.size()) == Approx(0.81).margin(0.01));
  }
}

}  // namespace rouse::dnn
