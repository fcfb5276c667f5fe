// Finalizing: what each type of descriptor needs, and what follows from it.
#include <algorithm>

#include "client-shim/cudnn/backend.h"
#include "client-shim/cudnn/plan_text.h"
#include "client-shim/cudnn/graph.h"

namespace rouse::cudnn {
namespace {

bool isOperation(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
      return true;
    default:
      return false;
  }
}

bool hasAll(const Content& content, std::initializer_list<cudnnBackendAttributeName_t> names) {
  return std::ranges::all_of(names, [&](cudnnBackendAttributeName_t each) { return content.has(each); });
}

Outcome finalizeTensor(const Content& content) {
  if (!hasAll(content, {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT,
                        CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_ATTR_TENSOR_STRIDES}))
    return {CUDNN_STATUS_BAD_PARAM, "a tensor without one of its attributes"};
  const auto type = content.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  if (!valid(type)) return {CUDNN_STATUS_BAD_PARAM, "a tensor's type"};
  if (!served(type)) return {CUDNN_STATUS_NOT_SUPPORTED, "a tensor's type"};
  const auto dims = content.wholes(CUDNN_ATTR_TENSOR_DIMENSIONS), strides = content.wholes(CUDNN_ATTR_TENSOR_STRIDES);
  if (dims->empty() || dims->size() != strides->size()) return {CUDNN_STATUS_BAD_PARAM, "not as many strides as dimensions"};
  for (std::size_t i = 0; i < dims->size(); ++i)
    if ((*dims)[i] < 1 || (*strides)[i] < 0) return {CUDNN_STATUS_BAD_PARAM, "a dimension that is not above 0, or a stride below it"};
  const auto alignment = content.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  if (alignment < 1 || alignment % static_cast<std::int64_t>(bytesOf(type)) != 0)
    return {CUDNN_STATUS_BAD_PARAM, "an alignment that the type does not divide"};
  if (content.one<std::int64_t>(CUDNN_ATTR_TENSOR_VECTOR_COUNT, 1) != 1) return {CUDNN_STATUS_NOT_SUPPORTED, "channels in vectors"};
  if (content.one<cudnnBackendTensorReordering_t>(CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TENSOR_REORDERING_NONE) !=
      CUDNN_TENSOR_REORDERING_NONE)
    return {CUDNN_STATUS_NOT_SUPPORTED, "reordered elements"};
  if (content.one<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
    if (content.one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)) return {CUDNN_STATUS_BAD_PARAM, "a virtual tensor by value"};
    if (std::ranges::any_of(*dims, [](std::int64_t each) { return each != 1; }))
      return {CUDNN_STATUS_NOT_SUPPORTED, "a tensor of several elements by value"};
  }
  return {};
}

bool multipliesFloats(const dnn::Parts& parts, const dnn::Node& node) {
  return dnn::multiplies(node.operation) && node.compute == dnn::Type::f32 && parts.tensors[node.inputs[0]].type == dnn::Type::f32;
}

// As that engine runs it.
std::shared_ptr<const Lowered> runBy(const Engine& engine, const Lowered& lowered) {
  auto made = std::make_shared<Lowered>(lowered);
  const bool mayRound = lowered.engines().front().rounds;
  for (dnn::Node& node : made->parts.nodes) {
    if (!dnn::multiplies(node.operation)) continue;
    if (mayRound && !engine.rounds) node.math = dnn::MathType::fma;
    if (!engine.varies) node.flags |= dnn::kReproducible;
  }
  return made;
}

}  // namespace

std::vector<Engine> Lowered::engines() const {
  if (std::ranges::none_of(parts.nodes, [](const dnn::Node& node) { return dnn::multiplies(node.operation); })) return {{false, false}};
  if (std::ranges::any_of(parts.nodes, [&](const dnn::Node& node) { return multipliesFloats(parts, node); }))
    return {{true, true}, {true, false}, {false, true}, {false, false}};
  return {{false, true}, {false, false}};
}

bool fits(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type) {
  switch (name) {
    case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC:
    case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC:
      return type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
    case CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR:
      return type == CUDNN_BACKEND_POINTWISE_DESCRIPTOR;
    case CUDNN_ATTR_OPERATION_MATMUL_DESC:
      return type == CUDNN_BACKEND_MATMUL_DESCRIPTOR;
    case CUDNN_ATTR_OPERATION_RNG_DESC:
      return type == CUDNN_BACKEND_RNG_DESCRIPTOR;
    case CUDNN_ATTR_OPERATION_REDUCTION_DESC:
      return type == CUDNN_BACKEND_REDUCTION_DESCRIPTOR;
    case CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC:
    case CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC:
      return type == CUDNN_BACKEND_RESAMPLE_DESCRIPTOR;
    case CUDNN_ATTR_OPERATIONGRAPH_OPS:
      return isOperation(type);
    case CUDNN_ATTR_ENGINE_OPERATION_GRAPH:
    case CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH:
      return type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      return type == CUDNN_BACKEND_ENGINE_DESCRIPTOR;
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
      return type == CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR;
    case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG:
      return type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
    default:
      return type == CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  }
}

