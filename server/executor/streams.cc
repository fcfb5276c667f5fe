#include "server/executor/streams.h"

#include <algorithm>

namespace rouse::executor {

Streams::Streams(memory::Context& context) : context_(context) {
  handles_.insert(wire::kLegacyStream, StreamOrder::kLegacy);
  lane(StreamOrder::kLegacy);
}

Streams::~Streams() = default;

StreamOrder::StreamId Streams::add(bool nonBlocking, int priority) {
  const StreamOrder::StreamId id = order_.add(nonBlocking, actions_);
  perform();
  if (id >= lanes_.size()) lanes_.resize(id + 1);
  lanes_[id].stream = context_.createStream(priority);
  lanes_[id].nonBlocking = nonBlocking;
  lanes_[id].priority = priority;
  return id;
}

void Streams::create(wire::Handle handle, bool nonBlocking, int priority) {
  handles_.insert(handle, add(nonBlocking, priority));
}

std::vector<channel::SessionRecipe::Stream> Streams::recipe() const {
  std::vector<channel::SessionRecipe::Stream> recipe;
  handles_.forEach([&](std::uint32_t generation, const StreamOrder::StreamId* id) {
    auto& stream = recipe.emplace_back();
    stream.generation = generation;
    stream.live = id != nullptr;
    if (id == nullptr) return;
    stream.nonBlocking = lanes_[*id].nonBlocking;
    stream.priority = lanes_[*id].priority;
  });
  return recipe;
}

void Streams::restore(std::span<const channel::SessionRecipe::Stream> recipe) {
  for (const auto& stream : recipe.subspan(1)) {  // the legacy one is there
    std::optional<StreamOrder::StreamId> id;
    if (stream.live) id = add(stream.nonBlocking, stream.priority);
    handles_.append(stream.generation, id);
  }
}

void Streams::destroy(wire::Handle handle) {
  draining_.push_back(handles_.take(handle));
  collect();
}

void Streams::fence() {
  order_.fence(actions_);
  perform();
}

bool Streams::collect() {
  const auto done = std::remove_if(draining_.begin(), draining_.end(), [this](StreamOrder::StreamId id) {
    if (!lanes_[id].stream->idle()) return false;
    order_.remove(id);
    lanes_[id] = Lane{};
    return true;
  });
  const bool any = done != draining_.end();
  draining_.erase(done, draining_.end());
  return any;
}

bool Streams::queuedAbove(std::uint64_t bytes) {
  if (queuedBytes_ <= bytes) return false;
  queuedBytes_ = 0;
  for (Lane& lane : lanes_) {
    if (!lane.stream) continue;
    const std::uint64_t done = lane.done ? lane.done->value.load(std::memory_order_acquire) : 0;
    // Idle streams have run everything, also what came after their last mark.
    if (lane.submitted != done && !lane.stream->idle()) queuedBytes_ += lane.submitted - done;
  }
  return queuedBytes_ > bytes;
}

Streams::Lane& Streams::lane(StreamOrder::StreamId id) {
  if (id >= lanes_.size()) lanes_.resize(id + 1);
  Lane& lane = lanes_[id];
  if (!lane.stream) lane.stream = context_.createStream(0);
  return lane;
}

memory::Event& Streams::event(StreamOrder::EventId id) {
  std::unique_ptr<memory::Event>& event = id == StreamOrder::kFenceEvent ? fenceEvent_ : lane(id).event;
  if (!event) event = context_.createEvent();
  return *event;
}

memory::Stream& Streams::charge(Lane& lane, std::size_t payloadBytes) {
  if (lane.submitted - lane.marked >= kMarkBytes) {
    if (!lane.done) lane.done = std::make_unique<wire::Slot>();
    context_.signal(*lane.stream, *lane.done, lane.submitted, false);
    lane.marked = lane.submitted;
  }
  lane.submitted += kOperationBytes + payloadBytes;
  queuedBytes_ += kOperationBytes + payloadBytes;
  return *lane.stream;
}

void Streams::perform() {
  for (const StreamOrder::Action& action : actions_) {
    memory::Stream& stream = charge(lane(action.stream), 0);
    if (action.kind == StreamOrder::Action::Kind::record)
      context_.record(stream, event(action.event));
    else
      context_.wait(stream, event(action.event));
  }
  actions_.clear();
}

}  // namespace rouse::executor
