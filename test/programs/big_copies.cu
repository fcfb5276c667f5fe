// Large copies, pageable and pinned, both ways, at odd offsets and lengths, device to device, with checksums on both sides; copies
// in pieces over streams.
#include "check.h"

__global__ void checksum(const unsigned* data, size_t words, unsigned long long* out) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  unsigned long long mine = 0;
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) mine += data[i] * (2 * i + 1);
  atomicAdd(&sum, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

int main() {
  const size_t words = 5'000'011, bytes = words * 4;
  std::vector<unsigned> data(words);
  unsigned long long wanted = 0;
  unsigned x = 12345;
  for (size_t i = 0; i < words; ++i) {
    x = x * 1664525 + 1013904223;
    data[i] = x;
    wanted += x * (2 * i + 1);
  }
  char *a, *b;
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  unsigned long long* sum = check::deviceArray<unsigned long long>(1);
  auto device = [&](char* p) {
    CHECK(cudaMemset(sum, 0, sizeof *sum));
    checksum<<<16, 64>>>(reinterpret_cast<unsigned*>(p), words, sum);
    CHECK(cudaGetLastError());
    return check::toHost(sum, 1)[0];
  };
  CHECK(cudaMemcpy(a, data.data(), bytes, cudaMemcpyHostToDevice));
  EXPECT(device(a) == wanted);
  CHECK(cudaMemcpy(b, a, bytes, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemset(a, 0, bytes));
  EXPECT(device(a) == 0);
  EXPECT(device(b) == wanted);
  std::vector<unsigned> back(words);
  CHECK(cudaMemcpy(back.data(), b, bytes, cudaMemcpyDeviceToHost));
  EXPECT(back == data);

  // Pinned, in 7 pieces over 3 streams, lengths that are no multiple of anything.
  char *pinned, *landing;
  CHECK(cudaMallocHost(&pinned, bytes));
  CHECK(cudaMallocHost(&landing, bytes));
  std::memcpy(pinned, data.data(), bytes);
  cudaStream_t streams[3];
  for (auto& s : streams) CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaDeviceSynchronize());
  for (int piece = 0; piece < 7; ++piece) {
    size_t from = bytes * piece / 7, to = bytes * (piece + 1) / 7;
    CHECK(cudaMemcpyAsync(a + from, pinned + from, to - from, cudaMemcpyHostToDevice, streams[piece % 3]));
    CHECK(cudaMemcpyAsync(landing + from, a + from, to - from, cudaMemcpyDeviceToHost, streams[piece % 3]));
  }
  CHECK(cudaDeviceSynchronize());
  EXPECT(std::memcmp(landing, data.data(), bytes) == 0);
  EXPECT(device(a) == wanted);

  // Unaligned starts and ends, pageable.
  CHECK(cudaMemset(b, 0x5a, bytes));
  CHECK(cudaMemcpy(b + 3, reinterpret_cast<char*>(data.data()) + 1, bytes - 1000, cudaMemcpyHostToDevice));
  std::vector<char> odd(bytes);
  CHECK(cudaMemcpy(odd.data(), b, bytes, cudaMemcpyDeviceToHost));
  EXPECT(odd[2] == 0x5a && odd[bytes - 997] == 0x5a && std::memcmp(&odd[3], reinterpret_cast<char*>(data.data()) + 1, bytes - 1000) == 0);
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFreeHost(landing));
  return check::done();
}
