// Fills homes of this executor's part of the host store with what others hold, on a thread of its own: gigabytes take a while, and
// the reactor does not.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "memory/fingerprint.h"
#include "server/executor/progress_listener.h"

namespace rouse::executor {

class HomeCopy {
 public:
  struct Page {
    const std::byte* from;  // kGranuleBytes each
    std::byte* to;
  };
  // Begins. All that is named outlives this object, and nobody changes it until done(). `key`: what is copied is also fingerprinted; null: not.
  HomeCopy(std::vector<Page> pages, const memory::FingerprintKey* key, ProgressListener& progress);
  // Gives up at the next page if it has not ended, and waits for that.
  ~HomeCopy();
  HomeCopy(const HomeCopy&) = delete;

  // `progress` has been told.
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Of each page, once it is done; none without a key.
  std::span<const memory::PageFingerprint> prints() const { return prints_; }

 private:
  void run();

  const std::vector<Page> pages_;
  const memory::FingerprintKey* const key_;
  ProgressListener& progress_;
  std::vector<memory::PageFingerprint> prints_;
  std::atomic<bool> done_{false}, givenUp_{false};
  std::thread thread_;
};

}  // namespace rouse::executor
