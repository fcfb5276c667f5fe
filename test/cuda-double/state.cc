#include "test/cuda-double/state.h"

#include "test/cuda-double/simulation.h"

namespace rouse::cuda_double {

thread_local CUcontext currentContext = nullptr;

State& state() {
  static auto* instance = new State;
  return *instance;
}

CUresult State::initialize() {
  std::lock_guard lock(mutex_);
  const int devices = simulation::devices();
  if (devices == 0) return CUDA_ERROR_NO_DEVICE;
  while (gpus_.size() < static_cast<std::size_t>(devices)) {
    auto gpu = Gpu::open(static_cast<int>(gpus_.size()), simulation::memoryBytes());
    if (!gpu) {
      note(gpu.error().message);
      return CUDA_ERROR_SYSTEM_NOT_READY;
    }
    gpus_.push_back(std::move(gpu).value());
  }
  initialized_ = true;
  return CUDA_SUCCESS;
}

Gpu* State::gpu(CUdevice device) {
  std::lock_guard lock(mutex_);
  if (device >= 0 && device < simulation::devices() && static_cast<std::size_t>(device) < gpus_.size())
    return gpus_[static_cast<std::size_t>(device)].get();
  violate("no-such-device", "device " + std::to_string(device));
  return nullptr;
}

std::shared_ptr<Context> here() { return state().contexts.find(currentContext, "context"); }

std::shared_ptr<Stream> streamOf(CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
    violate("default-stream", "the double does not have the default streams; Rouse must not use them");
    return nullptr;
  }
  auto stream = state().streams.find(handle, "stream");
  if (stream != nullptr && &stream->context != here().get()) {
    violate("other-context", "the stream belongs to a context that is not current");
    return nullptr;
  }
  return stream;
}

}  // namespace rouse::cuda_double
