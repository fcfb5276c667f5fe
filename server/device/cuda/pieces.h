// Copies and fills of any shape as calls that the driver can do: one where possible, else a row, a plane or a slice at
// a time.
//
// Pieces are made one after another, as a stream has room for them: a shape of a billion rows holds nobody up. Pure.
#pragma once

#include <cstdint>
#include <functional>

#include "memory/device.h"

namespace rouse::cuda {

// A box of the driver's: `planePitch` is a multiple of the pitch where depth > 1.
struct CopyPiece {
  std::uint64_t destination = 0, destinationPitch = 0, destinationPlanePitch = 0;
  std::uint64_t source = 0, sourcePitch = 0, sourcePlanePitch = 0;
  std::uint64_t width = 0, height = 1, depth = 1;
};

class CopyPieces {
 public:
  // `maxPitch`: CU_DEVICE_ATTRIBUTE_MAX_PITCH. `unbroken(address, bytes)`: the driver takes the range as one piece of
  // memory; where a side of the shape is not, all is done row by row, and rows are cut where rowBytes(address) ends.
  CopyPieces(const memory::CopyShape& shape, std::uint64_t maxPitch,
             const std::function<bool(std::uint64_t address, std::uint64_t bytes)>& unbroken);

  bool done() const { return next_ == count_; }
  // The piece that is due, and then the one behind it.
  CopyPiece current() const;
  void advance() { ++next_; }

 private:
  enum class Way : std::uint8_t { whole, planes, slices, rows };

  memory::CopyShape shape_;
  Way way_ = Way::whole;
  std::uint64_t next_ = 0, count_ = 1;
};

// height rows of width elements.
struct FillPiece {
  std::uint64_t destination = 0, pitch = 0;
  std::uint64_t width = 0, height = 1;
  std::uint32_t value = 0, elementBytes = 1;
};

class FillPieces {
 public:
  FillPieces(const memory::FillShape& shape, std::uint64_t maxPitch,
             const std::function<bool(std::uint64_t address, std::uint64_t bytes)>& unbroken);

  bool done() const { return next_ == count_; }
  FillPiece current() const;
  void advance() { ++next_; }

 private:
  enum class Way : std::uint8_t { whole, planes, slices, rows, bytes };

  memory::FillShape shape_;
  Way way_ = Way::whole;
  std::uint64_t next_ = 0, count_ = 1;
};

}  // namespace rouse::cuda
