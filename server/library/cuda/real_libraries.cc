#include "server/library/cuda/real_libraries.h"

#include <algorithm>
#include <cstring>

#include "server/library/cuda/api.h"
#include "server/library/cuda/dnn_recurrent.h"
#include "server/library/cuda/loading.h"
#include "server/library/cuda/refusals.h"

namespace rouse::library::cuda {
namespace {

// A scalar as the library takes it: its address in the device's memory, or that of a copy here. The copy is aligned as any of its types must be: a
// cuDoubleComplex is to 16 bytes (vector_types.h), so that the library may load it in one piece, which ends the process where it is not. In a call as it
// travels a scalar lies at any multiple of 8.
class PassedScalar {
 public:
  PassedScalar(const blas::Scalar& scalar, blas::Scalars where) : copy_(scalar), inMemory_(where == blas::Scalars::inMemory) {}
  PassedScalar(const PassedScalar&) = delete;
  const void* pointer() const { return inMemory_ ? reinterpret_cast<const void*>(copy_.words[0]) : static_cast<const void*>(&copy_); }

 private:
  alignas(alignof(cuDoubleComplex)) const blas::Scalar copy_;
  const bool inMemory_;
};
static_assert(alignof(PassedScalar) >= alignof(cuDoubleComplex) && alignof(PassedScalar) >= alignof(double));

// A modified rotation's parameters, in the same way.
class PassedParameters {
 public:
  explicit PassedParameters(const blas::Call& call) : inMemory_(call.scalars == blas::Scalars::inMemory) {
    std::memcpy(copy_, call.rotation, sizeof copy_);
  }
  PassedParameters(const PassedParameters&) = delete;
  const void* pointer() const { return inMemory_ ? reinterpret_cast<const void*>(copy_[0]) : static_cast<const void*>(copy_); }

