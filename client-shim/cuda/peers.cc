// CUDA Driver API, "Peer Context Memory Access".
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {

CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  return call([&] { return cudaDeviceCanAccessPeer(canAccessPeer, dev, peerDev); });
}

// The attributes' numbers are the same.
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice) {
  return call([&] { return cudaDeviceGetP2PAttribute(value, static_cast<cudaDeviceP2PAttr>(attrib), srcDevice, dstDevice); });
}

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
  const Context* const peer = findContext(peerContext);
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (peer == nullptr || peer->destroyed || peer == currentContext()) return CUDA_ERROR_INVALID_CONTEXT;
  if (peer->device == currentContext()->device) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  return call([&] { return cudaDeviceEnablePeerAccess(peer->device, 0); });
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  const Context* const peer = findContext(peerContext);
  if (peer == nullptr || peer->destroyed) return CUDA_ERROR_INVALID_CONTEXT;
  return call([&] { return cudaDeviceDisablePeerAccess(peer->device); });
}

}  // namespace rouse::cuda::impl
