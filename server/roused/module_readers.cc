#include "server/roused/module_readers.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace rouse::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kKept{1};
constexpr std::chrono::milliseconds kBetweenReaderLooks{250};
constexpr std::chrono::seconds kLastReaderWait{2};
// Kept ones included.
constexpr std::size_t kMostReaders = 512;

using Since = std::atomic<std::chrono::steady_clock::duration::rep>;  // when its job last got on; 0: it has none
thread_local Since* jobsSince = nullptr;

}  // namespace

struct ModuleReaders::Shared : std::enable_shared_from_this<Shared> {
  std::mutex mutex;
  std::condition_variable asked, ended;
  std::deque<Job> jobs;
  std::list<Since> readers;
  std::size_t wanted = 0, starting = 0;
  std::size_t threads = 0;  // with the one that watches
  bool watched = false;
  boost::asio::io_context* loop = nullptr;  // null: it is over

  static auto now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

  // What is not done any more. It has what belongs to a loop that is gone: it is not destroyed either.
  static void never(Then then) {
    struct Kept {
      std::mutex mutex;
      std::deque<Then> all;
    };
    static Kept* const kept = new Kept;
    const std::lock_guard lock(kept->mutex);
    kept->all.push_back(std::move(then));
  }

  // Readers that have nothing to do, or get on.
  std::size_t free() const {
    std::size_t count = 0;
    for (const Since& since : readers) {
      const auto at = since.load(std::memory_order_relaxed);
      count += at == 0 || now() - at < std::chrono::steady_clock::duration(kKept).count();
    }
    return count;
  }

  // With the lock held, as what follows. One that cannot be started is tried again with the next job, or look.
  void startReaders() {
    while (!jobs.empty() && free() + starting < wanted && readers.size() + starting < kMostReaders) {
      ++starting;
      if (start(&Shared::read)) continue;
      --starting;
      return;
    }
  }
  bool start(void (Shared::*work)()) {
    ++threads;
    try {
      std::thread([self = shared_from_this(), work] { (self.get()->*work)(); }).detach();
      return true;
    } catch (const std::system_error&) {
      --threads;
      return false;
    }
  }

  void read() {
    std::unique_lock lock(mutex);
    --starting;
    const auto self = readers.emplace(readers.end(), 0);
    jobsSince = &*self;
    // One more than is wanted was started for one that was kept.
    while (loop != nullptr && (!jobs.empty() || readers.size() <= wanted)) {
      if (jobs.empty()) {
        asked.wait(lock);
        continue;
      }
      Job job = std::move(jobs.front());
      jobs.pop_front();
      getsOn();
      lock.unlock();
      Then then = job();
      job = nullptr;
      lock.lock();
      self->store(0, std::memory_order_relaxed);
      if (then) loop != nullptr ? boost::asio::post(*loop, std::move(then)) : never(std::move(then));
    }
    readers.erase(self);
    --threads;
    ended.notify_all();
  }

  void watch() {
    std::unique_lock lock(mutex);
    while (loop != nullptr) {
      startReaders();
      if (jobs.empty())
        asked.wait(lock);
      else
        asked.wait_for(lock, kBetweenReaderLooks);
    }
    --threads;
    ended.notify_all();
  }
};

ModuleReaders::ModuleReaders(boost::asio::io_context& io, std::size_t readers) : shared_(std::make_shared<Shared>()) {
  shared_->loop = &io;
  shared_->wanted = readers;
}

ModuleReaders::~ModuleReaders() {
  std::unique_lock lock(shared_->mutex);
  shared_->loop = nullptr;
  shared_->jobs.clear();
  shared_->asked.notify_all();
  shared_->ended.wait_for(lock, kLastReaderWait, [this] { return shared_->threads == 0; });
}

void ModuleReaders::run(Job job) {
  const std::lock_guard lock(shared_->mutex);
  shared_->jobs.push_back(std::move(job));
  shared_->startReaders();
  if (!shared_->watched) shared_->watched = shared_->start(&Shared::watch);
  shared_->asked.notify_all();
}

void ModuleReaders::getsOn() {
  if (jobsSince != nullptr) jobsSince->store(Shared::now(), std::memory_order_relaxed);
}

}  // namespace rouse::daemon
