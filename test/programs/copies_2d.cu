// Pitched allocations: cudaMallocPitch, cudaMemcpy2D in every direction, sub-rectangles, cudaMemset2D, asynchronous forms, device
// to device with different pitches.
#include "check.h"

__global__ void addRow(unsigned char* base, size_t pitch, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) base[y * pitch + x] += static_cast<unsigned char>(y);
}

int main() {
  const int width = 333, height = 47, hostPitch = 400;
  std::vector<unsigned char> image(hostPitch * height), back(hostPitch * height, 0xee), wanted = back;
  check::Random random(30);
  for (auto& v : image) v = static_cast<unsigned char>(random.next());
  unsigned char *a, *b;
  size_t pitchA, pitchB;
  CHECK(cudaMallocPitch(&a, &pitchA, width, height));
  CHECK(cudaMallocPitch(&b, &pitchB, 2 * width, height));
  EXPECT(pitchA >= width && pitchB >= 2 * width);
  CHECK(cudaMemset2D(b, pitchB, 0x55, 2 * width, height));
  CHECK(cudaMemcpy2D(a, pitchA, image.data(), hostPitch, width, height, cudaMemcpyHostToDevice));
  addRow<<<dim3((width + 127) / 128, height), 128>>>(a, pitchA, width, height);
  CHECK(cudaGetLastError());
  // A rectangle of 100 x 20 from (30, 5) of a to (200, 11) of b.
  CHECK(cudaMemcpy2D(b + 11 * pitchB + 200, pitchB, a + 5 * pitchA + 30, pitchA, 100, 20, cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpy2D(back.data(), hostPitch, b + 100, pitchB, width, height, cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      bool inside = x + 100 >= 200 && x + 100 < 300 && y >= 11 && y < 31;
      wanted[y * hostPitch + x] = inside ? static_cast<unsigned char>(image[(y - 11 + 5) * hostPitch + (x + 100 - 200 + 30)] + (y - 11 + 5)) : 0x55;
    }
  check::equal("rectangle", back, wanted);

  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  unsigned char* pinned;
  CHECK(cudaMallocHost(&pinned, hostPitch * height));
  std::memset(pinned, 7, hostPitch * height);
  CHECK(cudaMemset2DAsync(a, pitchA, 9, width, height, stream));
  CHECK(cudaMemset2DAsync(a + 3 * pitchA + 10, pitchA, 200, 50, 2, stream));
  addRow<<<dim3((width + 127) / 128, height), 128, 0, stream>>>(a, pitchA, width, height);
  CHECK(cudaMemcpy2DAsync(pinned, hostPitch, a, pitchA, width, height, cudaMemcpyDefault, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < hostPitch; ++x) {
      int base = y >= 3 && y < 5 && x >= 10 && x < 60 ? 200 : 9;
      wanted[y * hostPitch + x] = x < width ? static_cast<unsigned char>(base + y) : 7;
    }
  check::equal("asynchronous", std::vector<unsigned char>(pinned, pinned + hostPitch * height), wanted);

  // Host to host; a width larger than a pitch; nothing to copy.
  CHECK(cudaMemcpy2D(back.data(), hostPitch, image.data(), hostPitch, 50, 3, cudaMemcpyHostToHost));
  EXPECT(std::memcmp(back.data() + hostPitch, image.data() + hostPitch, 50) == 0);
  EXPECT_ERROR(cudaErrorInvalidPitchValue, cudaMemcpy2D(a, pitchA, image.data(), 10, 11, 2, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy2D(a, pitchA, image.data(), hostPitch, 0, height, cudaMemcpyHostToDevice));
  CHECK(cudaGetLastError() == cudaErrorInvalidPitchValue ? cudaSuccess : cudaErrorUnknown);
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return check::done();
}
