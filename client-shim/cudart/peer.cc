// CUDA Runtime API, "Peer Device Memory Access". A kernel on one virtual device never reaches the memory of another:
// each has its own executor. Copies between devices need no such access and always work.
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {

cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  client::Device* found = nullptr;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = findDevice(peerDevice, &found); error != cudaSuccess) return error;
  *canAccessPeer = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
  client::Device* found = nullptr;
  if (flags != 0) return cudaErrorInvalidValue;
  if (const cudaError_t error = findDevice(peerDevice, &found); error != cudaSuccess) return error;
  return found == &currentDevice() ? cudaErrorInvalidDevice : cudaErrorPeerAccessUnsupported;
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice) {
  client::Device* found = nullptr;
  if (const cudaError_t error = findDevice(peerDevice, &found); error != cudaSuccess) return error;
  return cudaErrorPeerAccessNotEnabled;
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attr, int srcDevice, int dstDevice) {
  client::Device* source = nullptr;
  client::Device* destination = nullptr;
  if (const cudaError_t error = findDevice(srcDevice, &source); error != cudaSuccess) return error;
  if (const cudaError_t error = findDevice(dstDevice, &destination); error != cudaSuccess) return error;
  if (source == destination) return cudaErrorInvalidDevice;
  if (attr < cudaDevP2PAttrPerformanceRank || attr > cudaDevP2PAttrOnlyPartialNativeAtomicSupported) {
    return cudaErrorInvalidValue;
  }
  *value = 0;
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