Outcome finalize(const std::shared_ptr<Content>& content) {
  const auto required = [&](std::initializer_list<cudnnBackendAttributeName_t> names) {
    return hasAll(*content, names) ? Outcome{} : Outcome{CUDNN_STATUS_BAD_PARAM, "an attribute that is required has not been set"};
  };
  if (isOperation(content->type)) return checkAlone(content);
  switch (content->type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return finalizeTensor(*content);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return required({CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
                       CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                       CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS});
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
      return required({CUDNN_ATTR_POINTWISE_MODE, CUDNN_ATTR_POINTWISE_MATH_PREC});
    case CUDNN_BACKEND_MATMUL_DESCRIPTOR:
      return required({CUDNN_ATTR_MATMUL_COMP_TYPE});
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
      return required({CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_ATTR_REDUCTION_COMP_TYPE});
    case CUDNN_BACKEND_RESAMPLE_DESCRIPTOR:
      return required({CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, CUDNN_ATTR_RESAMPLE_STRIDES, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS,
                       CUDNN_ATTR_RESAMPLE_POST_PADDINGS, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS});
    case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR:
      return required({CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE});
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: {
      if (!hasAll(*content, {CUDNN_ATTR_OPERATIONGRAPH_OPS})) return {CUDNN_STATUS_BAD_PARAM, "a graph without operations"};
      if (content->one<bool>(CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED) ||
          content->one<bool>(CUDNN_ATTR_OPERATIONGRAPH_IS_OVERRIDE_SHAPE_ENABLED))
        return {CUDNN_STATUS_NOT_SUPPORTED, "shapes that change"};
      auto lowered = std::make_shared<Lowered>();
      const Outcome outcome = lower(content->values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors, *lowered);
      content->lowered = std::move(lowered);
      return outcome;
    }
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR: {
      if (const Outcome outcome = required({CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_ATTR_ENGINE_GLOBAL_INDEX});
          outcome.status != CUDNN_STATUS_SUCCESS)
        return outcome;
      const auto index = content->one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
      const bool there = index >= 0 && index < static_cast<std::int64_t>(content->descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->lowered->engines().size());
      return there ? Outcome{} : Outcome{CUDNN_STATUS_BAD_PARAM, "the graph has no engine of this index"};
    }
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      if (content->has(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES) && content->values.at(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES).count != 0)
        return {CUDNN_STATUS_NOT_SUPPORTED, "engines have no knobs"};
      return required({CUDNN_ATTR_ENGINECFG_ENGINE});
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return required({CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_ATTR_ENGINEHEUR_MODE});
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: {
      if (const auto text = content->values.find(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION); text != content->values.end()) {
        const std::vector<std::byte>& bytes = text->second.bytes;
        const PlannedGraph planned = planOf({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        if (planned.graph == nullptr) return {CUDNN_STATUS_BAD_PARAM, "a plan's text that is none, or of another version"};
        auto graph = std::make_shared<Content>();
        graph->type = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
        graph->finalized = true;
        graph->lowered = planned.graph;
        content->values[CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {configurationOf(graph, planned.engine)}};
      }
      const Content* configuration = content->descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
      if (configuration == nullptr) return {CUDNN_STATUS_BAD_PARAM, "a plan without an engine's configuration"};
      const Content* engine = configuration->descriptor(CUDNN_ATTR_ENGINECFG_ENGINE);
      const Lowered& graph = *engine->descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->lowered;
      content->lowered = runBy(graph.engines()[static_cast<std::size_t>(engine->one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX))], graph);
      return {};
    }
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR: {
      const auto uids = content->values.find(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS),
                 pointers = content->values.find(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
      const std::int64_t count = uids == content->values.end() ? 0 : uids->second.count;
      if (count != (pointers == content->values.end() ? 0 : pointers->second.count))
        return {CUDNN_STATUS_BAD_PARAM, "not as many pointers as identifiers"};
      return {};
    }
    default:
      return {};
  }
}

}  // namespace rouse::cudnn
