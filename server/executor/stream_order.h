// Which streams must wait for which, for the order that CUDA promises between the streams of one context: the legacy
// default stream's implicit ordering (CUDA Runtime API, "Stream synchronization behavior": work on it waits for all
// earlier work on blocking streams, and later work on blocking streams waits for it; non-blocking streams take no
// part), and Fence (everything later, on any stream, behind everything earlier, on any stream).
//
// Pure: it is told what is submitted and answers with events to record and to wait for. A wait refers to the event's
// latest record before it. Ordering within one stream is the stream's own. Streams are numbered here by small dense
// ids; 0 is the legacy stream. A session that uses one stream gets no actions at all.
//
// An event is recorded when the point it marks is reached, never later: a record made later would also cover younger
// work, and waiting for that could wait for oneself. The one exception is a stream that begins its life (added, or the
// legacy one used for the first time) after a fence over a single other stream: it waits for that stream as of then.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rouse::executor {

class StreamOrder {
 public:
  using StreamId = std::uint32_t;
  static constexpr StreamId kLegacy = 0;
  // A stream of the executor's own, which no program sees: where the points of several streams meet.
  static constexpr StreamId kJunction = 1;
  static constexpr StreamId kFirstOther = 2;

  // Each stream has one event of its own with its id; this one more is the fence's.
  using EventId = std::uint32_t;
  static constexpr EventId kFenceEvent = ~EventId{0};

  struct Action {
    enum class Kind : std::uint8_t { record, wait } kind;
    StreamId stream;
    EventId event;
    bool operator==(const Action&) const = default;
  };
  using Actions = std::vector<Action>;

  StreamOrder();

  // A new stream; ids of removed ones are used again. Appends what must be done first.
  StreamId add(bool nonBlocking, Actions& actions);
  // The stream has completed all its work and will get no more.
  void remove(StreamId stream);

  // An operation is about to be submitted to the stream. Appends what must be done before; mostly nothing.
  void beforeWork(StreamId stream, Actions& actions) {
    const State& state = streams_[stream];
    if (state.settled && state.legacySeen == legacyPoint_ && state.fenceSeen == fence_) return;
    order(stream, actions);
  }

  // Fence: all that was submitted so far, on every stream, comes before all that is submitted from now on.
  void fence(Actions& actions);

  // Streams that exist, the legacy one included.
  std::size_t size() const { return live_; }

 private:
  struct State {
    std::uint64_t legacySeen = 0;  // legacyPoint_ as of the last wait for the legacy stream
    std::uint64_t fenceSeen = 0;   // fence_ as of the last wait for the fence
    bool live = false;
    bool nonBlocking = false;
    bool unseenByLegacy = false;  // blocking, with work that the legacy stream has not waited for
    bool unfenced = false;        // with work since the last fence
    // Work changes nothing above, unless legacyPoint_ or fence_ has moved on.
    bool settled = false;
  };
  static constexpr StreamId kNone = ~StreamId{0};

  void order(StreamId stream, Actions& actions);
  void orderLegacy(Actions& actions);
  void waitForFence(StreamId stream, Actions& actions);
  bool alone(StreamId stream) const;

  std::vector<State> streams_;
  std::vector<StreamId> free_;
  std::size_t live_ = 1;

  // Lists of those with the flag of the same name. A fence empties both: all streams will wait for it.
  std::vector<StreamId> unseenByLegacy_;
  std::vector<StreamId> unfenced_;

  // Numbers the ends of the legacy stream that others can have waited for; 0: it has had no work.
  std::uint64_t legacyPoint_ = 0;
  bool legacyPointSeen_ =
      true;  // somebody has waited for legacyPoint_ (or will, through the fence): its event is recorded

  std::uint64_t fence_ = 0;
  std::uint64_t fenceLegacyPoint_ = 0;  // legacyPoint_ when the fence came: whoever waits for the fence has seen it
  StreamId fenceStream_ = kNone;        // whose event the fence is; kNone: it is over
  bool fenceRecorded_ = true;
};

}  // namespace rouse::executor
