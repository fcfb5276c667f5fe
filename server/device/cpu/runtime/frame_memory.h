// Memory for what the threads of a loop keep while they wait (codegen/frame.h).
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace rouse::cpu {

class FrameMemory {
 public:
  // At least so many bytes, aligned to 64, the same each time as long as they are no more; null: out of memory.
  std::byte* take(std::size_t bytes) {
    if (bytes_ < bytes) {
      const std::size_t rounded = (bytes + kStep - 1) / kStep * kStep;
      memory_.reset();
      bytes_ = 0;
      memory_.reset(static_cast<std::byte*>(::operator new(rounded, std::align_val_t{64}, std::nothrow)));
      if (memory_ != nullptr) bytes_ = rounded;
    }
    return memory_.get();
  }

 private:
  static constexpr std::size_t kStep = std::size_t{64} << 10;
  struct Release {
    void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Release> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace rouse::cpu
