// Layers, cubemaps, mip levels, gathers, and objects that kernels find in memory.
// nvcc: -Wno-deprecated-declarations
#include <algorithm>

#include "check.h"

template <class T>
cudaTextureObject_t object(cudaArray_t array, T&& set) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  set(how);
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

__global__ void layers1D(cudaTextureObject_t t, float* out, int width) {
  out[blockIdx.x * width + threadIdx.x] = tex1DLayered<float>(t, threadIdx.x + 0.5f, int(blockIdx.x));
}
__global__ void layers2D(cudaTextureObject_t t, float* out, int width, int height) {
  const int i = threadIdx.x, x = i % width, y = i / width;
  out[blockIdx.x * width * height + i] = tex2DLayered<float>(t, (x + 0.5f) / width, (y + 0.5f) / height, int(blockIdx.x));
}

void layered() {
  constexpr int width = 24, height = 10, layers = 7;
  std::vector<float> host(width * height * layers);
  for (size_t i = 0; i < host.size(); ++i) host[i] = float(i) * 0.25f - 3;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  float* out = check::deviceArray<float>(host.size());

  cudaArray_t array;
  CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, layers), cudaArrayLayered));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), width * 4, width, height);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(width, height, layers);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  cudaTextureObject_t t = object(array, [](cudaTextureDesc& how) {
    how.normalizedCoords = 1;
    how.filterMode = cudaFilterModeLinear;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeWrap;
  });
  layers2D<<<layers, width * height>>>(t, out, width, height);
  check::near("layers", check::toHost(out, host.size()), host, 1e-5, 1e-5);
  // One layer on its way back, beside others.
  std::vector<float> back(width * height);
  cudaMemcpy3DParms home{};
  home.srcArray = array;
  home.srcPos = make_cudaPos(0, 0, 3);
  home.dstPtr = make_cudaPitchedPtr(back.data(), width * 4, width, height);
  home.extent = make_cudaExtent(width, height, 1);
  home.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&home));
  check::equal("layer 3", back.data(), &host[3 * width * height], back.size());
  CHECK(cudaDestroyTextureObject(t));
  CHECK(cudaFreeArray(array));

  CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, 0, layers), cudaArrayLayered));
  copy = {};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), width * 4, width, 1);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(width, 1, layers);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  t = object(array, [](cudaTextureDesc&) {});
  layers1D<<<layers, width>>>(t, out, width);
  check::equal("lines", check::toHost(out, width * layers).data(), host.data(), width * layers);
  CHECK(cudaDestroyTextureObject(t));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(out));
}

// Directions through the middles of all texels of a face (CUDA C++ Programming Guide, table of faces).
__host__ __device__ void direction(int face, float u, float v, float* d) {
  const float s = 2 * u - 1, t = 2 * v - 1;
  const float faces[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
  for (int i = 0; i < 3; ++i) d[i] = faces[face][i];
}

__global__ void cubes(cudaTextureObject_t t, float* out, int width, bool layered) {
  const int face = blockIdx.x % 6, layer = blockIdx.x / 6, x = threadIdx.x % width, y = threadIdx.x / width;
  float d[3];
  direction(face, (x + 0.5f) / width, (y + 0.5f) / width, d);
  const float scale = 0.3f + blockIdx.x;
  out[blockIdx.x * width * width + threadIdx.x] = layered ? texCubemapLayered<float>(t, d[0] * scale, d[1] * scale, d[2] * scale, layer)
                                                          : texCubemap<float>(t, d[0] * scale, d[1] * scale, d[2] * scale);
}

void cube(int layers) {
  constexpr int width = 16;
  const int faces = 6 * layers;
  std::vector<float> host(width * width * faces);
  for (size_t i = 0; i < host.size(); ++i) host[i] = float((i * 2654435761u) % 10007);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, width, faces), cudaArrayCubemap | (layers > 1 ? cudaArrayLayered : 0)));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), width * 4, width, width);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(width, width, faces);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  const cudaTextureObject_t t = object(array, [](cudaTextureDesc& how) { how.normalizedCoords = 1; });
  float* out = check::deviceArray<float>(host.size());
  cubes<<<faces, width * width>>>(t, out, width, layers > 1);
  check::equal("cube", check::toHost(out, host.size()), host);
  CHECK(cudaDestroyTextureObject(t));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(out));
}

__global__ void mips(cudaTextureObject_t t, float* out) {
  const float lod = threadIdx.x / 16.0f;
  out[threadIdx.x] = tex2DLod<float>(t, 0.4f, 0.6f, lod);
  out[64 + threadIdx.x] = tex2DGrad<float>(t, 0.4f, 0.6f, make_float2(exp2f(lod) / 64, 0), make_float2(0, 1e-6f));
}

