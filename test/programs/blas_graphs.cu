// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// Calls of cuBLAS and cuBLASLt in captured graphs: between kernels and copies, on several streams, with scalars by value and in memory, updated,
// cloned, as children, switched off. All numbers are small integers, so that every result is exact.
#include <cublasLt.h>

#include "blas.h"

using namespace blas;

constexpr int n = 48;
using Numbers = std::vector<float>;

__global__ void addIndex(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += float(i % 3);
}

Numbers numbers(std::uint64_t seed, int count = n * n) {
  check::Random r(seed);
  Numbers all(count);
  for (float& v : all) v = float(int(r.below(5)) - 2);
  return all;
}

Numbers multiply(const Numbers& a, const Numbers& b, float alpha = 1, float beta = 0, const Numbers& before = Numbers(n * n)) {
  Numbers c(n * n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      float sum = 0;
      for (int l = 0; l < n; ++l) sum += a[i + l * n] * b[l + j * n];
      c[i + j * n] = alpha * sum + beta * before[i + j * n];
    }
  return c;
}

// 0 may have either sign.
void same(const char* what, const Numbers& got, const Numbers& wanted) { check::near(what, got, wanted, 0); }

void plusIndex(Numbers& values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += float(i % 3);
}

struct Blas {
  cublasHandle_t handle;
  cudaStream_t stream, side;
  void* workspace;
  float *a = check::deviceArray<float>(n * n), *b = check::deviceArray<float>(n * n), *c = check::deviceArray<float>(n * n),
        *d = check::deviceArray<float>(n * n), *scalars = check::deviceArray<float>(2);
  Blas() {
    BLAS(cublasCreate(&handle));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&workspace, 32 << 20));
    BLAS(cublasSetStream(handle, stream));
    BLAS(cublasSetWorkspace(handle, workspace, 32 << 20));  // "to avoid memory allocations in graphs" (cuBLAS, CUDA Graphs support)
  }
  ~Blas() {
    BLAS(cublasDestroy(handle));
    for (void* memory : {(void*)a, (void*)b, (void*)c, (void*)d, (void*)scalars, workspace}) CHECK(cudaFree(memory));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(side));
  }
  void gemm(const float* left, const float* right, float* to, const float* alpha, const float* beta) {
    BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, alpha, left, n, right, n, beta, to, n));
  }
  void begin() { CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)); }
  cudaGraph_t end() {
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
  }
  cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
  }
  void run(cudaGraphExec_t exec) {
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
  }
  // "The function will return once the pageable buffer has been copied to the staging memory", before it is where it goes (CUDA Runtime API, "API
  // synchronization behavior"), and the streams here do not wait for the default one.
  void put(float* to, const Numbers& from) {
    CHECK(cudaMemcpy(to, from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaStreamSynchronize(nullptr));
  }
  Numbers get(const float* from) { return check::toHost(from, n * n); }
};

