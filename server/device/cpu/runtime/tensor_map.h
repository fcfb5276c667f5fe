// Tensor maps of the CPU device: what of a tensor a kernel copies by one, checked when it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "schemas/base/result.h"
#include "schemas/wire/tensor_map.h"

namespace rouse::cpu {

// What elements are, for what is not their size alone: filling with NaN, and reductions.
enum class TensorElement : std::uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16 };
constexpr std::uint32_t bytesOf(TensorElement element) {
  constexpr std::uint8_t kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
  return kBytes[static_cast<std::size_t>(element)];
}

// A tile of a tensor of `rank` dimensions, the innermost first.
struct TensorTile {
  std::uint64_t address = 0;
  std::uint64_t dims[wire::kMaxTensorRank] = {};         // elements
  std::uint64_t strides[wire::kMaxTensorRank] = {};      // bytes; the first is an element's
  std::uint32_t counts[wire::kMaxTensorRank] = {};       // elements that are copied, which lie ...
  std::uint32_t steps[wire::kMaxTensorRank] = {};        // ... so many apart
  std::uint32_t rank = 0;
  TensorElement element = TensorElement::u8;
  std::uint32_t swizzleBytes = 0;  // pieces of 16 bytes are exchanged within so many: 32, 64, 128; 0: not
  bool fillsWithNan = false;
};

// invalidValue: what CUDA's driver refuses (CUDA Driver API, cuTensorMapEncodeTiled). notSupported: columns of images (im2col), interleaved layouts, packed
// elements of less than a byte, the ways to swizzle that sm_90 has not.
Result<wire::TensorMap> encodeTensorMap(const wire::TensorMapRequest& request);
// None: it is not what encodeTensorMap() has made.
std::optional<TensorTile> decodeTensorMap(const wire::TensorMap& map);

// What a kernel may change of a map (PTX ISA, "tensormap.replace").
enum class TensorMapField : std::uint32_t { address, rank, box, dim, stride, elementStride, type, interleave, swizzle, fill };
// The map at `map`, in a kernel's memory: a fault is the kernel's. The rank counts from 0, types and layouts are the ISA's numbers, strides bytes. What is not covered, or wrong, is noticed by
// who copies by the map; it need not be one. False: none has such a dimension.
bool replaceInTensorMap(std::byte* map, TensorMapField field, std::uint32_t dimension, std::uint64_t value);

}  // namespace rouse::cpu
