// Which executor: everything that tells one from another, and that a daemon has to know of one that it did not start itself.
#pragma once

#include <cstdint>
#include <string>

namespace rouse::daemon {

struct ExecutorIdentity {
  std::uint32_t gpu = 0;      // ordinal
  std::uint64_t number = 0;   // 0: the GPU's shared one; others are isolated, and numbers are not used again
  std::uint64_t granted = 0;  // of an isolated one: bytes of the GPU's memory that are its (memory_ledger.h)

  bool isolated() const { return number != 0; }
  // "GPU 0", "GPU 0 (isolated executor 3)"
  std::string name() const {
    std::string text = "GPU " + std::to_string(gpu);
    if (isolated()) text.append(" (isolated executor ").append(std::to_string(number)).append(")");
    return text;
  }
};

}  // namespace rouse::daemon