// C = A B; C += index; D = alpha C A. What the scalar held when it was captured counts.
void between(Blas& x) {
  float alpha = 2;
  const float one = 1, zero = 0;
  x.begin();
  x.gemm(x.a, x.b, x.c, &one, &zero);
  addIndex<<<(n * n + 127) / 128, 128, 0, x.stream>>>(x.c, n * n);
  x.gemm(x.c, x.a, x.d, &alpha, &zero);
  cudaGraph_t graph = x.end();
  alpha = 77;
  x.put(x.d, Numbers(n * n, 5));
  cudaGraphExec_t exec = x.instantiate(graph);
  same("nothing has run yet", x.get(x.d), Numbers(n * n, 5));
  for (int launch = 0; launch < 5; ++launch) {
    const Numbers a = numbers(10 + launch), b = numbers(20 + launch);
    x.put(x.a, a);
    x.put(x.b, b);
    x.run(exec);
    Numbers c = multiply(a, b);
    plusIndex(c);
    same("C", x.get(x.c), c);
    same("D", x.get(x.d), multiply(c, a, 2));
  }

  // Captured anew with another scalar, and brought into the instance.
  alpha = -3;
  x.begin();
  x.gemm(x.a, x.b, x.c, &one, &zero);
  addIndex<<<(n * n + 127) / 128, 128, 0, x.stream>>>(x.c, n * n);
  x.gemm(x.c, x.b, x.d, &alpha, &zero);
  cudaGraph_t second = x.end();
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, second, &info));
  EXPECT(info.result == cudaGraphExecUpdateSuccess);
  const Numbers a = check::toHost(x.a, n * n), b = check::toHost(x.b, n * n);
  x.run(exec);
  Numbers c = multiply(a, b);
  plusIndex(c);
  same("updated", x.get(x.d), multiply(c, b, -3));

  // A clone of the first, twice as a child; the originals are gone.
  cudaGraph_t clone, outer;
  CHECK(cudaGraphClone(&clone, graph));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(second));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphCreate(&outer, 0));
  cudaGraphNode_t first, then;
  CHECK(cudaGraphAddChildGraphNode(&first, outer, nullptr, 0, clone));
  CHECK(cudaGraphAddChildGraphNode(&then, outer, &first, 1, clone));
  CHECK(cudaGraphDestroy(clone));
  exec = x.instantiate(outer);
  x.put(x.d, Numbers(n * n));
  x.run(exec);
  same("children", x.get(x.d), multiply(c, a, 2));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(outer));
}

// Scalars, and addresses of a batch, that lie in device memory are read at each launch.
void inMemory(Blas& x) {
  float **lefts = check::toDevice(std::vector<float*>{x.a, x.b}), **rights = check::toDevice(std::vector<float*>{x.b, x.b}),
        **results = check::toDevice(std::vector<float*>{x.c, x.d});
  BLAS(cublasSetPointerMode(x.handle, CUBLAS_POINTER_MODE_DEVICE));
  x.begin();
  BLAS(cublasSgemmBatched(x.handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, x.scalars, lefts, n, rights, n, x.scalars + 1, results, n, 2));
  BLAS(cublasSdot(x.handle, n, x.c, 1, x.c, 1, x.scalars));
  cudaGraph_t graph = x.end();
  BLAS(cublasSetPointerMode(x.handle, CUBLAS_POINTER_MODE_HOST));
  cudaGraphExec_t exec = x.instantiate(graph);
  CHECK(cudaGraphDestroy(graph));
  for (int launch = 0; launch < 4; ++launch) {
    const Numbers a = numbers(30 + launch), b = numbers(40 + launch), c = numbers(50 + launch), d = numbers(60 + launch);
    const float alpha = float(launch - 1), beta = float(2 - launch);
    x.put(x.a, a);
    x.put(x.b, b);
    x.put(x.c, c);
    x.put(x.d, d);
    x.put(x.scalars, {alpha, beta});
    // The first of the batch, from another place each other time.
    float* left = launch % 2 ? x.b : x.a;
    CHECK(cudaMemcpy(lefts, &left, sizeof left, cudaMemcpyHostToDevice));
    CHECK(cudaStreamSynchronize(nullptr));
    x.run(exec);
    const Numbers wanted = multiply(launch % 2 ? b : a, b, alpha, beta, c);
    same("first of the batch", x.get(x.c), wanted);
    same("second of the batch", x.get(x.d), multiply(b, b, alpha, beta, d));
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += wanted[i] * wanted[i];
    EXPECT(check::toHost(x.scalars, 1)[0] == sum);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaFree(lefts));
  CHECK(cudaFree(rights));
  CHECK(cudaFree(results));
}

