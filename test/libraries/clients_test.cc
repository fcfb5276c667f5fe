// The libraries as programs call them, before a daemon and executors of the test: what travels, what waits, what is counted, and what
// handles and descriptors are taken for.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "schemas/api/library_names.h"
#include "schemas/blas/call.h"
#include "test/libraries/cublas_fixture.h"

using namespace rouse::test;

TEST_CASE_METHOD(Libraries, "calls wait for nothing: one command each, no round trip", "[libraries]") {
  const auto calls = count(Opcode::LibraryCall), signals = count(Opcode::SlotSignal);
  for (int i = 0; i < 100; ++i) REQUIRE(multiply(handle) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t layout;
  cublasLtMatmulPreference_t preference;
  REQUIRE(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 8, 8, 8) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulHeuristicResult_t found;
  int algorithms = 0;
  const auto lt = reinterpret_cast<cublasLtHandle_t>(handle);
  REQUIRE(cublasLtMatmulAlgoGetHeuristic(lt, desc, layout, layout, layout, layout, preference, 1, &found, &algorithms) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(algorithms == 1);
  for (int i = 0; i < 100; ++i)
    REQUIRE(cublasLtMatmul(lt, desc, &one, memory, layout, memory + 64, layout, &zero, memory + 128, layout, memory + 128, layout, &found.algo,
                           nullptr, 0, nullptr) == CUBLAS_STATUS_SUCCESS);
  // Setting and creating are local.
  cublasHandle_t other;
  REQUIRE(cublasCreate(&other) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasSetMathMode(other, CUBLAS_TF32_TENSOR_OP_MATH) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasSetStream(other, nullptr) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasDestroy(other) == CUBLAS_STATUS_SUCCESS);
  CHECK(count(Opcode::SlotSignal) == signals);
  // The only wait of this test.
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls + 200);
  cublasLtMatmulDescDestroy(desc);
  cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulPreferenceDestroy(preference);
}

TEST_CASE_METHOD(Libraries, "a result in the program's memory is one round trip", "[libraries]") {
  float result = -1;
  REQUIRE(cublasSdot(handle, 4, memory, 1, memory, 1, &result) == CUBLAS_STATUS_SUCCESS);
  const auto signals = count(Opcode::SlotSignal), calls = count(Opcode::LibraryCall);
  REQUIRE(cublasSdot(handle, 4, memory, 1, memory, 1, &result) == CUBLAS_STATUS_SUCCESS);
  CHECK(count(Opcode::SlotSignal) == signals + 1);
  CHECK(count(Opcode::LibraryCall) == calls + 1);
  // Of nothing there is nothing to ask.
  result = -1;
  REQUIRE(cublasSdot(handle, 0, nullptr, 1, nullptr, 1, &result) == CUBLAS_STATUS_SUCCESS);
  CHECK(result == 0);
  CHECK(count(Opcode::LibraryCall) == calls + 1);
}

TEST_CASE_METHOD(Libraries, "handles: destroyed, made up, another library's", "[libraries]") {
  const auto calls = count(Opcode::LibraryCall);
  cublasHandle_t gone = nullptr;
  REQUIRE(cublasCreate(&gone) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasDestroy(gone) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(gone) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasDestroy(gone) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasSetStream(gone, nullptr) == CUBLAS_STATUS_NOT_INITIALIZED);
  cublasHandle_t again = nullptr;
  REQUIRE(cublasCreate(&again) == CUBLAS_STATUS_SUCCESS);
  CHECK(again != gone);
  CHECK(multiply(gone) == CUBLAS_STATUS_NOT_INITIALIZED);
  REQUIRE(cublasDestroy(again) == CUBLAS_STATUS_SUCCESS);
  for (const std::uint64_t made : {std::uint64_t{1}, std::uint64_t{0x4c00000010000000}, ~std::uint64_t{0}})
    CHECK(multiply(reinterpret_cast<cublasHandle_t>(made)) == CUBLAS_STATUS_NOT_INITIALIZED);
  cublasLtHandle_t lt = nullptr;
  REQUIRE(cublasLtCreate(&lt) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(reinterpret_cast<cublasHandle_t>(lt)) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasDestroy(reinterpret_cast<cublasHandle_t>(lt)) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasLtDestroy(reinterpret_cast<cublasLtHandle_t>(handle)) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasLtDestroy(lt) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasLtDestroy(lt) == CUBLAS_STATUS_NOT_INITIALIZED);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls);
}

