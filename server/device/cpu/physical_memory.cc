#include "server/device/cpu/physical_memory.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace rouse::cpu {
namespace {

// Linux 5.14. Maps pages that exist sixteen at a time; without it memset faults them in.
constexpr int kMadvPopulateRead = 22;
// Kept pages are at most this share of the machine's memory.
constexpr std::uint64_t kKeptShare = 8;

std::uint64_t systemBytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

Result<std::unique_ptr<PhysicalMemory>> PhysicalMemory::create(std::uint64_t bytes, std::uint64_t absentBytes) {
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
  void* alias = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (alias == MAP_FAILED) {
    return Error{CudaError::initializationError,
                 "cpu device: mapping memory of " + std::to_string(capacity) + " bytes: " + std::strerror(errno)};
  }
  memory->alias_ = static_cast<std::byte*>(alias);
  memory->mostKept_ = systemBytes() / kKeptShare / kGranuleBytes;
  memory->kept_.resize(capacity / kGranuleBytes);
  for (std::uint64_t id = 0; id < capacity / kGranuleBytes; ++id) memory->absent_.push_back(id < absentBytes / kGranuleBytes);
  for (std::uint32_t id = 0; id < capacity / kGranuleBytes; ++id) memory->chunks_.push_back({id, kGranuleBytes});
  return memory;
}

PhysicalMemory::~PhysicalMemory() {
  if (alias_ != nullptr) munmap(alias_, chunks_.size() * kGranuleBytes);
  close(fd_);
}

Result<wire::OwnedFd> PhysicalMemory::readOnly() const {
  wire::OwnedFd file(open(("/proc/self/fd/" + std::to_string(fd_)).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Error{CudaError::systemNotReady, std::string("cpu device: its memory, to be read by others: ") + std::strerror(errno)};
  return file;
}

Status PhysicalMemory::check(memory::Chunk chunk) const {
  if (Status status = known(chunk); !status) return status;
  if (!absent_[chunk.id]) return {};
  return Error{CudaError::invalidValue, "cpu device: chunk " + std::to_string(chunk.id) + " has given its memory up"};
}

std::uint64_t PhysicalMemory::bytes() const { return static_cast<std::uint64_t>(std::ranges::count(absent_, false)) * kGranuleBytes; }

Status PhysicalMemory::known(memory::Chunk chunk) const {
  if (chunk.id < chunks_.size() && chunk.bytes == kGranuleBytes) return {};
  return Error{CudaError::invalidValue, "cpu device: chunk " + std::to_string(chunk.id) + " of " +
                                            std::to_string(chunk.bytes) + " bytes; there are " +
                                            std::to_string(chunks_.size()) + " of " + std::to_string(kGranuleBytes)};
}

bool PhysicalMemory::takeKept(memory::Chunk chunk) {
  if (!kept_[chunk.id]) return false;
  kept_[chunk.id] = false;
  --keptChunks_;
  return true;
}

bool PhysicalMemory::empty(std::uint64_t begin, std::uint64_t end) const {
  const off_t data = lseek(fd_, static_cast<off_t>(begin), SEEK_DATA);
  return data < 0 || static_cast<std::uint64_t>(data) >= end;
}

Status PhysicalMemory::drop(std::uint64_t begin, std::uint64_t end) {
  if (fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                static_cast<off_t>(end - begin)) == 0)
    return {};
  return Error{CudaError::unknown, "cpu device: scrub of [" + std::to_string(begin) + ", " + std::to_string(end) +
                                       "): " + std::strerror(errno)};
}

// Zeroes what exists, since touching the rest would bring it into being. mincore() tells what is in memory, and what has
// been swapped out is dropped. (lseek(SEEK_HOLE) would tell both, but goes on to the end of the data, which may be that of
// all memory.)
Status PhysicalMemory::zero(std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t kPageBytes = 4096;
  unsigned char pages[kGranuleBytes / kPageBytes];
  if (mincore(alias_ + begin, end - begin, pages) != 0)
    return Error{CudaError::unknown, std::string("cpu device: mincore: ") + std::strerror(errno)};
  for (std::uint64_t at = begin, next; at < end; at = next) {
    const auto here = [&](std::uint64_t page) { return (pages[(page - begin) / kPageBytes] & 1) != 0; };
    next = at + kPageBytes;
    while (next < end && here(next) == here(at)) next += kPageBytes;
    if (here(at)) {
      madvise(alias_ + at, next - at, kMadvPopulateRead);
      std::memset(alias_ + at, 0, next - at);
    } else if (!empty(at, next)) {
      if (Status status = drop(at, next); !status) return status;
    }
  }
  return {};
}

Status PhysicalMemory::scrub(memory::Chunk chunk) {
  if (auto status = check(chunk); !status) return status;
  const std::uint64_t begin = offsetOf(chunk), end = begin + chunk.bytes;
  if (kept_[chunk.id] || empty(begin, end)) return {};
  if (keptChunks_ == mostKept_) return drop(begin, end);
  if (auto status = zero(begin, end); !status) return status;
  kept_[chunk.id] = true;
  ++keptChunks_;
  return {};
}

// What is no page of the file's is nobody's memory.
Status PhysicalMemory::withdraw(std::span<const memory::Chunk> chunks) {
  for (const memory::Chunk& chunk : chunks)
    if (auto status = check(chunk); !status) return status;
  for (const memory::Chunk& chunk : chunks) {
    const std::uint64_t begin = offsetOf(chunk), end = begin + chunk.bytes;
    if (!empty(begin, end))
      if (Status status = drop(begin, end); !status) return status;
    takeKept(chunk);
    absent_[chunk.id] = true;
  }
  return {};
}

Result<std::size_t> PhysicalMemory::supply(std::span<const memory::Chunk> chunks) {
  for (const memory::Chunk& chunk : chunks) {
    if (auto status = known(chunk); !status) return status.error();
    if (!absent_[chunk.id]) return Error{CudaError::invalidValue, "cpu device: chunk " + std::to_string(chunk.id) + " has memory"};
  }
  for (const memory::Chunk& chunk : chunks) absent_[chunk.id] = false;
  return chunks.size();
}

}  // namespace rouse::cpu
