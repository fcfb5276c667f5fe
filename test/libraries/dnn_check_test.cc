// Graphs of cuDNN: what may be in one. Nothing in them is believed, so most of these are wrong.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "test/libraries/dnn_graphs.h"

namespace rouse::dnn {
namespace {

std::string saidOf(const Parts& parts) {
  const Check c = check(parts);
  return c.verdict == Verdict::runs ? "runs" : std::string(c.verdict == Verdict::invalid ? "invalid: " : "unsupported: ") + c.what;
}

GraphOf convolution(const Dims& x, const Dims& w, const Dims& y, Window window) {
  GraphOf g;
  const auto xs = g.tensor(x), ws = g.tensor(w), ys = g.tensor(y);
  setWindows(g.node(Operation::convolutionForward, {xs, ws}, {ys}, 1), static_cast<std::uint32_t>(x.size() - 2), window);
  return g;
}

// Keys that are reordered before it.
GraphOf turnedAttention() {
  GraphOf g;
  const auto q = g.tensor({2, 4, 5, 8}), turned = g.tensor({2, 2, 8, 6}), k = g.tensor({2, 2, 6, 8}), v = g.tensor({2, 1, 6, 3}), o = g.tensor({2, 4, 5, 3}), statistics = g.tensor({2, 4, 5, 1});
  g.parts.tensors[k].strides[2] = 1;
  g.parts.tensors[k].strides[3] = 6;
  g.node(Operation::reorder, {turned}, {k});
  g.node(Operation::attentionForward, {q, k, v, g.scalar(0.5f, 4)}, {o, statistics});
  return g;
}

}  // namespace

TEST_CASE("a graph comes apart as it was put together", "[dnn]") {
  GraphOf g = fusedConvolution();
  g.parts.graph.workspace = 0x7000'0000;
  g.parts.graph.workspaceBytes = 100;
  const std::vector<std::byte> bytes = putTogether(g.parts);
  CHECK(bytes.size() == sizeof(Graph) + 6 * sizeof(Tensor) + 3 * sizeof(Node));
  Parts parts;
  REQUIRE(takeApart(bytes, parts));
  CHECK(putTogether(parts) == bytes);
  CHECK(saidOf(parts) == "runs");
  std::vector<Range> found;
  REQUIRE(ranges(parts, found));
  REQUIRE(found.size() == 5);  // what passes between the nodes is nobody's memory
  CHECK(found[0].bytes == 2 * 4 * 8 * 8 * 4);
  CHECK((!found[0].written && !found[1].written && !found[2].written && found[3].written && found[4].written));
  CHECK(found[4].bytes == 100);

  for (std::size_t size = 0; size < bytes.size(); ++size) CHECK(!takeApart(std::span(bytes).first(size), parts));
  std::vector<std::byte> more = bytes;
  more.push_back({});
  CHECK(!takeApart(more, parts));
  const std::uint32_t counts[] = {7, 0xffff'ffff, 0x1000'0000, kMaxTensors + 1};
  for (const std::uint32_t count : counts) {
    more = bytes;
    std::memcpy(more.data(), &count, sizeof count);
    CHECK(!takeApart(more, parts));
    more = bytes;
    std::memcpy(more.data() + 4, &count, sizeof count);
    CHECK(!takeApart(more, parts));
  }
}

TEST_CASE("tensors that are none", "[dnn]") {
  const auto said = [](const std::function<void(Parts&)>& change) {
    GraphOf g = fusedConvolution();
    change(g.parts);
    return saidOf(g.parts);
  };
  CHECK(said([](Parts&) {}) == "runs");
  CHECK(said([](Parts& p) { p.tensors[0].rank = 0; }) == "invalid: a tensor's rank");
  CHECK(said([](Parts& p) { p.tensors[0].rank = 9; }) == "invalid: a tensor's rank");
  CHECK(said([](Parts& p) { p.tensors[0].kind = TensorKind{3}; }) == "invalid: a tensor's kind");
  CHECK(said([](Parts& p) { p.tensors[0].type = Type{12}; }) == "invalid: a tensor's type");
  CHECK(said([](Parts& p) { p.tensors[0].dims[5] = 1; }) == "invalid: a dimension beyond a tensor's rank");
  CHECK(said([](Parts& p) { p.tensors[0].dims[2] = 0; }) == "invalid: a tensor's dimension");
  CHECK(said([](Parts& p) { p.tensors[0].dims[2] = -1; }) == "invalid: a tensor's dimension");
  CHECK(said([](Parts& p) { p.tensors[0].dims[2] = kMostElements + 1; }) == "unsupported: a dimension of more than 2147483647");
  CHECK(said([](Parts& p) { p.tensors[0].strides[0] = 0; }) == "invalid: a tensor's stride");
  CHECK(said([](Parts& p) { p.tensors[0].strides[0] = INT64_MAX; }) == "unsupported: a tensor's stride");
  CHECK(said([](Parts& p) { p.tensors[0].strides[0] = std::int64_t{1} << 43; }) == "unsupported: a tensor of more bytes than a window holds");
  CHECK(said([](Parts& p) { p.tensors[0].strides[3] = 2; }) == "unsupported: a tensor whose elements overlap");
  CHECK(said([](Parts& p) { for (std::int64_t& dim : p.tensors[0].dims) dim = kMostElements; p.tensors[0].rank = 8; }).find("a tensor") != std::string::npos);
  CHECK(said([](Parts& p) { p.tensors[0].kind = TensorKind::scalar; }) == "invalid: a scalar's dimensions");
  CHECK(said([](Parts& p) { for (const std::size_t i : {3u, 4u}) setShape(p.tensors[i], {1 << 23, 6, 256, 256}, Layout::rows); }) ==
        "unsupported: passing tensors of more than 16 TiB");
  CHECK(said([](Parts& p) { p.tensors[0].alignment = 16; }) == "runs");
  CHECK(said([](Parts& p) { p.tensors[0].alignment = 24; }) == "invalid: a tensor's alignment");
  CHECK(said([](Parts& p) { p.tensors[0].alignment = 129; }) == "invalid: a tensor's alignment");
  // The same elements again and again: of what is read one by one, and not of what is written.
  CHECK(said([](Parts& p) { p.tensors[2].dims[0] = 2; p.tensors[2].strides[0] = 0; }) == "runs");
  CHECK(said([](Parts& p) { p.tensors[5].strides[0] = 0; }) == "invalid: the stride of a tensor that is written");
  CHECK(said([](Parts& p) { p.tensors[3].strides[0] = 0; }) == "invalid: the stride of a tensor that is written");
  // A dimension of 1 has any stride.
  CHECK(said([](Parts& p) { p.tensors[2].strides[0] = p.tensors[2].strides[2] = -7; }) == "runs");
}

TEST_CASE("nodes that no graph has", "[dnn]") {
  const auto said = [](const std::function<void(Parts&)>& change) {
    GraphOf g = fusedConvolution();
    change(g.parts);
    return saidOf(g.parts);
  };
  CHECK(said([](Parts& p) { p.nodes.clear(); }) == "invalid: how many operations");
  CHECK(said([](Parts& p) { p.nodes.resize(kMaxNodes + 1); }) == "invalid: how many operations");
  CHECK(said([](Parts& p) { p.nodes[0].operation = Operation{0}; }) == "invalid: the operation");
  CHECK(said([](Parts& p) { p.nodes[0].operation = Operation{200}; }) == "invalid: the operation");
  CHECK(said([](Parts& p) { p.nodes[0].inputs[0] = 6; }) == "invalid: an input's number");
  CHECK(said([](Parts& p) { p.nodes[0].inputs[1] = kNoTensor; }) == "invalid: which inputs and outputs there are");
  CHECK(said([](Parts& p) { p.nodes[0].inputs[2] = 0; }) == "invalid: which inputs and outputs there are");
  CHECK(said([](Parts& p) { p.nodes[0].outputs[1] = 5; }) == "invalid: which inputs and outputs there are");
  CHECK(said([](Parts& p) { p.nodes[0].outputs[0] = 6; }) == "invalid: an output's number");
  CHECK(said([](Parts& p) { p.nodes[0].inputs[0] = 3; }) == "invalid: a passing tensor that is read before it is written");
  CHECK(said([](Parts& p) { p.nodes[1].outputs[0] = 3; }) == "invalid: a passing tensor that is written twice");
  CHECK(said([](Parts& p) { p.nodes[0].beta = 1; }) == "invalid: beta of a passing tensor");
  CHECK(said([](Parts& p) { std::swap(p.nodes[1], p.nodes[2]); }) == "invalid: a passing tensor that is read before it is written");
  CHECK(said([](Parts& p) { p.nodes[1].mode = 24; }) == "invalid: the pointwise mode");
  CHECK(said([](Parts& p) { p.nodes[1].mode = 65535; }) == "invalid: the pointwise mode");
  CHECK(said([](Parts& p) { p.nodes[1].mode = 601; }) == "invalid: which inputs and outputs there are");
  CHECK(said([](Parts& p) { p.nodes[1].compute = Type::f16; }) == "unsupported: the compute type");
  CHECK(said([](Parts& p) { p.tensors[2].dims[1] = 5; }) == "invalid: a shape that does not spread to the output's");
  GraphOf g = fusedConvolution();
  g.parts.nodes[2].mode = 4711;
  CHECK(check(g.parts).node == 2);
}

TEST_CASE("attention: shapes, heads, types, lengths", "[dnn]") {
  struct Shape {
    Dims q{2, 4, 10, 8}, k{2, 2, 12, 8}, v{2, 1, 12, 6}, o{2, 4, 10, 6}, scale{1, 1, 1, 1}, queries{2, 1, 1, 1}, keys{2, 1, 1, 1}, statistics{2, 4, 10, 1};
  };
  const auto graphOf = [](const Shape& shape) {
    GraphOf g;
    const auto q = g.tensor(shape.q, Type::f16), k = g.tensor(shape.k, Type::f16), v = g.tensor(shape.v, Type::f16), scale = g.scalar(0.5f, 4);
    const auto queries = g.tensor(shape.queries, Type::i32), keys = g.tensor(shape.keys, Type::i32), o = g.tensor(shape.o, Type::f16), statistics = g.tensor(shape.statistics);
    setShape(g.parts.tensors[scale], shape.scale, Layout::rows);
    g.node(Operation::attentionForward, {q, k, v, scale, queries, keys}, {o, statistics});
    return g;
  };
  const auto shaped = [&](const std::function<void(Shape&)>& change) {
    Shape shape;
    change(shape);
    return saidOf(graphOf(shape).parts);
  };
  const auto said = [&](const std::function<void(Parts&, Node&)>& change) {
    GraphOf g = graphOf({});
    change(g.parts, g.parts.nodes[0]);
    return saidOf(g.parts);
  };
  CHECK(shaped([](Shape&) {}) == "runs");
  CHECK(shaped([](Shape& s) { s.q = {8, 10, 8}; }) == "invalid: the tensors' ranks");
  for (Dims Shape::*each : {&Shape::k, &Shape::v}) {
    for (const std::size_t i : {0u, 2u}) CHECK(shaped([&](Shape& s) { ++(s.*each)[i]; }) == "invalid: queries, keys and values that do not match");
    CHECK(shaped([&](Shape& s) { (s.*each)[1] = 3; }) == "invalid: heads that do not divide those of the queries");
  }
  CHECK(shaped([](Shape& s) { s.k[3] = 9; }) == "invalid: queries, keys and values that do not match");
  for (const std::size_t i : {0u, 1u, 2u, 3u}) {
    CHECK(shaped([&](Shape& s) { ++s.o[i]; }) == "invalid: the output's shape");
    CHECK(shaped([&](Shape& s) { ++s.statistics[i]; }) == "invalid: the shape of the statistics");
    CHECK(shaped([&](Shape& s) { ++s.queries[i]; }) == "invalid: the shape of the lengths");
  }
  CHECK(shaped([](Shape& s) { s.scale = {1, 4, 1, 1}; }) == "invalid: a scalar's dimensions");
  CHECK(said([](Parts&, Node& node) { node.inputs[3] = node.inputs[4] = node.inputs[5] = node.outputs[1] = kNoTensor; }) == "runs");
  // Heads that are one in memory, but no keys that are.
  CHECK(said([](Parts& p, Node&) { p.tensors[1].strides[0] = p.tensors[1].strides[1] = 0; }) == "runs");
  CHECK(said([](Parts& p, Node&) { p.tensors[1].strides[2] = 0; }) == "invalid: a tensor's stride");
  CHECK(said([](Parts& p, Node&) { p.tensors[2].strides[3] = 0; }) == "invalid: a tensor's stride");
  CHECK(said([](Parts&, Node& node) { node.inputs[5] = kNoTensor; }) == "unsupported: lengths of queries without those of keys, or those alone");
  CHECK(said([](Parts&, Node& node) { node.inputs[2] = kNoTensor; }) == "invalid: which inputs and outputs there are");
  CHECK(said([](Parts&, Node& node) { node.inputs[6] = 0; }) == "invalid: which inputs and outputs there are");
  CHECK(said([](Parts&, Node& node) { node.outputs[0] = kNoTensor; }) == "invalid: which inputs and outputs there are");
  CHECK(said([](Parts&, Node& node) { node.beta = 1; }) == "unsupported: alpha and beta of attention");
  CHECK(said([](Parts&, Node& node) { node.compute = Type::f64; }) == "unsupported: the compute type");
  CHECK(said([](Parts&, Node& node) { node.compute = Type::boolean; }) == "unsupported: the compute type");
  CHECK(said([](Parts& p, Node&) { p.tensors[1].type = Type::bf16; }) == "unsupported: this combination of types");
  CHECK(said([](Parts& p, Node&) { for (const int i : {0, 1, 2, 6}) p.tensors[static_cast<std::size_t>(i)].type = Type::i8; }) == "unsupported: this combination of types");
  CHECK(said([](Parts& p, Node&) { p.tensors[7].type = Type::f16; }) == "unsupported: statistics that are no floats");
  CHECK(said([](Parts& p, Node&) { p.tensors[3].type = Type::f64; }) == "invalid: a scale that is not one float");
  CHECK(said([](Parts& p, Node&) { p.tensors[5].type = Type::f32; }) == "unsupported: lengths that are no integers in memory");
  CHECK(said([](Parts& p, Node&) { p.tensors[6].kind = TensorKind::passing; }) == "unsupported: attention whose tensors are not in memory");
}

TEST_CASE("products of matrices: batches that are repeated, and heads that are shared", "[dnn]") {
  const auto said = [](const Dims& a, const Dims& b, const Dims& c) {
    GraphOf g;
    const auto left = g.tensor(a), right = g.tensor(b), to = g.tensor(c);
    g.node(Operation::matrixProduct, {left, right}, {to});
    return saidOf(g.parts);
  };
  CHECK(said({2, 8, 3, 4}, {2, 8, 4, 5}, {2, 8, 3, 5}) == "runs");
  CHECK(said({2, 8, 3, 4}, {1, 2, 4, 5}, {2, 8, 3, 5}) == "runs");
  CHECK(said({2, 8, 3, 4}, {2, 3, 4, 5}, {2, 8, 3, 5}) == "unsupported: batches that do not match");
  CHECK(said({2, 8, 3, 4}, {4, 8, 4, 5}, {2, 8, 3, 5}) == "unsupported: batches that do not match");
}

TEST_CASE("what passes: in any order, and transposed", "[dnn]") {
  const auto graphOf = [](const Dims& from, const Dims& to) {
    GraphOf g;
    const auto x = g.tensor(from), passes = g.tensor(from, Type::f32, Layout::rows, TensorKind::passing), turned = g.tensor(to, Type::f16, Layout::rows, TensorKind::passing), y = g.tensor(to);
    g.node(Operation::pointwise, {x}, {passes}, 13);
    g.node(Operation::reorder, {passes}, {turned});
    g.node(Operation::pointwise, {turned}, {y}, 13);
    std::swap(g.parts.tensors[turned].strides[2], g.parts.tensors[turned].strides[3]);
    g.parts.tensors[turned].strides[2] = 1;
    g.parts.tensors[turned].strides[3] = from[3];
    return g;
  };
  const auto said = [&](const std::function<void(Parts&)>& change) {
    GraphOf g = graphOf({2, 3, 5, 7}, {2, 3, 7, 5});
    change(g.parts);
    return saidOf(g.parts);
  };
  CHECK(said([](Parts&) {}) == "runs");
  CHECK(saidOf(graphOf({2, 3, 5, 5}, {2, 3, 5, 5}).parts) == "runs");
  CHECK(saidOf(graphOf({2, 3, 5, 7}, {2, 3, 7, 6}).parts) == "unsupported: a reshape that is no other order of dimensions");
  CHECK(said([](Parts& p) { p.tensors[2].strides[3] = 5; }) == "unsupported: a reshape that is no other order of dimensions");
  CHECK(said([](Parts& p) { p.nodes[1].mode = 3; }) == "invalid: how it is reshaped");
  CHECK(said([](Parts& p) { p.nodes[1].alpha = 2; }) == "unsupported: alpha and beta of a transpose");
  CHECK(said([](Parts& p) { p.tensors[2].type = Type::i32; }) == "unsupported: this combination of types");
  // Strides of what passes may say anything, but that it is repeated.
  CHECK(said([](Parts& p) { for (const std::size_t i : {1u, 2u}) p.tensors[i].strides[0] = 1; }) == "runs");
  CHECK(said([](Parts& p) { p.tensors[0].strides[0] = 1; }) == "unsupported: a tensor whose elements overlap");
  CHECK(said([](Parts& p) { p.tensors[1].strides[0] = 0; }) == "invalid: the stride of a tensor that is written");
}

TEST_CASE("random numbers: seeds, distribution, probability", "[dnn]") {
  const auto said = [](const std::function<void(Parts&, Node&)>& change) {
    GraphOf g;
    const auto seed = g.tensor({1, 1, 1, 1}, Type::i64), offset = g.tensor({1, 1, 1, 1}, Type::i32), y = g.tensor({2, 3, 4, 5});
    g.node(Operation::random, {seed, offset}, {y}).numbers[kProbability] = 0.5;
    change(g.parts, g.parts.nodes[0]);
    return saidOf(g.parts);
  };
  CHECK(said([](Parts&, Node&) {}) == "runs");
  CHECK(said([](Parts&, Node& node) { node.inputs[1] = kNoTensor; }) == "runs");
  CHECK(said([](Parts&, Node& node) { node.inputs[0] = kNoTensor; }) == "invalid: which inputs and outputs there are");
  CHECK(said([](Parts& p, Node&) { p.tensors[1].dims[3] = 2; }) == "invalid: a seed or an offset that is not one number");
  CHECK(said([](Parts& p, Node&) { p.tensors[0].type = Type::f32; }) == "unsupported: a seed or an offset of this type");
  CHECK(said([](Parts& p, Node&) { p.tensors[2].type = Type::i8; }) == "unsupported: this combination of types");
  CHECK(said([](Parts&, Node& node) { node.mode = 1; }) == "unsupported: this distribution");
  for (const double probability : {-0.1, 1.1, double(NAN)}) CHECK(said([&](Parts&, Node& node) { node.numbers[kProbability] = probability; }) == "invalid: the probability");
  CHECK(said([](Parts&, Node& node) { node.beta = 1; }) == "unsupported: alpha and beta of random numbers");
}

TEST_CASE("reductions: dimensions whole, and one in parts", "[dnn]") {
  const auto said = [](const Dims& from, const Dims& to) {
    GraphOf g;
    const auto x = g.tensor(from), y = g.tensor(to);
    g.node(Operation::reduction, {x}, {y}, 0);
    return saidOf(g.parts);
  };
  CHECK(said({2, 8, 5, 6}, {2, 1, 5, 1}) == "runs");
  CHECK(said({2, 8, 5, 6}, {2, 4, 5, 1}) == "runs");
  CHECK(said({2, 8, 5, 6}, {2, 3, 5, 6}) == "invalid: the output's shape");
  CHECK(said({2, 8, 5, 6}, {2, 16, 5, 6}) == "invalid: the output's shape");
  CHECK(said({2, 8, 5, 6}, {2, 4, 5, 3}) == "unsupported: a reduction of parts of two dimensions");
}

TEST_CASE("convolutions: sizes, groups, windows", "[dnn]") {
  CHECK(saidOf(convolution({2, 4, 9, 9}, {8, 4, 3, 3}, {2, 8, 7, 7}, {}).parts) == "runs");
  CHECK(saidOf(convolution({2, 4, 9, 9}, {8, 4, 3, 3}, {2, 8, 5, 5}, {1, 1, 2}).parts) == "runs");
  CHECK(saidOf(convolution({2, 4, 9, 9}, {8, 4, 3, 3}, {2, 8, 8, 8}, {2, 1, 1, 2}).parts) == "runs");
  CHECK(saidOf(convolution({2, 4, 9}, {8, 2, 3}, {2, 8, 7}, {}).parts) == "runs");
  CHECK(saidOf(convolution({2, 4, 9, 9, 9}, {8, 1, 3, 3, 3}, {2, 8, 7, 7, 7}, {}).parts) == "runs");
  CHECK(saidOf(convolution({2, 4, 9, 9}, {8, 4, 3, 3}, {2, 8, 7, 8}, {}).parts) == "invalid: the output's size");
  CHECK(saidOf(convolution({2, 4, 2, 2}, {8, 4, 3, 3}, {2, 8, 1, 1}, {}).parts) == "invalid: the output's size");
  CHECK(saidOf(convolution({2, 4, 9, 9}, {8, 3, 3, 3}, {2, 8, 7, 7}, {}).parts) == "invalid: channels that no groups divide");
  CHECK(saidOf(convolution({2, 4, 9, 9}, {6, 1, 3, 3}, {2, 6, 7, 7}, {}).parts) == "invalid: filters that the groups do not divide");
  CHECK(saidOf(convolution({2, 4, 9, 9}, {8, 4, 3, 3}, {3, 8, 7, 7}, {}).parts) == "invalid: images or channels that do not match");
  CHECK(saidOf(convolution({2, 4, 9, 9}, {8, 4, 3, 3}, {2, 7, 7, 7}, {}).parts) == "invalid: images or channels that do not match");
  CHECK(saidOf(convolution({2, 4, 9, 9}, {8, 4, 3, 3}, {2, 8, 7, 7}, {0, 0, 0}).parts) == "invalid: a stride");
  CHECK(saidOf(convolution({2, 4, 9, 9}, {8, 4, 3, 3}, {2, 8, 7, 7}, {0, 0, 1, 0}).parts) == "invalid: a dilation");
  CHECK(saidOf(convolution({2, 4, 9, 9}, {8, 4, 3, 3}, {2, 8, 7, 7}, {-1, 1}).parts) == "unsupported: a pad below 0");
  CHECK(saidOf(convolution({2, 4, 9, 9}, {8, 4, 3, 3}, {2, 8, 7, 7}, {INT32_MAX, INT32_MAX, 1, INT32_MAX}).parts) == "invalid: the output's size");
  CHECK(saidOf(convolution({2, 4}, {8, 4}, {2, 8}, {}).parts) == "invalid: how many spatial dimensions");
  CHECK(saidOf(convolution({1, 1, 2, 2, 2, 2}, {1, 1, 1, 1, 1, 1}, {1, 1, 2, 2, 2, 2}, {}).parts).find("spatial") != std::string::npos);
  GraphOf g = convolution({2, 4, 9, 9}, {8, 4, 3, 3}, {2, 8, 7, 7}, {});
  g.parts.nodes[0].mode = 2;
  CHECK(saidOf(g.parts) == "invalid: the convolution's mode");
  g.parts.nodes[0].mode = 0;
  g.parts.tensors[0].type = g.parts.tensors[1].type = Type::i8;
  CHECK(saidOf(g.parts) == "runs");
  g.parts.tensors[1].type = Type::i64;
  CHECK(saidOf(g.parts) == "unsupported: this combination of types");
}

TEST_CASE("norms: which statistics there are", "[dnn]") {
  constexpr std::uint16_t kNone = kNoTensor;
  for (const bool training : {false, true}) {
    GraphOf g;
    const auto x = g.tensor({2, 6, 5, 5}), scale = g.tensor({1, 6, 1, 1}), bias = g.tensor({1, 6, 1, 1}), mean = g.tensor({1, 6, 1, 1}), var = g.tensor({1, 6, 1, 1});
    const auto y = g.tensor({2, 6, 5, 5});
    Node& node = training ? g.node(Operation::normForward, {x, scale, bias, kNone, kNone, mean, var}, {y, kNone, kNone, mean, var}, 2)
                          : g.node(Operation::normForward, {x, scale, bias, mean, var}, {y}, 2);
    if (training) node.flags = kTraining;
    CHECK(saidOf(g.parts) == "runs");
    const Averaged over = averagedBy(g.parts, g.parts.nodes[0]);
    CHECK((over.dims[0] == 1 && over.dims[1] == 0 && over.dims[2] == 1 && over.dims[3] == 1));
    g.parts.nodes[0].mode = 0;  // what is averaged is another thing then, and the statistics do not have its shape
    CHECK(saidOf(g.parts) == "invalid: the shape of a statistic");
    g.parts.nodes[0].mode = 2;
    g.parts.nodes[0].flags ^= kTraining;
    CHECK(saidOf(g.parts) == "invalid: which statistics there are");
    g.parts.nodes[0].flags ^= kTraining;
    g.parts.nodes[0].mode = 4;
    CHECK(saidOf(g.parts).find("invalid") == 0);
    g.parts.nodes[0].mode = 5;
    CHECK(saidOf(g.parts) == "unsupported: this kind of norm");
  }
  GraphOf g;
  const auto x = g.tensor({2, 6, 5, 5}), mean = g.tensor({2, 3, 1, 1}), y = g.tensor({2, 6, 5, 5});
  g.node(Operation::normForward, {x}, {y, mean}, 3).flags = kTraining;
  for (const auto& [groups, said] : {std::pair{3.0, "runs"}, {2.0, "invalid: the shape of a statistic"}, {4.0, "invalid: groups that do not divide the channels"},
                                     {0.0, "invalid: groups that do not divide the channels"}, {1.5, "invalid: groups that do not divide the channels"},
                                     {double(NAN), "invalid: groups that do not divide the channels"}}) {
    g.parts.nodes[0].numbers[kGroups] = groups;
    CHECK(saidOf(g.parts) == said);
  }
  g.parts.nodes[0].mode = 0;
  CHECK(saidOf(g.parts) == "invalid: a norm that nothing says the shape of");
}

TEST_CASE("memory that ends behind memory's end, or is not aligned", "[dnn]") {
  GraphOf g = fusedConvolution();
  std::vector<Range> found;
  for (const std::uint64_t address : {~std::uint64_t{0} - 3, ~std::uint64_t{0} - 2047, std::uint64_t{0x10002}}) {
    g.parts.tensors[0].address = address;
    CHECK(!ranges(g.parts, found));
  }
  g.parts.tensors[0].address = 0x10000;
  g.parts.graph = {.workspace = ~std::uint64_t{0} - 3, .workspaceBytes = 8};
  CHECK(!ranges(g.parts, found));
}

// Whatever is changed: no crash, no overflow (the sanitizers look), and of what is said to run every tensor lies where ranges() says.
TEST_CASE("random changes of a graph", "[dnn]") {
  std::mt19937_64 random(20261122);
  std::size_t ran = 0;
  for (int round = 0; round < 60'000; ++round) {
    GraphOf g = round % 3 == 0 ? fusedConvolution() : round % 3 == 1 ? convolution({2, 4, 9}, {8, 2, 3}, {2, 8, 7}, {}) : turnedAttention();
    std::vector<std::byte> bytes = putTogether(g.parts);
    const auto changes = 1 + random() % 3;
    for (std::uint64_t i = 0; i < changes; ++i) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0: bytes[at] = static_cast<std::byte>(random()); break;
        case 1: bytes[at] ^= static_cast<std::byte>(1 << random() % 8); break;
        default: {
          const std::uint64_t special[] = {0, 1, 0xffff, 0x7fff'ffff, 0xffff'ffff, INT64_MAX, UINT64_MAX, random()};
          const std::size_t to = at / 8 * 8;
          std::memcpy(bytes.data() + to, &special[random() % 8], std::min<std::size_t>(8, bytes.size() - to));
        }
      }
    }
    Parts parts;
    if (!takeApart(bytes, parts) || check(parts).verdict != Verdict::runs) continue;
    ++ran;
    std::vector<Range> found;
    if (!ranges(parts, found)) continue;
    for (const Range& range : found) CHECK(range.address + range.bytes > range.address);
    // Any element of any tensor that an operation names, read or written.
    const auto lies = [&](std::uint16_t number, bool written) {
      if (number == kNoTensor || parts.tensors[number].kind != TensorKind::memory) return;
      const Tensor& tensor = parts.tensors[number];
      for (int corner = 0; corner < 8; ++corner) {
        std::uint64_t at = tensor.address;
        for (std::uint32_t d = 0; d < tensor.rank; ++d) {
          const auto last = static_cast<std::uint64_t>(tensor.dims[d]) - 1;
          if (last != 0) at += (corner == 0 ? last : corner == 1 ? 0 : random() % (last + 1)) * static_cast<std::uint64_t>(tensor.strides[d]) * bytesOf(tensor.type);
        }
        const bool named = std::any_of(found.begin(), found.end(), [&](const Range& range) {
          return at >= range.address && at - range.address <= range.bytes - bytesOf(tensor.type) && range.bytes >= bytesOf(tensor.type) && (range.written || !written);
        });
        CHECK(named);
      }
    };
    for (const Node& node : parts.nodes) {
      for (const std::uint16_t input : node.inputs) lies(input, false);
      for (const std::uint16_t output : node.outputs) lies(output, true);
    }
    CHECK(putTogether(parts) == bytes);
  }
  CHECK(ran > 1000);
}

}  // namespace rouse::dnn