TEST_CASE_METHOD(Libraries, "descriptors: destroyed, and taken for each other", "[libraries]") {
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t layout;
  REQUIRE(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 8, 8, 8) == CUBLAS_STATUS_SUCCESS);
  const auto lt = reinterpret_cast<cublasLtHandle_t>(handle);
  const auto run = [&](cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t l) {
    return cublasLtMatmul(lt, d, &one, memory, l, memory, l, &zero, memory, l, memory, l, nullptr, nullptr, 0, nullptr);
  };
  CHECK(run(desc, layout) == CUBLAS_STATUS_SUCCESS);
  CHECK(run(reinterpret_cast<cublasLtMatmulDesc_t>(layout), layout) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(run(desc, reinterpret_cast<cublasLtMatrixLayout_t>(desc)) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(run(nullptr, layout) == CUBLAS_STATUS_INVALID_VALUE);
  const std::int64_t ld = 8;
  CHECK(cublasLtMatrixLayoutSetAttribute(reinterpret_cast<cublasLtMatrixLayout_t>(desc), CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof ld) ==
        CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasLtMatmulDescDestroy(reinterpret_cast<cublasLtMatmulDesc_t>(layout)) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasLtMatmulDescDestroy(desc) == CUBLAS_STATUS_SUCCESS);
  CHECK(run(desc, layout) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasLtMatmulDescDestroy(desc) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasLtMatrixLayoutDestroy(layout) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Libraries, "products of 8-bit floats are one call; scales in blocks, and what does not lie as they must, are counted", "[libraries]") {
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t factor, before, result;
  REQUIRE(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatrixLayoutCreate(&factor, CUDA_R_8F_E4M3, 32, 32, 32) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatrixLayoutCreate(&before, CUDA_R_16BF, 32, 32, 32) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatrixLayoutCreate(&result, CUDA_R_8F_E4M3, 32, 32, 32) == CUBLAS_STATUS_SUCCESS);
  const auto set = [&](cublasLtMatmulDescAttributes_t which, auto value) {
    REQUIRE(cublasLtMatmulDescSetAttribute(desc, which, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{CUBLAS_OP_T});
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, static_cast<const void*>(memory));
  set(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, static_cast<void*>(memory + 8));
  const auto lt = reinterpret_cast<cublasLtHandle_t>(handle);
  // D is the last KiB of its memory: as C it would end behind it.
  auto* d = reinterpret_cast<char*>(memory) + (1 << 20) - 1024;
  const auto run = [&](const void* a) {
    return cublasLtMatmul(lt, desc, &one, a, factor, memory + 1024, factor, &zero, d, before, d, result, nullptr, nullptr, 0, nullptr);
  };
  const auto name = std::ranges::find(rouse::api::kAllNames, std::string_view("cublasLtMatmul"));
  const auto id = static_cast<std::uint32_t>(name - rouse::api::kAllNames.begin());
  const auto refusals = server().unsupportedCalls(id);
  const auto calls = count(Opcode::LibraryCall);
  CHECK(run(memory + 512) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls + 1);
  CHECK(run(memory + 513) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(server().unsupportedCalls(id) == refusals + 1);
  set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, std::int32_t{CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0});
  CHECK(run(memory + 512) == CUBLAS_STATUS_NOT_SUPPORTED);
  set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, std::int32_t{CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F});
  set(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, std::int32_t{CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0});
  CHECK(run(memory + 512) == CUBLAS_STATUS_NOT_SUPPORTED);
  set(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, std::int32_t{CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F});
  set(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, static_cast<void*>(memory));
  CHECK(run(memory + 512) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(server().unsupportedCalls(id) == refusals + 4);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls + 1);
  CHECK(cublasLtMatmulDescDestroy(desc) == CUBLAS_STATUS_SUCCESS);
  for (cublasLtMatrixLayout_t layout : {factor, before, result}) CHECK(cublasLtMatrixLayoutDestroy(layout) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Libraries, "a stream that is gone, or another device's", "[libraries]") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(handle) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(multiply(handle) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(handle) == CUBLAS_STATUS_INVALID_VALUE);
  // The handle stays with its device, whatever the thread's is.
  REQUIRE(cublasSetStream(handle, nullptr) == CUBLAS_STATUS_SUCCESS);
  const auto elsewhere = server().executor(1).count(Opcode::LibraryCall);
  CHECK(multiply(handle) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(server().executor(1).count(Opcode::LibraryCall) == elsewhere);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
}

TEST_CASE_METHOD(Libraries, "null operands and results are invalid, and nothing travels", "[libraries]") {
  const auto calls = count(Opcode::LibraryCall);
  CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, nullptr, 8, memory, 8, &zero, memory, 8) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, nullptr, memory, 8, memory, 8, &zero, memory, 8) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSdot(handle, 4, memory, 1, memory, 1, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  const int most = 0x7fffffff;
  CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, most, most, most, &one, memory, most, memory, most, &zero, memory, most) ==
        CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls);
}

