// Copies of all shapes. Pageable memory is treated as drivers do: a source has been read when the call returns, and a
// destination is complete.
#include <cstring>

#include "test/cuda-double/implementations.h"
#include "test/cuda-double/ranges.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double {
namespace {

memory::CopyShape shapeOf(const Rows& to, const Rows& from) {
  memory::CopyShape shape;
  shape.destination = to.base;
  shape.destinationPitch = to.pitch;
  shape.destinationSlicePitch = to.slicePitch;
  shape.source = from.base;
  shape.sourcePitch = from.pitch;
  shape.sourceSlicePitch = from.slicePitch;
  shape.width = from.width;
  shape.height = from.height;
  shape.depth = from.depth;
  return shape;
}

// The bytes, packed, and rows that describe them where they are now.
std::shared_ptr<std::vector<std::byte>> snapshot(Rows& rows) {
  auto bytes = std::make_shared<std::vector<std::byte>>(rows.width * rows.height * rows.depth);
  std::byte* at = bytes->data();
  for (std::uint64_t z = 0; z < rows.depth; ++z) {
    for (std::uint64_t y = 0; y < rows.height; ++y, at += rows.width) {
      std::memcpy(at, reinterpret_cast<const void*>(rows.row(y, z)), rows.width);
    }
  }
  rows.base = reinterpret_cast<std::uint64_t>(bytes->data());
  rows.pitch = rows.width;
  rows.slicePitch = rows.width * rows.height;
  return bytes;
}

CUresult copy(CUstream handle, Rows to, Expect toWhat, Rows from, Expect fromWhat) {
  const auto stream = streamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (from.width == 0 || from.height == 0 || from.depth == 0) return CUDA_SUCCESS;
  const auto source = usable(from, fromWhat, "source", true);
  const auto destination = usable(to, toWhat, "destination");
  if (!source || !destination) return CUDA_ERROR_INVALID_VALUE;

  Operation operation;
  if (destination != MemoryKind::pageable) operation.ranges.push_back(to.span());
  std::shared_ptr<std::vector<std::byte>> kept;
  if (source == MemoryKind::pageable) {
    kept = snapshot(from);
  } else {
    operation.ranges.push_back(from.span());
  }
  operation.run = [raw = stream.get(), shape = shapeOf(to, from), kept] {
    return raw->onDevice([&](memory::Context& context, memory::Stream& queue) { context.copy(queue, shape); });
  };
  stream->push(std::move(operation));
  if (destination != MemoryKind::pageable) return CUDA_SUCCESS;
  stream->drain();
  return stream->context.takeError();
}

Rows linear(std::uint64_t base, std::uint64_t bytes) {
  Rows rows;
  rows.base = base;
  rows.width = bytes;
  return rows;
}

struct Side {
  size_t x, y, z;
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  size_t pitch, height;
};

// Nothing, with a violation, when pitch or height do not hold what they should.
std::optional<Rows> rowsOf(const Side& side, const CUDA_MEMCPY3D& copy, const char* name) {
  const bool several = copy.Height > 1 || copy.Depth > 1;
  if (several && side.pitch < side.x + copy.WidthInBytes) {
    violate("pitch", std::string(name) + ": " + hex(side.pitch) + ", rows end at " + hex(side.x + copy.WidthInBytes));
    return std::nullopt;
  }
  if (copy.Depth > 1 && side.height < side.y + copy.Height) {
    violate("height", std::string(name) + ": " + hex(side.height) + ", slices end at " + hex(side.y + copy.Height));
    return std::nullopt;
  }
  Rows rows;
  rows.pitch = side.pitch;
  rows.slicePitch = side.pitch * side.height;
  rows.base = side.type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uint64_t>(side.host) : side.device;
  rows.base = rows.row(side.y, side.z) + side.x;
  rows.width = copy.WidthInBytes;
  rows.height = copy.Height;
  rows.depth = copy.Depth;
  return rows;
}

std::optional<Expect> expected(CUmemorytype type) {
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      return Expect::host;
    case CU_MEMORYTYPE_DEVICE:
      return Expect::device;
    case CU_MEMORYTYPE_UNIFIED:
      return Expect::any;
    case CU_MEMORYTYPE_ARRAY:
      return Expect::array;
    default:
      return std::nullopt;
  }
}

