// cuFFT as programs call it, before a daemon and executors of the test: what travels, what waits, what is counted, what plans are taken for, and what a
// call with wrong arguments answers.
#include <cuda_runtime.h>
#include <cufftXt.h>
#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "schemas/fft/transform.h"
#include "test/libraries/library_calls.h"

namespace rouse::test {
namespace {

using wire::Opcode;

struct Transforms : LibraryCalls {
  fft::Transform travelled() { return last<fft::Transform>(); }
  cufftComplex* complexes(std::size_t at = 0) { return reinterpret_cast<cufftComplex*>(memory) + at; }

  std::size_t size = 77;
};

}  // namespace

TEST_CASE_METHOD(Transforms, "an execution is one command with all of its plan, and waits for nothing", "[fft]") {
  cufftHandle plan = -5;
  REQUIRE(cufftPlan2d(&plan, 6, 10, CUFFT_C2C) == CUFFT_SUCCESS);
  const auto calls = count(Opcode::LibraryCall), signals = count(Opcode::SlotSignal);
  for (int i = 0; i < 100; ++i) REQUIRE(cufftExecC2C(plan, complexes(), complexes(100), CUFFT_INVERSE) == CUFFT_SUCCESS);
  CHECK(count(Opcode::SlotSignal) == signals);
  const fft::Transform transform = travelled();
  CHECK(count(Opcode::LibraryCall) == calls + 100);
  CHECK(transform.input == reinterpret_cast<std::uint64_t>(complexes()));
  CHECK(transform.output == reinterpret_cast<std::uint64_t>(complexes(100)));
  CHECK((transform.rank == 2 && transform.dims[0] == 6 && transform.dims[1] == 10 && transform.dims[2] == 0 && transform.batch == 1));
  CHECK((transform.inType == fft::Type::c32 && transform.outType == fft::Type::c32 && transform.executionType == fft::Type::c32));
  CHECK((transform.packed == 1 && transform.direction == fft::Direction::inverse));
  // The plan's own memory, as it says that it needs it.
  REQUIRE(cufftGetSize(plan, &size) == CUFFT_SUCCESS);
  CHECK(size == 6 * 10 * 8);
  CHECK(transform.workBytes == size);
  CHECK(transform.workArea != 0);
  CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
}

TEST_CASE_METHOD(Transforms, "plans of many transforms: layouts where both sides have embeds, else none", "[fft]") {
  cufftHandle plan = 0;
  int n[] = {4, 8}, inembed[] = {5, 9}, onembed[] = {4, 6};
  REQUIRE(cufftPlanMany(&plan, 2, n, inembed, 2, 100, onembed, 1, 24, CUFFT_D2Z, 3) == CUFFT_SUCCESS);
  REQUIRE(cufftExecD2Z(plan, reinterpret_cast<cufftDoubleReal*>(memory), reinterpret_cast<cufftDoubleComplex*>(memory + 65536)) == CUFFT_SUCCESS);
  fft::Transform transform = travelled();
  CHECK((transform.packed == 0 && transform.batch == 3));
  CHECK((transform.in.embed[0] == 5 && transform.in.embed[1] == 9 && transform.in.stride == 2 && transform.in.distance == 100));
  CHECK((transform.out.embed[0] == 4 && transform.out.embed[1] == 6 && transform.out.stride == 1 && transform.out.distance == 24));
  CHECK((transform.inType == fft::Type::f64 && transform.outType == fft::Type::c64 && transform.direction == fft::Direction::forward));
  CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
  REQUIRE(cufftPlanMany(&plan, 2, n, nullptr, -2, 100, onembed, 1, 24, CUFFT_Z2D, 3) == CUFFT_SUCCESS);
  REQUIRE(cufftExecZ2D(plan, reinterpret_cast<cufftDoubleComplex*>(memory), reinterpret_cast<cufftDoubleReal*>(memory)) == CUFFT_SUCCESS);
  transform = travelled();
  CHECK((transform.packed == 1 && transform.in.stride == 0 && transform.out.distance == 0 && transform.direction == fft::Direction::inverse));
  CHECK(transform.input == transform.output);
  CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);