 private:
  alignas(16) std::uint64_t copy_[5];
  const bool inMemory_;
};

// A library that knows nothing of emulation has it as a fresh handle does, and no other.
cublasStatus_t setEmulation(const BlasApi& api, cublasHandle_t handle, const blas::Emulation& has, const blas::Emulation& wanted) {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  const auto set = [&](auto setter, auto before, auto value, auto passed) {
    if (before == value || status != CUBLAS_STATUS_SUCCESS) return;
    status = setter != nullptr ? setter(handle, passed) : CUBLAS_STATUS_NOT_SUPPORTED;
  };
  set(api.cublasSetEmulationStrategy, has.strategy, wanted.strategy, static_cast<cublasEmulationStrategy_t>(wanted.strategy));
  set(api.cublasSetEmulationSpecialValuesSupport, has.specialValues, wanted.specialValues, static_cast<cudaEmulationSpecialValuesSupport>(wanted.specialValues));
  set(api.cublasSetFixedPointEmulationMantissaControl, has.mantissaControl, wanted.mantissaControl, static_cast<cudaEmulationMantissaControl>(wanted.mantissaControl));
  set(api.cublasSetFixedPointEmulationMaxMantissaBitCount, has.mostMantissaBits, wanted.mostMantissaBits, wanted.mostMantissaBits);
  set(api.cublasSetFixedPointEmulationMantissaBitOffset, has.mantissaBitOffset, wanted.mantissaBitOffset, wanted.mantissaBitOffset);
  set(api.cublasSetFixedPointEmulationMantissaBitCountPointer, has.mantissaBitCount, wanted.mantissaBitCount, reinterpret_cast<int*>(wanted.mantissaBitCount));
  return status;
}

cublasStatus_t layOut(const LtApi& api, const blas::LtMatrix& m, std::int64_t count, cublasLtMatrixLayoutOpaque_t& layout) {
  cublasStatus_t status = api.cublasLtMatrixLayoutInit_internal(&layout, sizeof layout, static_cast<cudaDataType>(m.type), static_cast<std::uint64_t>(m.rows),
                                                                static_cast<std::uint64_t>(m.columns), m.spacing);
  const auto attribute = [&](cublasLtMatrixLayoutAttribute_t which, auto value) {
    if (status == CUBLAS_STATUS_SUCCESS) status = api.cublasLtMatrixLayoutSetAttribute(&layout, which, &value, sizeof value);
  };
  attribute(CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<std::int32_t>(m.order));
  attribute(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(count));
  attribute(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, m.stride);
  return status;
}

// As the generated calls name them.
struct Places {
  const void* alpha = nullptr;
  const void* beta = nullptr;
  void* result = nullptr;
  const void* parameters = nullptr;
  int* info = nullptr;  // of a parameter that is wrong, which the client has told already
};

cublasStatus_t dispatch(const BlasApi& api, cublasHandle_t handle, blas::Function function, const blas::Call& call, const Places& memory) {
  using blas::Type;
  switch (function) {
#define ROUSE_BLAS_CALL(name, ...) \
  case blas::Function::name:       \
    return __VA_ARGS__;
#define ROUSE_BLAS_NAME(name, ...)
#include "server/library/cuda/blas_calls.inc"
#undef ROUSE_BLAS_CALL
#undef ROUSE_BLAS_NAME
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

// Of one handle. More are forgotten, and made as first ones again.
constexpr std::size_t kMostKinds = 16384;

}  // namespace

bool mayWait(std::uint32_t library, std::uint32_t function) {
  return library == solver::kLibrary || library == systems::kLibrary || (library == sparse::kLibrary && waitsForDevice(static_cast<sparse::Function>(function)));
}

std::uint64_t kindOf(std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters, std::initializer_list<AddressRange> windows) {
  // Each step is a permutation of 64 bits (the finalizer of SplitMix64), so that equal sums of different calls are as rare as of random numbers.
  const auto mixed = [](std::uint64_t sum, std::uint64_t word) {
    sum = (sum ^ word) + 0x9e3779b97f4a7c15;
    sum = (sum ^ (sum >> 30)) * 0xbf58476d1ce4e5b9;
    sum = (sum ^ (sum >> 27)) * 0x94d049bb133111eb;
    return sum ^ (sum >> 31);
  };
  rand::Generation generation;
  if (library == rand::kLibrary && parameters.size() >= sizeof generation) {
    // What a generator is made of, and what its first call of this kind loads; where it is has nothing to do with that.
    std::memcpy(&generation, parameters.data(), sizeof generation);
    generation.output = generation.count = generation.step = generation.stretches = 0;
    generation.first = generation.second = 0;
    parameters = std::as_bytes(std::span(&generation, 1));
  }
  std::uint64_t sum = mixed(mixed(library, function), parameters.size());
  for (std::size_t at = 0; at < parameters.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, parameters.data() + at, std::min(sizeof word, parameters.size() - at));
    for (const AddressRange window : windows)
      if (window.contains(word)) word %= 256;  // as far as choices of kernels go
    sum = mixed(sum, word);
  }
  return sum;
}

RealLibraries::RealLibraries() = default;
RealLibraries::~RealLibraries() {
  for (const auto& each : all_) each->plans.abandon();
}

std::uint32_t RealLibraries::dnnVersion() { return cuda::dnnVersion(); }

Status WorkMemory::copy(std::uint64_t, std::uint64_t, std::uint64_t, CUstream_st*) { return Error{CudaError::notSupported, "memory that is no device's is not copied"}; }

void RealLibraries::workIn(std::unique_ptr<WorkMemory> memory) { memory_ = std::move(memory); }

void RealLibraries::end() {
  for (const auto& each : all_) {
    if (each->handle != nullptr) blas_->cublasDestroy_v2(each->handle);
    each->plans = {};
    if (fft_.there()) each->transforms.destroy(*fft_);
    if (rand_.there()) each->generators.destroy(*rand_);
    for (const Workspace& area : each->areas) memory_->give(area.address, area.bytes);
    if (each->sparse != nullptr) sparse_->cusparseDestroy(each->sparse);
    for (const auto& areas : each->ofSparse)
      for (const Workspace& area : areas) memory_->give(area.address, area.bytes);
    if (solver_.there()) each->solver.destroy(*solver_);
    for (const Workspace& area : each->ofSolver) memory_->give(area.address, area.bytes);
    if (each->system != nullptr) systems_->cusolverSpDestroy(each->system);
    for (const auto& areas : each->ofSystem)
      for (const Workspace& area : areas) memory_->give(area.address, area.bytes);
    if (each->dnn != nullptr) dnn_->cudnnDestroy(each->dnn);
    if (each->own.bytes != 0) memory_->give(each->own.address, each->own.bytes);
    for (const Workspace& larger : each->larger) memory_->give(larger.address, larger.bytes);
  }
  free_.clear();
  all_.clear();
}

Result<Handle*> RealLibraries::take(CUstream_st* stream, std::uint32_t library) {
  Handle* handle = nullptr;
  // Who only transforms, draws numbers or has sparse matrices needs no cuBLAS, whose handle takes time and device memory; cuSOLVER has one of its own.
  bool blas = false;
  Status loaded;
  switch (library) {
    case fft::kLibrary:
      loaded = fft_.load(loadFft);
      break;
    case rand::kLibrary:
      loaded = rand_.load(loadRand);
      break;
    case sparse::kLibrary:
      loaded = sparse_.load(loadSparse);
      break;
    case solver::kLibrary:
      loaded = solver_.load(loadSolver);
      break;
    case systems::kLibrary:
      loaded = systems_.load(loadSystems);
      break;
    default:
      blas = true;
      loaded = blas_.load(loadBlas);
  }
  if (!loaded) return loaded.error();
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      handle = free_.back();
      free_.pop_back();
    }
  }
  if (handle == nullptr) {
    const std::lock_guard lock(mutex_);
    handle = all_.emplace_back(std::make_unique<Handle>()).get();
  }
  handle->stream = stream;
  handle->workspace = handle->workspaceBytes = 0;
  handle->blasHasStream = handle->dnnHasStream = handle->sparseHasStream = handle->systemHasStream = false;  // another stream may be where an ended one was
  handle->transforms.forgetStreams();
  handle->generators.forgetStreams();
  handle->solver.forgetStream();
  if (blas) {
    if (const Status ready = readyBlas(*handle); !ready) {
      give(handle);
      return ready.error();
    }
  }
  return handle;
}

