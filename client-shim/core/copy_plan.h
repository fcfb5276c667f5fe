// What a copy is, before anything moves: its shape brought to the simplest equal form, and where its two sides lie.
#pragma once

#include <cstddef>
#include <cstdint>

#include "client-shim/core/allocation.h"
#include "client-shim/core/copy.h"
#include "schemas/base/cuda_error.h"

namespace rouse::client {

class Device;
class Session;

// depth planes of height rows of width bytes.
struct Box {
  std::uint64_t width = 0, height = 1, depth = 1;

  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  std::uint64_t bytes() const { return width * height * depth; }
  bool flat() const { return height == 1 && depth == 1; }
};

// One side of a copy. `address`: as a command names it; for pageable memory the pointer itself.
struct Side {
  std::uint64_t address = 0;
  std::uint64_t pitch = 0, slicePitch = 0;
  MemoryKind kind = MemoryKind::pageable;
  Device* device = nullptr;  // whose memory it is; null for host kinds

  bool onHost() const { return kind != MemoryKind::device; }
  std::uint64_t at(std::uint64_t x, std::uint64_t y, std::uint64_t z) const {
    return address + z * slicePitch + y * pitch + x;
  }
};

// From the first byte to the last. False where that passes the end of the address space.
bool extentOf(const Box& box, std::uint64_t pitch, std::uint64_t slicePitch, std::uint64_t* bytes);

// Fills in kind, device and address of the side whose pointer `address` is. invalidValue: null, or an extent that
// leaves its allocation, or an address of ours that nothing is allocated at.
CudaError locate(Session& session, const Box& box, Side* side);

// invalidValue: a kind that contradicts where the (located) sides lie; invalidMemcpyDirection: no such kind.
CudaError checkKind(CopyKind kind, const Side& destination, const Side& source);

// Brings a copy to sides that are located, not simplified; the rules of copy(). Nothing to copy is success, and an empty box.
CudaError planCopy(Session& session, const CopyShape& shape, CopyKind kind, Box* box, Side* destination, Side* source);

// Rows without gaps become one row, planes without gaps one plane.
void simplify(Box& box, Side& a, Side& b);

// Calls f(x, y, z, part) for pieces of the box of at most `limit` bytes each; each piece is itself a box.
template <class F>
void forEachPart(const Box& box, std::uint64_t limit, F&& f) {
  if (box.width > limit) {
    for (std::uint64_t z = 0; z < box.depth; ++z) {
      for (std::uint64_t y = 0; y < box.height; ++y) {
        for (std::uint64_t x = 0; x < box.width; x += limit) {
          if (!f(x, y, z, Box{box.width - x < limit ? box.width - x : limit, 1, 1})) return;
        }
      }
    }
    return;
  }
  const std::uint64_t rows = limit / box.width;
  if (rows < box.height) {
    for (std::uint64_t z = 0; z < box.depth; ++z) {
      for (std::uint64_t y = 0; y < box.height; y += rows) {
        if (!f(0, y, z, Box{box.width, box.height - y < rows ? box.height - y : rows, 1})) return;
      }
    }
    return;
  }
  const std::uint64_t planes = rows / box.height;
  for (std::uint64_t z = 0; z < box.depth; z += planes) {
    if (!f(0, 0, z, Box{box.width, box.height, box.depth - z < planes ? box.depth - z : planes})) return;
  }
}

// The caller copies: both sides are memory of this process.
void copyRows(const Box& box, std::byte* destination, std::uint64_t destinationPitch,
              std::uint64_t destinationSlicePitch, const std::byte* source, std::uint64_t sourcePitch,
              std::uint64_t sourceSlicePitch);

}  // namespace rouse::client
