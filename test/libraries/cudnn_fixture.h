// cuDNN as a program uses it, before a daemon and executors of the test: what has been queued can be looked at.
#pragma once

#include <cuda_runtime.h>
#include <cudnn.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "schemas/api/library_names.h"
#include "schemas/dnn/check.h"
#include "test/client/fake_server.h"

namespace rouse::test {

struct Cudnn {
  Cudnn() {
    poolOfThisProcess();
    REQUIRE(cudaSetDevice(0) == cudaSuccess);
    REQUIRE(cudnnCreate(&handle) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudaMalloc(&memory, 1 << 20) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  }
  ~Cudnn() {
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    (void)cudaFree(memory);
    (void)cudnnDestroy(handle);
    CHECK(poolOfThisProcess().executor(0).rejection() == "");
  }
  Cudnn(const Cudnn&) = delete;

  std::uint64_t count(wire::Opcode opcode) { return poolOfThisProcess().executor(0).count(opcode); }
  std::uint64_t calls() {
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    return count(wire::Opcode::LibraryCall);
  }
  // The graph that came last, which the executor would take, too.
  dnn::Parts last() {
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    dnn::Parts parts;
    REQUIRE(dnn::takeApart(poolOfThisProcess().executor(0).lastLibraryCall(), parts));
    const dnn::Check checked = dnn::check(parts);
    INFO(checked.what);
    CHECK(checked.verdict == dnn::Verdict::runs);
    return parts;
  }
  static std::uint32_t unsupportedCalls(std::string_view name) {
    const auto found = std::ranges::find(api::kAllNames, name);
    REQUIRE(found != api::kAllNames.end());
    return poolOfThisProcess().unsupportedCalls(static_cast<std::uint32_t>(found - api::kAllNames.begin()));
  }
  std::uint64_t at(std::size_t floats) const { return reinterpret_cast<std::uint64_t>(memory + floats); }

  cudnnHandle_t handle = nullptr;
  float* memory = nullptr;
  const float one = 1, zero = 0;
};

inline std::vector<std::int64_t> dimsOf(const dnn::Tensor& tensor) { return {tensor.dims, tensor.dims + tensor.rank}; }
inline std::vector<std::int64_t> stridesOf(const dnn::Tensor& tensor) { return {tensor.strides, tensor.strides + tensor.rank}; }

struct TensorOf {
  TensorOf(int n, int c, int h, int w, cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    REQUIRE(cudnnCreateTensorDescriptor(&desc) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetTensor4dDescriptor(desc, format, type, n, c, h, w) == CUDNN_STATUS_SUCCESS);
  }
  ~TensorOf() { CHECK(cudnnDestroyTensorDescriptor(desc) == CUDNN_STATUS_SUCCESS); }
  TensorOf(const TensorOf&) = delete;
  operator cudnnTensorDescriptor_t() const { return desc; }
  cudnnTensorDescriptor_t desc = nullptr;
};

}  // namespace rouse::test
