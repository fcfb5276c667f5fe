// Calls on GPUs, before a double of cuBLAS: each is the same call of the real library, with the state that it came with. Nothing here says
// that NVIDIA's library takes them.
#include "server/library/cuda/real_libraries.h"

#include <cuComplex.h>
#include <cublas_api.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "test/libraries/taken.h"

namespace rouse::library::cuda {
namespace {

std::vector<Taken> taken() { return takenOf(ROUSE_CUBLAS_DOUBLE); }

CUstream_st* stream(std::uint64_t number) { return reinterpret_cast<CUstream_st*>(number); }

struct Real {
  Real() {
    ::setenv(kBlasVariable, ROUSE_CUBLAS_DOUBLE, 1);
    handle = libraries.take(stream(0x77)).value();
    const auto made = taken();
    REQUIRE(made.size() == 2);
    CHECK(made[0].name == "cublasCreate_v2");
    number = made[0].arguments[0];
    CHECK(made[1].name == "cublasSetStream_v2");
    CHECK(made[1].arguments == std::vector<std::uint64_t>{number, 0x77});
  }
  Status run(blas::Function function, const blas::Call& call) {
    return libraries.call(*handle, blas::kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1)));
  }
  RealLibraries libraries;
  Handle* handle = nullptr;
  std::uint64_t number = 0;
};

blas::Call call() {
  blas::Call c;
  c.m = 11, c.n = 12, c.k = 13, c.batch = 14;
  c.a = {0xa000, 21, 31};
  c.b = {0xb000, 22, 32};
  c.c = {0xc000, 23, 33};
  c.x = {0xd000, 24, 34};
  c.y = {0xe000, 25, 35};
  c.result = 0xf000;
  c.alpha.words[0] = 0x1111;
  c.beta.words[0] = 0x2222;
  c.scalars = blas::Scalars::inMemory;
  return c;
}

}  // namespace

TEST_CASE("calls are of one kind when they differ in nothing but where memory lies in the windows", "[libraries]") {
  const std::initializer_list<AddressRange> windows = {{0x10000, 0x10000}, {0x40000, 0x10000}};
  const auto kind = [&](const blas::Call& c, std::uint32_t function = 3) { return kindOf(blas::kLibrary, function, std::as_bytes(std::span(&c, 1)), windows); };
  blas::Call one = call();
  one.a.address = 0x10100;
  blas::Call other = one;
  other.a.address = 0x4f800;
  CHECK(kind(one) == kind(other));
  other.a.address = 0x4f810;  // less aligned
  CHECK(kind(one) != kind(other));
  other.a.address = 0x20100;  // in none
  CHECK(kind(one) != kind(other));
  other = one;
  other.n = 99;
  CHECK(kind(one) != kind(other));
  CHECK(kind(one, 3) != kind(one, 4));
  const std::byte bytes[11] = {std::byte{1}};
  CHECK(kindOf(1, 1, std::span(bytes).first(9), windows) != kindOf(1, 1, std::span(bytes).first(10), windows));
}

TEST_CASE("the pool's own library is not taken for NVIDIA's", "[libraries]") {
  ::setenv(kBlasVariable, ROUSE_OWN_CUBLAS, 1);
  RealLibraries libraries;
  const auto taken = libraries.take(stream(0x77));
  REQUIRE_FALSE(taken.ok());
  CHECK(taken.error().message.find("the pool's own") != std::string::npos);
  CHECK(taken.error().message.find(kBlasVariable) != std::string::npos);
}

TEST_CASE_METHOD(Real, "a handle knows the kinds of calls that have been made with it", "[libraries]") {
  CHECK_FALSE(libraries.known(*handle, 5));
  libraries.knows(*handle, 5);
  CHECK(libraries.known(*handle, 5));
  CHECK_FALSE(libraries.known(*handle, 6));
}

