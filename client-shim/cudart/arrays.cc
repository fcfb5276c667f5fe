// CUDA Runtime API, "Memory Management": arrays.
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"
#include "client-shim/cudart/texture/array.h"

namespace rouse::cudart::impl {
namespace {

cudaError_t make(cudaArray_t* made, const cudaChannelFormatDesc& format, cudaExtent extent, unsigned flags) {
  texture::Array* array = nullptr;
  const cudaError_t error = texture::makeArray(currentDevice(), format, extent, flags, &array);
  if (error == cudaSuccess) *made = array->handle();
  return error;
}

}  // namespace

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, size_t width, size_t height, unsigned int flags) {
  return make(array, *desc, {width, height, 0}, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, cudaExtent extent, unsigned int flags) {
  return make(array, *desc, extent, flags);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* mipmappedArray, const cudaChannelFormatDesc* desc, cudaExtent extent,
                                     unsigned int numLevels, unsigned int flags) {
  texture::Mipmapped* made = nullptr;
  const cudaError_t error = texture::makeMipmapped(currentDevice(), *desc, extent, numLevels, flags, &made);
  if (error == cudaSuccess) *mipmappedArray = reinterpret_cast<cudaMipmappedArray_t>(made);
  return error;
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* levelArray, cudaMipmappedArray_const_t mipmappedArray, unsigned int level) {
  texture::Mipmapped* found = texture::findMipmapped(mipmappedArray);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  if (level >= found->levels.size()) return cudaErrorInvalidValue;
  *levelArray = found->levels[level]->handle();
  return cudaSuccess;
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  if (array == nullptr) return cudaSuccess;
  texture::Array* found = texture::findArray(array);
  return found != nullptr ? texture::destroy(found) : cudaErrorContextIsDestroyed;
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray) {
  if (mipmappedArray == nullptr) return cudaSuccess;
  texture::Mipmapped* found = texture::findMipmapped(mipmappedArray);
  return found != nullptr ? texture::destroy(found) : cudaErrorContextIsDestroyed;
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned int* flags, cudaArray_t array) {
  const texture::Array* found = texture::findArray(array);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  if (desc != nullptr) *desc = found->format;
  if (extent != nullptr) *extent = found->extent;
  if (flags != nullptr) *flags = found->flags;
  return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* desc, cudaArray_const_t array) {
  const texture::Array* found = texture::findArray(array);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  *desc = found->format;
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
