// Convolutions on the CPU device, each against its definition in double.
#include <catch2/catch.hpp>

#include "server/library/cpu/dnn/vectors.h"
#include "test/libraries/dnn_runs.h"

namespace rouse::dnn {
namespace {

struct Shape {
  Dims x, w;
  Window window;
};

std::int64_t placesOf(std::int64_t length, std::int64_t taps, const Window& w) { return (length + w.pad + w.padAfter - ((taps - 1) * w.dilation + 1)) / w.stride + 1; }

Dims resultOf(const Shape& s) {
  Dims y{s.x[0], s.w[0]};
  for (std::size_t i = 2; i < s.x.size(); ++i) y.push_back(placesOf(s.x[i], s.w[i], s.window));
  return y;
}

struct Kind {
  Type x = Type::f32, w = Type::f32, y = Type::f32, compute = Type::f32;
  Layout layout = Layout::rows;
  double alpha = 1, beta = 0;
  std::uint16_t mode = 1;
};

GraphOf graphOf(Operation operation, const Shape& s, const Kind& kind) {
  GraphOf g;
  const auto x = g.tensor(s.x, kind.x, kind.layout), w = g.tensor(s.w, kind.w, kind.layout), y = g.tensor(resultOf(s), kind.y, kind.layout);
  Node& node = operation == Operation::convolutionForward        ? g.node(operation, {x, w}, {y}, kind.mode)
               : operation == Operation::convolutionBackwardData ? g.node(operation, {y, w}, {x}, kind.mode)
                                                                 : g.node(operation, {x, y}, {w}, kind.mode);
  node.alpha = kind.alpha;
  node.beta = kind.beta;
  node.compute = kind.compute;
  setWindows(node, static_cast<std::uint32_t>(s.x.size() - 2), s.window);
  return g;
}

const Shape kShapes[] = {
    {{2, 3, 9, 8}, {5, 3, 3, 3}, {1, 1}},
    {{1, 16, 14, 14}, {40, 16, 3, 3}, {1, 1}},
    {{3, 8, 11, 7}, {12, 8, 1, 1}, {}},             // a product as it stands
    {{2, 8, 11, 7}, {12, 8, 1, 1}, {0, 0, 2}},
    {{2, 3, 17, 17}, {8, 3, 7, 7}, {3, 3, 2}},
    {{1, 4, 12, 12}, {6, 4, 3, 3}, {2, 2, 1, 2}},
    {{1, 4, 10, 10}, {6, 4, 3, 3}, {0, 2, 2}},      // pads on one side
    {{1, 4, 6, 6}, {3, 4, 3, 3}, {5, 4}},           // windows that touch nothing
    {{2, 12, 9, 9}, {18, 4, 3, 3}, {1, 1}},         // three groups
    {{2, 24, 8, 8}, {24, 1, 3, 3}, {1, 1}},         // each channel its own
    {{1, 10, 8, 8}, {20, 1, 5, 5}, {2, 2, 2}},      // and two filters
    {{2, 6, 30}, {9, 6, 4}, {1, 2, 3}},             // one dimension
    {{1, 3, 6, 7, 5}, {4, 3, 3, 2, 3}, {1, 1, 1}},  // three
    {{1, 2, 5, 5}, {3, 2, 5, 5}, {}},               // one place
    {{1, 1, 1, 1}, {1, 1, 1, 1}, {}},
    {{1, 2, 1, 600}, {3, 2, 1, 3}, {1, 1}},         // lines longer than a piece, and pads above and below
    {{1, 20, 15, 60}, {45, 20, 3, 3}, {1, 1}},      // several runs of a row; filters of two vectors and a part of one
    {{2, 32, 13, 29}, {64, 16, 3, 5}, {2, 1, 2}},   // two groups of whole vectors
    {{1, 16, 9, 40}, {17, 16, 2, 3}, {3, 2, 1, 3}}, // taps that lie apart, and windows that touch nothing
    {{1, 16, 3, 6, 19}, {16, 16, 2, 3, 3}, {1, 1}},
    {{1, 5, 30, 30}, {33, 5, 1, 1}, {0, 0, 1}},
    {{2, 36, 23, 29}, {50, 18, 1, 1}, {}},          // one tap, of two groups; places that are no whole vectors
    {{1, 8, 12, 12}, {16, 2, 3, 3}, {1, 1}},        // groups with fewer filters than a vector has
    {{2, 64, 20, 33}, {64, 1, 3, 3}, {1, 1, 2}},    // each channel its own, of whole vectors
    {{1, 72, 11, 17}, {72, 1, 5, 5}, {4, 4, 1, 2}},
    {{1, 16, 5, 5}, {16, 1, 3, 3}, {7, 6}},
    {{1, 40, 4, 5, 9}, {40, 1, 3, 2, 3}, {1, 1}},
    {{1, 70, 4, 4}, {130, 70, 3, 3}, {1, 1}},       // more depth than is multiplied at once, filters in several pieces
};

}  // namespace

TEST_CASE("convolutions: shapes and layouts", "[dnn]") {
  const auto operation = GENERATE(Operation::convolutionForward, Operation::convolutionBackwardData, Operation::convolutionBackwardFilter);
  const auto layout = GENERATE(Layout::rows, Layout::channels, Layout::gaps);
  for (const Shape& s : kShapes) {
    INFO("operation " << int(operation) << ", layout " << int(layout) << ", x " << s.x[1] << "x" << s.x[2] << ", w " << s.w[0] << "x" << s.w[2]);
    Kind kind;
    kind.layout = layout;
    compare(graphOf(operation, s, kind), 3, -1, 1, 1e-4);
  }
}

TEST_CASE("convolutions: types, scalars, flipped filters", "[dnn]") {
  const auto operation = GENERATE(Operation::convolutionForward, Operation::convolutionBackwardData, Operation::convolutionBackwardFilter);
  const Kind kinds[] = {
      {Type::f16, Type::f16, Type::f16, Type::f32, Layout::channels},
      {Type::bf16, Type::bf16, Type::bf16, Type::f32, Layout::rows},
      {Type::f64, Type::f64, Type::f64, Type::f64, Layout::rows},
      {Type::f16, Type::f16, Type::f32, Type::f32, Layout::rows},
      {Type::f32, Type::f16, Type::bf16, Type::f32, Layout::gaps},
      {Type::f32, Type::f32, Type::f32, Type::f32, Layout::rows, 0.5, 2},
      {Type::f32, Type::f32, Type::f32, Type::f32, Layout::channels, -1.5, 0.25},
      {Type::f16, Type::f16, Type::f16, Type::f32, Layout::gaps, 2, -1},
      {Type::f64, Type::f64, Type::f64, Type::f64, Layout::channels, 0.5, 1},
      {Type::f32, Type::f32, Type::f32, Type::f32, Layout::rows, 1, 0, 0},
      {Type::f32, Type::f32, Type::f32, Type::f32, Layout::channels, 1, 0, 0},
  };
  for (const Kind& kind : kinds) {
    INFO("operation " << int(operation) << ", types " << int(kind.x) << int(kind.w) << int(kind.y) << ", layout " << int(kind.layout) << ", mode " << kind.mode);
    for (const std::size_t shape : {0, 2, 8, 9, 5}) compare(graphOf(operation, kShapes[shape], kind), 5, -1, 1, kind.x == Type::f64 ? 0 : 1e-4);
  }
}

TEST_CASE("loops of vectors: each set of instructions, any number of places, filters and channels", "[dnn]") {
  using namespace library::cpu;
  std::mt19937 random(4);
  const auto numbers = [&](std::size_t count) {
    std::vector<float> all(count);
    for (float& each : all) each = std::uniform_real_distribution<float>(-1, 1)(random);
    return all;
  };
  const std::pair<const VectorLoops*, bool> sets[] = {{&kVectors512, __builtin_cpu_supports("avx512f") != 0}, {&kVectors256, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")}};
  for (const auto& [loops, there] : sets) {
    if (!there) {
      WARN("this processor has no vectors of " << loops->lanes << " floats");
      continue;
    }
    // Three parts of a window, the second of which is left out, of five elements each.
    constexpr std::int64_t kStep = 7, kLength = 5;
    const WindowPart window[] = {{0, 0}, {40, 2 * kLength}};
    const WindowParts parts{window, 2, kLength};
    const std::vector<float> x = numbers(40 + kLength + 20 * kStep);
    for (std::int64_t places = 1; places <= loops->places; ++places) {
      for (std::int64_t filters = 1; filters <= 2 * loops->lanes; ++filters) {
        const std::int64_t width = filters <= loops->lanes ? loops->lanes : 2 * loops->lanes, spacing = filters + 1;
        const std::vector<float> w = numbers(static_cast<std::size_t>(3 * kLength * width));
        std::vector<float> to(static_cast<std::size_t>(places * spacing), 99.0f);
        loops->products(filters, places, x.data(), kStep, parts, w.data(), width, to.data(), spacing);
        bool right = true;
        for (std::int64_t p = 0; p < places; ++p) {
          for (std::int64_t k = 0; k < filters; ++k) {
            double sum = 0;
            for (const WindowPart& part : window) {
              for (std::int64_t i = 0; i < kLength; ++i) sum += double(x[part.x + i + p * kStep]) * double(w[(part.w + i) * width + k]);
            }
            right = right && std::abs(to[p * spacing + k] - sum) < 1e-5;
          }
          right = right && to[p * spacing + filters] == 99.0f;  // nothing behind them is touched
        }
        CHECK(right);
      }
      for (std::int64_t channels = 1; channels <= loops->lanes; ++channels) {
        const std::vector<float> images = numbers(static_cast<std::size_t>(40 + 20 * kStep + loops->lanes)), w = numbers(static_cast<std::size_t>(11 + loops->lanes));
        std::vector<float> to(static_cast<std::size_t>(places * (channels + 1)), 99.0f);
        loops->depthwise(channels, places, images.data(), kStep, parts, w.data(), to.data(), channels + 1);
        bool right = true;
        for (std::int64_t p = 0; p < places; ++p) {
          for (std::int64_t c = 0; c < channels; ++c) {
            double sum = 0;
            for (const WindowPart& part : window) sum += double(images[part.x + p * kStep + c]) * double(w[part.w + c]);
            right = right && std::abs(to[p * (channels + 1) + c] - sum) < 1e-5;
          }
          right = right && to[p * (channels + 1) + channels] == 99.0f;
        }
        CHECK(right);
      }
    }
  }
}

TEST_CASE("convolutions of bytes are exact, and clamped where they do not fit", "[dnn]") {
  for (const Layout layout : {Layout::rows, Layout::channels}) {
    for (const Type y : {Type::i32, Type::f32, Type::i8}) {
      for (const Type x : {Type::i8, Type::u8}) {
        GraphOf g = graphOf(Operation::convolutionForward, {{2, 16, 9, 9}, {8, 16, 3, 3}, {1, 1}}, {x, Type::i8, y, Type::i32, layout});
        REQUIRE(check(g.parts).verdict == Verdict::runs);
        Memories memories(g.parts, 11, x == Type::u8 ? 0 : -100, 100);
        memories.run(Way::straight);
        Reference(g.parts, memories.values()).run();
        if (y == Type::i8) {
          for (double& value : memories.values()[2]) value = std::clamp(value, -128.0, 127.0);
        }
        CHECK(memories.differs(2) == 0);
      }
    }
  }
}

TEST_CASE("a convolution of one image is cut for several workers", "[dnn]") {
  for (const Operation operation : {Operation::convolutionForward, Operation::convolutionBackwardData, Operation::convolutionBackwardFilter}) {
    for (const Shape& s : {Shape{{1, 64, 56, 56}, {64, 64, 3, 3}, {1, 1}}, Shape{{1, 512, 7, 7}, {512, 512, 3, 3}, {1, 1}}}) {
      GraphOf g = graphOf(operation, s, {});
      auto job = library::cpu::prepare(kLibrary, kGraphFunction, putTogether(g.parts), NoMemory{});
      REQUIRE(job.ok());
      std::uint64_t pieces = 0;
      do pieces = std::max(pieces, (*job)->pieces());
      while ((*job)->advance());
      CHECK(pieces >= 7);
    }
  }
}

TEST_CASE("a convolution with all that frameworks fuse behind it", "[dnn]") {
  compare(fusedConvolution(), 1, -1, 1, 1e-4);
  compare(fusedConvolution(1, 8, 33, 13), 2, -1, 1, 1e-4);
}

}  // namespace rouse::dnn
