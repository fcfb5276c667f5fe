#include "test/cuda-double/context.h"

#include <sys/mman.h>

#include <cstdio>

#include "test/cuda-double/gpu.h"
#include "test/cuda-double/record.h"
#include "test/cuda-double/simulation.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double {

Result<std::shared_ptr<Context>> Context::create(Gpu& gpu) {
  std::shared_ptr<Context> context(new Context(gpu));
  std::lock_guard lock(gpu.deviceMutex);
  auto device = gpu.device->createContext({}, *context);
  if (!device) return std::move(device).error();
  context->device = std::move(device).value();
  return context;
}

void Context::stop() {
  stopping_ = true;
  if (device != nullptr) {
    std::lock_guard lock(gpu.deviceMutex);
    device->cancel();
  }
  progress();
  hostThread.stop();
  for (const auto& stream : streams()) {
    stream->wake();
    stream->join();
  }
  flushOutput();
}

Context::~Context() {
  stop();
  streams_.clear();
  std::lock_guard lock(gpu.deviceMutex);
  device.reset();
}

std::vector<std::shared_ptr<Stream>> Context::streams() {
  std::lock_guard lock(mutex_);
  return streams_;
}

std::shared_ptr<Stream> Context::createStream(int priority) {
  std::unique_ptr<memory::Stream> made;
  {
    std::lock_guard lock(gpu.deviceMutex);
    made = device->createStream(priority);
  }
  auto stream = std::make_shared<Stream>(*this, std::move(made), priority);
  std::vector<std::shared_ptr<Stream>> ended;  // joined outside the lock, which their threads take
  std::lock_guard lock(mutex_);
  std::erase_if(streams_, [&](const auto& other) {
    if (!other->closed()) return false;
    ended.push_back(other);
    return true;
  });
  streams_.push_back(stream);
  return stream;
}

void Context::retire(const std::shared_ptr<Stream>& stream) {
  stream->close();
  if (stream->idle()) stream->join();  // it ends at once
}

void Context::synchronize() {
  for (const auto& stream : streams()) stream->drain();
}

void Context::growLocalMemory(std::uint64_t bytes) {
  if (bytes <= limits[CU_LIMIT_STACK_SIZE]) return;
  synchronize();
  limits[CU_LIMIT_STACK_SIZE] = bytes;
}

bool Context::uses(AddressRange range) {
  for (const auto& stream : streams()) {
    if (stream->uses(range)) return true;
  }
  return false;
}

void Context::fail(CUresult result, const std::string& message) {
  {
    std::lock_guard lock(mutex_);
    if (error_ != CUDA_SUCCESS) return;
    error_ = result;
    failed_ = isSticky(static_cast<CudaError>(result));
  }
  note(std::string("a context failed with ") + errorName(result) + ": " + message);
  progress();
}

CUresult Context::takeError() {
  std::lock_guard lock(mutex_);
  const CUresult error = error_;
  if (!failed_) error_ = CUDA_SUCCESS;
  return error;
}

bool Context::waitUntil(const std::function<bool()>& ready) {
  std::chrono::microseconds pause{20};
  while (!ready()) {
    if (failed() || stopping()) return false;
    std::unique_lock lock(mutex_);
    progressed_.wait_for(lock, pause);
    pause = std::min(pause * 2, std::chrono::microseconds(500));
  }
  return true;
}

void Context::progress() {
  std::lock_guard lock(mutex_);
  progressed_.notify_all();
}

CUresult Context::registerHost(AddressRange range) {
  // Fails for addresses that nothing is mapped at.
  const std::uint64_t page = roundDown(range.base, 4096);
  if (msync(reinterpret_cast<void*>(page), range.end() - page, MS_ASYNC) != 0) {
    return violation(CUDA_ERROR_INVALID_VALUE, "not-mapped-on-host", hex(range.base) + " is not all mapped");
  }
  std::lock_guard lock(mutex_);
  std::uint64_t total = range.bytes;
  for (const auto& [base, bytes] : registered_) {
    total += bytes;
    if (range.overlaps({base, bytes})) {
      return violation(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "already-registered",
                       hex(range.base) + " overlaps what is registered at " + hex(base));
    }
  }
  if (const auto limit = simulation::pinnedBytes(); limit && total > *limit) return CUDA_ERROR_OUT_OF_MEMORY;
  registered_[range.base] = range.bytes;
  return CUDA_SUCCESS;
}

CUresult Context::unregisterHost(std::uint64_t base) {
  std::uint64_t bytes = 0;
  {
    std::lock_guard lock(mutex_);
    const auto found = registered_.find(base);
    if (found == registered_.end()) {
      return violation(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "not-registered", hex(base) + " begins no registration");
    }
    bytes = found->second;
  }
  if (uses({base, bytes})) {
    return violation(CUDA_ERROR_INVALID_VALUE, "in-use", "queued work uses host memory at " + hex(base));
  }
  std::lock_guard lock(mutex_);
  registered_.erase(base);
  return CUDA_SUCCESS;
}

bool Context::isRegistered(AddressRange range) {
  std::lock_guard lock(mutex_);
  // Neighbours count as one: they are one range of addresses to the device.
  for (std::uint64_t at = range.base; at < range.end();) {
    auto after = registered_.upper_bound(at);
    if (after == registered_.begin()) return false;
    const auto& [base, bytes] = *std::prev(after);
    if (at - base >= bytes) return false;
    at = base + bytes;
  }
  return true;
}

std::size_t Context::registeredRanges() {
  std::lock_guard lock(mutex_);
  return registered_.size();
}

void Context::onFault(CudaError error, std::string_view message) {
  fail(static_cast<CUresult>(error), std::string(message));
}

void Context::onOutput(std::string_view text, bool toStderr) {
  if (toStderr) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  std::lock_guard lock(mutex_);
  output_ += text;
}

void Context::flushOutput() {
  std::string text;
  {
    std::lock_guard lock(mutex_);
    text.swap(output_);
  }
  if (text.empty()) return;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace rouse::cuda_double