Status RealLibraries::readyBlas(Handle& handle) {
  if (const Status loaded = blas_.load(loadBlas); !loaded) return loaded;
  if (handle.handle == nullptr) {
    if (const cublasStatus_t status = blas_->cublasCreate_v2(&handle.handle); status != CUBLAS_STATUS_SUCCESS) {
      handle.handle = nullptr;
      return Error{CudaError::memoryAllocation, std::string("cublasCreate: ") + blas_->cublasGetStatusName(status)};
    }
  }
  if (!handle.blasHasStream) {
    if (const cublasStatus_t status = blas_->cublasSetStream_v2(handle.handle, handle.stream); status != CUBLAS_STATUS_SUCCESS)
      return Error{errorOf(status), std::string("cublasSetStream: ") + blas_->cublasGetStatusName(status)};
    handle.blasHasStream = true;
  }
  return {};
}

void RealLibraries::give(Handle* handle) {
  const std::lock_guard lock(mutex_);
  free_.push_back(handle);
}

bool RealLibraries::known(const Handle& handle, std::uint64_t kind) const { return handle.known.contains(kind); }

void RealLibraries::knows(Handle& handle, std::uint64_t kind) const {
  if (handle.known.size() == kMostKinds) handle.known.clear();
  handle.known.insert(kind);
}

