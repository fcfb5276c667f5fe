// Transforms on GPUs, before a double of cuFFT: a plan once, executions, memory to work in. Nothing here says that NVIDIA's library takes them.
#include <cufft.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "schemas/fft/transform.h"
#include "test/libraries/work_memory.h"

namespace rouse::library::cuda {
namespace {

CUstream_st* stream(std::uint64_t number) { return reinterpret_cast<CUstream_st*>(number); }

struct Real {
  Real() {
    ::setenv(kFftVariable, ROUSE_CUFFT_DOUBLE, 1);
    ::setenv(kBlasVariable, ROUSE_CUBLAS_DOUBLE, 1);
    needs(4096);
    refuse(ROUSE_CUFFT_DOUBLE, "", 0);
    libraries.workIn(std::make_unique<Memory>(account));
    (void)taken();
    (void)takenOf(ROUSE_CUBLAS_DOUBLE);
    handle = libraries.take(stream(0x77), fft::kLibrary).value();
  }
  static std::vector<Taken> taken() { return takenOf(ROUSE_CUFFT_DOUBLE); }
  static void needs(std::size_t bytes) { functionOf<void(std::size_t)>(ROUSE_CUFFT_DOUBLE, "rouse_cufft_double_needs")(bytes); }
  Status run(const fft::Transform& transform) {
    return libraries.call(*handle, fft::kLibrary, fft::kTransformFunction, std::as_bytes(std::span(&transform, 1)));
  }
  Account account;
  RealLibraries libraries;
  Handle* handle = nullptr;
};

fft::Transform packed() {
  fft::Transform transform;
  transform.input = 0xa000, transform.output = 0xb000;
  transform.workArea = 0xc000, transform.workBytes = 8192;
  transform.rank = 2;
  transform.dims[0] = 6, transform.dims[1] = 10, transform.batch = 3;
  transform.packed = 1;
  transform.inType = fft::Type::f32;
  transform.outType = transform.executionType = fft::Type::c32;
  transform.direction = fft::Direction::forward;
  return transform;
}

constexpr std::uint64_t kForward = 0xffffffff;

}  // namespace

TEST_CASE_METHOD(Real, "a plan is made once; it has the stream, and for each execution the program's memory to work in", "[fft]") {
  REQUIRE(run(packed()).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 6);
  CHECK(calls[0].name == "cufftCreate");
  const std::uint64_t plan = calls[0].arguments[0];
  CHECK((calls[1].name == "cufftSetAutoAllocation" && calls[1].arguments == Words{plan, 0}));
  CHECK(calls[2].name == "cufftXtMakePlanMany");
  CHECK(calls[2].arguments == Words{plan, 2, 1, 6, 10, 0, 1, 0, CUDA_R_32F, 0, 1, 0, CUDA_C_32F, 3, CUDA_C_32F});
  CHECK((calls[3].name == "cufftSetStream" && calls[3].arguments == Words{plan, 0x77}));
  CHECK((calls[4].name == "cufftSetWorkArea" && calls[4].arguments == Words{plan, 0xc000}));
  CHECK((calls[5].name == "cufftXtExec" && calls[5].arguments == Words{plan, 0xa000, 0xb000, kForward}));

  // Elsewhere, and in place: the same plan.
  fft::Transform again = packed();
  again.input = again.output = 0xd000;
  again.workArea = 0xe000;
  REQUIRE(run(again).ok());
  calls = taken();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].arguments == Words{plan, 0xe000});
  CHECK(calls[1].arguments == Words{plan, 0xd000, 0xd000, kForward});
  CHECK(account.taken.empty());
  // No handle of cuBLAS was made for it, and one is when it is called.
  CHECK(takenOf(ROUSE_CUBLAS_DOUBLE).empty());
  blas::Call product;
  REQUIRE(libraries.call(*handle, blas::kLibrary, static_cast<std::uint32_t>(blas::Function::cublasSgemm_v2), std::as_bytes(std::span(&product, 1))).ok());
  const auto blasCalls = takenOf(ROUSE_CUBLAS_DOUBLE);
  REQUIRE(blasCalls.size() >= 3);
  CHECK(blasCalls[0].name == "cublasCreate_v2");
  CHECK((blasCalls[1].name == "cublasSetStream_v2" && blasCalls[1].arguments[1] == 0x77));
  libraries.end();
  calls = taken();
  REQUIRE(calls.size() == 1);
  CHECK((calls[0].name == "cufftDestroy" && calls[0].arguments == Words{plan}));
}

