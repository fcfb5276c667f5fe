// The graph API: what an executed plan travels as, what descriptors are taken for, and what is said to wrong ones.
#include <cstring>
#include <optional>
#include <utility>

#include "test/libraries/cudnn_backend_descriptors.h"

using namespace rouse;
using namespace rouse::test;
using namespace rouse::test::backend;
using dnn::Operation;
using dnn::TensorKind;

TEST_CASE_METHOD(Cudnn, "a convolution, a bias and a ReLU: one graph, in the order of its tensors", "[libraries][cudnn]") {
  std::optional<Descriptor> plan;
  {
    const Descriptor x = tensor('x', {2, 8, 9, 9}), w = tensor('w', {6, 8, 3, 3}), b = tensor('b', {1, 6, 1, 1}),
                     y = tensor('y', {2, 6, 9, 9}), first = tensor('A', {2, 6, 9, 9}, Where::passing),
                     second = tensor('B', {2, 6, 9, 9}, Where::passing);
    Descriptor convolve = forward(convolution({1, 1}), x, w, first);
    convolve.done();
    // The program's order is not the tensors'.
    const Descriptor relu = apply(pointwise(CUDNN_POINTWISE_RELU_FWD), second, nullptr, y),
                     add = apply(pointwise(CUDNN_POINTWISE_ADD), first, b, second);
    Descriptor graph = graphOf(handle, {relu, add, convolve});
    graph.done();
    CHECK(graph.get<std::int64_t>(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64) == 4);
    plan.emplace(planOf(handle, graph));
  }
  // The plan lives on though all that it was made of is gone.
  CHECK(plan->get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64) == 0);
  Descriptor pack = packOf({'y', 'x', 'b', 'w'}, {memory + 9000, memory, memory + 8000, memory + 4096});
  CHECK(cudnnBackendExecute(handle, *plan, pack) == CUDNN_STATUS_BAD_PARAM);  // not finalized
  pack.done();
  const auto before = calls(), signals = count(wire::Opcode::SlotSignal);
  for (int i = 0; i < 50; ++i) REQUIRE(cudnnBackendExecute(handle, *plan, pack) == CUDNN_STATUS_SUCCESS);
  CHECK(count(wire::Opcode::SlotSignal) == signals);
  CHECK(calls() == before + 50);
  const dnn::Parts parts = last();
  REQUIRE(parts.nodes.size() == 3);
  CHECK((parts.nodes[0].operation == Operation::convolutionForward && parts.nodes[0].alpha == 1.5 &&
         parts.nodes[0].padAfter[1] == 1));
  CHECK((parts.nodes[1].mode == CUDNN_POINTWISE_ADD && parts.nodes[1].inputs[0] == parts.nodes[0].outputs[0]));
  CHECK((parts.nodes[2].mode == CUDNN_POINTWISE_RELU_FWD && parts.nodes[2].inputs[0] == parts.nodes[1].outputs[0]));
  CHECK(parts.tensors[parts.nodes[0].outputs[0]].kind == TensorKind::passing);
  CHECK(parts.tensors[parts.nodes[2].outputs[0]].address == at(9000));
  CHECK(parts.tensors[parts.nodes[1].inputs[1]].address == at(8000));
}

