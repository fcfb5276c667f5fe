#include "server/device/cuda/lanes.h"


#include <algorithm>

#include "schemas/wire/slot_wait.h"
#include "server/device/cuda/clock.h"
#include "server/device/cuda/fingerprint_kernel.h"
#include "server/device/cuda/watcher.h"

namespace rouse::cuda {
namespace {

constexpr std::uint64_t kCounterPage = 4096, kCounterStride = 64;  // a cache line each

}  // namespace

void Lanes::end() {
  gpu->makeCurrent();
  if (!gpu->lost()) fetchText();
  forgetText();
  gpu->localMemory.forget(*this);
  textures.reset();
  pending_.clear();
  active_.clear();
  const Driver& driver = gpu->driver();
  for (const auto& lane : lanes_) {
    lane->dropHeld(CudaError::devicesUnavailable);
    lane->awaitCall();
    if (lane->stream() != nullptr) driver.cuStreamDestroy(lane->stream());
    lane->finish();
  }
  lanes_.clear();
  setup_.reset();
  for (const CUevent event : events_) driver.cuEventDestroy(event);
  events_.clear();
  ended_ = true;
  bounce.reset();
  fingerprints.reset();
  counterPages_.clear();
  hostWindow.reset();
  deviceWindow.reset();
}

void Lanes::giveEvent(CUevent event) {
  if (!ended_) return events_.push_back(event);
  gpu->makeCurrent();
  gpu->driver().cuEventDestroy(event);
}

Result<std::shared_ptr<Lane>> Lanes::add(int priority) {
  gpu->makeCurrent();
  CUstream stream = nullptr;
  Status status = gpu->status(gpu->driver().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, priority),
                              "cuStreamCreateWithPriority");
  if (!status) return status.error();
  std::uint64_t* counter = takeCounter();
  if (counter == nullptr) {
    gpu->driver().cuStreamDestroy(stream);
    return Error{CudaError::memoryAllocation, "no pinned memory for another stream"};
  }
  *counter = 0;
  lanes_.push_back(std::make_shared<Lane>(*this, stream, counter));
  return lanes_.back();
}

void Lanes::destroy(Lane& lane) {
  if (ended_) return;
  gpu->makeCurrent();
  lane.destroyed = true;
  lane.mark();
  reap();
}

// Streams that their owner has given up and that have done everything.
void Lanes::reap() {
  std::erase_if(lanes_, [this](const std::shared_ptr<Lane>& lane) {
    if (!lane->destroyed || lane->signals != 0 || lane->isActive || !lane->idle()) return false;
    gpu->good(gpu->driver().cuStreamDestroy(lane->stream()), "cuStreamDestroy", nullptr);
    counters_.push_back(lane->counter());
    lane->finish();
    return true;
  });
}

std::uint64_t* Lanes::takeCounter() {
  if (counters_.empty()) {
    auto page = PinnedMemory::create(gpu, kCounterPage, "counters of streams");
    if (!page) {
      report(page.error());
      return nullptr;
    }
    for (std::uint64_t at = 0; at < kCounterPage; at += kCounterStride)
      counters_.push_back(reinterpret_cast<std::uint64_t*>((*page)->data() + at));
    counterPages_.push_back(std::move(*page));
  }
  std::uint64_t* counter = counters_.back();
  counters_.pop_back();
  return counter;
}

