// The one algorithm of products that there is here: what a cublasLtMatmulAlgo_t holds, which lies in the program's memory.
#pragma once

#include <cublasLt.h>

#include <cstdint>

namespace rouse::cublaslt {

struct Algorithm {
  std::uint64_t mark = 0x524c'7400'0000'0001;
  // As the program has set them; another than these says something that there is not.
  std::uint32_t tile = CUBLASLT_MATMUL_TILE_UNDEFINED;
  std::int32_t splits = 1;
  std::uint32_t reductionScheme = CUBLASLT_REDUCTION_SCHEME_NONE, swizzling = 0, customOption = 0, stages = CUBLASLT_MATMUL_STAGES_UNDEFINED;
  std::uint16_t innerShape = 0, clusterShape = 0;
  std::uint32_t unused = 0;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

cublasLtMatmulAlgo_t freshAlgorithm();
// Whether it is ours; and whether it is configured as it is made, so that a product can be made by it.
bool isAlgorithm(const cublasLtMatmulAlgo_t& algo);
bool isServed(const cublasLtMatmulAlgo_t& algo);

}  // namespace rouse::cublaslt
