// Codes of cudaError_t that only the client ever makes, beside those that cross a process boundary (cuda_error.h).
// Values: CUDA Runtime API, "Data types used by CUDA Runtime".
#pragma once

#include "schemas/base/cuda_error.h"

namespace rouse::client {

inline constexpr CudaError kMapBufferObjectFailed{205};
inline constexpr CudaError kPeerAccessAlreadyEnabled{704};
inline constexpr CudaError kPeerAccessNotEnabled{705};
inline constexpr CudaError kContextIsDestroyed{709};
inline constexpr CudaError kHostMemoryAlreadyRegistered{712};
inline constexpr CudaError kHostMemoryNotRegistered{713};

}  // namespace rouse::client
