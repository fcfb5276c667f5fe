// CUDA Driver API, "Event Management": handles and flags are the runtime's.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {

CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) {
  const CUresult error = call([&] { return cudaEventCreateWithFlags(phEvent, Flags); });
  if (error == CUDA_SUCCESS) own(Owned::event, *phEvent);
  return error;
}

CUresult cuEventDestroy_v2(CUevent hEvent) {
  disown(Owned::event, hEvent);
  return call([&] { return cudaEventDestroy(hEvent); });
}

CUresult cuEventDestroy(CUevent hEvent) { return impl::cuEventDestroy_v2(hEvent); }

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  return call([&] { return cudaEventRecord(hEvent, hStream); });
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
  return call([&] { return cudaEventRecordWithFlags(hEvent, hStream, flags); });
}

CUresult cuEventSynchronize(CUevent hEvent) {
  return call([&] { return cudaEventSynchronize(hEvent); });
}

CUresult cuEventQuery(CUevent hEvent) {
  return call([&] { return cudaEventQuery(hEvent); });
}

CUresult cuEventElapsedTime_v2(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return call([&] { return cudaEventElapsedTime(pMilliseconds, hStart, hEnd); });
}

CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) { return impl::cuEventElapsedTime_v2(pMilliseconds, hStart, hEnd); }

}  // namespace rouse::cuda::impl
