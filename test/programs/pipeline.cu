// A pipeline over chunks with double buffering: upload, three kernels and download overlap over streams, buffers
// guarded by events.
#include "check.h"

__global__ void decode(const unsigned char* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (in[i] ^ 0x5a) - 128;
}

__global__ void smooth(const int* in, int* out, int n) {
  extern __shared__ int s[];
  int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + 1;
  s[t] = i < n ? in[i] : 0;
  if (threadIdx.x == 0) s[0] = i > 0 ? in[i - 1] : 0;
  if (threadIdx.x == blockDim.x - 1) s[t + 1] = i + 1 < n ? in[i + 1] : 0;
  __syncthreads();
  if (i < n) out[i] = s[t - 1] + 2 * s[t] + s[t + 1];
}

__global__ void encode(const int* in, short* out, int n, int chunk) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = short(in[i] * (chunk % 7 + 1));
}

int main() {
  const int chunks = 24, size = 3000, buffers = 3;
  struct Buffer {
    unsigned char *hostIn, *in;
    int *decoded, *smoothed;
    short *out, *hostOut;
    cudaStream_t stream;
    cudaEvent_t uploaded, finished;
    int chunk = -1;
  } ring[buffers];
  cudaStream_t upload;
  CHECK(cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking));
  for (auto& b : ring) {
    CHECK(cudaMallocHost(&b.hostIn, size));
    CHECK(cudaMallocHost(&b.hostOut, size * sizeof(short)));
    CHECK(cudaMalloc(&b.in, size));
    CHECK(cudaMalloc(&b.decoded, size * sizeof(int)));
    CHECK(cudaMalloc(&b.smoothed, size * sizeof(int)));
    CHECK(cudaMalloc(&b.out, size * sizeof(short)));
    CHECK(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&b.uploaded, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&b.finished, cudaEventDisableTiming | cudaEventBlockingSync));
  }
  std::vector<std::vector<unsigned char>> inputs(chunks);
  std::vector<std::vector<short>> outputs(chunks);
  check::Random random(48);
  auto collect = [&](Buffer& b) {
    if (b.chunk < 0) return;
    CHECK(cudaEventSynchronize(b.finished));
    outputs[b.chunk].assign(b.hostOut, b.hostOut + inputs[b.chunk].size());
  };
  for (int c = 0; c < chunks; ++c) {
    int n = size - int(random.below(500));
    inputs[c].resize(n);
    for (auto& v : inputs[c]) v = static_cast<unsigned char>(random.next());
    Buffer& b = ring[c % buffers];
    collect(b);
    b.chunk = c;
    std::memcpy(b.hostIn, inputs[c].data(), n);
    CHECK(cudaStreamWaitEvent(upload, b.finished, 0));
    CHECK(cudaMemcpyAsync(b.in, b.hostIn, n, cudaMemcpyHostToDevice, upload));
    CHECK(cudaEventRecord(b.uploaded, upload));
    CHECK(cudaStreamWaitEvent(b.stream, b.uploaded, 0));
    int blocks = (n + 127) / 128;
    decode<<<blocks, 128, 0, b.stream>>>(b.in, b.decoded, n);
    smooth<<<blocks, 128, 130 * sizeof(int), b.stream>>>(b.decoded, b.smoothed, n);
    encode<<<blocks, 128, 0, b.stream>>>(b.smoothed, b.out, n, c);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(b.hostOut, b.out, n * sizeof(short), cudaMemcpyDeviceToHost, b.stream));
    CHECK(cudaEventRecord(b.finished, b.stream));
  }
  for (auto& b : ring) collect(b);
  for (int c = 0; c < chunks; ++c) {
    int n = int(inputs[c].size());
    auto at = [&](int i) { return i < 0 || i >= n ? 0 : (inputs[c][i] ^ 0x5a) - 128; };
    std::vector<short> wanted(n);
    for (int i = 0; i < n; ++i) wanted[i] = short((at(i - 1) + 2 * at(i) + at(i + 1)) * (c % 7 + 1));
    check::equal("chunk", outputs[c], wanted);
  }
  return check::done();
}