  long long wide[] = {16}, embed[] = {16};
  REQUIRE(cufftCreate(&plan) == CUFFT_SUCCESS);
  REQUIRE(cufftMakePlanMany64(plan, 1, wide, embed, 1, 16, embed, 4, 1, CUFFT_C2C, 4, &size) == CUFFT_SUCCESS);
  CHECK(size == 16 * 4 * 8);
  REQUIRE(cufftExecC2C(plan, complexes(), complexes(64), CUFFT_FORWARD) == CUFFT_SUCCESS);
  transform = travelled();
  CHECK((transform.dims[0] == 16 && transform.out.stride == 4 && transform.out.distance == 1));
  CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
}

TEST_CASE_METHOD(Transforms, "types of any precision, by cufftXtMakePlanMany", "[fft]") {
  struct Types {
    cudaDataType in, out, execution;
    cufftResult result;
  };
  const Types types[] = {{CUDA_C_16F, CUDA_C_16F, CUDA_C_16F, CUFFT_SUCCESS},     {CUDA_R_16F, CUDA_C_16F, CUDA_C_16F, CUFFT_SUCCESS},
                         {CUDA_C_16BF, CUDA_R_16BF, CUDA_C_16BF, CUFFT_SUCCESS},  {CUDA_C_32F, CUDA_R_32F, CUDA_C_32F, CUFFT_SUCCESS},
                         {CUDA_R_64F, CUDA_C_64F, CUDA_C_64F, CUFFT_SUCCESS},     {CUDA_C_16F, CUDA_C_32F, CUDA_C_32F, CUFFT_INVALID_TYPE},
                         {CUDA_C_32F, CUDA_C_32F, CUDA_R_32F, CUFFT_INVALID_TYPE}, {CUDA_R_32F, CUDA_R_32F, CUDA_C_32F, CUFFT_INVALID_TYPE},
                         {CUDA_R_8I, CUDA_C_32F, CUDA_C_32F, CUFFT_INVALID_TYPE},  {static_cast<cudaDataType>(260), CUDA_C_32F, CUDA_C_32F, CUFFT_INVALID_TYPE}};
  long long n[] = {32};
  for (const Types& each : types) {
    cufftHandle plan = 0;
    REQUIRE(cufftCreate(&plan) == CUFFT_SUCCESS);
    CAPTURE(each.in, each.out, each.execution);
    CHECK(cufftXtMakePlanMany(plan, 1, n, nullptr, 1, 0, each.in, nullptr, 1, 0, each.out, 5, &size, each.execution) == each.result);
    CHECK(cufftXtGetSizeMany(plan, 1, n, nullptr, 1, 0, each.in, nullptr, 1, 0, each.out, 5, &size, each.execution) == each.result);
    if (each.result == CUFFT_SUCCESS) {
      // Whatever the direction is: of real transforms the plan says it.
      REQUIRE(cufftXtExec(plan, memory, memory + 65536, CUFFT_INVERSE) == CUFFT_SUCCESS);
      const fft::Transform transform = travelled();
      CHECK(static_cast<int>(transform.inType) == each.in);
      CHECK(static_cast<int>(transform.outType) == each.out);
      CHECK((transform.direction == fft::Direction::forward) == (each.in != each.out && each.out == each.execution));
    }
    CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
  }
  // Lengths that cuFFT does not do of them, counted under the call's name.
  const std::uint32_t id = idOf("cufftXtMakePlanMany"), before = server().unsupportedCalls(id);
  cufftHandle plan = 0;
  REQUIRE(cufftCreate(&plan) == CUFFT_SUCCESS);
  n[0] = 24;
  CHECK(cufftXtMakePlanMany(plan, 1, n, nullptr, 1, 0, CUDA_C_16F, nullptr, 1, 0, CUDA_C_16F, 5, &size, CUDA_C_16F) == CUFFT_NOT_SUPPORTED);
  CHECK(server().unsupportedCalls(id) == before + 1);
  CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
}

