#include "client-shim/core/fill.h"

#include "client-shim/core/command_queue.h"
#include "client-shim/core/copy_engines.h"
#include "client-shim/core/copy_plan.h"
#include "client-shim/core/device.h"
#include "client-shim/core/session.h"
#include "client-shim/core/stream.h"

namespace rouse::client {

namespace {

// Queues the command on the device whose memory it is, in the order of the stream.
template <class Command>
CudaError queueFill(Stream& stream, const Side& side, const Command& command, Completion completion) {
  Device& device = stream.device();
  if (side.device == nullptr || side.device == &device) {
    device.queue().put(stream, command);
    // CUDA Runtime API, "API synchronization behavior", Memset: asynchronous unless the target is pinned host memory.
    return completion == Completion::finished && side.onHost() ? stream.synchronize() : CudaError::success;
  }
  Stream* taken = nullptr;
  if (const CudaError error = detour(stream, *side.device, &taken); error != CudaError::success) return error;
  side.device->queue().put(*taken, command);
  rejoin(stream, *taken);
  return CudaError::success;
}

CudaError locateTarget(Stream& stream, const Box& box, Side* side) {
  if (const CudaError error = locate(stream.device().session(), box, side); error != CudaError::success) return error;
  return side->kind == MemoryKind::pageable ? CudaError::invalidValue : CudaError::success;
}

}  // namespace

CudaError fill(Stream& stream, void* destination, std::uint32_t value, std::uint32_t elementBytes, std::uint64_t count,
               Completion completion) {
  if (const CudaError error = stream.device().asyncError(); error != CudaError::success) return error;
  if (elementBytes != 1 && elementBytes != 2 && elementBytes != 4) return CudaError::invalidValue;
  if (count == 0) return CudaError::success;
  Side side{reinterpret_cast<std::uint64_t>(destination)};
  if (side.address % elementBytes != 0) return CudaError::invalidValue;
  Box box;
  if (__builtin_mul_overflow(count, std::uint64_t{elementBytes}, &box.width)) return CudaError::invalidValue;
  if (const CudaError error = locateTarget(stream, box, &side); error != CudaError::success) return error;
  return queueFill(
      stream, side,
      wire::Fill{.destination = side.address, .count = count, .value = value, .elementBytes = elementBytes},
      completion);
}

CudaError fill3D(Stream& stream, void* destination, std::uint64_t pitch, std::uint64_t slicePitch, std::uint8_t value,
                 std::uint64_t width, std::uint64_t height, std::uint64_t depth, Completion completion) {
  if (const CudaError error = stream.device().asyncError(); error != CudaError::success) return error;
  Box box{width, height, depth};
  if (box.empty()) return CudaError::success;
  if (height > 1 && pitch < width) return CudaError::invalidPitchValue;
  std::uint64_t plane = 0;
  if (depth > 1 && (__builtin_mul_overflow(pitch, height, &plane) || slicePitch < (height > 1 ? plane : width))) {
    return CudaError::invalidValue;
  }
  Side side{reinterpret_cast<std::uint64_t>(destination), pitch, slicePitch};
  if (const CudaError error = locateTarget(stream, box, &side); error != CudaError::success) return error;
  Side same = side;
  simplify(box, side, same);
  if (box.flat()) {
    return queueFill(stream, side,
                     wire::Fill{.destination = side.address, .count = box.width, .value = value, .elementBytes = 1},
                     completion);
  }
  return queueFill(stream, side,
                   wire::Fill3D{.destination = side.address,
                                .destinationPitch = side.pitch,
                                .destinationSlicePitch = side.slicePitch,
                                .width = box.width,
                                .height = box.height,
                                .depth = box.depth,
                                .value = value},
                   completion);
}

}  // namespace rouse::client
