// cuSOLVER on GPUs, before a double of it: each function as the same of NVIDIA's, what has been set, memory to work in. Nothing here says that NVIDIA's library takes
// them.
#include <cusolverDn.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "schemas/solver/check.h"
#include "test/libraries/work_memory.h"

namespace rouse::library::cuda {
namespace {

using solver::Function;
using solver::Type;

CUstream_st* stream(std::uint64_t number) { return reinterpret_cast<CUstream_st*>(number); }
template <class T>
std::uint64_t word(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

struct Real {
  Real() {
    ::setenv(kSolverVariable, ROUSE_CUSOLVER_DOUBLE, 1);
    ::setenv(kBlasVariable, ROUSE_CUBLAS_DOUBLE, 1);
    needs(100, 0);
    refuse(ROUSE_CUSOLVER_DOUBLE, "", 0);
    libraries.workIn(std::make_unique<Memory>(account));
    (void)taken();
    (void)takenOf(ROUSE_CUBLAS_DOUBLE);
    handle = libraries.take(stream(0x77), solver::kLibrary).value();
  }
  static std::vector<Taken> taken() { return takenOf(ROUSE_CUSOLVER_DOUBLE); }
  static void needs(int elements, std::size_t onHost) { functionOf<void(int, std::size_t)>(ROUSE_CUSOLVER_DOUBLE, "rouse_cusolver_double_needs")(elements, onHost); }
  Status run(Function function, const solver::Call& call) {
    return libraries.call(*handle, solver::kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1)));
  }
  Account account;
  RealLibraries libraries;
  Handle* handle = nullptr;
};

solver::Call callOf(Type type = Type::f32) {
  solver::Call call;
  call.aType = call.bType = call.cType = call.tauType = call.computeType = type;
  call.valuesType = solver::realOf(type);
  call.m = 6, call.n = 5, call.k = 3;
  call.a = {.address = 0xa000, .spacing = 8, .stride = 40};
  call.b = {.address = 0xb000, .spacing = 9, .stride = 50};
  call.c = {.address = 0xc000, .spacing = 10, .stride = 60};
  call.values = 0xd000, call.tau = 0xe000, call.pivots = 0xf000, call.info = 0x1000;
  call.work = 0x2000, call.workBytes = 4096;
  call.deterministic = CUSOLVER_DETERMINISTIC_RESULTS, call.mathMode = CUSOLVER_DEFAULT_MATH;
  return call;
}

}  // namespace

TEST_CASE_METHOD(Real, "a call is the same call of the library's, in its stream, with the program's memory to work in", "[solver]") {
  solver::Call call = callOf();
  call.uplo = solver::Triangle::upper;
  REQUIRE(run(Function::cusolverDnSpotrf, call).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 4);
  CHECK(calls[0].name == "cusolverDnCreate");
  CHECK(calls[1].name == "cusolverDnSetStream");
  const std::uint64_t own = calls[1].arguments[0];
  CHECK(calls[1].arguments[1] == 0x77);
  CHECK(calls[2].name == "cusolverDnSpotrf_bufferSize");
  CHECK((calls[3].name == "cusolverDnSpotrf" && calls[3].arguments == Words{own, CUBLAS_FILL_MODE_UPPER, 5, 0xa000, 8, 0x2000, 100, 0x1000}));
  REQUIRE(run(Function::cusolverDnSgetrs, call).ok());
  calls = taken();
  REQUIRE(calls.size() == 1);
  CHECK((calls[0].name == "cusolverDnSgetrs" && calls[0].arguments == Words{own, CUBLAS_OP_N, 5, 3, 0xa000, 8, 0xf000, 0xb000, 9, 0x1000}));
  // No handle of cuBLAS was made for it.
  CHECK(takenOf(ROUSE_CUBLAS_DOUBLE).empty());
  CHECK(account.taken.empty());
  libraries.end();
  calls = taken();
  REQUIRE(calls.size() == 1);
  CHECK((calls[0].name == "cusolverDnDestroy" && calls[0].arguments == Words{own}));
}