TEST_CASE_METHOD(Transforms, "plans: destroyed, made up, not made, made twice", "[fft]") {
  const auto calls = count(Opcode::LibraryCall);
  cufftHandle plan = 0, other = 0;
  REQUIRE(cufftPlan1d(&plan, 16, CUFFT_C2C, 1) == CUFFT_SUCCESS);
  REQUIRE(cufftDestroy(plan) == CUFFT_SUCCESS);
  REQUIRE(cufftCreate(&other) == CUFFT_SUCCESS);
  CHECK(other != plan);
  CHECK(cufftDestroy(CUFFT_PLAN_NULL) == CUFFT_SUCCESS);
  long long value = 0;
  for (const cufftHandle none : {plan, -7, 0, 1 << 30}) {
    CHECK(cufftDestroy(none) == CUFFT_INVALID_PLAN);
    CHECK(cufftExecC2C(none, complexes(), complexes(), CUFFT_FORWARD) == CUFFT_INVALID_PLAN);
    CHECK(cufftXtExec(none, memory, memory, CUFFT_FORWARD) == CUFFT_INVALID_PLAN);
    CHECK(cufftSetStream(none, nullptr) == CUFFT_INVALID_PLAN);
    CHECK(cufftGetSize(none, &size) == CUFFT_INVALID_PLAN);
    CHECK(cufftGetSize1d(none, 16, CUFFT_C2C, 1, &size) == CUFFT_INVALID_PLAN);
    CHECK(cufftMakePlan1d(none, 16, CUFFT_C2C, 1, &size) == CUFFT_INVALID_PLAN);
    CHECK(cufftSetAutoAllocation(none, 0) == CUFFT_INVALID_PLAN);
    CHECK(cufftSetWorkArea(none, memory) == CUFFT_INVALID_PLAN);
    CHECK(cufftXtSetWorkAreaPolicy(none, CUFFT_WORKAREA_MINIMAL, &size) == CUFFT_INVALID_PLAN);
    CHECK(cufftGetPlanPropertyInt64(none, NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT, &value) == CUFFT_INVALID_PLAN);
  }
  CHECK(cufftExecC2C(other, complexes(), complexes(), CUFFT_FORWARD) == CUFFT_INVALID_PLAN);
  REQUIRE(cufftMakePlan2d(other, 16, 4, CUFFT_R2C, &size) == CUFFT_SUCCESS);
  CHECK(size == 16 * 3 * 8);
  CHECK(cufftMakePlan1d(other, 16, CUFFT_C2C, 1, &size) == CUFFT_INVALID_PLAN);
  // What it is not for.
  CHECK(cufftExecC2C(other, complexes(), complexes(), CUFFT_FORWARD) == CUFFT_INVALID_TYPE);
  CHECK(cufftExecC2R(other, complexes(), reinterpret_cast<cufftReal*>(memory)) == CUFFT_INVALID_TYPE);
  CHECK(cufftExecD2Z(other, reinterpret_cast<cufftDoubleReal*>(memory), reinterpret_cast<cufftDoubleComplex*>(memory)) == CUFFT_INVALID_TYPE);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls);
  CHECK(cufftExecR2C(other, reinterpret_cast<cufftReal*>(memory), complexes()) == CUFFT_SUCCESS);
  CHECK(cufftDestroy(other) == CUFFT_SUCCESS);
}

