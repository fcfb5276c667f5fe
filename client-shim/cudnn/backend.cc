// cuDNN's graph API. Descriptors and plans are local; an executed plan is one graph, which is queued. There is one engine for each graph,
// and where something is multiplied further ones, for programs that leave out what rounds or varies; none needs a workspace.
#include "client-shim/cudnn/backend.h"

#include <algorithm>
#include <mutex>

#include "client-shim/cudnn/graph.h"
#include "client-shim/cudnn/implementations.h"
#include "client-shim/cudnn/plan_text.h"

namespace rouse::cudnn {
namespace {

// What a cudnnBackendDescriptor_t stands for.
struct Backend {
  std::mutex mutex;
  std::shared_ptr<Content> content;
};

Backend* find(cudnnBackendDescriptor_t descriptor) {
  const client::LibraryHost* host = descriptor != nullptr ? client::libraryHost() : nullptr;
  if (host == nullptr) return nullptr;
  return static_cast<Backend*>(
      host->findHandle(reinterpret_cast<std::uint64_t>(descriptor), kindBit(client::HandleKind::dnnBackend)));
}

std::shared_ptr<Content> contentOf(cudnnBackendDescriptor_t descriptor) {
  Backend* found = find(descriptor);
  if (found == nullptr) return nullptr;
  const std::lock_guard lock(found->mutex);
  return found->content;
}

// Null unless it is finalized and of this type.
std::shared_ptr<const Content> finalized(cudnnBackendDescriptor_t descriptor, cudnnBackendDescriptorType_t type) {
  auto found = contentOf(descriptor);
  return found != nullptr && found->finalized && found->type == type ? found : nullptr;
}

std::shared_ptr<Content> fresh(cudnnBackendDescriptorType_t type) {
  auto made = std::make_shared<Content>();
  made->type = type;
  return made;
}

template <class T>
void put(Content& content, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T value) {
  Value& to = content.values[name];
  to = {type, 1, std::vector<std::byte>(sizeof value), {}};
  std::memcpy(to.bytes.data(), &value, sizeof value);
}

void put(Content& content, cudnnBackendAttributeName_t name, std::shared_ptr<const Content> value) {
  content.values[name] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {std::move(value)}};
}

cudnnStatus_t say(const char* function, const Outcome& outcome) {
  if (outcome.status == CUDNN_STATUS_SUCCESS) return outcome.status;
  if (outcome.status == CUDNN_STATUS_NOT_SUPPORTED) return refuse(function, outcome.what);
  return fail(outcome.status, outcome.what);
}

// The attributes that no program sets and that have one element, a number; the others have none.
std::optional<std::int64_t> computed(const Content& content, cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return static_cast<std::int64_t>(content.lowered->engines().size());
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      return CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API;
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
    case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED:
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return 0;
    default:
      return std::nullopt;
  }
}

