// Copies between any two pieces of memory, as one verb: where the bytes lie decides how they travel.
//
//   pinned, managed, registered, device    one command
//   pageable to device                     small: inside the command; else through staging, in pieces, overlapped
//   device to pageable                     through staging, several pieces in flight; always blocks
//   device to another device               through staging, in pieces, pipelined by slots between the two rings; on the null stream fenced off from
//                                          all else on both
//   host to host                           the stream is synchronised, then the caller copies
//
// The program's pageable source has been read when a call returns. Ranges are checked against allocations: a copy that
// leaves the allocation it begins in is invalidValue and copies nothing.
#pragma once

#include <cstdint>

#include "schemas/base/cuda_error.h"

namespace rouse::client {

class Stream;

enum class CopyKind : std::uint32_t {
  hostToHost = 0,
  hostToDevice = 1,
  deviceToHost = 2,
  deviceToDevice = 3,
  byAddress = 4
};

enum class Completion {
  queued,   // Async calls: as soon as CUDA would return (device to pageable blocks even so)
  finished  // the others: as CUDA's synchronous calls wait (device to device and small pageable uploads do not)
};

// depth planes of height rows of width bytes. Slice pitch: bytes between planes.
struct CopyShape {
  void* destination = nullptr;
  std::uint64_t destinationPitch = 0, destinationSlicePitch = 0;
  const void* source = nullptr;
  std::uint64_t sourcePitch = 0, sourceSlicePitch = 0;
  std::uint64_t width = 0, height = 1, depth = 1;
};

// invalidMemcpyDirection: no such kind. invalidValue: a kind that contradicts where the addresses lie (pinned, managed
// and registered memory may count as either side, and so may a device's in a copy that names a device), null or
// out-of-range ranges. invalidPitchValue: width exceeds a pitch. Nothing to copy is success.
CudaError copy(Stream& stream, void* destination, const void* source, std::uint64_t bytes, CopyKind kind,
               Completion completion);
CudaError copy(Stream& stream, const CopyShape& shape, CopyKind kind, Completion completion);

}  // namespace rouse::client
