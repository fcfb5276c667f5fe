#include "server/control/close_apart.h"

#include <fcntl.h>

#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace rouse::channel {
namespace {

// At a time; what is to be closed beyond that waits for one of them.
constexpr unsigned kMostThreads = 64;

struct Closing {
  std::mutex mutex;
  std::deque<wire::OwnedFd> waiting;
  unsigned threads = 0;
};

// Its threads may outlive everything else.
Closing& closing() {
  static Closing* const all = new Closing;
  return *all;
}

void work(Closing& all) {
  std::unique_lock lock(all.mutex);
  while (!all.waiting.empty()) {
    wire::OwnedFd fd = std::move(all.waiting.front());
    all.waiting.pop_front();
    lock.unlock();
    fd.reset();
    lock.lock();
  }
  --all.threads;
}

}  // namespace

void closeApart(wire::OwnedFd fd) {
  // Seals are asked of the kernel alone, which has them for its own memory and for no other file.
  if (!fd || ::fcntl(fd.get(), F_GET_SEALS) >= 0) return;
  Closing& all = closing();
  const std::lock_guard lock(all.mutex);
  all.waiting.push_back(std::move(fd));
  if (all.threads >= kMostThreads) return;
  ++all.threads;
  try {
    std::thread([&all] { work(all); }).detach();
  } catch (const std::system_error&) {
    --all.threads;  // the next one closes it
  }
}

void closeApart(std::vector<wire::OwnedFd> fds) {
  for (wire::OwnedFd& fd : fds) closeApart(std::move(fd));
}

}  // namespace rouse::channel