TEST_CASE_METHOD(Real, "every function goes to the library's of its name", "[solver]") {
  for (std::uint32_t number = 0; number < solver::kFunctionCount; ++number) {
    const auto function = static_cast<Function>(number);
    const solver::FunctionInfo& info = solver::info(function);
    solver::Call call = callOf(info.type == Type::any ? Type::c64 : info.type);
    call.workBytes = 1 << 20;
    CAPTURE(info.name);
    REQUIRE(run(function, call).ok());
    const auto calls = taken();
    REQUIRE(!calls.empty());
    CHECK(calls.back().name == info.name);
    CHECK(std::ranges::find(calls.back().arguments, 0xa000u) != calls.back().arguments.end());
  }
}

TEST_CASE_METHOD(Real, "functions for any type: their types and objects, 64 bits, the host's memory", "[solver]") {
  needs(100, 3000);
  solver::Call call = callOf(Type::c64);
  call.selection = solver::Selection::byValue, call.low = -2, call.high = 3, call.job = solver::kVectorsToo, call.answer = 0x3000;
  REQUIRE(run(Function::cusolverDnXsyevdx, call).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 5);
  CHECK(calls[2].name == "cusolverDnCreateParams");
  CHECK(calls[3].name == "cusolverDnXsyevdx_bufferSize");
  const Words told = calls[4].arguments;
  REQUIRE(calls[4].name == "cusolverDnXsyevdx");
  const Words begins{told[0], told[1], CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_RANGE_V, CUBLAS_FILL_MODE_LOWER, 5, CUDA_C_64F, 0xa000, 8};
  CHECK(std::equal(begins.begin(), begins.end(), told.begin()));
  CHECK((told[11] == 0 && told[12] == 0 && told[13] == 0x3000 && told[14] == CUDA_R_64F && told[15] == 0xd000 && told[16] == CUDA_C_64F));
  CHECK((told[17] == 0x2000 && told[18] == 100 && told[19] != 0 && told[20] == 3000 && told[21] == 0x1000));
  // The same objects and memory again; others for other algorithms.
  REQUIRE(run(Function::cusolverDnXsyevdx, call).ok());
  calls = taken();
  REQUIRE(calls.size() == 2);
  CHECK((calls[1].arguments[1] == told[1] && calls[1].arguments[19] == told[19]));
  call.algorithms = 1 | 2 << 4;
  REQUIRE(run(Function::cusolverDnXpotrs, call).ok());
  calls = taken();
  REQUIRE(calls.size() == 4);
  CHECK(calls[0].name == "cusolverDnCreateParams");
  CHECK((calls[1].name == "cusolverDnSetAdvOptions" && calls[1].arguments[1] == CUSOLVERDN_GETRF && calls[1].arguments[2] == CUSOLVER_ALG_1));
  CHECK((calls[2].name == "cusolverDnSetAdvOptions" && calls[2].arguments[1] == CUSOLVERDN_SYEVBATCHED && calls[2].arguments[2] == CUSOLVER_ALG_2));
  CHECK((calls[3].name == "cusolverDnXpotrs" && calls[3].arguments[1] != told[1]));
}

