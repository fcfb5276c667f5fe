// Graphs on GPUs that are calls of cuDNN's classic API, alone or one after the other.
#include <bit>
#include <functional>
#include <limits>

#include "test/libraries/dnn_real.h"

namespace rouse::library::cuda {

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

}  // namespace rouse::library::cuda
