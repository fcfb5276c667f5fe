// cuSPARSE's descriptors of sparse matrices.
#include <cstring>
#include <initializer_list>

#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

using sparse::Format;

bool isIndex(cusparseIndexType_t type) { return type == CUSPARSE_INDEX_16U || type == CUSPARSE_INDEX_32I || type == CUSPARSE_INDEX_64I; }
bool isBase(cusparseIndexBase_t base) { return base == CUSPARSE_INDEX_BASE_ZERO || base == CUSPARSE_INDEX_BASE_ONE; }

// What all formats have. Null pointers are looked at when the matrix is used: results get theirs when it is known how many elements they have.
struct Parts {
  std::int64_t rows, cols, nnz;
  const void* offsets;
  const void* indices;
  const void* values;
  cusparseIndexType_t offsetsType, indicesType;
  cusparseIndexBase_t base;
  cudaDataType type;
};

template <class Descriptor, class More>
cusparseStatus_t create(Descriptor* descriptor, Format format, const Parts& parts, More&& more) {
  return guarded([&] {
    if (descriptor == nullptr || parts.rows < 0 || parts.cols < 0 || parts.nnz < 0) return CUSPARSE_STATUS_INVALID_VALUE;
    if (!isBase(parts.base) || !isIndex(parts.indicesType) || (format != Format::blockedEll && !isIndex(parts.offsetsType))) return CUSPARSE_STATUS_INVALID_VALUE;
    sparse::Sparse what;
    what.format = format;
    what.rows = parts.rows;
    what.cols = parts.cols;
    what.nnz = parts.nnz;
    what.offsets = addressOf(parts.offsets);
    what.indices = addressOf(parts.indices);
    what.values = addressOf(parts.values);
    what.offsetsType = format == Format::blockedEll ? sparse::Index::none : enumerationOf<sparse::Index>(parts.offsetsType);
    what.indicesType = enumerationOf<sparse::Index>(parts.indicesType);
    what.base = static_cast<std::uint8_t>(parts.base);
    what.type = typeOf(parts.type);
    what.batch = 1;
    if (!more(what)) return CUSPARSE_STATUS_INVALID_VALUE;
    auto* const made = take<SparseDescriptor>(Kind::sparse);
    made->isVector = false;
    made->what = what;
    *descriptor = reinterpret_cast<Descriptor>(made);
    return CUSPARSE_STATUS_SUCCESS;
  });
}
constexpr auto kNothingMore = [](sparse::Sparse&) { return true; };

// brows, bcols and bnnz count blocks.
template <class Descriptor>
cusparseStatus_t createBsr(Descriptor* descriptor, const Parts& parts, std::int64_t blockRows, std::int64_t blockCols, cusparseOrder_t order) {
  return create(descriptor, Format::bsr, parts, [&](sparse::Sparse& what) {
    if (blockRows < 1 || blockCols < 1 || blockRows > sparse::kMostInt || blockCols > sparse::kMostInt || parts.rows > sparse::kMostInt ||
        parts.cols > sparse::kMostInt)
      return false;
    what.rows = parts.rows * blockRows;
    what.cols = parts.cols * blockCols;
    what.blockRows = blockRows;
    what.blockCols = blockCols;
    what.order = enumerationOf<sparse::Order>(order);
    return order == CUSPARSE_ORDER_COL || order == CUSPARSE_ORDER_ROW;
  });
}

template <class Descriptor>
cusparseStatus_t createBlockedEll(Descriptor* descriptor, const Parts& parts, std::int64_t block, std::int64_t width) {
  return create(descriptor, Format::blockedEll, parts, [&](sparse::Sparse& what) {
    what.blockRows = what.blockCols = block;
    what.width = width;
    return block >= 1 && width >= 0 && width <= parts.cols && parts.rows % block == 0 && parts.cols % block == 0 && width % block == 0;
  });
}

template <class Descriptor>
cusparseStatus_t createSlicedEll(Descriptor* descriptor, const Parts& parts, std::int64_t stored, std::int64_t slice) {
  return create(descriptor, Format::slicedEll, parts, [&](sparse::Sparse& what) {
    what.stored = stored;
    what.width = slice;
    return slice >= 1 && stored >= parts.nnz;
  });
}

