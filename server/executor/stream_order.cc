#include "server/executor/stream_order.h"

#include <algorithm>
#include <cassert>

namespace rouse::executor {
namespace {

using Kind = StreamOrder::Action::Kind;

void erase(std::vector<StreamOrder::StreamId>& list, StreamOrder::StreamId stream) {
  list.erase(std::remove(list.begin(), list.end(), stream), list.end());
}

}  // namespace

StreamOrder::StreamOrder() : streams_(kFirstOther) { streams_[kLegacy].live = true; }

StreamOrder::StreamId StreamOrder::add(bool nonBlocking, Actions& actions) {
  StreamId stream = static_cast<StreamId>(streams_.size());
  if (free_.empty()) {
    streams_.emplace_back();
  } else {
    stream = free_.back();
    free_.pop_back();
  }
  streams_[stream] = State{};
  streams_[stream].live = true;
  streams_[stream].nonBlocking = nonBlocking;
  ++live_;
  if (!fenceRecorded_) {
    actions.push_back({Kind::record, fenceStream_, kFenceEvent});
    fenceRecorded_ = true;
  }
  return stream;
}

void StreamOrder::remove(StreamId stream) {
  assert(stream >= kFirstOther && streams_[stream].live);
  erase(unseenByLegacy_, stream);
  erase(unfenced_, stream);
  if (fenceStream_ == stream) {
    fenceStream_ = kNone;
    fenceRecorded_ = true;
  }
  streams_[stream] = State{};
  free_.push_back(stream);
  --live_;
}

void StreamOrder::order(StreamId stream, Actions& actions) {
  if (stream == kLegacy) return orderLegacy(actions);
  State& state = streams_[stream];
  const std::uint64_t seenWithFence =
      state.fenceSeen == fence_ ? state.legacySeen : std::max(state.legacySeen, fenceLegacyPoint_);
  if (!state.nonBlocking && seenWithFence < legacyPoint_) {
    // The legacy stream's work came after the fence and waited for it, so waiting for that work is enough.
    if (!legacyPointSeen_) {
      actions.push_back({Kind::record, kLegacy, kLegacy});
      legacyPointSeen_ = true;
      streams_[kLegacy].settled = false;
    }
    actions.push_back({Kind::wait, stream, kLegacy});
    state.fenceSeen = fence_;
  } else {
    waitForFence(stream, actions);
  }
  state.legacySeen = legacyPoint_;
  if (!state.nonBlocking && !state.unseenByLegacy) {
    state.unseenByLegacy = true;
    unseenByLegacy_.push_back(stream);
    streams_[kLegacy].settled = false;
  }
  if (!state.unfenced) {
    state.unfenced = true;
    unfenced_.push_back(stream);
  }
  state.settled = true;
}

void StreamOrder::orderLegacy(Actions& actions) {
  State& state = streams_[kLegacy];
  if (unseenByLegacy_.empty()) {
    waitForFence(kLegacy, actions);
  } else {
    // Their work came after the fence and waited for it.
    state.fenceSeen = fence_;
    for (const StreamId other : unseenByLegacy_) {
      actions.push_back({Kind::record, other, other});
      actions.push_back({Kind::wait, kLegacy, other});
      streams_[other].unseenByLegacy = false;
      streams_[other].settled = false;
    }
    unseenByLegacy_.clear();
  }
  if (legacyPointSeen_) {
    ++legacyPoint_;
    legacyPointSeen_ = false;
  }
  state.legacySeen = legacyPoint_;
  if (!state.unfenced) {
    state.unfenced = true;
    unfenced_.push_back(kLegacy);
  }
  state.settled = true;
}

void StreamOrder::waitForFence(StreamId stream, Actions& actions) {
  State& state = streams_[stream];
  if (state.fenceSeen == fence_) return;
  state.fenceSeen = fence_;
  if (fenceStream_ == kNone) return;
  if (!fenceRecorded_) {
    actions.push_back({Kind::record, fenceStream_, kFenceEvent});
    fenceRecorded_ = true;
  }
  actions.push_back({Kind::wait, stream, kFenceEvent});
}

bool StreamOrder::alone(StreamId stream) const {
  return stream == kLegacy ? live_ == 1 : live_ == 2 && legacyPoint_ == 0;
}

void StreamOrder::fence(Actions& actions) {
  if (unfenced_.empty()) return;

  // The ends that cover all others: what the legacy stream has waited for it covers, and what has waited for its last
  // work covers it.
  const auto coversLegacy = [&](StreamId stream) {
    const State& state = streams_[stream];
    return state.unseenByLegacy && state.legacySeen == legacyPoint_;
  };
  const bool legacyCovered = std::any_of(unfenced_.begin(), unfenced_.end(), coversLegacy);
  std::vector<StreamId> ends;
  for (const StreamId stream : unfenced_) {
    State& state = streams_[stream];
    if (stream == kLegacy ? !legacyCovered : state.nonBlocking || state.unseenByLegacy) ends.push_back(stream);
    state.unfenced = state.settled = false;
  }
  for (const StreamId stream : unseenByLegacy_) streams_[stream].unseenByLegacy = false;
  unfenced_.clear();
  unseenByLegacy_.clear();

  ++fence_;
  fenceLegacyPoint_ = legacyPoint_;
  legacyPointSeen_ = true;
  streams_[kLegacy].settled = false;
  if (ends.size() == 1) {
    fenceStream_ = ends.front();
    streams_[fenceStream_].fenceSeen = fence_;
    fenceRecorded_ = !alone(fenceStream_);
  } else {
    for (const StreamId stream : ends) {
      actions.push_back({Kind::record, stream, stream});
      actions.push_back({Kind::wait, kJunction, stream});
    }
    fenceStream_ = kJunction;
    fenceRecorded_ = true;
  }
  if (fenceRecorded_) actions.push_back({Kind::record, fenceStream_, kFenceEvent});
}

}  // namespace rouse::executor