TEST_CASE_METHOD(Transforms, "wrong arguments are answered at the call, and nothing travels", "[fft]") {
  const auto calls = count(Opcode::LibraryCall);
  cufftHandle plan = -7;
  CHECK(cufftCreate(nullptr) == CUFFT_INVALID_VALUE);
  CHECK(cufftPlan1d(nullptr, 8, CUFFT_C2C, 1) == CUFFT_INVALID_VALUE);
  CHECK(cufftPlan1d(&plan, 0, CUFFT_C2C, 1) == CUFFT_INVALID_SIZE);
  CHECK(cufftPlan1d(&plan, -8, CUFFT_C2C, 1) == CUFFT_INVALID_SIZE);
  CHECK(cufftPlan1d(&plan, 8, CUFFT_C2C, 0) == CUFFT_INVALID_SIZE);
  CHECK(cufftPlan1d(&plan, 8, static_cast<cufftType>(0x77), 1) == CUFFT_INVALID_TYPE);
  CHECK(cufftPlan2d(&plan, 8, 0, CUFFT_C2C) == CUFFT_INVALID_SIZE);
  CHECK(cufftPlan3d(&plan, 8, 8, -1, CUFFT_C2C) == CUFFT_INVALID_SIZE);
  int n[] = {8, 8, 8, 8}, wrong[] = {8, 0, 8};
  CHECK(cufftPlanMany(&plan, 0, n, nullptr, 1, 8, nullptr, 1, 8, CUFFT_C2C, 1) == CUFFT_INVALID_VALUE);
  CHECK(cufftPlanMany(&plan, 4, n, nullptr, 1, 8, nullptr, 1, 8, CUFFT_C2C, 1) == CUFFT_INVALID_VALUE);
  CHECK(cufftPlanMany(&plan, 1, nullptr, nullptr, 1, 8, nullptr, 1, 8, CUFFT_C2C, 1) == CUFFT_INVALID_VALUE);
  CHECK(cufftPlanMany(&plan, 1, n, n, 0, 8, n, 1, 8, CUFFT_C2C, 1) == CUFFT_INVALID_VALUE);
  CHECK(cufftPlanMany(&plan, 1, n, n, 1, -8, n, 1, 8, CUFFT_C2C, 2) == CUFFT_INVALID_VALUE);
  CHECK(cufftPlanMany(&plan, 2, n, wrong, 1, 64, n, 1, 64, CUFFT_C2C, 1) == CUFFT_INVALID_SIZE);
  CHECK(plan == -7);
  // As the real library answers without looking at the plan.
  CHECK(cufftMakePlanMany(-7, 0, n, nullptr, 1, 8, nullptr, 1, 8, CUFFT_C2C, 1, &size) == CUFFT_INVALID_VALUE);
  CHECK(cufftMakePlanMany(-7, 1, n, nullptr, 1, 8, nullptr, 1, 8, static_cast<cufftType>(0x20), 1, &size) == CUFFT_INVALID_TYPE);
  CHECK(cufftMakePlan1d(-7, 8, CUFFT_C2C, 1, nullptr) == CUFFT_INVALID_VALUE);
  CHECK(cufftGetSize(-7, nullptr) == CUFFT_INVALID_VALUE);
  CHECK(size == 77);

  CHECK(cufftEstimate1d(1000, CUFFT_Z2Z, 3, &size) == CUFFT_SUCCESS);
  CHECK(size == 3 * 1000 * 16);
  CHECK(cufftEstimate2d(100, 131, CUFFT_R2C, &size) == CUFFT_SUCCESS);
  CHECK(size == 4 * 100 * 66 * 8);
  CHECK(cufftEstimate3d(2, 3, 4, CUFFT_C2R, &size) == CUFFT_SUCCESS);
  CHECK(size == 2 * 3 * 3 * 8);
  CHECK(cufftEstimateMany(1, n, nullptr, 1, 8, nullptr, 1, 8, CUFFT_C2C, 2, &size) == CUFFT_SUCCESS);
  CHECK(size == 8 * 2 * 8);
  CHECK(cufftEstimate1d(0, CUFFT_C2C, 1, &size) == CUFFT_INVALID_SIZE);
  CHECK(cufftEstimate1d(8, CUFFT_C2C, 1, nullptr) == CUFFT_INVALID_VALUE);

  REQUIRE(cufftPlan1d(&plan, 16, CUFFT_C2C, 1) == CUFFT_SUCCESS);
  CHECK(cufftGetSize2d(plan, 4, 8, CUFFT_C2C, &size) == CUFFT_SUCCESS);
  CHECK(size == 4 * 8 * 8);
  CHECK(cufftGetSize3d(plan, 4, 8, 2, CUFFT_C2C, &size) == CUFFT_SUCCESS);
  CHECK(size == 4 * 8 * 2 * 8);
  CHECK(cufftGetSizeMany(plan, 1, n, nullptr, 1, 8, nullptr, 1, 8, CUFFT_C2C, 3, &size) == CUFFT_SUCCESS);
  CHECK(size == 8 * 3 * 8);
  long long wide[] = {8};
  CHECK(cufftGetSizeMany64(plan, 1, wide, nullptr, 1, 8, nullptr, 1, 8, CUFFT_C2C, 5, &size) == CUFFT_SUCCESS);
  CHECK(size == 8 * 5 * 8);
  CHECK(cufftExecC2C(plan, nullptr, complexes(), CUFFT_FORWARD) == CUFFT_INVALID_VALUE);
  CHECK(cufftExecC2C(plan, complexes(), nullptr, CUFFT_FORWARD) == CUFFT_INVALID_VALUE);
  CHECK(cufftExecC2C(plan, complexes(), complexes(), 0) == CUFFT_INVALID_VALUE);
  CHECK(cufftExecC2C(plan, reinterpret_cast<cufftComplex*>(memory + 2), complexes(), CUFFT_FORWARD) == CUFFT_INVALID_VALUE);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls);
  CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
}

