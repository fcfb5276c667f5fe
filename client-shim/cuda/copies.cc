// CUDA Driver API, "Memory Management": copies of one range.
#include "client-shim/cuda/box_copies.h"
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"

// Of the runtime for programs with per-thread default streams; its header gives them this name only there.
extern "C" cudaError_t cudaMemcpy_ptds(void* dst, const void* src, size_t count, cudaMemcpyKind kind);

namespace rouse::cuda::impl {
namespace {

CUresult copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, CUstream defaultStream) {
  return call([&] { return defaultStream == CU_STREAM_PER_THREAD ? cudaMemcpy_ptds(to, from, bytes, kind) : cudaMemcpy(to, from, bytes, kind); });
}

CUresult copyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, CUstream stream) {
  return call([&] { return cudaMemcpyAsync(to, from, bytes, kind, stream); });
}

// Both contexts have to be there; addresses say where memory lies.
CUresult devicesOf(CUcontext to, CUcontext from, int* toDevice, int* fromDevice) {
  const Context *const toContext = findContext(to), *const fromContext = findContext(from);
  if (toContext == nullptr || fromContext == nullptr || toContext->destroyed || fromContext->destroyed) return CUDA_ERROR_INVALID_CONTEXT;
  *toDevice = toContext->device;
  *fromDevice = fromContext->device;
  return CUDA_SUCCESS;
}

// A row of an array of one dimension.
CUDA_MEMCPY3D row(std::size_t bytes) {
  CUDA_MEMCPY3D box{};
  box.WidthInBytes = bytes;
  box.Height = box.Depth = 1;
  return box;
}

void fromArray(CUDA_MEMCPY3D* box, CUarray array, std::size_t offset) {
  box->srcMemoryType = CU_MEMORYTYPE_ARRAY;
  box->srcArray = array;
  box->srcXInBytes = offset;
}

void toArray(CUDA_MEMCPY3D* box, CUarray array, std::size_t offset) {
  box->dstMemoryType = CU_MEMORYTYPE_ARRAY;
  box->dstArray = array;
  box->dstXInBytes = offset;
}

CUDA_MEMCPY3D hostToArray(CUarray array, std::size_t offset, const void* host, std::size_t bytes) {
  CUDA_MEMCPY3D box = row(bytes);
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = host;
  toArray(&box, array, offset);
  return box;
}

CUDA_MEMCPY3D arrayToHost(void* host, CUarray array, std::size_t offset, std::size_t bytes) {
  CUDA_MEMCPY3D box = row(bytes);
  box.dstMemoryType = CU_MEMORYTYPE_HOST;
  box.dstHost = host;
  fromArray(&box, array, offset);
  return box;
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream defaultStream) {
  return copy(pointer(dst), pointer(src), ByteCount, cudaMemcpyDefault, defaultStream);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
  return copyAsync(pointer(dst), pointer(src), ByteCount, cudaMemcpyDefault, hStream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount, CUstream defaultStream) {
  return copy(pointer(dstDevice), srcHost, ByteCount, cudaMemcpyHostToDevice, defaultStream);
}

CUresult cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream defaultStream) {
  return copy(dstHost, pointer(srcDevice), ByteCount, cudaMemcpyDeviceToHost, defaultStream);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream defaultStream) {
  return copy(pointer(dstDevice), pointer(srcDevice), ByteCount, cudaMemcpyDeviceToDevice, defaultStream);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount, CUstream hStream) {
  return copyAsync(pointer(dstDevice), srcHost, ByteCount, cudaMemcpyHostToDevice, hStream);
}

CUresult cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  return copyAsync(dstHost, pointer(srcDevice), ByteCount, cudaMemcpyDeviceToHost, hStream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) {
  return copyAsync(pointer(dstDevice), pointer(srcDevice), ByteCount, cudaMemcpyDeviceToDevice, hStream);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                           CUstream hStream) {
  int to = 0, from = 0;
  if (const CUresult error = devicesOf(dstContext, srcContext, &to, &from); error != CUDA_SUCCESS) return error;
  return call([&] { return cudaMemcpyPeerAsync(pointer(dstDevice), to, pointer(srcDevice), from, ByteCount, hStream); });
}

CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                      CUstream defaultStream) {
  int to = 0, from = 0;
  if (const CUresult error = devicesOf(dstContext, srcContext, &to, &from); error != CUDA_SUCCESS) return error;
  return copy(pointer(dstDevice), pointer(srcDevice), ByteCount, cudaMemcpyDefault, defaultStream);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count, CUmemcpyAttributes* attrs, size_t* attrsIdxs,
                               size_t numAttrs, CUstream hStream) {
  static_assert(sizeof(CUmemcpyAttributes) == sizeof(cudaMemcpyAttributes));
  return call([&] {
    return cudaMemcpyBatchAsync(reinterpret_cast<void* const*>(dsts), reinterpret_cast<const void* const*>(srcs), sizes, count,
                                reinterpret_cast<cudaMemcpyAttributes*>(attrs), attrsIdxs, numAttrs, hStream);
  });
}

// SIZE_MAX: the failure is of no single copy, or not known to be.
CUresult cuMemcpyBatchAsync(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count, CUmemcpyAttributes* attrs, size_t* attrsIdxs,
                            size_t numAttrs, size_t* failIdx, CUstream hStream) {
  const CUresult error = impl::cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream);
  if (error != CUDA_SUCCESS && failIdx != nullptr) *failIdx = SIZE_MAX;
  return error;
}

CUresult cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount, CUstream defaultStream) {
  return copyBox(hostToArray(dstArray, dstOffset, srcHost, ByteCount), defaultStream, true);
}

CUresult cuMemcpyAtoH_v2(void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream defaultStream) {
  return copyBox(arrayToHost(dstHost, srcArray, srcOffset, ByteCount), defaultStream, true);
}

CUresult cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount, CUstream hStream) {
  return copyBox(hostToArray(dstArray, dstOffset, srcHost, ByteCount), hStream, false);
}

CUresult cuMemcpyAtoHAsync_v2(void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream hStream) {
  return copyBox(arrayToHost(dstHost, srcArray, srcOffset, ByteCount), hStream, false);
}

CUresult cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount, CUstream defaultStream) {
  CUDA_MEMCPY3D box = row(ByteCount);
  box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = srcDevice;
  toArray(&box, dstArray, dstOffset);
  return copyBox(box, defaultStream, true);
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream defaultStream) {
  CUDA_MEMCPY3D box = row(ByteCount);
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = dstDevice;
  fromArray(&box, srcArray, srcOffset);
  return copyBox(box, defaultStream, true);
}

CUresult cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset, size_t ByteCount, CUstream defaultStream) {
  CUDA_MEMCPY3D box = row(ByteCount);
  fromArray(&box, srcArray, srcOffset);
  toArray(&box, dstArray, dstOffset);
  return copyBox(box, defaultStream, true);
}

}  // namespace rouse::cuda::impl
