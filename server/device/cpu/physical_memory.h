// The device's memory: one memfd of the whole capacity, in chunks of a granule. Pages come into being when they are
// touched. Those of a scrubbed chunk are kept, zeroed, up to a limit: making a page anew costs twenty times as much as
// zeroing it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/device.h"

namespace rouse::cpu {

class PhysicalMemory {
 public:
  // Capacity is rounded down to granules.
  static Result<std::unique_ptr<PhysicalMemory>> create(std::uint64_t bytes, std::uint64_t absentBytes = 0);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;

  int fd() const { return fd_; }
  // The same file, for others to read only.
  Result<wire::OwnedFd> readOnly() const;
  const std::vector<memory::Chunk>& chunks() const { return chunks_; }
  std::byte* alias(memory::Chunk chunk) const { return alias_ + offsetOf(chunk); }
  std::uint64_t offsetOf(memory::Chunk chunk) const { return std::uint64_t{chunk.id} * kGranuleBytes; }
  // Fails for a chunk that is not one of these, or has no memory.
  Status check(memory::Chunk chunk) const;
  // Of the chunks that have memory.
  std::uint64_t bytes() const;
  // As memory::Device.
  Status withdraw(std::span<const memory::Chunk> chunks);
  Result<std::size_t> supply(std::span<const memory::Chunk> chunks);
  Status scrub(memory::Chunk chunk);
  // Whether the chunk is one whose pages were kept; it counts as in use from now on.
  bool takeKept(memory::Chunk chunk);

 private:
  explicit PhysicalMemory(int fd) : fd_(fd) {}
  // Of [begin, end), within one chunk: nothing has ever been written, or it has been dropped since.
  bool empty(std::uint64_t begin, std::uint64_t end) const;
  Status known(memory::Chunk chunk) const;
  Status drop(std::uint64_t begin, std::uint64_t end);
  Status zero(std::uint64_t begin, std::uint64_t end);

  int fd_;
  std::byte* alias_ = nullptr;  // all of it, for zeroing and for what arrives
  std::vector<memory::Chunk> chunks_;
  std::vector<bool> kept_, absent_;
  std::uint64_t keptChunks_ = 0, mostKept_ = 0;
};

}  // namespace rouse::cpu