TEST_CASE_METHOD(Transforms, "memory to work in: the plan's own, the program's, or none", "[fft]") {
  cufftHandle plan = 0;
  REQUIRE(cufftCreate(&plan) == CUFFT_SUCCESS);
  REQUIRE(cufftSetAutoAllocation(plan, 0) == CUFFT_SUCCESS);
  REQUIRE(cufftMakePlan1d(plan, 64, CUFFT_C2C, 2, &size) == CUFFT_SUCCESS);
  CHECK(size == 64 * 2 * 8);
  REQUIRE(cufftExecC2C(plan, complexes(), complexes(), CUFFT_FORWARD) == CUFFT_SUCCESS);
  CHECK(travelled().workBytes == 0);
  REQUIRE(cufftSetWorkArea(plan, memory + 65536) == CUFFT_SUCCESS);
  REQUIRE(cufftExecC2C(plan, complexes(), complexes(), CUFFT_FORWARD) == CUFFT_SUCCESS);
  CHECK(travelled().workArea == reinterpret_cast<std::uint64_t>(memory + 65536));
  CHECK(travelled().workBytes == size);
  void* areas[] = {memory + 131072};
  REQUIRE(cufftXtSetWorkArea(plan, areas) == CUFFT_SUCCESS);
  CHECK(cufftXtSetWorkArea(plan, nullptr) == CUFFT_INVALID_VALUE);
  // Less than the plan would like, as the program says.
  std::size_t limit = 256;
  CHECK(cufftXtSetWorkAreaPolicy(plan, CUFFT_WORKAREA_USER, &limit) == CUFFT_SUCCESS);
  CHECK(cufftXtSetWorkAreaPolicy(plan, CUFFT_WORKAREA_USER, nullptr) == CUFFT_INVALID_VALUE);
  CHECK(cufftXtSetWorkAreaPolicy(plan, static_cast<cufftXtWorkAreaPolicy>(9), &limit) == CUFFT_INVALID_VALUE);
  REQUIRE(cufftExecC2C(plan, complexes(), complexes(), CUFFT_FORWARD) == CUFFT_SUCCESS);
  CHECK(travelled().workArea == reinterpret_cast<std::uint64_t>(memory + 131072));
  CHECK(travelled().workBytes == 256);
  CHECK(cufftXtSetWorkAreaPolicy(plan, CUFFT_WORKAREA_MINIMAL, nullptr) == CUFFT_SUCCESS);
  CHECK(cufftGetSize(plan, &size) == CUFFT_SUCCESS);
  CHECK(size == 0);
  CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);

  // A plan's own memory ends when it gets the program's.
  REQUIRE(cufftPlan1d(&plan, 64, CUFFT_C2C, 2) == CUFFT_SUCCESS);
  std::size_t before = 0, after = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&before, &total) == cudaSuccess);
  REQUIRE(cufftSetWorkArea(plan, memory + 65536) == CUFFT_SUCCESS);
  REQUIRE(cudaMemGetInfo(&after, &total) == cudaSuccess);
  CHECK(after >= before);
  CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
}

TEST_CASE_METHOD(Transforms, "a plan stays with its device; a stream that is gone, or another device's", "[fft]") {
  cufftHandle plan = 0;
  cudaStream_t stream = nullptr;
  REQUIRE(cufftCreate(&plan) == CUFFT_SUCCESS);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  REQUIRE(cufftMakePlan1d(plan, 16, CUFFT_C2C, 1, &size) == CUFFT_SUCCESS);
  int device = 0;
  REQUIRE(cudaGetDevice(&device) == cudaSuccess);
  CHECK(device == 1);
  const auto elsewhere = server().executor(1).count(Opcode::LibraryCall);
  CHECK(cufftExecC2C(plan, complexes(), complexes(), CUFFT_FORWARD) == CUFFT_SUCCESS);
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cufftSetStream(plan, stream) == CUFFT_SUCCESS);
  CHECK(cufftExecC2C(plan, complexes(), complexes(), CUFFT_FORWARD) == CUFFT_INVALID_VALUE);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(server().executor(1).count(Opcode::LibraryCall) == elsewhere);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cufftSetStream(plan, stream) == CUFFT_SUCCESS);
  CHECK(cufftExecC2C(plan, complexes(), complexes(), CUFFT_FORWARD) == CUFFT_SUCCESS);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cufftExecC2C(plan, complexes(), complexes(), CUFFT_FORWARD) == CUFFT_INVALID_VALUE);
  CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
}