// Each level is one value, so that what comes back says which levels it is made of.
void mipmapped() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t array;
  CHECK(cudaMallocMipmappedArray(&array, &format, make_cudaExtent(64, 32, 0), 20));
  for (int level = 0; level < 7; ++level) {
    cudaArray_t plane;
    CHECK(cudaGetMipmappedArrayLevel(&plane, array, level));
    cudaExtent extent;
    CHECK(cudaArrayGetInfo(nullptr, &extent, nullptr, plane));
    EXPECT(extent.width == size_t(std::max(64 >> level, 1)) && extent.height == size_t(std::max(32 >> level, 1)));
    const std::vector<float> values(extent.width * extent.height, float(10 + level));
    CHECK(cudaMemcpy2DToArray(plane, 0, 0, values.data(), extent.width * 4, extent.width * 4, extent.height, cudaMemcpyHostToDevice));
  }
  cudaArray_t none;
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&none, array, 7));
  (void)cudaGetLastError();
  float* out = check::deviceArray<float>(128);
  for (const bool linear : {false, true})
    for (const float bias : {0.0f, 1.0f}) {
      cudaResourceDesc resource{};
      resource.resType = cudaResourceTypeMipmappedArray;
      resource.res.mipmap.mipmap = array;
      cudaTextureDesc how{};
      how.normalizedCoords = 1;
      how.filterMode = cudaFilterModeLinear;
      how.mipmapFilterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
      how.mipmapLevelBias = bias;
      how.minMipmapLevelClamp = 0.5f;
      how.maxMipmapLevelClamp = 3.25f;
      cudaTextureObject_t t;
      CHECK(cudaCreateTextureObject(&t, &resource, &how, nullptr));
      mips<<<1, 64>>>(t, out);
      const auto got = check::toHost(out, 128);
      for (int i = 0; i < 64; ++i) {
        const double lod = std::min(std::max(i / 16.0 + bias, 0.5), 3.25);
        const double wanted = 10 + (linear ? lod : std::floor(lod + 0.5));
        check::near("lod", i, got[i], wanted, 0, 1e-5);
        // Where the gradient's logarithm is rounded, the nearest level may be either.
        if (linear || std::fabs(lod + 0.5 - std::nearbyint(lod + 0.5)) > 0.01) check::near("grad", i, got[64 + i], wanted, 0, 0.01);
      }
      CHECK(cudaDestroyTextureObject(t));
    }
  CHECK(cudaFreeMipmappedArray(array));
  CHECK(cudaFree(out));
}

__global__ void gathers(cudaTextureObject_t t, float4* out, int width) {
  const int x = threadIdx.x % (width - 1), y = threadIdx.x / (width - 1);
  out[threadIdx.x] = tex2Dgather<float4>(t, x + 1.0f, y + 1.0f, 1);
}

void gathered() {
  constexpr int width = 9;
  std::vector<float2> host(width * width);
  for (int i = 0; i < width * width; ++i) host[i] = {-1, float(i)};
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float2>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, width, width, cudaArrayTextureGather));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, host.data(), width * 8, width * 8, width, cudaMemcpyHostToDevice));
  const cudaTextureObject_t t = object(array, [](cudaTextureDesc&) {});
  constexpr int n = (width - 1) * (width - 1);
  float4* out = check::deviceArray<float4>(n);
  gathers<<<1, n>>>(t, out, width);
  const auto got = check::toHost(out, n);
  for (int i = 0; i < n; ++i) {
    const int x = i % (width - 1), y = i / (width - 1);
    const auto at = [&](int dx, int dy) { return host[(y + dy) * width + x + dx].y; };
    EXPECT(got[i].x == at(0, 1) && got[i].y == at(1, 1) && got[i].z == at(1, 0) && got[i].w == at(0, 0));
  }
  CHECK(cudaDestroyTextureObject(t));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(out));
}

__global__ void bindless(const cudaTextureObject_t* all, int count, float* out) {
  float sum = 0;
  for (int i = threadIdx.x % count, k = 0; k < count; ++k, i = (i * 5 + 3) % count) sum = sum * 2 + tex2D<float>(all[i], 0.5f, 0.5f);
  out[threadIdx.x] = sum;
}

void manyObjects() {
  constexpr int count = 40;
  std::vector<cudaArray_t> arrays(count);
  std::vector<cudaTextureObject_t> objects(count);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  for (int i = 0; i < count; ++i) {
    CHECK(cudaMallocArray(&arrays[i], &format, 1, 1));
    const float value = float(i % 5);
    CHECK(cudaMemcpyToArray(arrays[i], 0, 0, &value, 4, cudaMemcpyHostToDevice));
    objects[i] = object(arrays[i], [](cudaTextureDesc&) {});
  }
  cudaTextureObject_t* there = check::toDevice(objects);
  float* out = check::deviceArray<float>(64);
  bindless<<<1, 64>>>(there, count, out);
  const auto got = check::toHost(out, 64);
  for (int thread = 0; thread < 64; ++thread) {
    float sum = 0;
    for (int i = thread % count, k = 0; k < count; ++k, i = (i * 5 + 3) % count) sum = sum * 2 + float(i % 5);
    EXPECT(got[thread] == sum);
  }
  for (int i = 0; i < count; ++i) {
    CHECK(cudaDestroyTextureObject(objects[i]));
    CHECK(cudaFreeArray(arrays[i]));
  }
  CHECK(cudaFree(there));
  CHECK(cudaFree(out));
}

int main() {
  layered();
  cube(1);
  cube(3);
  mipmapped();
  gathered();
  manyObjects();
  return check::done();
}
