// Errors as exceptions, device memory, pinned memory, and handles, as these programs use them.
#pragma once

#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/functions/program.h"
#include "bench/functions/weights.h"

namespace networks {

inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw DeviceError(std::string(what) + ": " + cudaGetErrorString(error));
}
inline void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) throw DeviceError(std::string(what) + ": " + cublasGetStatusString(status));
}
#define CHECK(...) ::networks::check((__VA_ARGS__), #__VA_ARGS__)

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t count) : count_(count) { CHECK(cudaMalloc(&data_, count * sizeof(T))); }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_), std::swap(count_, other.count_);
    return *this;
  }
  ~Buffer() { cudaFree(data_); }
  operator T*() const { return data_; }
  std::size_t count() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

// Pinned: copies from and to it wait for nothing.
template <class T>
class HostBuffer {
 public:
  explicit HostBuffer(std::size_t count) { CHECK(cudaMallocHost(&data_, count * sizeof(T))); }
  HostBuffer(const HostBuffer&) = delete;
  ~HostBuffer() { cudaFreeHost(data_); }
  operator T*() const { return data_; }

 private:
  T* data_ = nullptr;
};

template <class T>
Buffer<T> upload(const std::vector<float>& numbers) {
  Buffer<T> buffer(numbers.size());
  std::vector<T> converted;
  const void* from = numbers.data();
  if constexpr (!std::is_same_v<T, float>) {
    converted.assign(numbers.begin(), numbers.end());
    from = converted.data();
  }
  CHECK(cudaMemcpy(buffer, from, numbers.size() * sizeof(T), cudaMemcpyHostToDevice));
  return buffer;
}

// The tensors of a network by name, each an allocation of its own; there when the object is. Those that `inFloat` names are floats whatever T is.
template <class T>
class Tensors {
 public:
  using Which = bool (*)(const std::string& name);
  Tensors(const std::vector<TensorSpec>& specs, const Options& options, Which inFloat = [](const std::string&) { return false; }) {
    const Weights weights(options.weights, options.seed);
    for (const TensorSpec& spec : specs) {
      if (inFloat(spec.name)) floats_.emplace(spec.name, upload<float>(weights.read(spec)));
      else all_.emplace(spec.name, upload<T>(weights.read(spec)));
    }
    CHECK(cudaDeviceSynchronize());  // for streams that do not wait for the copies
  }
  const T* operator[](const std::string& name) const { return find(all_, name); }
  const float* floats(const std::string& name) const { return find(floats_, name); }

 private:
  template <class U>
  static const U* find(const std::map<std::string, Buffer<U>>& among, const std::string& name) {
    const auto found = among.find(name);
    if (found == among.end()) throw std::logic_error("no tensor " + name);
    return found->second;
  }
  std::map<std::string, Buffer<T>> all_;
  std::map<std::string, Buffer<float>> floats_;
};

// A stream, and a handle of cuBLAS that works on it.
class Context {
 public:
  Context() {
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cublasCreate(&blas));
    CHECK(cublasSetStream(blas, stream));
  }
  Context(const Context&) = delete;
  ~Context() {
    cublasDestroy(blas);
    cudaStreamDestroy(stream);
  }
  cudaStream_t stream = nullptr;
  cublasHandle_t blas = nullptr;
};

// What was computed, as floats; waits for it.
template <class T>
std::vector<float> download(const Context& context, const T* from, HostBuffer<T>& by, std::size_t count) {
  CHECK(cudaMemcpyAsync(by, from, count * sizeof(T), cudaMemcpyDeviceToHost, context.stream));
  CHECK(cudaStreamSynchronize(context.stream));
  return {static_cast<T*>(by), by + count};
}

}  // namespace networks
