// nvcc: -lcufft
// library: libcufft.so.12
// Transforms of cuFFT between kernels: a convolution by its spectrum, streams, captured graphs, several threads; and what cuFFT answers when an argument
// is wrong.
#include <thread>

#include "fft.h"

using namespace fft;

__global__ void multiply(cufftComplex* a, const cufftComplex* b, float scale, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const cufftComplex x = a[i], y = b[i];
  a[i] = {(x.x * y.x - x.y * y.y) * scale, (x.x * y.y + x.y * y.x) * scale};
}

__global__ void scale(cufftComplex* values, float factor, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) values[i] = {values[i].x * factor, values[i].y * factor};
}

__global__ void slowly(cufftComplex* values, int count, int rounds) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    for (int r = 0; r < rounds; ++r) values[i] = {values[i].x + 1, values[i].y - 1};
}

// A circle of 240 numbers, by definition and by the product of spectra.
void convolution() {
  const int n = 240, kept = n / 2 + 1;
  const std::vector<Z> signal = randoms(n, 11, true), filter = randoms(n, 12, true);
  float *a = toDevice<float>(signal), *b = toDevice<float>(filter);
  auto *x = check::deviceArray<cufftComplex>(kept), *y = check::deviceArray<cufftComplex>(kept);
  cufftHandle forward = 0, inverse = 0;
  FFT(cufftPlan1d(&forward, n, CUFFT_R2C, 1));
  FFT(cufftPlan1d(&inverse, n, CUFFT_C2R, 1));
  FFT(cufftExecR2C(forward, a, x));
  FFT(cufftExecR2C(forward, b, y));
  multiply<<<2, 64>>>(x, y, 1.0f / n, kept);
  CHECK(cudaGetLastError());
  FFT(cufftExecC2R(inverse, x, a));
  std::vector<Z> wanted(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) wanted[std::size_t((i + j) % n)] += signal[std::size_t(i)] * filter[std::size_t(j)];
  near("convolution", toHost(a, n), wanted, 1e-6);
  FFT(cufftDestroy(forward));
  FFT(cufftDestroy(inverse));
  for (void* memory : {(void*)a, (void*)b, (void*)x, (void*)y}) CHECK(cudaFree(memory));
}

// A transform waits for the kernel before it in its stream, and the kernel after it for the transform.
void streams() {
  const int n = 128;
  cudaStream_t streams[2];
  cufftHandle plans[2];
  cufftComplex* memory[2];
  const std::vector<Z> signal = randoms(n, 13);
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    FFT(cufftPlan1d(&plans[i], n, CUFFT_C2C, 1));
    FFT(cufftSetStream(plans[i], streams[i]));
    memory[i] = toDevice<cufftComplex>(signal);
  }
  CHECK(cudaDeviceSynchronize());
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 2; ++i) {
      slowly<<<1, 32, 0, streams[i]>>>(memory[i], n, 20);
      FFT(cufftExecC2C(plans[i], memory[i], memory[i], CUFFT_FORWARD));
      FFT(cufftExecC2C(plans[i], memory[i], memory[i], CUFFT_INVERSE));
      scale<<<1, 64, 0, streams[i]>>>(memory[i], 1.0f / n, n);
      slowly<<<1, 32, 0, streams[i]>>>(memory[i], n, i + 1);
    }
  }
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamSynchronize(streams[i]));
    std::vector<Z> wanted = signal;
    for (Z& each : wanted) each += Z(10 * (20 + i + 1), -10 * (20 + i + 1));
    near("streams", toHost(memory[i], n), wanted, 2e-6);
    FFT(cufftDestroy(plans[i]));
    CHECK(cudaStreamDestroy(streams[i]));
    CHECK(cudaFree(memory[i]));
  }
}

// What is captured is done at each launch, of what memory holds then.
void graphs() {
  const int n = 96;
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cufftHandle plan = 0;
  FFT(cufftPlan2d(&plan, 8, 12, CUFFT_C2C));
  FFT(cufftSetStream(plan, stream));
  auto *in = check::deviceArray<cufftComplex>(n), *out = check::deviceArray<cufftComplex>(n);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  scale<<<1, 64, 0, stream>>>(in, 2, n);
  FFT(cufftExecC2C(plan, in, out, CUFFT_FORWARD));
  scale<<<1, 64, 0, stream>>>(out, 0.5f, n);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 3; ++round) {
    const std::vector<Z> signal = randoms(n, std::uint64_t(20 + round));
    std::vector<cufftComplex> host;
    for (const Z& each : signal) host.push_back(narrow<cufftComplex>(each));
    CHECK(cudaMemcpy(in, host.data(), n * sizeof(cufftComplex), cudaMemcpyHostToDevice));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    near("graph", toHost(out, n), transformed(signal, {8, 12}, CUFFT_FORWARD), 1.2e-7);
  }
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  FFT(cufftDestroy(plan));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
}

