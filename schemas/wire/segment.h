// The shared segments of layout.h: making them, and mapping them on either side.
//
// A segment is a memfd sealed against any change of its size: otherwise the other side could shrink it and turn our
// next read into SIGBUS. Whoever receives a descriptor checks seals and size before it maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "schemas/base/result.h"
#include "schemas/wire/layout.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::wire {

// What a child of fork(2) gets of a mapping. Client libraries use `without`: a child has no session (CUDA: a forked
// child must not use the parent's context), and its writes would be taken for the parent's.
enum class ForkedChild : std::uint8_t { inherits, without };

// A memfd of this size, all zeros, with F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL. `bytes`: a multiple of kPageBytes.
// `name` appears in /proc only.
Result<OwnedFd> createSealedMemfd(const char* name, std::size_t bytes);

// That the descriptor is a memfd of exactly this size that nobody can resize.
Status checkSealedMemfd(int fd, const char* name, std::size_t bytes);

// Address space that is unmapped at the end.
class Mapping {
 public:
  Mapping() = default;
  Mapping(std::byte* base, std::size_t bytes) : base_(base), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* base() const { return base_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

class SessionSegment {
 public:
  // A new segment with its header filled in, for the daemon.
  static Result<OwnedFd> create(std::uint64_t sessionId, std::uint32_t deviceCount);
  // Borrows the descriptor. Checks size and seals, not the contents.
  static Result<SessionSegment> map(int fd, ForkedChild child);

  // For a client, once, when it attaches: that the daemon speaks this library's language.
  Status checkHeader() const;

  SessionHeader& header() const { return *reinterpret_cast<SessionHeader*>(mapping_.base()); }
  // All kSlotCount of them.
  std::span<Slot> slots() const { return {reinterpret_cast<Slot*>(mapping_.base() + kSlotsOffset), kSlotCount}; }
  Slot& slot(std::uint32_t index) const { return slots()[index]; }
  // Puts an event that other processes have (shared_event.h) in the place of a page of slots, below kSharedEventPages. Borrows the descriptor, of which
  // size and seals are checked. Whoever is at these slots meanwhile finds the ones or the others.
  Status mapEvent(std::uint32_t page, int fd, ForkedChild child) const;

 private:
  explicit SessionSegment(Mapping mapping) : mapping_(std::move(mapping)) {}
  Mapping mapping_;
};

class RingSegment {
 public:
  static Result<OwnedFd> create(std::uint32_t deviceIndex);
  static Result<RingSegment> map(int fd, ForkedChild child);

  Status checkHeader(std::uint32_t deviceIndex) const;

  RingHeader& header() const { return *reinterpret_cast<RingHeader*>(mapping_.base()); }
  // kRingBytes, followed by the same pages once more: a command that begins anywhere in the first half is contiguous.
  std::byte* data() const { return mapping_.base() + kRingDataOffset; }
  // kOutputBytes, mapped once.
  std::byte* output() const { return data() + 2 * kRingBytes; }

 private:
  explicit RingSegment(Mapping mapping) : mapping_(std::move(mapping)) {}
  Mapping mapping_;
};

}  // namespace rouse::wire
