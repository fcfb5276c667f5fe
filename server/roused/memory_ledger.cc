#include "server/roused/memory_ledger.h"

#include <string>

namespace rouse::daemon {

Status MemoryLedger::grant(std::uint64_t executor, std::uint64_t bytes) {
  const auto found = granted_.find(executor);
  if (found == granted_.end() || sum_ > total_ || bytes > total_ - sum_)
    return Error{CudaError::invalidValue, "grant " + std::to_string(bytes) + " bytes to executor " + std::to_string(executor) + ": " +
                                              (found == granted_.end() ? "there is none" : std::to_string(sum_) + " of " + std::to_string(total_) +
                                                                                               " are granted already")};
  found->second += bytes;
  sum_ += bytes;
  return {};
}

Status MemoryLedger::giveBack(std::uint64_t executor, std::uint64_t bytes) {
  const auto found = granted_.find(executor);
  if (found == granted_.end() || bytes > found->second)
    return Error{CudaError::invalidValue, "executor " + std::to_string(executor) + " gives " + std::to_string(bytes) + " bytes back, and has " +
                                              std::to_string(of(executor))};
  found->second -= bytes;
  sum_ -= bytes;
  return {};
}

std::uint64_t MemoryLedger::close(std::uint64_t executor) {
  const auto node = granted_.extract(executor);
  if (node.empty()) return 0;
  sum_ -= node.mapped();
  return node.mapped();
}

std::uint64_t MemoryLedger::of(std::uint64_t executor) const {
  const auto found = granted_.find(executor);
  return found == granted_.end() ? 0 : found->second;
}

}  // namespace rouse::daemon
