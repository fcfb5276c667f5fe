// Memset on device, pinned or managed memory. invalidValue where the range leaves its allocation or lies in pageable
// memory.
#pragma once

#include <cstdint>

#include "client-shim/core/copy.h"
#include "schemas/base/cuda_error.h"

namespace rouse::client {

// `count` elements of 1, 2 or 4 bytes each.
CudaError fill(Stream& stream, void* destination, std::uint32_t value, std::uint32_t elementBytes, std::uint64_t count,
               Completion completion);

// depth planes of height rows of width bytes, each byte set to `value`.
CudaError fill3D(Stream& stream, void* destination, std::uint64_t pitch, std::uint64_t slicePitch, std::uint8_t value,
                 std::uint64_t width, std::uint64_t height, std::uint64_t depth, Completion completion);

}  // namespace rouse::client
