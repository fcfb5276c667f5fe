// cuSOLVER as programs call it, before a daemon and executors of the test: what travels, what waits, what is counted, what programs are told that they need, and
// what a call with wrong arguments answers.
#include <cuda_runtime.h>
#include <cusolverDn.h>
#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "schemas/solver/check.h"
#include "test/libraries/library_calls.h"

namespace rouse::test {
namespace {

using solver::Type;
using wire::Opcode;

struct Solver : LibraryCalls {
  Solver() {
    REQUIRE(cusolverDnCreate(&handle) == CUSOLVER_STATUS_SUCCESS);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    info = reinterpret_cast<int*>(memory + (1 << 19));
  }
  ~Solver() {
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cusolverDnDestroy(handle) == CUSOLVER_STATUS_SUCCESS);
  }
  solver::Call travelled() { return last<solver::Call>(); }

  int* info = nullptr;
  cusolverDnHandle_t handle = nullptr;
  int length = -77;
};

}  // namespace

TEST_CASE_METHOD(Solver, "a factorisation is one command, and waits for nothing", "[solver]") {
  REQUIRE(cusolverDnSpotrf_bufferSize(handle, CUBLAS_FILL_MODE_UPPER, 10, at<float>(0), 12, &length) == CUSOLVER_STATUS_SUCCESS);
  CHECK(length >= 1);
  const auto calls = count(Opcode::LibraryCall), signals = count(Opcode::SlotSignal);
  for (int i = 0; i < 100; ++i)
    REQUIRE(cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_UPPER, 10, at<float>(0), 12, at<float>(65536), length, info) == CUSOLVER_STATUS_SUCCESS);
  CHECK(count(Opcode::SlotSignal) == signals);
  const solver::Call call = travelled();
  CHECK(count(Opcode::LibraryCall) == calls + 100);
  CHECK((call.n == 10 && call.m == 0 && call.k == 0 && call.batch == 1));
  CHECK((call.a.address == address(0) && call.a.spacing == 12));
  CHECK((call.uplo == solver::Triangle::upper && call.aType == Type::f32 && call.valuesType == Type::f32));
  CHECK((call.work == address(65536) && call.workBytes == static_cast<std::uint64_t>(length) * 4));
  CHECK(call.info == reinterpret_cast<std::uint64_t>(info));
  CHECK((call.deterministic == CUSOLVER_DETERMINISTIC_RESULTS && call.mathMode == CUSOLVER_DEFAULT_MATH && call.emulation == 0));
  // Without memory to work in.
  REQUIRE(cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_UPPER, 10, at<float>(0), 12, nullptr, 0, info) == CUSOLVER_STATUS_SUCCESS);
  CHECK(travelled().workBytes == 0);
  REQUIRE(cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_UPPER, 0, at<float>(0), 1, nullptr, 0, info) == CUSOLVER_STATUS_SUCCESS);
  CHECK(travelled().n == 0);
}

