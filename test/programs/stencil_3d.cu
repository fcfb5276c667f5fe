// Seven-point stencil in 3D on a pitched allocation (cudaMalloc3D, cudaMemcpy3D both ways), 3D grid and blocks, whole numbers.
#include "check.h"

struct Field {
  char* base;
  size_t pitch;
  int nx, ny, nz;
  __device__ int& at(int x, int y, int z) const { return reinterpret_cast<int*>(base + (size_t(z) * ny + y) * pitch)[x]; }
};

__global__ void smooth(Field in, Field out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= in.nx || y >= in.ny || z >= in.nz) return;
  int sum = 2 * in.at(x, y, z);
  if (x > 0) sum += in.at(x - 1, y, z);
  if (x < in.nx - 1) sum += in.at(x + 1, y, z);
  if (y > 0) sum += in.at(x, y - 1, z);
  if (y < in.ny - 1) sum += in.at(x, y + 1, z);
  if (z > 0) sum += in.at(x, y, z - 1);
  if (z < in.nz - 1) sum += in.at(x, y, z + 1);
  out.at(x, y, z) = sum / 8;
}

int main() {
  const int nx = 37, ny = 20, nz = 14, steps = 6;
  std::vector<int> grid(nx * ny * nz), next(grid.size());
  for (size_t i = 0; i < grid.size(); ++i) grid[i] = int(i * 2654435761u % 100000);
  cudaExtent extent = make_cudaExtent(nx * sizeof(int), ny, nz);
  cudaPitchedPtr a, b;
  CHECK(cudaMalloc3D(&a, extent));
  CHECK(cudaMalloc3D(&b, extent));
  EXPECT(a.pitch >= nx * sizeof(int) && a.pitch % sizeof(int) == 0);
  CHECK(cudaMemset3D(b, 0xff, extent));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(grid.data(), nx * sizeof(int), nx, ny);
  copy.dstPtr = a;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  Field fa{static_cast<char*>(a.ptr), a.pitch, nx, ny, nz}, fb{static_cast<char*>(b.ptr), b.pitch, nx, ny, nz};
  dim3 threads(16, 4, 2), blocks((nx + 15) / 16, (ny + 3) / 4, (nz + 1) / 2);
  for (int s = 0; s < steps; ++s) {
    smooth<<<blocks, threads>>>(fa, fb);
    CHECK(cudaGetLastError());
    std::swap(fa, fb);
    for (int z = 0; z < nz; ++z)
      for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x) {
          auto at = [&](int i, int j, int k) { return i < 0 || j < 0 || k < 0 || i >= nx || j >= ny || k >= nz ? 0 : grid[(k * ny + j) * nx + i]; };
          next[(z * ny + y) * nx + x] = (2 * at(x, y, z) + at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z) +
                                         at(x, y, z - 1) + at(x, y, z + 1)) / 8;
        }
    std::swap(grid, next);
  }
  std::vector<int> got(grid.size());
  copy = {};
  copy.srcPtr = steps % 2 ? b : a;
  copy.dstPtr = make_cudaPitchedPtr(got.data(), nx * sizeof(int), nx, ny);
  copy.extent = extent;
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&copy));
  check::equal("field", got, grid);
  return check::done();
}
