// cuSPARSE as programs call it, before a daemon and executors of the test that answer nothing: what travels, what waits, what is counted, what descriptors hold,
// and what a call with wrong arguments answers.
#include <cuda_runtime.h>
#include <cusparse.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "schemas/sparse/call.h"
#include "test/libraries/library_calls.h"

namespace rouse::test {
namespace {

using wire::Opcode;

struct Sparse : LibraryCalls {
  Sparse() {
    REQUIRE(cusparseCreate(&handle) == CUSPARSE_STATUS_SUCCESS);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  }
  ~Sparse() {
    CHECK(cusparseDestroy(handle) == CUSPARSE_STATUS_SUCCESS);
  }
  sparse::Call travelled() { return last<sparse::Call>(); }
  cusparseSpMatDescr_t csr(std::int64_t rows, std::int64_t cols, std::int64_t nnz, cudaDataType type = CUDA_R_32F) {
    cusparseSpMatDescr_t made = nullptr;
    REQUIRE(cusparseCreateCsr(&made, rows, cols, nnz, at(0x1000), at(0x2000), at(0x4000), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type) ==
            CUSPARSE_STATUS_SUCCESS);
    return made;
  }
  cusparseDnVecDescr_t vector(std::int64_t size, std::size_t offset, cudaDataType type = CUDA_R_32F) {
    cusparseDnVecDescr_t made = nullptr;
    REQUIRE(cusparseCreateDnVec(&made, size, at(offset), type) == CUSPARSE_STATUS_SUCCESS);
    return made;
  }
  cusparseDnMatDescr_t matrix(std::int64_t rows, std::int64_t cols, std::size_t offset, cusparseOrder_t order = CUSPARSE_ORDER_COL) {
    cusparseDnMatDescr_t made = nullptr;
    REQUIRE(cusparseCreateDnMat(&made, rows, cols, order == CUSPARSE_ORDER_COL ? rows : cols, at(offset), CUDA_R_32F, order) == CUSPARSE_STATUS_SUCCESS);
    return made;
  }

