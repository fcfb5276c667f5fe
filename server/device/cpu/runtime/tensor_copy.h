// Copies of tiles of tensors between global and shared memory, by tensor maps, and reductions in bulk (PTX ISA, "cp.async.bulk.tensor", "cp.reduce.async.bulk", "cp.reduce.async.bulk.tensor"; CUDA C++ Programming Guide, "Tensor Memory Access").
//
// Only loads and stores of a kernel's, as of textures (texture.h): what they hit is its business, and it may be left in the middle of them. So nothing here is instrumented.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/wire/tensor_map.h"
#include "server/device/cpu/runtime/tensor_map.h"

namespace rouse::cpu {

// By number, from the compiler.
enum class TensorReduction : std::uint32_t { none, add, min, max, inc, dec, bitAnd, bitOr, bitXor };

// To shared memory: elements outside of the tensor are filled. Rows of a tile follow one another, or, where they are swizzled, lie as far apart as that reaches; which pieces are exchanged
// follows from the address in shared memory. `coordinates`: as many as the tensor has dimensions. Yields the bytes of the tile; 0: it is no map of `dimensions`.
std::uint32_t loadTile(const wire::TensorMap* map, std::uint32_t dimensions, const std::int32_t* coordinates, std::byte* shared);

enum class TileStored : std::uint8_t { stored, noMap, noReduction };
// From shared memory, of elements within the tensor; each is combined with what is there by itself (`none`: it takes its place). noReduction: there is none such of these elements.
TileStored storeTile(const wire::TensorMap* map, std::uint32_t dimensions, const std::int32_t* coordinates, const std::byte* shared, TensorReduction reduction);

// cp.reduce.async.bulk: of elements beside each other, each combined by itself. Whether there is such a reduction of these elements.
bool reduceBulk(std::byte* to, const std::byte* from, std::uint32_t bytes, TensorElement element, TensorReduction reduction);

}  // namespace rouse::cpu
