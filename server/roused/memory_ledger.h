// How much of one GPU's memory which executor has. What isolated ones have the shared one has not, so that all of them together never have
// more than there is; whatever an executor says is checked against that. Pure.
#pragma once

#include <cstdint>
#include <map>

#include "schemas/base/result.h"

namespace rouse::daemon {

class MemoryLedger {
 public:
  // Of the GPU, as its shared executor has told; what has been granted stays so.
  void setTotal(std::uint64_t bytes) { total_ = bytes; }
  std::uint64_t total() const { return total_; }

  void open(std::uint64_t executor) { granted_[executor]; }
  // From the shared executor to this one, and back. invalidValue, and nothing has changed: there is not so much, or no such executor.
  Status grant(std::uint64_t executor, std::uint64_t bytes);
  Status giveBack(std::uint64_t executor, std::uint64_t bytes);
  // It has ended: returns what it had.
  std::uint64_t close(std::uint64_t executor);

  std::uint64_t of(std::uint64_t executor) const;
  // By all isolated executors, and what is left for the shared one.
  std::uint64_t granted() const { return sum_; }
  std::uint64_t shared() const { return total_ - sum_; }
  bool empty() const { return granted_.empty(); }

 private:
  std::uint64_t total_ = 0, sum_ = 0;
  std::map<std::uint64_t, std::uint64_t> granted_;
};

}  // namespace rouse::daemon