TEST_CASE_METHOD(Libraries, "a wrong parameter of a factorisation has a number, and nothing travels", "[libraries]") {
  const auto calls = count(Opcode::LibraryCall);
  auto* const array = reinterpret_cast<float**>(memory);
  const float* const* read = array;
  auto* const ints = reinterpret_cast<int*>(memory);
  int info = 7;
  CHECK(cublasSgetrsBatched(handle, CUBLAS_OP_N, 8, -1, read, 8, ints, array, 8, &info, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(info == -3);
  CHECK(cublasSgetrsBatched(handle, CUBLAS_OP_N, 8, 1, read, 7, ints, array, 8, &info, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(info == -5);
  CHECK(cublasSgetrsBatched(handle, CUBLAS_OP_N, 8, 1, read, 8, ints, array, 8, &info, -1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(info == -10);
  CHECK(cublasSgeqrfBatched(handle, 8, -8, array, 8, array, &info, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(info == -2);
  CHECK(cublasSgelsBatched(handle, CUBLAS_OP_N, 8, 8, 1, array, 8, array, 3, &info, nullptr, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(info == -8);
  CHECK(cublasSgelsBatched(handle, CUBLAS_OP_T, 8, 8, 1, array, 8, array, 8, &info, nullptr, 2) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(info == -1);
  CHECK(cublasSgeqrfBatched(handle, 8, 8, array, 8, array, nullptr, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSgetrfBatched(handle, 8, array, 8, ints, nullptr, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSgetrsBatched(handle, CUBLAS_OP_N, 8, 0, read, 8, ints, array, 8, &info, 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(info == 0);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls);
}

TEST_CASE_METHOD(Libraries, "a rotation's scalars are null nowhere, and one call", "[libraries]") {
  const auto calls = count(Opcode::LibraryCall);
  float a = 3, b = 4, c = 0, s = 0;
  CHECK(cublasSrotg(handle, &a, &b, nullptr, &s) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSrotm(handle, 8, memory, 1, memory + 64, 1, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls);
  CHECK(cublasSrotg(handle, &a, &b, &c, &s) == CUBLAS_STATUS_SUCCESS);
  CHECK(count(Opcode::LibraryCall) == calls + 1);
}

TEST_CASE_METHOD(Libraries, "groups of products are a batch each, queued when all are right", "[libraries]") {
  const auto calls = count(Opcode::LibraryCall);
  const cublasOperation_t straight[3] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_N};
  const int four[3] = {4, 4, 4};
  int k[3] = {4, 4, -1}, sizes[3] = {2, 1, 3};
  const float ones[3] = {1, 1, 1};
  auto* const array = reinterpret_cast<float**>(memory);
  const float* const* read = array;
  const auto multiply = [&](int groups) {
    return cublasSgemmGroupedBatched(handle, straight, straight, four, four, k, ones, read, four, read, four, ones, array, four, groups, sizes);
  };
  CHECK(multiply(3) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(-1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(0) == CUBLAS_STATUS_SUCCESS);
  k[2] = 4;
  sizes[2] = -1;
  CHECK(multiply(3) == CUBLAS_STATUS_INVALID_VALUE);
  sizes[2] = 0;
  REQUIRE(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(3) == CUBLAS_STATUS_NOT_SUPPORTED);
  REQUIRE(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasSgemmGroupedBatched(handle, straight, straight, four, four, k, nullptr, read, four, read, four, ones, array, four, 3, sizes) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls);
  CHECK(multiply(3) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls + 2);  // the third is empty
}

TEST_CASE_METHOD(Libraries, "how products are emulated is kept and told", "[libraries]") {
  cublasEmulationStrategy_t strategy;
  cudaEmulationSpecialValuesSupport values;
  cudaEmulationMantissaControl control;
  int most = -1, offset = -1, *told = &most;
  REQUIRE(cublasGetEmulationStrategy(handle, &strategy) == CUBLAS_STATUS_SUCCESS);
  CHECK(strategy == CUBLAS_EMULATION_STRATEGY_DEFAULT);
  REQUIRE(cublasGetEmulationSpecialValuesSupport(handle, &values) == CUBLAS_STATUS_SUCCESS);
  CHECK(values == CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT);
  REQUIRE(cublasGetFixedPointEmulationMantissaControl(handle, &control) == CUBLAS_STATUS_SUCCESS);
  CHECK(control == CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC);
  REQUIRE(cublasGetFixedPointEmulationMantissaBitCountPointer(handle, &told) == CUBLAS_STATUS_SUCCESS);
  CHECK(told == nullptr);
  CHECK(cublasSetEmulationStrategy(handle, static_cast<cublasEmulationStrategy_t>(3)) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSetFixedPointEmulationMaxMantissaBitCount(handle, -1) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(cublasSetEmulationStrategy(handle, CUBLAS_EMULATION_STRATEGY_EAGER) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSetEmulationSpecialValuesSupport(handle, CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_NONE) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSetFixedPointEmulationMantissaControl(handle, CUDA_EMULATION_MANTISSA_CONTROL_FIXED) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSetFixedPointEmulationMaxMantissaBitCount(handle, 55) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSetFixedPointEmulationMantissaBitOffset(handle, -2) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSetFixedPointEmulationMantissaBitCountPointer(handle, reinterpret_cast<int*>(memory)) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasGetEmulationStrategy(handle, &strategy) == CUBLAS_STATUS_SUCCESS);
  CHECK(strategy == CUBLAS_EMULATION_STRATEGY_EAGER);
  REQUIRE(cublasGetEmulationSpecialValuesSupport(handle, &values) == CUBLAS_STATUS_SUCCESS);
  CHECK(values == CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_NONE);
  REQUIRE(cublasGetFixedPointEmulationMantissaControl(handle, &control) == CUBLAS_STATUS_SUCCESS);
  CHECK(control == CUDA_EMULATION_MANTISSA_CONTROL_FIXED);
  REQUIRE(cublasGetFixedPointEmulationMaxMantissaBitCount(handle, &most) == CUBLAS_STATUS_SUCCESS);
  CHECK(most == 55);
  REQUIRE(cublasGetFixedPointEmulationMantissaBitOffset(handle, &offset) == CUBLAS_STATUS_SUCCESS);
  CHECK(offset == -2);
  REQUIRE(cublasGetFixedPointEmulationMantissaBitCountPointer(handle, &told) == CUBLAS_STATUS_SUCCESS);
  CHECK(told == reinterpret_cast<int*>(memory));
  CHECK(cublasGetEmulationStrategy(handle, static_cast<cublasEmulationStrategy_t*>(nullptr)) == CUBLAS_STATUS_INVALID_VALUE);
  // It goes along where a product may be emulated.
  const auto sent = [&] {
    REQUIRE(multiply(handle) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    const std::vector<std::byte> bytes = server().executor(0).lastLibraryCall();
    rouse::blas::Call call;
    REQUIRE(bytes.size() == sizeof call);
    std::memcpy(&call, bytes.data(), sizeof call);
    return call.emulation;
  };
  CHECK(sent() == rouse::blas::Emulation{});
  REQUIRE(cublasSetMathMode(handle, CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH) == CUBLAS_STATUS_SUCCESS);
  CHECK(sent() == rouse::blas::Emulation{.mantissaBitCount = reinterpret_cast<std::uint64_t>(memory), .mostMantissaBits = 55, .mantissaBitOffset = -2, .specialValues = 0,
                                         .strategy = 2, .mantissaControl = 1});
}

TEST_CASE_METHOD(Libraries, "unsupported names of cuBLAS say so, and are counted", "[libraries]") {
  using namespace rouse::api;
  int unsupported = 0;
  for (std::uint32_t id = kCublasNames; id < kCudnnNames; ++id) {
    if (kAllSupported[id]) continue;
    const std::string name(kAllNames[id]);
    CAPTURE(name);
    void* function = ::dlsym(RTLD_DEFAULT, name.c_str());
    REQUIRE(function != nullptr);
    const std::uint32_t before = server().unsupportedCalls(id);
    // Whatever the arguments are, nothing is done with them.
    CHECK(reinterpret_cast<int (*)()>(function)() == CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK(server().unsupportedCalls(id) == before + 1);
    ++unsupported;
  }
  CHECK(unsupported > 150);
}

TEST_CASE_METHOD(Libraries, "what a served function cannot do is counted under its name", "[libraries]") {
  const auto name = std::ranges::find(rouse::api::kAllNames, std::string_view("cublasGemmEx"));
  const auto id = static_cast<std::uint32_t>(name - rouse::api::kAllNames.begin());
  const auto before = server().unsupportedCalls(id);
  CHECK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, memory, CUDA_R_16F, 8, memory, CUDA_R_16BF, 8, &zero, memory, CUDA_R_32F, 8,
                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(server().unsupportedCalls(id) == before + 1);
}