template <class Pointer>
cusparseStatus_t get(cusparseConstSpMatDescr_t descriptor, Format format, std::int64_t* rows, std::int64_t* cols, std::int64_t* nnz, Pointer* offsets,
                     Pointer* indices, Pointer* values, cusparseIndexType_t* offsetsType, cusparseIndexType_t* indicesType, cusparseIndexBase_t* base,
                     cudaDataType* type) {
  const SparseDescriptor* const found = findMatrix(descriptor);
  if (found == nullptr || found->what.format != format || rows == nullptr || cols == nullptr || nnz == nullptr || offsets == nullptr || indices == nullptr ||
      values == nullptr || offsetsType == nullptr || indicesType == nullptr || base == nullptr || type == nullptr)
    return CUSPARSE_STATUS_INVALID_VALUE;
  *rows = found->what.rows;
  *cols = found->what.cols;
  *nnz = found->what.nnz;
  *offsets = pointerOf(found->what.offsets);
  *indices = pointerOf(found->what.indices);
  *values = pointerOf(found->what.values);
  *offsetsType = static_cast<cusparseIndexType_t>(found->what.offsetsType);
  *indicesType = static_cast<cusparseIndexType_t>(found->what.indicesType);
  *base = static_cast<cusparseIndexBase_t>(found->what.base);
  *type = static_cast<cudaDataType>(found->what.type);
  return CUSPARSE_STATUS_SUCCESS;
}

