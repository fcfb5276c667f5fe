// Device memory for libraries to work in that is none: what has been taken of it and given back.
#pragma once

#include <utility>

#include "server/library/cuda/real_libraries.h"
#include "test/libraries/taken.h"

namespace rouse::library::cuda {

struct Account {
  Words taken, given;
  std::uint64_t most = ~std::uint64_t{0}, next = 0x9000'0000;
};
class Memory final : public WorkMemory {
 public:
  explicit Memory(Account& account) : account_(account) {}
  Result<std::uint64_t> take(std::uint64_t bytes) override {
    if (bytes > account_.most) return Error{CudaError::memoryAllocation, "none left"};
    account_.taken.push_back(bytes);
    return std::exchange(account_.next, account_.next + bytes);
  }
  void give(std::uint64_t address, std::uint64_t bytes) override { account_.given.insert(account_.given.end(), {address, bytes}); }

 private:
  Account& account_;
};

}  // namespace rouse::library::cuda
