// Attention on the CPU device, as one operation and as the operations that it is made of, against its definition in double.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "server/library/cpu/dnn/slices.h"
#include "test/libraries/dnn_runs.h"

namespace rouse::dnn {
namespace {

struct Shape {
  std::int64_t batches = 2, heads = 4, headsOfK = 2, headsOfV = 1, queries = 70, keys = 300, depth = 24, depthOfV = 16;
  Type type = Type::f16;
  Layout layout = Layout::rows;
  bool causal = false;  // each query sees the keys up to its own place
};

struct Attention {
  GraphOf g;
  std::uint16_t q, k, v, o, statistics, queryCounts = kNoTensor, keyCounts = kNoTensor;
};
constexpr float kFactor = 0.3f;

Attention asOne(const Shape& s, bool counted = false) {
  Attention made;
  GraphOf& g = made.g;
  made.q = g.tensor({s.batches, s.heads, s.queries, s.depth}, s.type, s.layout);
  made.k = g.tensor({s.batches, s.headsOfK, s.keys, s.depth}, s.type, s.layout);
  made.v = g.tensor({s.batches, s.headsOfV, s.keys, s.depthOfV}, s.type, s.layout);
  made.o = g.tensor({s.batches, s.heads, s.queries, s.depthOfV}, s.type, s.layout);
  made.statistics = g.tensor({s.batches, s.heads, s.queries, 1});
  const auto scale = g.scalar(kFactor, 4);
  if (counted) {
    made.queryCounts = g.tensor({s.batches, 1, 1, 1}, Type::i32);
    made.keyCounts = g.tensor({s.batches, 1, 1, 1}, Type::i64);
  }
  g.node(Operation::attentionForward, {made.q, made.k, made.v, scale, made.queryCounts, made.keyCounts}, {made.o, made.statistics});
  return made;
}

// As NVIDIA's front end writes it.
Attention asGraph(const Shape& s) {
  Attention made;
  GraphOf& g = made.g;
  const Dims scores{s.batches, s.heads, s.queries, s.keys}, sums{s.batches, s.heads, s.queries, 1};
  const auto passing = [&](const Dims& dims, Type type = Type::f32) { return g.tensor(dims, type, Layout::rows, TensorKind::passing); };
  const auto pointwise = [&](std::uint16_t mode, std::initializer_list<std::uint16_t> inputs, std::uint16_t to, Type compute = Type::f32) {
    Node& node = g.node(Operation::pointwise, inputs, {to}, mode);
    node.compute = compute;
    return to;
  };
  made.q = g.tensor({s.batches, s.heads, s.queries, s.depth}, s.type, s.layout);
  made.k = g.tensor({s.batches, s.headsOfK, s.keys, s.depth}, s.type, s.layout);
  made.v = g.tensor({s.batches, s.headsOfV, s.keys, s.depthOfV}, s.type, s.layout);
  made.o = g.tensor({s.batches, s.heads, s.queries, s.depthOfV}, s.type, s.layout);
  made.statistics = g.tensor(sums);
  // The program says of k what its transpose is.
  std::swap(g.parts.tensors[made.k].dims[2], g.parts.tensors[made.k].dims[3]);
  std::swap(g.parts.tensors[made.k].strides[2], g.parts.tensors[made.k].strides[3]);
  auto last = passing(scores);
  g.node(Operation::matrixProduct, {made.q, made.k}, {last});
  last = pointwise(1, {last, g.scalar(kFactor, 4)}, passing(scores));
  if (s.causal) {
    const auto row = pointwise(501, {last}, passing(scores, Type::i32)), column = pointwise(501, {last}, passing(scores, Type::i32));
    g.parts.nodes[g.parts.nodes.size() - 2].numbers[kAxis] = 2;
    g.parts.nodes.back().numbers[kAxis] = 3;
    const auto sees = pointwise(303, {row, column}, passing(scores, Type::boolean), Type::boolean);
    last = pointwise(601, {last, g.scalar(-std::numeric_limits<float>::infinity(), 4), sees}, passing(scores));
  }
  const auto highest = passing(sums), sum = passing(sums);
  g.node(Operation::reduction, {last}, {highest}, 3);
  const auto powers = pointwise(13, {pointwise(9, {last, highest}, passing(scores))}, passing(scores));
  g.node(Operation::reduction, {powers}, {sum}, 0);
  pointwise(0, {highest, pointwise(15, {sum}, passing(sums))}, made.statistics);
  const auto weights = pointwise(6, {powers, sum}, passing(scores, s.type));
  g.node(Operation::matrixProduct, {weights, made.v}, {made.o});
  return made;
}

// The element at (b, h, i, j) of a tensor in memory, as the program would read it.
double at(const Parts& parts, std::uint16_t tensor, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  const Tensor& t = parts.tensors[tensor];
  const std::int64_t place = b * t.strides[0] + h * t.strides[1] + i * t.strides[2] + j * t.strides[3];
  return decode(t.type, reinterpret_cast<const std::byte*>(t.address) + static_cast<std::size_t>(place) * bytesOf(t.type));
}

// So that no two tensors in memory meet, however large they are.
void apart(Parts& parts) {
  for (std::size_t i = 0; i < parts.tensors.size(); ++i) {
    if (parts.tensors[i].kind == TensorKind::memory) parts.tensors[i].address = (i + 1) << 32;
  }
}

// Runs it, and compares every `step`th query of each head.
void compare(Attention& a, const Shape& s, bool transposed, Way way = Way::shuffled, std::int64_t step = 1) {
  Memories memories(a.g.parts, 11);
  const Parts& parts = a.g.parts;
  if (a.queryCounts != kNoTensor) {
    for (std::int64_t b = 0; b < s.batches; ++b) {
      reinterpret_cast<std::int32_t*>(parts.tensors[a.queryCounts].address)[b] = static_cast<std::int32_t>(b == 0 ? 33 : s.queries + 5);
      reinterpret_cast<std::int64_t*>(parts.tensors[a.keyCounts].address)[b] = b == 0 ? 257 : 0;
    }
  }
  REQUIRE(check(parts).verdict == Verdict::runs);
  memories.run(way);
  double worst = 0, worstStatistic = 0;
  std::vector<double> weights(static_cast<std::size_t>(s.keys));
  for (std::int64_t b = 0; b < s.batches; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      for (std::int64_t i = 0; i < s.queries; i += step) {
        const std::int64_t ofK = h * s.headsOfK / s.heads, ofV = h * s.headsOfV / s.heads;
        std::int64_t keys = s.causal ? std::min(s.keys, i + 1) : s.keys;
        if (a.queryCounts != kNoTensor) keys = b == 0 && i < 33 ? 257 : 0;
        double sum = 0;
        for (std::int64_t j = 0; j < keys; ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < s.depth; ++d) score += at(parts, a.q, b, h, i, d) * (transposed ? at(parts, a.k, b, ofK, d, j) : at(parts, a.k, b, ofK, j, d));
          sum += weights[static_cast<std::size_t>(j)] = std::exp(static_cast<double>(kFactor) * score);
        }
        for (std::int64_t d = 0; d < s.depthOfV; ++d) {
          double wanted = 0;
          for (std::int64_t j = 0; j < keys; ++j) wanted += weights[static_cast<std::size_t>(j)] * at(parts, a.v, b, ofV, j, d) / sum;
          worst = std::fmax(worst, std::fabs(at(parts, a.o, b, h, i, d) - wanted));
        }
        const double statistic = at(parts, a.statistics, b, h, i, 0);
        if (keys == 0) CHECK(statistic == -std::numeric_limits<double>::infinity());
        else worstStatistic = std::fmax(worstStatistic, std::fabs(statistic - std::log(sum)));
      }
    }
  }
  CHECK(worst <= (s.type == Type::f32 ? 2e-6 : s.type == Type::f16 ? 1e-3 : 8e-3));
  CHECK(worstStatistic <= 1e-5);
}

}  // namespace