TEST_CASE_METHOD(Real, "each call is the same call of the real library", "[libraries]") {
  blas::Call c = call();
  c.transa = blas::Transpose::transposed;
  REQUIRE(run(blas::Function::cublasSgemm_v2, c).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].name == "cublasSetPointerMode_v2");
  CHECK(calls[0].arguments == std::vector<std::uint64_t>{number, 1});
  CHECK(calls[1].name == "cublasSgemm_v2");
  CHECK(calls[1].arguments == std::vector<std::uint64_t>{number, 1, 0, 11, 12, 13, 0x1111, 0xa000, 21, 0xb000, 22, 0x2222, 0xc000, 23});

  c.aType = c.bType = blas::Type::f16;
  c.cType = blas::Type::f32;
  c.computeType = 68;
  c.algorithm = -1;
  REQUIRE(run(blas::Function::cublasGemmStridedBatchedEx, c).ok());
  calls = taken();
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].arguments ==
        std::vector<std::uint64_t>{number, 1, 0, 11, 12, 13, 0x1111, 0xa000, 2, 21, 31, 0xb000, 2, 22, 32, 0x2222, 0xc000, 0, 23, 33, 14, 68, 0xffffffff});

  c = call();
  c.side = blas::Side::right;
  c.uplo = blas::Triangle::upper;
  c.transa = blas::Transpose::conjugated;
  c.diag = blas::Diagonal::unit;
  REQUIRE(run(blas::Function::cublasZtrsm_v2, c).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 1, 1, 2, 1, 11, 12, 0x1111, 0xa000, 21, 0xb000, 22});
  REQUIRE(run(blas::Function::cublasSrot_v2, call()).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 12, 0xd000, 24, 0xe000, 25, 0x1111, 0x2222});
  REQUIRE(run(blas::Function::cublasDgemmBatched, call()).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 0, 0, 11, 12, 13, 0x1111, 0xa000, 21, 0xb000, 22, 0x2222, 0xc000, 23, 14});
}

TEST_CASE_METHOD(Real, "factorisations, bands and rotations are the same calls, too", "[libraries]") {
  blas::Call c = call();
  c.pivots = 0x7000;
  c.infos = 0x8000;
  REQUIRE(run(blas::Function::cublasDgetrfBatched, c).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 12, 0xa000, 21, 0x7000, 0x8000, 14});
  REQUIRE(run(blas::Function::cublasCgetriBatched, c).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 12, 0xa000, 21, 0x7000, 0xc000, 23, 0x8000, 14});
  REQUIRE(run(blas::Function::cublasSmatinvBatched, c).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 12, 0xa000, 21, 0xc000, 23, 0x8000, 14});
  c.transa = blas::Transpose::conjugated;
  REQUIRE(run(blas::Function::cublasZgetrsBatched, c).ok());
  auto arguments = taken().back().arguments;
  REQUIRE(arguments.size() == 11);
  CHECK(arguments[9] != 0);  // the library's info about its parameters: the executor's own
  arguments[9] = 0;
  CHECK(arguments == std::vector<std::uint64_t>{number, 2, 12, 13, 0xa000, 21, 0x7000, 0xb000, 22, 0, 14});
  REQUIRE(run(blas::Function::cublasSgelsBatched, c).ok());
  arguments = taken().back().arguments;
  REQUIRE(arguments.size() == 12);
  CHECK(arguments[9] != 0);
  CHECK(arguments[10] == 0x8000);
  REQUIRE(run(blas::Function::cublasSgeqrfBatched, c).ok());
  arguments = taken().back().arguments;
  REQUIRE(arguments.size() == 8);
  CHECK(arguments[5] == 0xd000);

  c = call();
  c.ku = 17;
  REQUIRE(run(blas::Function::cublasSgbmv_v2, c).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 0, 11, 12, 13, 17, 0x1111, 0xa000, 21, 0xd000, 24, 0x2222, 0xe000, 25});
  REQUIRE(run(blas::Function::cublasZhpr2_v2, c).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 0, 12, 0x1111, 0xd000, 24, 0xe000, 25, 0xa000});
  REQUIRE(run(blas::Function::cublasStpttr, c).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 0, 12, 0xb000, 0xa000, 21});
  REQUIRE(run(blas::Function::cublasStrttp, c).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 0, 12, 0xa000, 21, 0xb000});
  c.aType = c.cType = blas::Type::c32;
  REQUIRE(run(blas::Function::cublasCherk3mEx, c).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 0, 0, 12, 13, 0x1111, 0xa000, 4, 21, 0x2222, 0xc000, 4, 23});

  for (std::uint64_t i = 0; i < 5; ++i) c.rotation[i] = 0x100 * (i + 1);
  REQUIRE(run(blas::Function::cublasCrotg_v2, c).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 0x100, 0x200, 0x300, 0x400});
  REQUIRE(run(blas::Function::cublasDrotmg_v2, c).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 0x100, 0x200, 0x300, 0x400, 0x500});
  REQUIRE(run(blas::Function::cublasSrotm_v2, c).ok());
  CHECK(taken().back().arguments == std::vector<std::uint64_t>{number, 12, 0xd000, 24, 0xe000, 25, 0x100});
  c.scalars = blas::Scalars::byValue;
  REQUIRE(run(blas::Function::cublasSrotm_v2, c).ok());
  const std::uint64_t copy = taken().back().arguments.back();
  CHECK(copy != 0x100);
  CHECK(copy % 8 == 0);
}