template <class Pointer>
cusparseStatus_t getBlockedEll(cusparseConstSpMatDescr_t descriptor, std::int64_t* rows, std::int64_t* cols, std::int64_t* block, std::int64_t* width,
                               Pointer* indices, Pointer* values, cusparseIndexType_t* indexType, cusparseIndexBase_t* base, cudaDataType* type) {
  const SparseDescriptor* const found = findMatrix(descriptor);
  if (found == nullptr || found->what.format != Format::blockedEll || rows == nullptr || cols == nullptr || block == nullptr || width == nullptr ||
      indices == nullptr || values == nullptr || indexType == nullptr || base == nullptr || type == nullptr)
    return CUSPARSE_STATUS_INVALID_VALUE;
  *rows = found->what.rows;
  *cols = found->what.cols;
  *block = found->what.blockRows;
  *width = found->what.width;
  *indices = pointerOf(found->what.indices);
  *values = pointerOf(found->what.values);
  *indexType = static_cast<cusparseIndexType_t>(found->what.indicesType);
  *base = static_cast<cusparseIndexBase_t>(found->what.base);
  *type = static_cast<cudaDataType>(found->what.type);
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t setPointers(cusparseSpMatDescr_t descriptor, Format format, void* offsets, void* indices, void* values) {
  SparseDescriptor* const found = findMatrix(descriptor);
  if (found == nullptr || found->what.format != format || (offsets == nullptr && (format != Format::coo || found->what.nnz > 0)))
    return CUSPARSE_STATUS_INVALID_VALUE;
  if (found->what.nnz > 0 && (indices == nullptr || values == nullptr)) return CUSPARSE_STATUS_INVALID_VALUE;
  found->what.offsets = addressOf(offsets);
  found->what.indices = addressOf(indices);
  found->what.values = addressOf(values);
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t setBatch(cusparseSpMatDescr_t descriptor, std::initializer_list<Format> formats, int count, std::int64_t offsetsStride, std::int64_t indicesStride,
                          std::int64_t valuesStride) {
  SparseDescriptor* const found = findMatrix(descriptor);
  if (found == nullptr || count < 1 || offsetsStride < 0 || indicesStride < 0 || valuesStride < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  for (const Format format : formats) {
    if (found->what.format != format) continue;
    found->what.batch = count;
    found->what.offsetsStride = offsetsStride;
    found->what.indicesStride = indicesStride;
    found->what.valuesStride = valuesStride;
    return CUSPARSE_STATUS_SUCCESS;
  }
  return CUSPARSE_STATUS_INVALID_VALUE;
}

}  // namespace

namespace impl {

cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t spMatDescr) { return endOf(findMatrix(spMatDescr)); }

cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t spMatDescr, cusparseFormat_t* format) {
  const SparseDescriptor* const found = findMatrix(spMatDescr);
  if (found == nullptr || format == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *format = static_cast<cusparseFormat_t>(found->what.format);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t spMatDescr, cusparseIndexBase_t* idxBase) {
  const SparseDescriptor* const found = findMatrix(spMatDescr);
  if (found == nullptr || idxBase == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *idxBase = static_cast<cusparseIndexBase_t>(found->what.base);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetValues(cusparseSpMatDescr_t spMatDescr, void** values) {
  return getValues(findMatrix(static_cast<cusparseConstSpMatDescr_t>(spMatDescr)), values);
}
cusparseStatus_t cusparseConstSpMatGetValues(cusparseConstSpMatDescr_t spMatDescr, const void** values) { return getValues(findMatrix(spMatDescr), values); }
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t spMatDescr, void* values) {
  return setValues(findMatrix(static_cast<cusparseConstSpMatDescr_t>(spMatDescr)), values);
}
// Of blocks where there are.
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t spMatDescr, int64_t* rows, int64_t* cols, int64_t* nnz) {
  const SparseDescriptor* const found = findMatrix(spMatDescr);
  if (found == nullptr || rows == nullptr || cols == nullptr || nnz == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  const bool blocks = found->what.format == Format::bsr;
  *rows = blocks ? found->what.rows / found->what.blockRows : found->what.rows;
  *cols = blocks ? found->what.cols / found->what.blockCols : found->what.cols;
  *nnz = found->what.format == Format::blockedEll ? found->what.rows * found->what.width : found->what.nnz;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t spMatDescr, int* batchCount) {
  const SparseDescriptor* const found = findMatrix(spMatDescr);
  if (found == nullptr || batchCount == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *batchCount = found->what.batch;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount, int64_t batchStride) {
  return setBatch(spMatDescr, {Format::coo}, batchCount, 0, batchStride, batchStride);
}
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount, int64_t offsetsBatchStride, int64_t columnsValuesBatchStride) {
  return setBatch(spMatDescr, {Format::csr, Format::csc}, batchCount, offsetsBatchStride, columnsValuesBatchStride, columnsValuesBatchStride);
}
cusparseStatus_t cusparseBsrSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount, int64_t offsetsBatchStride, int64_t columnsBatchStride,
                                            int64_t ValuesBatchStride) {
  return setBatch(spMatDescr, {Format::bsr}, batchCount, offsetsBatchStride, columnsBatchStride, ValuesBatchStride);
}

cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t spMatDescr, cusparseSpMatAttribute_t attribute, void* data, size_t dataSize) {
  const SparseDescriptor* const found = findMatrix(spMatDescr);
  if (found == nullptr || data == nullptr || dataSize != sizeof(std::int32_t)) return CUSPARSE_STATUS_INVALID_VALUE;
  if (attribute != CUSPARSE_SPMAT_FILL_MODE && attribute != CUSPARSE_SPMAT_DIAG_TYPE) return CUSPARSE_STATUS_INVALID_VALUE;
  const std::int32_t value = attribute == CUSPARSE_SPMAT_FILL_MODE ? static_cast<std::int32_t>(found->what.triangle) : found->what.unitDiagonal;
  std::memcpy(data, &value, sizeof value);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t spMatDescr, cusparseSpMatAttribute_t attribute, void* data, size_t dataSize) {
  SparseDescriptor* const found = findMatrix(static_cast<cusparseConstSpMatDescr_t>(spMatDescr));
  std::int32_t value = 0;
  if (found == nullptr || data == nullptr || dataSize != sizeof value) return CUSPARSE_STATUS_INVALID_VALUE;
  std::memcpy(&value, data, sizeof value);
  if (value != 0 && value != 1) return CUSPARSE_STATUS_INVALID_VALUE;
  if (attribute == CUSPARSE_SPMAT_FILL_MODE) found->what.triangle = static_cast<sparse::Triangle>(value);
  else if (attribute == CUSPARSE_SPMAT_DIAG_TYPE) found->what.unitDiagonal = static_cast<std::uint8_t>(value);
  else return CUSPARSE_STATUS_INVALID_VALUE;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* spMatDescr, int64_t rows, int64_t cols, int64_t nnz, void* csrRowOffsets, void* csrColInd, void* csrValues,
                                   cusparseIndexType_t csrRowOffsetsType, cusparseIndexType_t csrColIndType, cusparseIndexBase_t idxBase, cudaDataType valueType) {
  return create(spMatDescr, Format::csr, {rows, cols, nnz, csrRowOffsets, csrColInd, csrValues, csrRowOffsetsType, csrColIndType, idxBase, valueType},
                kNothingMore);
}
cusparseStatus_t cusparseCreateConstCsr(cusparseConstSpMatDescr_t* spMatDescr, int64_t rows, int64_t cols, int64_t nnz, const void* csrRowOffsets,
                                        const void* csrColInd, const void* csrValues, cusparseIndexType_t csrRowOffsetsType, cusparseIndexType_t csrColIndType,
                                        cusparseIndexBase_t idxBase, cudaDataType valueType) {
  return create(spMatDescr, Format::csr, {rows, cols, nnz, csrRowOffsets, csrColInd, csrValues, csrRowOffsetsType, csrColIndType, idxBase, valueType},
                kNothingMore);
}
cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t* spMatDescr, int64_t rows, int64_t cols, int64_t nnz, void* cscColOffsets, void* cscRowInd, void* cscValues,
                                   cusparseIndexType_t cscColOffsetsType, cusparseIndexType_t cscRowIndType, cusparseIndexBase_t idxBase, cudaDataType valueType) {
  return create(spMatDescr, Format::csc, {rows, cols, nnz, cscColOffsets, cscRowInd, cscValues, cscColOffsetsType, cscRowIndType, idxBase, valueType},
                kNothingMore);
}
cusparseStatus_t cusparseCreateConstCsc(cusparseConstSpMatDescr_t* spMatDescr, int64_t rows, int64_t cols, int64_t nnz, const void* cscColOffsets,
                                        const void* cscRowInd, const void* cscValues, cusparseIndexType_t cscColOffsetsType, cusparseIndexType_t cscRowIndType,
                                        cusparseIndexBase_t idxBase, cudaDataType valueType) {
  return create(spMatDescr, Format::csc, {rows, cols, nnz, cscColOffsets, cscRowInd, cscValues, cscColOffsetsType, cscRowIndType, idxBase, valueType},
                kNothingMore);
}
cusparseStatus_t cusparseCsrGet(cusparseSpMatDescr_t spMatDescr, int64_t* rows, int64_t* cols, int64_t* nnz, void** csrRowOffsets, void** csrColInd,
                                void** csrValues, cusparseIndexType_t* csrRowOffsetsType, cusparseIndexType_t* csrColIndType, cusparseIndexBase_t* idxBase,
                                cudaDataType* valueType) {
  return get(spMatDescr, Format::csr, rows, cols, nnz, csrRowOffsets, csrColInd, csrValues, csrRowOffsetsType, csrColIndType, idxBase, valueType);
}
cusparseStatus_t cusparseConstCsrGet(cusparseConstSpMatDescr_t spMatDescr, int64_t* rows, int64_t* cols, int64_t* nnz, const void** csrRowOffsets,
                                     const void** csrColInd, const void** csrValues, cusparseIndexType_t* csrRowOffsetsType, cusparseIndexType_t* csrColIndType,
                                     cusparseIndexBase_t* idxBase, cudaDataType* valueType) {
  return get(spMatDescr, Format::csr, rows, cols, nnz, csrRowOffsets, csrColInd, csrValues, csrRowOffsetsType, csrColIndType, idxBase, valueType);
}
cusparseStatus_t cusparseCscGet(cusparseSpMatDescr_t spMatDescr, int64_t* rows, int64_t* cols, int64_t* nnz, void** cscColOffsets, void** cscRowInd,
                                void** cscValues, cusparseIndexType_t* cscColOffsetsType, cusparseIndexType_t* cscRowIndType, cusparseIndexBase_t* idxBase,
                                cudaDataType* valueType) {
  return get(spMatDescr, Format::csc, rows, cols, nnz, cscColOffsets, cscRowInd, cscValues, cscColOffsetsType, cscRowIndType, idxBase, valueType);
}
cusparseStatus_t cusparseConstCscGet(cusparseConstSpMatDescr_t spMatDescr, int64_t* rows, int64_t* cols, int64_t* nnz, const void** cscColOffsets,
                                     const void** cscRowInd, const void** cscValues, cusparseIndexType_t* cscColOffsetsType, cusparseIndexType_t* cscRowIndType,
                                     cusparseIndexBase_t* idxBase, cudaDataType* valueType) {
  return get(spMatDescr, Format::csc, rows, cols, nnz, cscColOffsets, cscRowInd, cscValues, cscColOffsetsType, cscRowIndType, idxBase, valueType);
}
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t spMatDescr, void* csrRowOffsets, void* csrColInd, void* csrValues) {
  return setPointers(spMatDescr, Format::csr, csrRowOffsets, csrColInd, csrValues);
}
cusparseStatus_t cusparseCscSetPointers(cusparseSpMatDescr_t spMatDescr, void* cscColOffsets, void* cscRowInd, void* cscValues) {
  return setPointers(spMatDescr, Format::csc, cscColOffsets, cscRowInd, cscValues);
}