TEST_CASE_METHOD(Cudnn, "a plan as text makes the same plan again; no other text makes one", "[libraries][cudnn]") {
  const Descriptor x = tensor('x', {2, 8, 9, 9}), w = tensor('w', {6, 8, 3, 3}), y = tensor('y', {2, 6, 9, 9}), first = tensor('A', {2, 6, 9, 9}, Where::passing);
  Descriptor convolve = forward(convolution({1, 1}), x, w, first);
  convolve.done();
  Descriptor graph = graphOf(handle, {apply(pointwise(CUDNN_POINTWISE_RELU_FWD), first, nullptr, y), convolve});
  graph.done();
  const Descriptor plan = planOf(handle, graph);
  const auto read = [&](const Descriptor& from) {
    std::int64_t count = 0;
    REQUIRE(cudnnBackendGetAttribute(from, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, &count, nullptr) == CUDNN_STATUS_SUCCESS);
    std::vector<char> text(static_cast<std::size_t>(count));
    REQUIRE(cudnnBackendGetAttribute(from, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, count, &count, text.data()) == CUDNN_STATUS_SUCCESS);
    return text;
  };
  const auto made = [&](const std::vector<char>& text, Descriptor& again) {
    again.set<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, {handle});
    REQUIRE(cudnnBackendSetAttribute(again, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(text.size()), text.data()) == CUDNN_STATUS_SUCCESS);
    return cudnnBackendFinalize(again);
  };
  const std::vector<char> text = read(plan);
  Descriptor again(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  REQUIRE(made(text, again) == CUDNN_STATUS_SUCCESS);
  CHECK(read(again) == text);
  CHECK(again.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64) == 0);
  // Front ends look up the engine of a plan that they have made so.
  Descriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t filled = configuration;
  std::int64_t found = 0;
  REQUIRE(cudnnBackendGetAttribute(again, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &found, &filled) == CUDNN_STATUS_SUCCESS);
  filled = engine;
  REQUIRE(cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &found, &filled) == CUDNN_STATUS_SUCCESS);
  CHECK((found == 1 && engine.get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64) == 0));
  Descriptor pack = packOf({'y', 'x', 'w'}, {memory + 9000, memory, memory + 4096});
  pack.done();
  REQUIRE(cudnnBackendExecute(handle, plan, pack) == CUDNN_STATUS_SUCCESS);
  const auto bytes = dnn::putTogether(last());
  REQUIRE(cudnnBackendExecute(handle, again, pack) == CUDNN_STATUS_SUCCESS);
  CHECK(dnn::putTogether(last()) == bytes);
  const auto refused = [&](std::vector<char> wrong) {
    Descriptor none(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    return made(wrong, none) == CUDNN_STATUS_BAD_PARAM;
  };
  CHECK(refused({}));
  CHECK(refused({text.begin(), text.end() - 1}));
  CHECK(refused({text.begin() + 1, text.end()}));
  std::size_t taken = 0;
  for (std::size_t i = 0; i < text.size(); i += 7) {  // another digit is another plan, or none; nothing worse
    std::vector<char> wrong = text;
    wrong[i] = wrong[i] == 'f' ? '0' : 'f';
    taken += refused(wrong) ? 0 : 1;
  }
  CHECK(taken < text.size() / 7);
}

TEST_CASE_METHOD(Cudnn, "engines: where 32-bit numbers are multiplied those that round, and those that vary, can be left out", "[libraries][cudnn]") {
  const Descriptor x = tensor('x', {2, 8, 9, 9}), w = tensor('w', {6, 8, 3, 3}), y = tensor('y', {2, 6, 9, 9});
  Descriptor convolve = forward(convolution({1, 1}), x, w, y);
  convolve.done();
  Descriptor graph = graphOf(handle, {convolve});
  graph.done();
  Descriptor pack = packOf({'y', 'x', 'w'}, {memory + 9000, memory, memory + 4096});
  pack.done();
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {CUDNN_HEUR_MODE_A}).done();
  std::vector<Descriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> filled;
  for (int i = 0; i < 4; ++i) filled.push_back(configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  std::int64_t count = 0;
  REQUIRE(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 4, &count, filled.data()) == CUDNN_STATUS_SUCCESS);
  REQUIRE(count == 4);
  // In this order: who leaves out nothing takes the first.
  using Notes = std::vector<cudnnBackendNumericalNote_t>;
  const Notes expected[] = {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, {}};
  for (const std::size_t i : {0u, 1u, 2u, 3u}) {
    INFO(i);
    Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR), plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    cudnnBackendDescriptor_t to = engine;
    REQUIRE(cudnnBackendGetAttribute(filled[i], CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &to) == CUDNN_STATUS_SUCCESS);
    Notes notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    REQUIRE(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes.data()) ==
            CUDNN_STATUS_SUCCESS);
    notes.resize(static_cast<std::size_t>(count));
    CHECK(notes == expected[i]);
    plan.set<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, {handle});
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, filled[i]).done();
    REQUIRE(cudnnBackendExecute(handle, plan, pack) == CUDNN_STATUS_SUCCESS);
    CHECK(last().nodes[0].math == (i >= 2 ? dnn::MathType::fma : dnn::MathType::standard));
    CHECK(last().nodes[0].flags == (i % 2 == 1 ? dnn::kReproducible : 0));
  }
  Descriptor fifth(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  fifth.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph).wholes(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {4});
  CHECK(fifth.finalize() == CUDNN_STATUS_BAD_PARAM);
}

