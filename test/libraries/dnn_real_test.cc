// Graphs on GPUs that are execution plans of cuDNN's backend API, and what is refused.
#include <bit>
#include <functional>
#include <utility>

#include "test/libraries/dnn_real.h"

namespace rouse::library::cuda {

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

TEST_CASE_METHOD(Real, "factors are rounded no further than the math type says", "[dnn]") {
  dnn::GraphOf g = dnn::fusedConvolution();
  g.parts.graph.workspace = 0x5000'0000;
  g.parts.graph.workspaceBytes = 64;
  // By the plans that were tried until one could be made and had enough of a workspace.
  const auto plans = [&](dnn::MathType math) {
    g.parts.nodes[0].math = math;
    REQUIRE(run(g).ok());
    const auto all = described(taken());
    return std::count_if(all.begin(), all.end(), [](const auto& each) { return each.second.kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR; });
  };
  CHECK(plans(dnn::MathType::converting) == 1);
  CHECK(plans(dnn::MathType::standard) == 3);
  CHECK(plans(dnn::MathType::tensor) == 3);
  CHECK(plans(dnn::MathType::fma) == 2);
  // Nor may results vary where the program has left that out.
  g.parts.nodes[0].flags = dnn::kReproducible;
  CHECK(plans(dnn::MathType::standard) == 2);
  CHECK(plans(dnn::MathType::converting) == 1);
  g.parts.nodes[0].flags = 0;
  // Operations that multiply nothing have none.
  g.parts.nodes[1].math = dnn::MathType::tensor;
  CHECK(dnn::check(g.parts).verdict == dnn::Verdict::invalid);
}

TEST_CASE_METHOD(Real, "a plan that is refused when it is run is an error of the call, and does not end the context", "[dnn]") {
  dnn::GraphOf g = dnn::fusedConvolution();
  g.parts.graph.workspace = 0x5000'0000;
  g.parts.graph.workspaceBytes = 100;
  const std::pair<cudnnStatus_t, CudaError> answers[] = {{CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, CudaError::invalidValue},
                                                         {CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, CudaError::memoryAllocation},
                                                         {CUDNN_STATUS_INTERNAL_ERROR, CudaError::unknown},
                                                         {CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER, CudaError::unknown}};
  for (const auto& [answer, error] : answers) {
    INFO(answer);
    refuse(ROUSE_CUDNN_DOUBLE, "cudnnBackendExecute", answer);
    const Status status = run(g);
    REQUIRE(!status.ok());
    CHECK(status.error().code == error);
    CHECK(isSticky(status.error().code) == (error == CudaError::unknown));
    CHECK(status.error().message == "cuDNN: a convolution and what follows: running it: CUDNN_STATUS_OF_THE_DOUBLE: why the double refuses");
  }
  refuse(ROUSE_CUDNN_DOUBLE, "", 0);
  CHECK(run(g).ok());
}

TEST_CASE_METHOD(Real, "a workspace that no plan fits is refused, with what is needed", "[dnn]") {
  const Status status = run(dnn::fusedConvolution());
  REQUIRE(!status.ok());
  CHECK(status.error().code == CudaError::notSupported);
  CHECK(status.error().message == "cuDNN: a convolution: a workspace of 0 bytes; the library of this node needs at least 64");
}

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

TEST_CASE_METHOD(Real, "a plan that needs more than the handle has gets it, once, where there is any", "[dnn]") {
  Account account;
  libraries.workIn(std::make_unique<Memory>(account));
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const auto bytesOfLarge = [](std::uint64_t bytes) { functionOf<void(std::uint64_t)>(ROUSE_CUDNN_DOUBLE, "rouse_double_large")(bytes); };
  // Workspace, and how many plans were tried.
  const auto ran = [&](const dnn::GraphOf& g) {
    const Status status = run(g);
    INFO((status.ok() ? "" : status.error().message));
    REQUIRE(status.ok());
    const auto calls = taken();
    const auto all = described(calls);
    const auto plans = std::count_if(all.begin(), all.end(), [](const auto& each) { return each.second.kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR; });
    return std::pair{all.at(the(calls, "cudnnBackendExecute").arguments[2]).attributes.at(CUDNN_ATTR_VARIANT_PACK_WORKSPACE), plans};
  };
  bytesOfLarge(37 * kMiB);
  dnn::GraphOf g = dnn::fusedConvolution();
  account.next = 0xa000'0000;
  CHECK(ran(g) == std::pair{Words{0xa000'0000 + 32 * kMiB}, std::ptrdiff_t{2}});
  CHECK(account.taken == Words{32 * kMiB, 64 * kMiB});
  CHECK(ran(g) == std::pair{Words{0xa000'0000 + 32 * kMiB}, std::ptrdiff_t{0}});
  CHECK(account.taken.size() == 2);
  // More than that again, and more than any has: what 64 bytes are enough for.
  bytesOfLarge(65 * kMiB);
  CHECK(ran(dnn::fusedConvolution(3)).first == Words{0xa000'0000 + 96 * kMiB});
  CHECK(account.taken == Words{32 * kMiB, 64 * kMiB, 128 * kMiB});
  bytesOfLarge(kMostWorkspaceBytes + 1);
  CHECK(ran(dnn::fusedConvolution(4)) == std::pair{Words{0xa000'0000}, std::ptrdiff_t{3}});
  bytesOfLarge(129 * kMiB);
  account.empty = true;
  CHECK(ran(dnn::fusedConvolution(5)) == std::pair{Words{0xa000'0000}, std::ptrdiff_t{5}});
  bytesOfLarge(4096);
  libraries.end();
  CHECK(account.given == Words{0xa000'0000, 32 * kMiB, 0xa000'0000 + 32 * kMiB, 64 * kMiB, 0xa000'0000 + 96 * kMiB, 128 * kMiB});
  taken();
}

TEST_CASE_METHOD(Real, "attention is one operation of the backend API, or those that the program made", "[dnn]") {
  struct Seen {
    std::map<std::uint64_t, Described> all;
    std::map<std::uint64_t, std::uint64_t> tensors;  // by unique id
    std::vector<std::uint64_t> operations;
  };
  const auto seen = [&](const dnn::GraphOf& g) {
    REQUIRE(dnn::check(g.parts).verdict == dnn::Verdict::runs);
    const Status status = run(g);
    INFO((status.ok() ? "" : status.error().message));
    REQUIRE(status.ok());
    Seen s{described(taken()), {}, {}};
    for (const auto& [each, d] : s.all) {
      if (d.kind == CUDNN_BACKEND_TENSOR_DESCRIPTOR) s.tensors[d.attributes.at(CUDNN_ATTR_TENSOR_UNIQUE_ID)[0]] = each;
      if (d.kind == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) s.operations = d.attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS);
    }
    return s;
  };
  const dnn::Dims q{2, 4, 128, 64}, kv{2, 2, 256, 64}, sums{2, 4, 128, 1};
  dnn::GraphOf g;
  g.parts.graph.workspaceBytes = 64;
  for (const dnn::Dims& dims : {q, kv, kv}) g.tensor(dims, dnn::Type::bf16);
  g.scalar(0.125f, 4);
  g.tensor({2, 1, 1, 1}, dnn::Type::i32);
  g.tensor({2, 1, 1, 1}, dnn::Type::i32);
  g.tensor(q, dnn::Type::bf16);
  g.tensor(sums);
  g.parts.tensors[0].alignment = 16;
  g.node(dnn::Operation::attentionForward, {0, 1, 2, 3, 4, 5}, {6, 7});
  Seen s = seen(g);
  REQUIRE(s.operations.size() == 1);
  const Described& attention = s.all.at(s.operations[0]);
  CHECK(attention.kind == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  CHECK(attention.attributes == std::map<std::uint64_t, Words>{{CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, {s.tensors[1]}},
                                                               {CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, {s.tensors[2]}},
                                                               {CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, {s.tensors[3]}},
                                                               {CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, {s.tensors[4]}},
                                                               {CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC, {s.tensors[5]}},
                                                               {CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC, {s.tensors[6]}},
                                                               {CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, {s.tensors[7]}},
                                                               {CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, {s.tensors[8]}}});
  CHECK(s.all.at(s.tensors[1]).attributes.at(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) == Words{16});
  CHECK(s.all.at(s.tensors[2]).attributes.at(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) == Words{128});
  CHECK(s.all.at(s.tensors[4]).attributes.at(CUDNN_ATTR_TENSOR_IS_BY_VALUE) == Words{1});
  // What the program does not set is not set.
  using dnn::kNoTensor;
  for (const std::size_t i : {3u, 4u, 5u}) g.parts.nodes[0].inputs[i] = kNoTensor;
  g.parts.nodes[0].outputs[1] = kNoTensor;
  s = seen(g);
  CHECK(s.all.at(s.operations[0]).attributes.size() == 4);

  // A mask of what each query sees: integers and booleans that pass, and the types that are computed in.
  dnn::GraphOf mask;
  mask.parts.graph.workspaceBytes = 64;
  const dnn::Dims scores{2, 4, 128, 256};
  const auto passing = [&](dnn::Type type) { return mask.tensor(scores, type, dnn::Layout::rows, dnn::TensorKind::passing); };
  const auto left = mask.tensor(q, dnn::Type::bf16), right = mask.tensor({2, 2, 64, 256}, dnn::Type::bf16), product = passing(dnn::Type::f32);
  const auto row = passing(dnn::Type::i32), column = passing(dnn::Type::i32), sees = passing(dnn::Type::boolean);
  const auto least = mask.scalar(-INFINITY, 4), to = mask.tensor(scores);
  mask.node(dnn::Operation::matrixProduct, {left, right}, {product});
  mask.node(dnn::Operation::pointwise, {product}, {row}, CUDNN_POINTWISE_GEN_INDEX).numbers[dnn::kAxis] = 2;
  mask.node(dnn::Operation::pointwise, {product}, {column}, CUDNN_POINTWISE_GEN_INDEX).numbers[dnn::kAxis] = 3;
  mask.parts.nodes[1].compute = mask.parts.nodes[2].compute = dnn::Type::i32;
  mask.node(dnn::Operation::pointwise, {row, column}, {sees}, CUDNN_POINTWISE_CMP_GE).compute = dnn::Type::boolean;
  mask.node(dnn::Operation::pointwise, {product, least, sees}, {to}, CUDNN_POINTWISE_BINARY_SELECT);
  s = seen(mask);
  REQUIRE(s.operations.size() == 5);
  const auto precisionOf = [&](std::size_t i) {
    return s.all.at(s.all.at(s.operations[i]).attributes.at(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)[0]).attributes.at(CUDNN_ATTR_POINTWISE_MATH_PREC);
  };
  CHECK(precisionOf(1) == Words{CUDNN_DATA_INT32});
  CHECK(precisionOf(3) == Words{CUDNN_DATA_BOOLEAN});
  CHECK(precisionOf(4) == Words{CUDNN_DATA_FLOAT});
  CHECK(s.all.at(s.tensors[6]).attributes.at(CUDNN_ATTR_TENSOR_DATA_TYPE) == Words{CUDNN_DATA_BOOLEAN});
  const Described& select = s.all.at(s.operations[4]);
  CHECK(select.attributes.at(CUDNN_ATTR_OPERATION_POINTWISE_TDESC) == Words{s.tensors[6]});
  CHECK(select.attributes.count(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1) == 0);
  CHECK(select.attributes.count(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2) == 0);
}

TEST_CASE_METHOD(Real, "a transpose of what passes is a reshape of the backend API", "[dnn]") {
  dnn::GraphOf g;
  g.parts.graph.workspaceBytes = 64;
  const auto a = g.tensor({2, 4, 128, 64}, dnn::Type::f16), b = g.tensor({2, 4, 64, 256}, dnn::Type::f16);
  const auto product = g.tensor({2, 4, 128, 256}, dnn::Type::f32, dnn::Layout::rows, dnn::TensorKind::passing);
  const auto turned = g.tensor({2, 4, 256, 128}, dnn::Type::f16, dnn::Layout::rows, dnn::TensorKind::passing), y = g.tensor({2, 4, 256, 64}, dnn::Type::f16);
  g.parts.tensors[turned].strides[2] = 1;
  g.parts.tensors[turned].strides[3] = 256;
  g.node(dnn::Operation::matrixProduct, {a, b}, {product});
  g.node(dnn::Operation::reorder, {product}, {turned});
  g.node(dnn::Operation::matrixProduct, {turned, a}, {y});
  for (const bool told : {false, true}) {
    g.parts.nodes[1].mode = told ? 1 + CUDNN_RESHAPE_LOGICAL : 0;
    REQUIRE(dnn::check(g.parts).verdict == dnn::Verdict::runs);
    REQUIRE(run(g).ok());
    const auto all = described(taken());
    const auto reshape = std::find_if(all.begin(), all.end(), [](const auto& each) { return each.second.kind == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR; });
    REQUIRE(reshape != all.end());
    const Described& to = all.at(reshape->second.attributes.at(CUDNN_ATTR_OPERATION_RESHAPE_YDESC)[0]);
    CHECK(to.attributes.at(CUDNN_ATTR_TENSOR_DIMENSIONS) == Words{2, 4, 256, 128});
    CHECK(to.attributes.at(CUDNN_ATTR_TENSOR_STRIDES) == Words{131072, 32768, 1, 256});
    CHECK(reshape->second.attributes.count(CUDNN_ATTR_OPERATION_RESHAPE_MODE) == (told ? 1 : 0));
  }
}

TEST_CASE_METHOD(Real, "random numbers are an operation of the backend API", "[dnn]") {
  dnn::GraphOf g;
  g.parts.graph.workspaceBytes = 64;
  const auto seed = g.tensor({1, 1, 1, 1}, dnn::Type::i64), offset = g.tensor({1, 1, 1, 1}, dnn::Type::i64), x = g.tensor({2, 3, 4, 5}), y = g.tensor({2, 3, 4, 5});
  const auto kept = g.tensor({2, 3, 4, 5}, dnn::Type::f32, dnn::Layout::rows, dnn::TensorKind::passing);
  g.node(dnn::Operation::random, {seed, offset}, {kept}).numbers[dnn::kProbability] = 0.9;
  g.node(dnn::Operation::pointwise, {x, kept}, {y}, CUDNN_POINTWISE_MUL);
  REQUIRE(run(g).ok());
  const auto all = described(taken());
  std::map<std::uint64_t, std::uint64_t> tensors;
  for (const auto& [each, d] : all) {
    if (d.kind == CUDNN_BACKEND_TENSOR_DESCRIPTOR) tensors[d.attributes.at(CUDNN_ATTR_TENSOR_UNIQUE_ID)[0]] = each;
  }
  const auto draw = std::find_if(all.begin(), all.end(), [](const auto& each) { return each.second.kind == CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR; });
  REQUIRE(draw != all.end());
  CHECK(draw->second.attributes.at(CUDNN_ATTR_OPERATION_RNG_SEED) == Words{tensors[1]});
  CHECK(draw->second.attributes.at(CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC) == Words{tensors[2]});
  CHECK(draw->second.attributes.at(CUDNN_ATTR_OPERATION_RNG_YDESC) == Words{tensors[5]});
  const Described& how = all.at(draw->second.attributes.at(CUDNN_ATTR_OPERATION_RNG_DESC)[0]);
  CHECK(how.attributes == std::map<std::uint64_t, Words>{{CUDNN_ATTR_RNG_DISTRIBUTION, {CUDNN_RNG_DISTRIBUTION_BERNOULLI}},
                                                         {CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, {std::bit_cast<std::uint64_t>(0.9)}}});
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
