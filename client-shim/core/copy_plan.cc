#include "client-shim/core/copy_plan.h"

#include <cstring>

#include "client-shim/core/device.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/host_window.h"
#include "client-shim/core/session.h"

namespace rouse::client {

bool extentOf(const Box& box, std::uint64_t pitch, std::uint64_t slicePitch, std::uint64_t* bytes) {
  std::uint64_t rows = 0, planes = 0;
  return !__builtin_mul_overflow(box.height - 1, pitch, &rows) &&
         !__builtin_mul_overflow(box.depth - 1, slicePitch, &planes) && !__builtin_add_overflow(rows, planes, &rows) &&
         !__builtin_add_overflow(rows, box.width, bytes);
}

CudaError locate(Session& session, const Box& box, Side* side) {
  const std::uint64_t pointer = side->address;
  std::uint64_t extent = 0;
  if (pointer == 0 || !extentOf(box, side->pitch, side->slicePitch, &extent) || pointer + extent < pointer) {
    return CudaError::invalidValue;
  }
  Allocation found;
  if (Device* device = session.deviceAt(pointer)) {
    if (!device->memory().find(pointer, &found) || !found.range.contains(pointer, extent))
      return CudaError::invalidValue;
    side->kind = MemoryKind::device;
    side->device = device;
    return CudaError::success;
  }
  const bool inWindow = session.hostWindow().range().contains(pointer);
  if (!session.hostHeap().find(pointer, &found)) return inWindow ? CudaError::invalidValue : CudaError::success;
  if (!found.range.contains(pointer, extent)) {
    // A range that begins registered and goes on unregistered is pageable memory as far as the program may know.
    return inWindow ? CudaError::invalidValue : CudaError::success;
  }
  side->kind = found.kind;
  side->address = found.deviceAddress(pointer);
  return CudaError::success;
}

CudaError checkKind(CopyKind kind, const Side& destination, const Side& source) {
  // Pinned, managed and registered memory may stand for either side. So may device memory for the host's side of a copy to or
  // from a device: CUDA leaves that undefined, there is one address space, and programs rely on addresses to decide.
  auto fits = [](const Side& side, bool declaredDevice) {
    return declaredDevice ? side.kind != MemoryKind::pageable : side.kind != MemoryKind::device;
  };
  bool fit = true;
  switch (kind) {
    case CopyKind::hostToHost:
      fit = fits(destination, false) && fits(source, false);
      break;
    case CopyKind::hostToDevice:
      fit = fits(destination, true);
      break;
    case CopyKind::deviceToHost:
      fit = fits(source, true);
      break;
    case CopyKind::deviceToDevice:
      fit = fits(destination, true) && fits(source, true);
      break;
    case CopyKind::byAddress:
      break;
    default:
      return CudaError::invalidMemcpyDirection;
  }
  return fit ? CudaError::success : CudaError::invalidValue;
}

CudaError planCopy(Session& session, const CopyShape& shape, CopyKind kind, Box* box, Side* destination, Side* source) {
  if (static_cast<std::uint32_t>(kind) > static_cast<std::uint32_t>(CopyKind::byAddress)) {
    return CudaError::invalidMemcpyDirection;
  }
  *box = {shape.width, shape.height, shape.depth};
  if (box->empty()) return CudaError::success;
  if (box->height > 1 && (shape.destinationPitch < box->width || shape.sourcePitch < box->width)) {
    return CudaError::invalidPitchValue;
  }
  std::uint64_t destinationPlane = 0, sourcePlane = 0;
  if (box->depth > 1 && (__builtin_mul_overflow(shape.destinationPitch, box->height, &destinationPlane) ||
                         __builtin_mul_overflow(shape.sourcePitch, box->height, &sourcePlane) ||
                         shape.destinationSlicePitch < (box->height > 1 ? destinationPlane : box->width) ||
                         shape.sourceSlicePitch < (box->height > 1 ? sourcePlane : box->width))) {
    return CudaError::invalidValue;
  }
  *destination = {reinterpret_cast<std::uint64_t>(shape.destination), shape.destinationPitch, shape.destinationSlicePitch};
  *source = {reinterpret_cast<std::uint64_t>(shape.source), shape.sourcePitch, shape.sourceSlicePitch};
  if (const CudaError error = locate(session, *box, destination); error != CudaError::success) return error;
  if (const CudaError error = locate(session, *box, source); error != CudaError::success) return error;
  return checkKind(kind, *destination, *source);
}

void simplify(Box& box, Side& a, Side& b) {
  auto tight = [&](std::uint64_t pitchA, std::uint64_t pitchB, std::uint64_t bytes) {
    return pitchA == bytes && pitchB == bytes;
  };
  if (box.depth == 1) {
    a.slicePitch = a.pitch * box.height;
    b.slicePitch = b.pitch * box.height;
  }
  if (box.height == 1) {
    // One row a plane: planes are rows.
    box.height = box.depth;
    box.depth = 1;
    a.pitch = a.slicePitch;
    b.pitch = b.slicePitch;
  }
  if (box.height > 1 && tight(a.pitch, b.pitch, box.width)) {
    box.width *= box.height;
    box.height = box.depth;
    box.depth = 1;
    a.pitch = a.slicePitch;
    b.pitch = b.slicePitch;
    if (box.height > 1 && tight(a.pitch, b.pitch, box.width)) {
      box.width *= box.height;
      box.height = 1;
    }
  }
  if (box.height == 1) a.pitch = b.pitch = box.width;
  if (box.depth == 1) {
    a.slicePitch = a.pitch * box.height;
    b.slicePitch = b.pitch * box.height;
  }
}

void copyRows(const Box& box, std::byte* destination, std::uint64_t destinationPitch,
              std::uint64_t destinationSlicePitch, const std::byte* source, std::uint64_t sourcePitch,
              std::uint64_t sourceSlicePitch) {
  for (std::uint64_t z = 0; z < box.depth; ++z) {
    for (std::uint64_t y = 0; y < box.height; ++y) {
      std::memcpy(destination + z * destinationSlicePitch + y * destinationPitch,
                  source + z * sourceSlicePitch + y * sourcePitch, box.width);
    }
  }
}

}  // namespace rouse::client
