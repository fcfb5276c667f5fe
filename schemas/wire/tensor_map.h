// What a program says of a tensor map (CUDA Driver API, "Tensor Map Object Management"): the client sends it, the device's driver, or the CPU device, makes of it what kernels take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rouse::wire {

inline constexpr std::uint32_t kMaxTensorRank = 5;

// As programs hold it (CUtensorMap); what is in it is the device's own affair.
using TensorMap = std::array<std::byte, 128>;

enum class TensorMapKind : std::uint32_t {
  tiled,           // cuTensorMapEncodeTiled
  im2col,          // cuTensorMapEncodeIm2col
  replaceAddress,  // cuTensorMapReplaceAddress: `map` with `address`; nothing else is said
};

// Enumerations are the driver's by number. The first dimension is the innermost one.
struct TensorMapRequest {
  std::uint64_t address = 0;
  std::uint64_t dims[kMaxTensorRank] = {};         // elements
  std::uint64_t strides[kMaxTensorRank - 1] = {};  // bytes, of all dimensions but the first
  TensorMapKind kind = TensorMapKind::tiled;
  std::uint32_t type = 0;  // CUtensorMapDataType
  std::uint32_t rank = 0;
  std::uint32_t interleave = 0, swizzle = 0, promotion = 0, fill = 0;
  std::uint32_t box[kMaxTensorRank] = {};  // tiled: elements
  std::uint32_t elementStrides[kMaxTensorRank] = {};
  std::int32_t lower[kMaxTensorRank - 2] = {}, upper[kMaxTensorRank - 2] = {};  // im2col: corners of the box of pixels
  std::uint32_t channels = 0, pixels = 0;                                      // im2col: of a pixel, and of a column
  std::uint32_t reserved = 0;
  TensorMap map{};
};
static_assert(std::is_trivially_copyable_v<TensorMapRequest> && sizeof(TensorMapRequest) == 312);
static_assert(std::has_unique_object_representations_v<TensorMapRequest>);  // two that say the same are the same bytes

}  // namespace rouse::wire
