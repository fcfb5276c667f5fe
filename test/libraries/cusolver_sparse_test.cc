// cuSOLVER's sparse part as programs call it, before a daemon and executors of the test that answer nothing: what travels, what waits, and what a call with wrong arguments
// answers; and the functions for the host, which the program's own processor does.
#include <cuda_runtime.h>
#include <cusolverSp_LOWLEVEL_PREVIEW.h>
#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "schemas/systems/check.h"
#include "test/libraries/library_calls.h"

namespace rouse::test {
namespace {

using systems::Function;
using systems::Method;
using systems::Order;
using systems::Type;
using wire::Opcode;

struct Systems : LibraryCalls {
  Systems() {
    REQUIRE(cusolverSpCreate(&handle) == CUSOLVER_STATUS_SUCCESS);
    REQUIRE(cusparseCreateMatDescr(&descriptor) == CUSPARSE_STATUS_SUCCESS);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    offsets = at<int>(0), indices = at<int>(4096);
  }
  ~Systems() {
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cusolverSpDestroy(handle) == CUSOLVER_STATUS_SUCCESS);
    CHECK(cusparseDestroyMatDescr(descriptor) == CUSPARSE_STATUS_SUCCESS);
  }
  systems::Call travelled() { return last<systems::Call>(); }

  int *offsets = nullptr, *indices = nullptr;
  cusolverSpHandle_t handle = nullptr;
  cusparseMatDescr_t descriptor = nullptr;
};

// 4 x 4, from base 1 on; with 2 on the diagonal's neighbours it is positive.
struct OnHost {
  std::vector<int> offsets{1, 3, 6, 9, 11}, indices{1, 2, 1, 2, 3, 2, 3, 4, 3, 4};
  std::vector<double> values{4, 1, 1, 5, 2, 2, 6, 1, 1, 7}, x{1, -2, 3, 0.5}, b{2, -3, 14.5, 6.5};
};

template <class T>
bool near(const std::vector<T>& got, const std::vector<T>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!(std::abs(got[i] - wanted[i]) < 1e-5)) return false;
  return got.size() == wanted.size();
}

}  // namespace

TEST_CASE_METHOD(Systems, "a system is one command that waits for what the host is told", "[systems]") {
  REQUIRE(cusparseSetMatIndexBase(descriptor, CUSPARSE_INDEX_BASE_ONE) == CUSPARSE_STATUS_SUCCESS);
  auto* const values = at<cuComplex>(8192);
  int singularity = 77;
  const auto signals = count(Opcode::SlotSignal), calls = count(Opcode::LibraryCall);
  // The test's executor says nothing, and silence is no answer.
  CHECK(cusolverSpCcsrlsvqr(handle, 10, 30, descriptor, values, offsets, indices, at<cuComplex>(16384), 1e-3f, 1, at<cuComplex>(20480), &singularity) == CUSOLVER_STATUS_EXECUTION_FAILED);
  CHECK(singularity == 77);
  CHECK(count(Opcode::SlotSignal) == signals + 1);
  systems::Call call = travelled();
  CHECK(count(Opcode::LibraryCall) == calls + 1);
  CHECK((call.a.rows == 10 && call.a.cols == 10 && call.a.elements == 30 && call.a.type == Type::c32 && call.a.base == 1));
  CHECK((call.a.offsets == address(0) && call.a.indices == address(4096) && call.a.values == address(8192)));
  CHECK((call.right == address(16384) && call.solution == address(20480) && call.answer != 0));
  CHECK((call.method == Method::qr && call.order == Order::reverseCuthillMcKee && call.tolerance == double{1e-3f} && call.batch == 1));
  CHECK(cusolverSpDcsrlsvchol(handle, 10, 30, descriptor, at<double>(8192), offsets, indices, at<double>(16384), 0, 0, at<double>(20480), &singularity) == CUSOLVER_STATUS_EXECUTION_FAILED);
  call = travelled();
  CHECK((call.method == Method::cholesky && call.order == Order::none && call.a.type == Type::f64));
  // Nothing to solve, and nothing that travels.
  CHECK(cusolverSpDcsrlsvchol(handle, 0, 0, descriptor, nullptr, offsets, nullptr, nullptr, 0, 0, nullptr, &singularity) == CUSOLVER_STATUS_SUCCESS);
  CHECK(singularity == -1);
  CHECK(count(Opcode::LibraryCall) == calls + 2);
}

