// One device of an isolated session while no executor serves it: what makes it again, where the homes of its memory are, and an eye on its
// ring. The program notices nothing; what it asks for lies in the ring, and wakes it.
//
// On the event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "schemas/wire/segment.h"
#include "server/control/message.h"
#include "server/roused/isolated_executors.h"

namespace rouse::daemon {

class SessionSleep {
 public:
  // The last executor of it has frozen it, and told this. `ring`, `wake`: of its process, borrowed.
  static Result<std::unique_ptr<SessionSleep>> begin(const boost::asio::any_io_executor&, const wire::OwnedFd& ring, const wire::OwnedFd& wake,
                                                     channel::SessionRecipe, channel::SessionUsage, IsolatedExecutors::Kept);

  // `onWork`, once, when there is something in the ring to be done; perhaps before this returns.
  void watch(std::function<void()> onWork);

  const channel::SessionRecipe& recipe() const { return recipe_; }
  // As its last executor told it, and as it is now: at home.
  const channel::SessionUsage& usage() const { return usage_; }
  const std::shared_ptr<memory::PinnedArena>& homes() const { return kept_.homes; }

  // For whoever wakes it: who else waits for that, and how often it has failed.
  bool waking = false;
  unsigned failures = 0;
  std::vector<std::function<void(Status)>> waiting;
  boost::asio::steady_timer retry;

 private:
  SessionSleep(const boost::asio::any_io_executor&, wire::RingSegment, channel::SessionRecipe, channel::SessionUsage, IsolatedExecutors::Kept);

  wire::RingSegment ring_;
  boost::asio::posix::stream_descriptor wake_;
  const channel::SessionRecipe recipe_;
  channel::SessionUsage usage_;
  IsolatedExecutors::Kept kept_;
};

}  // namespace rouse::daemon
