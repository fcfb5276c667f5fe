// Another CPU device's memory, which the executor of that one shares: its file, mapped whole and to be read only.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/device.h"
#include "server/device/link_board.h"

namespace rouse::cpu {

class PeerMemory {
 public:
  // invalidValue for what is no memory of a CPU device: it must be sealed against shrinking, or reading it could fault.
  static Result<std::shared_ptr<const PeerMemory>> map(const wire::OwnedFd& file);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;

  // Null where no whole granule begins.
  const std::byte* at(std::uint64_t offset) const {
    return isAligned(offset, kGranuleBytes) && offset < bytes_ && bytes_ - offset >= kGranuleBytes ? base_ + offset : nullptr;
  }
  bool of(dev_t device, ino_t file) const { return device == device_ && file == file_; }

 private:
  PeerMemory(const std::byte* base, std::uint64_t bytes, dev_t device, ino_t file)
      : base_(base), bytes_(bytes), device_(device), file_(file) {}

  const std::byte* base_;
  std::uint64_t bytes_;
  dev_t device_;
  ino_t file_;
};

struct CpuPeerChunk final : memory::PeerChunk {
  CpuPeerChunk(std::shared_ptr<const PeerMemory> memory, const std::byte* bytes, device::LinkDirection way)
      : memory(std::move(memory)), bytes(bytes), way(way) {}
  const std::shared_ptr<const PeerMemory> memory;
  const std::byte* const bytes;
  const device::LinkDirection way;  // over which its bytes come, where links are modelled
};

// Mappings that are in use, each once: a mapping of gigabytes costs addresses, and what is read of it page tables.
class PeerMemories {
 public:
  // `way`: as CpuPeerChunk's. All of them or, with an error, none.
  Result<std::vector<std::unique_ptr<memory::PeerChunk>>> import(const memory::SharedChunks& chunks, device::LinkDirection way);

 private:
  Result<std::shared_ptr<const PeerMemory>> map(const wire::OwnedFd& file);

  std::vector<std::weak_ptr<const PeerMemory>> mapped_;
};

}  // namespace rouse::cpu