  cusparseHandle_t handle = nullptr;
  float one = 1, two = 2;
  std::size_t size = 0;
};

}  // namespace

TEST_CASE_METHOD(Sparse, "a product is one command with all of its descriptors, and waits for nothing", "[sparse]") {
  const auto a = csr(10, 12, 40);
  const auto x = vector(12, 0x8000), y = vector(10, 0x9000);
  const auto calls = count(Opcode::LibraryCall), signals = count(Opcode::SlotSignal);
  REQUIRE(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &two, a, x, &one, y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &size) ==
          CUSPARSE_STATUS_SUCCESS);
  CHECK(size > 0);
  REQUIRE(cusparseSpMV_preprocess(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &two, a, x, &one, y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, at(0)) ==
          CUSPARSE_STATUS_SUCCESS);
  for (int i = 0; i < 50; ++i)
    REQUIRE(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &two, a, x, &one, y, CUDA_R_32F, CUSPARSE_SPMV_CSR_ALG2, at(0)) == CUSPARSE_STATUS_SUCCESS);
  CHECK(count(Opcode::SlotSignal) == signals);
  const sparse::Call call = travelled();
  CHECK(count(Opcode::LibraryCall) == calls + 50);
  CHECK((call.a.rows == 10 && call.a.cols == 12 && call.a.nnz == 40 && call.a.format == sparse::Format::csr && call.a.offsetsType == sparse::Index::i32));
  CHECK((call.a.offsets == reinterpret_cast<std::uint64_t>(at(0x1000)) && call.a.values == reinterpret_cast<std::uint64_t>(at(0x4000))));
  CHECK((call.x.rows == 12 && call.y.rows == 10 && call.y.values == reinterpret_cast<std::uint64_t>(at(0x9000))));
  float alpha = 0;
  std::memcpy(&alpha, call.alpha.words, sizeof alpha);
  CHECK((alpha == 2 && call.scalars == sparse::Scalars::inCall && call.algorithm == 3));
  // Descriptors that are gone have been carried by what is queued.
  CHECK(cusparseDestroySpMat(a) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroySpMat(a) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &two, a, x, &one, y, CUDA_R_32F, CUSPARSE_SPMV_CSR_ALG2, at(0)) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(cusparseDestroyDnVec(x) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroyDnVec(y) == CUSPARSE_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Sparse, "scalars in memory, streams, and products of matrices in batches", "[sparse]") {
  REQUIRE(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE) == CUSPARSE_STATUS_SUCCESS);
  cusparsePointerMode_t mode = CUSPARSE_POINTER_MODE_HOST;
  CHECK((cusparseGetPointerMode(handle, &mode) == CUSPARSE_STATUS_SUCCESS && mode == CUSPARSE_POINTER_MODE_DEVICE));
  cudaStream_t stream = nullptr, got = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cusparseSetStream(handle, stream) == CUSPARSE_STATUS_SUCCESS);
  CHECK((cusparseGetStream(handle, &got) == CUSPARSE_STATUS_SUCCESS && got == stream));
  const auto a = csr(10, 12, 40);
  const auto b = matrix(12, 3, 0x8000), c = matrix(10, 3, 0x9000, CUSPARSE_ORDER_ROW);
  REQUIRE(cusparseDnMatSetStridedBatch(b, 2, 36) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseDnMatSetStridedBatch(c, 2, 30) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, at(0x100), a, b, at(0x200), c, CUDA_R_32F,
                       CUSPARSE_SPMM_ALG_DEFAULT, nullptr) == CUSPARSE_STATUS_SUCCESS);
  const sparse::Call call = travelled();
  CHECK((call.scalars == sparse::Scalars::inMemory && call.alpha.words[0] == reinterpret_cast<std::uint64_t>(at(0x100)) && call.alpha.words[1] == 0));
  CHECK((call.x.batch == 2 && call.x.stride == 36 && call.y.order == sparse::Order::row && call.y.spacing == 3));
  // Another device's or made up streams are known when they are used.
  REQUIRE(cusparseSetStream(handle, reinterpret_cast<cudaStream_t>(std::uintptr_t{0x1234560})) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSpMM(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, at(0x100), a, b, at(0x200), c, CUDA_R_32F,
                     CUSPARSE_SPMM_ALG_DEFAULT, nullptr) == CUSPARSE_STATUS_INVALID_VALUE);
  REQUIRE(cusparseSetStream(handle, nullptr) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSetPointerMode(handle, static_cast<cusparsePointerMode_t>(2)) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(cusparseDestroySpMat(a) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroyDnMat(b) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroyDnMat(c) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE_METHOD(Sparse, "only what answers a number waits, and silence is no answer", "[sparse]") {
  const auto a = csr(10, 10, 40), b = csr(10, 10, 40), c = csr(10, 10, 0);
  cusparseSpGEMMDescr_t product = nullptr;
  REQUIRE(cusparseSpGEMM_createDescr(&product) == CUSPARSE_STATUS_SUCCESS);
  const auto op = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const auto estimate = [&](void* buffer) {
    return cusparseSpGEMM_workEstimation(handle, op, op, &one, a, b, &two, c, CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, product, &size, buffer);
  };
  const auto compute = [&](void* buffer) {
    return cusparseSpGEMM_compute(handle, op, op, &one, a, b, &two, c, CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, product, &size, buffer);
  };
  const auto calls = count(Opcode::LibraryCall), signals = count(Opcode::SlotSignal);
  CHECK(estimate(nullptr) == CUSPARSE_STATUS_SUCCESS);
  CHECK(size > 0);
  CHECK(estimate(at(0)) == CUSPARSE_STATUS_SUCCESS);
  CHECK(compute(nullptr) == CUSPARSE_STATUS_SUCCESS);
  CHECK((count(Opcode::LibraryCall) == calls && count(Opcode::SlotSignal) == signals));
  std::int64_t products = 0;
  CHECK(cusparseSpGEMM_getNumProducts(product, nullptr) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(cusparseSpGEMM_getNumProducts(nullptr, &products) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(cusparseSpGEMM_getNumProducts(product, &products) == CUSPARSE_STATUS_EXECUTION_FAILED);
  CHECK(count(Opcode::LibraryCall) == calls + 1);
  // What has not been counted is not multiplied.
  CHECK(cusparseSpGEMM_copy(handle, op, op, &one, a, b, &two, c, CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, product) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(compute(at(0)) == CUSPARSE_STATUS_EXECUTION_FAILED);
  CHECK((count(Opcode::LibraryCall) == calls + 2 && count(Opcode::SlotSignal) == signals + 2));
  const sparse::Call call = travelled();
  CHECK((call.answer != 0 && call.b.nnz == 40 && call.c.format == sparse::Format::none));
  // Under a capture there is nothing to wait for.
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cusparseSetStream(handle, stream) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  CHECK(compute(at(0)) == CUSPARSE_STATUS_EXECUTION_FAILED);
  CHECK(cudaStreamEndCapture(stream, &graph) != cudaSuccess);
  (void)cudaGetLastError();
  REQUIRE(cusparseSetStream(handle, nullptr) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cusparseSpGEMM_destroyDescr(product) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSpGEMM_destroyDescr(nullptr) == CUSPARSE_STATUS_SUCCESS);
  for (const auto each : {a, b, c}) CHECK(cusparseDestroySpMat(each) == CUSPARSE_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Sparse, "a captured product is a node of the graph", "[sparse]") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cusparseSetStream(handle, stream) == CUSPARSE_STATUS_SUCCESS);
  const auto a = csr(10, 10, 40);
  const auto x = vector(10, 0x8000), y = vector(10, 0x9000);
  const auto calls = count(Opcode::LibraryCall);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cusparseSpMV(handle, CUSPARSE_OPERATION_TRANSPOSE, &one, a, x, &one, y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  std::size_t nodes = 0;
  REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 1);
  CHECK(count(Opcode::LibraryCall) == calls);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  REQUIRE(cusparseSetStream(handle, nullptr) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cusparseDestroySpMat(a) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroyDnVec(x) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroyDnVec(y) == CUSPARSE_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Sparse, "triangles: an analysis is local, and comes before a solution", "[sparse]") {
  const auto a = csr(10, 10, 40);
  const auto x = vector(10, 0x8000), y = vector(10, 0x9000);
  cusparseFillMode_t upper = CUSPARSE_FILL_MODE_UPPER, fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t unit = CUSPARSE_DIAG_TYPE_UNIT;
  REQUIRE(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &upper, sizeof upper) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_DIAG_TYPE, &unit, sizeof unit) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_DIAG_TYPE, &unit, 1) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK((cusparseSpMatGetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill) == CUSPARSE_STATUS_SUCCESS && fill == upper));
  cusparseSpSVDescr_t state = nullptr;
  REQUIRE(cusparseSpSV_createDescr(&state) == CUSPARSE_STATUS_SUCCESS);
  const auto op = CUSPARSE_OPERATION_TRANSPOSE;
  const auto calls = count(Opcode::LibraryCall);
  CHECK(cusparseSpSV_solve(handle, op, &two, a, x, y, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, state) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(cusparseSpSV_bufferSize(handle, op, &two, a, x, y, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, state, &size) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSpSV_analysis(handle, op, &two, a, x, y, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, state, at(0)) == CUSPARSE_STATUS_SUCCESS);
  CHECK(count(Opcode::LibraryCall) == calls);
  CHECK(cusparseSpSV_solve(handle, op, &two, a, x, y, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, state) == CUSPARSE_STATUS_SUCCESS);
  sparse::Call call = travelled();
  CHECK((call.a.triangle == sparse::Triangle::upper && call.a.unitDiagonal == 1 && call.opA == sparse::Operation::transpose && call.y.cols == 1));
  // New values count from then on; of the diagonal alone they are refused.
  CHECK(cusparseSpSV_updateMatrix(handle, state, at(0x7000), CUSPARSE_SPSV_UPDATE_GENERAL) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSpSV_solve(handle, op, &two, a, x, y, CUDA_R_32F, CUSPARSE_SPSV_ALG_DEFAULT, state) == CUSPARSE_STATUS_SUCCESS);
  CHECK(travelled().a.values == reinterpret_cast<std::uint64_t>(at(0x7000)));
  const std::uint32_t id = idOf("cusparseSpSV_updateMatrix"), before = server().unsupportedCalls(id);
  CHECK(cusparseSpSV_updateMatrix(handle, state, at(0x7000), CUSPARSE_SPSV_UPDATE_DIAGONAL) == CUSPARSE_STATUS_NOT_SUPPORTED);
  CHECK(server().unsupportedCalls(id) == before + 1);
  CHECK(cusparseSpSV_destroyDescr(state) == CUSPARSE_STATUS_SUCCESS);
  const auto b = matrix(4, 10, 0x8000), c = matrix(10, 4, 0x9000);
  cusparseSpSMDescr_t several = nullptr;
  REQUIRE(cusparseSpSM_createDescr(&several) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseSpSM_bufferSize(handle, op, op, &two, a, b, c, CUDA_R_32F, CUSPARSE_SPSM_ALG_DEFAULT, several, &size) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseSpSM_analysis(handle, op, op, &two, a, b, c, CUDA_R_32F, CUSPARSE_SPSM_ALG_DEFAULT, several, at(0)) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseSpSM_solve(handle, op, op, &two, a, b, c, CUDA_R_32F, CUSPARSE_SPSM_ALG_DEFAULT, several) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSpSM_updateMatrix(handle, several, at(0x7000), CUSPARSE_SPSM_UPDATE_GENERAL) == CUSPARSE_STATUS_SUCCESS);
  CHECK(travelled().opB == sparse::Operation::transpose);
  CHECK(cusparseSpSM_destroyDescr(several) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroySpMat(a) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroyDnVec(x) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroyDnVec(y) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroyDnMat(b) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroyDnMat(c) == CUSPARSE_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Sparse, "descriptors give back what they were made of", "[sparse]") {
  cusparseSpMatDescr_t bsr = nullptr, ell = nullptr, sell = nullptr, coo = nullptr, csc = nullptr;
  REQUIRE(cusparseCreateBsr(&bsr, 5, 4, 7, 2, 3, at(0x1000), at(0x2000), at(0x4000), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ONE,
                            CUDA_R_64F, CUSPARSE_ORDER_COL) == CUSPARSE_STATUS_SUCCESS);
  std::int64_t rows = 0, cols = 0, nnz = 0, block = 0, width = 0;
  CHECK((cusparseSpMatGetSize(bsr, &rows, &cols, &nnz) == CUSPARSE_STATUS_SUCCESS && rows == 5 && cols == 4 && nnz == 7));
  cusparseFormat_t format{};
  CHECK((cusparseSpMatGetFormat(bsr, &format) == CUSPARSE_STATUS_SUCCESS && format == CUSPARSE_FORMAT_BSR));
  cusparseIndexBase_t base{};
  CHECK((cusparseSpMatGetIndexBase(bsr, &base) == CUSPARSE_STATUS_SUCCESS && base == CUSPARSE_INDEX_BASE_ONE));
  CHECK(cusparseBsrSetStridedBatch(bsr, 3, 6, 7, 42) == CUSPARSE_STATUS_SUCCESS);
  int batch = 0;
  CHECK((cusparseSpMatGetStridedBatch(bsr, &batch) == CUSPARSE_STATUS_SUCCESS && batch == 3));
  CHECK(cusparseCsrSetStridedBatch(bsr, 3, 6, 7) == CUSPARSE_STATUS_INVALID_VALUE);
  REQUIRE(cusparseCreateBlockedEll(&ell, 8, 16, 4, 8, at(0x2000), at(0x4000), CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_16F) == CUSPARSE_STATUS_SUCCESS);
  void *offsets = nullptr, *indices = nullptr, *values = nullptr;
  cusparseIndexType_t offsetsType{}, indicesType{};
  cudaDataType type{};
  CHECK((cusparseBlockedEllGet(ell, &rows, &cols, &block, &width, &indices, &values, &indicesType, &base, &type) == CUSPARSE_STATUS_SUCCESS && rows == 8 &&
         block == 4 && width == 8 && indices == at(0x2000) && indicesType == CUSPARSE_INDEX_64I && type == CUDA_R_16F));
  CHECK(cusparseCreateBlockedEll(&ell, 9, 16, 4, 8, at(0x2000), at(0x4000), CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_16F) ==
        CUSPARSE_STATUS_INVALID_VALUE);
  REQUIRE(cusparseCreateSlicedEll(&sell, 8, 16, 20, 32, 4, at(0x1000), at(0x2000), at(0x4000), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                  CUDA_R_32F) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseCreateCoo(&coo, 8, 16, 20, at(0x1000), at(0x2000), at(0x4000), CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ZERO, CUDA_C_32F) ==
          CUSPARSE_STATUS_SUCCESS);
  CHECK((cusparseCooGet(coo, &rows, &cols, &nnz, &offsets, &indices, &values, &indicesType, &base, &type) == CUSPARSE_STATUS_SUCCESS && nnz == 20 &&
         offsets == at(0x1000) && type == CUDA_C_32F));
  CHECK(cusparseCsrGet(coo, &rows, &cols, &nnz, &offsets, &indices, &values, &offsetsType, &indicesType, &base, &type) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(cusparseCooSetPointers(coo, at(0x1100), at(0x2100), at(0x4100)) == CUSPARSE_STATUS_SUCCESS);
  CHECK((cusparseSpMatGetValues(coo, &values) == CUSPARSE_STATUS_SUCCESS && values == at(0x4100)));
  CHECK(cusparseSpMatSetValues(coo, at(0x4200)) == CUSPARSE_STATUS_SUCCESS);
  const void* constant = nullptr;
  CHECK((cusparseConstSpMatGetValues(coo, &constant) == CUSPARSE_STATUS_SUCCESS && constant == at(0x4200)));
  CHECK(cusparseCooSetStridedBatch(coo, 2, 20) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseCreateCsc(&csc, 8, 16, 20, at(0x1000), at(0x2000), at(0x4000), CUSPARSE_INDEX_64I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F) ==
          CUSPARSE_STATUS_SUCCESS);
  CHECK((cusparseCscGet(csc, &rows, &cols, &nnz, &offsets, &indices, &values, &offsetsType, &indicesType, &base, &type) == CUSPARSE_STATUS_SUCCESS &&
         offsetsType == CUSPARSE_INDEX_64I && indicesType == CUSPARSE_INDEX_32I));
  CHECK(cusparseCscSetPointers(csc, at(0x1100), at(0x2100), at(0x4100)) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseCsrSetPointers(csc, at(0x1100), at(0x2100), at(0x4100)) == CUSPARSE_STATUS_INVALID_VALUE);
  for (const auto each : {bsr, ell, sell, coo, csc}) CHECK(cusparseDestroySpMat(each) == CUSPARSE_STATUS_SUCCESS);

  cusparseSpVecDescr_t vector = nullptr;
  REQUIRE(cusparseCreateSpVec(&vector, 100, 5, at(0x1000), at(0x2000), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ONE, CUDA_R_32F) == CUSPARSE_STATUS_SUCCESS);
  CHECK((cusparseSpVecGet(vector, &rows, &nnz, &indices, &values, &indicesType, &base, &type) == CUSPARSE_STATUS_SUCCESS && rows == 100 && nnz == 5 &&
         base == CUSPARSE_INDEX_BASE_ONE));
  CHECK((cusparseSpVecGetIndexBase(vector, &base) == CUSPARSE_STATUS_SUCCESS && cusparseSpVecSetValues(vector, at(0x3000)) == CUSPARSE_STATUS_SUCCESS));
  CHECK((cusparseSpVecGetValues(vector, &values) == CUSPARSE_STATUS_SUCCESS && values == at(0x3000)));
  CHECK(cusparseCreateSpVec(&vector, 4, 5, at(0x1000), at(0x2000), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ONE, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(cusparseDestroySpVec(vector) == CUSPARSE_STATUS_SUCCESS);
  cusparseDnMatDescr_t dense = nullptr;
  cusparseOrder_t order{};
  std::int64_t spacing = 0, stride = 0;
  CHECK(cusparseCreateDnMat(&dense, 4, 5, 3, at(0x1000), CUDA_R_32F, CUSPARSE_ORDER_COL) == CUSPARSE_STATUS_INVALID_VALUE);
  REQUIRE(cusparseCreateDnMat(&dense, 4, 5, 6, at(0x1000), CUDA_R_32F, CUSPARSE_ORDER_COL) == CUSPARSE_STATUS_SUCCESS);
  CHECK((cusparseDnMatGet(dense, &rows, &cols, &spacing, &values, &type, &order) == CUSPARSE_STATUS_SUCCESS && spacing == 6 && order == CUSPARSE_ORDER_COL));
  CHECK((cusparseDnMatSetStridedBatch(dense, 1, 77) == CUSPARSE_STATUS_SUCCESS &&
         cusparseDnMatGetStridedBatch(dense, &batch, &stride) == CUSPARSE_STATUS_SUCCESS && stride == 77));
  CHECK((cusparseDnMatSetValues(dense, at(0x2000)) == CUSPARSE_STATUS_SUCCESS && cusparseDnMatGetValues(dense, &values) == CUSPARSE_STATUS_SUCCESS &&
         values == at(0x2000)));
  CHECK(cusparseDestroyDnMat(dense) == CUSPARSE_STATUS_SUCCESS);
  cusparseMatDescr_t classic = nullptr;
  REQUIRE(cusparseCreateMatDescr(&classic) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSetMatIndexBase(classic, CUSPARSE_INDEX_BASE_ONE) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSetMatFillMode(classic, CUSPARSE_FILL_MODE_UPPER) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSetMatDiagType(classic, CUSPARSE_DIAG_TYPE_UNIT) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSetMatType(classic, CUSPARSE_MATRIX_TYPE_TRIANGULAR) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSetMatType(classic, static_cast<cusparseMatrixType_t>(7)) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK((cusparseGetMatIndexBase(classic) == CUSPARSE_INDEX_BASE_ONE && cusparseGetMatFillMode(classic) == CUSPARSE_FILL_MODE_UPPER &&
         cusparseGetMatDiagType(classic) == CUSPARSE_DIAG_TYPE_UNIT && cusparseGetMatType(classic) == CUSPARSE_MATRIX_TYPE_TRIANGULAR));
  CHECK(cusparseDestroyMatDescr(classic) == CUSPARSE_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Sparse, "the classic interface makes the same calls", "[sparse]") {
  cusparseMatDescr_t descriptor = nullptr;
  bsrsm2Info_t info = nullptr;
  csrilu02Info_t factors = nullptr;
  REQUIRE(cusparseCreateMatDescr(&descriptor) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseCreateBsrsm2Info(&info) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseCreateCsrilu02Info(&factors) == CUSPARSE_STATUS_SUCCESS);
  const auto op = CUSPARSE_OPERATION_NON_TRANSPOSE;
  float* const values = at<float>(0x4000);
  const int* const offsets = at<int>(0x1000);
  const int* const indices = at<int>(0x2000);
  REQUIRE(cusparseSbsrmm(handle, CUSPARSE_DIRECTION_COLUMN, op, CUSPARSE_OPERATION_TRANSPOSE, 5, 3, 4, 7, &one, descriptor, values, offsets, indices, 2,
                         at<float>(0x8000), 3, &two, at<float>(0x9000), 10) == CUSPARSE_STATUS_SUCCESS);
  sparse::Call call = travelled();
  CHECK((call.a.format == sparse::Format::bsr && call.a.rows == 10 && call.a.cols == 8 && call.a.order == sparse::Order::column && call.x.rows == 3 &&
         call.x.cols == 8));
  REQUIRE(cusparseSbsrmv(handle, CUSPARSE_DIRECTION_ROW, op, 5, 4, 7, &one, descriptor, values, offsets, indices, 2, at<float>(0x8000), &two, at<float>(0x9000)) ==
          CUSPARSE_STATUS_SUCCESS);
  CHECK((travelled().y.rows == 10));
  int bytes = 0, position = 7;
  const auto policy = CUSPARSE_SOLVE_POLICY_NO_LEVEL;
  const auto solve = [&] {
    return cusparseSbsrsm2_solve(handle, CUSPARSE_DIRECTION_ROW, op, CUSPARSE_OPERATION_TRANSPOSE, 5, 3, 7, &one, descriptor, values, offsets, indices, 2, info,
                                 at<float>(0x8000), 3, at<float>(0x9000), 3, policy, at(0));
  };
  CHECK(solve() == CUSPARSE_STATUS_INVALID_VALUE);
  REQUIRE(cusparseSbsrsm2_bufferSize(handle, CUSPARSE_DIRECTION_ROW, op, CUSPARSE_OPERATION_TRANSPOSE, 5, 3, 7, descriptor, values, offsets, indices, 2, info,
                                     &bytes) == CUSPARSE_STATUS_SUCCESS);
  CHECK(bytes > 0);
  REQUIRE(cusparseSbsrsm2_analysis(handle, CUSPARSE_DIRECTION_ROW, op, CUSPARSE_OPERATION_TRANSPOSE, 5, 3, 7, descriptor, values, offsets, indices, 2, info,
                                   policy, at(0)) == CUSPARSE_STATUS_SUCCESS);
  // Nothing has been solved, so no pivot is known.
  CHECK((cusparseXbsrsm2_zeroPivot(handle, info, &position) == CUSPARSE_STATUS_SUCCESS && position == -1));
  REQUIRE(solve() == CUSPARSE_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.x.order == sparse::Order::row && call.x.rows == 10 && call.x.cols == 3 && call.answer != 0 && call.answerMark != 0));
  const std::uint64_t written = call.answer;
  REQUIRE(cusparseScsrilu02_bufferSize(handle, 10, 40, descriptor, values, offsets, indices, factors, &bytes) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseScsrilu02_analysis(handle, 10, 40, descriptor, values, offsets, indices, factors, policy, at(0)) == CUSPARSE_STATUS_SUCCESS);
  double tolerance = 1e-3;
  REQUIRE(cusparseScsrilu02_numericBoost(handle, factors, 1, &tolerance, &two) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseScsrilu02(handle, 10, 40, descriptor, values, offsets, indices, factors, policy, at(0)) == CUSPARSE_STATUS_SUCCESS);
  call = travelled();
  double travelledTolerance = 0;
  std::memcpy(&travelledTolerance, call.alpha.words, sizeof travelledTolerance);
  CHECK((call.boosted == 1 && travelledTolerance == tolerance && call.answer != 0));
  CHECK((cusparseXcsrilu02_zeroPivot(handle, factors, &position) == CUSPARSE_STATUS_SUCCESS && position == -1));
  REQUIRE(cusparseSetMatType(descriptor, CUSPARSE_MATRIX_TYPE_SYMMETRIC) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseScsrilu02(handle, 10, 40, descriptor, values, offsets, indices, factors, policy, at(0)) == CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED);
  REQUIRE(cusparseSgtsv2_bufferSizeExt(handle, 10, 3, values, values, values, at<float>(0x8000), 12, &size) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseSgtsv2_bufferSizeExt(handle, 10, 3, nullptr, nullptr, nullptr, nullptr, 10, &size) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseSgtsv2_bufferSizeExt(handle, 10, 3, nullptr, nullptr, nullptr, nullptr, 9, &size) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(cusparseSgtsv2(handle, 10, 3, nullptr, values, values, at<float>(0x8000), 12, at(0)) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(cusparseDgtsv2StridedBatch_bufferSizeExt(handle, 10, nullptr, nullptr, nullptr, nullptr, 2, 10, &size) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseCgpsvInterleavedBatch_bufferSizeExt(handle, 0, 10, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 2, &size) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseSgtsv2(handle, 10, 3, values, values, values, at<float>(0x8000), 12, at(0)) == CUSPARSE_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.band.oneMatrix == 1 && call.band.pivots == 1 && call.x.cols == 3 && call.x.spacing == 12));
  REQUIRE(cusparseSgtsvInterleavedBatch(handle, 0, 10, values, values, values, at<float>(0x8000), 6, at(0)) == CUSPARSE_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.band.spacing == 6 && call.band.stride == 1 && call.band.systems == 6 && call.band.pivots == 0));
  CHECK(cusparseSgtsvInterleavedBatch(handle, 3, 10, values, values, values, at<float>(0x8000), 6, at(0)) == CUSPARSE_STATUS_INVALID_VALUE);
  REQUIRE(cusparseXcoo2csr(handle, indices, 40, 10, at<int>(0x9000), CUSPARSE_INDEX_BASE_ONE) == CUSPARSE_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.a.format == sparse::Format::coo && call.c.format == sparse::Format::csr && call.a.base == 1 && call.c.rows == 10));
  REQUIRE(cusparseXcoosortByColumn(handle, 10, 10, 40, at<int>(0x1000), at<int>(0x2000), at<int>(0x3000), at(0)) == CUSPARSE_STATUS_SUCCESS);
  CHECK(travelled().byColumn == 1);
  csru2csrInfo_t unsorted = nullptr;
  REQUIRE(cusparseCreateCsru2csrInfo(&unsorted) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseCcsru2csr_bufferSizeExt(handle, 10, 10, 100, nullptr, nullptr, nullptr, unsorted, &size) == CUSPARSE_STATUS_SUCCESS);
  CHECK(size == 512 + 800);
  CHECK(cusparseZcsru2csr_bufferSizeExt(handle, 10, 10, -1, nullptr, nullptr, nullptr, unsorted, &size) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(cusparseCcsru2csr_bufferSizeExt(handle, 10, 10, 100, nullptr, nullptr, nullptr, nullptr, &size) == CUSPARSE_STATUS_INVALID_VALUE);
  auto* const complex = at<cuComplex>(0x8000);
  CHECK(cusparseCcsru2csr(handle, 10, 10, 100, descriptor, complex, offsets, at<int>(0x2000), unsorted, nullptr) == CUSPARSE_STATUS_INVALID_VALUE);
  REQUIRE(cusparseCcsru2csr(handle, 10, 10, 100, descriptor, complex, offsets, at<int>(0x2000), unsorted, at(0x10000)) == CUSPARSE_STATUS_SUCCESS);
  call = travelled();
  const auto place = [this](std::uint64_t offset) { return reinterpret_cast<std::uint64_t>(at(offset)); };
  CHECK((call.a.indices == place(0x10000) && call.a.values == place(0x8000) && call.x.values == place(0x10200)));
  CHECK((call.a.type == sparse::Type::c32 && call.a.nnz == 100));
  CHECK(cusparseDestroyCsru2csrInfo(unsorted) == CUSPARSE_STATUS_SUCCESS);
  // Where an executor has not written yet is no other object's; where it has, the next one's.
  CHECK(cusparseDestroyBsrsm2Info(info) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseSetMatType(descriptor, CUSPARSE_MATRIX_TYPE_GENERAL) == CUSPARSE_STATUS_SUCCESS);
  const auto pivotOf = [&] {
    REQUIRE(cusparseCreateBsrsm2Info(&info) == CUSPARSE_STATUS_SUCCESS);
    REQUIRE(cusparseSbsrsm2_analysis(handle, CUSPARSE_DIRECTION_ROW, op, CUSPARSE_OPERATION_TRANSPOSE, 5, 3, 7, descriptor, values, offsets, indices, 2, info,
                                     policy, at(0)) == CUSPARSE_STATUS_SUCCESS);
    REQUIRE(solve() == CUSPARSE_STATUS_SUCCESS);
    const sparse::Call solved = travelled();
    REQUIRE(cusparseDestroyBsrsm2Info(info) == CUSPARSE_STATUS_SUCCESS);
    return solved;
  };
  const sparse::Call second = pivotOf();
  CHECK(second.answer != written);
  const sparse::Answer done{-1, second.answerMark};
  std::memcpy(reinterpret_cast<void*>(second.answer), &done, sizeof done);
  CHECK(pivotOf().answer == second.answer);
  CHECK(cusparseDestroyCsrilu02Info(factors) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroyMatDescr(descriptor) == CUSPARSE_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Sparse, "wrong arguments are answered at the call, and nothing travels", "[sparse]") {
  const auto calls = count(Opcode::LibraryCall);
  const auto a = csr(10, 12, 40);
  const auto x = vector(12, 0x8000), y = vector(10, 0x9000), doubles = vector(12, 0x8000, CUDA_R_64F);
  const auto op = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const auto multiply = [&](cusparseHandle_t by, const void* alpha, cusparseOperation_t opA, cusparseConstDnVecDescr_t from, cusparseDnVecDescr_t to,
                            cudaDataType type) { return cusparseSpMV(by, opA, alpha, a, from, &one, to, type, CUSPARSE_SPMV_ALG_DEFAULT, nullptr); };
  CHECK(cusparseCreate(nullptr) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(multiply(nullptr, &one, op, x, y, CUDA_R_32F) == CUSPARSE_STATUS_NOT_INITIALIZED);
  CHECK(multiply(handle, nullptr, op, x, y, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(multiply(handle, &one, static_cast<cusparseOperation_t>(9), x, y, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(multiply(handle, &one, op, nullptr, y, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(multiply(handle, &one, CUSPARSE_OPERATION_TRANSPOSE, x, y, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  const std::uint32_t id = idOf("cusparseSpMV"), before = server().unsupportedCalls(id);
  CHECK(multiply(handle, &one, op, doubles, y, CUDA_R_32F) == CUSPARSE_STATUS_NOT_SUPPORTED);
  CHECK(multiply(handle, &one, op, x, y, CUDA_C_8I) == CUSPARSE_STATUS_NOT_SUPPORTED);
  CHECK(server().unsupportedCalls(id) == before + 2);
  CHECK(cusparseSpMV_bufferSize(handle, op, &one, a, x, &one, y, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr) == CUSPARSE_STATUS_INVALID_VALUE);
  int version = 0;
  CHECK((cusparseGetVersion(handle, &version) == CUSPARSE_STATUS_SUCCESS && version == CUSPARSE_VERSION));
  CHECK(cusparseGetVersion(nullptr, &version) == CUSPARSE_STATUS_NOT_INITIALIZED);
  CHECK((cusparseGetProperty(MAJOR_VERSION, &version) == CUSPARSE_STATUS_SUCCESS && version == CUSPARSE_VER_MAJOR));
  CHECK(std::string(cusparseGetErrorName(CUSPARSE_STATUS_ZERO_PIVOT)) == "CUSPARSE_STATUS_ZERO_PIVOT");
  CHECK(std::string(cusparseGetErrorString(static_cast<cusparseStatus_t>(99))) != "");
  CHECK(cusparseLoggerSetLevel(0) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseLoggerSetLevel(5) == CUSPARSE_STATUS_NOT_SUPPORTED);
  // A function that is not served.
  const std::uint32_t colouring = idOf("cusparseCreateColorInfo"), counted = server().unsupportedCalls(colouring);
  cusparseColorInfo_t color = nullptr;
  CHECK(cusparseCreateColorInfo(&color) == CUSPARSE_STATUS_NOT_SUPPORTED);
  CHECK(server().unsupportedCalls(colouring) == counted + 1);
  cusparseHandle_t other = nullptr;
  REQUIRE(cusparseCreate(&other) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseDestroy(other) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparseDestroy(other) == CUSPARSE_STATUS_NOT_INITIALIZED);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls);
  CHECK(cusparseDestroySpMat(a) == CUSPARSE_STATUS_SUCCESS);
  for (const auto each : {x, y, doubles}) CHECK(cusparseDestroyDnVec(each) == CUSPARSE_STATUS_SUCCESS);
}

}  // namespace rouse::test
