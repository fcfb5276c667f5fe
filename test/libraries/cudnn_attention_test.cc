// Attention through the graph API: as what it travels, in both forms.
#include <cstring>
#include <optional>

#include "test/libraries/cudnn_backend_descriptors.h"

using namespace rouse;
using namespace rouse::test;
using namespace rouse::test::backend;
using dnn::Operation;
using dnn::TensorKind;

TEST_CASE_METHOD(Cudnn, "attention: one operation, or many with integers and booleans between them", "[libraries][cudnn]") {
  const auto half = [](std::int64_t uid, std::vector<std::int64_t> dims, Where where = Where::memory) { return tensor(uid, std::move(dims), where, CUDNN_DATA_HALF); };
  // PyTorch's identifiers begin with 0.
  const Descriptor q = half(0, {2, 8, 16, 64}), k = half(1, {2, 2, 32, 64}), v = half(2, {2, 2, 32, 64}), o = half(3, {2, 8, 16, 64}),
                   scale = tensor(5, {1, 1, 1, 1}, Where::value), statistics = tensor(8, {2, 8, 16, 1});
  const auto attention = [&](const Descriptor& keys) {
    Descriptor made(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
    made.set(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, q).set(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, keys).set(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, v);
    made.set(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, scale).set(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, statistics);
    return made;
  };
  Descriptor one = attention(k);
  CHECK(one.finalize() == CUDNN_STATUS_BAD_PARAM);  // no output
  one.set(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, o).done();
  Descriptor graph = graphOf(handle, {one});
  graph.done();
  CHECK(graph.get<std::int64_t>(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64) == 2);  // halves are not rounded
  const float factor = 0.125f;
  const auto ran = [&](cudnnBackendDescriptor_t operations, std::vector<std::int64_t> uids, std::vector<const void*> pointers) {
    const Descriptor plan = planOf(handle, operations);
    Descriptor pack = packOf(std::move(uids), std::move(pointers));
    pack.done();
    REQUIRE(cudnnBackendExecute(handle, plan, pack) == CUDNN_STATUS_SUCCESS);
    return last();
  };
  dnn::Parts parts = ran(graph, {0, 1, 2, 3, 5, 8}, {memory, memory + 100000, memory + 200000, memory + 300000, &factor, memory + 400000});
  REQUIRE(parts.nodes.size() == 1);
  const dnn::Node& node = parts.nodes[0];
  CHECK((node.operation == Operation::attentionForward && node.compute == dnn::Type::f32));
  CHECK(parts.tensors[node.inputs[1]].address == at(100000));
  CHECK(parts.tensors[node.inputs[1]].alignment == 16);
  CHECK(std::memcmp(parts.tensors[node.inputs[3]].scalar, &factor, sizeof factor) == 0);
  CHECK((node.inputs[4] == dnn::kNoTensor && node.inputs[5] == dnn::kNoTensor));
  CHECK(parts.tensors[node.outputs[1]].address == at(400000));

  // Keys that do not match; what is not served; what is no tensor.
  Descriptor wrong = attention(half(9, {2, 2, 33, 64}));
  wrong.set(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, o);
  CHECK(wrong.finalize() == CUDNN_STATUS_BAD_PARAM);
  const Descriptor mask = tensor(10, {2, 8, 1, 1}, Where::memory, CUDNN_DATA_INT8);
  CHECK(wrong.trySet<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATION_SDPA_FWD_BLOCK_MASK_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, {mask}) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(wrong.trySet<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, {one}) == CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
  CHECK(wrong.trySet<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, {nullptr}) == CUDNN_STATUS_BAD_PARAM);

  // What each query sees, by comparing indices; and a bias that is one for all batches, as PyTorch expands it.
  const std::vector<std::int64_t> scores{2, 8, 16, 32};
  const auto passing = [&](std::int64_t uid, cudnnDataType_t type = CUDNN_DATA_FLOAT) { return tensor(uid, scores, Where::passing, type); };
  const auto computed = [](cudnnPointwiseMode_t mode, cudnnDataType_t type, std::int64_t axis = -1) {
    Descriptor made(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    made.set<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, {mode});
    made.set<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, {type});
    if (axis >= 0) made.wholes(CUDNN_ATTR_POINTWISE_AXIS, {axis});
    made.done();
    return made;
  };
  Descriptor bias(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  bias.wholes(CUDNN_ATTR_TENSOR_UNIQUE_ID, {4}).wholes(CUDNN_ATTR_TENSOR_DIMENSIONS, scores).wholes(CUDNN_ATTR_TENSOR_STRIDES, {0, 0, 32, 1});
  bias.wholes(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16}).set<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_HALF}).done();
  const Descriptor turned = half(1, {2, 2, 64, 32}), product = passing(100), biased = passing(101), row = passing(102, CUDNN_DATA_INT32),
                   column = passing(103, CUDNN_DATA_INT32), sees = passing(104, CUDNN_DATA_BOOLEAN), least = tensor(105, {1, 1, 1, 1}, Where::value), masked = tensor(106, scores);
  Descriptor multiply(CUDNN_BACKEND_MATMUL_DESCRIPTOR), scored(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR), select(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  multiply.set<cudnnDataType_t>(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT}).done();
  scored.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, multiply).set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, q).set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, turned);
  scored.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, product).done();
  const Descriptor added = apply(pointwise(CUDNN_POINTWISE_ADD), product, bias, biased),
                   rows = apply(computed(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, 2), biased, nullptr, row),
                   columns = apply(computed(CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_FLOAT, 3), biased, nullptr, column),
                   compared = apply(computed(CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN), row, column, sees), choice = pointwise(CUDNN_POINTWISE_BINARY_SELECT);
  select.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, choice).set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, biased).set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, least);
  select.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, sees).set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, masked).done();
  Descriptor many = graphOf(handle, {scored, added, rows, columns, compared, select});
  many.done();
  parts = ran(many, {0, 1, 4, 105, 106}, {memory, memory + 100000, memory + 200000, &factor, memory + 300000});
  REQUIRE(parts.nodes.size() == 6);
  CHECK(parts.nodes[2].compute == dnn::Type::i32);
  CHECK(parts.nodes[4].compute == dnn::Type::boolean);
  CHECK(parts.tensors[parts.nodes[4].outputs[0]].type == dnn::Type::boolean);
  CHECK(parts.tensors[parts.nodes[1].inputs[1]].strides[0] == 0);
  CHECK(parts.nodes[5].inputs[2] == parts.nodes[4].outputs[0]);
  // A transpose of what passes, told by its strides alone.
  Descriptor square(CUDNN_BACKEND_TENSOR_DESCRIPTOR), reshape(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  const char yes = 1;
  square.wholes(CUDNN_ATTR_TENSOR_UNIQUE_ID, {107}).wholes(CUDNN_ATTR_TENSOR_DIMENSIONS, {2, 8, 32, 16}).wholes(CUDNN_ATTR_TENSOR_STRIDES, {4096, 512, 1, 32});
  square.wholes(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16}).set<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_HALF});
  square.set<char>(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, {yes}).done();
  reshape.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, product).set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, square);
  reshape.set<cudnnBackendReshapeMode_t>(CUDNN_ATTR_OPERATION_RESHAPE_MODE, CUDNN_TYPE_RESHAPE_MODE, {CUDNN_RESHAPE_LOGICAL}).done();
  const Descriptor back = tensor(108, {2, 8, 32, 16}), shown = apply(pointwise(CUDNN_POINTWISE_IDENTITY), square, nullptr, back);
  Descriptor turns = graphOf(handle, {scored, reshape, shown});
  turns.done();
  parts = ran(turns, {0, 1, 108}, {memory, memory + 100000, memory + 300000});
  CHECK((parts.nodes[1].operation == Operation::reorder && parts.nodes[1].mode == 1 + CUDNN_RESHAPE_LOGICAL));
  // Dropout: what is drawn, by seed and offset in memory.
  const Descriptor seed = tensor(109, {1, 1, 1, 1}, Where::memory, CUDNN_DATA_INT64), offset = tensor(110, {1, 1, 1, 1}, Where::memory, CUDNN_DATA_INT64), kept = passing(111);
  const auto randomly = [&](cudnnRngDistribution_t distribution) {
    Descriptor rng(CUDNN_BACKEND_RNG_DESCRIPTOR), draw(CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
    rng.set<cudnnRngDistribution_t>(CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION, {distribution});
    rng.set<double>(CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, CUDNN_TYPE_DOUBLE, {0.9}).done();
    draw.set(CUDNN_ATTR_OPERATION_RNG_DESC, rng).set(CUDNN_ATTR_OPERATION_RNG_SEED, seed).set(CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, offset);
    draw.set(CUDNN_ATTR_OPERATION_RNG_YDESC, kept).done();
    return draw;
  };
  const Descriptor drawn = randomly(CUDNN_RNG_DISTRIBUTION_BERNOULLI), dropped = apply(pointwise(CUDNN_POINTWISE_MUL), product, kept, masked);
  Descriptor drops = graphOf(handle, {scored, drawn, dropped});
  drops.done();
  parts = ran(drops, {0, 1, 106, 109, 110}, {memory, memory + 100000, memory + 300000, memory + 200000, memory + 200008});
  CHECK((parts.nodes[1].operation == Operation::random && parts.nodes[1].numbers[dnn::kProbability] == 0.9));
  CHECK(parts.tensors[parts.nodes[1].inputs[1]].address == at(200008));
  const Descriptor uniformly = randomly(CUDNN_RNG_DISTRIBUTION_UNIFORM);
  Descriptor uniform = graphOf(handle, {scored, uniformly, dropped});
  CHECK(uniform.finalize() == CUDNN_STATUS_NOT_SUPPORTED);
  Descriptor number(CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR), rng(CUDNN_BACKEND_RNG_DESCRIPTOR);
  number.set(CUDNN_ATTR_OPERATION_RNG_DESC, rng.done()).set(CUDNN_ATTR_OPERATION_RNG_YDESC, kept).wholes(CUDNN_ATTR_OPERATION_RNG_SEED, {7}).done();
  Descriptor numbered = graphOf(handle, {scored, number, dropped});
  CHECK(numbered.finalize() == CUDNN_STATUS_NOT_SUPPORTED);
  // In a product nothing is computed in booleans.
  Descriptor truth(CUDNN_BACKEND_MATMUL_DESCRIPTOR), no(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  truth.set<cudnnDataType_t>(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_BOOLEAN}).done();
  no.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, truth).set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, q).set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, turned);
  no.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, product).done();
  Descriptor refused = graphOf(handle, {no});
  CHECK(refused.finalize() == CUDNN_STATUS_NOT_SUPPORTED);
}
