// CUDA Driver API, "Memory Management": fills. Widths and counts are elements, whose size the address and the pitch are multiples of.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/library/driver_host.h"

namespace rouse::cuda::impl {
namespace {

template <class Element>
CUresult fill(CUdeviceptr destination, Element value, std::size_t count, CUstream stream, bool finished) {
  const client::FillBox box{pointer(destination), count * sizeof value, value, sizeof value, count, 1};
  return toDriver(static_cast<cudaError_t>(client::driverHost()->fill(box, stream, finished)));
}

template <class Element>
CUresult fillRows(CUdeviceptr destination, std::size_t pitch, Element value, std::size_t width, std::size_t height, CUstream stream, bool finished) {
  const client::FillBox box{pointer(destination), pitch, value, sizeof value, width, height};
  return toDriver(static_cast<cudaError_t>(client::driverHost()->fill(box, stream, finished)));
}

}  // namespace

CUresult cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream defaultStream) { return fill(dstDevice, uc, N, defaultStream, true); }
CUresult cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream defaultStream) { return fill(dstDevice, us, N, defaultStream, true); }
CUresult cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream defaultStream) { return fill(dstDevice, ui, N, defaultStream, true); }

CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) { return fill(dstDevice, uc, N, hStream, false); }
CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) { return fill(dstDevice, us, N, hStream, false); }
CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) { return fill(dstDevice, ui, N, hStream, false); }

CUresult cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height, CUstream defaultStream) {
  return fillRows(dstDevice, dstPitch, uc, Width, Height, defaultStream, true);
}

CUresult cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height, CUstream defaultStream) {
  return fillRows(dstDevice, dstPitch, us, Width, Height, defaultStream, true);
}

CUresult cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height, CUstream defaultStream) {
  return fillRows(dstDevice, dstPitch, ui, Width, Height, defaultStream, true);
}

CUresult cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height, CUstream hStream) {
  return fillRows(dstDevice, dstPitch, uc, Width, Height, hStream, false);
}

CUresult cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height, CUstream hStream) {
  return fillRows(dstDevice, dstPitch, us, Width, Height, hStream, false);
}

CUresult cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height, CUstream hStream) {
  return fillRows(dstDevice, dstPitch, ui, Width, Height, hStream, false);
}

// A fill of one word: what was queued on the stream before is done, and seen, when it is written, with the barrier or without.
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags) {
  if ((flags & ~static_cast<unsigned>(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)) != 0) return CUDA_ERROR_INVALID_VALUE;
  return fill(addr, value, 1, stream, false);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags) {
  return impl::cuStreamWriteValue32_v2(stream, addr, value, flags);
}

}  // namespace rouse::cuda::impl
