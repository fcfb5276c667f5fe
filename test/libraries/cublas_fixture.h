// cuBLAS as a program uses it, before a daemon and executors of the test: what has been queued can be looked at.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "test/client/fake_server.h"

namespace rouse::test {

using wire::Opcode;

inline FakeServer& server() { return poolOfThisProcess(); }

struct Libraries {
  Libraries() {
    server();
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cudaMalloc(&memory, 1 << 20) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  }
  ~Libraries() {
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    (void)cudaFree(memory);
    (void)cublasDestroy(handle);
    CHECK(server().executor(0).rejection() == "");
  }
  std::uint64_t count(Opcode opcode) {
    return server().executor(0).count(opcode);
  }
  cublasStatus_t multiply(cublasHandle_t with) {
    return cublasSgemm(with, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, memory, 8, memory + 64, 8, &zero, memory + 128, 8);
  }

  cublasHandle_t handle = nullptr;
  float* memory = nullptr;
  const float one = 1, zero = 0;
};

}  // namespace rouse::test
