// Transposes: naive and through padded shared-memory tiles, 4 rows a thread, of 4-, 8- and 16-byte elements.
#include "check.h"

template <class T>
__global__ void naive(const T* in, T* out, int rows, int columns) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < columns && y < rows) out[x * rows + y] = in[y * columns + x];
}

constexpr int kTile = 32, kRows = 8;

template <class T>
__global__ void tiled(const T* in, T* out, int rows, int columns) {
  __shared__ T tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kRows)
    if (x < columns && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kRows)
    if (x < rows && y + j < columns) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

template <class T>
void run(const char* name, int rows, int columns) {
  std::vector<T> in(rows * columns), wanted(rows * columns);
  check::Random random(9);
  for (T& v : in)
    for (std::size_t b = 0; b < sizeof(T); ++b) reinterpret_cast<unsigned char*>(&v)[b] = static_cast<unsigned char>(random.next());
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) wanted[x * rows + y] = in[y * columns + x];
  T *din = check::toDevice(in), *dout = check::deviceArray<T>(in.size());
  CHECK(cudaMemset(dout, 0, in.size() * sizeof(T)));
  naive<<<dim3((columns + 15) / 16, (rows + 7) / 8), dim3(16, 8)>>>(din, dout, rows, columns);
  CHECK(cudaGetLastError());
  check::equal(name, check::toHost(dout, in.size()), wanted);
  CHECK(cudaMemset(dout, 0, in.size() * sizeof(T)));
  tiled<<<dim3((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile), dim3(kTile, kRows)>>>(din, dout, rows, columns);
  CHECK(cudaGetLastError());
  check::equal(name, check::toHost(dout, in.size()), wanted);
}

int main() {
  run<unsigned>("4 bytes", 128, 160);
  run<unsigned>("4 bytes, odd", 101, 77);
  run<double>("8 bytes", 65, 130);
  run<float4>("16 bytes", 33, 70);
  return check::done();
}
