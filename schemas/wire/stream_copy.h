// A copy that goes past the caches: for amounts that would not stay in them anyway. Both sides of pageable copies make such.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rouse::wire {

// From this size on copies are worth it (half of a common last-level cache).
inline constexpr std::uint64_t kStreamCopyBytes = std::uint64_t{8} << 20;

// Non-overlapping. Stores are ordered before the return.
void streamCopy(void* to, const void* from, std::size_t bytes);

// Copies one behind the other, as a large one comes in pieces.
class CopyRun {
 public:
  // The next one: whether it goes past the caches, as what comes before it has filled them.
  bool next(std::uint64_t to, std::uint64_t bytes) {
    bytes_ = to == end_ ? bytes_ + bytes : bytes;
    end_ = to + bytes;
    return bytes_ >= kStreamCopyBytes && bytes >= kLeastPiece;
  }

 private:
  static constexpr std::uint64_t kLeastPiece = std::uint64_t{64} << 10;

  std::uint64_t end_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace rouse::wire