TEST_CASE_METHOD(Systems, "batches and eigenvalues wait for nothing, and are nodes of graphs", "[systems]") {
  csrqrInfo_t info = nullptr;
  REQUIRE(cusolverSpCreateCsrqrInfo(&info) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverSpXcsrqrAnalysisBatched(handle, 12, 10, 30, descriptor, offsets, indices, info) == CUSOLVER_STATUS_SUCCESS);
  std::size_t internal = 0, work = 0;
  auto* const values = at<float>(8192);
  REQUIRE(cusolverSpScsrqrBufferInfoBatched(handle, 12, 10, 30, descriptor, values, offsets, indices, 7, info, &internal, &work) == CUSOLVER_STATUS_SUCCESS);
  CHECK((internal > 0 && work > 0));
  const auto signals = count(Opcode::SlotSignal);
  REQUIRE(cusolverSpScsrqrsvBatched(handle, 12, 10, 30, descriptor, values, offsets, indices, at<float>(16384), at<float>(20480), 7, info, memory) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverSpZcsreigvsi(handle, 10, 30, descriptor, at<cuDoubleComplex>(8192), offsets, indices, {1.5, -2}, at<cuDoubleComplex>(16384), 20, 1e-6, at<cuDoubleComplex>(32768),
                               at<cuDoubleComplex>(20480)) == CUSOLVER_STATUS_SUCCESS);
  CHECK(count(Opcode::SlotSignal) == signals);
  systems::Call call = travelled();
  CHECK((call.shift[0] == 1.5 && call.shift[1] == -2 && call.iterations == 20 && call.tolerance == 1e-6 && call.value == address(32768) && call.right == address(16384)));
  REQUIRE(cusolverSpScsrqrsvBatched(handle, 12, 10, 30, descriptor, values, offsets, indices, at<float>(16384), at<float>(20480), 7, info, memory) == CUSOLVER_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.a.rows == 12 && call.a.cols == 10 && call.batch == 7 && call.answer == 0 && call.order == Order::none && call.method == Method::qr));
  CHECK(cusolverSpScsrqrsvBatched(handle, 12, 10, 30, descriptor, values, offsets, indices, at<float>(16384), at<float>(20480), 0, info, memory) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverSpScsrqrsvBatched(handle, 9, 10, 30, descriptor, values, offsets, indices, at<float>(16384), at<float>(20480), 7, info, memory) == CUSOLVER_STATUS_INVALID_VALUE);

  cudaStream_t stream = nullptr, told = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  CHECK(cusolverSpSetStream(handle, stream) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverSpGetStream(handle, &told) == CUSOLVER_STATUS_SUCCESS);
  CHECK(told == stream);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cusolverSpScsrqrsvBatched(handle, 12, 10, 30, descriptor, values, offsets, indices, at<float>(16384), at<float>(20480), 7, info, memory) == CUSOLVER_STATUS_SUCCESS);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  std::size_t nodes = 0;
  REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 1);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cusolverSpDestroyCsrqrInfo(info) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverSpDestroyCsrqrInfo(info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverSpScsrqrsvBatched(handle, 12, 10, 30, descriptor, values, offsets, indices, at<float>(16384), at<float>(20480), 7, info, memory) == CUSOLVER_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(Systems, "a factor's functions follow each other", "[systems]") {
  csrcholInfo_t info = nullptr;
  csrqrInfo_t qr = nullptr;
  auto* const values = at<float>(8192);
  std::size_t internal = 0, work = 0;
  int position = 77;
  REQUIRE(cusolverSpCreateCsrcholInfo(&info) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverSpCreateCsrqrInfo(&qr) == CUSOLVER_STATUS_SUCCESS);
  const auto calls = count(Opcode::LibraryCall);
  // Before an analysis.
  CHECK(cusolverSpScsrcholBufferInfo(handle, 10, 30, descriptor, values, offsets, indices, info, &internal, &work) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverSpScsrcholFactor(handle, 10, 30, descriptor, values, offsets, indices, info, memory) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverSpScsrcholZeroPivot(handle, info, 0, &position) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverSpScsrcholSolve(handle, 10, at<float>(16384), at<float>(20480), info, memory) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverSpScsrcholDiag(handle, info, at<float>(16384)) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverSpScsrqrSetup(handle, 10, 10, 30, descriptor, values, offsets, indices, 0, qr) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverSpScsrqrFactor(handle, 10, 10, 30, nullptr, nullptr, qr, memory) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverSpScsrqrSolve(handle, 10, 10, at<float>(16384), at<float>(20480), qr, memory) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(count(Opcode::LibraryCall) == calls);
  // It is asked where the matrix is; nobody answers here.
  CHECK(cusolverSpXcsrcholAnalysis(handle, 10, 30, descriptor, offsets, indices, info) == CUSOLVER_STATUS_EXECUTION_FAILED);
  const systems::Call call = travelled();
  CHECK((call.a.rows == 10 && call.a.elements == 30 && call.a.values == 0 && call.method == Method::cholesky && call.answer != 0));
  CHECK(cusolverSpXcsrqrAnalysis(handle, 9, 10, 30, descriptor, offsets, indices, qr) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(position == 77);
  CHECK(cusolverSpDestroyCsrcholInfo(info) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverSpDestroyCsrqrInfo(qr) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverSpXcsrcholAnalysis(handle, 10, 30, descriptor, offsets, indices, info) == CUSOLVER_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(Systems, "wrong arguments of systems are answered at the call, and nothing travels", "[systems]") {
  const auto calls = count(Opcode::LibraryCall);
  auto* const values = at<float>(8192);
  auto* const b = at<float>(16384);
  auto* const x = at<float>(20480);
  int singularity = 77;
  const auto solve = [&](int m, int nnz, cusparseMatDescr_t descr, const float* v, const float* right, float tol, int reorder, int* answer) {
    return cusolverSpScsrlsvqr(handle, m, nnz, descr, v, offsets, indices, right, tol, reorder, x, answer);
  };
  constexpr auto kInvalid = CUSOLVER_STATUS_INVALID_VALUE;
  CHECK(solve(-1, 30, descriptor, values, b, 0, 0, &singularity) == kInvalid);
  CHECK(solve(10, -1, descriptor, values, b, 0, 0, &singularity) == kInvalid);
  CHECK(solve(10, 30, nullptr, values, b, 0, 0, &singularity) == kInvalid);
  CHECK(solve(10, 30, descriptor, nullptr, b, 0, 0, &singularity) == kInvalid);
  CHECK(solve(10, 30, descriptor, reinterpret_cast<float*>(memory + 8193), b, 0, 0, &singularity) == kInvalid);
  CHECK(solve(10, 30, descriptor, values, nullptr, 0, 0, &singularity) == kInvalid);
  CHECK(solve(10, 30, descriptor, values, b, std::nanf(""), 0, &singularity) == kInvalid);
  CHECK(solve(10, 30, descriptor, values, b, 0, 4, &singularity) == kInvalid);
  CHECK(solve(10, 30, descriptor, values, b, 0, -1, &singularity) == kInvalid);
  CHECK(solve(10, 30, descriptor, values, b, 0, 0, nullptr) == kInvalid);
  REQUIRE(cusparseSetMatType(descriptor, CUSPARSE_MATRIX_TYPE_SYMMETRIC) == CUSPARSE_STATUS_SUCCESS);
  CHECK(solve(10, 30, descriptor, values, b, 0, 0, &singularity) == CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED);
  cusparseMatDescr_t ended = nullptr;
  REQUIRE(cusparseCreateMatDescr(&ended) == CUSPARSE_STATUS_SUCCESS);
  REQUIRE(cusparseDestroyMatDescr(ended) == CUSPARSE_STATUS_SUCCESS);
  CHECK(solve(10, 30, ended, values, b, 0, 0, &singularity) == kInvalid);
  REQUIRE(cusparseSetMatType(descriptor, CUSPARSE_MATRIX_TYPE_GENERAL) == CUSPARSE_STATUS_SUCCESS);
  CHECK(cusolverSpScsreigvsi(handle, 10, 30, descriptor, values, offsets, indices, 0, b, 0, 0, x, x) == kInvalid);
  CHECK(singularity == 77);
  cusolverSpHandle_t other = nullptr;
  REQUIRE(cusolverSpCreate(&other) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverSpDestroy(other) == CUSOLVER_STATUS_SUCCESS);
  for (const cusolverSpHandle_t none : {other, cusolverSpHandle_t{}, reinterpret_cast<cusolverSpHandle_t>(this)}) {
    cudaStream_t stream = nullptr;
    CHECK(cusolverSpDestroy(none) == CUSOLVER_STATUS_NOT_INITIALIZED);
    CHECK(cusolverSpSetStream(none, nullptr) == CUSOLVER_STATUS_NOT_INITIALIZED);
    CHECK(cusolverSpGetStream(none, &stream) == CUSOLVER_STATUS_NOT_INITIALIZED);
    CHECK(cusolverSpScsrlsvqr(none, 10, 30, descriptor, values, offsets, indices, b, 0, 0, x, &singularity) == CUSOLVER_STATUS_NOT_INITIALIZED);
    CHECK(cusolverSpXcsrsymrcmHost(none, 10, 30, descriptor, offsets, indices, &singularity) == CUSOLVER_STATUS_NOT_INITIALIZED);
  }
  CHECK(cusolverSpCreate(nullptr) == kInvalid);
  CHECK(cusolverSpGetStream(handle, nullptr) == kInvalid);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls);
}

TEST_CASE_METHOD(Systems, "systems of the host's are solved by the program's own processor", "[systems]") {
  REQUIRE(cusparseSetMatIndexBase(descriptor, CUSPARSE_INDEX_BASE_ONE) == CUSPARSE_STATUS_SUCCESS);
  const auto calls = count(Opcode::LibraryCall);
  OnHost a;
  std::vector<double> x(4);
  int singularity = 77;
  for (int reorder = 0; reorder < 4; ++reorder)
    for (const auto solve : {cusolverSpDcsrlsvluHost, cusolverSpDcsrlsvqrHost, cusolverSpDcsrlsvcholHost}) {
      std::ranges::fill(x, 0);
      REQUIRE(solve(handle, 4, 10, descriptor, a.values.data(), a.offsets.data(), a.indices.data(), a.b.data(), 1e-12, reorder, x.data(), &singularity) == CUSOLVER_STATUS_SUCCESS);
      CHECK(singularity == -1);
      CHECK(near(x, a.x));
    }
  // Complex floats: i times the matrix.
  std::vector<std::complex<float>> z, right, solution(4);
  for (const double each : a.values) z.emplace_back(0, static_cast<float>(each));
  for (const double each : a.b) right.emplace_back(static_cast<float>(each), 0);
  const auto as = [](auto& of) { return reinterpret_cast<cuComplex*>(of.data()); };
  for (const auto solve : {cusolverSpCcsrlsvluHost, cusolverSpCcsrlsvqrHost}) {
    REQUIRE(solve(handle, 4, 10, descriptor, as(z), a.offsets.data(), a.indices.data(), as(right), 0, 1, as(solution), &singularity) == CUSOLVER_STATUS_SUCCESS);
    for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(solution[i] - std::complex<float>(0, static_cast<float>(-a.x[i]))) < 1e-5f);
  }
  // i times it is no Hermitian matrix, whose first pivot is not positive.
  REQUIRE(cusolverSpCcsrlsvcholHost(handle, 4, 10, descriptor, as(z), a.offsets.data(), a.indices.data(), as(right), 0, 0, as(solution), &singularity) == CUSOLVER_STATUS_SUCCESS);
  CHECK(singularity == 0);
  a.values[3] = 0.25, a.values[4] = 0, a.values[5] = 0;  // the second row becomes a quarter of the first
  for (const auto solve : {cusolverSpDcsrlsvluHost, cusolverSpDcsrlsvqrHost, cusolverSpDcsrlsvcholHost}) {
    REQUIRE(solve(handle, 4, 10, descriptor, a.values.data(), a.offsets.data(), a.indices.data(), a.b.data(), 1e-12, 0, x.data(), &singularity) == CUSOLVER_STATUS_SUCCESS);
    CHECK(singularity == 1);
  }
  // Indices that are none are found, before anything is written.
  x.assign(4, 5);
  a.indices[2] = 9;
  CHECK(cusolverSpDcsrlsvqrHost(handle, 4, 10, descriptor, a.values.data(), a.offsets.data(), a.indices.data(), a.b.data(), 0, 0, x.data(), &singularity) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(x == std::vector<double>(4, 5));
  CHECK(count(Opcode::LibraryCall) == calls);
}

TEST_CASE_METHOD(Systems, "the nearest solution on the host, its rank and its distance", "[systems]") {
  // Three points, and a line through them; the third column is twice the second.
  const std::vector<int> offsets{0, 3, 6, 9}, indices{0, 1, 2, 0, 1, 2, 0, 1, 2};
  const std::vector<float> values{1, 1, 2, 1, 2, 4, 1, 3, 6}, b{1, 2, 4};
  std::vector<float> x(3);
  std::vector<int> p(3);
  int rank = 0;
  float distance = 0;
  REQUIRE(cusolverSpScsrlsqvqrHost(handle, 3, 3, 9, descriptor, values.data(), offsets.data(), indices.data(), b.data(), 1e-6f, &rank, x.data(), p.data(), &distance) ==
          CUSOLVER_STATUS_SUCCESS);
  CHECK(rank == 2);
  CHECK(p == std::vector<int>{0, 1, 2});
  CHECK(near(x, {-2.0f / 3, 1.5f, 0}));
  CHECK(std::abs(distance - std::sqrt(1.0f / 6)) < 1e-5f);
  OnHost a;
  REQUIRE(cusparseSetMatIndexBase(descriptor, CUSPARSE_INDEX_BASE_ONE) == CUSPARSE_STATUS_SUCCESS);
  double value = 0;
  const std::vector<double> first(4, 1);
  std::vector<double> vector(4);
  REQUIRE(cusolverSpDcsreigvsiHost(handle, 4, 10, descriptor, a.values.data(), a.offsets.data(), a.indices.data(), 3, first.data(), 100, 1e-12, &value, vector.data()) ==
          CUSOLVER_STATUS_SUCCESS);
  for (std::size_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (int k = a.offsets[i] - 1; k < a.offsets[i + 1] - 1; ++k) sum += a.values[static_cast<std::size_t>(k)] * vector[static_cast<std::size_t>(a.indices[static_cast<std::size_t>(k)] - 1)];
    CHECK(std::abs(sum - value * vector[i]) < 1e-8);
  }
}

TEST_CASE_METHOD(Systems, "factors on the host live in their objects", "[systems]") {
  REQUIRE(cusparseSetMatIndexBase(descriptor, CUSPARSE_INDEX_BASE_ONE) == CUSPARSE_STATUS_SUCCESS);
  OnHost a;
  std::vector<double> x(4);
  std::size_t internal = 0, work = 0;
  int position = 77;
  csrcholInfoHost_t cholesky = nullptr;
  csrluInfoHost_t lu = nullptr;
  csrqrInfoHost_t qr = nullptr;
  REQUIRE(cusolverSpCreateCsrcholInfoHost(&cholesky) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverSpCreateCsrluInfoHost(&lu) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverSpCreateCsrqrInfoHost(&qr) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverSpDcsrcholSolveHost(handle, 4, a.b.data(), x.data(), cholesky, nullptr) == CUSOLVER_STATUS_INVALID_VALUE);
  REQUIRE(cusolverSpXcsrcholAnalysisHost(handle, 4, 10, descriptor, a.offsets.data(), a.indices.data(), cholesky) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverSpDcsrcholBufferInfoHost(handle, 4, 10, descriptor, a.values.data(), a.offsets.data(), a.indices.data(), cholesky, &internal, &work) == CUSOLVER_STATUS_SUCCESS);
  CHECK((internal > 0 && work > 0));
  REQUIRE(cusolverSpDcsrcholFactorHost(handle, 4, 10, descriptor, a.values.data(), a.offsets.data(), a.indices.data(), cholesky, nullptr) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverSpDcsrcholZeroPivotHost(handle, cholesky, 0, &position) == CUSOLVER_STATUS_SUCCESS);
  CHECK(position == -1);
  REQUIRE(cusolverSpDcsrcholZeroPivotHost(handle, cholesky, 100, &position) == CUSOLVER_STATUS_SUCCESS);
  CHECK(position == 0);
  REQUIRE(cusolverSpDcsrcholSolveHost(handle, 4, a.b.data(), x.data(), cholesky, nullptr) == CUSOLVER_STATUS_SUCCESS);
  CHECK(near(x, a.x));
  std::vector<float> narrow(4);
  CHECK(cusolverSpScsrcholSolveHost(handle, 4, narrow.data(), narrow.data(), cholesky, nullptr) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverSpDcsrcholSolveHost(handle, 3, a.b.data(), x.data(), cholesky, nullptr) == CUSOLVER_STATUS_INVALID_VALUE);

  REQUIRE(cusolverSpXcsrluAnalysisHost(handle, 4, 10, descriptor, a.offsets.data(), a.indices.data(), lu) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverSpDcsrluBufferInfoHost(handle, 4, 10, descriptor, a.values.data(), a.offsets.data(), a.indices.data(), lu, &internal, &work) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverSpDcsrluFactorHost(handle, 4, 10, descriptor, a.values.data(), a.offsets.data(), a.indices.data(), lu, 1, nullptr) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverSpDcsrluZeroPivotHost(handle, lu, 0, &position) == CUSOLVER_STATUS_SUCCESS);
  CHECK(position == -1);
  x.assign(4, 0);
  REQUIRE(cusolverSpDcsrluSolveHost(handle, 4, a.b.data(), x.data(), lu, nullptr) == CUSOLVER_STATUS_SUCCESS);
  CHECK(near(x, a.x));

  // 2 less on the diagonal.
  std::vector<double> right = a.b;
  for (std::size_t i = 0; i < 4; ++i) right[i] -= 2 * a.x[i];
  REQUIRE(cusolverSpXcsrqrAnalysisHost(handle, 4, 4, 10, descriptor, a.offsets.data(), a.indices.data(), qr) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverSpDcsrqrBufferInfoHost(handle, 4, 4, 10, descriptor, a.values.data(), a.offsets.data(), a.indices.data(), qr, &internal, &work) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverSpDcsrqrFactorHost(handle, 4, 4, 10, nullptr, nullptr, qr, nullptr) == CUSOLVER_STATUS_INVALID_VALUE);
  REQUIRE(cusolverSpDcsrqrSetupHost(handle, 4, 4, 10, descriptor, a.values.data(), a.offsets.data(), a.indices.data(), 2, qr) == CUSOLVER_STATUS_SUCCESS);
  x.assign(4, 0);
  REQUIRE(cusolverSpDcsrqrFactorHost(handle, 4, 4, 10, right.data(), x.data(), qr, nullptr) == CUSOLVER_STATUS_SUCCESS);
  CHECK(near(x, a.x));
  x.assign(4, 0);
  REQUIRE(cusolverSpDcsrqrSolveHost(handle, 4, 4, right.data(), x.data(), qr, nullptr) == CUSOLVER_STATUS_SUCCESS);
  CHECK(near(x, a.x));
  REQUIRE(cusolverSpDcsrqrZeroPivotHost(handle, qr, 0, &position) == CUSOLVER_STATUS_SUCCESS);
  CHECK(position == -1);
  CHECK(cusolverSpDestroyCsrqrInfoHost(qr) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverSpDestroyCsrluInfoHost(lu) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverSpDestroyCsrcholInfoHost(cholesky) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverSpDestroyCsrcholInfoHost(cholesky) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverSpDcsrcholZeroPivotHost(handle, cholesky, 0, &position) == CUSOLVER_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(Systems, "orders, and matrices that are put into them", "[systems]") {
  REQUIRE(cusparseSetMatIndexBase(descriptor, CUSPARSE_INDEX_BASE_ONE) == CUSPARSE_STATUS_SUCCESS);
  OnHost a;
  std::vector<int> p(4);
  for (const auto order : {cusolverSpXcsrsymrcmHost, cusolverSpXcsrsymmdqHost, cusolverSpXcsrsymamdHost}) {
    REQUIRE(order(handle, 4, 10, descriptor, a.offsets.data(), a.indices.data(), p.data()) == CUSOLVER_STATUS_SUCCESS);
    std::vector<int> sorted = p;
    std::ranges::sort(sorted);
    CHECK(sorted == std::vector<int>{0, 1, 2, 3});
  }
  int symmetric = 77;
  REQUIRE(cusolverSpXcsrissymHost(handle, 4, 10, descriptor, a.offsets.data(), a.offsets.data() + 1, a.indices.data(), &symmetric) == CUSOLVER_STATUS_SUCCESS);
  CHECK(symmetric == 1);
  // Rows 3, 0, 1, 2 and columns 1, 0, 3, 2.
  const std::vector<int> rows{3, 0, 1, 2}, columns{1, 0, 3, 2};
  std::vector<int> map(10);
  std::iota(map.begin(), map.end(), 0);
  std::size_t bytes = 0;
  REQUIRE(cusolverSpXcsrperm_bufferSizeHost(handle, 4, 4, 10, descriptor, a.offsets.data(), a.indices.data(), rows.data(), columns.data(), &bytes) == CUSOLVER_STATUS_SUCCESS);
  CHECK(bytes > 0);
  std::vector<char> buffer(bytes);
  REQUIRE(cusolverSpXcsrpermHost(handle, 4, 4, 10, descriptor, a.offsets.data(), a.indices.data(), rows.data(), columns.data(), map.data(), buffer.data()) == CUSOLVER_STATUS_SUCCESS);
  CHECK(a.offsets == std::vector<int>{1, 3, 5, 8, 11});
  CHECK(a.indices == std::vector<int>{3, 4, 1, 2, 1, 2, 4, 1, 3, 4});
  CHECK(map == std::vector<int>{9, 8, 1, 0, 3, 2, 4, 5, 7, 6});
  REQUIRE(cusolverSpXcsrissymHost(handle, 4, 10, descriptor, a.offsets.data(), a.offsets.data() + 1, a.indices.data(), &symmetric) == CUSOLVER_STATUS_SUCCESS);
  CHECK(symmetric == 0);
  const std::vector<int> twice{3, 0, 0, 2};
  CHECK(cusolverSpXcsrpermHost(handle, 4, 4, 10, descriptor, a.offsets.data(), a.indices.data(), twice.data(), columns.data(), map.data(), buffer.data()) == CUSOLVER_STATUS_INVALID_VALUE);
  // Its diagonal has zeros now.
  std::vector<float> values(10, 1);
  values[5] = 0;
  int found = 0;
  REQUIRE(cusolverSpScsrzfdHost(handle, 4, 10, descriptor, values.data(), a.offsets.data(), a.indices.data(), p.data(), &found) == CUSOLVER_STATUS_SUCCESS);
  CHECK(found == 4);
  for (int j = 0; j < 4; ++j) {
    bool has = false;
    for (int k = a.offsets[static_cast<std::size_t>(p[static_cast<std::size_t>(j)])] - 1; k < a.offsets[static_cast<std::size_t>(p[static_cast<std::size_t>(j)]) + 1] - 1; ++k)
      has = has || (a.indices[static_cast<std::size_t>(k)] == j + 1 && values[static_cast<std::size_t>(k)] != 0);
    CHECK(has);
  }
}

}  // namespace rouse::test