TEST_CASE_METHOD(Solver, "parameters by their names: what PyTorch calls", "[solver]") {
  int* const pivots = at<int>(1 << 18);
  auto* const a = at<cuComplex>(0);
  auto* const b = at<cuComplex>(65536);
  auto* const work = at<cuComplex>(131072);
  REQUIRE(cusolverDnCgetrf_bufferSize(handle, 6, 5, a, 7, &length) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnCgetrf(handle, 6, 5, a, 7, work, pivots, info) == CUSOLVER_STATUS_SUCCESS);
  solver::Call call = travelled();
  // Nothing says how much memory that is.
  CHECK((call.m == 6 && call.n == 5 && call.a.spacing == 7 && call.pivots == address(1 << 18) && call.work == 0 && call.aType == Type::c32));
  REQUIRE(cusolverDnCgetrs(handle, CUBLAS_OP_C, 5, 3, a, 7, pivots, b, 8, info) == CUSOLVER_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.transpose == solver::Transpose::conjugated && call.n == 5 && call.k == 3 && call.b.address == address(65536) && call.b.spacing == 8));
  REQUIRE(cusolverDnCgeqrf(handle, 6, 5, a, 7, b, work, 99, info) == CUSOLVER_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.tau == address(65536) && call.work == address(131072) && call.workBytes == 99 * 8));
  REQUIRE(cusolverDnCungqr_bufferSize(handle, 6, 5, 4, a, 7, b, &length) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnCungqr(handle, 6, 5, 4, a, 7, b, work, length, info) == CUSOLVER_STATUS_SUCCESS);
  CHECK(travelled().k == 4);
  auto* const c = at<cuComplex>(200000);
  REQUIRE(cusolverDnCunmqr_bufferSize(handle, CUBLAS_SIDE_RIGHT, CUBLAS_OP_N, 3, 6, 5, a, 7, b, c, 4, &length) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnCunmqr(handle, CUBLAS_SIDE_RIGHT, CUBLAS_OP_N, 3, 6, 5, a, 7, b, c, 4, work, length, info) == CUSOLVER_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.side == solver::Side::right && call.c.address == address(200000) && call.c.spacing == 4));
  REQUIRE(cusolverDnCheevd_bufferSize(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 6, a, 7, at<float>(65536), &length) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnCheevd(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 6, a, 7, at<float>(65536), work, length, info) == CUSOLVER_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.job == solver::kVectorsToo && call.values == address(65536)));
  REQUIRE(cusolverDnCgesvd_bufferSize(handle, 6, 5, &length) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnCgesvd(handle, 'S', 'A', 6, 5, a, 7, at<float>(65536), c, 6, b, 5, work, length, at<float>(1 << 17), info) == CUSOLVER_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.job == 'S' && call.otherJob == 'A' && call.b.address == address(200000) && call.c.address == address(65536) && call.rest == address(1 << 17)));
  REQUIRE(cusolverDnCsytrf_bufferSize(handle, 6, a, 7, &length) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnCsytrf(handle, CUBLAS_FILL_MODE_UPPER, 6, a, 7, pivots, work, length, info) == CUSOLVER_STATUS_SUCCESS);
  CHECK(travelled().pivots == address(1 << 18));
  REQUIRE(cusolverDnCpotrs(handle, CUBLAS_FILL_MODE_UPPER, 6, 2, a, 7, b, 6, info) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnCpotri(handle, CUBLAS_FILL_MODE_UPPER, 6, a, 7, work, 8, info) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnCpotrfBatched(handle, CUBLAS_FILL_MODE_UPPER, 6, at<cuComplex*>(0), 7, info, 4) == CUSOLVER_STATUS_SUCCESS);
  CHECK(travelled().batch == 4);
  REQUIRE(cusolverDnCpotrsBatched(handle, CUBLAS_FILL_MODE_UPPER, 6, 1, at<cuComplex*>(0), 7, at<cuComplex*>(64), 6, info, 4) == CUSOLVER_STATUS_SUCCESS);
  CHECK(travelled().b.address == address(64));
  const std::uint32_t id = idOf("cusolverDnCpotrsBatched"), before = server().unsupportedCalls(id);
  CHECK(cusolverDnCpotrsBatched(handle, CUBLAS_FILL_MODE_UPPER, 6, 2, at<cuComplex*>(0), 7, at<cuComplex*>(64), 6, info, 4) == CUSOLVER_STATUS_NOT_SUPPORTED);
  CHECK(server().unsupportedCalls(id) == before + 1);
}