TEST_CASE_METHOD(Cudnn, "engines: one, with nothing to choose", "[libraries][cudnn]") {
  const Descriptor x = tensor(1, {4, 4}), y = tensor(2, {4, 4}), exp = apply(pointwise(CUDNN_POINTWISE_EXP), x, nullptr, y);
  Descriptor graph = graphOf(handle, {exp});
  graph.done();
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR), other(CUDNN_BACKEND_ENGINE_DESCRIPTOR),
      configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph).wholes(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {0}).done();
  CHECK(engine.count(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE) == 0);
  CHECK(engine.get<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE) ==
        CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API);
  CHECK(engine.count(CUDNN_ATTR_ENGINE_KNOB_INFO, CUDNN_TYPE_BACKEND_DESCRIPTOR) == 0);
  other.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph).wholes(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {1});
  CHECK(other.finalize() == CUDNN_STATUS_BAD_PARAM);
  configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine).done();
  CHECK(configuration.count(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR) == 0);
  CHECK(configuration.get<std::int64_t>(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64) == 0);
  // The engine of a configuration, into a descriptor of the program's; not into one of another type.
  Descriptor filled(CUDNN_BACKEND_ENGINE_DESCRIPTOR), wrong(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  std::int64_t count = 0;
  cudnnBackendDescriptor_t to = filled;
  REQUIRE(cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &to) ==
          CUDNN_STATUS_SUCCESS);
  CHECK(filled.get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64) == 0);
  to = wrong;
  CHECK(cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &to) ==
        CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
  to = nullptr;
  CHECK(cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &to) ==
        CUDNN_STATUS_BAD_PARAM);
  for (const cudnnBackendDescriptorType_t type :
       {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR, CUDNN_BACKEND_LAYOUT_INFO_DESCRIPTOR})
    Descriptor unused(type);
}

