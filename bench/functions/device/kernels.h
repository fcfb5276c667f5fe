// What the networks do besides products and convolutions. Sums are in float and in an order that only the sizes decide, so results are the
// same bytes each time.
#pragma once

#include "bench/functions/device/memory.h"

namespace networks {

constexpr int kThreads = 128;

__device__ inline float number(float x) { return x; }
__device__ inline float number(__half x) { return __half2float(x); }
template <class T>
__device__ inline T as(float x) {
  if constexpr (std::is_same_v<T, float>) return x;
  else return __float2half(x);
}

// Of all threads of the block; all of them get it.
template <class Combine>
__device__ float reduce(float mine, Combine combine) {
  __shared__ float parts[kThreads];
  parts[threadIdx.x] = mine;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] = combine(parts[threadIdx.x], parts[threadIdx.x + half]);
    __syncthreads();
  }
  const float all = parts[0];
  __syncthreads();
  return all;
}
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Greatest {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// y = normalized (x + bias + other) x scale + shift, a block a row. bias and other may be null; y may be x or other.
template <class T>
__global__ void layerNorm(const T* x, const T* bias, const T* other, const T* scale, const T* shift, T* y, int width, float epsilon) {
  const size_t row = size_t(blockIdx.x) * width;
  const auto at = [&](int i) { return number(x[row + i]) + (bias != nullptr ? number(bias[i]) : 0) + (other != nullptr ? number(other[row + i]) : 0); };
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += kThreads) sum += at(i);
  const float mean = reduce(sum, Sum()) / width;
  float squares = 0;
  for (int i = threadIdx.x; i < width; i += kThreads) {
    const float off = at(i) - mean;
    squares += off * off;
  }
  const float by = 1 / sqrtf(reduce(squares, Sum()) / width + epsilon);
  for (int i = threadIdx.x; i < width; i += kThreads) y[row + i] = as<T>((at(i) - mean) * by * number(scale[i]) + number(shift[i]));
}

// In place, a block a row of `width`; rows are `next` elements apart.
template <class T>
__global__ void softmax(T* x, int width, int next) {
  T* row = x + size_t(blockIdx.x) * next;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < width; i += kThreads) most = fmaxf(most, number(row[i]));
  most = reduce(most, Greatest());
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += kThreads) sum += expf(number(row[i]) - most);
  sum = reduce(sum, Sum());
  for (int i = threadIdx.x; i < width; i += kThreads) row[i] = as<T>(expf(number(row[i]) - most) / sum);
}

struct Same {
  __device__ float operator()(float x) const { return x; }
};
struct Tanh {
  __device__ float operator()(float x) const { return tanhf(x); }
};
// BERT's, exact; GPT-2's, by tanh.
struct Gelu {
  __device__ float operator()(float x) const { return 0.5f * x * (1 + erff(x * 0.70710678f)); }
};
struct GeluByTanh {
  __device__ float operator()(float x) const { return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }
};

// x = f(x + bias), rows of `width`.
template <class T, class F>
__global__ void addBias(T* x, const T* bias, int width, size_t count, F f) {
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) x[i] = as<T>(f(number(x[i]) + number(bias[i % width])));
}
// x += y + bias
template <class T>
__global__ void addBiased(T* x, const T* y, const T* bias, int width, size_t count) {
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) x[i] = as<T>(number(x[i]) + number(y[i]) + number(bias[i % width]));
}

inline int blocksFor(size_t count) { return int(std::min<size_t>((count + kThreads - 1) / kThreads, 1024)); }

template <class T, class F>
void addBiasTo(const Context& context, T* x, const T* bias, int rows, int width, F f) {
  const size_t count = size_t(rows) * width;
  addBias<<<blocksFor(count), kThreads, 0, context.stream>>>(x, bias, width, count, f);
}

}  // namespace networks