Status RealLibraries::call(Handle& handle, std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters) {
  const auto copied = [&](auto& to) {
    if (parameters.size() != sizeof to) return false;
    std::memcpy(&to, parameters.data(), sizeof to);
    return true;
  };
  if (library == blas::kLibrary) {
    blas::Call call;
    if (copied(call) && function < blas::kFunctionCount) return callBlas(handle, static_cast<blas::Function>(function), call);
  } else if (library == blas::kLtLibrary) {
    blas::LtMatmul call;
    blas::LtTransform transform;
    if (function == blas::kLtMatmulFunction && copied(call)) return callLt(handle, call);
    if (function == blas::kLtTransformFunction && copied(transform)) return callLtTransform(handle, transform);
  } else if (library == dnn::kLibrary && function == dnn::kGraphFunction) {
    return callDnn(handle, parameters);
  } else if (library == dnn::kLibrary && function == dnn::kRecurrentFunction) {
    return callRecurrent(handle, parameters);
  } else if (library == fft::kLibrary) {
    fft::Transform transform;
    if (copied(transform) && function == fft::kTransformFunction) return callFft(handle, transform);
  } else if (library == rand::kLibrary && function == rand::kGenerateFunction) {
    return callRand(handle, parameters);
  } else if (library == sparse::kLibrary) {
    sparse::Call call;
    if (copied(call) && function < sparse::kFunctionCount) return callSparse(handle, static_cast<sparse::Function>(function), call);
  } else if (library == solver::kLibrary) {
    solver::Call call;
    if (copied(call) && function < solver::kFunctionCount) return callSolver(handle, static_cast<solver::Function>(function), call);
  } else if (library == systems::kLibrary) {
    systems::Call call;
    if (copied(call) && function < systems::kFunctionCount) return callSystem(handle, static_cast<systems::Function>(function), call);
  }
  return Error{CudaError::notSupported, "library " + std::to_string(library) + ", function " + std::to_string(function) + ": not served"};
}

Status RealLibraries::callFft(Handle& handle, const fft::Transform& transform) {
  if (const Status loaded = fft_.load(loadFft); !loaded) return loaded;
  return handle.transforms.run(*fft_, handle.stream, transform, [&](std::uint64_t bytes) { return areaOf(handle.areas, bytes, "cuFFT's work area"); });
}

Status RealLibraries::callRand(Handle& handle, std::span<const std::byte> parameters) {
  rand::Generation generation;
  rand::Stretch stretches[rand::kMostStretches];
  if (!rand::takeApart(parameters, generation, stretches)) return Error{CudaError::invalidValue, "no generation of cuRAND"};
  if (const Status loaded = rand_.load(loadRand); !loaded) return loaded;
  return handle.generators.run(*rand_, handle.stream, generation, std::span(stretches, generation.stretches),
                               [&](std::uint64_t bytes) { return areaOf(handle.areas, bytes, "cuRAND's work area"); });
}

Status RealLibraries::callSparse(Handle& handle, sparse::Function function, const sparse::Call& call) {
  if (const Status loaded = sparse_.load(loadSparse); !loaded) return loaded;
  if (handle.sparse == nullptr) {
    if (const cusparseStatus_t status = sparse_->cusparseCreate(&handle.sparse); status != CUSPARSE_STATUS_SUCCESS) {
      handle.sparse = nullptr;
      return Error{CudaError::memoryAllocation, std::string("cusparseCreate: ") + sparse_->cusparseGetErrorName(status)};
    }
  }
  if (!handle.sparseHasStream) {
    if (const cusparseStatus_t status = sparse_->cusparseSetStream(handle.sparse, handle.stream); status != CUSPARSE_STATUS_SUCCESS)
      return Error{errorOf(status), std::string("cusparseSetStream: ") + sparse_->cusparseGetErrorName(status)};
    handle.sparseHasStream = true;
  }
  return runSparse(*sparse_, handle.sparse, function, call,
                   [&](std::uint64_t bytes, int which) { return areaOf(handle.ofSparse[which], bytes, "cuSPARSE's memory to work in"); });
}

