#include "server/device/cpu/link.h"

#include <sys/mman.h>
#include <time.h>

#include <cstring>

#include "memory/measure_link.h"
#include "schemas/wire/stream_copy.h"

namespace rouse::cpu {
namespace {

// Every executor pays for these at its start, and tests start many.
constexpr std::uint64_t kLargestBlock = std::uint64_t{8} << 20;
constexpr std::chrono::milliseconds kBudget{15};

std::chrono::nanoseconds now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// As the copies of functions are made (transfer.cc).
void copyBlock(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  if (bytes >= wire::kStreamCopyBytes) return wire::streamCopy(to, from, bytes);
  std::memcpy(to, from, bytes);
}

}  // namespace

memory::LinkDescription measureLink() {
  memory::LinkDescription link;
  void* mapped = ::mmap(nullptr, 2 * kLargestBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return link;
  auto* from = static_cast<std::byte*>(mapped);
  std::memset(from, 1, 2 * kLargestBlock);
  memory::LinkTrial trial;
  trial.largestBlock = kLargestBlock;
  trial.budget = kBudget;
  trial.now = now;
  trial.copy = [&](std::uint64_t bytes, std::uint32_t count) -> Status {
    std::uint64_t at = 0;
    for (std::uint32_t i = 0; i < count; ++i, at = (at + bytes) % kLargestBlock)
      copyBlock(from + kLargestBlock + at, from + at, bytes);
    return {};
  };
  if (auto curve = memory::measureLink(trial)) link.toDevice = link.toHost = std::move(*curve);
  ::munmap(mapped, 2 * kLargestBlock);
  return link;
}

}  // namespace rouse::cpu
