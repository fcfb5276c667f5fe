// cuBLASLt's part of the double: what descriptors are told is written down, with the values themselves; nothing is kept in them.
#include <cublasLt.h>

#include <algorithm>

#include "test/libraries/recorded.h"

using namespace rouse::recorded;

namespace {

cublasStatus_t attribute(const char* name, std::uint64_t which, const void* value, size_t bytes) {
  std::uint64_t read = 0;
  std::memcpy(&read, value, std::min(bytes, sizeof read));
  all().push_back({name, {which, read, bytes}});
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

ROUSE_EXPORTED cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t, size_t, cublasComputeType_t compute, cudaDataType_t scale) {
  all().push_back({"cublasLtMatmulDescInit_internal", {word(compute), word(scale)}});
  return CUBLAS_STATUS_SUCCESS;
}
ROUSE_EXPORTED cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t which, const void* value, size_t bytes) {
  return attribute("cublasLtMatmulDescSetAttribute", word(which), value, bytes);
}
ROUSE_EXPORTED cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t, size_t, cudaDataType type, uint64_t rows, uint64_t columns, int64_t ld) {
  all().push_back({"cublasLtMatrixLayoutInit_internal", {word(type), rows, columns, word(ld)}});
  return CUBLAS_STATUS_SUCCESS;
}
ROUSE_EXPORTED cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t which, const void* value, size_t bytes) {
  return attribute("cublasLtMatrixLayoutSetAttribute", word(which), value, bytes);
}
ROUSE_EXPORTED cublasStatus_t cublasLtMatrixTransformDescInit_internal(cublasLtMatrixTransformDesc_t, size_t, cudaDataType scale) {
  all().push_back({"cublasLtMatrixTransformDescInit_internal", {word(scale)}});
  return CUBLAS_STATUS_SUCCESS;
}
ROUSE_EXPORTED cublasStatus_t cublasLtMatrixTransformDescSetAttribute(cublasLtMatrixTransformDesc_t, cublasLtMatrixTransformDescAttributes_t which, const void* value, size_t bytes) {
  return attribute("cublasLtMatrixTransformDescSetAttribute", word(which), value, bytes);
}
// Of an absent matrix the layout is null.
ROUSE_EXPORTED cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t, const void*, const void* a, cublasLtMatrixLayout_t la, const void*,
                                                      const void* b, cublasLtMatrixLayout_t lb, void* c, cublasLtMatrixLayout_t, cudaStream_t stream) {
  all().push_back({"cublasLtMatrixTransform", {word(handle), word(a), la != nullptr, word(b), lb != nullptr, word(c), word(stream)}});
  return CUBLAS_STATUS_SUCCESS;
}
// The scalars and descriptors are in memory of the caller's: left out.
ROUSE_EXPORTED cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t, const void*, const void* a, cublasLtMatrixLayout_t, const void* b,
                                             cublasLtMatrixLayout_t, const void*, const void* c, cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t,
                                             const cublasLtMatmulAlgo_t*, void* workspace, size_t bytes, cudaStream_t stream) {
  all().push_back({"cublasLtMatmul", {word(handle), word(a), word(b), word(c), word(d), word(workspace), bytes, word(stream)}});
  return static_cast<cublasStatus_t>(refusing().name == "cublasLtMatmul" ? refusing().status : 0);
}