// By which programs leave out engines.
std::vector<cudnnBackendNumericalNote_t> notesOf(const Content& engine) {
  const auto index = static_cast<std::size_t>(engine.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  const Engine about = engine.descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->lowered->engines()[index];
  std::vector<cudnnBackendNumericalNote_t> notes;
  if (about.rounds) notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  if (about.varies) notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  return notes;
}

// Descriptors are told by filling the ones that the program has made.
cudnnStatus_t fill(cudnnBackendDescriptor_t descriptor, const std::shared_ptr<const Content>& with) {
  Backend* to = find(descriptor);
  if (to == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendGetAttribute: not a descriptor to be filled");
  const std::lock_guard lock(to->mutex);
  if (to->content->type != with->type)
    return fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "cudnnBackendGetAttribute: a descriptor of another type");
  to->content = std::const_pointer_cast<Content>(with);  // finalized: nobody writes it any more
  return CUDNN_STATUS_SUCCESS;
}

// The addresses and values that the variant pack has for the graph.
Outcome bind(const Lowered& lowered, const Content& pack, dnn::Parts& parts) {
  const auto uids = pack.wholes(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).value_or(std::vector<std::int64_t>{});
  const auto pointers = pack.wholes(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).value_or(std::vector<std::int64_t>{});
  const auto pointerOf = [&](std::int64_t uid) -> const void* {
    const auto found = std::ranges::find(uids, uid);
    return found == uids.end() ? nullptr : reinterpret_cast<const void*>(pointers[static_cast<std::size_t>(found - uids.begin())]);
  };
  const Outcome missing{CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the variant pack has no pointer for one of the tensors"};
  for (std::size_t i = 0; i < parts.tensors.size(); ++i) {
    dnn::Tensor& tensor = parts.tensors[i];
    if (tensor.kind == dnn::TensorKind::passing) continue;
    const void* pointer = pointerOf(lowered.uids[i]);
    if (pointer == nullptr) return missing;
    if (tensor.kind == dnn::TensorKind::memory) tensor.address = reinterpret_cast<std::uint64_t>(pointer);
    else std::memcpy(tensor.scalar, pointer, dnn::bytesOf(tensor.type));
  }
  for (const Lowered::Number& number : lowered.numbers) {
    const void* pointer = pointerOf(number.uid);
    if (pointer == nullptr) return missing;
    parts.nodes[number.node].numbers[number.place] = readNumber(pointer, number.type);
  }
  return {};
}

// act(handle, parts) with the plan's graph as the variant pack binds it.
template <class Act>
cudnnStatus_t bound(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan, cudnnBackendDescriptor_t variantPack, const char* function,
                    Act&& act) {
  return guarded([&] {
    const Handle* object = findHandle(handle);
    const auto plan = finalized(executionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    const auto pack = finalized(variantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    if (object == nullptr || plan == nullptr || pack == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, function);
    dnn::Parts parts = plan->lowered->parts;
    if (const Outcome outcome = bind(*plan->lowered, *pack, parts); outcome.status != CUDNN_STATUS_SUCCESS)
      return fail(outcome.status, outcome.what);
    return act(*object, parts);
  });
}

}  // namespace

std::shared_ptr<Content> configurationOf(const std::shared_ptr<const Content>& graph, std::int64_t index) {
  auto engine = fresh(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  put(*engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  put(*engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index);
  engine->finalized = true;
  auto configuration = fresh(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  put(*configuration, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  configuration->finalized = true;
  return configuration;
}

namespace impl {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType, cudnnBackendDescriptor_t* descriptor) {
  return guarded([&] {
    if (descriptor == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnBackendCreateDescriptor: descriptor is null");
    const client::LibraryHost* host = client::libraryHost();
    if (host == nullptr) return fail(CUDNN_STATUS_NOT_INITIALIZED, "cudnnBackendCreateDescriptor: not this runtime");
    if (!known(descriptorType)) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendCreateDescriptor: no such type");
    if (!served(descriptorType))
      return refuse("cudnnBackendCreateDescriptor", "a type of operation or descriptor that is not served");
    Backend* made = library::ObjectPool<Backend>::get().take();
    {
      const std::lock_guard lock(made->mutex);
      made->content = fresh(descriptorType);
    }
    const std::uint64_t number = host->makeHandle(client::HandleKind::dnnBackend, made);
    if (number == 0) {
      library::ObjectPool<Backend>::get().give(made);
      return fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "cudnnBackendCreateDescriptor: too many descriptors");
    }
    *descriptor = reinterpret_cast<cudnnBackendDescriptor_t>(number);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return guarded([&] {
    if (descriptor == nullptr) return CUDNN_STATUS_SUCCESS;
    const client::LibraryHost* host = client::libraryHost();
    auto* object = host == nullptr ? nullptr
                                   : static_cast<Backend*>(host->dropHandle(reinterpret_cast<std::uint64_t>(descriptor),
                                                                            client::HandleKind::dnnBackend));
    if (object == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendDestroyDescriptor: not a descriptor");
    {
      const std::lock_guard lock(object->mutex);
      object->content = fresh(object->content->type);  // what it shared may end
    }
    library::ObjectPool<Backend>::get().give(object);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor) {
  return guarded([&] {
    Backend* object = find(descriptor);
    if (object == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendInitialize: not a descriptor");
    const std::lock_guard lock(object->mutex);
    object->content = fresh(object->content->type);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return guarded([&] {
    Backend* object = find(descriptor);
    if (object == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendFinalize: not a descriptor");
    const std::lock_guard lock(object->mutex);
    if (object->content->finalized) return CUDNN_STATUS_SUCCESS;
    const Outcome outcome = finalize(object->content);
    if (outcome.status != CUDNN_STATUS_SUCCESS) return say("cudnnBackendFinalize", outcome);
    object->content->finalized = true;
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType, int64_t elementCount,
                                       const void* arrayOfElements) {
  return guarded([&] {
    Backend* object = find(descriptor);
    if (object == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendSetAttribute: not a descriptor");
    Value value{attributeType, elementCount, {}, {}};
    cudnnBackendDescriptorType_t type;
    {
      const std::lock_guard lock(object->mutex);
      if (object->content->finalized)
        return fail(CUDNN_STATUS_NOT_INITIALIZED, "cudnnBackendSetAttribute: the descriptor is finalized");
      type = object->content->type;
    }
    const Attribute* attribute = findAttribute(type, attributeName);
    if (attribute == nullptr || attribute->access == Access::get)
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendSetAttribute: no such attribute to set");
    if (attribute->access == Access::refused) return refuse("cudnnBackendSetAttribute", "an attribute that is not served");
    if (attributeType != attribute->type && attributeType != attribute->other)
      return fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "cudnnBackendSetAttribute: the attribute's type");
    if (elementCount < 0 || elementCount > attribute->most || (attribute->most == 1 && elementCount != 1))
      return fail(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND, "cudnnBackendSetAttribute: elementCount");
    if (arrayOfElements == nullptr && elementCount != 0)
      return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnBackendSetAttribute: arrayOfElements is null");
    const auto count = static_cast<std::size_t>(elementCount);
    if (attributeType == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      for (std::size_t i = 0; i < count; ++i) {
        auto referred = contentOf(static_cast<const cudnnBackendDescriptor_t*>(arrayOfElements)[i]);
        if (referred == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendSetAttribute: not a descriptor is referred to");
        if (!fits(attributeName, referred->type))
          return fail(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "cudnnBackendSetAttribute: a descriptor of another type");
        if (!referred->finalized)
          return fail(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "cudnnBackendSetAttribute: a descriptor that is not finalized");
        value.descriptors.push_back(std::move(referred));
      }
    } else {
      value.bytes.resize(count * bytesOf(attributeType));
      if (count != 0) std::memcpy(value.bytes.data(), arrayOfElements, value.bytes.size());
      if (attributeType == CUDNN_TYPE_BOOLEAN)
        for (std::byte& each : value.bytes) each = static_cast<std::byte>(each != std::byte{0});
      if (attributeType == CUDNN_TYPE_HANDLE && findHandle(*static_cast<const cudnnHandle_t*>(arrayOfElements)) == nullptr)
        return fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendSetAttribute: not a handle");
    }
    const std::lock_guard lock(object->mutex);
    if (object->content->finalized)
      return fail(CUDNN_STATUS_NOT_INITIALIZED, "cudnnBackendSetAttribute: the descriptor is finalized");
    object->content->values[attributeName] = std::move(value);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t attributeName,
                                       cudnnBackendAttributeType_t attributeType, int64_t requestedElementCount,
                                       int64_t* elementCount, void* arrayOfElements) {
  return guarded([&] {
    const std::shared_ptr<const Content> content = contentOf(descriptor);
    if (content == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendGetAttribute: not a descriptor");
    if (!content->finalized) return fail(CUDNN_STATUS_NOT_INITIALIZED, "cudnnBackendGetAttribute: the descriptor is not finalized");
    const Attribute* attribute = findAttribute(content->type, attributeName);
    if (attribute == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnBackendGetAttribute: no such attribute");
    if (attribute->access == Access::refused) return refuse("cudnnBackendGetAttribute", "an attribute that is not served");
    if (attributeType != attribute->type && attributeType != attribute->other)
      return fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "cudnnBackendGetAttribute: the attribute's type");
    if (requestedElementCount < 0)
      return fail(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND, "cudnnBackendGetAttribute: requestedElementCount");

    Value value{attributeType, 0, {}, {}};
    if (const auto found = content->values.find(attributeName); found != content->values.end()) {
      value = found->second;
    } else if (attributeName == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
      const auto& graph = content->values.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).descriptors.front();
      value.count = static_cast<std::int64_t>(graph->lowered->engines().size());
      for (std::int64_t i = 0; i < value.count; ++i) value.descriptors.push_back(configurationOf(graph, i));
    } else if (attributeName == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) {
      const Content* engine = content->descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->descriptor(CUDNN_ATTR_ENGINECFG_ENGINE);
      const std::string text = textOf({engine->descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->lowered, engine->one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)});
      value.count = static_cast<std::int64_t>(text.size());
      value.bytes.resize(text.size());
      std::memcpy(value.bytes.data(), text.data(), text.size());
    } else if (attributeName == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
      const auto notes = notesOf(*content);
      value.count = static_cast<std::int64_t>(notes.size());
      value.bytes.resize(notes.size() * sizeof notes[0]);
      if (!notes.empty()) std::memcpy(value.bytes.data(), notes.data(), value.bytes.size());
    } else if (const auto number = computed(*content, attributeName)) {
      value.count = 1;
      value.bytes.resize(bytesOf(attributeType));
      std::memcpy(value.bytes.data(), &*number, value.bytes.size());  // little-endian, as everything here
    }
    if (value.type != attributeType)
      return fail(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "cudnnBackendGetAttribute: it was set as another type");
    tell(elementCount, value.count);
    const auto count = static_cast<std::size_t>(std::min(requestedElementCount, value.count));
    // Without an array it is how many there are that is asked, however many would be wanted.
    if (count == 0 || arrayOfElements == nullptr) return CUDNN_STATUS_SUCCESS;
    if (attributeType == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      for (std::size_t i = 0; i < count; ++i)
        if (const cudnnStatus_t status = fill(static_cast<cudnnBackendDescriptor_t*>(arrayOfElements)[i], value.descriptors[i]);
            status != CUDNN_STATUS_SUCCESS)
          return status;
    } else {
      std::memcpy(arrayOfElements, value.bytes.data(), count * bytesOf(attributeType));
    }
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
                                  cudnnBackendDescriptor_t variantPack) {
  constexpr const char* kFunction = "cudnnBackendExecute: not a handle, a finalized plan and a finalized variant pack of addresses that fit";
  return bound(handle, executionPlan, variantPack, kFunction,
               [&](const Handle& object, const dnn::Parts& parts) { return submit(object, parts, kFunction); });
}

cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
                                            cudnnBackendDescriptor_t variantPack, cudaGraph_t graph) {
  constexpr const char* kFunction = "cudnnBackendPopulateCudaGraph: not a handle, a finalized plan, a finalized variant pack and an empty graph";
  return bound(handle, executionPlan, variantPack, kFunction,
               [&](const Handle& object, const dnn::Parts& parts) { return putInGraph(object, parts, graph, false, kFunction); });
}

cudnnStatus_t cudnnBackendUpdateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
                                          cudnnBackendDescriptor_t variantPack, cudaGraph_t graph) {
  constexpr const char* kFunction = "cudnnBackendUpdateCudaGraph: not a handle, a finalized plan, a finalized variant pack and a populated graph";
  return bound(handle, executionPlan, variantPack, kFunction,
               [&](const Handle& object, const dnn::Parts& parts) { return putInGraph(object, parts, graph, true, kFunction); });
}

cudnnStatus_t cudnnGetExecutionPlanWorkspaceSize(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
                                                 cudnnBackendDescriptor_t variantPack, size_t* workspaceSizeInBytes) {
  if (findHandle(handle) == nullptr || finalized(executionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) == nullptr ||
      finalized(variantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) == nullptr || workspaceSizeInBytes == nullptr)
    return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetExecutionPlanWorkspaceSize");
  *workspaceSizeInBytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace impl
}  // namespace rouse::cudnn
