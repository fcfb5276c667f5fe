#include "server/executor/home_copy.h"

#include <cstring>

namespace rouse::executor {

HomeCopy::HomeCopy(std::vector<Page> pages, const memory::FingerprintKey* key, ProgressListener& progress)
    : pages_(std::move(pages)), key_(key), progress_(progress), thread_([this] { run(); }) {}

HomeCopy::~HomeCopy() {
  givenUp_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void HomeCopy::run() {
  for (const Page& page : pages_) {
    if (givenUp_.load(std::memory_order_relaxed)) return;
    if (page.to != page.from) std::memcpy(page.to, page.from, kGranuleBytes);
    if (key_ != nullptr) prints_.push_back(fingerprintOf(*key_, std::span<const std::byte, kGranuleBytes>(page.to, kGranuleBytes)));
  }
  done_.store(true, std::memory_order_release);
  progress_.onProgress();
}

}  // namespace rouse::executor
