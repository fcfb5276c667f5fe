#include "server/device/cpu/physical_memory.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rouse::cpu {

Result<std::unique_ptr<PhysicalMemory>> PhysicalMemory::create(std::uint64_t bytes) {
  const std::uint64_t capacity = roundDown(bytes, kGranuleBytes);
  if (capacity == 0 || capacity / kGranuleBytes > UINT32_MAX) {
    return Error{CudaError::invalidValue, "cpu device: capacity of " + std::to_string(bytes) + " bytes, at least " +
                                              std::to_string(kGranuleBytes) + " needed"};
  }
  const int fd = memfd_create("rouse-device", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return Error{CudaError::initializationError, std::string("cpu device: memfd_create: ") + std::strerror(errno)};
  std::unique_ptr<PhysicalMemory> memory(new PhysicalMemory(fd));
  if (ftruncate(fd, static_cast<off_t>(capacity)) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Error{CudaError::initializationError,
                 "cpu device: memory of " + std::to_string(capacity) + " bytes: " + std::strerror(errno)};
  }
  for (std::uint32_t id = 0; id < capacity / kGranuleBytes; ++id) memory->chunks_.push_back({id, kGranuleBytes});
  return memory;
}

PhysicalMemory::~PhysicalMemory() { close(fd_); }

Status PhysicalMemory::check(memory::Chunk chunk) const {
  if (chunk.id < chunks_.size() && chunk.bytes == kGranuleBytes) return {};
  return Error{CudaError::invalidValue, "cpu device: chunk " + std::to_string(chunk.id) + " of " +
                                            std::to_string(chunk.bytes) + " bytes; there are " +
                                            std::to_string(chunks_.size()) + " of " + std::to_string(kGranuleBytes)};
}

Status PhysicalMemory::scrub(memory::Chunk chunk) {
  if (auto status = check(chunk); !status) return status;
  if (fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offsetOf(chunk)),
                static_cast<off_t>(chunk.bytes)) != 0) {
    return Error{CudaError::unknown,
                 "cpu device: scrub of chunk " + std::to_string(chunk.id) + ": " + std::strerror(errno)};
  }
  return {};
}

}  // namespace rouse::cpu