// A side that is an array becomes memory with the array's pitches. False, with a violation: it does not hold the box.
bool placeIn(CUarray handle, const CUDA_MEMCPY3D& copy3d, Side& side) {
  if (side.type != CU_MEMORYTYPE_ARRAY) return true;
  const auto array = state().arrays.find(handle, "array");
  if (array == nullptr) return false;
  if (side.x + copy3d.WidthInBytes > array->rowBytes() || side.y + copy3d.Height > array->rows() || side.z + copy3d.Depth > array->planes()) {
    violate("beyond-array", hex(side.x) + " + " + hex(copy3d.WidthInBytes) + " bytes, row " + std::to_string(side.y) + " + " + std::to_string(copy3d.Height) + ", plane " +
                                std::to_string(side.z) + " + " + std::to_string(copy3d.Depth));
    return false;
  }
  side.device = array->base();
  side.pitch = array->pitch();
  side.height = array->rows();
  return true;
}

CUresult copy3D(const CUDA_MEMCPY3D& copy3d, CUstream stream) {
  const auto source = expected(copy3d.srcMemoryType), destination = expected(copy3d.dstMemoryType);
  if (!source || !destination) return violation(CUDA_ERROR_INVALID_VALUE, "memory-type", "neither host nor device");
  if (copy3d.reserved0 != nullptr || copy3d.reserved1 != nullptr || copy3d.srcLOD != 0 || copy3d.dstLOD != 0) {
    return violation(CUDA_ERROR_INVALID_VALUE, "reserved", "a reserved field is not 0");
  }
  Side from_{copy3d.srcXInBytes, copy3d.srcY, copy3d.srcZ, copy3d.srcMemoryType, copy3d.srcHost, copy3d.srcDevice, copy3d.srcPitch, copy3d.srcHeight},
      to_{copy3d.dstXInBytes, copy3d.dstY, copy3d.dstZ, copy3d.dstMemoryType, copy3d.dstHost, copy3d.dstDevice, copy3d.dstPitch, copy3d.dstHeight};
  if (!placeIn(copy3d.srcArray, copy3d, from_) || !placeIn(copy3d.dstArray, copy3d, to_)) return CUDA_ERROR_INVALID_VALUE;
  const auto from = rowsOf(from_, copy3d, "source");
  if (!from) return CUDA_ERROR_INVALID_VALUE;
  const auto to = rowsOf(to_, copy3d, "destination");
  if (!to) return CUDA_ERROR_INVALID_VALUE;
  return copy(stream, *to, *destination, *from, *source);
}

}  // namespace

namespace impl {

CUresult cuMemcpyHtoDAsync(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount, CUstream hStream) {
  return copy(hStream, linear(dstDevice, ByteCount), Expect::device,
              linear(reinterpret_cast<std::uint64_t>(srcHost), ByteCount), Expect::host);
}

CUresult cuMemcpyDtoHAsync(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  return copy(hStream, linear(reinterpret_cast<std::uint64_t>(dstHost), ByteCount), Expect::host,
              linear(srcDevice, ByteCount), Expect::device);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  return copy(hStream, linear(dstDevice, ByteCount), Expect::device, linear(srcDevice, ByteCount), Expect::device);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
  return copy(hStream, linear(dst, ByteCount), Expect::any, linear(src, ByteCount), Expect::any);
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  CUDA_MEMCPY3D flat{};
  flat.srcXInBytes = pCopy->srcXInBytes;
  flat.srcY = pCopy->srcY;
  flat.srcMemoryType = pCopy->srcMemoryType;
  flat.srcHost = pCopy->srcHost;
  flat.srcDevice = pCopy->srcDevice;
  flat.srcPitch = pCopy->srcPitch;
  flat.dstXInBytes = pCopy->dstXInBytes;
  flat.dstY = pCopy->dstY;
  flat.dstMemoryType = pCopy->dstMemoryType;
  flat.dstHost = pCopy->dstHost;
  flat.dstDevice = pCopy->dstDevice;
  flat.dstPitch = pCopy->dstPitch;
  flat.WidthInBytes = pCopy->WidthInBytes;
  flat.Height = pCopy->Height;
  flat.Depth = 1;
  return copy3D(flat, hStream);
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* pCopy, CUstream hStream) { return copy3D(*pCopy, hStream); }

}  // namespace impl
}  // namespace rouse::cuda_double
