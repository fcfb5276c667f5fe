// Graphs on GPUs, before a double of cuDNN: which calls of the real library they become. Nothing here says that NVIDIA's library takes them.
#include <cudnn.h>
#include <dlfcn.h>

#include <bit>
#include <catch2/catch.hpp>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "server/library/cuda/real_libraries.h"
#include "test/libraries/dnn_graphs.h"

namespace rouse::library::cuda {
namespace {

using Words = std::vector<std::uint64_t>;
struct Taken {
  std::string name;
  Words arguments;
};

std::vector<Taken> taken() {
  static auto* const take = [] {
    void* library = ::dlopen(ROUSE_CUDNN_DOUBLE, RTLD_NOW);
    REQUIRE(library != nullptr);
    return reinterpret_cast<const char* (*)(std::uint64_t*, std::size_t*)>(::dlsym(library, "rouse_double_take"));
  }();
  std::vector<Taken> all;
  std::uint64_t arguments[256];
  std::size_t count = 0;
  for (const char* name = take(arguments, &count); name != nullptr; name = take(arguments, &count))
    all.push_back({name, {arguments, arguments + count}});
  return all;
}

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
    // Another norm is refused by name.
    g.parts.nodes[0].mode = 1;
    g.parts.nodes[0].outputs[3] = g.parts.nodes[0].outputs[4] = dnn::kNoTensor;
    g.parts.nodes[0].inputs[5] = g.parts.nodes[0].inputs[6] = dnn::kNoTensor;
    const Status status = run(g);
    REQUIRE(!status.ok());
    CHECK(status.error().message == "cuDNN on GPUs: a norm other than of batches as it comes here is not served");
    taken();
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
    node.mode = CUDNN_POINTWISE_RELU_FWD;
    const Status status = run(g);
    REQUIRE(!status.ok());
    CHECK(status.error().message == "cuDNN on GPUs: alpha and beta of a pointwise operation are not served");
  }
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
