// Host memory for the copies of pages: one memfd, sealed against resizing, mapped once and there from the start.
//
// Faulted in by several threads (one alone makes some 3 GB/s), on huge pages where the kernel allows it: first its reserve
// (MFD_HUGETLB), then transparent ones, then plain ones. Registering it with a driver, once, is the device's part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::memory {

struct ArenaOptions {
  std::uint64_t bytes = 0;  // rounded up to whole granules
  bool hugePages = true;    // try
  bool lock = false;        // mlock: the CPU device has no driver that pins
  unsigned threads = 0;     // 0: as many as cores, at most 16
  bool present = true;      // false: limits are checked all the same, but pages come when they are first used
};

enum class ArenaPages { hugetlb, transparent, plain };
const char* name(ArenaPages pages);

class PinnedArena {
 public:
  // Checks the limits first (memory_limits.h). An error says what was asked, what the limit is and what to do; nothing
  // is left behind then. Blocks until all is there.
  static Result<PinnedArena> create(const ArenaOptions& options);
  // Takes the file of one that create() has made for `bytes`, in this process or another, with what is in it. Anything else is invalidValue.
  static Result<PinnedArena> adopt(wire::OwnedFd file, std::uint64_t bytes);

  PinnedArena(PinnedArena&& other) noexcept;
  PinnedArena& operator=(PinnedArena&& other) noexcept;
  ~PinnedArena();

  std::span<std::byte> span() const { return {base_, bytes_}; }
  std::uint64_t bytes() const { return bytes_; }
  // Borrowed; offset 0 is span()'s first byte.
  int fd() const { return fd_; }
  bool locked() const { return locked_; }
  // What the kernel was asked for and granted: transparent when at least half the arena is on huge pages.
  ArenaPages pages() const { return pages_; }
  std::uint64_t pageBytes() const;
  // Bytes that are on huge pages.
  std::uint64_t hugeBytes() const { return hugeBytes_; }

 private:
  PinnedArena() = default;
  Status open(std::uint64_t bytes, bool hugetlb);
  Status fault(unsigned threads);
  void close();

  int fd_ = -1;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t hugeBytes_ = 0;
  ArenaPages pages_ = ArenaPages::plain;
  bool locked_ = false;
};

}  // namespace rouse::memory