TEST_CASE_METHOD(Real, "how products are emulated is set where it differs", "[libraries]") {
  blas::Call c = call();
  c.emulation.strategy = 2;
  c.emulation.mostMantissaBits = 55;
  c.emulation.mantissaBitCount = 0x9000;
  REQUIRE(run(blas::Function::cublasDgemm_v2, c).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 5);
  CHECK(calls[1].name == "cublasSetEmulationStrategy");
  CHECK(calls[1].arguments == std::vector<std::uint64_t>{number, 2});
  CHECK(calls[2].name == "cublasSetFixedPointEmulationMaxMantissaBitCount");
  CHECK(calls[3].name == "cublasSetFixedPointEmulationMantissaBitCountPointer");
  CHECK(calls[3].arguments == std::vector<std::uint64_t>{number, 0x9000});
  REQUIRE(run(blas::Function::cublasDgemm_v2, c).ok());
  CHECK(taken().size() == 1);
  c.emulation = {};
  c.emulation.specialValues = 1;
  c.emulation.mantissaControl = 1;
  c.emulation.mantissaBitOffset = -1;
  REQUIRE(run(blas::Function::cublasDgemm_v2, c).ok());
  CHECK(taken().size() == 7);
}

TEST_CASE_METHOD(Real, "results lie in memory, and indices are as wide as they were asked for", "[libraries]") {
  blas::Call c = call();
  c.scalars = blas::Scalars::byValue;
  REQUIRE(run(blas::Function::cublasSdot_v2, c).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].arguments == std::vector<std::uint64_t>{number, 1});  // the device's memory
  CHECK(calls[1].arguments == std::vector<std::uint64_t>{number, 12, 0xd000, 24, 0xe000, 25, 0xf000});
  c.resultType = blas::Type::i32;
  REQUIRE(run(blas::Function::cublasIsamax_v2, c).ok());
  CHECK(taken().back().name == "cublasIsamax_v2");
  c.resultType = blas::Type::i64;
  REQUIRE(run(blas::Function::cublasIsamax_v2, c).ok());
  CHECK(taken().back().name == "cublasIsamax_v2_64");
}

TEST_CASE_METHOD(Real, "scalars by value, modes and workspaces are set for the call that brings them, and only when they change", "[libraries]") {
  blas::Call c = call();
  c.scalars = blas::Scalars::byValue;
  c.mathMode = 3;
  c.atomics = 1;
  c.workspace = 0x9000;
  c.workspaceBytes = 4096;
  c.multiprocessors = 8;
  REQUIRE(run(blas::Function::cublasSgemm_v2, c).ok());
  std::vector<std::string> names;
  for (const Taken& each : taken()) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"cublasSetAtomicsMode", "cublasSetMathMode", "cublasSetSmCountTarget", "cublasSetWorkspace_v2", "cublasSgemm_v2"});
  REQUIRE(run(blas::Function::cublasSgemm_v2, c).ok());
  CHECK(taken().size() == 1);
  // Back to what a handle has by itself, its own workspace too.
  REQUIRE(run(blas::Function::cublasSgemm_v2, [] {
            blas::Call plain = call();
            plain.scalars = blas::Scalars::byValue;
            return plain;
          }()).ok());
  names.clear();
  for (const Taken& each : taken()) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"cublasSetAtomicsMode", "cublasSetMathMode", "cublasSetSmCountTarget", "cublasSetStream_v2", "cublasSgemm_v2"});
}