Status RealLibraries::callSolver(Handle& handle, solver::Function function, const solver::Call& call) {
  if (const Status loaded = solver_.load(loadSolver); !loaded) return loaded;
  return handle.solver.run(*solver_, handle.stream, function, call, [&](std::uint64_t bytes) { return areaOf(handle.ofSolver, bytes, "cuSOLVER's work area"); });
}

// Its matrices' descriptors are cuSPARSE's.
Status RealLibraries::callSystem(Handle& handle, systems::Function function, const systems::Call& call) {
  if (const Status loaded = systems_.load(loadSystems); !loaded) return loaded;
  if (const Status loaded = sparse_.load(loadSparse); !loaded) return loaded;
  if (memory_ == nullptr) return Error{CudaError::notSupported, "no memory of the executor's for cuSOLVER to work in"};
  if (handle.system == nullptr) {
    if (const cusolverStatus_t status = systems_->cusolverSpCreate(&handle.system); status != CUSOLVER_STATUS_SUCCESS) {
      handle.system = nullptr;
      return Error{errorOf(status), std::string("cusolverSpCreate: ") + nameOf(status)};
    }
  }
  if (!handle.systemHasStream) {
    if (const cusolverStatus_t status = systems_->cusolverSpSetStream(handle.system, handle.stream); status != CUSOLVER_STATUS_SUCCESS)
      return Error{errorOf(status), std::string("cusolverSpSetStream: ") + nameOf(status)};
    handle.systemHasStream = true;
  }
  return runSystem(*systems_, *sparse_, handle.system, function, call,
                   {[&](std::uint64_t bytes, int which) { return areaOf(handle.ofSystem[which], bytes, "cuSOLVER's memory for sparse matrices"); },
                    [&](std::uint64_t to, std::uint64_t from, std::uint64_t bytes) { return memory_->copy(to, from, bytes, handle.stream); }});
}

Result<std::uint64_t> RealLibraries::areaOf(std::vector<Workspace>& areas, std::uint64_t bytes, const char* what) {
  if (!areas.empty() && areas.back().bytes >= bytes) return areas.back().address;
  const std::string message = std::string(what) + " of " + std::to_string(bytes) + " bytes: ";
  if (!memory_) return Error{CudaError::memoryAllocation, message + "none is given"};
  // So that there are few of them, each is at least twice as large, where there is so much.
  const std::uint64_t twice = areas.empty() ? 0 : 2 * areas.back().bytes;
  std::uint64_t wanted = std::max(bytes, twice);
  auto taken = memory_->take(wanted);
  if (!taken && wanted > bytes) taken = memory_->take(wanted = bytes);
  if (!taken) return Error{taken.error().code, message + taken.error().message};
  areas.push_back({*taken, wanted});
  return *taken;
}

