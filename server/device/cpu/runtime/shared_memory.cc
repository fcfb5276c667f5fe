#include "server/device/cpu/runtime/shared_memory.h"

#include <sys/mman.h>

namespace rouse::cpu {
namespace {
constexpr std::size_t kReserved = SharedMemory::kUsable + (std::size_t{4} << 30);
}  // namespace

SharedMemory::~SharedMemory() {
  if (region_ != nullptr) munmap(region_, kReserved);
}

std::byte* SharedMemory::prepare(std::uint32_t bytes, std::uint32_t alignment) {
  if (region_ == nullptr) {
    void* base = mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return nullptr;
    if (mprotect(base, kUsable, PROT_READ | PROT_WRITE) != 0) {
      munmap(base, kReserved);
      return nullptr;
    }
    region_ = static_cast<std::byte*>(base);
  }
  return region_ + kUsable - roundUp(bytes, alignment);
}

}  // namespace rouse::cpu
