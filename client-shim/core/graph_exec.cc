#include "client-shim/core/graph_exec.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "client-shim/core/callback_thread.h"
#include "client-shim/core/command_queue.h"
#include "client-shim/core/device.h"
#include "client-shim/core/event.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session.h"
#include "client-shim/core/session_handles.h"
#include "client-shim/core/stream.h"
#include "schemas/wire/encode.h"
#include "schemas/wire/slot_wait.h"

namespace rouse::client {
namespace {

// Branches beyond this many share lanes.
constexpr std::uint32_t kLanes = 8;
constexpr std::size_t kPieceBytes = 32 << 10;
static_assert(kLanes <= wire::kMaxGraphLanes && kPieceBytes <= wire::GraphDefine::kMaxPayloadBytes);

std::size_t padded(std::size_t bytes) { return (bytes + wire::kCommandAlign - 1) / wire::kCommandAlign * wire::kCommandAlign; }

// One definition, node by node.
class Writer {
 public:
  template <class Command>
  std::uint32_t node(std::uint32_t lane, std::span<const std::uint32_t> waits, const Command& command) {
    std::byte bytes[sizeof(Command)];
    (void)wire::encode(bytes, command);
    return node(lane, waits, std::span<const std::byte>(bytes));
  }
  std::uint32_t node(std::uint32_t lane, std::span<const std::uint32_t> waits, std::span<const std::byte> command) {
    at_.push_back(bytes_.size());
    append(wire::GraphNode{lane, static_cast<std::uint32_t>(waits.size()), static_cast<std::uint32_t>(command.size()), 0});
    append(std::as_bytes(waits));
    append(command);
    return static_cast<std::uint32_t>(at_.size() - 1);
  }
  void await(std::uint32_t node) {
    constexpr std::uint32_t flags = wire::kGraphNodeAwaited;
    std::memcpy(bytes_.data() + at_[node] + offsetof(wire::GraphNode, flags), &flags, sizeof flags);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void append(const wire::GraphNode& header) { append(std::as_bytes(std::span(&header, 1))); }
  void append(std::span<const std::byte> part) {
    bytes_.insert(bytes_.end(), part.begin(), part.end());
    bytes_.resize(padded(bytes_.size()));
  }
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> at_;
};

// Which lane an operation goes on: that of one it comes after, if it is the first to follow it there; else a free one.
class Lanes {
 public:
  static constexpr std::uint32_t kNone = ~0u;

  std::uint32_t place(std::uint32_t operation, const std::vector<std::uint32_t>& after) {
    for (const std::uint32_t before : after)
      if (tails_[lane_[before]] == before) return put(operation, lane_[before]);
    if (used_ < kLanes) return put(operation, used_++);
    // The lane whose last operation is the oldest is the likeliest to be done.
    return put(operation, static_cast<std::uint32_t>(std::min_element(tails_.begin(), tails_.end()) - tails_.begin()));
  }
  // Those of `after` that the lane does not come behind anyhow.
  std::vector<std::uint32_t> waits(std::uint32_t lane, const std::vector<std::uint32_t>& after) {
    std::array<std::uint32_t, kLanes> latest;
    latest.fill(kNone);
    for (const std::uint32_t before : after) {
      const std::uint32_t from = lane_[before];
      if (from != lane && (latest[from] == kNone || before > latest[from])) latest[from] = before;
    }
    std::vector<std::uint32_t> waits;
    for (std::uint32_t from = 0; from < kLanes; ++from) {
      if (latest[from] == kNone) continue;
      auto& seen = seen_[lane][from];
      if (seen != kNone && seen >= latest[from]) continue;
      seen = latest[from];
      waits.push_back(latest[from]);
    }
    return waits;
  }
  std::uint32_t used() const { return used_; }
  Lanes() {
    tails_.fill(0);
    for (auto& row : seen_) row.fill(kNone);
  }