Status RealLibraries::callBlas(Handle& handle, blas::Function function, const blas::Call& call) {
  if (const Status ready = readyBlas(handle); !ready) return ready;
  const blas::FunctionInfo& info = blas::info(function);
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  const auto set = [&](auto& has, auto wanted, auto&& setter) {
    if (has == wanted || status != CUBLAS_STATUS_SUCCESS) return;
    status = setter(handle.handle, wanted);
    if (status == CUBLAS_STATUS_SUCCESS) has = wanted;
  };
  // Results always lie in memory that the device sees.
  const bool inMemory = call.scalars == blas::Scalars::inMemory || blas::hasResult(info.verb);
  set(handle.pointerMode, inMemory ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST, blas_->cublasSetPointerMode_v2);
  set(handle.atomics, static_cast<cublasAtomicsMode_t>(call.atomics), blas_->cublasSetAtomicsMode);
  set(handle.mathMode, static_cast<cublasMath_t>(call.mathMode), blas_->cublasSetMathMode);
  set(handle.multiprocessors, call.multiprocessors, blas_->cublasSetSmCountTarget);
  if (status == CUBLAS_STATUS_SUCCESS && handle.emulation != call.emulation) {
    status = setEmulation(*blas_, handle.handle, handle.emulation, call.emulation);
    if (status == CUBLAS_STATUS_SUCCESS) handle.emulation = call.emulation;
  }
  if (status == CUBLAS_STATUS_SUCCESS && (call.workspace != handle.workspace || call.workspaceBytes != handle.workspaceBytes)) {
    // Setting the stream goes back to the library's own workspace.
    status = call.workspaceBytes != 0
                 ? blas_->cublasSetWorkspace_v2(handle.handle, reinterpret_cast<void*>(call.workspace), call.workspaceBytes)
                 : blas_->cublasSetStream_v2(handle.handle, handle.stream);
    handle.workspace = call.workspace;
    handle.workspaceBytes = call.workspaceBytes;
  }
  const PassedScalar alpha(call.alpha, call.scalars), beta(call.beta, call.scalars);
  const PassedParameters parameters(call);
  int wrong = 0;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = dispatch(*blas_, handle.handle, function, call,
                      {alpha.pointer(), beta.pointer(), reinterpret_cast<void*>(call.result), parameters.pointer(), &wrong});
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Error{errorOf(status), std::string(info.name) + ": " + blas_->cublasGetStatusName(status)};
}

Status RealLibraries::readyDnn(Handle& handle) {
  if (handle.dnn == nullptr) {
    if (const cudnnStatus_t status = dnn_->cudnnCreate(&handle.dnn); status != CUDNN_STATUS_SUCCESS) {
      handle.dnn = nullptr;
      return Error{CudaError::memoryAllocation, std::string("cudnnCreate: ") + dnn_->cudnnGetErrorString(status)};
    }
  }
  if (!handle.dnnHasStream) {
    if (const cudnnStatus_t status = dnn_->cudnnSetStream(handle.dnn, handle.stream); status != CUDNN_STATUS_SUCCESS)
      return Error{errorOf(status), std::string("cudnnSetStream: ") + dnn_->cudnnGetErrorString(status)};
    handle.dnnHasStream = true;
  }
  return {};
}

Status RealLibraries::callRecurrent(Handle& handle, std::span<const std::byte> parameters) {
  dnn::RecurrentCall call;
  if (!dnn::takeApart(parameters, call)) return Error{CudaError::invalidValue, "no recurrent network of cuDNN"};
  if (const Status loaded = dnn_.load(loadDnn); !loaded) return loaded;
  if (const Status loaded = recurrent_.load(loadRecurrent); !loaded) return loaded;
  if (const Status ready = readyDnn(handle); !ready) return ready;
  return runRecurrent(*recurrent_, handle.dnn, call);
}

Status RealLibraries::callDnn(Handle& handle, std::span<const std::byte> parameters) {
  dnn::Parts parts;
  if (!dnn::takeApart(parameters, parts)) return Error{CudaError::invalidValue, "no graph of cuDNN"};
  if (const Status loaded = dnn_.load(loadDnn); !loaded) return loaded;
  const bool classic = isClassic(parts);
  if (memory_ && (!classic || worksInMemory(parts)) && handle.own.bytes == 0) {
    auto taken = memory_->take(kWorkspaceBytes);
    if (!taken) return Error{taken.error().code, "cuDNN's workspace of " + std::to_string(kWorkspaceBytes) + " bytes: " + taken.error().message};
    handle.own = {*taken, kWorkspaceBytes};
  }
  if (const Status ready = readyDnn(handle); !ready) return ready;
  return runGraph(handle, parts, handle.own, classic, true);
}