cusparseStatus_t cusparseCreateBsr(cusparseSpMatDescr_t* spMatDescr, int64_t brows, int64_t bcols, int64_t bnnz, int64_t rowBlockSize, int64_t colBlockSize,
                                   void* bsrRowOffsets, void* bsrColInd, void* bsrValues, cusparseIndexType_t bsrRowOffsetsType, cusparseIndexType_t bsrColIndType,
                                   cusparseIndexBase_t idxBase, cudaDataType valueType, cusparseOrder_t order) {
  return createBsr(spMatDescr, {brows, bcols, bnnz, bsrRowOffsets, bsrColInd, bsrValues, bsrRowOffsetsType, bsrColIndType, idxBase, valueType}, rowBlockSize,
                   colBlockSize, order);
}
cusparseStatus_t cusparseCreateConstBsr(cusparseConstSpMatDescr_t* spMatDescr, int64_t brows, int64_t bcols, int64_t bnnz, int64_t rowBlockDim, int64_t colBlockDim,
                                        const void* bsrRowOffsets, const void* bsrColInd, const void* bsrValues, cusparseIndexType_t bsrRowOffsetsType,
                                        cusparseIndexType_t bsrColIndType, cusparseIndexBase_t idxBase, cudaDataType valueType, cusparseOrder_t order) {
  return createBsr(spMatDescr, {brows, bcols, bnnz, bsrRowOffsets, bsrColInd, bsrValues, bsrRowOffsetsType, bsrColIndType, idxBase, valueType}, rowBlockDim,
                   colBlockDim, order);
}

cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* spMatDescr, int64_t rows, int64_t cols, int64_t nnz, void* cooRowInd, void* cooColInd, void* cooValues,
                                   cusparseIndexType_t cooIdxType, cusparseIndexBase_t idxBase, cudaDataType valueType) {
  return create(spMatDescr, Format::coo, {rows, cols, nnz, cooRowInd, cooColInd, cooValues, cooIdxType, cooIdxType, idxBase, valueType}, kNothingMore);
}
cusparseStatus_t cusparseCreateConstCoo(cusparseConstSpMatDescr_t* spMatDescr, int64_t rows, int64_t cols, int64_t nnz, const void* cooRowInd,
                                        const void* cooColInd, const void* cooValues, cusparseIndexType_t cooIdxType, cusparseIndexBase_t idxBase,
                                        cudaDataType valueType) {
  return create(spMatDescr, Format::coo, {rows, cols, nnz, cooRowInd, cooColInd, cooValues, cooIdxType, cooIdxType, idxBase, valueType}, kNothingMore);
}
cusparseStatus_t cusparseCooGet(cusparseSpMatDescr_t spMatDescr, int64_t* rows, int64_t* cols, int64_t* nnz, void** cooRowInd, void** cooColInd, void** cooValues,
                                cusparseIndexType_t* idxType, cusparseIndexBase_t* idxBase, cudaDataType* valueType) {
  return get(spMatDescr, Format::coo, rows, cols, nnz, cooRowInd, cooColInd, cooValues, idxType, idxType, idxBase, valueType);
}
cusparseStatus_t cusparseConstCooGet(cusparseConstSpMatDescr_t spMatDescr, int64_t* rows, int64_t* cols, int64_t* nnz, const void** cooRowInd,
                                     const void** cooColInd, const void** cooValues, cusparseIndexType_t* idxType, cusparseIndexBase_t* idxBase,
                                     cudaDataType* valueType) {
  return get(spMatDescr, Format::coo, rows, cols, nnz, cooRowInd, cooColInd, cooValues, idxType, idxType, idxBase, valueType);
}
cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t spMatDescr, void* cooRows, void* cooColumns, void* cooValues) {
  return setPointers(spMatDescr, Format::coo, cooRows, cooColumns, cooValues);
}

