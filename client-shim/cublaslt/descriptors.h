// cuBLASLt's descriptors, as they lie in the opaque structures of its header: the program may have them in memory of its own. A mark at
// the beginning tells which they are, and that they are.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "schemas/blas/lt_matmul.h"

namespace rouse::cublaslt {

enum class Mark : std::uint32_t { none = 0, layout = 0x524c'7401, matmul = 0x524c'7402, preference = 0x524c'7403, transform = 0x524c'7404 };

struct Layout {
  Mark mark = Mark::layout;
  std::uint32_t type = 0;  // cudaDataType
  std::uint64_t rows = 0, columns = 0;
  std::int64_t spacing = 0, stride = 0, planeOffset = 0;
  std::int32_t batch = 1;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::uint32_t batchMode = CUBLASLT_BATCH_MODE_STRIDED;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));

struct MatmulDesc {
  Mark mark = Mark::matmul;
  std::uint32_t computeType = 0, scaleType = 0;
  std::int32_t pointerMode = CUBLASLT_POINTER_MODE_HOST;
  std::int32_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N, transc = CUBLAS_OP_N, fillMode = CUBLAS_FILL_MODE_FULL;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  std::int32_t biasType = -1, auxType = -1;  // -1: the result's
  std::int32_t multiprocessors = 0;
  std::uint64_t bias = 0, aux = 0;
  std::int64_t biasStride = 0, auxSpacing = 0, auxStride = 0;
  std::uint64_t aScale = 0, bScale = 0, cScale = 0, dScale = 0, amax = 0;
  std::int32_t aScaling = 0, bScaling = 0, cScaling = 0, dScaling = 0;  // cublasLtMatmulMatrixScale_t
  std::int8_t fastAccumulation = 0;
  // Attributes that say something which is not served here, by their numbers: a product with any is refused.
  std::uint64_t others = 0;
};
static_assert(sizeof(MatmulDesc) <= sizeof(cublasLtMatmulDescOpaque_t));

struct Preference {
  Mark mark = Mark::preference;
  std::uint32_t searchMode = CUBLASLT_SEARCH_BEST_FIT;
  std::uint64_t workspaceBytes = 0;
  std::uint32_t reductionSchemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignments[4] = {256, 256, 256, 256};
  float waves = 0;
  std::uint64_t implementations = ~std::uint64_t{0};
};
static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));

struct TransformDesc {
  Mark mark = Mark::transform;
  std::uint32_t scaleType = 0;
  std::int32_t pointerMode = CUBLASLT_POINTER_MODE_HOST;
  std::int32_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
};
static_assert(sizeof(TransformDesc) <= sizeof(cublasLtMatrixTransformDescOpaque_t));

// Null: it is null, or no live descriptor of this kind.
const Layout* layoutOf(cublasLtMatrixLayout_t layout);
const MatmulDesc* matmulOf(cublasLtMatmulDesc_t desc);
const Preference* preferenceOf(cublasLtMatmulPreference_t preference);
const TransformDesc* transformOf(cublasLtMatrixTransformDesc_t desc);

}  // namespace rouse::cublaslt