Workspace RealLibraries::workspaceOf(Handle& handle, std::uint64_t bytes) {
  const Workspace most = handle.larger.empty() ? handle.own : handle.larger.back();
  if (bytes <= most.bytes || !memory_) return most;
  // What has been queued works in the former one: that stays. So that there are few of them, each is at least twice as large.
  const std::uint64_t wanted = std::min(std::max(bytes, 2 * most.bytes), kMostWorkspaceBytes);
  const auto taken = memory_->take(wanted);
  if (!taken) return most;
  return handle.larger.emplace_back(Workspace{*taken, wanted});
}

Status RealLibraries::runGraph(Handle& handle, const dnn::Parts& parts, Workspace own, bool classic, bool whole) {
  const auto refused = [](const Status& status) { return !status.ok() && status.error().code == CudaError::notSupported; };
  const auto more = [&](std::uint64_t bytes) { return whole ? workspaceOf(handle, bytes) : own; };
  const MoreWorkspace larger{whole && memory_ ? kMostWorkspaceBytes : own.bytes, more};
  Status status = classic ? runClassic(*dnn_, handle.dnn, parts, own) : handle.plans.run(*dnn_, handle.dnn, parts, own, larger);
  if (!refused(status)) return status;
  // What the classic call does not do, a plan may; that there is none of it either is no news. Both have queued nothing.
  const dnn::Operation first = parts.nodes[0].operation;
  if (parts.nodes.size() == 1) {
    if (!classic || (first != dnn::Operation::pointwise && first != dnn::Operation::reduction)) return status;
    const Status planned = handle.plans.run(*dnn_, handle.dnn, parts, own, larger);
    return refused(planned) ? status : planned;
  }
  auto steps = stepsOf(parts, own);
  if (!steps) return status;
  for (const dnn::Parts& each : steps->graphs) {
    const Status done = runGraph(handle, each, steps->left, isClassic(each), false);
    if (!done) return done;
  }
  return {};
}

Status RealLibraries::callLtTransform(Handle& handle, const blas::LtTransform& call) {
  if (const Status loaded = lt_.load(loadLt); !loaded) return loaded;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  const auto tried = [&](cublasStatus_t result) {
    if (status == CUBLAS_STATUS_SUCCESS) status = result;
  };
  cublasLtMatrixTransformDescOpaque_t desc;
  tried(lt_->cublasLtMatrixTransformDescInit_internal(&desc, sizeof desc, static_cast<cudaDataType>(call.scaleType)));
  const auto attribute = [&](cublasLtMatrixTransformDescAttributes_t which, std::int32_t value) {
    tried(lt_->cublasLtMatrixTransformDescSetAttribute(&desc, which, &value, sizeof value));
  };
  attribute(CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE, static_cast<std::int32_t>(call.scalars));
  attribute(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, static_cast<std::int32_t>(call.transa));
  attribute(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, static_cast<std::int32_t>(call.transb));
  cublasLtMatrixLayoutOpaque_t layouts[3];
  const blas::LtMatrix* matrices[3] = {&call.a, &call.b, &call.c};
  for (int i = 0; i < 3; ++i)
    if (matrices[i]->address != 0) tried(layOut(*lt_, *matrices[i], call.batch, layouts[i]));
  const auto pointer = [](std::uint64_t address) { return reinterpret_cast<void*>(address); };
  const auto layout = [&](int i) { return matrices[i]->address != 0 ? &layouts[i] : nullptr; };
  const PassedScalar alpha(call.alpha, call.scalars), beta(call.beta, call.scalars);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = lt_->cublasLtMatrixTransform(reinterpret_cast<cublasLtHandle_t>(handle.handle), &desc, alpha.pointer(), pointer(call.a.address), layout(0), beta.pointer(),
                                          pointer(call.b.address), layout(1), pointer(call.c.address), layout(2), handle.stream);
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Error{errorOf(status), std::string("cublasLtMatrixTransform: ") + blas_->cublasGetStatusName(status)};
}