TEST_CASE("attention as one operation: layouts, types, heads that are shared", "[dnn]") {
  for (const Type type : {Type::f16, Type::bf16, Type::f32}) {
    for (const Layout layout : {Layout::rows, Layout::channels, Layout::gaps}) {
      Shape s;
      s.type = type;
      s.layout = layout;
      INFO("type " << int(type) << ", layout " << int(layout));
      Attention a = asOne(s);
      compare(a, s, false);
    }
  }
  // Heads that are one in memory, as programs expand them.
  Shape expanded;
  Attention one = asOne(expanded);
  one.g.parts.tensors[one.k].strides[1] = 0;
  compare(one, expanded, false);
  // One query, many of them, one key, one head.
  for (const auto& [queries, keys] : {std::pair{1, 513}, std::pair{257, 1}, std::pair{300, 256}}) {
    Shape s;
    s.queries = queries;
    s.keys = keys;
    s.headsOfK = s.headsOfV = 4;
    Attention a = asOne(s);
    compare(a, s, false, Way::threads);
  }
}

TEST_CASE("attention as one operation: lengths, and none at all", "[dnn]") {
  Shape s;
  s.type = Type::f32;
  Attention a = asOne(s, true);
  compare(a, s, false);
}

TEST_CASE("attention as one operation: without scale and statistics; scores that are no numbers", "[dnn]") {
  Shape s;
  s.batches = s.heads = s.headsOfK = 1;
  s.type = Type::f32;
  Attention a = asOne(s);
  a.g.parts.nodes[0].inputs[3] = a.g.parts.nodes[0].outputs[1] = kNoTensor;
  Memories memories(a.g.parts, 3);
  const Parts& parts = a.g.parts;
  // One key that all queries see as the only one.
  auto* k = reinterpret_cast<float*>(parts.tensors[a.k].address);
  auto* q = reinterpret_cast<float*>(parts.tensors[a.q].address);
  for (std::int64_t i = 0; i < s.queries; ++i) q[i * s.depth] = 1000;
  for (std::int64_t j = 0; j < s.keys; ++j) k[j * s.depth] = j == 290 ? 1 : -1;
  q[5 * s.depth + 1] = std::numeric_limits<float>::quiet_NaN();
  memories.run(Way::straight);
  for (std::int64_t i = 0; i < s.queries; ++i) {
    const double o = at(parts, a.o, 0, 0, i, 3);
    if (i == 5) CHECK(o != o);
    else CHECK(o == at(parts, a.v, 0, 0, 290, 3));
  }
}