TEST_CASE_METHOD(Real, "layouts, types and directions are the program's; both directions are one plan", "[fft]") {
  fft::Transform transform = packed();
  transform.packed = 0;
  transform.rank = 1;
  transform.dims[0] = 64, transform.dims[1] = 0;
  transform.in = {.embed = {70}, .stride = 2, .distance = 200};
  transform.out = {.embed = {64}, .stride = 3, .distance = 1};
  transform.inType = transform.outType = transform.executionType = fft::Type::c16;
  REQUIRE(run(transform).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 6);
  const std::uint64_t plan = calls[0].arguments[0];
  CHECK(calls[2].arguments == Words{plan, 1, 1, 64, 1, 70, 2, 200, CUDA_C_16F, 1, 64, 3, 1, CUDA_C_16F, 3, CUDA_C_16F});
  transform.direction = fft::Direction::inverse;
  REQUIRE(run(transform).ok());
  calls = taken();
  REQUIRE(calls.size() == 2);
  CHECK(calls[1].arguments == Words{plan, 0xa000, 0xb000, 1});
  transform.batch = 4;
  REQUIRE(run(transform).ok());
  CHECK(taken().size() == 6);
}

TEST_CASE_METHOD(Real, "what the program's memory is too small for works in the executor's, which grows and is given back at the end", "[fft]") {
  fft::Transform transform = packed();
  transform.workArea = transform.workBytes = 0;
  REQUIRE(run(transform).ok());
  auto calls = taken();
  REQUIRE(calls.size() == 6);
  CHECK(calls[4].arguments[1] == 0x9000'0000);
  CHECK(account.taken == Words{4096});
  REQUIRE(run(transform).ok());
  CHECK(account.taken == Words{4096});
  // Needs a little more: twice as much is taken, and what is queued keeps what it has.
  needs(5000);
  transform.batch = 5;
  REQUIRE(run(transform).ok());
  CHECK(account.taken == Words{4096, 8192});
  CHECK(account.given.empty());
  // Where there is not twice as much, what it needs.
  needs(10000);
  account.most = 12000;
  transform.batch = 6;
  REQUIRE(run(transform).ok());
  CHECK(account.taken == Words{4096, 8192, 10000});
  needs(1 << 20);
  transform.batch = 7;
  const Status refused = run(transform);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == CudaError::memoryAllocation);
  CHECK(refused.error().message == "cuFFT's work area of 1048576 bytes: none left");
  // A plan that needs none is told none.
  needs(0);
  transform.batch = 8;
  (void)taken();
  REQUIRE(run(transform).ok());
  CHECK(taken().size() == 5);
  libraries.end();
  CHECK(account.given == Words{0x9000'0000, 4096, 0x9000'1000, 8192, 0x9000'3000, 10000});
}

TEST_CASE_METHOD(Real, "a handle that goes to another stream tells its plans", "[fft]") {
  REQUIRE(run(packed()).ok());
  const std::uint64_t plan = taken()[0].arguments[0];
  libraries.give(handle);
  handle = libraries.take(stream(0x88), fft::kLibrary).value();
  REQUIRE(run(packed()).ok());
  const auto calls = taken();
  REQUIRE(calls.size() == 3);
  CHECK((calls[0].name == "cufftSetStream" && calls[0].arguments == Words{plan, 0x88}));
}

TEST_CASE_METHOD(Real, "what the library refuses names the call and the result, and leaves no plan", "[fft]") {
  struct Refusal {
    const char* function;
    cufftResult result;
    CudaError code;
  };
  const Refusal refusals[] = {{"cufftXtMakePlanMany", CUFFT_NOT_SUPPORTED, CudaError::notSupported},
                              {"cufftXtMakePlanMany", CUFFT_ALLOC_FAILED, CudaError::memoryAllocation},
                              {"cufftXtExec", CUFFT_EXEC_FAILED, CudaError::unknown},
                              {"cufftSetStream", CUFFT_INVALID_VALUE, CudaError::invalidValue},
                              {"cufftSetAutoAllocation", CUFFT_SETUP_FAILED, CudaError::initializationError}};
  for (const Refusal& each : refusals) {
    refuse(ROUSE_CUFFT_DOUBLE, each.function, each.result);
    fft::Transform transform = packed();
    transform.batch = 100 + static_cast<std::int64_t>(each.result) + (each.function[5] == 'X' ? 0 : 50);
    const Status refused = run(transform);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code == each.code);
    CHECK(refused.error().message.find(std::string(each.function) + ": CUFFT_") == 0);
    refuse(ROUSE_CUFFT_DOUBLE, "", 0);
    REQUIRE(run(transform).ok());
    (void)taken();
  }
}

TEST_CASE("where there is no cuFFT, that is said with what to do", "[fft]") {
  ::setenv(kFftVariable, "/nowhere/libcufft.so.12", 1);
  RealLibraries libraries;
  const auto missing = libraries.take(stream(1), fft::kLibrary);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == CudaError::notSupported);
  CHECK(missing.error().message.find("no libcufft.so.12 on this node") == 0);
  CHECK(missing.error().message.find("install NVIDIA's cuFFT") != std::string::npos);
  ::setenv(kFftVariable, ROUSE_OWN_CUFFT, 1);
  const auto own = libraries.take(stream(1), fft::kLibrary);
  REQUIRE_FALSE(own.ok());
  CHECK(own.error().message.find("the pool's own") != std::string::npos);
}

}  // namespace rouse::library::cuda