CUevent Lanes::takeEvent() {
  if (!events_.empty()) {
    const CUevent event = events_.back();
    events_.pop_back();
    return event;
  }
  CUevent event = nullptr;
  gpu->good(gpu->driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate", this);
  return event;
}

void Lanes::active(Lane& lane) {
  if (lane.isActive) return;
  lane.isActive = true;
  active_.push_back(lane.shared_from_this());
}

void Lanes::watch() { watcher_.wake(); }

// --- Memory

bool Lanes::settleMemory() {
  if (!setup_) {
    auto lane = add(0);
    if (!lane) {
      report(lane.error());
      return false;
    }
    setup_ = *lane;
  }
  const std::uint64_t before = setup_->submitted();
  const Status status = deviceWindow->settle([this](AddressRange range) -> Status {
    setup_->push(FillOperation{FillPieces({.destination = range.base, .width = range.bytes}, maxPitch,
                                          [](std::uint64_t, std::uint64_t) { return true; })});
    return {};
  });
  if (setup_->submitted() != before) {
    setup_->mark();
    setupSequence_ = setup_->submitted();
  }
  if (!status) report(status.error());
  return status.ok();
}

// --- Signals

void Lanes::deliverSlot(wire::Slot& slot, std::uint64_t value, bool timestamp, CudaError result) {
  wire::signal(slot, value, result, timestamp ? steadyNs() : 0);
}

void Lanes::signalled(Lane& lane, std::uint64_t sequence, wire::Slot& slot, std::uint64_t value, bool timestamp) {
  ++lane.signals;
  pending_.push_back({lane.shared_from_this(), sequence, &slot, value, timestamp, false});
}

Lanes::Promise Lanes::promised(const wire::Slot& slot, std::uint64_t value) const {
  for (const Pending& pending : pending_)
    if (pending.slot == &slot && pending.value >= value) return {pending.lane.get(), pending.sequence};
  return {};
}

// What caused a signal was given to the driver before it, so it is looked at after it (newest first: once a signal is
// seen to be reached, so are its causes), and delivered before it (oldest first). What was printed before it is there
// before it.
void Lanes::deliver() {
  bool any = false;
  for (auto pending = pending_.rbegin(); pending != pending_.rend(); ++pending) {
    pending->reached = pending->lane->completed() >= pending->sequence;
    any = any || pending->reached;
  }
  fetchText();
  if (!any) return;
  std::erase_if(pending_, [this](const Pending& pending) {
    if (!pending.reached) return false;
    --pending.lane->signals;
    deliverSlot(*pending.slot, pending.value, pending.timestamp, dead_);
    return true;
  });
}

// --- Text

void Lanes::fetchText() {
  if (!gpu->text.isOn(*this)) return;
  bool any = false, more = false;
  for (const auto& lane : lanes_) {
    any = lane->flushText() || any;
    more = more || lane->printing();
  }
  if (any) gpu->text.fetch(*this);
  if (!more) gpu->text.finish(*this);
}

void Lanes::forgetText() {
  for (const auto& lane : lanes_) lane->forgetText();
  gpu->text.forget(*this);
}

// --- Progress

void Lanes::pump() {
  if (!retry_ || pumping_) return;
  pumping_ = true;
  while (retry_) {
    retry_ = false;
    for (std::size_t i = 0; i < active_.size(); ++i)
      if (active_[i]->holds()) active_[i]->drain();
  }
  pumping_ = false;
}

bool Lanes::look() {
  if (active_.empty()) return false;
  if (gpu->lost()) {
    active_.clear();
    return false;
  }
  gpu->makeCurrent();
  bool progress = false, held = false;
  for (const auto& lane : active_) {
    progress = lane->look() || progress;
    held = held || lane->holds();
  }
  fetchText();
  if (!pending_.empty()) {
    const std::size_t before = pending_.size();
    deliver();
    progress = progress || pending_.size() != before;
  }
  bool moved = false;
  if (held) {
    for (std::size_t i = 0; i < active_.size(); ++i)
      if (active_[i]->holds()) moved = active_[i]->drain() || moved;
    retry_ = moved;
    pump();
  }
  bool gone = false;
  std::erase_if(active_, [&](const std::shared_ptr<Lane>& lane) {
    if (lane->outstanding() || lane->holds() || lane->printing() || lane->signals != 0) return false;
    lane->isActive = false;
    gone = gone || lane->destroyed;
    return true;
  });
  if (gone) reap();
  if (progress || moved) observer_.onProgress();
  return progress || moved;
}

bool Lanes::watched() const {
  return std::any_of(active_.begin(), active_.end(), [](const auto& lane) { return lane->watched(); });
}

bool Lanes::waitsForSlots() const {
  return std::any_of(active_.begin(), active_.end(), [](const auto& lane) { return lane->waitsForSlot(); });
}

bool Lanes::idle() {
  if (gpu->lost()) return true;
  bool idle = true;
  for (const auto& lane : active_) idle = lane->idle() && idle;
  // Whoever sees that all is done must also find it signalled.
  if (idle && !pending_.empty()) deliver();
  return idle;
}

bool Lanes::quiet() {
  bool quiet = true;
  for (std::size_t i = 0; i < active_.size(); ++i) quiet = active_[i]->quiet() && quiet;
  return quiet;
}

CUstream Lanes::anyBusyStream() const {
  for (const auto& lane : active_)
    if (lane->submitted() != lane->completed()) return lane->stream();
  return nullptr;
}

// --- Ends

void Lanes::die(const Error& error) {
  forgetText();
  gpu->localMemory.forget(*this);
  if (dead_ == CudaError::success) {
    std::string kernels;
    for (const auto& lane : active_) {
      const std::string names = lane->kernelsUnderWay();
      if (!names.empty()) kernels += (kernels.empty() ? "" : ", ") + names;
    }
    std::string message = error.message;
    if (!kernels.empty()) message += "; kernels of this function under way: " + kernels;
    message += "; an error of this kind ends the work of all functions on " + gpu->name();
    observer_.onFault(error.code, message);
  }
  dead_ = error.code;
  for (const Pending& pending : pending_) {
    --pending.lane->signals;
    deliverSlot(*pending.slot, pending.value, pending.timestamp, dead_);
  }
  pending_.clear();
  for (const auto& lane : lanes_) lane->dropHeld(dead_);
  observer_.onProgress();
}

void Lanes::cancel() {
  if (dead_ != CudaError::success) return;
  dead_ = CudaError::devicesUnavailable;
  for (const auto& lane : lanes_) lane->dropHeld(dead_);
  gpu->text.forgetWait(*this);
  gpu->localMemory.forget(*this);
  observer_.onProgress();
}

}  // namespace rouse::cuda