TEST_CASE("attention as a graph of operations", "[dnn]") {
  for (const bool causal : {false, true}) {
    for (const Type type : {Type::f16, Type::bf16, Type::f32}) {
      Shape s;
      s.type = type;
      s.causal = causal;
      s.layout = causal ? Layout::channels : Layout::rows;
      INFO("type " << int(type) << ", causal " << causal);
      Attention a = asGraph(s);
      CHECK(library::cpu::slicesOf(a.g.parts).count() == 1);
      compare(a, s, true);
    }
  }
}

TEST_CASE("what passes and is large is computed head by head", "[dnn]") {
  Shape s;
  s.causal = true;
  s.batches = 3;
  s.queries = 1000;
  s.keys = 1100;
  s.depth = s.depthOfV = 8;
  Attention a = asGraph(s);
  apart(a.g.parts);
  CHECK(library::cpu::slicesOf(a.g.parts).count() == 12);
  compare(a, s, true, Way::threads, 97);

  const auto slices = [](const std::function<void(Parts&)>& change) {
    Shape wide;
    wide.causal = true;
    wide.batches = 8;
    wide.queries = wide.keys = 1024;
    Attention made = asGraph(wide);
    apart(made.g.parts);
    change(made.g.parts);
    REQUIRE(check(made.g.parts).verdict == Verdict::runs);
    return library::cpu::slicesOf(made.g.parts).count();
  };
  CHECK(slices([](Parts&) {}) == 32);
  // An index of heads, or of batches; what is written over what is read.
  CHECK(slices([](Parts& p) { p.nodes[2].numbers[kAxis] = 1; }) == 8);
  CHECK(slices([](Parts& p) { p.nodes[2].numbers[kAxis] = 0; }) == 1);
  CHECK(slices([](Parts& p) { p.tensors[3].address = p.tensors[0].address; }) == 1);
}

TEST_CASE("the gradient's steps: transposes of what passes, and sums of heads that were shared", "[dnn]") {
  for (const bool square : {false, true}) {
    const std::int64_t rows = 37, columns = square ? 37 : 53;
    GraphOf g;
    const auto x = g.tensor({2, 6, rows, columns}), passes = g.tensor({2, 6, rows, columns}, Type::f32, Layout::rows, TensorKind::passing);
    const auto turned = g.tensor({2, 6, columns, rows}, Type::bf16, Layout::rows, TensorKind::passing), y = g.tensor({2, 6, columns, rows}, Type::f32, Layout::gaps), sums = g.tensor({2, 2, columns, rows});
    g.parts.tensors[turned].strides[2] = 1;
    g.parts.tensors[turned].strides[3] = columns;
    g.node(Operation::pointwise, {x}, {passes}, 16);
    g.node(Operation::reorder, {passes}, {turned});
    g.node(Operation::pointwise, {turned}, {y}, 16);
    g.node(Operation::reduction, {y}, {sums}, 0);
    Memories memories(g.parts, 5);
    REQUIRE(check(g.parts).verdict == Verdict::runs);
    memories.run(Way::shuffled);
    double worst = 0, worstSum = 0;
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t h = 0; h < 6; ++h) {
        for (std::int64_t i = 0; i < columns; ++i) {
          for (std::int64_t j = 0; j < rows; ++j) {
            worst = std::fmax(worst, std::fabs(at(g.parts, y, b, h, i, j) - at(g.parts, x, b, h, j, i)));
            double sum = 0;
            for (std::int64_t each = h / 3 * 3; each < h / 3 * 3 + 3; ++each) sum += at(g.parts, y, b, each, i, j);
            worstSum = std::fmax(worstSum, std::fabs(at(g.parts, sums, b, h / 3, i, j) - sum));
          }
        }
      }
    }
    CHECK(worst <= 4e-3);  // halfway it is bfloat16
    CHECK(worst > 0);
    CHECK(worstSum <= 1e-6);
  }
}

}  // namespace rouse::dnn
