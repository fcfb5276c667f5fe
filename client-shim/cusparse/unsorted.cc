// cuSPARSE: rows whose elements lie in any order, put in order with their values (csru2csr).
#include <algorithm>

#include "client-shim/cusparse/call.h"
#include "client-shim/cusparse/implementations.h"

namespace rouse::cusparse {
namespace {

using sparse::Function;

constexpr std::size_t kAlignment = 128;

// The program's buffer: where each element comes from, then its values as they were.
std::size_t placesBytes(int nnz) { return (static_cast<std::size_t>(std::max(nnz, 0)) * sizeof(int) + kAlignment - 1) / kAlignment * kAlignment; }

sparse::Call sortOf(int m, int n, int nnz, const int* offsets, const int* indices, const int* places, int base) {
  sparse::Call call;
  call.a = csrOf(m, n, nnz, offsets, indices, nullptr, sparse::Type::f32, base);
  call.result = addressOf(places);
  return call;
}

// to[i] = from[places[i]]
template <class T>
sparse::Call gatherOf(int nnz, const int* places, const T* to, const T* from) {
  sparse::Call call;
  call.a.format = sparse::Format::vector;
  call.a.rows = call.a.nnz = nnz;
  call.a.cols = 1;
  call.a.indices = addressOf(places);
  call.a.indicesType = sparse::Index::i32;
  call.a.values = addressOf(to);
  call.a.batch = 1;
  call.x.values = addressOf(from);
  call.x.rows = call.x.spacing = nnz;
  call.x.cols = call.x.batch = 1;
  call.a.type = call.x.type = kTypeOf<T>;
  call.x.order = sparse::Order::column;
  return call;
}

bool isInfo(const void* info) { return find<InfoDescriptor>(info, Kind::info) != nullptr; }

template <class T>
cusparseStatus_t tellSize(cusparseHandle_t handle, int m, int n, int nnz, csru2csrInfo_t info, std::size_t* size, const char* name) {
  return with(handle, [&](Handle&) {
    if (!isInfo(info) || size == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    const cusparseStatus_t status = consider(Function::sort, sortOf(m, n, nnz, nullptr, nullptr, nullptr, 0), name);
    if (status != CUSPARSE_STATUS_SUCCESS) return status;
    *size = std::max(kBufferBytes, placesBytes(nnz) + static_cast<std::size_t>(nnz) * sizeof(T));
    return CUSPARSE_STATUS_SUCCESS;
  });
}

template <class T>
cusparseStatus_t sort(cusparseHandle_t handle, int m, int n, int nnz, cusparseMatDescr_t descriptor, T* values, const int* offsets, int* indices,
                      csru2csrInfo_t info, void* buffer, const char* name) {
  return with(handle, [&](Handle& found) {
    const MatrixDescriptor* const matrix = findMatrix(descriptor);
    if (matrix == nullptr || !isInfo(info)) return CUSPARSE_STATUS_INVALID_VALUE;
    int* const places = static_cast<int*>(buffer);
    const sparse::Call sorted = sortOf(m, n, nnz, offsets, indices, places, matrix->base);
    if (const cusparseStatus_t status = consider(Function::sort, sorted, name); status != CUSPARSE_STATUS_SUCCESS || nnz == 0) return status;
    if (values == nullptr || buffer == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    T* const copy = reinterpret_cast<T*>(static_cast<std::byte*>(buffer) + placesBytes(nnz));
    sparse::Call inOrder;
    inOrder.count = nnz;
    inOrder.result = addressOf(places);
    cusparseStatus_t status = send(found, Function::identity, inOrder, name);
    if (status == CUSPARSE_STATUS_SUCCESS) status = send(found, Function::gather, gatherOf<T>(nnz, places, copy, values), name);
    if (status == CUSPARSE_STATUS_SUCCESS) status = send(found, Function::sort, sorted, name);
    if (status == CUSPARSE_STATUS_SUCCESS) status = send(found, Function::gather, gatherOf<T>(nnz, places, values, copy), name);
    return status;
  });
}

}  // namespace

namespace impl {

#define ROUSE_UNSORTED(letter, T)                                                                                                                       \
  cusparseStatus_t cusparse##letter##csru2csr_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, T*, const int*, int*, csru2csrInfo_t info, \
                                                            size_t* pBufferSizeInBytes) {                                                              \
    return tellSize<T>(handle, m, n, nnz, info, pBufferSizeInBytes, "cusparse" #letter "csru2csr_bufferSizeExt");                                      \
  }                                                                                                                                                    \
  cusparseStatus_t cusparse##letter##csru2csr(cusparseHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descrA, T* csrVal,              \
                                              const int* csrRowPtr, int* csrColInd, csru2csrInfo_t info, void* pBuffer) {                              \
    return sort(handle, m, n, nnz, descrA, csrVal, csrRowPtr, csrColInd, info, pBuffer, "cusparse" #letter "csru2csr");                                \
  }
ROUSE_UNSORTED(S, float)
ROUSE_UNSORTED(D, double)
ROUSE_UNSORTED(C, cuComplex)
ROUSE_UNSORTED(Z, cuDoubleComplex)
#undef ROUSE_UNSORTED

}  // namespace impl
}  // namespace rouse::cusparse
