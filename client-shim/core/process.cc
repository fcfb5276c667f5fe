#include "client-shim/core/process.h"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <new>

#include "client-shim/core/access_check.h"
#include "client-shim/core/callback_thread.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_heap.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session.h"
#include "client-shim/core/session_handles.h"
#include "client-shim/core/stream_ordered_pool.h"
#include "client-shim/core/thread_streams.h"
#include "client-shim/core/virtual_memory.h"

namespace rouse::client {

struct Process::Parts {
  std::mutex mutex;  // attaching
  FaceInfo face;
  Session* session = nullptr;  // never freed
  CudaError failure = CudaError::success;
  bool saidNoDaemon = false;
  std::atomic<std::uint32_t> unsupported[wire::kMaxApiNames]{};
};

Process::Process() : parts_(new Parts) {}

Process& Process::get() {
  alignas(Process) static unsigned char storage[sizeof(Process)];
  static Process* const process = new (storage) Process;
  return *process;
}

void Process::describeFace(const FaceInfo& face) {
  const std::lock_guard lock(parts_->mutex);
  parts_->face = face;
}

CudaError Process::attachSlowly() try {
  if (state_.load(std::memory_order_acquire) == State::forked) return CudaError::initializationError;
  const std::lock_guard lock(parts_->mutex);
  switch (state_.load(std::memory_order_acquire)) {
    case State::attached:
      return CudaError::success;
    case State::forked:
      return CudaError::initializationError;
    case State::failed:
      return parts_->failure;
    case State::fresh:
      break;
  }
  AttachOptions options = AttachOptions::fromEnvironment();
  options.library = parts_->face.library;
  options.apiNames = parts_->face.apiNames;
  auto session = Session::attach(options);
  if (!session) {
    const Error& error = session.error();
    const bool noDaemon = error.code == CudaError::noDevice;
    if (!noDaemon || !parts_->saidNoDaemon) log(LogLevel::error, "not attached: %s", error.message.c_str());
    parts_->saidNoDaemon |= noDaemon;
    if (!noDaemon) {
      parts_->failure = error.code;
      state_.store(State::failed, std::memory_order_release);
    }
    return error.code;
  }
  parts_->session = std::move(*session).release();
  deviceCount_ = parts_->session->deviceCount();
  for (std::uint32_t id = 0; id < wire::kMaxApiNames; ++id) {
    parts_->session->countUnsupported(id, parts_->unsupported[id].exchange(0, std::memory_order_relaxed));
  }
  ::pthread_atfork(&beforeFork, &afterForkInParent, &afterForkInChild);
  std::atexit(&atExit);
  state_.store(State::attached, std::memory_order_release);
  return CudaError::success;
} catch (const std::bad_alloc&) {
  return CudaError::memoryAllocation;
}

Device& Process::device(std::uint32_t index) { return parts_->session->device(index); }
HostMemory& Process::hostMemory() { return parts_->session->hostHeap(); }
Session& Process::session() { return *parts_->session; }

Stream* Process::findStream(std::uint64_t handle) { return parts_->session->handles().streams.find(handle); }
Event* Process::findEvent(std::uint64_t handle) { return parts_->session->handles().events.find(handle); }
MemoryPool* Process::findPool(std::uint64_t handle) { return StreamOrderedPool::find(*parts_->session, handle); }

bool Process::findAllocation(const void* address, Allocation* found) {
  return parts_->session->findAllocation(reinterpret_cast<std::uint64_t>(address), found);
}

void Process::countUnsupported(std::uint32_t apiId) {
  if (apiId >= wire::kMaxApiNames) return;
  switch (state_.load(std::memory_order_acquire)) {
    case State::attached:
      return parts_->session->countUnsupported(apiId, 1);
    case State::fresh:
      parts_->unsupported[apiId].fetch_add(1, std::memory_order_relaxed);
      return;
    case State::failed:
    case State::forked:
      return;
  }
}

bool Process::onCallbackThread() { return CallbackThread::isCurrent(); }

void Process::beforeFork() {
  Process& process = get();
  process.parts_->mutex.lock();
  if (process.attached()) process.parts_->session->lockForFork();
}

void Process::afterForkInParent() {
  Process& process = get();
  if (process.attached()) process.parts_->session->unlockAfterFork();
  process.parts_->mutex.unlock();
}

void Process::afterForkInChild() {
  Process& process = get();
  if (process.attached()) {
    process.parts_->session->unlockAfterFork();
    process.parts_->session->abandonInChild();
    process.state_.store(State::forked, std::memory_order_release);
    ThreadStreams::abandonInChild();
  }
  process.parts_->mutex.unlock();
}

void Process::atExit() {
  Process& process = get();
  if (!process.attached()) return;
  for (std::uint32_t index = 0; index < process.deviceCount_; ++index) process.device(index).drainOutput();
}

// Behind everything that is destroyed at exit, so that what destructors free is no leak.
void Process::afterExit() {
  Process& process = get();
  if (!process.attached()) return;
  Session& session = *process.parts_->session;
  AccessCheck* const check = session.check();
  if (check == nullptr) return;
  for (std::uint32_t index = 0; index < process.deviceCount_; ++index) process.device(index).drainOutput();
  if (!check->wantsLeaks()) return;
  for (std::uint32_t index = 0; index < process.deviceCount_; ++index) {
    check->leaked(process.device(index).heap().live());
    check->leaked(process.device(index).virtualMemory().live());
  }
  check->leaked(session.hostHeap().live());
}

}  // namespace rouse::client
