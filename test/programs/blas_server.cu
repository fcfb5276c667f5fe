// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// A function that keeps matrices in device memory between requests and works on them with cuBLAS alone: some named in its calls, all of them
// by addresses that lie in device memory. Checks every answer against a model on the host, exactly: all numbers are small integers. As
// function_server.cu: without arguments a few requests, with "serve products MIB SEED" one for each line on standard input
// (test/system/swap-storm).
#include <cstdlib>
#include <string>

#include "blas.h"

using Word = unsigned long long;

Word mix(Word x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

constexpr int kSize = 256;

struct Products {
  int count;
  Word seed;
  cublasHandle_t handle;
  cudaStream_t stream;
  std::vector<float*> matrices;  // an allocation each
  std::vector<std::vector<float>> model;
  std::vector<bool> changed;
  float *x, *y, **as, **xs, **ys;

  Products(Word bytes, Word seed) : count(int(bytes / (kSize * kSize * sizeof(float)))), seed(seed), model(count), changed(count) {
    BLAS(cublasCreate(&handle));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    BLAS(cublasSetStream(handle, stream));
    x = check::deviceArray<float>(kSize);
    y = check::deviceArray<float>(std::size_t(kSize) * count);
    std::vector<float*> inputs, outputs;
    for (int i = 0; i < count; ++i) {
      model[i].resize(kSize * kSize);
      for (int e = 0; e < kSize * kSize; ++e) model[i][e] = float(int(mix(seed + 1000003u * i + e) % 5) - 2);
      matrices.push_back(check::toDevice(model[i]));
      inputs.push_back(x);
      outputs.push_back(y + std::size_t(kSize) * i);
    }
    as = check::toDevice(matrices);
    xs = check::toDevice(inputs);
    ys = check::toDevice(outputs);
  }

  float pattern(int which, int i) const { return float(int(mix(seed ^ (Word(which) << 32) ^ i) % 3) - 1); }

  // A matrix changes by a product of two vectors, and back at the next time: it stays small.
  void change(int which) {
    std::vector<float> u(kSize), v(kSize);
    for (int i = 0; i < kSize; ++i) u[i] = pattern(which, i), v[i] = pattern(which, i + kSize);
    float *du = check::toDevice(u), *dv = check::toDevice(v);
    const float alpha = changed[which] ? -1 : 1;
    BLAS(cublasSger(handle, kSize, kSize, &alpha, du, 1, dv, 1, matrices[which], kSize));
    CHECK(cudaStreamSynchronize(stream));
    for (int j = 0; j < kSize; ++j)
      for (int i = 0; i < kSize; ++i) model[which][i + j * kSize] += alpha * u[i] * v[j];
    changed[which] = !changed[which];
    CHECK(cudaFree(du));
    CHECK(cudaFree(dv));
  }

  std::string answer(Word request) {
    change(int(mix(request ^ seed) % count));
    std::vector<float> in(kSize), out(std::size_t(kSize) * count);
    for (int i = 0; i < kSize; ++i) in[i] = float(int(mix(request * 31 + i) % 7) - 3);
    CHECK(cudaMemcpyAsync(x, in.data(), kSize * sizeof(float), cudaMemcpyHostToDevice, stream));
    const float one = 1, zero = 0;
    BLAS(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSize, 1, kSize, &one, as, kSize, xs, kSize, &zero, ys, kSize, count));
    float sum = 0;
    BLAS(cublasSdot(handle, kSize, x, 1, y, 1, &sum));
    CHECK(cudaMemcpyAsync(out.data(), y, out.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    double wanted = 0;
    std::vector<float> expected(kSize);
    for (int m = 0; m < count; ++m) {
      expected.assign(kSize, 0);
      for (int j = 0; j < kSize; ++j)
        for (int i = 0; i < kSize; ++i) expected[i] += model[m][i + j * kSize] * in[j];
      if (m == 0)
        for (int i = 0; i < kSize; ++i) wanted += double(in[i]) * expected[i];
      if (std::memcmp(expected.data(), &out[std::size_t(kSize) * m], kSize * sizeof(float)) != 0) return "matrix " + std::to_string(m);
    }
    return sum == float(wanted) ? "" : "dot";
  }
};

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "serve") == 0) {
    if (std::strcmp(argv[2], "products") != 0) return 2;
    Products function(std::strtoull(argv[3], nullptr, 10) << 20, std::strtoull(argv[4], nullptr, 10));
    std::printf("ready\n");
    std::fflush(stdout);
    for (Word request = 0; std::scanf("%llu", &request) == 1;) {
      const std::string wrong = function.answer(request);
      if (wrong.empty())
        std::printf("%llu ok\n", request);
      else
        std::printf("%llu wrong: %s\n", request, wrong.c_str());
      std::fflush(stdout);
    }
    return 0;
  }
  Products function(Word{2} << 20, 42);
  for (Word request = 0; request < 10; ++request) {
    const std::string wrong = function.answer(request);
    if (wrong.empty()) continue;
    std::printf("request %llu: %s\n", request, wrong.c_str());
    return 1;
  }
  std::printf("PASS\n");
  return 0;
}
