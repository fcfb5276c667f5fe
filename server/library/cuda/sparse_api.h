// The functions that are used of NVIDIA's cuSPARSE 12, as they are found in it.
#pragma once

#include <cusparse.h>

namespace rouse::library::cuda {

// Of four types each.
#define ROUSE_SPARSE_TYPED_NAMES(name, letter)       \
  name(cusparse##letter##bsrmv)                      \
  name(cusparse##letter##bsrmm)                      \
  name(cusparse##letter##bsrsm2_bufferSize)          \
  name(cusparse##letter##bsrsm2_analysis)            \
  name(cusparse##letter##bsrsm2_solve)               \
  name(cusparse##letter##csrgeam2_bufferSizeExt)     \
  name(cusparse##letter##csrgeam2)                   \
  name(cusparse##letter##csrilu02_bufferSize)        \
  name(cusparse##letter##csrilu02_analysis)          \
  name(cusparse##letter##csrilu02_numericBoost)      \
  name(cusparse##letter##csrilu02)                   \
  name(cusparse##letter##csric02_bufferSize)         \
  name(cusparse##letter##csric02_analysis)           \
  name(cusparse##letter##csric02)                    \
  name(cusparse##letter##gtsv2_bufferSizeExt)        \
  name(cusparse##letter##gtsv2)                      \
  name(cusparse##letter##gtsv2_nopivot_bufferSizeExt) \
  name(cusparse##letter##gtsv2_nopivot)              \
  name(cusparse##letter##gtsv2StridedBatch_bufferSizeExt) \
  name(cusparse##letter##gtsv2StridedBatch)          \
  name(cusparse##letter##gtsvInterleavedBatch_bufferSizeExt) \
  name(cusparse##letter##gtsvInterleavedBatch)       \
  name(cusparse##letter##gpsvInterleavedBatch_bufferSizeExt) \
  name(cusparse##letter##gpsvInterleavedBatch)

// That return a status.
#define ROUSE_SPARSE_STATUS_NAMES(name)        \
  name(cusparseCreate)                         \
  name(cusparseDestroy)                        \
  name(cusparseSetStream)                      \
  name(cusparseSetPointerMode)                 \
  name(cusparseCreateCsr)                      \
  name(cusparseCreateCsc)                      \
  name(cusparseCreateCoo)                      \
  name(cusparseCreateBsr)                      \
  name(cusparseCreateSlicedEll)                \
  name(cusparseDestroySpMat)                   \
  name(cusparseCsrSetStridedBatch)             \
  name(cusparseCooSetStridedBatch)             \
  name(cusparseBsrSetStridedBatch)             \
  name(cusparseSpMatSetAttribute)              \
  name(cusparseSpMatGetSize)                   \
  name(cusparseCsrSetPointers)                 \
  name(cusparseCscSetPointers)                 \
  name(cusparseCooSetPointers)                 \
  name(cusparseCreateSpVec)                    \
  name(cusparseDestroySpVec)                   \
  name(cusparseCreateDnVec)                    \
  name(cusparseDestroyDnVec)                   \
  name(cusparseCreateDnMat)                    \
  name(cusparseDestroyDnMat)                   \
  name(cusparseDnMatSetStridedBatch)           \
  name(cusparseSpMV_bufferSize)                \
  name(cusparseSpMV)                           \
  name(cusparseSpMM_bufferSize)                \
  name(cusparseSpMM)                           \
  name(cusparseSDDMM_bufferSize)               \
  name(cusparseSDDMM)                          \
  name(cusparseSpSV_createDescr)               \
  name(cusparseSpSV_destroyDescr)              \
  name(cusparseSpSV_bufferSize)                \
  name(cusparseSpSV_analysis)                  \
  name(cusparseSpSV_solve)                     \
  name(cusparseSpSM_createDescr)               \
  name(cusparseSpSM_destroyDescr)              \
  name(cusparseSpSM_bufferSize)                \
  name(cusparseSpSM_analysis)                  \
  name(cusparseSpSM_solve)                     \
  name(cusparseSpGEMM_createDescr)             \
  name(cusparseSpGEMM_destroyDescr)            \
  name(cusparseSpGEMM_workEstimation)          \
  name(cusparseSpGEMM_getNumProducts)          \
  name(cusparseSpGEMM_compute)                 \
  name(cusparseSpGEMM_copy)                    \
  name(cusparseAxpby)                          \
  name(cusparseGather)                         \
  name(cusparseScatter)                        \
  name(cusparseRot)                            \
  name(cusparseSpVV_bufferSize)                \
  name(cusparseSpVV)                           \
  name(cusparseSparseToDense_bufferSize)       \
  name(cusparseSparseToDense)                  \
  name(cusparseDenseToSparse_bufferSize)       \
  name(cusparseDenseToSparse_analysis)         \
  name(cusparseDenseToSparse_convert)          \
  name(cusparseCsr2cscEx2_bufferSize)          \
  name(cusparseCsr2cscEx2)                     \
  name(cusparseXcoo2csr)                       \
  name(cusparseXcsr2coo)                       \
  name(cusparseCreateIdentityPermutation)      \
  name(cusparseXcoosort_bufferSizeExt)         \
  name(cusparseXcoosortByRow)                  \
  name(cusparseXcoosortByColumn)               \
  name(cusparseXcsrsort_bufferSizeExt)         \
  name(cusparseXcsrsort)                       \
  name(cusparseXcscsort_bufferSizeExt)         \
  name(cusparseXcscsort)                       \
  name(cusparseXcsrgeam2Nnz)                   \
  name(cusparseCreateMatDescr)                 \
  name(cusparseDestroyMatDescr)                \
  name(cusparseSetMatIndexBase)                \
  name(cusparseSetMatFillMode)                 \
  name(cusparseSetMatDiagType)                 \
  name(cusparseCreateBsrsm2Info)               \
  name(cusparseDestroyBsrsm2Info)              \
  name(cusparseXbsrsm2_zeroPivot)              \
  name(cusparseCreateCsrilu02Info)             \
  name(cusparseDestroyCsrilu02Info)            \
  name(cusparseXcsrilu02_zeroPivot)            \
  name(cusparseCreateCsric02Info)              \
  name(cusparseDestroyCsric02Info)             \
  name(cusparseXcsric02_zeroPivot)             \
  ROUSE_SPARSE_TYPED_NAMES(name, S)            \
  ROUSE_SPARSE_TYPED_NAMES(name, D)            \
  ROUSE_SPARSE_TYPED_NAMES(name, C)            \
  ROUSE_SPARSE_TYPED_NAMES(name, Z)

#define ROUSE_SPARSE_NAMES(name) name(cusparseGetErrorName) ROUSE_SPARSE_STATUS_NAMES(name)

struct SparseApi {
#define ROUSE_SPARSE_MEMBER(name) decltype(&::name) name = nullptr;
  ROUSE_SPARSE_NAMES(ROUSE_SPARSE_MEMBER)
#undef ROUSE_SPARSE_MEMBER
};

}  // namespace rouse::library::cuda