// Each with plans of its own.
void threads() {
  std::vector<std::thread> all;
  std::vector<std::vector<Z>> got(4);
  for (std::size_t which = 0; which < got.size(); ++which) {
    all.emplace_back([&, which] {
      const int n = 50 + int(which);
      auto* memory = toDevice<cufftComplex>(randoms(std::size_t(n), which));
      for (int round = 0; round < 5; ++round) {
        cufftHandle plan = 0;
        FFT(cufftPlan1d(&plan, n, CUFFT_C2C, 1));
        FFT(cufftExecC2C(plan, memory, memory, round % 2 == 0 ? CUFFT_FORWARD : CUFFT_INVERSE));
        FFT(cufftDestroy(plan));
      }
      got[which] = toHost(memory, std::size_t(n));
      CHECK(cudaFree(memory));
    });
  }
  for (std::thread& each : all) each.join();
  for (std::size_t which = 0; which < got.size(); ++which) {
    const int n = 50 + int(which);
    std::vector<Z> wanted = transformed(randoms(std::size_t(n), which), {n}, CUFFT_FORWARD);
    for (Z& each : wanted) each *= double(n) * n;
    near("threads", got[which], wanted, 3e-7);
  }
}

void answers() {
  int version = 0, major = 0;
  FFT(cufftGetVersion(&version));
  FFT(cufftGetProperty(MAJOR_VERSION, &major));
  EXPECT(version / 1000 == major);
  cufftHandle plan = 0;
  std::size_t bytes = 0;
  int n[] = {8, 8, 8, 8};
  EXPECT_RESULT(CUFFT_INVALID_VALUE, cufftCreate(nullptr));
  EXPECT_RESULT(CUFFT_INVALID_SIZE, cufftPlan1d(&plan, 0, CUFFT_C2C, 1));
  EXPECT_RESULT(CUFFT_INVALID_SIZE, cufftPlan1d(&plan, -1, CUFFT_C2C, 1));
  EXPECT_RESULT(CUFFT_INVALID_SIZE, cufftPlan2d(&plan, 8, 0, CUFFT_C2C));
  EXPECT_RESULT(CUFFT_INVALID_SIZE, cufftPlan3d(&plan, 8, 8, -2, CUFFT_R2C));
  EXPECT_RESULT(CUFFT_INVALID_VALUE, cufftPlanMany(&plan, 0, n, nullptr, 1, 8, nullptr, 1, 8, CUFFT_C2C, 1));
  EXPECT_RESULT(CUFFT_INVALID_VALUE, cufftPlanMany(&plan, 4, n, nullptr, 1, 8, nullptr, 1, 8, CUFFT_C2C, 1));
  EXPECT_RESULT(CUFFT_INVALID_VALUE, cufftPlanMany(&plan, 1, nullptr, nullptr, 1, 8, nullptr, 1, 8, CUFFT_C2C, 1));
  EXPECT_RESULT(CUFFT_INVALID_TYPE, cufftPlanMany(&plan, 1, n, nullptr, 1, 8, nullptr, 1, 8, cufftType(0x20), 1));
  FFT(cufftEstimate1d(1000, CUFFT_C2C, 2, &bytes));

  FFT(cufftCreate(&plan));
  FFT(cufftMakePlan1d(plan, 64, CUFFT_C2C, 1, &bytes));
  EXPECT_RESULT(CUFFT_INVALID_PLAN, cufftMakePlan1d(plan, 64, CUFFT_C2C, 1, &bytes));
  auto* memory = check::deviceArray<cufftComplex>(64);
  EXPECT_RESULT(CUFFT_INVALID_VALUE, cufftExecC2C(plan, nullptr, memory, CUFFT_FORWARD));
  EXPECT_RESULT(CUFFT_INVALID_VALUE, cufftExecC2C(plan, memory, nullptr, CUFFT_FORWARD));
  EXPECT_RESULT(CUFFT_INVALID_VALUE, cufftExecC2C(plan, memory, memory, 5));
  EXPECT_RESULT(CUFFT_SUCCESS, cufftExecC2C(plan, memory, memory, CUFFT_FORWARD));
  EXPECT_RESULT(CUFFT_INVALID_PLAN, cufftExecC2C(plan + 1000000, memory, memory, CUFFT_FORWARD));
  FFT(cufftDestroy(plan));
  EXPECT_RESULT(CUFFT_INVALID_PLAN, cufftExecC2C(plan, memory, memory, CUFFT_FORWARD));
  EXPECT_RESULT(CUFFT_INVALID_PLAN, cufftDestroy(plan));
  EXPECT_RESULT(CUFFT_SUCCESS, cufftDestroy(CUFFT_PLAN_NULL));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(memory));
  if (!check::throughRouse()) return;
  // What Rouse does not serve says so.
  int gpus[] = {0, 1};
  void* nothing = nullptr;
  FFT(cufftCreate(&plan));
  EXPECT_RESULT(CUFFT_NOT_SUPPORTED, cufftXtSetGPUs(plan, 2, gpus));
  EXPECT_RESULT(CUFFT_NOT_SUPPORTED, cufftXtSetCallback(plan, &nothing, CUFFT_CB_LD_COMPLEX, &nothing));
  FFT(cufftDestroy(plan));
}

int main() {
  convolution();
  streams();
  graphs();
  threads();
  answers();
  return check::done();
}