TEST_CASE_METHOD(Cudnn, "norms: what is by value for the program is a number", "[libraries][cudnn]") {
  const Descriptor x = tensor(1, {4, 8, 3, 3}), scale = tensor(2, {1, 8, 1, 1}), bias = tensor(3, {1, 8, 1, 1}),
                   mean = tensor(4, {1, 8, 1, 1}), inverse = tensor(5, {1, 8, 1, 1}), y = tensor(6, {4, 8, 3, 3}),
                   epsilon = tensor(7, {1, 1, 1, 1}, Where::value),
                   factor = tensor(8, {1, 1, 1, 1}, Where::value, CUDNN_DATA_DOUBLE), inMean = tensor(9, {1, 8, 1, 1}),
                   inVariance = tensor(10, {1, 8, 1, 1}), outMean = tensor(11, {1, 8, 1, 1}),
                   outVariance = tensor(12, {1, 8, 1, 1});
  Descriptor norm(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  norm.set<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, {CUDNN_BATCH_NORM});
  norm.set<cudnnBackendNormFwdPhase_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, {CUDNN_NORM_FWD_TRAINING});
  norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, scale)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, bias);
  norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, mean).set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, inverse);
  norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, y);
  CHECK(norm.finalize() == CUDNN_STATUS_BAD_PARAM);  // no epsilon
  norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, epsilon).set(CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC, factor);
  norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC, inMean)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC, inVariance);
  norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC, outMean)
      .set(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC, outVariance)
      .done();
  Descriptor graph = graphOf(handle, {norm});
  graph.done();
  const Descriptor plan = planOf(handle, graph);
  float eps = 0.125f;
  double average = 0.3;
  std::vector<std::int64_t> uids;
  std::vector<const void*> pointers;
  for (std::int64_t i = 1; i <= 12; ++i) {
    uids.push_back(i);
    pointers.push_back(i == 7 ? static_cast<const void*>(&eps) : i == 8 ? static_cast<const void*>(&average) : memory + 1000 * i);
  }
  Descriptor pack = packOf(uids, pointers);
  pack.done();
  REQUIRE(cudnnBackendExecute(handle, plan, pack) == CUDNN_STATUS_SUCCESS);
  const dnn::Parts parts = last();
  REQUIRE(parts.nodes.size() == 1);
  CHECK((parts.nodes[0].mode == 2 && parts.nodes[0].flags == dnn::kTraining && parts.nodes[0].numbers[dnn::kEpsilon] == 0.125 &&
         parts.nodes[0].numbers[dnn::kAverageFactor] == 0.3));
  CHECK(parts.tensors[parts.nodes[0].outputs[2]].address == at(5000));
  CHECK(parts.tensors[parts.nodes[0].outputs[4]].address == at(12000));
  // One of the tensors without a pointer.
  uids.pop_back();
  pointers.pop_back();
  Descriptor less = packOf(uids, pointers);
  less.done();
  CHECK(cudnnBackendExecute(handle, plan, less) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

TEST_CASE_METHOD(Cudnn, "scalars, reductions, products, pools, shapes", "[libraries][cudnn]") {
  const auto run = [&](std::vector<cudnnBackendDescriptor_t> operations, std::vector<std::int64_t> uids,
                       std::vector<const void*> pointers) {
    Descriptor graph = graphOf(handle, std::move(operations));
    graph.done();
    const Descriptor plan = planOf(handle, graph);
    Descriptor pack = packOf(std::move(uids), std::move(pointers));
    pack.done();
    REQUIRE(cudnnBackendExecute(handle, plan, pack) == CUDNN_STATUS_SUCCESS);
    return last();
  };
  const Descriptor a = tensor(1, {2, 4, 6}), b = tensor(2, {1, 6, 3}), c = tensor(3, {2, 4, 3}, Where::passing),
                   d = tensor(4, {2, 4, 3}), factor = tensor(5, {1, 1, 1}, Where::value);
  Descriptor product(CUDNN_BACKEND_MATMUL_DESCRIPTOR), multiply(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  product.set<cudnnDataType_t>(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT}).done();
  multiply.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, product)
      .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
      .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
  multiply.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c).done();
  const Descriptor scale = apply(pointwise(CUDNN_POINTWISE_MUL), c, factor, d);
  const float third = 0.75f;
  dnn::Parts parts = run({multiply, scale}, {1, 2, 4, 5}, {memory, memory + 100, memory + 200, &third});
  CHECK((parts.nodes[0].operation == Operation::matrixProduct && parts.nodes[1].mode == CUDNN_POINTWISE_MUL));
  CHECK(std::memcmp(parts.tensors[parts.nodes[1].inputs[1]].scalar, &third, sizeof third) == 0);

  const Descriptor sums = tensor(6, {1, 4, 1});
  Descriptor reduction(CUDNN_BACKEND_REDUCTION_DESCRIPTOR), reduce(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  reduction.set<cudnnDataType_t>(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
  reduction
      .set<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, {CUDNN_REDUCE_TENSOR_MAX})
      .done();
  reduce.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, a)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, sums)
      .done();
  parts = run({reduce}, {1, 6}, {memory, memory + 100});
  CHECK((parts.nodes[0].operation == Operation::reduction && parts.nodes[0].mode == CUDNN_REDUCE_TENSOR_MAX));

  const Descriptor image = tensor(7, {1, 3, 8, 8}), pooled = tensor(8, {1, 3, 4, 4});
  Descriptor resample(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR), pool(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
  resample.set<cudnnResampleMode_t>(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, {CUDNN_RESAMPLE_MAXPOOL});
  resample.set<cudnnPaddingMode_t>(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE, {CUDNN_NEG_INF_PAD});
  resample.wholes(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, {2})
      .wholes(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, {1, 1})
      .wholes(CUDNN_ATTR_RESAMPLE_POST_PADDINGS, {1, 1});
  resample.set<cudnnFraction_t>(CUDNN_ATTR_RESAMPLE_STRIDES, CUDNN_TYPE_FRACTION, {{2, 1}, {4, 2}})
      .wholes(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, {3, 3})
      .done();
  pool.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, resample).set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, image);
  pool.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, pooled).done();
  parts = run({pool}, {7, 8}, {memory, memory + 1000});
  CHECK((parts.nodes[0].operation == Operation::poolForward && parts.nodes[0].mode == 0 && parts.nodes[0].stride[1] == 2 &&
         parts.nodes[0].window[0] == 3));

  const Descriptor flat = tensor(9, {2, 24});
  Descriptor reshape(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  reshape.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, a).set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, flat).done();
  parts = run({reshape}, {1, 9}, {memory, memory + 100});
  CHECK(parts.nodes[0].operation == Operation::copy);
  CHECK(dimsOf(parts.tensors[parts.nodes[0].inputs[0]]) == std::vector<std::int64_t>{2, 24});
  CHECK(parts.tensors[parts.nodes[0].inputs[0]].address == at(0));

  // The derivative of tanh from what it gave.
  const Descriptor dy = tensor(10, {4, 4}), y = tensor(11, {4, 4}), dx = tensor(12, {4, 4});
  Descriptor backward(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  const Descriptor mode = pointwise(CUDNN_POINTWISE_TANH_BWD);
  backward.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode).set(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, dy);
  backward.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y).set(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, dx).done();
  parts = run({backward}, {10, 11, 12}, {memory, memory + 100, memory + 200});
  CHECK(parts.nodes.size() == 3);
}

