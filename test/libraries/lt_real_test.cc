// Products of cuBLASLt on GPUs, before a double: NVIDIA's library gets the attributes that the program set, and no others.
#include <cublasLt.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "server/library/cuda/real_libraries.h"
#include "test/libraries/taken.h"

namespace rouse::library::cuda {
namespace {

struct RealLt {
  RealLt() {
    ::setenv(kBlasVariable, ROUSE_CUBLAS_DOUBLE, 1);
    ::setenv(kLtVariable, ROUSE_CUBLAS_DOUBLE, 1);
    handle = libraries.take(reinterpret_cast<CUstream_st*>(0x77)).value();
    number = takenOf(ROUSE_CUBLAS_DOUBLE)[0].arguments[0];
  }
  // The attributes by their numbers, and the product itself as the last call.
  std::map<std::uint64_t, std::uint64_t> run(const blas::LtMatmul& call) {
    const Status status = libraries.call(*handle, blas::kLtLibrary, blas::kLtMatmulFunction, std::as_bytes(std::span(&call, 1)));
    REQUIRE(status.ok());
    std::map<std::uint64_t, std::uint64_t> attributes;
    layouts.clear();
    for (const Taken& each : takenOf(ROUSE_CUBLAS_DOUBLE)) {
      if (each.name == "cublasLtMatmulDescSetAttribute") {
        CHECK(attributes.emplace(each.arguments[0], each.arguments[1]).second);
      } else if (each.name == "cublasLtMatrixLayoutInit_internal") {
        layouts.push_back(each.arguments);
      } else if (each.name == "cublasLtMatmul") {
        product = each.arguments;
      } else if (each.name == "cublasLtMatmulDescInit_internal") {
        desc = each.arguments;
      }
    }
    return attributes;
  }
  RealLibraries libraries;
  Handle* handle = nullptr;
  std::uint64_t number = 0;
  std::vector<Words> layouts;
  Words product, desc;
};

blas::LtMatmul plain() {
  blas::LtMatmul call;
  call.a = {.address = 0xa000, .rows = 64, .columns = 32, .spacing = 64, .type = blas::Type::e4m3};
  call.b = {.address = 0xb000, .rows = 64, .columns = 16, .spacing = 64, .type = blas::Type::e5m2};
  call.c = {.address = 0, .rows = 32, .columns = 16, .spacing = 32, .type = blas::Type::f16};
  call.d = {.address = 0xd000, .rows = 32, .columns = 16, .spacing = 32, .type = blas::Type::e4m3};
  call.transa = blas::Transpose::transposed;
  call.computeType = CUBLAS_COMPUTE_32F;
  call.alpha.words[0] = 0x3f80'0000;
  return call;
}

}  // namespace

TEST_CASE_METHOD(RealLt, "attributes that are not set stay the library's", "[libraries]") {
  const auto attributes = run(plain());
  CHECK(attributes == std::map<std::uint64_t, std::uint64_t>{{CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T},
                                                             {CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N},
                                                             {CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT},
                                                             {CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_HOST}});
  CHECK(desc == Words{CUBLAS_COMPUTE_32F, CUDA_R_32F});
  REQUIRE(layouts.size() == 4);
  CHECK(layouts[0] == Words{CUDA_R_8F_E4M3, 64, 32, 64});
  CHECK(layouts[1] == Words{CUDA_R_8F_E5M2, 64, 16, 64});
  CHECK(layouts[2] == Words{CUDA_R_16F, 32, 16, 32});
  CHECK(layouts[3] == Words{CUDA_R_8F_E4M3, 32, 16, 32});
  // Handle, A, B, C (for which D stands where it is not read), D, workspace, its bytes, stream.
  CHECK(product == Words{number, 0xa000, 0xb000, 0xd000, 0xd000, 0, 0, 0x77});
}

TEST_CASE_METHOD(RealLt, "scales, their modes, the largest value and fast accumulation arrive", "[libraries]") {
  blas::LtMatmul call = plain();
  call.aScale = 0x1000, call.bScale = 0x2000, call.cScale = 0x3000, call.dScale = 0x4000, call.amax = 0x5000;
  call.fastAccumulation = 1;
  call.epilogue = blas::kEpilogueBias;
  call.bias = 0x6000;
  call.biasType = blas::Type::f16;
  auto attributes = run(call);
  CHECK(attributes.size() == 4 + 5 + 1 + 2);
  CHECK(attributes[CUBLASLT_MATMUL_DESC_A_SCALE_POINTER] == 0x1000);
  CHECK(attributes[CUBLASLT_MATMUL_DESC_B_SCALE_POINTER] == 0x2000);
  CHECK(attributes[CUBLASLT_MATMUL_DESC_C_SCALE_POINTER] == 0x3000);
  CHECK(attributes[CUBLASLT_MATMUL_DESC_D_SCALE_POINTER] == 0x4000);
  CHECK(attributes[CUBLASLT_MATMUL_DESC_AMAX_D_POINTER] == 0x5000);
  CHECK(attributes[CUBLASLT_MATMUL_DESC_FAST_ACCUM] == 1);
  CHECK(attributes[CUBLASLT_MATMUL_DESC_BIAS_POINTER] == 0x6000);
  CHECK(attributes[CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE] == CUDA_R_16F);
  call = plain();
  call.c.type = call.d.type = blas::Type::bf16;
  call.aScale = 0x1000, call.bScale = 0x2000;
  call.aScaling = call.bScaling = blas::ScaleMode::outerVector;
  attributes = run(call);
  CHECK(attributes.size() == 4 + 4);
  CHECK(attributes[CUBLASLT_MATMUL_DESC_A_SCALE_MODE] == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
  CHECK(attributes[CUBLASLT_MATMUL_DESC_B_SCALE_MODE] == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
}

TEST_CASE_METHOD(RealLt, "a transform is the same one of the real library, with the matrices that there are", "[libraries]") {
  blas::LtTransform call;
  call.a = {.address = 0xa000, .rows = 16, .columns = 32, .spacing = 17, .type = blas::Type::f16};
  call.c = {.address = 0xc000, .rows = 32, .columns = 16, .spacing = 18, .stride = 600, .type = blas::Type::f32, .order = blas::Order::rows};
  call.transa = blas::Transpose::transposed;
  call.batch = 2;
  REQUIRE(libraries.call(*handle, blas::kLtLibrary, blas::kLtTransformFunction, std::as_bytes(std::span(&call, 1))).ok());
  const auto calls = takenOf(ROUSE_CUBLAS_DOUBLE);
  std::vector<Words> laidOut;
  std::map<std::uint64_t, std::uint64_t> attributes;
  for (const Taken& each : calls) {
    if (each.name == "cublasLtMatrixLayoutInit_internal") laidOut.push_back(each.arguments);
    if (each.name == "cublasLtMatrixTransformDescSetAttribute") attributes[each.arguments[0]] = each.arguments[1];
  }
  CHECK(laidOut == std::vector<Words>{{CUDA_R_16F, 16, 32, 17}, {CUDA_R_32F, 32, 16, 18}});
  CHECK(attributes[CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA] == CUBLAS_OP_T);
  CHECK(attributes[CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE] == CUBLASLT_POINTER_MODE_HOST);
  REQUIRE(calls.back().name == "cublasLtMatrixTransform");
  CHECK(calls.back().arguments == Words{number, 0xa000, 1, 0, 0, 0xc000, 0x77});
}

}  // namespace rouse::library::cuda