TEST_CASE_METHOD(Transforms, "a captured execution is a node of the graph, and nothing travels", "[fft]") {
  cufftHandle plan = 0;
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cufftPlan1d(&plan, 16, CUFFT_C2C, 1) == CUFFT_SUCCESS);
  REQUIRE(cufftSetStream(plan, stream) == CUFFT_SUCCESS);
  const auto calls = count(Opcode::LibraryCall);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(cufftExecC2C(plan, complexes(), complexes(16), CUFFT_FORWARD) == CUFFT_SUCCESS);
  CHECK(cufftExecC2C(plan, nullptr, complexes(16), CUFFT_FORWARD) == CUFFT_INVALID_VALUE);
  REQUIRE(cufftExecC2C(plan, complexes(16), complexes(), CUFFT_INVERSE) == CUFFT_SUCCESS);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  std::size_t nodes = 0;
  REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 2);
  CHECK(count(Opcode::LibraryCall) == calls);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);
}

TEST_CASE_METHOD(Transforms, "properties, of plans and of the library", "[fft]") {
  cufftHandle plan = 0;
  REQUIRE(cufftCreate(&plan) == CUFFT_SUCCESS);
  constexpr auto patient = NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT;
  constexpr auto threads = NVFFT_PLAN_PROPERTY_INT64_MAX_NUM_HOST_THREADS;
  long long value = -1;
  CHECK(cufftSetPlanPropertyInt64(plan, patient, 1) == CUFFT_SUCCESS);
  CHECK(cufftGetPlanPropertyInt64(plan, patient, &value) == CUFFT_SUCCESS);
  CHECK(value == 1);
  CHECK(cufftSetPlanPropertyInt64(plan, patient, 2) == CUFFT_INVALID_VALUE);
  CHECK(cufftResetPlanProperty(plan, patient) == CUFFT_SUCCESS);
  CHECK(cufftGetPlanPropertyInt64(plan, patient, &value) == CUFFT_SUCCESS);
  CHECK(value == 0);
  CHECK(cufftSetPlanPropertyInt64(plan, threads, 4) == CUFFT_SUCCESS);
  CHECK(cufftSetPlanPropertyInt64(plan, threads, 0) == CUFFT_INVALID_VALUE);
  CHECK(cufftSetPlanPropertyInt64(plan, static_cast<cufftProperty>(9), 1) == CUFFT_INVALID_VALUE);
  CHECK(cufftGetPlanPropertyInt64(plan, static_cast<cufftProperty>(9), &value) == CUFFT_INVALID_VALUE);
  CHECK(cufftGetPlanPropertyInt64(plan, threads, nullptr) == CUFFT_INVALID_VALUE);
  REQUIRE(cufftMakePlan3d(plan, 4, 4, 4, CUFFT_C2C, &size) == CUFFT_SUCCESS);
  CHECK(cufftSetPlanPropertyInt64(plan, threads, 2) == CUFFT_NOT_SUPPORTED);
  CHECK(cufftDestroy(plan) == CUFFT_SUCCESS);

  int version = 0, part = 0;
  CHECK(cufftGetVersion(&version) == CUFFT_SUCCESS);
  CHECK(version == CUFFT_VERSION);
  CHECK(cufftGetProperty(MAJOR_VERSION, &part) == CUFFT_SUCCESS);
  CHECK(part == CUFFT_VER_MAJOR);
  CHECK(cufftGetProperty(MINOR_VERSION, &part) == CUFFT_SUCCESS);
  CHECK(part == CUFFT_VER_MINOR);
  CHECK(cufftGetProperty(PATCH_LEVEL, &part) == CUFFT_SUCCESS);
  CHECK(part == CUFFT_VER_PATCH);
  CHECK(cufftGetProperty(static_cast<libraryPropertyType>(7), &part) == CUFFT_INVALID_TYPE);
  CHECK(cufftGetProperty(MAJOR_VERSION, nullptr) == CUFFT_INVALID_VALUE);
}

TEST_CASE_METHOD(Transforms, "unsupported names of cuFFT say so, and are counted", "[fft]") {
  int unsupported = 0;
  for (std::uint32_t id = api::kCufftNames; id < api::kCurandNames; ++id) {
    if (api::kAllSupported[id]) continue;
    const std::string name(api::kAllNames[id]);
    CAPTURE(name);
    void* function = ::dlsym(RTLD_DEFAULT, name.c_str());
    REQUIRE(function != nullptr);
    const std::uint32_t before = server().unsupportedCalls(id);
    CHECK(reinterpret_cast<int (*)()>(function)() == CUFFT_NOT_SUPPORTED);
    CHECK(server().unsupportedCalls(id) == before + 1);
    ++unsupported;
  }
  CHECK(unsupported == 18);
}

}  // namespace rouse::test