TEST_CASE_METHOD(Real, "iterations by Jacobi: what has been set, and only that", "[solver]") {
  solver::Call call = callOf(Type::f64);
  call.sorts = 1, call.workBytes = 1 << 20;
  REQUIRE(run(Function::cusolverDnDsyevj, call).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 6);
  CHECK(calls[2].name == "cusolverDnCreateSyevjInfo");
  CHECK((calls[3].name == "cusolverDnXsyevjSetSortEig" && calls[3].arguments[1] == 1));
  const std::uint64_t object = calls[5].arguments.back();
  call.tolerance = 1e-9, call.sweeps = 12, call.sorts = 0;
  REQUIRE(run(Function::cusolverDnDsyevjBatched, call).ok());
  calls = taken();
  REQUIRE(calls.size() == 6);
  CHECK((calls[1].name == "cusolverDnXsyevjSetTolerance" && calls[1].arguments[1] == word(1e-9)));
  CHECK((calls[2].name == "cusolverDnXsyevjSetMaxSweeps" && calls[2].arguments[1] == 12));
  CHECK((calls[3].name == "cusolverDnXsyevjSetSortEig" && calls[3].arguments[1] == 0));
  const Words& told = calls[5].arguments;
  CHECK((calls[5].name == "cusolverDnDsyevjBatched" && told[told.size() - 2] != object && told.back() == 1));
  call.tolerance = 0, call.sweeps = 0, call.sorts = 1;
  REQUIRE(run(Function::cusolverDnDsyevj, call).ok());
  calls = taken();
  REQUIRE(calls.size() == 2);
  CHECK(calls[1].arguments.back() == object);
  REQUIRE(run(Function::cusolverDnDgesvdj, call).ok());
  calls = taken();
  REQUIRE(calls.size() == 4);
  CHECK(calls[0].name == "cusolverDnCreateGesvdjInfo");
  // However many there are, a bounded number is kept.
  for (int i = 1; i < 200; ++i) {
    call.tolerance = i;
    REQUIRE(run(Function::cusolverDnDgesvdj, call).ok());
  }
  int made = 0, ended = 0;
  for (const Taken& each : taken()) made += each.name == "cusolverDnCreateGesvdjInfo", ended += each.name == "cusolverDnDestroyGesvdjInfo";
  CHECK(made == 199);
  CHECK(ended >= 199 - 64);
}

