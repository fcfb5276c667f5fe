// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// A function that keeps matrices in device memory between requests and works on them with cuBLAS alone ("products"), or with a graph of its
// calls and a kernel that was captured once ("captured"): some named in the calls, all of them by addresses that lie in device memory. Checks
// every answer against a model on the host, exactly: all numbers are small integers. As function_server.cu: without arguments a few
// requests, with "serve KIND MIB SEED" one for each line on standard input (test/system/swap-storm, test/system/migrations).
#include <cstdlib>
#include <memory>
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
  virtual ~Products() = default;  // lives as long as the process

  float pattern(int which, int i) const { return float(int(mix(seed ^ (Word(which) << 32) ^ i) % 3) - 1); }

  // A matrix changes by a product of two vectors, and back at the next time: it stays small.
  struct Change {
    std::vector<float> u, v;
    float alpha;
  };
  Change nextChange(int which) {
    Change change{std::vector<float>(kSize), std::vector<float>(kSize), changed[which] ? -1.f : 1.f};
    for (int i = 0; i < kSize; ++i) change.u[i] = pattern(which, i), change.v[i] = pattern(which, i + kSize);
    for (int j = 0; j < kSize; ++j)
      for (int i = 0; i < kSize; ++i) model[which][i + j * kSize] += change.alpha * change.u[i] * change.v[j];
    changed[which] = !changed[which];
    return change;
  }

  static std::vector<float> input(Word request) {
    std::vector<float> in(kSize);
    for (int i = 0; i < kSize; ++i) in[i] = float(int(mix(request * 31 + i) % 7) - 3);
    return in;
  }
  void products() {
    const float one = 1, zero = 0;
    BLAS(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSize, 1, kSize, &one, as, kSize, xs, kSize, &zero, ys, kSize, count));
  }
  // Empty: all products are the model's, `factor` times, and the sum is that of the first times the input.
  std::string compare(const std::vector<float>& in, const std::vector<float>& out, float sum, float factor) const {
    double wanted = 0;
    std::vector<float> expected(kSize);
    for (int m = 0; m < count; ++m) {
      expected.assign(kSize, 0);
      for (int j = 0; j < kSize; ++j)
        for (int i = 0; i < kSize; ++i) expected[i] += factor * model[m][i + j * kSize] * in[j];
      if (m == 0)
        for (int i = 0; i < kSize; ++i) wanted += double(in[i]) * expected[i];
      if (std::memcmp(expected.data(), &out[std::size_t(kSize) * m], kSize * sizeof(float)) != 0) return "matrix " + std::to_string(m);
    }
    return sum == float(wanted) ? "" : "dot";
  }

  virtual std::string answer(Word request) {
    const int which = int(mix(request ^ seed) % count);
    const Change change = nextChange(which);
    float *u = check::toDevice(change.u), *v = check::toDevice(change.v);
    BLAS(cublasSger(handle, kSize, kSize, &change.alpha, u, 1, v, 1, matrices[which], kSize));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(u));
    CHECK(cudaFree(v));
    const std::vector<float> in = input(request);
    std::vector<float> out(std::size_t(kSize) * count);
    CHECK(cudaMemcpyAsync(x, in.data(), kSize * sizeof(float), cudaMemcpyHostToDevice, stream));
    products();
    float sum = 0;
    BLAS(cublasSdot(handle, kSize, x, 1, y, 1, &sum));
    CHECK(cudaMemcpyAsync(out.data(), y, out.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    return compare(in, out, sum, 1);
  }
};

__global__ void twice(float* values, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) values[i] *= 2;
}

// A request is a launch of one graph: the first matrix changes by a factor that lies in device memory, then the products, doubled by a
// kernel, and their sum.
struct Captured : Products {
  float *u = check::deviceArray<float>(kSize), *v = check::deviceArray<float>(kSize), *scalars = check::deviceArray<float>(2);
  void* workspace;
  cudaGraphExec_t exec;

  Captured(Word bytes, Word seed) : Products(bytes, seed) {
    CHECK(cudaMalloc(&workspace, 4 << 20));
    BLAS(cublasSetWorkspace(handle, workspace, 4 << 20));
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    BLAS(cublasSger(handle, kSize, kSize, scalars, u, 1, v, 1, matrices[0], kSize));
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    products();
    twice<<<16, 128, 0, stream>>>(y, kSize * count);
    BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    BLAS(cublasSdot(handle, kSize, x, 1, y, 1, scalars + 1));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
  }

  std::string answer(Word request) override {
    const Change change = nextChange(0);
    const std::vector<float> in = input(request);
    std::vector<float> out(std::size_t(kSize) * count);
    float sum = 0;
    CHECK(cudaMemcpyAsync(u, change.u.data(), kSize * sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(v, change.v.data(), kSize * sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(x, in.data(), kSize * sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(scalars, &change.alpha, sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaMemcpyAsync(&sum, scalars + 1, sizeof sum, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(out.data(), y, out.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    return compare(in, out, sum, 2);
  }
};

std::unique_ptr<Products> make(const std::string& kind, Word bytes, Word seed) {
  if (kind == "products") return std::make_unique<Products>(bytes, seed);
  if (kind == "captured") return std::make_unique<Captured>(bytes, seed);
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "serve") == 0) {
    const auto function = make(argv[2], std::strtoull(argv[3], nullptr, 10) << 20, std::strtoull(argv[4], nullptr, 10));
    if (!function) return 2;
    std::printf("ready\n");
    std::fflush(stdout);
    for (Word request = 0; std::scanf("%llu", &request) == 1;) {
      const std::string wrong = function->answer(request);
      if (wrong.empty())
        std::printf("%llu ok\n", request);
      else
        std::printf("%llu wrong: %s\n", request, wrong.c_str());
      std::fflush(stdout);
    }
    return 0;
  }
  for (const char* kind : {"products", "captured"}) {
    const auto function = make(kind, Word{2} << 20, 42);
    for (Word request = 0; request < 10; ++request) {
      const std::string wrong = function->answer(request);
      if (wrong.empty()) continue;
      std::printf("%s, request %llu: %s\n", kind, request, wrong.c_str());
      return 1;
    }
  }
  std::printf("PASS\n");
  return 0;
}
