// Graphs on GPUs, before a double of cuDNN: which calls of the real library they become. Nothing here says that NVIDIA's library takes them.
#include <cudnn.h>

#include <bit>
#include <catch2/catch.hpp>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "server/library/cuda/real_libraries.h"
#include "test/libraries/dnn_graphs.h"
#include "test/libraries/taken.h"

namespace rouse::library::cuda {
namespace {

std::vector<Taken> taken() { return takenOf(ROUSE_CUDNN_DOUBLE); }

// What was set in backend descriptors, by their kind.
struct Described {
  std::uint64_t kind = 0;
  std::map<std::uint64_t, Words> attributes;
  bool finished = false;
};
std::map<std::uint64_t, Described> described(const std::vector<Taken>& calls) {
  std::map<std::uint64_t, Described> all;
  for (const Taken& call : calls) {
    const Words& a = call.arguments;
    if (call.name == "cudnnBackendCreateDescriptor") all[a[0]].kind = a[1];
    if (call.name == "cudnnBackendSetAttribute") {
      CHECK(!all[a[0]].finished);
      all[a[0]].attributes[a[1]] = {a.begin() + 4, a.end()};
    }
    if (call.name == "cudnnBackendFinalize") all[a[0]].finished = true;
  }
  return all;
}
std::size_t countOf(const std::vector<Taken>& calls, const char* name) {
  return static_cast<std::size_t>(std::count_if(calls.begin(), calls.end(), [&](const Taken& each) { return each.name == name; }));
}
const Taken& the(const std::vector<Taken>& calls, const char* name) {
  REQUIRE(countOf(calls, name) == 1);
  return *std::find_if(calls.begin(), calls.end(), [&](const Taken& each) { return each.name == name; });
}

struct Real {
  Real() {
    ::setenv(kBlasVariable, ROUSE_CUBLAS_DOUBLE, 1);
    ::setenv(kDnnVariable, ROUSE_CUDNN_DOUBLE, 1);
    handle = libraries.take(reinterpret_cast<CUstream_st*>(0x77)).value();
    taken();
  }
  Status run(const dnn::GraphOf& g) { return libraries.call(*handle, dnn::kLibrary, dnn::kGraphFunction, dnn::putTogether(g.parts)); }
  RealLibraries libraries;
  Handle* handle = nullptr;
};

}  // namespace

TEST_CASE_METHOD(Real, "a graph becomes a plan, once", "[dnn]") {
  dnn::GraphOf g = dnn::fusedConvolution();
  g.parts.graph.workspace = 0x5000'0000;
  g.parts.graph.workspaceBytes = 100;
  REQUIRE(run(g).ok());
  const auto calls = taken();
  REQUIRE(calls.size() > 3);
  CHECK(calls[0].name == "cudnnCreate");
  const std::uint64_t number = calls[0].arguments[0];
  CHECK(calls[1].name == "cudnnSetStream");
  CHECK(calls[1].arguments == Words{number, 0x77});

  const auto all = described(calls);
  std::map<std::uint64_t, std::uint64_t> tensors;  // by unique id
  std::vector<std::uint64_t> operations;
  for (const auto& [each, d] : all) {
    if (d.kind == CUDNN_BACKEND_TENSOR_DESCRIPTOR) tensors[d.attributes.at(CUDNN_ATTR_TENSOR_UNIQUE_ID)[0]] = each;
  }
  REQUIRE(tensors.size() == 6);
  const Described& x = all.at(tensors[1]);
  CHECK(x.finished);
  CHECK(x.attributes.at(CUDNN_ATTR_TENSOR_DIMENSIONS) == Words{2, 4, 8, 8});
  CHECK(x.attributes.at(CUDNN_ATTR_TENSOR_STRIDES) == Words{256, 64, 8, 1});
  CHECK(x.attributes.at(CUDNN_ATTR_TENSOR_DATA_TYPE) == Words{CUDNN_DATA_FLOAT});
  CHECK(x.attributes.at(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) == Words{128});
  CHECK(x.attributes.count(CUDNN_ATTR_TENSOR_IS_VIRTUAL) == 0);
  CHECK(all.at(tensors[4]).attributes.at(CUDNN_ATTR_TENSOR_IS_VIRTUAL) == Words{1});

  for (const auto& [each, d] : all) {
    if (d.kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
      CHECK(d.attributes.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X) == Words{tensors[1]});
      CHECK(d.attributes.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W) == Words{tensors[2]});
      CHECK(d.attributes.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y) == Words{tensors[4]});
      CHECK(d.attributes.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA) == Words{std::bit_cast<std::uint32_t>(1.0f)});
      CHECK(d.attributes.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA) == Words{0});
      const Described& how = all.at(d.attributes.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC)[0]);
      CHECK(how.attributes.at(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == Words{CUDNN_CROSS_CORRELATION});
      CHECK(how.attributes.at(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) == Words{1, 1});
      CHECK(how.attributes.at(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS) == Words{1, 1});
      CHECK(how.attributes.at(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES) == Words{1, 1});
      CHECK(how.attributes.at(CUDNN_ATTR_CONVOLUTION_DILATIONS) == Words{1, 1});
      CHECK(how.attributes.at(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS) == Words{2});
    }
    if (d.kind == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) operations = d.attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  }
  REQUIRE(operations.size() == 3);
  CHECK(all.at(operations[0]).kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  const Described& add = all.at(operations[1]);
  CHECK(add.attributes.at(CUDNN_ATTR_OPERATION_POINTWISE_BDESC) == Words{tensors[3]});
  CHECK(all.at(add.attributes.at(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)[0]).attributes.at(CUDNN_ATTR_POINTWISE_MODE) == Words{CUDNN_POINTWISE_ADD});
  const Described& relu = all.at(operations[2]);
  CHECK(relu.attributes.at(CUDNN_ATTR_OPERATION_POINTWISE_XDESC) == Words{tensors[5]});
  CHECK(relu.attributes.at(CUDNN_ATTR_OPERATION_POINTWISE_YDESC) == Words{tensors[6]});
  CHECK(relu.attributes.count(CUDNN_ATTR_OPERATION_POINTWISE_BDESC) == 0);

  // The first configuration makes no plan, the second needs more workspace than there is: the third.
  const Words run_ = the(calls, "cudnnBackendExecute").arguments;
  CHECK(run_[0] == number);
  CHECK(all.at(run_[1]).kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  CHECK(std::count_if(all.begin(), all.end(), [](const auto& each) { return each.second.kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR; }) == 3);
  const Described& pack = all.at(run_[2]);
  CHECK(pack.attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) == Words{1, 2, 3, 6});
  CHECK(pack.attributes.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) == Words{0x10000, 0x20000, 0x30000, 0x60000});
  CHECK(pack.attributes.at(CUDNN_ATTR_VARIANT_PACK_WORKSPACE) == Words{0x5000'0000});

  // The same at other addresses: the same plan, another pack.
  g.parts.tensors[0].address = 0x70000;
  REQUIRE(run(g).ok());
  const auto again = taken();
  CHECK(the(again, "cudnnBackendExecute").arguments[1] == run_[1]);
  CHECK(countOf(again, "cudnnBackendCreateDescriptor") == 1);
  CHECK(countOf(again, "cudnnBackendDestroyDescriptor") == 1);
  // Less aligned: another.
  g.parts.tensors[0].address = 0x70004;
  REQUIRE(run(g).ok());
  const auto other = taken();
  CHECK(the(other, "cudnnBackendExecute").arguments[1] != run_[1]);

  libraries.end();
  const auto ended = taken();
  CHECK(the(ended, "cudnnDestroy").arguments == Words{number});
  const std::size_t made = countOf(calls, "cudnnBackendCreateDescriptor") + countOf(again, "cudnnBackendCreateDescriptor") + countOf(other, "cudnnBackendCreateDescriptor");
  CHECK(made == countOf(calls, "cudnnBackendDestroyDescriptor") + countOf(again, "cudnnBackendDestroyDescriptor") + countOf(other, "cudnnBackendDestroyDescriptor") +
                    countOf(ended, "cudnnBackendDestroyDescriptor"));
}

TEST_CASE_METHOD(Real, "a workspace that no plan fits is refused, with what is needed", "[dnn]") {
  const Status status = run(dnn::fusedConvolution());
  REQUIRE(!status.ok());
  CHECK(status.error().code == CudaError::notSupported);
  CHECK(status.error().message == "cuDNN: a convolution: a workspace of 0 bytes; the library of this node needs at least 64");
}

namespace {

struct Account {
  Words taken, given;
  bool empty = false;
};
class Memory final : public WorkMemory {
 public:
  explicit Memory(Account& account) : account_(account) {}
  Result<std::uint64_t> take(std::uint64_t bytes) override {
    if (account_.empty) return Error{CudaError::memoryAllocation, "none left"};
    account_.taken.push_back(bytes);
    return std::uint64_t{0x9000'0000};
  }
  void give(std::uint64_t address, std::uint64_t bytes) override { account_.given = {address, bytes}; }

 private:
  Account& account_;
};

}  // namespace

TEST_CASE_METHOD(Real, "a plan that the program's workspace is too small for has the handle's own", "[dnn]") {
  Account account;
  libraries.workIn(std::make_unique<Memory>(account));
  const auto workspaceOf = [&](const dnn::GraphOf& g) {
    const Status status = run(g);
    INFO((status.ok() ? "" : status.error().message));
    REQUIRE(status.ok());
    const auto calls = taken();
    const auto all = described(calls);
    return all.at(the(calls, "cudnnBackendExecute").arguments[2]).attributes.at(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  };
  // The library's first choice that can be made, which needs 4096 bytes.
  dnn::GraphOf g = dnn::fusedConvolution();
  CHECK(workspaceOf(g) == Words{0x9000'0000});
  CHECK(account.taken == Words{32 << 20});
  CHECK(workspaceOf(g) == Words{0x9000'0000});
  g.parts.graph.workspace = 0x5000'0000;
  g.parts.graph.workspaceBytes = 4095;
  CHECK(workspaceOf(g) == Words{0x9000'0000});
  g.parts.graph.workspaceBytes = 4096;
  CHECK(workspaceOf(g) == Words{0x5000'0000});
  CHECK(account.taken.size() == 1);
  // The other is another handle's; where there is none left, that is said.
  account.empty = true;
  Handle* other = libraries.take(reinterpret_cast<CUstream_st*>(0x78)).value();
  const Status status = libraries.call(*other, dnn::kLibrary, dnn::kGraphFunction, dnn::putTogether(g.parts));
  REQUIRE(!status.ok());
  CHECK(status.error().code == CudaError::memoryAllocation);
  CHECK(status.error().message == "cuDNN's workspace of 33554432 bytes: none left");
  libraries.end();
  CHECK(account.given == Words{0x9000'0000, 32 << 20});
  taken();
}

TEST_CASE_METHOD(Real, "a call of the classic API has no workspace", "[dnn]") {
  Account account;
  account.empty = true;
  libraries.workIn(std::make_unique<Memory>(account));
  dnn::GraphOf softmax;
  const auto x = softmax.tensor({2, 10}), y = softmax.tensor({2, 10});
  softmax.node(dnn::Operation::softmaxForward, {x}, {y}, CUDNN_SOFTMAX_ACCURATE);
  REQUIRE(run(softmax).ok());
  CHECK(countOf(taken(), "cudnnSoftmaxForward") == 1);
  const Status status = run(dnn::fusedConvolution());
  REQUIRE(!status.ok());
  CHECK(status.error().code == CudaError::memoryAllocation);
  CHECK(countOf(taken(), "cudnnBackendExecute") == 0);
  // Asked for again by the next plan, and kept.
  account.empty = false;
  REQUIRE(run(softmax).ok());
  CHECK(account.taken.empty());
  REQUIRE(run(dnn::fusedConvolution()).ok());
  REQUIRE(run(softmax).ok());
  CHECK(account.taken == Words{32 << 20});
  libraries.end();
  CHECK(account.given == Words{0x9000'0000, 32 << 20});
  taken();
}

TEST_CASE_METHOD(Real, "derivatives, products, reductions, scalars by value", "[dnn]") {
  dnn::GraphOf g;
  g.parts.graph.workspaceBytes = 64;
  const auto a = g.tensor({2, 3, 4}), b = g.tensor({2, 4, 5}), c = g.tensor({2, 3, 5}, dnn::Type::f32, dnn::Layout::rows, dnn::TensorKind::passing);
  const auto x = g.tensor({2, 3, 5}), d = g.tensor({2, 3, 5}, dnn::Type::f32, dnn::Layout::rows, dnn::TensorKind::passing), half = g.scalar(0.5f, 3);
  const auto e = g.tensor({2, 3, 5}, dnn::Type::f32, dnn::Layout::rows, dnn::TensorKind::passing), sums = g.tensor({2, 1, 5});
  g.node(dnn::Operation::matrixProduct, {a, b}, {c});
  g.node(dnn::Operation::pointwise, {c, x}, {d}, CUDNN_POINTWISE_GELU_BWD);
  g.node(dnn::Operation::pointwise, {d, half}, {e}, CUDNN_POINTWISE_MUL);
  g.node(dnn::Operation::reduction, {e}, {sums}, CUDNN_REDUCE_TENSOR_MAX);
  REQUIRE(run(g).ok());
  const auto calls = taken();
  const auto all = described(calls);
  std::map<std::uint64_t, std::uint64_t> tensors;
  for (const auto& [each, about] : all) {
    if (about.kind == CUDNN_BACKEND_TENSOR_DESCRIPTOR) tensors[about.attributes.at(CUDNN_ATTR_TENSOR_UNIQUE_ID)[0]] = each;
  }
  CHECK(all.at(tensors[6]).attributes.at(CUDNN_ATTR_TENSOR_IS_BY_VALUE) == Words{1});
  bool derived = false, reduced = false;
  for (const auto& [each, about] : all) {
    if (about.attributes.count(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC) != 0) {
      derived = true;
      CHECK(about.attributes.at(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC) == Words{tensors[3]});
      CHECK(about.attributes.at(CUDNN_ATTR_OPERATION_POINTWISE_XDESC) == Words{tensors[4]});
      CHECK(about.attributes.at(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC) == Words{tensors[5]});
    }
    if (about.kind == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
      reduced = true;
      CHECK(about.attributes.at(CUDNN_ATTR_OPERATION_REDUCTION_XDESC) == Words{tensors[7]});
      CHECK(all.at(about.attributes.at(CUDNN_ATTR_OPERATION_REDUCTION_DESC)[0]).attributes.at(CUDNN_ATTR_REDUCTION_OPERATOR) == Words{CUDNN_REDUCE_TENSOR_MAX});
    }
  }
  CHECK((derived && reduced));
  const Described& pack = all.at(the(calls, "cudnnBackendExecute").arguments[2]);
  CHECK(pack.attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) == Words{1, 2, 4, 6, 8});
}

TEST_CASE_METHOD(Real, "what the backend API has not is a call of the classic one", "[dnn]") {
  {
    dnn::GraphOf g;
    const auto x = g.tensor({2, 3, 8, 8}, dnn::Type::f16, dnn::Layout::channels), y = g.tensor({2, 3, 4, 4}, dnn::Type::f16, dnn::Layout::channels);
    dnn::Node& node = g.node(dnn::Operation::poolForward, {x}, {y}, CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING);
    dnn::setWindows(node, 2, {1, 1, 2, 1, 3});
    node.flags = dnn::kPropagateNan;
    REQUIRE(run(g).ok());
    const auto calls = taken();
    const Words pool = the(calls, "cudnnSetPoolingNdDescriptor").arguments;
    CHECK(Words(pool.begin() + 1, pool.end()) == Words{CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING, CUDNN_PROPAGATE_NAN, 3, 3, 1, 1, 2, 2});
    const Words call = the(calls, "cudnnPoolingForward").arguments;
    CHECK(call[1] == pool[0]);
    CHECK((call[4] == 0x10000 && call[7] == 0x20000));
    for (const Taken& each : calls) {
      if (each.name == "cudnnSetTensorNdDescriptor" && each.arguments[0] == call[3])
        CHECK(Words(each.arguments.begin() + 1, each.arguments.end()) == Words{CUDNN_DATA_HALF, 2, 3, 8, 8, 192, 1, 24, 3});
    }
    CHECK(countOf(calls, "cudnnDestroyTensorDescriptor") == 2);
    CHECK(countOf(calls, "cudnnDestroyPoolingDescriptor") == 1);
  }
  {
    dnn::GraphOf g;
    const auto y = g.tensor({2, 10}), dy = g.tensor({2, 10}), dx = g.tensor({2, 10});
    g.node(dnn::Operation::softmaxBackward, {y, dy}, {dx}, CUDNN_SOFTMAX_LOG).flags = dnn::kOverChannels;
    REQUIRE(run(g).ok());
    const auto calls = taken();
    const Words call = the(calls, "cudnnSoftmaxBackward").arguments;
    CHECK((call[1] == CUDNN_SOFTMAX_LOG && call[2] == CUDNN_SOFTMAX_MODE_CHANNEL));
    CHECK((call[5] == 0x10000 && call[7] == 0x20000 && call[10] == 0x30000));
    const Words tensor = std::find_if(calls.begin(), calls.end(), [](const Taken& each) { return each.name == "cudnnSetTensorNdDescriptor"; })->arguments;
    CHECK(Words(tensor.begin() + 1, tensor.end()) == Words{CUDNN_DATA_FLOAT, 2, 10, 1, 1, 10, 1, 1, 1});
  }
  {
    dnn::GraphOf g;
    const auto x = g.tensor({2, 6, 5, 5}), scale = g.tensor({1, 6, 1, 1}), bias = g.tensor({1, 6, 1, 1}), mean = g.tensor({1, 6, 1, 1}), variance = g.tensor({1, 6, 1, 1});
    const auto y = g.tensor({2, 6, 5, 5});
    dnn::Node& node = g.node(dnn::Operation::normForward, {x, scale, bias, dnn::kNoTensor, dnn::kNoTensor, mean, variance}, {y, dnn::kNoTensor, dnn::kNoTensor, mean, variance}, 2);
    node.flags = dnn::kTraining;
    node.numbers[dnn::kAverageFactor] = 0.1;
    node.numbers[dnn::kEpsilon] = 1e-5;
    REQUIRE(run(g).ok());
    auto calls = taken();
    const Words call = the(calls, "cudnnBatchNormalizationForwardTraining").arguments;
    CHECK(call[1] == CUDNN_BATCHNORM_SPATIAL);
    CHECK((call[5] == 0x10000 && call[7] == 0x60000 && call[9] == 0x20000 && call[10] == 0x30000 && call[12] == 0x40000 && call[13] == 0x50000));
    CHECK(std::bit_cast<double>(call[11]) == 0.1);
    CHECK(std::bit_cast<double>(call[14]) == 1e-5);
    CHECK((call[15] == 0 && call[16] == 0));
  }
  {
    dnn::GraphOf g;
    const auto x = g.tensor({2, 3, 4, 4}), y = g.tensor({2, 3, 4, 4}, dnn::Type::f32, dnn::Layout::channels);
    dnn::Node& node = g.node(dnn::Operation::copy, {x}, {y});
    node.alpha = 2;
    REQUIRE(run(g).ok());
    const auto calls = taken();
    const Words call = the(calls, "cudnnTransformTensor").arguments;
    CHECK((call[3] == 0x10000 && call[6] == 0x20000));
    node.operation = dnn::Operation::pointwise;
    node.mode = CUDNN_POINTWISE_GELU_FWD;
    const Status status = run(g);
    REQUIRE(!status.ok());
    CHECK(status.error().message == "cuDNN on GPUs: alpha and beta of a pointwise operation are not served");
  }
}

// Elements as our client has them of calls of the classic API (client-shim/cudnn/elementwise.cc) are those calls again.
TEST_CASE_METHOD(Real, "operations on elements are the calls that they came from", "[dnn]") {
  const auto made = [&](const dnn::GraphOf& g) {
    const Status status = run(g);
    INFO((status.ok() ? "" : status.error().message));
    REQUIRE(status.ok());
    const auto calls = taken();
    CHECK(countOf(calls, "cudnnBackendExecute") == 0);
    return calls;
  };
  const dnn::Dims whole{2, 3, 4, 5}, channels{1, 3, 1, 1};
  {
    dnn::GraphOf g;
    const auto x = g.tensor(whole), y = g.tensor(whole);
    dnn::Node& node = g.node(dnn::Operation::pointwise, {x}, {y}, CUDNN_POINTWISE_RELU_FWD);
    node.numbers[dnn::kUpperClip] = 6;
    node.alpha = 2;
    node.beta = 3;
    auto calls = made(g);
    Words set = the(calls, "cudnnSetActivationDescriptor").arguments;
    CHECK(Words(set.begin() + 1, set.end()) == Words{CUDNN_ACTIVATION_CLIPPED_RELU, CUDNN_NOT_PROPAGATE_NAN, std::bit_cast<std::uint64_t>(6.0)});
    const Words call = the(calls, "cudnnActivationForward").arguments;
    CHECK((call[1] == set[0] && call[4] == 0x10000 && call[7] == 0x20000));
    CHECK(countOf(calls, "cudnnDestroyActivationDescriptor") == 1);
    node.numbers[dnn::kUpperClip] = std::numeric_limits<double>::infinity();
    node.flags = dnn::kPropagateNan;
    set = the(made(g), "cudnnSetActivationDescriptor").arguments;
    CHECK((set[1] == CUDNN_ACTIVATION_RELU && set[2] == CUDNN_PROPAGATE_NAN));
    node.mode = CUDNN_POINTWISE_SWISH_FWD;
    node.numbers[dnn::kSwishBeta] = 1.5;
    CHECK(the(made(g), "cudnnSetActivationDescriptorSwishBeta").arguments[1] == std::bit_cast<std::uint64_t>(1.5));
  }
  {  // What the gradient is of: ReLU's own result shows it, ELU's is made again, in the memory to work in.
    dnn::GraphOf g;
    const auto dy = g.tensor(whole), x = g.tensor(whole), dx = g.tensor(whole);
    dnn::Node& node = g.node(dnn::Operation::pointwise, {dy, x}, {dx}, CUDNN_POINTWISE_RELU_BWD);
    auto call = the(made(g), "cudnnActivationBackward").arguments;
    CHECK((call[4] == 0x20000 && call[6] == 0x10000 && call[8] == 0x20000 && call[11] == 0x30000));
    node.mode = CUDNN_POINTWISE_ELU_BWD;
    g.parts.graph.workspace = 0x5000'0000;
    g.parts.graph.workspaceBytes = 480;
    const auto calls = made(g);
    const Words forward = the(calls, "cudnnActivationForward").arguments;
    CHECK((forward[4] == 0x20000 && forward[7] == 0x5000'0000));
    call = the(calls, "cudnnActivationBackward").arguments;
    CHECK((call[4] == 0x5000'0000 && call[6] == 0x10000 && call[8] == 0x20000 && call[11] == 0x30000));
  }
  for (const bool sigmoid : {true, false}) {
    dnn::GraphOf g;
    const auto dy = g.tensor(whole), y = g.tensor(whole), dx = g.tensor(whole);
    const auto once = g.tensor(whole, dnn::Type::f32, dnn::Layout::rows, dnn::TensorKind::passing),
               twice = g.tensor(whole, dnn::Type::f32, dnn::Layout::rows, dnn::TensorKind::passing);
    g.node(dnn::Operation::pointwise, {dy, y}, {once}, CUDNN_POINTWISE_MUL);
    g.node(dnn::Operation::pointwise, {once, y}, {twice}, CUDNN_POINTWISE_MUL);
    g.node(dnn::Operation::pointwise, {sigmoid ? once : dy, twice}, {dx}, CUDNN_POINTWISE_SUB).beta = 2;
    const auto calls = made(g);
    CHECK(the(calls, "cudnnSetActivationDescriptor").arguments[1] == (sigmoid ? CUDNN_ACTIVATION_SIGMOID : CUDNN_ACTIVATION_TANH));
    const Words call = the(calls, "cudnnActivationBackward").arguments;
    CHECK((call[4] == 0x20000 && call[6] == 0x10000 && call[11] == 0x30000));
  }
  {
    dnn::GraphOf g;
    const auto a = g.tensor(whole), b = g.tensor(channels), c = g.tensor(whole);
    dnn::Node& node = g.node(dnn::Operation::pointwise, {a, b}, {c}, CUDNN_POINTWISE_MAX);
    node.beta = 1;
    auto calls = made(g);
    Words set = the(calls, "cudnnSetOpTensorDescriptor").arguments;
    CHECK(Words(set.begin() + 1, set.end()) == Words{CUDNN_OP_TENSOR_MAX, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN});
    Words call = the(calls, "cudnnOpTensor").arguments;
    CHECK((call[1] == set[0] && call[4] == 0x10000 && call[7] == 0x20000 && call[10] == 0x30000));
    // The one that is repeated comes second.
    g.parts.nodes[0].inputs[0] = b;
    g.parts.nodes[0].inputs[1] = a;
    call = the(made(g), "cudnnOpTensor").arguments;
    CHECK((call[4] == 0x10000 && call[7] == 0x20000));
    for (const Taken& each : made(g)) {
      if (each.name == "cudnnSetTensorNdDescriptor" && each.arguments[3] == 3 && each.arguments[2] == 1)
        CHECK(Words(each.arguments.begin() + 2, each.arguments.end()) == Words{1, 3, 1, 1, 3, 1, 1, 1});
    }
  }
  {  // 1 - A
    dnn::GraphOf g;
    const auto one = g.scalar(1, 4), a = g.tensor(whole), c = g.tensor(whole);
    g.node(dnn::Operation::pointwise, {one, a}, {c}, CUDNN_POINTWISE_SUB);
    const auto calls = made(g);
    CHECK(the(calls, "cudnnSetOpTensorDescriptor").arguments[1] == CUDNN_OP_TENSOR_NOT);
    CHECK(the(calls, "cudnnOpTensor").arguments[4] == 0x20000);
  }
  {
    dnn::GraphOf g;
    const auto a = g.tensor(channels), c = g.tensor(whole);
    dnn::Node& node = g.node(dnn::Operation::pointwise, {a}, {c}, CUDNN_POINTWISE_IDENTITY);
    node.beta = 1;
    const Words call = the(made(g), "cudnnAddTensor").arguments;
    CHECK((call[3] == 0x10000 && call[6] == 0x20000));
    node.inputs[0] = c;
    node.beta = 0;
    node.alpha = 3;
    CHECK(the(made(g), "cudnnScaleTensor").arguments[2] == 0x20000);
    node.inputs[0] = g.scalar(2.5f, 4);
    node.alpha = 1;
    const Words set = the(made(g), "cudnnSetTensor").arguments;
    CHECK((set[2] == 0x20000 && set[3] == std::bit_cast<std::uint32_t>(2.5f)));
  }
  {
    dnn::GraphOf g;
    const auto a = g.tensor(whole), c = g.tensor(channels);
    dnn::Node& node = g.node(dnn::Operation::reduction, {a}, {c}, CUDNN_REDUCE_TENSOR_AMAX);
    node.alpha = 2;
    g.parts.graph.workspace = 0x5000'0000;
    g.parts.graph.workspaceBytes = 48;
    const auto calls = made(g);
    CHECK(the(calls, "cudnnSetReduceTensorDescriptor").arguments[1] == CUDNN_REDUCE_TENSOR_AMAX);
    const Words call = the(calls, "cudnnReduceTensor").arguments;
    CHECK((call[2] == 0 && call[4] == 0x5000'0000 && call[5] == 48 && call[8] == 0x10000 && call[11] == 0x20000));
    g.parts.graph.workspaceBytes = 47;
    const Status status = run(g);
    REQUIRE(!status.ok());
    CHECK(status.error().message == "cuDNN on GPUs: a reduction: more memory to work in than the program gives, and than each stream has, is not served");
    taken();
  }
}

TEST_CASE_METHOD(Real, "what is no plan together is done operation by operation, and what passes lies in the handle's memory", "[dnn]") {
  Account account;
  libraries.workIn(std::make_unique<Memory>(account));
  const dnn::Dims whole{2, 3, 4, 5};
  dnn::GraphOf g;
  const auto x = g.tensor(whole, dnn::Type::f16, dnn::Layout::channels), y = g.tensor(whole, dnn::Type::f16, dnn::Layout::channels);
  const auto between = g.tensor(whole, dnn::Type::f32, dnn::Layout::rows, dnn::TensorKind::passing);
  const auto sums = g.tensor({1, 3, 1, 1});
  g.node(dnn::Operation::softmaxForward, {x}, {between}, CUDNN_SOFTMAX_ACCURATE);
  g.node(dnn::Operation::pointwise, {between}, {y}, CUDNN_POINTWISE_TANH_FWD).beta = 1;
  g.node(dnn::Operation::reduction, {between}, {sums}, CUDNN_REDUCE_TENSOR_ADD);
  const Status status = run(g);
  INFO((status.ok() ? "" : status.error().message));
  REQUIRE(status.ok());
  const auto calls = taken();
  const Words first = the(calls, "cudnnSoftmaxForward").arguments, second = the(calls, "cudnnActivationForward").arguments,
              third = the(calls, "cudnnReduceTensor").arguments;
  CHECK((first[5] == 0x10000 && first[8] == 0x9000'0000));
  CHECK((second[4] == 0x9000'0000 && second[7] == 0x20000));
  CHECK((third[4] == 0x9000'0100 && third[8] == 0x9000'0000 && third[11] == 0x40000));
  // As the program's tensors of that shape.
  for (const Taken& each : calls) {
    if (each.name == "cudnnSetTensorNdDescriptor" && each.arguments[2] == 2)
      CHECK(Words(each.arguments.begin() + 1, each.arguments.end()) == Words{CUDNN_DATA_HALF, 2, 3, 4, 5, 60, 1, 15, 3});
  }
  libraries.end();
  taken();
}

TEST_CASE_METHOD(Real, "norms are operations of the backend API, with numbers by value", "[dnn]") {
  using dnn::kNoTensor;
  const auto the1 = [](const std::map<std::uint64_t, Described>& all, std::uint64_t kind) -> const Described& {
    const auto found = std::find_if(all.begin(), all.end(), [=](const auto& each) { return each.second.kind == kind; });
    REQUIRE(found != all.end());
    CHECK(found->second.finished);
    return found->second;
  };
  struct Seen {
    std::map<std::uint64_t, Described> all;
    std::map<std::uint64_t, std::uint64_t> tensors;  // by unique id
    Words ids, pointers;
  };
  const auto seen = [&](const dnn::GraphOf& g) {
    const Status status = run(g);
    INFO((status.ok() ? "" : status.error().message));
    REQUIRE(status.ok());
    const auto calls = taken();
    Seen s{described(calls), {}, {}, {}};
    for (const auto& [each, d] : s.all) {
      if (d.kind == CUDNN_BACKEND_TENSOR_DESCRIPTOR) s.tensors[d.attributes.at(CUDNN_ATTR_TENSOR_UNIQUE_ID)[0]] = each;
    }
    const Described& pack = s.all.at(the(calls, "cudnnBackendExecute").arguments[2]);
    s.ids = pack.attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    s.pointers = pack.attributes.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    return s;
  };
  const auto refused = [&](const dnn::GraphOf& g, const char* what) {
    REQUIRE(dnn::check(g.parts).verdict == dnn::Verdict::runs);
    const Status status = run(g);
    REQUIRE(!status.ok());
    CHECK(status.error().code == CudaError::notSupported);
    CHECK(status.error().message == std::string("cuDNN on GPUs: ") + what + " is not served");
    CHECK(countOf(taken(), "cudnnBackendExecute") == 0);
  };

  // Layer, in training, what PyTorch's and the frontend's are: statistics come out.
  dnn::GraphOf layer;
  layer.parts.graph.workspaceBytes = 64;
  {
    dnn::GraphOf& g = layer;
    const auto x = g.tensor({8, 32, 1, 1}, dnn::Type::f16), scale = g.tensor({1, 32, 1, 1}), bias = g.tensor({1, 32, 1, 1}), y = g.tensor({8, 32, 1, 1}, dnn::Type::f16);
    const auto mean = g.tensor({8, 1, 1, 1}), deviation = g.tensor({8, 1, 1, 1});
    dnn::Node& node = g.node(dnn::Operation::normForward, {x, scale, bias}, {y, mean, deviation}, CUDNN_LAYER_NORM);
    node.flags = dnn::kTraining;
    node.numbers[dnn::kEpsilon] = 1e-5;
    REQUIRE(dnn::check(g.parts).verdict == dnn::Verdict::runs);
  }
  Seen s = seen(layer);
  const Described& norm = the1(s.all, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  CHECK(norm.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_MODE) == Words{CUDNN_LAYER_NORM});
  CHECK(norm.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE) == Words{CUDNN_NORM_FWD_TRAINING});
  CHECK(norm.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC) == Words{s.tensors[1]});
  CHECK(norm.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC) == Words{s.tensors[2]});
  CHECK(norm.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC) == Words{s.tensors[3]});
  CHECK(norm.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC) == Words{s.tensors[4]});
  CHECK(norm.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC) == Words{s.tensors[5]});
  CHECK(norm.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC) == Words{s.tensors[6]});
  CHECK(norm.attributes.count(CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC) == 0);
  CHECK(norm.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC) == Words{s.tensors[1000]});
  const Described& epsilon = s.all.at(s.tensors[1000]);
  CHECK(epsilon.attributes.at(CUDNN_ATTR_TENSOR_IS_BY_VALUE) == Words{1});
  CHECK(epsilon.attributes.at(CUDNN_ATTR_TENSOR_DATA_TYPE) == Words{CUDNN_DATA_FLOAT});
  CHECK(epsilon.attributes.at(CUDNN_ATTR_TENSOR_DIMENSIONS) == Words{1, 1, 1, 1});
  CHECK(s.ids == Words{1, 2, 3, 4, 5, 6, 1000});
  // Another epsilon: the same plan, with another number.
  layer.parts.nodes[0].numbers[dnn::kEpsilon] = 1e-3;
  s = seen(layer);
  CHECK(s.tensors.empty());
  CHECK(s.ids == Words{1, 2, 3, 4, 5, 6, 1000});
  // In groups no library of NVIDIA's has it; nor without a bias.
  dnn::GraphOf g = layer;
  g.parts.nodes[0].mode = CUDNN_GROUP_NORM;
  g.parts.nodes[0].numbers[dnn::kGroups] = 1;
  refused(g, "a norm other than of batches in groups");
  g = layer;
  g.parts.nodes[0].inputs[2] = kNoTensor;
  refused(g, "a norm other than of batches without scale or bias");

  // RMS with statistics of its own that nobody keeps: inference.
  g = {};
  g.parts.graph.workspaceBytes = 64;
  {
    const auto x = g.tensor({8, 32}), scale = g.tensor({1, 32}), y = g.tensor({8, 32});
    g.node(dnn::Operation::normForward, {x, scale}, {y}, CUDNN_RMS_NORM).flags = dnn::kTraining;
  }
  s = seen(g);
  const Described& rms = the1(s.all, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  CHECK(rms.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE) == Words{CUDNN_NORM_FWD_INFERENCE});
  CHECK(rms.attributes.count(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC) == 0);
  CHECK(rms.attributes.count(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC) == 0);

  // Instance, with statistics that are given: the inverse deviation, not a variance.
  g = {};
  g.parts.graph.workspaceBytes = 64;
  {
    const auto x = g.tensor({2, 6, 5, 5}), scale = g.tensor({1, 6, 1, 1}), bias = g.tensor({1, 6, 1, 1}), mean = g.tensor({2, 6, 1, 1}), deviation = g.tensor({2, 6, 1, 1}), y = g.tensor({2, 6, 5, 5});
    g.node(dnn::Operation::normForward, {x, scale, bias, mean, deviation}, {y}, CUDNN_INSTANCE_NORM).flags = dnn::kVarianceIsInverse;
  }
  s = seen(g);
  const Described& instance = the1(s.all, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  CHECK(instance.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE) == Words{CUDNN_NORM_FWD_INFERENCE});
  CHECK(instance.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC) == Words{s.tensors[4]});
  CHECK(instance.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC) == Words{s.tensors[5]});
  g.parts.nodes[0].flags = 0;
  refused(g, "a norm other than of batches with a variance in place of the inverse deviation");

  // A batch norm in training, and what follows it: running statistics go on by the factor.
  g = {};
  g.parts.graph.workspaceBytes = 64;
  {
    const auto x = g.tensor({2, 6, 5, 5}), scale = g.tensor({1, 6, 1, 1}), bias = g.tensor({1, 6, 1, 1}), mean = g.tensor({1, 6, 1, 1}), variance = g.tensor({1, 6, 1, 1});
    const auto between = g.tensor({2, 6, 5, 5}, dnn::Type::f32, dnn::Layout::rows, dnn::TensorKind::passing), y = g.tensor({2, 6, 5, 5});
    g.node(dnn::Operation::pointwise, {x}, {between}, CUDNN_POINTWISE_RELU_FWD);
    dnn::Node& node = g.node(dnn::Operation::normForward, {between, scale, bias, kNoTensor, kNoTensor, mean, variance}, {y, kNoTensor, kNoTensor, mean, variance}, CUDNN_BATCH_NORM);
    node.flags = dnn::kTraining;
    node.numbers[dnn::kAverageFactor] = 0.1;
  }
  s = seen(g);
  const Described& batch = the1(s.all, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  CHECK(batch.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE) == Words{CUDNN_NORM_FWD_TRAINING});
  CHECK(batch.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC) == Words{s.tensors[1003]});
  CHECK(batch.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC) == Words{s.tensors[4]});
  CHECK(batch.attributes.at(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC) == Words{s.tensors[5]});
  CHECK(s.ids == Words{1, 2, 3, 4, 5, 7, 1002, 1003});

  // Gradients: with statistics no epsilon; without, by value.
  for (const bool given : {true, false}) {
    g = {};
    g.parts.graph.workspaceBytes = 64;
    const auto x = g.tensor({8, 32, 1, 1}), dy = g.tensor({8, 32, 1, 1}), scale = g.tensor({1, 32, 1, 1}), dx = g.tensor({8, 32, 1, 1}), dscale = g.tensor({1, 32, 1, 1}), dbias = g.tensor({1, 32, 1, 1});
    const auto mean = g.tensor({8, 1, 1, 1}), deviation = g.tensor({8, 1, 1, 1});
    dnn::Node& node = g.node(dnn::Operation::normBackward, {x, dy, scale, given ? mean : kNoTensor, given ? deviation : kNoTensor}, {dx, dscale, dbias}, CUDNN_LAYER_NORM);
    node.numbers[dnn::kParameterAlpha] = 1;
    s = seen(g);
    const Described& gradient = the1(s.all, CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
    CHECK(gradient.attributes.at(CUDNN_ATTR_OPERATION_NORM_BWD_MODE) == Words{CUDNN_LAYER_NORM});
    CHECK(gradient.attributes.at(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC) == Words{s.tensors[1]});
    CHECK(gradient.attributes.at(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC) == Words{s.tensors[2]});
    CHECK(gradient.attributes.at(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC) == Words{s.tensors[3]});
    CHECK(gradient.attributes.at(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC) == Words{s.tensors[4]});
    CHECK(gradient.attributes.at(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC) == Words{s.tensors[5]});
    CHECK(gradient.attributes.at(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC) == Words{s.tensors[6]});
    CHECK(gradient.attributes.count(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC) == (given ? 1 : 0));
    CHECK(gradient.attributes.count(CUDNN_ATTR_OPERATION_NORM_BWD_EPSILON_DESC) == (given ? 0 : 1));
    CHECK((s.ids.back() == 1000) == !given);
    g.parts.nodes[0].numbers[dnn::kParameterBeta] = 1;
    refused(g, "the gradient of a norm other than of batches whose parameters' gradients have alpha and beta");
  }
}

// Of descriptors NVIDIA's library sees the scale's alone: what lies otherwise would be read and written elsewhere than the graph names.
TEST_CASE_METHOD(Real, "a batch norm's parameters and statistics lie as its scale does, or it is refused", "[dnn]") {
  const auto parameter = [](dnn::GraphOf& g) { return g.tensor({1, 6, 1, 1}); };
  struct Case {
    const char* call;
    dnn::GraphOf graph;
    std::vector<std::uint16_t> alike;
  };
  std::vector<Case> cases;
  {
    Case training{"cudnnBatchNormalizationForwardTraining", {}, {}};
    dnn::GraphOf& g = training.graph;
    const auto x = g.tensor({2, 6, 5, 5}), y = g.tensor({2, 6, 5, 5}), scale = parameter(g), bias = parameter(g), mean = parameter(g), variance = parameter(g);
    // Written to where they are read from, and yet tensors of their own.
    const auto saved = parameter(g), deviation = parameter(g), nextMean = parameter(g), nextVariance = parameter(g);
    g.parts.tensors[nextMean].address = g.parts.tensors[mean].address;
    g.parts.tensors[nextVariance].address = g.parts.tensors[variance].address;
    g.node(dnn::Operation::normForward, {x, scale, bias, dnn::kNoTensor, dnn::kNoTensor, mean, variance}, {y, saved, deviation, nextMean, nextVariance}, 2).flags = dnn::kTraining;
    training.alike = {bias, mean, variance, saved, deviation, nextMean, nextVariance};
    cases.push_back(training);
  }
  {
    Case inference{"cudnnBatchNormalizationForwardInference", {}, {}};
    dnn::GraphOf& g = inference.graph;
    const auto x = g.tensor({2, 6, 5, 5}), y = g.tensor({2, 6, 5, 5}), scale = parameter(g), bias = parameter(g), mean = parameter(g), variance = parameter(g);
    g.node(dnn::Operation::normForward, {x, scale, bias, mean, variance}, {y}, 2);
    inference.alike = {bias, mean, variance};
    cases.push_back(inference);
  }
  {
    Case backward{"cudnnBatchNormalizationBackward", {}, {}};
    dnn::GraphOf& g = backward.graph;
    const auto x = g.tensor({2, 6, 5, 5}), dy = g.tensor({2, 6, 5, 5}), dx = g.tensor({2, 6, 5, 5}), scale = parameter(g), mean = parameter(g), deviation = parameter(g);
    const auto dscale = parameter(g), dbias = parameter(g);
    g.node(dnn::Operation::normBackward, {x, dy, scale, mean, deviation}, {dx, dscale, dbias}, 2);
    backward.alike = {mean, deviation, dscale, dbias};
    cases.push_back(backward);
  }
  for (const Case& each : cases) {
    INFO(each.call);
    REQUIRE(run(each.graph).ok());
    CHECK(countOf(taken(), each.call) == 1);
    const auto refused = [&](const std::function<void(std::vector<dnn::Tensor>&)>& change, const char* why) {
      dnn::GraphOf g = each.graph;
      change(g.parts.tensors);
      REQUIRE(dnn::check(g.parts).verdict == dnn::Verdict::runs);
      const Status status = run(g);
      REQUIRE(!status.ok());
      CHECK(status.error().code == CudaError::notSupported);
      CHECK(status.error().message.find(why) != std::string::npos);
      CHECK(countOf(taken(), each.call) == 0);
    };
    for (const std::uint16_t tensor : each.alike) {
      constexpr const char* kWhy = "a parameter or statistic of another type, shape or layout than the scale's is not served";
      refused([&](auto& all) { all[tensor].type = dnn::Type::f64; }, kWhy);
      refused([&](auto& all) { all[tensor].strides[1] = 1000; }, kWhy);
    }
    // Averaged over N and one of two dimensions: neither of NVIDIA's modes.
    refused(
        [](auto& all) {
          for (dnn::Tensor& tensor : all) {
            if (tensor.dims[0] == 1) dnn::setShape(tensor, {1, 6, 5, 1}, dnn::Layout::rows);
          }
        },
        "an average over other dimensions than all but C, or N is not served");
    refused(
        [](auto& all) {
          for (dnn::Tensor& tensor : all) {
            if (tensor.dims[0] == 1) dnn::setShape(tensor, {1, 1, 1, 1}, dnn::Layout::rows);
          }
        },
        "an average over other dimensions than all but C, or N is not served");
    // Averaged over N alone: the other mode.
    dnn::GraphOf g = each.graph;
    for (dnn::Tensor& tensor : g.parts.tensors) {
      if (tensor.dims[0] == 1) dnn::setShape(tensor, {1, 6, 5, 5}, dnn::Layout::rows);
    }
    REQUIRE(run(g).ok());
    CHECK(the(taken(), each.call).arguments[1] == CUDNN_BATCHNORM_PER_ACTIVATION);
    // A dimension of 1 fits both modes: the others tell.
    const auto modeOf = [&](const dnn::Dims& image, const dnn::Dims& parameters) {
      dnn::GraphOf shaped = each.graph;
      for (dnn::Tensor& tensor : shaped.parts.tensors) dnn::setShape(tensor, tensor.dims[0] == 1 ? parameters : image, dnn::Layout::rows);
      REQUIRE(dnn::check(shaped.parts).verdict == dnn::Verdict::runs);
      const Status status = run(shaped);
      INFO((status.ok() ? "" : status.error().message));
      REQUIRE(status.ok());
      return the(taken(), each.call).arguments[1];
    };
    CHECK(modeOf({2, 1, 5, 5}, {1, 1, 1, 1}) == CUDNN_BATCHNORM_SPATIAL);
    CHECK(modeOf({2, 6, 1, 5}, {1, 6, 1, 1}) == CUDNN_BATCHNORM_SPATIAL);
    CHECK(modeOf({2, 6, 1, 1}, {1, 6, 1, 1}) == CUDNN_BATCHNORM_SPATIAL);
    CHECK(modeOf({2, 6, 1, 5}, {1, 6, 1, 5}) == CUDNN_BATCHNORM_PER_ACTIVATION);
    CHECK(modeOf({2, 1, 5, 5}, {1, 1, 5, 5}) == CUDNN_BATCHNORM_PER_ACTIVATION);
  }
}

TEST_CASE_METHOD(Real, "of too many plans the one that has not been used for longest goes", "[dnn]") {
  const auto plansMade = [&](std::int64_t channels) {
    dnn::GraphOf g;
    const auto x = g.tensor({1, channels}), y = g.tensor({1, channels});
    g.node(dnn::Operation::pointwise, {x}, {y}, CUDNN_POINTWISE_GELU_FWD);
    g.parts.graph.workspaceBytes = 4096;
    REQUIRE(run(g).ok());
    return countOf(taken(), "cudnnBackendGetAttribute") != 0;
  };
  for (std::int64_t channels = 1; channels <= 512; ++channels) REQUIRE(plansMade(channels));
  CHECK(!plansMade(1));
  CHECK(plansMade(513));  // 2 goes
  CHECK(!plansMade(1));
  CHECK(!plansMade(3));
  CHECK(plansMade(2));  // 4 goes
  CHECK(!plansMade(3));
  CHECK(plansMade(4));
}

TEST_CASE_METHOD(Real, "a tensor that no operation names goes to no plan", "[dnn]") {
  dnn::GraphOf g;
  const auto x = g.tensor({1, 8}), unused = g.tensor({1, 8}), y = g.tensor({1, 8});
  g.parts.tensors[unused].address = 0xdead'0000;
  g.parts.graph.workspaceBytes = 4096;
  g.node(dnn::Operation::pointwise, {x}, {y}, CUDNN_POINTWISE_GELU_FWD);
  REQUIRE(run(g).ok());
  const auto calls = taken();
  const auto all = described(calls);
  const Described& pack = all.at(the(calls, "cudnnBackendExecute").arguments[2]);
  CHECK(pack.attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) == Words{1, 3});
  CHECK(pack.attributes.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) == Words{0x10000, 0x30000});
}

TEST_CASE("without cuDNN a graph is refused with what to do", "[dnn]") {
  ::setenv(kBlasVariable, ROUSE_CUBLAS_DOUBLE, 1);
  ::setenv(kDnnVariable, "/nowhere/libcudnn.so.9", 1);
  RealLibraries libraries;
  Handle* handle = libraries.take(reinterpret_cast<CUstream_st*>(0x77)).value();
  const Status status = libraries.call(*handle, dnn::kLibrary, dnn::kGraphFunction, dnn::putTogether(dnn::fusedConvolution().parts));
  REQUIRE(!status.ok());
  CHECK(status.error().code == CudaError::notSupported);
  CHECK(status.error().message.find("install NVIDIA's cuDNN 9 for CUDA 13") != std::string::npos);
}

}  // namespace rouse::library::cuda