// Two products side by side, behind a copy and before a kernel; one of them by cuBLASLt, with a bias.
void branches(Blas& x) {
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t layout;
  const std::uint32_t epilogue = CUBLASLT_EPILOGUE_BIAS;
  float* bias = check::toDevice(numbers(3, n));
  BLAS(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  BLAS(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, n, n, n));
  BLAS(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
  BLAS(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
  cudaEvent_t fork, joined;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
  Numbers source = numbers(70);
  const float one = 1, zero = 0;
  x.begin();
  CHECK(cudaMemcpyAsync(x.a, source.data(), n * n * sizeof(float), cudaMemcpyHostToDevice, x.stream));
  CHECK(cudaEventRecord(fork, x.stream));
  CHECK(cudaStreamWaitEvent(x.side, fork));
  BLAS(cublasLtMatmul((cublasLtHandle_t)x.handle, desc, &one, x.a, layout, x.b, layout, &zero, x.c, layout, x.c, layout, nullptr, nullptr, 0, x.side));
  x.gemm(x.b, x.a, x.d, &one, &zero);
  CHECK(cudaEventRecord(joined, x.side));
  CHECK(cudaStreamWaitEvent(x.stream, joined));
  BLAS(cublasSaxpy(x.handle, n * n, &one, x.c, 1, x.d, 1));
  addIndex<<<(n * n + 127) / 128, 128, 0, x.stream>>>(x.d, n * n);
  cudaGraph_t graph = x.end();
  cudaGraphExec_t exec = x.instantiate(graph);
  for (int launch = 0; launch < 4; ++launch) {
    const Numbers next = numbers(70 + launch), b = numbers(80 + launch), biases = numbers(3, n);
    std::memcpy(source.data(), next.data(), n * n * sizeof(float));  // where the copy was captured from
    x.put(x.b, b);
    CHECK(cudaStreamSynchronize(x.stream));
    CHECK(cudaGraphLaunch(exec, launch % 2 ? x.side : x.stream));
    CHECK(cudaDeviceSynchronize());
    Numbers c = multiply(source, b), d = multiply(b, source);
    for (int i = 0; i < n * n; ++i) c[i] += biases[i % n], d[i] += c[i];
    plusIndex(d);
    same("with bias", x.get(x.c), c);
    same("joined", x.get(x.d), d);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(joined));
  BLAS(cublasLtMatmulDescDestroy(desc));
  BLAS(cublasLtMatrixLayoutDestroy(layout));
  CHECK(cudaFree(bias));
}

// A node that is switched off, and on again.
void switched(Blas& x) {
  const float one = 1;
  x.begin();
  BLAS(cublasSaxpy(x.handle, n * n, &one, x.a, 1, x.c, 1));
  cudaGraph_t graph = x.end();
  cudaGraphExec_t exec = x.instantiate(graph);
  cudaGraphNode_t node;
  std::size_t count = 1;
  CHECK(cudaGraphGetNodes(graph, &node, &count));
  x.put(x.a, Numbers(n * n, 1));
  x.put(x.c, Numbers(n * n, 0));
  for (const unsigned enabled : {1u, 0u, 0u, 1u}) {
    CHECK(cudaGraphNodeSetEnabled(exec, node, enabled));
    x.run(exec);
  }
  same("twice", x.get(x.c), Numbers(n * n, 2));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

// What returns to the program's own memory has to wait, which no capture can; the handle serves on.
void refused(Blas& x) {
  float result = -1;
  cudaGraph_t graph = nullptr;
  x.begin();
  EXPECT(cublasSdot(x.handle, n, x.a, 1, x.a, 1, &result) != CUBLAS_STATUS_SUCCESS);
  EXPECT(result == -1);
  EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(x.stream, &graph));
  EXPECT(graph == nullptr);
  (void)cudaGetLastError();
  BLAS(cublasSdot(x.handle, n, x.a, 1, x.a, 1, &result));
  EXPECT(result == n);  // of ones
}

int main() {
  {
    Blas x;
    between(x);
    inMemory(x);
    branches(x);
    switched(x);
    refused(x);
  }
  return check::done();
}
