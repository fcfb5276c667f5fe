// The streams of one session: their handles, the order between them (StreamOrder) made real with events, and how much
// work is queued on them. Reactor thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/device.h"
#include "server/control/session_recipe.h"
#include "server/executor/handle_table.h"
#include "server/executor/stream_order.h"

namespace rouse::executor {

// Live ones and those that still complete their work together.
inline constexpr std::size_t kMaxStreams = 4096;

// A device may hold on to every command it was given until it has run. Beyond this much of one session's, its ring
// waits.
inline constexpr std::uint64_t kMaxQueuedBytes = std::uint64_t{16} << 20;

class Streams {
 public:
  // The legacy stream exists at once. The context outlives this object.
  explicit Streams(memory::Context& context);
  // Completes nothing: the context has been cancelled or is idle, or is about to be destroyed.
  ~Streams();

  bool live(wire::Handle handle) const { return handles_.live(handle); }
  bool mayCreate(wire::Handle handle) const { return handles_.mayInsert(handle); }
  void create(wire::Handle handle, bool nonBlocking, int priority);
  // The stream's work is completed first, without waiting here.
  void destroy(wire::Handle handle);

  // The stream to submit one operation to, everything that must come before it arranged. `payloadBytes`: what the
  // device will keep besides the operation itself.
  memory::Stream& forWork(wire::Handle handle, std::size_t payloadBytes = 0) {
    if (lent_ != nullptr) [[unlikely]]
      return *lent_;
    const StreamOrder::StreamId id = handles_.at(handle);
    order_.beforeWork(id, actions_);
    if (!actions_.empty()) perform();
    return charge(lanes_[id], payloadBytes);
  }
  void fence();
  // Until it is called with null, forWork() is this stream, whatever the handle, and arranges nothing: a graph's nodes, each on
  // its lane (Graphs).
  void lend(memory::Stream* lane) { lent_ = lane; }

  // What another executor needs to make the same (session_recipe.h); with nothing queued, order is a thing of the future. And that, in the
  // place of streams of which there is only the legacy one.
  std::vector<channel::SessionRecipe::Stream> recipe() const;
  void restore(std::span<const channel::SessionRecipe::Stream> recipe);

  // Forgets destroyed streams that have completed their work. True if there were any.
  bool collect();
  bool draining() const { return !draining_.empty(); }
  std::size_t size() const { return order_.size(); }

  // Whether more than this is queued. Looks at the streams only when it may be so.
  bool queuedAbove(std::uint64_t bytes);

 private:
  static constexpr std::uint64_t kOperationBytes = 128;
  static constexpr std::uint64_t kMarkBytes = std::uint64_t{16} << 10;

  struct Lane {
    std::unique_ptr<memory::Stream> stream;
    std::unique_ptr<memory::Event> event;
    // Bytes submitted; how many of them have been run is written to a slot of our own, every kMarkBytes.
    std::uint64_t submitted = 0;
    std::uint64_t marked = 0;
    std::unique_ptr<wire::Slot> done;
    bool nonBlocking = false;  // as it was made
    int priority = 0;
  };
  StreamOrder::StreamId add(bool nonBlocking, int priority);

  Lane& lane(StreamOrder::StreamId id);
  memory::Event& event(StreamOrder::EventId id);
  memory::Stream& charge(Lane& lane, std::size_t payloadBytes);
  void perform();

  memory::Context& context_;
  HandleTable<StreamOrder::StreamId> handles_;
  StreamOrder order_;
  StreamOrder::Actions actions_;
  std::vector<Lane> lanes_;  // by StreamOrder's ids
  std::unique_ptr<memory::Event> fenceEvent_;
  std::vector<StreamOrder::StreamId> draining_;
  std::uint64_t queuedBytes_ = 0;  // at most this much
  memory::Stream* lent_ = nullptr;
};

}  // namespace rouse::executor
