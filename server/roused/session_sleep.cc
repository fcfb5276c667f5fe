#include "server/roused/session_sleep.h"

#include <sys/uio.h>

#include <utility>

#include "server/roused/descriptors.h"

namespace rouse::daemon {

SessionSleep::SessionSleep(const boost::asio::any_io_executor& executor, wire::RingSegment ring, channel::SessionRecipe recipe,
                           channel::SessionUsage usage, IsolatedExecutors::Kept kept)
    : retry(executor), ring_(std::move(ring)), wake_(executor), recipe_(std::move(recipe)), usage_(std::move(usage)), kept_(std::move(kept)) {}

Result<std::unique_ptr<SessionSleep>> SessionSleep::begin(const boost::asio::any_io_executor& executor, const wire::OwnedFd& ring,
                                                          const wire::OwnedFd& wake, channel::SessionRecipe recipe, channel::SessionUsage usage,
                                                          IsolatedExecutors::Kept kept) {
  auto mapped = wire::RingSegment::map(ring.get(), wire::ForkedChild::without);
  if (!mapped) return std::move(mapped).error();
  auto event = duplicate(wake);
  if (!event) return std::move(event).error();
  usage.place = channel::Place::home;
  usage.residentBytes = usage.restingBytes = usage.sharedBytes = 0;
  std::unique_ptr<SessionSleep> sleep(
      new SessionSleep(executor, std::move(*mapped), std::move(recipe), std::move(usage), std::move(kept)));
  sleep->wake_.assign(event->release());
  return sleep;
}

void SessionSleep::watch(std::function<void()> onWork) {
  // Of before. The process has this descriptor, too: whether reading it may block is as it says, unless that is said with each read.
  std::uint64_t rung = 0;
  const iovec value{&rung, sizeof rung};
  (void)!::preadv2(wake_.native_handle(), &value, 1, -1, RWF_NOWAIT);
  // As a consumer rests (schemas/wire/ring_consumer.h): either we see the new tail, or the producer that we rest, and rings.
  wire::RingHeader& header = ring_.header();
  header.consumerState.store(wire::ConsumerState::asleep, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!recipe_.toMap.empty() || header.tail.load(std::memory_order_relaxed) != recipe_.commandBytes) return onWork();
  wake_.async_wait(wake_.wait_read, [onWork = std::move(onWork)](const boost::system::error_code& error) {
    if (!error) onWork();
  });
}

}  // namespace rouse::daemon