Status RealLibraries::callLt(Handle& handle, const blas::LtMatmul& call) {
  if (const Status ready = readyBlas(handle); !ready) return ready;
  if (const Status loaded = lt_.load(loadLt); !loaded) return loaded;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  const auto tried = [&](cublasStatus_t result) {
    if (status == CUBLAS_STATUS_SUCCESS) status = result;
  };
  cublasLtMatmulDescOpaque_t desc;
  tried(lt_->cublasLtMatmulDescInit_internal(&desc, sizeof desc, static_cast<cublasComputeType_t>(call.computeType),
                                             static_cast<cudaDataType_t>(call.scaleType)));
  const auto attribute = [&](cublasLtMatmulDescAttributes_t which, auto value) {
    tried(lt_->cublasLtMatmulDescSetAttribute(&desc, which, &value, sizeof value));
  };
  attribute(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<std::int32_t>(call.transa));
  attribute(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<std::int32_t>(call.transb));
  attribute(CUBLASLT_MATMUL_DESC_EPILOGUE, call.epilogue);
  attribute(CUBLASLT_MATMUL_DESC_POINTER_MODE, static_cast<std::int32_t>(call.scalars));
  if (call.multiprocessors != 0) attribute(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, call.multiprocessors);
  if (call.fastAccumulation != 0) attribute(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(call.fastAccumulation));
  const auto given = [&](cublasLtMatmulDescAttributes_t which, std::uint64_t address) {
    if (address != 0) attribute(which, address);
  };
  given(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, call.aScale);
  given(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, call.bScale);
  given(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, call.cScale);
  given(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, call.dScale);
  given(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, call.amax);
  // Libraries before CUDA 12.9 do not know the modes.
  if (call.aScaling != blas::ScaleMode::scalar) attribute(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, static_cast<std::int32_t>(call.aScaling));
  if (call.bScaling != blas::ScaleMode::scalar) attribute(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, static_cast<std::int32_t>(call.bScaling));
  if ((call.epilogue & blas::kEpilogueBias) != 0) {
    attribute(CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.bias);
    attribute(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(call.biasType));
    if (call.biasStride != 0) attribute(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, call.biasStride);
  }
  if ((call.epilogue & blas::kEpilogueAux) != 0) {
    attribute(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, call.aux);
    attribute(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, call.auxSpacing);
    attribute(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, static_cast<std::int32_t>(call.auxType));
    if (call.auxStride != 0) attribute(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, call.auxStride);
  }
  cublasLtMatrixLayoutOpaque_t layouts[4];
  const blas::LtMatrix* matrices[4] = {&call.a, &call.b, &call.c, &call.d};
  for (int i = 0; i < 4; ++i) tried(layOut(*lt_, *matrices[i], call.batch, layouts[i]));
  const auto pointer = [](std::uint64_t address) { return reinterpret_cast<void*>(address); };
  const PassedScalar alpha(call.alpha, call.scalars), beta(call.beta, call.scalars);
  // A C that is not read does not come along (client-shim/cublaslt/matmul.cc); the library wants one all the same, and PyTorch names D.
  const std::uint64_t c = call.c.address != 0 ? call.c.address : call.d.address;
  // Without an algorithm the library asks its own heuristics, which it remembers.
  if (status == CUBLAS_STATUS_SUCCESS)
    status = lt_->cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle.handle), &desc, alpha.pointer(), pointer(call.a.address), &layouts[0],
                                 pointer(call.b.address), &layouts[1], beta.pointer(), pointer(c), &layouts[2], pointer(call.d.address),
                                 &layouts[3], nullptr, pointer(call.workspace), call.workspaceBytes, handle.stream);
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Error{errorOf(status), std::string("cublasLtMatmul: ") + blas_->cublasGetStatusName(status)};
}

}  // namespace rouse::library::cuda
