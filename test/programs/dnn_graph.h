// What the programs that use cuDNN's graph API share: descriptors, graphs of them, and the way to a plan. Needs -lcudnn.
#pragma once

#include <memory>

#include "dnn.h"

namespace dnn {

using Wholes = std::vector<std::int64_t>;

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) : desc_(std::make_shared<Owner>(type)) {}
  operator cudnnBackendDescriptor_t() const { return desc_->desc; }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const std::vector<T>& values) {
    DNN(cudnnBackendSetAttribute(*this, name, type, std::int64_t(values.size()), values.data()));
    return *this;
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return set<cudnnBackendDescriptor_t>(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, {value});
  }
  Descriptor& wholes(cudnnBackendAttributeName_t name, const Wholes& values) { return set(name, CUDNN_TYPE_INT64, values); }
  Descriptor& type(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
    return set<cudnnDataType_t>(name, CUDNN_TYPE_DATA_TYPE, {value});
  }
  Descriptor& done() {
    DNN(cudnnBackendFinalize(*this));
    return *this;
  }

 private:
  struct Owner {
    cudnnBackendDescriptor_t desc = nullptr;
    explicit Owner(cudnnBackendDescriptorType_t type) { DNN(cudnnBackendCreateDescriptor(type, &desc)); }
    ~Owner() { DNN(cudnnBackendDestroyDescriptor(desc)); }
    Owner(const Owner&) = delete;
  };
  std::shared_ptr<Owner> desc_;
};

inline Descriptor tensor(std::int64_t uid, const Index& dims, const Index& strides, cudnnDataType_t type, bool isVirtual = false,
                  bool byValue = false) {
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.wholes(CUDNN_ATTR_TENSOR_UNIQUE_ID, {uid})
      .type(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
      .wholes(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16});
  made.wholes(CUDNN_ATTR_TENSOR_DIMENSIONS, Wholes(dims.begin(), dims.end()))
      .wholes(CUDNN_ATTR_TENSOR_STRIDES, Wholes(strides.begin(), strides.end()));
  const bool yes = true;
  if (isVirtual) DNN(cudnnBackendSetAttribute(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &yes));
  if (byValue) DNN(cudnnBackendSetAttribute(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &yes));
  return made.done();
}

// The tensors of one graph, and where they are.
struct Binding {
  Wholes uids;
  std::vector<void*> pointers;
  std::vector<bool> byValue;

  template <class T>
  Descriptor memory(const Tensor<T>& t) {
    uids.push_back(std::int64_t(uids.size()) + 1);
    pointers.push_back(t.device);
    byValue.push_back(false);
    return tensor(uids.back(), t.dims, t.strides, kType<T>);
  }
  Descriptor passing(const Index& dims, Layout layout, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return tensor(1000 + ++virtuals, dims, stridesOf(dims, layout), type, true);
  }
  Descriptor value(float* from, int rank) {
    uids.push_back(std::int64_t(uids.size()) + 1);
    pointers.push_back(from);
    byValue.push_back(true);
    return tensor(uids.back(), Index(rank, 1), Index(rank, 1), CUDNN_DATA_FLOAT, false, true);
  }
  int virtuals = 0;
};

inline Descriptor pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b, const Descriptor& y) {
  Descriptor desc(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), made(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  desc.set<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, {mode})
      .type(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT)
      .done();
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, desc)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  if (b != nullptr) made.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  return made.done();
}

// By turns executed, launched as a graph of CUDA's, and as one that was made for other memory and then updated; where the engine says that it
// can be in a graph.
inline void run(cudnnHandle_t handle, const Descriptor& engine, const Descriptor& plan, const Binding& binding, void* workspace) {
  static int turn = 0;
  const auto packed = [&](const std::vector<void*>& pointers) {
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.wholes(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, binding.uids).set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers);
    return pack.set<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, {workspace}).done();
  };
  const Descriptor pack = packed(binding.pointers);
  std::vector<cudnnBackendBehaviorNote_t> notes(CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  std::int64_t count = 0;
  DNN(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, std::int64_t(notes.size()), &count, notes.data()));
  notes.resize(std::size_t(count));
  const int way = std::count(notes.begin(), notes.end(), CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API) != 0 ? turn++ % 3 : 0;
  if (way == 0) return DNN(cudnnBackendExecute(handle, plan, pack));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaGraphCreate(&graph, 0));
  if (way == 1) {
    DNN(cudnnBackendPopulateCudaGraph(handle, plan, pack, graph));
  } else {
    std::vector<void*> elsewhere = binding.pointers;
    char* scratch = check::deviceArray<char>(1 << 20);
    for (std::size_t i = 0; i < elsewhere.size(); ++i)
      if (!binding.byValue[i]) elsewhere[i] = scratch;
    DNN(cudnnBackendPopulateCudaGraph(handle, plan, packed(elsewhere), graph));
    DNN(cudnnBackendUpdateCudaGraph(handle, plan, pack, graph));
    CHECK(cudaFree(scratch));
  }
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphLaunch(exec, nullptr));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGraphExecDestroy(exec));
}

// The first of the heuristics' configurations that makes a plan. False: none does.
inline bool tried(cudnnHandle_t handle, const std::vector<cudnnBackendDescriptor_t>& operations, const Binding& binding) {
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR), heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  graph.set<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {handle});
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations).done();
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {CUDNN_HEUR_MODE_A}).done();
  std::int64_t count = 0;
  DNN(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr));
  std::vector<Descriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    configurations.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configurations.back());
  }
  DNN(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                               raw.data()));
  for (std::int64_t i = 0; i < count; ++i) {
    // Engines that round their inputs to less than they are would not give what is compared here.
    Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t filled = engine;
    std::int64_t engines = 0, notes = 0;
    DNN(cudnnBackendGetAttribute(configurations[i], CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engines,
                                 &filled));
    std::vector<cudnnBackendNumericalNote_t> all(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    DNN(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, std::int64_t(all.size()),
                                 &notes, all.data()));
    all.resize(std::size_t(notes));
    if (std::count(all.begin(), all.end(), CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) != 0) continue;
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, {handle})
        .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configurations[i]);
    if (cudnnBackendFinalize(plan) != CUDNN_STATUS_SUCCESS) continue;
    std::int64_t bytes = 0, one = 0;
    DNN(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &one, &bytes));
    void* workspace = bytes > 0 ? check::deviceArray<char>(std::size_t(bytes)) : nullptr;
    run(handle, engine, plan, binding, workspace);
    if (workspace != nullptr) CHECK(cudaFree(workspace));
    return true;
  }
  return false;
}

inline void execute(cudnnHandle_t handle, const std::vector<cudnnBackendDescriptor_t>& operations, const Binding& binding) {
  EXPECT(tried(handle, operations, binding));
}

}  // namespace dnn
