// CUDA Driver API, "Memory Management": copies of planes and boxes.
#include "client-shim/cuda/box_copies.h"

#include <algorithm>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/cuda/texel.h"

// Of the runtime for programs with per-thread default streams; its header gives them this name only there.
extern "C" cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms* p);

namespace rouse::cuda {
namespace {

// One side of a copy.
struct Operand {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  std::size_t x, y, z, lod, pitch, height;
};

bool onHost(const Operand& side) { return side.type == CU_MEMORYTYPE_HOST; }

cudaMemcpyKind kindOf(const Operand& from, const Operand& to) {
  if (from.type == CU_MEMORYTYPE_UNIFIED || to.type == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
  if (onHost(from)) return onHost(to) ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  return onHost(to) ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

// Memory begins where the box does; in an array the box has a place, in elements.
CUresult place(const Operand& side, const CUDA_MEMCPY3D& copy, std::size_t* element, cudaArray_t* array, cudaPos* position, cudaPitchedPtr* memory) {
  if (side.lod != 0) return CUDA_ERROR_INVALID_VALUE;
  if (side.type == CU_MEMORYTYPE_ARRAY) {
    cudaChannelFormatDesc texel;
    const auto named = reinterpret_cast<cudaArray_t>(side.array);
    if (const CUresult error = call([&] { return cudaGetChannelDesc(&texel, named); }); error != CUDA_SUCCESS) return error;
    const std::size_t bytes = texelBytes(texel);
    if (side.x % bytes != 0 || copy.WidthInBytes % bytes != 0) return CUDA_ERROR_INVALID_VALUE;
    *element = bytes;
    *array = named;
    *position = {side.x / bytes, side.y, side.z};
    return CUDA_SUCCESS;
  }
  if (side.type != CU_MEMORYTYPE_HOST && side.type != CU_MEMORYTYPE_DEVICE && side.type != CU_MEMORYTYPE_UNIFIED) return CUDA_ERROR_INVALID_VALUE;
  std::size_t row = 0;
  if (__builtin_add_overflow(side.x, copy.WidthInBytes, &row)) return CUDA_ERROR_INVALID_VALUE;
  // A pitch and a height that nothing is counted by may be left out.
  if (side.pitch < row && (side.pitch != 0 || copy.Height > 1)) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t pitch = side.pitch != 0 ? side.pitch : row, height = side.height != 0 ? side.height : copy.Height;
  if (copy.Depth > 1 && (side.height < copy.Height || side.height - copy.Height < side.y)) return CUDA_ERROR_INVALID_VALUE;
  const CUdeviceptr begin = onHost(side) ? address(side.host) : side.device;
  std::size_t rows = 0, offset = 0;
  if (__builtin_mul_overflow(side.z, height, &rows) || __builtin_add_overflow(rows, side.y, &rows) || __builtin_mul_overflow(rows, pitch, &offset) ||
      __builtin_add_overflow(offset, side.x, &offset)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *memory = {begin != 0 ? pointer(begin + offset) : nullptr, pitch, copy.WidthInBytes, height};
  return CUDA_SUCCESS;
}

CUDA_MEMCPY3D boxOfPlane(const CUDA_MEMCPY2D& plane) {
  CUDA_MEMCPY3D box{};
  box.srcXInBytes = plane.srcXInBytes;
  box.srcY = plane.srcY;
  box.srcMemoryType = plane.srcMemoryType;
  box.srcHost = plane.srcHost;
  box.srcDevice = plane.srcDevice;
  box.srcArray = plane.srcArray;
  box.srcPitch = plane.srcPitch;
  box.dstXInBytes = plane.dstXInBytes;
  box.dstY = plane.dstY;
  box.dstMemoryType = plane.dstMemoryType;
  box.dstHost = plane.dstHost;
  box.dstDevice = plane.dstDevice;
  box.dstArray = plane.dstArray;
  box.dstPitch = plane.dstPitch;
  box.WidthInBytes = plane.WidthInBytes;
  box.Height = plane.Height;
  box.Depth = 1;
  return box;
}

// The runtime's peer copies name devices; here addresses say where memory lies, so that contexts only have to be there.
CUresult boxOfPeers(const CUDA_MEMCPY3D_PEER& peers, CUDA_MEMCPY3D* box) {
  for (const CUcontext context : {peers.srcContext, peers.dstContext}) {
    const Context* const found = findContext(context);
    if (found == nullptr || found->destroyed) return CUDA_ERROR_INVALID_CONTEXT;
  }
  *box = {};
  box->srcXInBytes = peers.srcXInBytes;
  box->srcY = peers.srcY;
  box->srcZ = peers.srcZ;
  box->srcLOD = peers.srcLOD;
  box->srcMemoryType = peers.srcMemoryType;
  box->srcHost = peers.srcHost;
  box->srcDevice = peers.srcDevice;
  box->srcArray = peers.srcArray;
  box->srcPitch = peers.srcPitch;
  box->srcHeight = peers.srcHeight;
  box->dstXInBytes = peers.dstXInBytes;
  box->dstY = peers.dstY;
  box->dstZ = peers.dstZ;
  box->dstLOD = peers.dstLOD;
  box->dstMemoryType = peers.dstMemoryType;
  box->dstHost = peers.dstHost;
  box->dstDevice = peers.dstDevice;
  box->dstArray = peers.dstArray;
  box->dstPitch = peers.dstPitch;
  box->dstHeight = peers.dstHeight;
  box->WidthInBytes = peers.WidthInBytes;
  box->Height = peers.Height;
  box->Depth = peers.Depth;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult boxOf(const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms* box) {
  const Operand from{copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcArray, copy.srcXInBytes, copy.srcY, copy.srcZ, copy.srcLOD, copy.srcPitch,
                     copy.srcHeight};
  const Operand to{copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstArray, copy.dstXInBytes, copy.dstY, copy.dstZ, copy.dstLOD, copy.dstPitch,
                   copy.dstHeight};
  *box = {};
  std::size_t fromElement = 0, toElement = 0;
  if (const CUresult error = place(from, copy, &fromElement, &box->srcArray, &box->srcPos, &box->srcPtr); error != CUDA_SUCCESS) return error;
  if (const CUresult error = place(to, copy, &toElement, &box->dstArray, &box->dstPos, &box->dstPtr); error != CUDA_SUCCESS) return error;
  if (fromElement != 0 && toElement != 0 && fromElement != toElement) return CUDA_ERROR_INVALID_VALUE;
  box->extent = {copy.WidthInBytes / std::max<std::size_t>({fromElement, toElement, 1}), copy.Height, copy.Depth};
  box->kind = kindOf(from, to);
  return CUDA_SUCCESS;
}

CUresult copyOf(const cudaMemcpy3DParms& box, CUDA_MEMCPY3D* copy) {
  std::size_t element = 1;
  for (const cudaArray_t array : {box.srcArray, box.dstArray}) {
    cudaChannelFormatDesc texel;
    if (array == nullptr) continue;
    if (const CUresult error = call([&] { return cudaGetChannelDesc(&texel, array); }); error != CUDA_SUCCESS) return error;
    element = texelBytes(texel);
  }
  const auto typeOf = [&](bool isArray, cudaMemcpyKind ofHost) {
    if (isArray) return CU_MEMORYTYPE_ARRAY;
    if (box.kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
    return box.kind == cudaMemcpyHostToHost || box.kind == ofHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  };
  *copy = {};
  copy->srcMemoryType = typeOf(box.srcArray != nullptr, cudaMemcpyHostToDevice);
  copy->dstMemoryType = typeOf(box.dstArray != nullptr, cudaMemcpyDeviceToHost);
  copy->srcXInBytes = box.srcPos.x * (box.srcArray != nullptr ? element : 1);
  copy->srcY = box.srcPos.y;
  copy->srcZ = box.srcPos.z;
  copy->dstXInBytes = box.dstPos.x * (box.dstArray != nullptr ? element : 1);
  copy->dstY = box.dstPos.y;
  copy->dstZ = box.dstPos.z;
  copy->srcArray = reinterpret_cast<CUarray>(box.srcArray);
  copy->dstArray = reinterpret_cast<CUarray>(box.dstArray);
  if (copy->srcMemoryType == CU_MEMORYTYPE_HOST)
    copy->srcHost = box.srcPtr.ptr;
  else
    copy->srcDevice = address(box.srcPtr.ptr);
  if (copy->dstMemoryType == CU_MEMORYTYPE_HOST)
    copy->dstHost = box.dstPtr.ptr;
  else
    copy->dstDevice = address(box.dstPtr.ptr);
  copy->srcPitch = box.srcPtr.pitch;
  copy->srcHeight = box.srcPtr.ysize;
  copy->dstPitch = box.dstPtr.pitch;
  copy->dstHeight = box.dstPtr.ysize;
  copy->WidthInBytes = box.extent.width * element;
  copy->Height = box.extent.height;
  copy->Depth = box.extent.depth;
  return CUDA_SUCCESS;
}

CUresult copyBox(const CUDA_MEMCPY3D& copy, CUstream stream, bool finished) {
  cudaMemcpy3DParms box;
  if (const CUresult error = boxOf(copy, &box); error != CUDA_SUCCESS) return error;
  return call([&] {
    if (!finished) return cudaMemcpy3DAsync(&box, stream);
    return stream == CU_STREAM_PER_THREAD ? cudaMemcpy3D_ptds(&box) : cudaMemcpy3D(&box);
  });
}

namespace impl {

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* pCopy, CUstream defaultStream) {
  return pCopy != nullptr ? copyBox(boxOfPlane(*pCopy), defaultStream, true) : CUDA_ERROR_INVALID_VALUE;
}

// Any alignment will do, in both.
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* pCopy, CUstream defaultStream) { return impl::cuMemcpy2D_v2(pCopy, defaultStream); }

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  return pCopy != nullptr ? copyBox(boxOfPlane(*pCopy), hStream, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* pCopy, CUstream defaultStream) {
  return pCopy != nullptr ? copyBox(*pCopy, defaultStream, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* pCopy, CUstream hStream) {
  return pCopy != nullptr ? copyBox(*pCopy, hStream, false) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* pCopy, CUstream defaultStream) {
  CUDA_MEMCPY3D box;
  if (pCopy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = boxOfPeers(*pCopy, &box); error != CUDA_SUCCESS) return error;
  return copyBox(box, defaultStream, true);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* pCopy, CUstream hStream) {
  CUDA_MEMCPY3D box;
  if (pCopy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = boxOfPeers(*pCopy, &box); error != CUDA_SUCCESS) return error;
  return copyBox(box, hStream, false);
}

}  // namespace impl
}  // namespace rouse::cuda