TEST_CASE_METHOD(Solver, "functions for any type: their types, 64-bit pivots, memory in bytes", "[solver]") {
  cusolverDnParams_t params = nullptr;
  REQUIRE(cusolverDnCreateParams(&params) == CUSOLVER_STATUS_SUCCESS);
  std::size_t onDevice = 0, onHost = 77;
  double* const a = at<double>(0);
  REQUIRE(cusolverDnXgetrf_bufferSize(handle, params, 6, 5, CUDA_R_64F, a, 6, CUDA_R_64F, &onDevice, &onHost) == CUSOLVER_STATUS_SUCCESS);
  CHECK(onDevice >= 1);
  CHECK(onHost == 0);
  REQUIRE(cusolverDnXgetrf(handle, params, 6, 5, CUDA_R_64F, a, 6, at<std::int64_t>(65536), CUDA_R_64F, at<void>(131072), onDevice, nullptr, 0, info) == CUSOLVER_STATUS_SUCCESS);
  solver::Call call = travelled();
  CHECK((call.aType == Type::f64 && call.computeType == Type::f64 && call.workBytes == onDevice && call.algorithms == 0));
  REQUIRE(cusolverDnSetAdvOptions(params, CUSOLVERDN_GETRF, CUSOLVER_ALG_1) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnSetAdvOptions(params, CUSOLVERDN_SYEVBATCHED, CUSOLVER_ALG_2) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverDnSetAdvOptions(params, static_cast<cusolverDnFunction_t>(3), CUSOLVER_ALG_0) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnSetAdvOptions(params, CUSOLVERDN_GETRF, static_cast<cusolverAlgMode_t>(3)) == CUSOLVER_STATUS_INVALID_VALUE);
  REQUIRE(cusolverDnXpotrs(handle, params, CUBLAS_FILL_MODE_LOWER, 5, 2, CUDA_C_64F, a, 5, CUDA_C_64F, at<void>(65536), 5, info) == CUSOLVER_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.algorithms == (1 | 2 << 4) && call.aType == Type::c64 && call.bType == Type::c64));
  REQUIRE(cusolverDnXgeev_bufferSize(handle, params, CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_VECTOR, 5, CUDA_R_32F, a, 5, CUDA_C_32F, a, CUDA_R_32F, nullptr, 1, CUDA_R_32F, a, 5,
                                     CUDA_R_32F, &onDevice, &onHost) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnXgeev(handle, params, CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_VECTOR, 5, CUDA_R_32F, a, 5, CUDA_C_32F, at<void>(65536), CUDA_R_32F, nullptr, 1, CUDA_R_32F,
                          at<void>(131072), 5, CUDA_R_32F, nullptr, 0, nullptr, 0, info) == CUSOLVER_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.valuesType == Type::c32 && call.c.address == address(131072) && call.otherJob == solver::kVectorsToo));
  REQUIRE(cusolverDnXsyevBatched_bufferSize(handle, params, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 5, CUDA_R_32F, a, 5, CUDA_R_32F, a, CUDA_R_32F, &onDevice, &onHost, 3) ==
          CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnXsyevBatched(handle, params, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 5, CUDA_R_32F, a, 5, CUDA_R_32F, at<void>(65536), CUDA_R_32F, nullptr, 0, nullptr, 0, info,
                                 3) == CUSOLVER_STATUS_SUCCESS);
  CHECK(travelled().batch == 3);
  // Without an object nothing has been set in it.
  CHECK(cusolverDnXpotrs(handle, nullptr, CUBLAS_FILL_MODE_LOWER, 5, 2, CUDA_C_64F, a, 5, CUDA_C_64F, at<void>(65536), 5, info) == CUSOLVER_STATUS_SUCCESS);
  CHECK(travelled().algorithms == 0);
  REQUIRE(cusolverDnDestroyParams(params) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverDnDestroyParams(params) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnXpotrs(handle, params, CUBLAS_FILL_MODE_LOWER, 5, 2, CUDA_C_64F, a, 5, CUDA_C_64F, at<void>(65536), 5, info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnXpotrs(handle, nullptr, CUBLAS_FILL_MODE_LOWER, 5, 2, CUDA_R_16F, a, 5, CUDA_R_16F, at<void>(65536), 5, info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnXpotrs(handle, nullptr, CUBLAS_FILL_MODE_LOWER, 5, 2, CUDA_R_64F, a, 5, CUDA_R_32F, at<void>(65536), 5, info) == CUSOLVER_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(Solver, "iterations by Jacobi: what has been set goes along", "[solver]") {
  syevjInfo_t eigen = nullptr;
  gesvdjInfo_t singular = nullptr;
  REQUIRE(cusolverDnCreateSyevjInfo(&eigen) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnCreateGesvdjInfo(&singular) == CUSOLVER_STATUS_SUCCESS);
  double* const a = at<double>(0);
  double* const w = at<double>(65536);
  REQUIRE(cusolverDnDsyevj_bufferSize(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 5, a, 5, w, &length, eigen) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnDsyevj(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 5, a, 5, w, nullptr, 0, info, eigen) == CUSOLVER_STATUS_SUCCESS);
  solver::Call call = travelled();
  CHECK((call.tolerance == 0 && call.sweeps == 0 && call.sorts == 1));
  REQUIRE(cusolverDnXsyevjSetTolerance(eigen, 1e-9) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnXsyevjSetMaxSweeps(eigen, 12) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnXsyevjSetSortEig(eigen, 0) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverDnXsyevjSetMaxSweeps(eigen, -1) == CUSOLVER_STATUS_INVALID_VALUE);
  REQUIRE(cusolverDnDsyevjBatched(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 5, a, 5, w, nullptr, 0, info, eigen, 3) == CUSOLVER_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.tolerance == 1e-9 && call.sweeps == 12 && call.sorts == 0 && call.batch == 3));
  REQUIRE(cusolverDnXgesvdjSetTolerance(singular, 1e-8) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnXgesvdjSetMaxSweeps(singular, 9) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnXgesvdjSetSortEig(singular, 1) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnDgesvdj(handle, CUSOLVER_EIG_MODE_VECTOR, 7, 6, 5, a, 6, w, at<double>(131072), 6, at<double>(200000), 5, nullptr, 0, info, singular) == CUSOLVER_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.tolerance == 1e-8 && call.sweeps == 9 && call.sorts == 1 && call.economy == 1));
  REQUIRE(cusolverDnDgesvdjBatched(handle, CUSOLVER_EIG_MODE_VECTOR, 6, 5, a, 6, w, at<double>(131072), 6, at<double>(200000), 5, nullptr, 0, info, singular, 2) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverDnDgesvdj(handle, CUSOLVER_EIG_MODE_VECTOR, 1, 6, 5, a, 6, w, at<double>(131072), 6, at<double>(200000), 5, nullptr, 0, info, nullptr) == CUSOLVER_STATUS_INVALID_VALUE);
  // An object of the other kind.
  CHECK(cusolverDnDgesvdj(handle, CUSOLVER_EIG_MODE_VECTOR, 1, 6, 5, a, 6, w, at<double>(131072), 6, at<double>(200000), 5, nullptr, 0, info, reinterpret_cast<gesvdjInfo_t>(eigen)) ==
        CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnDestroyGesvdjInfo(reinterpret_cast<gesvdjInfo_t>(eigen)) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnDestroyGesvdjInfo(singular) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverDnDestroySyevjInfo(eigen) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverDnXsyevjSetTolerance(eigen, 1) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnCreateSyevjInfo(nullptr) == CUSOLVER_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(Solver, "what the host is told: at once where it is known, else by one round trip", "[solver]") {
  float* const a = at<float>(0);
  float* const w = at<float>(65536);
  const auto eigenvalues = [&](cusolverEigRange_t range, int* found) {
    return cusolverDnSsyevdx(handle, CUSOLVER_EIG_MODE_VECTOR, range, CUBLAS_FILL_MODE_LOWER, 9, a, 9, 0.5f, 2.5f, 2, 5, found, w, nullptr, 0, info);
  };
  int found = -1;
  const auto signals = count(Opcode::SlotSignal);
  REQUIRE(eigenvalues(CUSOLVER_EIG_RANGE_ALL, &found) == CUSOLVER_STATUS_SUCCESS);
  CHECK(found == 9);
  REQUIRE(eigenvalues(CUSOLVER_EIG_RANGE_I, &found) == CUSOLVER_STATUS_SUCCESS);
  CHECK(found == 4);
  CHECK(count(Opcode::SlotSignal) == signals);
  REQUIRE(eigenvalues(CUSOLVER_EIG_RANGE_V, &found) == CUSOLVER_STATUS_SUCCESS);
  CHECK(count(Opcode::SlotSignal) == signals + 1);
  solver::Call call = travelled();
  CHECK((call.selection == solver::Selection::byValue && call.low == 0.5 && call.high == 2.5 && call.answer != 0));
  CHECK(eigenvalues(CUSOLVER_EIG_RANGE_I, nullptr) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(eigenvalues(static_cast<cusolverEigRange_t>(1000), &found) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(eigenvalues(static_cast<cusolverEigRange_t>(0), &found) == CUSOLVER_STATUS_INVALID_VALUE);
  double low = -1, high = 1;
  std::int64_t many = -1;
  std::size_t onDevice = 0, onHost = 0;
  REQUIRE(cusolverDnXsyevdx_bufferSize(handle, nullptr, CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_RANGE_V, CUBLAS_FILL_MODE_LOWER, 9, CUDA_R_64F, at<void>(0), 9, &low, &high, 0, 0, &many,
                                       CUDA_R_64F, at<void>(65536), CUDA_R_64F, &onDevice, &onHost) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cusolverDnXsyevdx(handle, nullptr, CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_RANGE_V, CUBLAS_FILL_MODE_LOWER, 9, CUDA_R_64F, at<void>(0), 9, &low, &high, 0, 0, &many, CUDA_R_64F,
                            at<void>(65536), CUDA_R_64F, nullptr, 0, nullptr, 0, info) == CUSOLVER_STATUS_SUCCESS);
  call = travelled();
  CHECK((call.low == -1 && call.high == 1));
  CHECK(cusolverDnXsyevdx(handle, nullptr, CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_RANGE_V, CUBLAS_FILL_MODE_LOWER, 9, CUDA_R_64F, at<void>(0), 9, nullptr, &high, 0, 0, &many, CUDA_R_64F,
                          at<void>(65536), CUDA_R_64F, nullptr, 0, nullptr, 0, info) == CUSOLVER_STATUS_INVALID_VALUE);
  // Residuals, where they are asked for.
  std::vector<double> norms(40, -1);
  const auto approximate = [&](double* residuals) {
    return cusolverDnSgesvdaStridedBatched(handle, CUSOLVER_EIG_MODE_VECTOR, 2, 4, 3, a, 4, 12, w, 2, at<float>(131072), 4, 8, at<float>(200000), 3, 6, nullptr, 0, info, residuals, 40);
  };
  const auto before = count(Opcode::SlotSignal);
  REQUIRE(approximate(nullptr) == CUSOLVER_STATUS_SUCCESS);
  CHECK(travelled().answer == 0);
  const auto between = count(Opcode::SlotSignal);
  CHECK(between == before + 1);  // travelled()'s own
  REQUIRE(approximate(norms.data()) == CUSOLVER_STATUS_SUCCESS);
  CHECK(count(Opcode::SlotSignal) == between + 1);
  CHECK(travelled().answer != 0);
}

TEST_CASE_METHOD(Solver, "handles and what is set in them", "[solver]") {
  cusolverDnHandle_t other = nullptr;
  REQUIRE(cusolverDnCreate(&other) == CUSOLVER_STATUS_SUCCESS);
  cusolverDeterministicMode_t deterministic{};
  CHECK(cusolverDnGetDeterministicMode(other, &deterministic) == CUSOLVER_STATUS_SUCCESS);
  CHECK(deterministic == CUSOLVER_DETERMINISTIC_RESULTS);
  CHECK(cusolverDnSetDeterministicMode(other, CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverDnSetDeterministicMode(other, static_cast<cusolverDeterministicMode_t>(0)) == CUSOLVER_STATUS_INVALID_VALUE);
  cusolverMathMode_t math{};
  CHECK(cusolverDnGetMathMode(other, &math) == CUSOLVER_STATUS_SUCCESS);
  CHECK(math == CUSOLVER_DEFAULT_MATH);
  CHECK(cusolverDnSetMathMode(other, CUSOLVER_FP32_EMULATED_BF16X9_MATH) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverDnSetMathMode(other, static_cast<cusolverMathMode_t>(3)) == CUSOLVER_STATUS_INVALID_VALUE);
  cudaEmulationStrategy_t strategy{};
  CHECK(cusolverDnSetEmulationStrategy(other, CUDA_EMULATION_STRATEGY_EAGER) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverDnGetEmulationStrategy(other, &strategy) == CUSOLVER_STATUS_SUCCESS);
  CHECK(strategy == CUDA_EMULATION_STRATEGY_EAGER);
  REQUIRE(cusolverDnSpotrf(other, CUBLAS_FILL_MODE_UPPER, 10, at<float>(0), 12, nullptr, 0, info) == CUSOLVER_STATUS_SUCCESS);
  const solver::Call call = travelled();
  CHECK((call.deterministic == CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS && call.mathMode == CUSOLVER_FP32_EMULATED_BF16X9_MATH && call.emulation == CUDA_EMULATION_STRATEGY_EAGER));
  cudaStream_t stream = nullptr, told = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  CHECK(cusolverDnSetStream(other, stream) == CUSOLVER_STATUS_SUCCESS);
  CHECK(cusolverDnGetStream(other, &told) == CUSOLVER_STATUS_SUCCESS);
  CHECK(told == stream);
  CHECK(cusolverDnGetStream(other, nullptr) == CUSOLVER_STATUS_INVALID_VALUE);
  // What is captured is a node of the graph; what would have to be waited for cannot be.
  const auto calls = count(Opcode::LibraryCall);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cusolverDnSpotrf(other, CUBLAS_FILL_MODE_UPPER, 10, at<float>(0), 12, nullptr, 0, info) == CUSOLVER_STATUS_SUCCESS);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  std::size_t nodes = 0;
  REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 1);
  CHECK(count(Opcode::LibraryCall) == calls);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cusolverDnSpotrf(other, CUBLAS_FILL_MODE_UPPER, 10, at<float>(0), 12, nullptr, 0, info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnDestroy(other) == CUSOLVER_STATUS_SUCCESS);
  for (const cusolverDnHandle_t none : {other, cusolverDnHandle_t{}, reinterpret_cast<cusolverDnHandle_t>(this)}) {
    CHECK(cusolverDnDestroy(none) == CUSOLVER_STATUS_NOT_INITIALIZED);
    CHECK(cusolverDnSetStream(none, nullptr) == CUSOLVER_STATUS_NOT_INITIALIZED);
    CHECK(cusolverDnSpotrf(none, CUBLAS_FILL_MODE_UPPER, 10, at<float>(0), 12, nullptr, 0, info) == CUSOLVER_STATUS_NOT_INITIALIZED);
    CHECK(cusolverDnSpotrf_bufferSize(none, CUBLAS_FILL_MODE_UPPER, 10, at<float>(0), 12, &length) == CUSOLVER_STATUS_NOT_INITIALIZED);
  }
  CHECK(cusolverDnCreate(nullptr) == CUSOLVER_STATUS_INVALID_VALUE);
  int part = 0;
  CHECK(cusolverGetVersion(&part) == CUSOLVER_STATUS_SUCCESS);
  CHECK(part == CUSOLVER_VERSION);
  CHECK(cusolverGetVersion(nullptr) == CUSOLVER_STATUS_INVALID_VALUE);
  for (const auto& [type, value] : {std::pair{MAJOR_VERSION, CUSOLVER_VER_MAJOR}, {MINOR_VERSION, CUSOLVER_VER_MINOR}, {PATCH_LEVEL, CUSOLVER_VER_PATCH}}) {
    CHECK(cusolverGetProperty(type, &part) == CUSOLVER_STATUS_SUCCESS);
    CHECK(part == value);
  }
  CHECK(cusolverGetProperty(static_cast<libraryPropertyType>(7), &part) == CUSOLVER_STATUS_INVALID_VALUE);
}

TEST_CASE_METHOD(Solver, "a handle stays with its device", "[solver]") {
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  const auto elsewhere = server().executor(1).count(Opcode::LibraryCall), here = count(Opcode::LibraryCall);
  CHECK(cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_UPPER, 10, at<float>(0), 12, nullptr, 0, info) == CUSOLVER_STATUS_SUCCESS);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(server().executor(1).count(Opcode::LibraryCall) == elsewhere);
  CHECK(count(Opcode::LibraryCall) == here + 1);
}

TEST_CASE_METHOD(Solver, "wrong arguments are answered at the call, and nothing travels", "[solver]") {
  const auto calls = count(Opcode::LibraryCall);
  float* const a = at<float>(0);
  constexpr auto lower = CUBLAS_FILL_MODE_LOWER;
  CHECK(cusolverDnSpotrf(handle, lower, -1, a, 12, nullptr, 0, info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnSpotrf(handle, lower, 10, a, 9, nullptr, 0, info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnSpotrf(handle, lower, 10, nullptr, 10, nullptr, 0, info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnSpotrf(handle, lower, 10, a, 10, nullptr, 0, nullptr) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnSpotrf(handle, static_cast<cublasFillMode_t>(9), 10, a, 10, nullptr, 0, info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_FULL, 10, a, 10, nullptr, 0, info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnSpotrf(handle, lower, 10, reinterpret_cast<float*>(memory + 2), 10, nullptr, 0, info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnSpotrf_bufferSize(handle, lower, 10, a, 10, nullptr) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnSpotrf_bufferSize(handle, lower, -1, a, 10, &length) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnSgesvd(handle, 'A', 'A', 4, 5, a, 5, a, a, 5, a, 5, nullptr, 0, nullptr, info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnSgesvd(handle, 'a', 'A', 6, 5, a, 6, a, a, 6, a, 5, nullptr, 0, nullptr, info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(cusolverDnSgesvd(handle, static_cast<signed char>(-63), 'A', 6, 5, a, 6, a, a, 6, a, 5, nullptr, 0, nullptr, info) == CUSOLVER_STATUS_INVALID_VALUE);
  CHECK(length == -77);
  CHECK(cusolverDnSgeqrf_bufferSize(handle, 10, 4, a, 4, &length) == CUSOLVER_STATUS_SUCCESS);  // so CuPy asks
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls);
}

TEST_CASE_METHOD(Solver, "unsupported names of cuSOLVER say so, and are counted", "[solver]") {
  int unsupported = 0;
  for (std::uint32_t id = api::kCusolverNames; id < api::kNvmlNames; ++id) {
    if (api::kAllSupported[id]) continue;
    const std::string name(api::kAllNames[id]);
    CAPTURE(name);
    void* function = ::dlsym(RTLD_DEFAULT, name.c_str());
    REQUIRE(function != nullptr);
    const std::uint32_t before = server().unsupportedCalls(id);
    CHECK(reinterpret_cast<int (*)()>(function)() == CUSOLVER_STATUS_NOT_SUPPORTED);
    CHECK(server().unsupportedCalls(id) == before + 1);
    ++unsupported;
  }
  CHECK(unsupported == 140);
}

}  // namespace rouse::test