TEST_CASE_METHOD(Real, "what the program's memory is too small for works in the executor's, which is given back at the end", "[solver]") {
  solver::Call call = callOf(Type::f64);
  call.workBytes = 799;
  REQUIRE(run(Function::cusolverDnDpotrf, call).ok());
  auto calls = taken();
  CHECK((calls.back().arguments[5] == 0x9000'0000 && calls.back().arguments[6] == 100));
  CHECK(account.taken == Words{800});
  call.workBytes = 800;
  REQUIRE(run(Function::cusolverDnDpotrf, call).ok());
  CHECK(taken().back().arguments[5] == 0x2000);
  // It says nothing of memory's length, and so has the executor's.
  call.work = call.workBytes = 0;
  REQUIRE(run(Function::cusolverDnDgetrf, call).ok());
  CHECK(taken().back().arguments[5] == 0x9000'0000);
  needs(101, 0);
  REQUIRE(run(Function::cusolverDnDgetrf, call).ok());
  CHECK(account.taken == Words{800, 1600});
  needs(1 << 20, 0);
  account.most = 5000;
  const Status refused = run(Function::cusolverDnDgetrf, call);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == CudaError::memoryAllocation);
  CHECK(refused.error().message == "cuSOLVER's work area of 8388608 bytes: none left");
  libraries.end();
  CHECK(account.given == Words{0x9000'0000, 800, 0x9000'0320, 1600});
}

TEST_CASE_METHOD(Real, "the handle's modes are set where they differ; another stream is told", "[solver]") {
  solver::Call call = callOf();
  REQUIRE(run(Function::cusolverDnSgetrs, call).ok());
  (void)taken();
  call.deterministic = CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS, call.mathMode = CUSOLVER_FP32_EMULATED_BF16X9_MATH, call.emulation = CUDA_EMULATION_STRATEGY_EAGER;
  REQUIRE(run(Function::cusolverDnSgetrs, call).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 4);
  CHECK((calls[0].name == "cusolverDnSetDeterministicMode" && calls[0].arguments[1] == 2));
  CHECK((calls[1].name == "cusolverDnSetMathMode" && calls[1].arguments[1] == 2));
  CHECK((calls[2].name == "cusolverDnSetEmulationStrategy" && calls[2].arguments[1] == 2));
  REQUIRE(run(Function::cusolverDnSgetrs, call).ok());
  CHECK(taken().size() == 1);
  libraries.give(handle);
  handle = libraries.take(stream(0x88), solver::kLibrary).value();
  REQUIRE(run(Function::cusolverDnSgetrs, call).ok());
  calls = taken();
  REQUIRE(calls.size() == 2);
  CHECK((calls[0].name == "cusolverDnSetStream" && calls[0].arguments[1] == 0x88));
}

TEST_CASE_METHOD(Real, "what the library refuses names the call and the status", "[solver]") {
  struct Refusal {
    const char* function;
    cusolverStatus_t status;
    CudaError code;
    const char* message;
  };
  const Refusal refusals[] = {
      {"cusolverDnXsyevd", CUSOLVER_STATUS_NOT_SUPPORTED, CudaError::notSupported, "cusolverDnXsyevd: CUSOLVER_STATUS_NOT_SUPPORTED"},
      {"cusolverDnXsyevd", CUSOLVER_STATUS_EXECUTION_FAILED, CudaError::unknown, "cusolverDnXsyevd: CUSOLVER_STATUS_EXECUTION_FAILED"},
      {"cusolverDnXsyevd_bufferSize", CUSOLVER_STATUS_INVALID_VALUE, CudaError::invalidValue, "cusolverDnXsyevd_bufferSize: CUSOLVER_STATUS_INVALID_VALUE"},
      {"cusolverDnCreateParams", CUSOLVER_STATUS_ALLOC_FAILED, CudaError::memoryAllocation, "cusolverDnCreateParams: CUSOLVER_STATUS_ALLOC_FAILED"},
      {"cusolverDnSetStream", CUSOLVER_STATUS_NOT_INITIALIZED, CudaError::initializationError, "cusolverDnSetStream: CUSOLVER_STATUS_NOT_INITIALIZED"},
      {"cusolverDnCreate", CUSOLVER_STATUS_ALLOC_FAILED, CudaError::memoryAllocation, "cusolverDnCreate: CUSOLVER_STATUS_ALLOC_FAILED"},
  };
  for (const Refusal& each : refusals) {
    RealLibraries fresh;
    fresh.workIn(std::make_unique<Memory>(account));
    Handle* const other = fresh.take(stream(0x77), solver::kLibrary).value();
    refuse(ROUSE_CUSOLVER_DOUBLE, each.function, each.status);
    const solver::Call call = callOf(Type::f64);
    const auto calling = [&] {
      return fresh.call(*other, solver::kLibrary, static_cast<std::uint32_t>(Function::cusolverDnXsyevd), std::as_bytes(std::span(&call, 1)));
    };
    const Status refused = calling();
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == each.code);
    CHECK(refused.error().message == each.message);
    refuse(ROUSE_CUSOLVER_DOUBLE, "", 0);
    CHECK(calling().ok());
    fresh.end();
  }
}

TEST_CASE("where there is no cuSOLVER, that is said with what to do", "[solver]") {
  ::setenv(kSolverVariable, "/nowhere/libcusolver.so.12", 1);
  RealLibraries libraries;
  const auto missing = libraries.take(stream(1), solver::kLibrary);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == CudaError::notSupported);
  CHECK(missing.error().message.find("no libcusolver.so.12 on this node") == 0);
  CHECK(missing.error().message.find("install NVIDIA's cuSOLVER") != std::string::npos);
  ::setenv(kSolverVariable, ROUSE_OWN_CUSOLVER, 1);
  const auto own = libraries.take(stream(1), solver::kLibrary);
  REQUIRE_FALSE(own.ok());
  CHECK(own.error().message.find("the pool's own") != std::string::npos);
}

}  // namespace rouse::library::cuda
