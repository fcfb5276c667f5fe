// Events.
#include <chrono>

#include "test/cuda-double/implementations.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double::impl {
namespace {

std::shared_ptr<Event> eventOf(CUevent handle) { return state().events.find(handle, "event"); }

std::shared_ptr<Marker> latestOf(Event& event) {
  std::lock_guard lock(event.mutex);
  return event.latest;
}

}  // namespace

CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) {
  constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
  if ((Flags & CU_EVENT_INTERPROCESS) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if ((Flags & ~kKnown) != 0) return violation(CUDA_ERROR_INVALID_VALUE, "flags", hex(Flags));
  auto event = std::make_shared<Event>();
  event->context = here().get();
  event->flags = Flags;
  *phEvent = state().events.add(std::move(event));
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  const auto event = eventOf(hEvent);
  const auto stream = streamOf(hStream);
  if (event == nullptr || stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->context != &stream->context) {
    return violation(CUDA_ERROR_INVALID_HANDLE, "other-context", "event and stream are of different contexts");
  }
  auto marker = std::make_shared<Marker>();
  {
    std::lock_guard lock(event->mutex);
    event->latest = marker;
  }
  stream->push({[&context = stream->context, marker] {
                  marker->nanoseconds = std::chrono::steady_clock::now().time_since_epoch().count();
                  marker->reached = true;
                  context.progress();
                  return CUDA_SUCCESS;
                },
                {}});
  return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent hEvent) {
  const auto event = eventOf(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto marker = latestOf(*event);
  return marker == nullptr || marker->reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent hEvent) {
  const auto event = eventOf(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const auto marker = latestOf(*event)) {
    event->context->waitUntil([&] { return marker->reached.load(); });
  }
  event->context->flushOutput();
  return event->context->takeError();
}

CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  const auto start = eventOf(hStart), end = eventOf(hEnd);
  if (start == nullptr || end == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
    return violation(CUDA_ERROR_INVALID_HANDLE, "untimed-event", "made with CU_EVENT_DISABLE_TIMING");
  }
  const auto from = latestOf(*start), to = latestOf(*end);
  if (from == nullptr || to == nullptr) {
    return violation(CUDA_ERROR_INVALID_HANDLE, "unrecorded-event", "never recorded");
  }
  if (!from->reached || !to->reached) return CUDA_ERROR_NOT_READY;
  *pMilliseconds = static_cast<float>(static_cast<double>(to->nanoseconds - from->nanoseconds) / 1e6);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent hEvent) {
  return state().events.remove(hEvent, "event") != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace rouse::cuda_double::impl
