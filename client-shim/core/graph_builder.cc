#include <algorithm>
#include <cstring>

#include "client-shim/core/copy_plan.h"
#include "client-shim/core/device.h"
#include "client-shim/core/graph_exec.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/session.h"
#include "schemas/wire/encode.h"

namespace rouse::client {
namespace {

// Pageable memory travels through pinned memory of the graph's own, at most this much at a time.
constexpr std::uint64_t kLargestPiece = std::uint64_t{4} << 20;

std::byte* pointerTo(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

// Pinned memory that lives as long as anybody may still use it: the calls that fill or empty it.
std::shared_ptr<std::byte> pinned(Device& device, std::uint64_t bytes) {
  void* memory = nullptr;
  HostHeap& heap = device.session().hostHeap();
  if (heap.allocate(bytes, MemoryKind::pinned, 0, device.index(), &memory) != CudaError::success) return nullptr;
  return {static_cast<std::byte*>(memory), [&heap](std::byte* at) { (void)heap.release(at); }};
}

}  // namespace

std::uint32_t GraphBuilder::add(GraphOperation operation) {
  operations_.push_back(std::move(operation));
  return static_cast<std::uint32_t>(operations_.size() - 1);
}

template <class Command, class... Payload>
std::uint32_t GraphBuilder::command(const After& after, const Command& command, const Payload&... payload) {
  GraphOperation operation{.after = after};
  operation.command.resize(wire::encodedBytes(command, payload...));
  (void)wire::encode(operation.command.data(), command, payload...);
  return add(std::move(operation));
}

CudaError GraphBuilder::launch(const After& after, const Kernel& kernel, const LaunchShape& shape,
                               std::span<const std::byte> block, std::uint32_t* last) {
  std::uint32_t cluster = 0;
  if (const CudaError error = checkLaunch(kernel, shape, &cluster); error != CudaError::success) return error;
  if (&kernel.module->device() != &device_) return CudaError::notSupported;
  if (block.size() != kernel.parameterBytes) return CudaError::invalidValue;
  *last = command(after,
                  wire::Launch{.module = kernel.module->wireHandle(),
                               .function = kernel.index,
                               .flags = shape.cooperative ? 1u : 0u,
                               .grid = {shape.grid.x, shape.grid.y, shape.grid.z},
                               .block = {shape.block.x, shape.block.y, shape.block.z},
                               .sharedBytes = shape.sharedBytes,
                               .cluster = cluster},
                  block);
  return CudaError::success;
}

std::uint32_t GraphBuilder::library(const After& after, std::uint32_t library, std::uint32_t function,
                                    std::span<const std::byte> parameters) {
  return command(after, wire::LibraryCall{.library = library, .function = function}, parameters);
}

std::uint32_t GraphBuilder::call(const After& after, GraphCall call) {
  return add({.after = after, .call = std::make_shared<GraphCall>(std::move(call))});
}

std::uint32_t GraphBuilder::event(const After& after, GraphOperation::EventUse use, std::uint64_t handle) {
  return add({.after = after, .use = use, .event = handle});
}

std::uint32_t GraphBuilder::junction(const After& after) { return add({.after = after}); }

CudaError GraphBuilder::copy(const After& after, const CopyShape& shape, CopyKind kind, std::uint32_t* last, bool* any) {
  Box box;
  Side destination, source;
  const CudaError error = planCopy(device_.session(), shape, kind, &box, &destination, &source);
  if (error != CudaError::success) return error;
  *any = !box.empty();
  if (!*any) return CudaError::success;
  for (const Side* side : {&destination, &source})
    if (side->device != nullptr && side->device != &device_) return CudaError::notSupported;

  const auto onDevice = [&](const After& behind, const Box& part, const Side& to, std::uint64_t toAddress, const Side& from,
                            std::uint64_t fromAddress) {
    if (part.flat()) return command(behind, wire::Copy{.destination = toAddress, .source = fromAddress, .bytes = part.width});
    return command(behind, wire::Copy3D{.destination = toAddress,
                                        .destinationPitch = to.pitch,
                                        .destinationSlicePitch = to.slicePitch,
                                        .source = fromAddress,
                                        .sourcePitch = from.pitch,
                                        .sourceSlicePitch = from.slicePitch,
                                        .width = part.width,
                                        .height = part.height,
                                        .depth = part.depth});
  };
  if (destination.onHost() && source.onHost()) {
    // The program's own addresses: registered memory has two.
    *last = call(after, [box, shape](CudaError status) {
      if (status != CudaError::success) return;
      copyRows(box, static_cast<std::byte*>(shape.destination), shape.destinationPitch, shape.destinationSlicePitch,
               static_cast<const std::byte*>(shape.source), shape.sourcePitch, shape.sourceSlicePitch);
    });
    return CudaError::success;
  }
  simplify(box, destination, source);
  if (destination.kind != MemoryKind::pageable && source.kind != MemoryKind::pageable) {
    *last = onDevice(after, box, destination, destination.address, source, source.address);
    return CudaError::success;
  }

  const std::shared_ptr<std::byte> memory = pinned(device_, std::min(kLargestPiece, box.bytes()));
  if (!memory) return CudaError::memoryAllocation;
  const auto address = reinterpret_cast<std::uint64_t>(memory.get());
  After behind = after;
  forEachPart(box, kLargestPiece, [&](std::uint64_t x, std::uint64_t y, std::uint64_t z, const Box& part) {
    const Side piece{address, part.width, part.width * part.height, MemoryKind::pinned, nullptr};
    if (source.kind == MemoryKind::pageable) {
      const Side from = source;
      const std::uint64_t at = source.at(x, y, z);
      const std::uint32_t filled = call(behind, [memory, part, from, at, piece](CudaError status) {
        if (status == CudaError::success)
          copyRows(part, memory.get(), piece.pitch, piece.slicePitch, pointerTo(at), from.pitch, from.slicePitch);
      });
      *last = onDevice({filled}, part, destination, destination.at(x, y, z), piece, address);
    } else {
      const Side to = destination;
      const std::uint64_t at = destination.at(x, y, z);
      const std::uint32_t copied = onDevice(behind, part, piece, address, source, source.at(x, y, z));
      *last = call({copied}, [memory, part, to, at, piece](CudaError status) {
        if (status == CudaError::success)
          copyRows(part, pointerTo(at), to.pitch, to.slicePitch, memory.get(), piece.pitch, piece.slicePitch);
      });
    }
    behind = {*last};
    return true;
  });
  return CudaError::success;
}

CudaError GraphBuilder::fill(const After& after, void* destination, std::uint64_t pitch, std::uint32_t value,
                             std::uint32_t elementBytes, std::uint64_t width, std::uint64_t height, std::uint32_t* last, bool* any) {
  if (elementBytes != 1 && elementBytes != 2 && elementBytes != 4) return CudaError::invalidValue;
  Box box{0, height, 1};
  if (__builtin_mul_overflow(width, std::uint64_t{elementBytes}, &box.width)) return CudaError::invalidValue;
  *any = !box.empty();
  if (!*any) return CudaError::success;
  Side side{reinterpret_cast<std::uint64_t>(destination), pitch, 0};
  if (side.address % elementBytes != 0 || (height > 1 && (pitch < box.width || pitch % elementBytes != 0)))
    return CudaError::invalidValue;
  if (const CudaError error = locate(device_.session(), box, &side); error != CudaError::success) return error;
  if (side.kind == MemoryKind::pageable) return CudaError::invalidValue;
  if (side.device != nullptr && side.device != &device_) return CudaError::notSupported;
  const bool tight = height == 1 || pitch == box.width;
  if (!tight && elementBytes == 1) {
    *last = command(after, wire::Fill3D{.destination = side.address,
                                        .destinationPitch = pitch,
                                        .destinationSlicePitch = pitch * height,
                                        .width = box.width,
                                        .height = height,
                                        .depth = 1,
                                        .value = value & 0xff});
    return CudaError::success;
  }
  const std::uint64_t rows = tight ? 1 : height;
  After behind = after;
  for (std::uint64_t row = 0; row < rows; ++row) {
    *last = command(behind, wire::Fill{.destination = side.address + row * pitch,
                                       .count = tight ? width * height : width,
                                       .value = value,
                                       .elementBytes = elementBytes});
    behind = {*last};
  }
  return CudaError::success;
}

}  // namespace rouse::client
