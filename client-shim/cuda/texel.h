// The elements of arrays and textures, as the driver and as the runtime describe them.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace rouse::cuda {

// False: no format that the runtime has (those of several planes, block-compressed and normalised ones).
inline bool texelOf(CUarray_format format, unsigned channels, cudaChannelFormatDesc* texel) {
  int bits = 0;
  cudaChannelFormatKind kind{};
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
      bits = 8, kind = cudaChannelFormatKindUnsigned;
      break;
    case CU_AD_FORMAT_UNSIGNED_INT16:
      bits = 16, kind = cudaChannelFormatKindUnsigned;
      break;
    case CU_AD_FORMAT_UNSIGNED_INT32:
      bits = 32, kind = cudaChannelFormatKindUnsigned;
      break;
    case CU_AD_FORMAT_SIGNED_INT8:
      bits = 8, kind = cudaChannelFormatKindSigned;
      break;
    case CU_AD_FORMAT_SIGNED_INT16:
      bits = 16, kind = cudaChannelFormatKindSigned;
      break;
    case CU_AD_FORMAT_SIGNED_INT32:
      bits = 32, kind = cudaChannelFormatKindSigned;
      break;
    case CU_AD_FORMAT_HALF:
      bits = 16, kind = cudaChannelFormatKindFloat;
      break;
    case CU_AD_FORMAT_FLOAT:
      bits = 32, kind = cudaChannelFormatKindFloat;
      break;
    default:
      return false;
  }
  if (channels != 1 && channels != 2 && channels != 4) return false;
  *texel = {bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 2 ? bits : 0, kind};
  return true;
}

inline CUarray_format formatOf(const cudaChannelFormatDesc& texel) {
  switch (texel.f) {
    case cudaChannelFormatKindSigned:
      return texel.x == 8 ? CU_AD_FORMAT_SIGNED_INT8 : texel.x == 16 ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_SIGNED_INT32;
    case cudaChannelFormatKindFloat:
      return texel.x == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
    default:
      return texel.x == 8 ? CU_AD_FORMAT_UNSIGNED_INT8 : texel.x == 16 ? CU_AD_FORMAT_UNSIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT32;
  }
}

inline unsigned channelsOf(const cudaChannelFormatDesc& texel) { return texel.w != 0 ? 4 : texel.y != 0 ? 2 : 1; }

inline std::size_t texelBytes(const cudaChannelFormatDesc& texel) { return static_cast<std::size_t>(texel.x + texel.y + texel.z + texel.w) / 8; }

}  // namespace rouse::cuda