TEST_CASE_METHOD(Cudnn, "backend descriptors: unfinalized, destroyed, of another type, made up", "[libraries][cudnn]") {
  const auto before = calls();
  const Descriptor x = tensor(1, {4, 4});
  cudnnBackendDescriptor_t gone = nullptr;
  REQUIRE(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &gone) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnBackendDestroyDescriptor(gone) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnBackendDestroyDescriptor(gone) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendFinalize(gone) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendFinalize(handle) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendFinalize(this) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, nullptr) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  cudnnBackendDescriptor_t none = nullptr;
  const auto refusals = unsupportedCalls("cudnnBackendCreateDescriptor");
  CHECK(cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR, &none) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(unsupportedCalls("cudnnBackendCreateDescriptor") == refusals + 1);
  CHECK(cudnnBackendCreateDescriptor(static_cast<cudnnBackendDescriptorType_t>(999), &none) == CUDNN_STATUS_BAD_PARAM);

  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR), unfinished(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const auto refer = [&](cudnnBackendDescriptor_t to) {
    return operation.trySet<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, {to});
  };
  CHECK(refer(x) == CUDNN_STATUS_SUCCESS);
  CHECK(refer(unfinished) == CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  CHECK(refer(gone) == CUDNN_STATUS_BAD_PARAM);
  CHECK(refer(pointwise(CUDNN_POINTWISE_ADD)) == CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
  CHECK(operation.trySet<std::int64_t>(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_INT64, {1}) ==
        CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  CHECK(operation.trySet<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, {1}) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendSetAttribute(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, nullptr) ==
        CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  CHECK(operation.finalize() == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendInitialize(operation) == CUDNN_STATUS_SUCCESS);  // as new
  CHECK(cudnnBackendInitialize(gone) == CUDNN_STATUS_BAD_PARAM);
  CHECK(unfinished.finalize() == CUDNN_STATUS_BAD_PARAM);
  CHECK(unfinished.trySet<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, {1, 2, 3, 4, 5, 6, 7, 8, 9}) ==
        CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND);
  std::int64_t number = 0, got = 0;
  CHECK(cudnnBackendSetAttribute(unfinished, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, -1, &number) ==
        CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND);
  CHECK(cudnnBackendGetAttribute(unfinished, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &got, &number) ==
        CUDNN_STATUS_NOT_INITIALIZED);
  CHECK(cudnnBackendGetAttribute(x, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, 1, &got, &number) ==
        CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  CHECK(cudnnBackendGetAttribute(x, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &got, nullptr) == CUDNN_STATUS_SUCCESS);
  CHECK(got == 1);  // how many there are, which is how NVIDIA's front end asks
  CHECK(cudnnBackendSetAttribute(x, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number) == CUDNN_STATUS_NOT_INITIALIZED);

  // What cannot be: shapes, cycles, one identifier for two, a handle that is none.
  const Descriptor y = tensor(2, {4, 5}), same = tensor(1, {5, 5}), z = tensor(3, {4, 4}), v = tensor(4, {4, 4}, Where::passing);
  Descriptor wrong(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  const Descriptor exp = pointwise(CUDNN_POINTWISE_EXP);
  wrong.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, exp)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  CHECK(wrong.finalize() == CUDNN_STATUS_BAD_PARAM);
  const Descriptor one = apply(exp, x, nullptr, z), again = apply(exp, same, nullptr, tensor(5, {5, 5})),
                   orphan = apply(exp, v, nullptr, z);
  CHECK(graphOf(handle, {one, again}).finalize() == CUDNN_STATUS_BAD_PARAM);
  CHECK(graphOf(handle, {orphan}).finalize() == CUDNN_STATUS_BAD_PARAM);
  const Descriptor there = apply(exp, z, nullptr, x);
  CHECK(graphOf(handle, {one, there}).finalize() == CUDNN_STATUS_BAD_PARAM);
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  CHECK(graph.trySet<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {static_cast<cudnnHandle_t>(nullptr)}) ==
        CUDNN_STATUS_BAD_PARAM);
  CHECK(graph.finalize() == CUDNN_STATUS_BAD_PARAM);
  Descriptor booleans(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  booleans.wholes(CUDNN_ATTR_TENSOR_UNIQUE_ID, {1})
      .wholes(CUDNN_ATTR_TENSOR_DIMENSIONS, {4})
      .wholes(CUDNN_ATTR_TENSOR_STRIDES, {1});
  booleans.wholes(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16})
      .set<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FP8_E4M3});
  CHECK(booleans.finalize() == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(calls() == before);
}

