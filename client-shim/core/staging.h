// The first part of the host window, cut into pieces through which pageable bytes pass. Shared by all devices and
// threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "client-shim/core/mark.h"
#include "schemas/wire/layout.h"

namespace rouse::client {

class Session;
struct DeviceInfo;

class Staging {
 public:
  static constexpr std::uint64_t kPieceBytes = std::uint64_t{256} << 10;
  static_assert(wire::kPartByProcessors <= kPieceBytes);
  // Of a piece, how much a copy to or from this device takes at once.
  static std::uint64_t partFor(const DeviceInfo& info);
  static constexpr std::uint32_t kPieces = wire::kStagingBytes / kPieceBytes;

  explicit Staging(Session& session);

  class Piece;
  // Blocks until a piece is free; empty once the device's executor is gone. The lowest free one: it is the likeliest to
  // be in a cache. A thread that holds a piece asks for more with tryAcquire() only, so that no two wait for each
  // other.
  Piece acquire(std::uint32_t deviceIndex);
  Piece tryAcquire();

  // After a reset: what the device still had to do with pieces it will not do.
  void settle(std::uint32_t deviceIndex);

 private:
  struct Entry {
    bool held = false;
    Mark mark;  // free again when this is reached
    std::uint32_t deviceIndex = 0;
  };
  Piece take(std::uint32_t index);
  void release(std::uint32_t index, Mark mark, std::uint32_t deviceIndex);

  Session& session_;
  std::byte* const base_;
  std::mutex mutex_;
  std::condition_variable released_;
  Entry entries_[kPieces];
};

class Staging::Piece {
 public:
  Piece() = default;
  Piece(Piece&& other) noexcept : staging_(other.staging_), index_(other.index_) { other.staging_ = nullptr; }
  Piece& operator=(Piece&& other) noexcept {
    release();
    staging_ = other.staging_;
    index_ = other.index_;
    other.staging_ = nullptr;
    return *this;
  }
  ~Piece() { release(); }

  explicit operator bool() const { return staging_ != nullptr; }
  std::byte* bytes() const { return staging_->base_ + index_ * kPieceBytes; }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(bytes()); }

  // Nothing is under way with it.
  void release() { releaseAfter({}, 0); }
  // The device is done with it when the mark is reached.
  void releaseAfter(Mark mark, std::uint32_t deviceIndex) {
    if (staging_ != nullptr) staging_->release(index_, mark, deviceIndex);
    staging_ = nullptr;
  }

 private:
  friend class Staging;
  Piece(Staging* staging, std::uint32_t index) : staging_(staging), index_(index) {}
  Staging* staging_ = nullptr;
  std::uint32_t index_ = 0;
};

}  // namespace rouse::client
