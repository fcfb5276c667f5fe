// Streams, and what they do besides copies and launches.
#include <atomic>
#include <chrono>
#include <thread>

#include "test/cuda-double/implementations.h"
#include "test/cuda-double/ranges.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double {
namespace {

// Memory that streams wait for and write to belongs to others, too.
std::atomic<std::uint64_t>& counterAt(CUdeviceptr address) {
  static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t));
  return *reinterpret_cast<std::atomic<std::uint64_t>*>(address);
}

bool holds(std::uint64_t now, std::uint64_t value, unsigned condition) {
  switch (condition) {
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
      return ~(now | value) != 0;
    default:
      return static_cast<std::int64_t>(now - value) >= 0;
  }
}

CUresult checkCounter(CUdeviceptr address) {
  if (!isAligned(address, 8))
    return violation(CUDA_ERROR_INVALID_VALUE, "alignment", hex(address) + " is not of 8 bytes");
  Rows rows;
  rows.base = address;
  rows.width = 8;
  return usable(rows, Expect::device, "counter") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

namespace impl {

CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
  if (flags == CU_STREAM_DEFAULT) {
    // It would wait for the legacy stream, which the double does not have: a stream that pretends to would hide a
    // mistake.
    return violation(CUDA_ERROR_NOT_SUPPORTED, "blocking-stream", "CU_STREAM_NON_BLOCKING is not among the flags");
  }
  if (flags != CU_STREAM_NON_BLOCKING) return violation(CUDA_ERROR_INVALID_VALUE, "flags", hex(flags));
  // Drivers take the nearest priority there is; so does the device.
  *phStream = state().streams.add(here()->createStream(priority));
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream hStream) {
  const auto stream = streamOf(hStream);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  state().streams.remove(hStream, "stream");
  stream->context.retire(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream hStream) {
  const auto stream = streamOf(hStream);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!stream->idle()) return CUDA_ERROR_NOT_READY;
  return stream->context.takeError();
}

CUresult cuStreamSynchronize(CUstream hStream) {
  const auto stream = streamOf(hStream);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  stream->drain();
  stream->context.flushOutput();
  return stream->context.takeError();
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
  const auto stream = streamOf(hStream);
  const auto event = state().events.find(hEvent, "event");
  if (stream == nullptr || event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (Flags != 0) return violation(CUDA_ERROR_INVALID_VALUE, "flags", hex(Flags));
  std::shared_ptr<Marker> marker;
  {
    std::lock_guard lock(event->mutex);
    marker = event->latest;
  }
  if (marker == nullptr) return CUDA_SUCCESS;
  stream->push({[&context = stream->context, marker] {
                  context.waitUntil([&] { return marker->reached.load(); });
                  return CUDA_SUCCESS;
                },
                {}});
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags) {
  const auto queue = streamOf(stream);
  if (queue == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (flags > CU_STREAM_WAIT_VALUE_NOR) return violation(CUDA_ERROR_INVALID_VALUE, "flags", hex(flags));
  if (const CUresult result = checkCounter(addr); result != CUDA_SUCCESS) return result;
  queue->push({[&context = queue->context, addr, value, flags] {
                 context.waitUntil([&] { return holds(counterAt(addr).load(), value, flags); });
                 return CUDA_SUCCESS;
               },
               {{addr, 8}}});
  return CUDA_SUCCESS;
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags) {
  const auto queue = streamOf(stream);
  if (queue == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) return violation(CUDA_ERROR_INVALID_VALUE, "flags", hex(flags));
  if (const CUresult result = checkCounter(addr); result != CUDA_SUCCESS) return result;
  queue->push({[raw = queue.get(), addr, value] {
                 raw->releaseRanges();
                 counterAt(addr).store(value);
                 raw->context.progress();
                 return CUDA_SUCCESS;
               },
               {{addr, 8}}});
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  const auto stream = streamOf(hStream);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (fn == nullptr) return violation(CUDA_ERROR_INVALID_VALUE, "null-argument", "fn is null");
  stream->push({[&context = stream->context, fn, userData] {
                  auto done = std::make_shared<std::atomic<bool>>(false);
                  context.flushOutput();
                  context.hostThread.call(fn, userData, done);
                  context.waitUntil([&] { return done->load(); });
                  return CUDA_SUCCESS;
                },
                {}});
  return CUDA_SUCCESS;
}

}  // namespace impl
}  // namespace rouse::cuda_double