TEST_CASE_METHOD(Cudnn, "a plan needs a handle, itself, and a pack", "[libraries][cudnn]") {
  const Descriptor x = tensor(1, {4, 4}), y = tensor(2, {4, 4}), exp = apply(pointwise(CUDNN_POINTWISE_EXP), x, nullptr, y);
  Descriptor graph = graphOf(handle, {exp});
  graph.done();
  const Descriptor plan = planOf(handle, graph);
  Descriptor pack = packOf({1, 2}, {memory, memory + 16}), uneven(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR),
             misaligned = packOf({1, 2}, {memory, reinterpret_cast<char*>(memory) + 3});
  pack.done();
  misaligned.done();
  uneven.wholes(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {1, 2, 3});
  CHECK(uneven.finalize() == CUDNN_STATUS_BAD_PARAM);
  const auto before = calls();
  CHECK(cudnnBackendExecute(nullptr, plan, pack) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendExecute(handle, graph, pack) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendExecute(handle, pack, plan) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendExecute(handle, plan, nullptr) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendExecute(handle, plan, misaligned) == CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  std::size_t bytes = 1;
  CHECK((cudnnGetExecutionPlanWorkspaceSize(handle, plan, pack, &bytes) == CUDNN_STATUS_SUCCESS && bytes == 0));
  CHECK(calls() == before);
  CHECK(cudnnBackendExecute(handle, plan, pack) == CUDNN_STATUS_SUCCESS);
  CHECK(calls() == before + 1);
}

TEST_CASE_METHOD(Cudnn, "enumerations beyond what a node has room for are no other value", "[libraries][cudnn]") {
  constexpr int kBeyond = 0x10000;
  const Descriptor x = tensor(1, {2, 4, 8, 8}), y = tensor(2, {2, 4, 8, 8}), sums = tensor(3, {1, 4, 1, 1}), w = tensor(4, {4, 4, 1, 1});
  Descriptor reduction(CUDNN_BACKEND_REDUCTION_DESCRIPTOR), reduce(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR),
      apply(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR), one(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const Descriptor mode = pointwise(static_cast<cudnnPointwiseMode_t>(kBeyond + CUDNN_POINTWISE_MUL));
  apply.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode).set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  apply.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, x).set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  CHECK(apply.finalize() == CUDNN_STATUS_BAD_PARAM);

  reduction.set<cudnnDataType_t>(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
  reduction.set<int>(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, {kBeyond + CUDNN_REDUCE_TENSOR_ADD}).done();
  reduce.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction).set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
  reduce.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, sums);
  CHECK(reduce.finalize() == CUDNN_STATUS_BAD_PARAM);

  one.set<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
  one.set<int>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, {kBeyond + CUDNN_CROSS_CORRELATION});
  one.wholes(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2}).wholes(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {0, 0});
  one.wholes(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {0, 0}).wholes(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {1, 1});
  one.wholes(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1}).done();
  CHECK(forward(one, x, w, y).finalize() == CUDNN_STATUS_BAD_PARAM);

  // A kind of norm that nobody knows may be one that is not served: the graph says so.
  for (const int norm : {kBeyond + CUDNN_BATCH_NORM, -1, 0x7fffffff}) {
    const Descriptor statistics = tensor(5, {1, 4, 1, 1}), inverse = tensor(6, {1, 4, 1, 1});
    Descriptor normalize(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    normalize.set<int>(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, {norm});
    normalize.set<cudnnBackendNormFwdPhase_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, {CUDNN_NORM_FWD_INFERENCE});
    normalize.set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, x).set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, y);
    normalize.set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, statistics).set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, inverse).done();
    CHECK(graphOf(handle, {normalize}).finalize() == CUDNN_STATUS_NOT_SUPPORTED);
  }
}

