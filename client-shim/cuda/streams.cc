// CUDA Driver API, "Stream Management", "Event Management": handles and flags are the runtime's.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {

CUresult cuStreamCreate(CUstream* phStream, unsigned int Flags) {
  return call([&] { return cudaStreamCreateWithFlags(phStream, Flags); });
}

CUresult cuStreamDestroy_v2(CUstream hStream) {
  return call([&] { return cudaStreamDestroy(hStream); });
}

CUresult cuStreamSynchronize(CUstream hStream) {
  return call([&] { return cudaStreamSynchronize(hStream); });
}

CUresult cuStreamQuery(CUstream hStream) {
  return call([&] { return cudaStreamQuery(hStream); });
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
  return call([&] { return cudaStreamWaitEvent(hStream, hEvent, Flags); });
}

CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) {
  return call([&] { return cudaEventCreateWithFlags(phEvent, Flags); });
}

CUresult cuEventDestroy_v2(CUevent hEvent) {
  return call([&] { return cudaEventDestroy(hEvent); });
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  return call([&] { return cudaEventRecord(hEvent, hStream); });
}

CUresult cuEventSynchronize(CUevent hEvent) {
  return call([&] { return cudaEventSynchronize(hEvent); });
}

CUresult cuEventQuery(CUevent hEvent) {
  return call([&] { return cudaEventQuery(hEvent); });
}

}  // namespace rouse::cuda::impl
