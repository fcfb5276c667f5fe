// Calls of cuSPARSE on GPUs, before a double of it: descriptors, memory to work in, what is prepared, what is done, and that all is ended. Nothing here says that NVIDIA's library takes them.
#include <cusparse.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "schemas/sparse/check.h"
#include "server/library/cuda/real_libraries.h"
#include "test/libraries/taken.h"
#include "test/libraries/work_memory.h"

namespace rouse::library::cuda {
namespace {

using sparse::Call;
using sparse::Format;
using sparse::Function;
using sparse::Type;

CUstream_st* stream(std::uint64_t number) { return reinterpret_cast<CUstream_st*>(number); }

struct RealSparse {
  RealSparse() {
    ::setenv(kSparseVariable, ROUSE_CUSPARSE_DOUBLE, 1);
    ::setenv(kBlasVariable, ROUSE_CUBLAS_DOUBLE, 1);
    says(4096, 50, -1);
    refuse(ROUSE_CUSPARSE_DOUBLE, "", 0);
    libraries.workIn(std::make_unique<Memory>(account));
    (void)takenOf(ROUSE_CUBLAS_DOUBLE);
    (void)takenOf(ROUSE_CUSPARSE_DOUBLE);
    handle = libraries.take(stream(0x77), sparse::kLibrary).value();
  }
  static void says(std::uint64_t bytes, std::int64_t counted, int pivot) {
    functionOf<void(std::uint64_t, std::int64_t, int)>(ROUSE_CUSPARSE_DOUBLE, "rouse_cusparse_double_says")(bytes, counted, pivot);
  }
  Status run(Function function, const Call& call) {
    const sparse::Check checked = sparse::check(function, call);
    CAPTURE(checked.what);
    REQUIRE(checked.verdict == sparse::Verdict::runs);
    return libraries.call(*handle, sparse::kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1)));
  }
  // Since the last time, and that what was made has been ended.
  static std::vector<Taken> taken() {
    auto calls = takenOf(ROUSE_CUSPARSE_DOUBLE);
    int made = 0, ended = 0;
    for (const Taken& each : calls) {
      made += (each.name.starts_with("cusparseCreate") && each.name != "cusparseCreate" && each.name != "cusparseCreateIdentityPermutation") ||
              each.name.ends_with("_createDescr");
      ended += (each.name.starts_with("cusparseDestroy") && each.name != "cusparseDestroy") || each.name.ends_with("_destroyDescr");
    }
    CHECK(made == ended);
    return calls;
  }
  static const Taken& find(const std::vector<Taken>& calls, const std::string& name) {
    const auto found = std::ranges::find(calls, name, &Taken::name);
    CAPTURE(name);
    REQUIRE(found != calls.end());
    return *found;
  }
  static bool has(const std::vector<Taken>& calls, const std::string& name) { return std::ranges::find(calls, name, &Taken::name) != calls.end(); }

  Account account;
  RealLibraries libraries;
  Handle* handle = nullptr;
};

sparse::Sparse csr(std::int64_t rows, std::int64_t cols, std::int64_t nnz) {
  sparse::Sparse m;
  m.format = Format::csr;
  m.offsets = 0xa000;
  m.indices = 0xb000;
  m.values = 0xc000;
  m.rows = rows;
  m.cols = cols;
  m.nnz = nnz;
  m.batch = 1;
  m.offsetsType = m.indicesType = sparse::Index::i32;
  return m;
}
sparse::Dense dense(std::uint64_t address, std::int64_t rows, std::int64_t cols, sparse::Order order = sparse::Order::column) {
  return {.values = address, .rows = rows, .cols = cols, .spacing = order == sparse::Order::column ? rows : cols, .batch = 1, .order = order};
}
Call product(std::int64_t columns) {
  Call call;
  call.a = csr(10, 12, 40);
  call.x = dense(0xd000, 12, columns);
  call.y = dense(0xe000, 10, columns);
  call.alpha.words[0] = 0x3f80'0000;
  return call;
}

}  // namespace