// A cuDoubleComplex is aligned to 16 bytes: a library that loads it in one piece ends the process where it is not.
TEST_CASE_METHOD(Real, "scalars by value lie as any of their types must", "[libraries]") {
  blas::Call c = call();
  c.scalars = blas::Scalars::byValue;
  REQUIRE(run(blas::Function::cublasZgemm_v2, c).ok());
  Taken made = taken().back();
  REQUIRE(made.name == "cublasZgemm_v2");
  CHECK(made.arguments[6] % alignof(cuDoubleComplex) == 0);
  CHECK(made.arguments[11] % alignof(cuDoubleComplex) == 0);
  REQUIRE(run(blas::Function::cublasZscal_v2, c).ok());
  made = taken().back();
  REQUIRE(made.name == "cublasZscal_v2");
  CHECK(made.arguments[2] % alignof(cuDoubleComplex) == 0);
}

// An error after which a context is not to be used any more is for what has failed, not for what was not begun.
TEST_CASE_METHOD(Real, "what the library refuses is an error of the call, and does not end the context", "[libraries]") {
  const std::pair<cublasStatus_t, CudaError> answers[] = {{CUBLAS_STATUS_NOT_SUPPORTED, CudaError::notSupported},     {CUBLAS_STATUS_ARCH_MISMATCH, CudaError::notSupported},
                                                          {CUBLAS_STATUS_INVALID_VALUE, CudaError::invalidValue},     {CUBLAS_STATUS_ALLOC_FAILED, CudaError::memoryAllocation},
                                                          {CUBLAS_STATUS_EXECUTION_FAILED, CudaError::unknown},       {CUBLAS_STATUS_INTERNAL_ERROR, CudaError::unknown}};
  for (const auto& [status, error] : answers) {
    INFO(status);
    const bool fails = status == CUBLAS_STATUS_EXECUTION_FAILED || status == CUBLAS_STATUS_INTERNAL_ERROR;
    refuse(ROUSE_CUBLAS_DOUBLE, "cublasSgemm_v2", status);
    const Status got = run(blas::Function::cublasSgemm_v2, call());
    REQUIRE(!got.ok());
    CHECK(got.error().code == error);
    CHECK(isSticky(got.error().code) == fails);
    CHECK(got.error().message == "cublasSgemm_v2: CUBLAS_STATUS_OF_THE_DOUBLE");
  }
  refuse(ROUSE_CUBLAS_DOUBLE, "", 0);
  CHECK(run(blas::Function::cublasSgemm_v2, call()).ok());
  taken();
}

TEST_CASE_METHOD(Real, "streams have a handle each, which others get when they have ended", "[libraries]") {
  Handle* second = libraries.take(stream(0x88)).value();
  CHECK(second != handle);
  CHECK(taken().size() == 2);
  libraries.give(second);
  CHECK(libraries.take(stream(0x99)).value() == second);
  const auto calls = taken();
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].arguments[1] == 0x99);
  libraries.end();
  int destroyed = 0;
  for (const Taken& each : taken()) destroyed += each.name == "cublasDestroy_v2";
  CHECK(destroyed == 2);
}

TEST_CASE("where the library is not, that is said", "[libraries]") {
  ::setenv(kBlasVariable, "/nonexistent/libcublas.so.13", 1);
  RealLibraries libraries;
  const auto none = libraries.take(nullptr);
  REQUIRE(!none.ok());
  CHECK(none.error().code == CudaError::notSupported);
  CHECK(none.error().message.find("no libcublas.so.13 on this node") == 0);
  // One that is none.
  ::setenv(kBlasVariable, "libm.so.6", 1);
  const auto other = libraries.take(nullptr);
  REQUIRE(!other.ok());
  CHECK(other.error().message.find("libcublas.so.13 of this node has no function cublas") == 0);
}

}  // namespace rouse::library::cuda
