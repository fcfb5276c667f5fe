// cuBLASLt: algorithms of products, what they can do and how they are configured. All local.
#include "client-shim/cublaslt/algorithms.h"

#include <cstring>
#include <optional>

#include "client-shim/cublaslt/calls.h"
#include "client-shim/cublaslt/implementations.h"
#include "client-shim/library/refuse.h"
#include "schemas/blas/lt_matmul.h"

namespace rouse::cublaslt {
namespace {

constexpr int kAlgorithmId = 0;

std::optional<Algorithm> algorithmOf(const cublasLtMatmulAlgo_t* algo) {
  if (algo == nullptr || !isAlgorithm(*algo)) return std::nullopt;
  Algorithm found;
  std::memcpy(&found, algo->data, sizeof found);
  return found;
}

// The header: with no bytes it is asked for how many there are.
cublasStatus_t give(const void* value, std::size_t size, void* buf, std::size_t sizeInBytes, std::size_t* sizeWritten) {
  if (sizeInBytes == 0 ? sizeWritten == nullptr : buf == nullptr || sizeInBytes != size) return CUBLAS_STATUS_INVALID_VALUE;
  if (sizeInBytes != 0) std::memcpy(buf, value, size);
  if (sizeWritten != nullptr) *sizeWritten = size;
  return CUBLAS_STATUS_SUCCESS;
}

// A configuration's field and its size; null: there is no such attribute, or it is only to be read.
struct Field {
  void* value = nullptr;
  std::size_t size = 0;
};
Field fieldOf(Algorithm& algorithm, cublasLtMatmulAlgoConfigAttributes_t which) {
  const auto field = [](auto& value) { return Field{&value, sizeof value}; };
  switch (which) {
    case CUBLASLT_ALGO_CONFIG_TILE_ID: return field(algorithm.tile);
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM: return field(algorithm.splits);
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME: return field(algorithm.reductionScheme);
    case CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING: return field(algorithm.swizzling);
    case CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION: return field(algorithm.customOption);
    case CUBLASLT_ALGO_CONFIG_STAGES_ID: return field(algorithm.stages);
    case CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID: return field(algorithm.innerShape);
    case CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID: return field(algorithm.clusterShape);
    default: return {};
  }
}

}  // namespace

cublasLtMatmulAlgo_t freshAlgorithm() {
  cublasLtMatmulAlgo_t algo{};
  const Algorithm fresh;
  std::memcpy(algo.data, &fresh, sizeof fresh);
  return algo;
}

bool isAlgorithm(const cublasLtMatmulAlgo_t& algo) { return algo.data[0] == Algorithm{}.mark; }

bool isServed(const cublasLtMatmulAlgo_t& algo) {
  auto configured = algorithmOf(&algo);
  if (!configured) return false;
  if (configured->splits == 0) configured->splits = 1;  // not split, in either way
  const Algorithm fresh;
  return std::memcmp(&*configured, &fresh, sizeof fresh) == 0;
}

namespace impl {

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t lightHandle, cublasComputeType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                        cudaDataType_t, cudaDataType_t, int requestedAlgoCount, int algoIdsArray[], int* returnAlgoCount) {
  if (findHandle(lightHandle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (requestedAlgoCount <= 0 || algoIdsArray == nullptr || returnAlgoCount == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  algoIdsArray[0] = kAlgorithmId;
  *returnAlgoCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t lightHandle, cublasComputeType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                      cudaDataType_t, cudaDataType_t, int algoId, cublasLtMatmulAlgo_t* algo) {
  if (findHandle(lightHandle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (algo == nullptr || algoId != kAlgorithmId) return CUBLAS_STATUS_INVALID_VALUE;
  *algo = freshAlgorithm();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoCapAttributes_t attr, void* buf, size_t sizeInBytes,
                                                 size_t* sizeWritten) {
  if (!algorithmOf(algo)) return CUBLAS_STATUS_INVALID_VALUE;
  const auto number = [&](auto value) { return give(&value, sizeof value, buf, sizeInBytes, sizeWritten); };
  switch (attr) {
    // There is nothing to choose.
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
    case CUBLASLT_ALGO_CAP_UPLO_SUPPORT:
    case CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX:
    case CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER:
    case CUBLASLT_ALGO_CAP_LD_NEGATIVE:
    case CUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT:
    case CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT:
      return number(std::int32_t{0});
    case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
      return number(std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
    case CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT:
      return number(std::uint32_t{0});
    case CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT:
    case CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT:
      return number(std::int32_t{1});
    case CUBLASLT_ALGO_CAP_TILE_IDS:
    case CUBLASLT_ALGO_CAP_STAGES_IDS:  // lists without entries
      if (sizeInBytes == 0 ? sizeWritten == nullptr : buf == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
      if (sizeWritten != nullptr) *sizeWritten = 0;
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_ALGO_CAP_POINTER_MODE_MASK:
      return number(std::uint32_t{CUBLASLT_POINTER_MODE_MASK_HOST | CUBLASLT_POINTER_MODE_MASK_DEVICE});
    case CUBLASLT_ALGO_CAP_EPILOGUE_MASK:
      return number(blas::kEpilogueDefault | blas::kEpilogueRelu | blas::kEpilogueBias | blas::kEpilogueGelu | blas::kEpilogueAux);
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
      return number(std::uint32_t{16});  // what products of 8-bit floats need
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS:
      library::refuse("cublasLtMatmulAlgoCapGetAttribute", "how an algorithm computes: it is the same for all types here");
      return CUBLAS_STATUS_NOT_SUPPORTED;
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t attr, const void* buf, size_t sizeInBytes) {
  auto algorithm = algorithmOf(algo);
  if (!algorithm) return CUBLAS_STATUS_INVALID_VALUE;
  const Field field = fieldOf(*algorithm, attr);
  if (field.value == nullptr || buf == nullptr || sizeInBytes != field.size) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(field.value, buf, field.size);
  std::memcpy(algo->data, &*algorithm, sizeof *algorithm);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t attr, void* buf, size_t sizeInBytes,
                                                    size_t* sizeWritten) {
  auto algorithm = algorithmOf(algo);
  if (!algorithm) return CUBLAS_STATUS_INVALID_VALUE;
  if (attr == CUBLASLT_ALGO_CONFIG_ID) return give(&kAlgorithmId, sizeof kAlgorithmId, buf, sizeInBytes, sizeWritten);
  const Field field = fieldOf(*algorithm, attr);
  return field.value != nullptr ? give(field.value, field.size, buf, sizeInBytes, sizeWritten) : CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace impl
}  // namespace rouse::cublaslt