TEST_CASE_METHOD(RealSparse, "a product makes its descriptors, has memory to work in, and ends them", "[sparse]") {
  Call call = product(1);
  call.algorithm = 3;
  REQUIRE(run(Function::spmv, call).ok());
  auto calls = taken();
  CHECK(calls[0].name == "cusparseCreate");
  CHECK((calls[1].name == "cusparseSetStream" && calls[1].arguments[1] == 0x77));
  CHECK((calls[2].name == "cusparseSetPointerMode" && calls[2].arguments[1] == CUSPARSE_POINTER_MODE_HOST));
  const Taken& made = find(calls, "cusparseCreateCsr");
  CHECK(Words(made.arguments.begin() + 1, made.arguments.end()) ==
        Words{10, 12, 40, 0xa000, 0xb000, 0xc000, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F});
  const Taken& done = find(calls, "cusparseSpMV");
  CHECK((done.arguments[1] == CUSPARSE_OPERATION_NON_TRANSPOSE && done.arguments[7] == CUDA_R_32F && done.arguments[8] == 3 && done.arguments[9] == 0x9000'0000));
  CHECK(account.taken == Words{4096});
  // What has been taken is there for the next call, too.
  REQUIRE(run(Function::spmv, call).ok());
  calls = taken();
  CHECK(find(calls, "cusparseSpMV").arguments[9] == 0x9000'0000);
  CHECK(account.taken == Words{4096});
  CHECK_FALSE(has(calls, "cusparseCreate"));
  // None of cuBLAS's has been made for it.
  CHECK(takenOf(ROUSE_CUBLAS_DOUBLE).empty());
  call = product(3);
  call.scalars = sparse::Scalars::inMemory;
  call.alpha.words[0] = 0x1000;
  call.beta.words[0] = 0x2000;
  REQUIRE(run(Function::spmm, call).ok());
  calls = taken();
  CHECK(calls[0].arguments[1] == CUSPARSE_POINTER_MODE_DEVICE);
  CHECK((find(calls, "cusparseSpMM").arguments[3] == 0x1000 && find(calls, "cusparseSpMM").arguments[6] == 0x2000));
  libraries.end();
  CHECK(account.given == Words{0x9000'0000, 4096});
}

TEST_CASE_METHOD(RealSparse, "triangles are analysed with each solution", "[sparse]") {
  Call call;
  call.a = csr(10, 10, 40);
  call.a.triangle = sparse::Triangle::upper;
  call.x = dense(0xd000, 10, 1);
  call.y = dense(0xe000, 10, 1);
  call.opA = sparse::Operation::transpose;
  REQUIRE(run(Function::solve, call).ok());
  auto calls = taken();
  CHECK(find(calls, "cusparseSpMatSetAttribute").arguments[1] == CUSPARSE_SPMAT_FILL_MODE);
  CHECK(find(calls, "cusparseSpSV_analysis").arguments.back() == 0x9000'0000);
  CHECK(find(calls, "cusparseSpSV_solve").arguments[1] == CUSPARSE_OPERATION_TRANSPOSE);
  call.x = dense(0xd000, 10, 4, sparse::Order::row);
  call.y = dense(0xe000, 10, 4);
  REQUIRE(run(Function::solve, call).ok());
  calls = taken();
  CHECK((has(calls, "cusparseSpSM_analysis") && has(calls, "cusparseSpSM_solve") && !has(calls, "cusparseSpSV_solve")));
  // Blocks are the classic interface's, which tells pivots.
  sparse::Answer answer{sparse::kUnanswered};
  call.x.order = sparse::Order::column;
  call.x.spacing = 10;
  call.a.format = Format::bsr;
  call.a.blockRows = call.a.blockCols = 2;
  call.a.order = sparse::Order::row;
  call.answer = reinterpret_cast<std::uint64_t>(&answer);
  says(4096, 50, 3);
  REQUIRE(run(Function::solve, call).ok());
  calls = taken();
  const Taken& solved = find(calls, "cusparseSbsrsm2_solve");
  CHECK((solved.arguments[4] == 5 && solved.arguments[5] == 4 && solved.arguments[6] == 40 && solved.arguments[12] == 2));
  CHECK(answer.number == 3);
}

TEST_CASE_METHOD(RealSparse, "sparse products: counted and made, each the whole way", "[sparse]") {
  sparse::Answer answer{sparse::kUnanswered};
  Call call;
  call.a = csr(10, 8, 40);
  call.b = csr(8, 9, 30);
  call.answer = reinterpret_cast<std::uint64_t>(&answer);
  REQUIRE(run(Function::productCount, call).ok());
  auto calls = taken();
  CHECK(answer.number == 50);
  CHECK(std::ranges::count(calls, "cusparseSpGEMM_workEstimation", &Taken::name) == 2);
  CHECK(std::ranges::count(calls, "cusparseSpGEMM_compute", &Taken::name) == 2);
  CHECK_FALSE(has(calls, "cusparseSpGEMM_copy"));
  // Both memories at the same time, and where the offsets of a result go that nobody sees.
  CHECK(account.taken == Words{44, 4096, 4096});
  REQUIRE(run(Function::productWork, call).ok());
  calls = taken();
  CHECK((has(calls, "cusparseSpGEMM_getNumProducts") && !has(calls, "cusparseSpGEMM_compute")));
  call.answer = 0;
  call.c = csr(10, 9, 50);
  call.c.offsets = 0x1000;
  REQUIRE(run(Function::product, call).ok());
  calls = taken();
  CHECK((find(calls, "cusparseCsrSetPointers").arguments[1] == 0x1000 && has(calls, "cusparseSpGEMM_copy")));
  call.c.nnz = 49;
  const Status refused = run(Function::product, call);
  CHECK((!refused.ok() && refused.error().code == CudaError::notSupported));
  CHECK_FALSE(has(taken(), "cusparseSpGEMM_copy"));
}

TEST_CASE_METHOD(RealSparse, "conversions, sums, sorts", "[sparse]") {
  sparse::Answer answer{sparse::kUnanswered};
  Call call;
  call.x = dense(0xd000, 10, 8);
  call.answer = reinterpret_cast<std::uint64_t>(&answer);
  REQUIRE(run(Function::fromDenseCount, call).ok());
  CHECK(answer.number == 50);
  CHECK(has(taken(), "cusparseDenseToSparse_analysis"));
  call.answer = 0;
  call.c = csr(10, 8, 50);
  REQUIRE(run(Function::fromDense, call).ok());
  CHECK(has(taken(), "cusparseDenseToSparse_convert"));
  Call sum;
  sum.a = sum.b = csr(10, 8, 40);
  sum.c = csr(10, 8, 0);
  sum.answer = reinterpret_cast<std::uint64_t>(&answer);
  says(4096, 61, -1);
  REQUIRE(run(Function::sumCount, sum).ok());
  CHECK(answer.number == 61);
  CHECK(has(taken(), "cusparseXcsrgeam2Nnz"));
  sum.answer = 0;
  sum.result = 0x5000;
  REQUIRE(run(Function::sumCount, sum).ok());
  CHECK(find(taken(), "cusparseXcsrgeam2Nnz").arguments[13] == 0x5000);
  sum.result = 0;
  sum.a.type = sum.b.type = sum.c.type = sum.computeType = Type::c64;
  REQUIRE(run(Function::sum, sum).ok());
  CHECK(has(taken(), "cusparseZcsrgeam2"));
  Call sort;
  sort.a = csr(10, 8, 40);
  REQUIRE(run(Function::sort, sort).ok());
  auto calls = taken();
  CHECK((has(calls, "cusparseCreateIdentityPermutation") && has(calls, "cusparseXcsrsort")));
  sort.a.format = Format::coo;
  sort.byColumn = 1;
  sort.result = 0x6000;
  REQUIRE(run(Function::sort, sort).ok());
  calls = taken();
  CHECK((find(calls, "cusparseXcoosortByColumn").arguments[6] == 0x6000 && !has(calls, "cusparseCreateIdentityPermutation")));
  Call turned;
  turned.a = turned.c = csr(10, 8, 40);
  turned.c.format = Format::csc;
  REQUIRE(run(Function::transpose, turned).ok());
  CHECK(find(taken(), "cusparseCsr2cscEx2").arguments[11] == CUSPARSE_ACTION_NUMERIC);
}

TEST_CASE_METHOD(RealSparse, "factorisations and diagonals are the function of their type", "[sparse]") {
  sparse::Answer answer{sparse::kUnanswered};
  Call call;
  call.a = csr(10, 10, 40);
  call.a.type = call.computeType = Type::f64;
  call.answer = reinterpret_cast<std::uint64_t>(&answer);
  call.boosted = 1;
  REQUIRE(run(Function::lu, call).ok());
  auto calls = taken();
  CHECK((has(calls, "cusparseDcsrilu02_numericBoost") && has(calls, "cusparseDcsrilu02_analysis") && has(calls, "cusparseDcsrilu02")));
  CHECK(answer.number == -1);
  call.boosted = 0;
  says(4096, 50, 2);
  // A pivot that is 0 is an answer, and no error.
  refuse(ROUSE_CUSPARSE_DOUBLE, "cusparseXcsric02_zeroPivot", CUSPARSE_STATUS_ZERO_PIVOT);
  REQUIRE(run(Function::cholesky, call).ok());
  CHECK(answer.number == 2);
  CHECK(has(taken(), "cusparseDcsric02"));
  Call band;
  band.computeType = Type::c32;
  for (int i = 1; i < 4; ++i) band.band.diagonals[i] = 0x1000u * static_cast<unsigned>(i);
  band.band.rows = 20;
  band.band.systems = 4;
  band.band.spacing = 1;
  band.band.stride = 32;
  band.result = 0x8000;
  REQUIRE(run(Function::tridiagonal, band).ok());
  CHECK(find(taken(), "cusparseCgtsv2StridedBatch").arguments[7] == 32);
  band.band.spacing = 4;
  band.band.stride = 1;
  band.band.pivots = 1;
  REQUIRE(run(Function::tridiagonal, band).ok());
  CHECK(find(taken(), "cusparseCgtsvInterleavedBatch").arguments[1] == 1);
  band.band.diagonals[0] = 0x5000, band.band.diagonals[4] = 0x6000;
  REQUIRE(run(Function::pentadiagonal, band).ok());
  CHECK(has(taken(), "cusparseCgpsvInterleavedBatch"));
}

TEST_CASE_METHOD(RealSparse, "what the library refuses, and what there is no memory for, is an error of the call's; all is ended", "[sparse]") {
  refuse(ROUSE_CUSPARSE_DOUBLE, "cusparseSpMV", CUSPARSE_STATUS_NOT_SUPPORTED);
  Status status = run(Function::spmv, product(1));
  CHECK((status.error().code == CudaError::notSupported && status.error().message == "cusparseSpMV: CUSPARSE_STATUS_NOT_SUPPORTED"));
  (void)taken();
  refuse(ROUSE_CUSPARSE_DOUBLE, "cusparseSpMV_bufferSize", CUSPARSE_STATUS_INVALID_VALUE);
  status = run(Function::spmv, product(1));
  CHECK(status.error().code == CudaError::invalidValue);
  CHECK_FALSE(has(taken(), "cusparseSpMV"));
  refuse(ROUSE_CUSPARSE_DOUBLE, "", 0);
  account.most = 100000;
  says(1 << 20, 50, -1);
  status = run(Function::spmv, product(1));
  CHECK((status.error().code == CudaError::memoryAllocation && status.error().message == "cuSPARSE's memory to work in of 1048576 bytes: none left"));
  CHECK_FALSE(has(taken(), "cusparseSpMV"));
}

TEST_CASE("calls that wait for the GPU are never made by who may not", "[sparse]") {
  const auto waits = [](Function function) { return mayWait(sparse::kLibrary, static_cast<std::uint32_t>(function)); };
  CHECK_FALSE((waits(Function::spmv) || waits(Function::dot)));
  for (const Function function : {Function::productCount, Function::product, Function::solve, Function::fromDenseCount, Function::lu}) CHECK(waits(function));
}

TEST_CASE("the pool's own library is not NVIDIA's", "[sparse]") {
  ::setenv(kSparseVariable, ROUSE_OWN_CUSPARSE, 1);
  RealLibraries libraries;
  const auto refused = libraries.take(stream(1), sparse::kLibrary);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("the pool's own") != std::string::npos);
}

}  // namespace rouse::library::cuda