TEST_CASE_METHOD(Cudnn, "numbers of elements beyond 64 bits are no smaller ones", "[libraries][cudnn]") {
  const auto reshape = [](const Descriptor& from, const Descriptor& to) {
    Descriptor made(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    made.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, from).set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, to);
    return made.finalize();
  };
  // 2^64 + 4 elements, and 4.
  CHECK(reshape(tensor(1, {4, 5, 5581, 8681, 49477, 384773}), tensor(2, {4})) == CUDNN_STATUS_BAD_PARAM);
  // As many, as far as 64 bits say; nobody serves them.
  const Descriptor x = tensor(1, {1 << 30, 1 << 30, 1 << 3}), y = tensor(2, {1 << 30, 1 << 30, 1 << 2, 2});
  Descriptor large(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  large.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x).set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y).done();
  CHECK(graphOf(handle, {large}).finalize() == CUDNN_STATUS_NOT_SUPPORTED);
}

TEST_CASE_METHOD(Cudnn, "a plan in a graph of the program's: one node, which nothing travels for", "[libraries][cudnn]") {
  const Descriptor x = tensor(1, {4, 4}), y = tensor(2, {4, 4}), exp = apply(pointwise(CUDNN_POINTWISE_EXP), x, nullptr, y);
  Descriptor operations = graphOf(handle, {exp});
  operations.done();
  const Descriptor plan = planOf(handle, operations);
  Descriptor pack = packOf({1, 2}, {memory, memory + 16}), other = packOf({1, 2}, {memory + 64, memory + 128}), half = packOf({1}, {memory}),
             misaligned = packOf({1, 2}, {memory, reinterpret_cast<char*>(memory) + 3});
  for (Descriptor* each : {&pack, &other, &half, &misaligned}) each->done();
  const auto before = calls();
  cudaGraph_t graph = nullptr, empty = nullptr;
  REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphCreate(&empty, 0) == cudaSuccess);
  const auto nodes = [](cudaGraph_t of) {
    std::size_t count = 99;
    REQUIRE(cudaGraphGetNodes(of, nullptr, &count) == cudaSuccess);
    return count;
  };
  CHECK(cudnnBackendPopulateCudaGraph(nullptr, plan, pack, graph) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendPopulateCudaGraph(handle, pack, plan, graph) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendPopulateCudaGraph(handle, plan, half, graph) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  CHECK(cudnnBackendPopulateCudaGraph(handle, plan, misaligned, graph) == CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  CHECK(cudnnBackendPopulateCudaGraph(handle, plan, pack, nullptr) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendPopulateCudaGraph(handle, plan, pack, reinterpret_cast<cudaGraph_t>(memory)) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendUpdateCudaGraph(handle, plan, pack, empty) == CUDNN_STATUS_BAD_PARAM);
  CHECK(nodes(graph) == 0);
  REQUIRE(cudnnBackendPopulateCudaGraph(handle, plan, pack, graph) == CUDNN_STATUS_SUCCESS);
  CHECK(nodes(graph) == 1);
  CHECK(cudnnBackendPopulateCudaGraph(handle, plan, pack, graph) == CUDNN_STATUS_BAD_PARAM);  // no longer empty
  CHECK(cudnnBackendUpdateCudaGraph(handle, plan, other, graph) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnBackendUpdateCudaGraph(handle, plan, misaligned, graph) == CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  CHECK(nodes(graph) == 1);
  // A node that is no plan's.
  cudaGraphNode_t node;
  REQUIRE(cudaGraphAddEmptyNode(&node, empty, nullptr, 0) == cudaSuccess);
  CHECK(cudnnBackendUpdateCudaGraph(handle, plan, pack, empty) == CUDNN_STATUS_BAD_PARAM);
  CHECK(calls() == before);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(empty) == cudaSuccess);
}