cusparseStatus_t cusparseCreateBlockedEll(cusparseSpMatDescr_t* spMatDescr, int64_t rows, int64_t cols, int64_t ellBlockSize, int64_t ellCols, void* ellColInd,
                                          void* ellValue, cusparseIndexType_t ellIdxType, cusparseIndexBase_t idxBase, cudaDataType valueType) {
  return createBlockedEll(spMatDescr, {rows, cols, 0, nullptr, ellColInd, ellValue, ellIdxType, ellIdxType, idxBase, valueType}, ellBlockSize, ellCols);
}
cusparseStatus_t cusparseCreateConstBlockedEll(cusparseConstSpMatDescr_t* spMatDescr, int64_t rows, int64_t cols, int64_t ellBlockSize, int64_t ellCols,
                                               const void* ellColInd, const void* ellValue, cusparseIndexType_t ellIdxType, cusparseIndexBase_t idxBase,
                                               cudaDataType valueType) {
  return createBlockedEll(spMatDescr, {rows, cols, 0, nullptr, ellColInd, ellValue, ellIdxType, ellIdxType, idxBase, valueType}, ellBlockSize, ellCols);
}
cusparseStatus_t cusparseBlockedEllGet(cusparseSpMatDescr_t spMatDescr, int64_t* rows, int64_t* cols, int64_t* ellBlockSize, int64_t* ellCols, void** ellColInd,
                                       void** ellValue, cusparseIndexType_t* ellIdxType, cusparseIndexBase_t* idxBase, cudaDataType* valueType) {
  return getBlockedEll(spMatDescr, rows, cols, ellBlockSize, ellCols, ellColInd, ellValue, ellIdxType, idxBase, valueType);
}
cusparseStatus_t cusparseConstBlockedEllGet(cusparseConstSpMatDescr_t spMatDescr, int64_t* rows, int64_t* cols, int64_t* ellBlockSize, int64_t* ellCols,
                                            const void** ellColInd, const void** ellValue, cusparseIndexType_t* ellIdxType, cusparseIndexBase_t* idxBase,
                                            cudaDataType* valueType) {
  return getBlockedEll(spMatDescr, rows, cols, ellBlockSize, ellCols, ellColInd, ellValue, ellIdxType, idxBase, valueType);
}

cusparseStatus_t cusparseCreateSlicedEll(cusparseSpMatDescr_t* spMatDescr, int64_t rows, int64_t cols, int64_t nnz, int64_t sellValuesSize, int64_t sliceSize,
                                         void* sellSliceOffsets, void* sellColInd, void* sellValues, cusparseIndexType_t sellSliceOffsetsType,
                                         cusparseIndexType_t sellColIndType, cusparseIndexBase_t idxBase, cudaDataType valueType) {
  return createSlicedEll(spMatDescr, {rows, cols, nnz, sellSliceOffsets, sellColInd, sellValues, sellSliceOffsetsType, sellColIndType, idxBase, valueType},
                         sellValuesSize, sliceSize);
}
cusparseStatus_t cusparseCreateConstSlicedEll(cusparseConstSpMatDescr_t* spMatDescr, int64_t rows, int64_t cols, int64_t nnz, int64_t sellValuesSize,
                                              int64_t sliceSize, const void* sellSliceOffsets, const void* sellColInd, const void* sellValues,
                                              cusparseIndexType_t sellSliceOffsetsType, cusparseIndexType_t sellColIndType, cusparseIndexBase_t idxBase,
                                              cudaDataType valueType) {
  return createSlicedEll(spMatDescr, {rows, cols, nnz, sellSliceOffsets, sellColInd, sellValues, sellSliceOffsetsType, sellColIndType, idxBase, valueType},
                         sellValuesSize, sliceSize);
}

}  // namespace impl
}  // namespace rouse::cusparse