 private:
  std::uint32_t put(std::uint32_t operation, std::uint32_t lane) {
    lane_.push_back(lane);
    tails_[lane] = operation;
    return lane;
  }
  std::vector<std::uint32_t> lane_;
  std::array<std::uint32_t, kLanes> tails_;
  std::array<std::array<std::uint32_t, kLanes>, kLanes> seen_;
  std::uint32_t used_ = 0;
};

struct PendingCall {
  std::shared_ptr<GraphCall> call;
};

void run(void* data, CudaError status) {
  const std::unique_ptr<PendingCall> pending(static_cast<PendingCall*>(data));
  (*pending->call)(status);
}

}  // namespace

GraphExec::GraphExec(Device& device)
    : device_(device), id_(device.session().handles().nextId()), incarnation_(device.incarnation()) {}

GraphExec::~GraphExec() {
  const std::lock_guard lock(mutex_);
  if (device_.incarnation() != incarnation_) return;  // the reset has ended the graph, and its slots with it
  if (everSent_) device_.queue().put(wire::GraphDestroy{.graph = id_});
  SlotAllocator& slots = device_.session().slots();
  for (const Lane& lane : lanes_) {
    if (lane.reached.slot == 0) continue;
    slots.give({lane.reached.slot, lane.reached.value});
    slots.give({lane.returned.slot, lane.returned.value});
  }
  if (satisfied_.slot != 0) slots.give({satisfied_.slot, satisfied_.value});
}

CudaError GraphExec::define(std::vector<GraphOperation> operations) {
  Writer writer;
  Lanes lanes;
  std::vector<SlotUse> uses;
  std::vector<std::shared_ptr<GraphCall>> calls;
  std::vector<std::uint32_t> nodes;  // by operation: its last node
  for (std::uint32_t number = 0; number < operations.size(); ++number) {
    const GraphOperation& operation = operations[number];
    const std::uint32_t lane = lanes.place(number, operation.after);
    std::vector<std::uint32_t> waits;
    for (const std::uint32_t before : lanes.waits(lane, operation.after)) {
      writer.await(nodes[before]);
      waits.push_back(nodes[before]);
    }
    if (operation.call) {
      writer.node(lane, waits, wire::SlotSignal{.value = 1});
      nodes.push_back(writer.node(lane, {}, wire::SlotWait{.value = 1}));
      const auto call = static_cast<std::uint32_t>(calls.size());
      uses.push_back({SlotUse::Kind::reached, lane, call});
      uses.push_back({SlotUse::Kind::returned, lane, call});
      calls.push_back(operation.call);
    } else if (operation.use == GraphOperation::EventUse::record) {
      // With the time, whether or not the event that it will be has any use for it.
      nodes.push_back(writer.node(lane, waits, wire::SlotSignal{.value = 1, .flags = 1}));
      uses.push_back({SlotUse::Kind::record, lane, 0, operation.event});
    } else if (operation.use == GraphOperation::EventUse::wait) {
      nodes.push_back(writer.node(lane, waits, wire::SlotWait{.value = 1}));
      uses.push_back({SlotUse::Kind::wait, lane, 0, operation.event});
    } else {
      nodes.push_back(writer.node(lane, waits, std::span<const std::byte>(operation.command)));
    }
  }
  if (operations.empty()) writer.node(0, {}, std::span<const std::byte>());
  std::vector<std::byte> definition = writer.take();
  if (definition.size() > wire::kMaxGraphBytes || uses.size() > wire::kMaxGraphSlots) {
    log(LogLevel::error, "a graph of %zu bytes with %zu host functions, event nodes and pageable copies: the limits are %llu and %zu",
        definition.size(), uses.size(), static_cast<unsigned long long>(wire::kMaxGraphBytes), wire::kMaxGraphSlots);
    return CudaError::memoryAllocation;
  }

  const std::lock_guard lock(mutex_);
  if (sent_ && definition == definition_) {
    uses_ = std::move(uses);
    calls_ = std::move(calls);
    return CudaError::success;
  }
  definition_ = std::move(definition);
  uses_ = std::move(uses);
  calls_ = std::move(calls);
  if (lanes_.size() < lanes.used()) lanes_.resize(lanes.used());
  sent_ = false;
  return CudaError::success;
}

CudaError GraphExec::send() {
  if (sent_) return CudaError::success;
  if (device_.incarnation() != incarnation_) return CudaError::invalidValue;
  CommandQueue::Batch batch(device_.queue());
  for (std::size_t at = 0; at < definition_.size(); at += kPieceBytes) {
    const std::span<const std::byte> piece(definition_.data() + at, std::min(kPieceBytes, definition_.size() - at));
    if (!batch.put(wire::GraphDefine{.graph = id_, .offset = at, .bytes = definition_.size()}, piece)) return CudaError::devicesUnavailable;
  }
  sent_ = everSent_ = true;
  return CudaError::success;
}

CudaError GraphExec::upload() {
  const std::lock_guard lock(mutex_);
  return send();
}

// An event that is not recorded, or is gone, is waited for no longer than one that has been reached.
Mark GraphExec::satisfied() {
  if (satisfied_.slot != 0) return satisfied_;
  Session& session = device_.session();
  const auto lease = session.slots().take();
  if (!lease) return {};
  satisfied_ = {lease->index, lease->value + 1};
  wire::signal(session.slot(satisfied_.slot), satisfied_.value);
  return satisfied_;
}

CudaError GraphExec::lanesReady() {
  Session& session = device_.session();
  for (const SlotUse& use : uses_) {
    if (use.kind != SlotUse::Kind::reached) continue;
    Lane& lane = lanes_[use.lane];
    if (lane.reached.slot != 0) continue;
    const auto reached = session.slots().take();
    const auto returned = session.slots().take();
    if (!reached || !returned) return CudaError::memoryAllocation;
    lane.queue = session.handles().nextId();
    lane.reached = {reached->index, reached->value};
    lane.returned = {returned->index, returned->value};
  }
  return CudaError::success;
}

CudaError GraphExec::launch(Stream& stream) {
  if (&stream.device() != &device_ || device_.incarnation() != incarnation_) return CudaError::invalidValue;
  if (const CudaError error = device_.asyncError(); error != CudaError::success) return error;
  const std::lock_guard lock(mutex_);
  if (const CudaError error = send(); error != CudaError::success) return error;
  Session& session = device_.session();
  CallbackThread& callbacks = session.callbacks();
  if (!calls_.empty() && !callbacks.start()) return CudaError::memoryAllocation;
  if (const CudaError error = lanesReady(); error != CudaError::success) return error;

  // All events it names, in one order for everybody, so that what it records is in the ring before anybody waits for it.
  std::vector<Event*> events;
  for (const SlotUse& use : uses_)
    if (use.event != 0)
      if (Event* event = session.handles().events.find(use.event)) events.push_back(event);
  std::sort(events.begin(), events.end());
  events.erase(std::unique(events.begin(), events.end()), events.end());
  // Its records are not in one slot, nor only this process's.
  if (std::ranges::any_of(events, [](const Event* event) { return event->shared(); })) return CudaError::notSupported;
  std::vector<std::unique_lock<std::mutex>> held;
  for (Event* event : events) held.emplace_back(event->mutex_);

  words_.clear();
  struct Pending {
    std::uint32_t lane;
    Mark reached, returned;
    std::uint32_t call;
  };
  std::vector<Pending> pending;
  for (const SlotUse& use : uses_) {
    Mark mark;
    Event* event = use.event != 0 ? session.handles().events.find(use.event) : nullptr;
    switch (use.kind) {
      case SlotUse::Kind::reached:
        ++lanes_[use.lane].reached.value;
        mark = lanes_[use.lane].reached;
        break;
      case SlotUse::Kind::returned:
        ++lanes_[use.lane].returned.value;
        mark = lanes_[use.lane].returned;
        pending.push_back({use.lane, lanes_[use.lane].reached, mark, use.call});
        break;
      case SlotUse::Kind::record: {
        // Always a slot of its own: whose turn it is among streams is not known here.
        const auto lease = session.slots().take();
        if (!lease) return CudaError::memoryAllocation;
        mark = {lease->index, lease->value + 1};
        if (event == nullptr || event->device_ != &device_) {
          session.slots().give({mark.slot, mark.value});
          break;
        }
        if (event->mark_.slot != 0) session.slots().give({event->mark_.slot, event->mark_.value});
        event->mark_ = mark;
        event->recorded_ = true;
        event->streamId_ = 0;
        break;
      }
      case SlotUse::Kind::wait:
        mark = event != nullptr && event->recorded_ ? event->mark_ : satisfied();
        if (mark.slot == 0) return CudaError::memoryAllocation;
        break;
    }
    words_.push_back(mark.slot);
    words_.push_back(mark.value);
  }
  {
    CommandQueue::Batch batch(device_.queue());
    if (!batch.put(stream, wire::GraphLaunch{.graph = id_}, std::span<const std::uint64_t>(words_))) return device_.peekError();
    for (const Pending& call : pending)
      callbacks.submit({.deviceIndex = device_.index(),
                        .streamId = lanes_[call.lane].queue,
                        .reached = call.reached,
                        .returned = call.returned,
                        .function = run,
                        .data = new PendingCall{calls_[call.call]},
                        .evenAfterError = true});
    if (!pending.empty()) batch.flush();
  }
  if (!pending.empty()) callbacks.notify();
  return CudaError::success;
}

}  // namespace rouse::client
