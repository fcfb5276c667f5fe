// The device's memory: one memfd of the whole capacity, in chunks of a granule.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/device.h"

namespace rouse::cpu {

class PhysicalMemory {
 public:
  // Capacity is rounded down to granules. Pages come into being when they are touched.
  static Result<std::unique_ptr<PhysicalMemory>> create(std::uint64_t bytes);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;

  int fd() const { return fd_; }
  const std::vector<memory::Chunk>& chunks() const { return chunks_; }
  std::uint64_t offsetOf(memory::Chunk chunk) const { return std::uint64_t{chunk.id} * kGranuleBytes; }
  // Fails for a chunk that is not one of these.
  Status check(memory::Chunk chunk) const;
  Status scrub(memory::Chunk chunk);

 private:
  explicit PhysicalMemory(int fd) : fd_(fd) {}

  int fd_;
  std::vector<memory::Chunk> chunks_;
};

}  // namespace rouse::cpu
