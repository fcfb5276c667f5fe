// Texture objects over arrays and linear memory: filters with CUDA's weights, address modes, normalized coordinates and values, against a
// reference in double precision that knows nothing of the implementation.
// nvcc: -Wno-deprecated-declarations
#include <cuda_fp16.h>

#include <algorithm>

#include "check.h"

struct Plane {
  int width, height, depth;
  std::vector<float> values;  // as fetched
  float at(int x, int y, int z) const { return values[(size_t(z) * height + y) * width + x]; }
};

int place(int i, int n, cudaTextureAddressMode mode) {
  if (mode == cudaAddressModeClamp) return std::min(std::max(i, 0), n - 1);
  if (mode == cudaAddressModeBorder) return i < 0 || i >= n ? -1 : i;
  const int period = mode == cudaAddressModeWrap ? n : 2 * n;
  i %= period;
  if (i < 0) i += period;
  return i < n ? i : 2 * n - 1 - i;
}

struct Setting {
  cudaTextureAddressMode mode;
  bool linear, normalized;
};

double reference(const Plane& p, Setting s, int dimensions, double x, double y, double z) {
  cudaTextureAddressMode mode = s.mode;
  if (!s.normalized && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror)) mode = cudaAddressModeClamp;
  if (s.normalized) x *= p.width, y *= p.height, z *= p.depth;
  const int sizes[3] = {p.width, p.height, p.depth};
  double at[3] = {x, y, z}, weight[3] = {};
  int low[3] = {};
  for (int axis = 0; axis < dimensions; ++axis) {
    const double shifted = at[axis] - (s.linear ? 0.5 : 0.0);
    low[axis] = int(std::floor(shifted));
    if (s.linear) weight[axis] = std::floor((shifted - low[axis]) * 256 + 0.5) / 256;
  }
  double sum = 0;
  for (int corner = 0; corner < (1 << dimensions); ++corner) {
    double w = 1;
    int position[3] = {};
    bool border = false;
    for (int axis = 0; axis < dimensions; ++axis) {
      const int step = corner >> axis & 1;
      w *= step ? weight[axis] : 1 - weight[axis];
      position[axis] = place(low[axis] + step, sizes[axis], mode);
      border |= position[axis] < 0;
    }
    if (w != 0 && !border) sum += w * p.at(position[0], position[1], position[2]);
  }
  return sum;
}

__global__ void fetch(cudaTextureObject_t texture, int dimensions, const float4* where, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 p = where[i];
  out[i] = dimensions == 1 ? tex1D<float>(texture, p.x) : dimensions == 2 ? tex2D<float>(texture, p.x, p.y) : tex3D<float>(texture, p.x, p.y, p.z);
}

void filters() {
  check::Random random(11);
  for (int dimensions = 1; dimensions <= 3; ++dimensions) {
    Plane plane{37, dimensions > 1 ? 19 : 1, dimensions > 2 ? 5 : 1, {}};
    plane.values.resize(size_t(plane.width) * plane.height * plane.depth);
    for (float& v : plane.values) v = float(random.uniform(-8, 8));
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(plane.width, dimensions > 1 ? plane.height : 0, dimensions > 2 ? plane.depth : 0)));
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr(plane.values.data(), plane.width * 4, plane.width, plane.height);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(plane.width, plane.height, plane.depth);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    for (const auto mode : {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder})
      for (const bool linear : {false, true})
        for (const bool normalized : {false, true}) {
          constexpr int n = 600;
          std::vector<float4> where(n);
          for (auto& p : where) {
            const double low = normalized ? -1.3 : -6;
            p = {float(random.uniform(low, normalized ? 2.3 : plane.width + 6)), float(random.uniform(low, normalized ? 2.3 : plane.height + 6)),
                 float(random.uniform(low, normalized ? 2.3 : plane.depth + 6)), 0};
          }
          cudaResourceDesc resource{};
          resource.resType = cudaResourceTypeArray;
          resource.res.array.array = array;
          cudaTextureDesc how{};
          // Of the texture's own axes only: a GPU has a line as a plane of one row, and a border beside that row, too, if it is told so.
          for (int axis = 0; axis < dimensions; ++axis) how.addressMode[axis] = mode;
          how.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
          how.readMode = cudaReadModeElementType;
          how.normalizedCoords = normalized;
          cudaTextureObject_t texture;
          CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
          float4* there = check::toDevice(where);
          float* out = check::deviceArray<float>(n);
          fetch<<<(n + 127) / 128, 128>>>(texture, dimensions, there, out, n);
          const auto got = check::toHost(out, n);
          int wrong = 0;
          for (int i = 0; i < n; ++i) {
            // Weights have 8 bits behind the point (CUDA Programming Guide, "Linear Filtering"); how they get them it does not say, so each may be one off, or
            // rounded the other way where single precision is at its end.
            const double wanted = reference(plane, {mode, linear, normalized}, dimensions, where[i].x, where[i].y, where[i].z);
            double slack = linear ? dimensions * 16.0 * 1.5 / 256 : 0;
            // A point on the edge of a texel may fall to either side, once it is scaled and where positions have 8 bits behind the point as well.
            const auto edge = [&](float v, int size) { const double s = normalized ? double(v) * size : v; return std::fabs(s - std::nearbyint(s)) < 1.0 / 256; };
            if (!linear && (edge(where[i].x, plane.width) || (dimensions > 1 && edge(where[i].y, plane.height)) || (dimensions > 2 && edge(where[i].z, plane.depth)))) continue;
            if (!(std::fabs(got[i] - wanted) > slack + 1e-5)) continue;
            if (++wrong <= 3)
              std::fprintf(stderr, "%d dimensions, address mode %d, %s, %s: at (%.9g, %.9g, %.9g) %.9g, not %.9g\n", dimensions, int(mode), linear ? "linear" : "point",
                           normalized ? "normalized" : "in texels", where[i].x, where[i].y, where[i].z, got[i], wanted);
          }
          EXPECT(wrong == 0 || (!check::onCpuDevice() && wrong <= n / 100));  // where a GPU's texels begin and end is not said so exactly
          CHECK(cudaDestroyTextureObject(texture));
          CHECK(cudaFree(there));
          CHECK(cudaFree(out));
        }
    CHECK(cudaFreeArray(array));
  }
}

// The weights themselves: between 0 and 256 there are exactly 256 steps, each less than one away from where it is asked for.
__global__ void ramp(cudaTextureObject_t texture, float* out) { out[threadIdx.x] = tex1D<float>(texture, 0.5f + threadIdx.x / 1024.0f); }

void weights() {
  const float values[2] = {0, 256};
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, 2));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, values, 8, 8, 1, cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  how.addressMode[0] = cudaAddressModeClamp;
  how.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  float* out = check::deviceArray<float>(1024);
  ramp<<<1, 1024>>>(texture, out);
  const auto got = check::toHost(out, 1024);
  for (int i = 0; i < 1024; ++i) EXPECT(got[i] == std::floor(got[i]) && std::fabs(got[i] - i / 4.0) < 1 && (i == 0 || got[i] >= got[i - 1]));
  EXPECT(got[0] == 0 && got[512] == 128);
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(out));
}

template <class T>
__global__ void elements(cudaTextureObject_t texture, T* out, int n, bool fetches) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fetches ? tex1Dfetch<T>(texture, i - 1) : tex2D<T>(texture, i % 8 + 0.5f, i / 8 + 0.5f);
}

bool same(const void* a, const void* b, size_t bytes) { return std::memcmp(a, b, bytes) == 0; }

// What is stored is what is read: linear memory (with one texel too many on either side) and rows of a plane.
template <class T>
void reads(int seed) {
  constexpr int n = 64;
  check::Random random(seed);
  std::vector<T> host(n);
  for (T& v : host)
    for (size_t k = 0; k < sizeof(T); ++k) reinterpret_cast<unsigned char*>(&v)[k] = (unsigned char)(1 + random.below(62));  // as float normal
  cudaResourceDesc resource{};
  cudaTextureDesc how{};
  T* memory = check::toDevice(host);
  T* out = check::deviceArray<T>(n + 2);
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {memory, cudaCreateChannelDesc<T>(), n * sizeof(T)};
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  elements<<<2, 64>>>(texture, out, n + 2, true);
  auto got = check::toHost(out, n + 2);
  const T zero{};
  EXPECT(same(&got[1], host.data(), n * sizeof(T)) && same(&got[0], &zero, sizeof zero) && same(&got[n + 1], &zero, sizeof zero));
  CHECK(cudaDestroyTextureObject(texture));

  T* pitched;
  size_t pitch;
  CHECK(cudaMallocPitch(&pitched, &pitch, 8 * sizeof(T), 8));
  CHECK(cudaMemcpy2D(pitched, pitch, host.data(), 8 * sizeof(T), 8 * sizeof(T), 8, cudaMemcpyHostToDevice));
  resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D = {pitched, cudaCreateChannelDesc<T>(), 8, 8, pitch};
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  elements<<<1, 64>>>(texture, out, n, false);
  got = check::toHost(out, n);
  EXPECT(same(got.data(), host.data(), n * sizeof(T)));
  CHECK(cudaDestroyTextureObject(texture));

  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  CHECK(cudaMallocArray(&array, &format, 8, 8));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, host.data(), 8 * sizeof(T), 8 * sizeof(T), 8, cudaMemcpyHostToDevice));
  resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  CHECK(cudaMemset(out, 0xff, n * sizeof(T)));
  elements<<<1, 64>>>(texture, out, n, false);
  got = check::toHost(out, n);
  EXPECT(same(got.data(), host.data(), n * sizeof(T)));
  CHECK(cudaDestroyTextureObject(texture));
  std::vector<T> back(n);
  CHECK(cudaMemcpy2DFromArray(back.data(), 8 * sizeof(T), array, 0, 0, 8 * sizeof(T), 8, cudaMemcpyDeviceToHost));
  EXPECT(same(back.data(), host.data(), n * sizeof(T)));
  cudaChannelFormatDesc gotFormat;
  cudaExtent extent;
  unsigned flags;
  CHECK(cudaArrayGetInfo(&gotFormat, &extent, &flags, array));
  EXPECT(same(&gotFormat, &format, sizeof format) && extent.width == 8 && extent.height == 8 && extent.depth == 0 && flags == 0);
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(pitched));
  CHECK(cudaFree(memory));
  CHECK(cudaFree(out));
}

// Small allocations one behind the other: each may be a texture's memory, wherever it has come to lie.
void places() {
  const cudaTextureDesc how{};
  cudaTextureObject_t texture;
  int* out = check::deviceArray<int>(3);
  std::vector<int*> memory(9);
  for (int*& each : memory) CHECK(cudaMalloc(&each, 12));
  for (int* each : memory) {
    const std::vector<int> host = {int(each - memory[0]), 7, -1};
    CHECK(cudaMemcpy(each, host.data(), 12, cudaMemcpyHostToDevice));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {each, cudaCreateChannelDesc<int>(), 12};
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    elements<<<1, 64>>>(texture, out, 3, true);
    EXPECT((check::toHost(out, 3) == std::vector<int>{0, host[0], 7}));
    CHECK(cudaDestroyTextureObject(texture));
  }
  for (int* each : memory) CHECK(cudaFree(each));
  CHECK(cudaFree(out));
}

// As large as several of Rouse's granules, each of which the driver has as an allocation of its own: texels on both sides of each seam.
__global__ void probe(cudaTextureObject_t texture, const int* at, int* out, int n, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = width == 0 ? tex1Dfetch<int>(texture, at[i]) : tex2D<int>(texture, at[i] % width + 0.5f, at[i] / width + 0.5f);
}

__global__ void number(int* memory, size_t pitch, int width, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) memory[i / width * pitch + i % width] = i * 7 + 1;
}

void large() {
  const cudaTextureDesc how{};
  for (const int width : {0, 1024}) {
    constexpr int n = 5 << 18;  // 5 MiB
    int* memory;
    size_t pitch = size_t(width) * 4;
    if (width == 0) CHECK(cudaMalloc(&memory, size_t{n} * 4));
    else CHECK(cudaMallocPitch(&memory, &pitch, pitch, n / width));
    number<<<64, 256>>>(memory, width == 0 ? n : pitch / 4, width == 0 ? n : width, n);
    cudaResourceDesc resource{};
    if (width == 0) {
      resource.resType = cudaResourceTypeLinear;
      resource.res.linear = {memory, cudaCreateChannelDesc<int>(), size_t{n} * 4};
    } else {
      resource.resType = cudaResourceTypePitch2D;
      resource.res.pitch2D = {memory, cudaCreateChannelDesc<int>(), size_t(width), size_t(n / width), pitch};
    }
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    std::vector<int> at;
    for (int i = 0; i < n; i += 1 << 14)
      for (int each : {i, i + 1, i + (1 << 14) - 1}) at.push_back(each);
    const int count = int(at.size());
    int *where = check::toDevice(at), *out = check::deviceArray<int>(count);
    probe<<<(count + 127) / 128, 128>>>(texture, where, out, count, width);
    const auto got = check::toHost(out, count);
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += got[i] != at[i] * 7 + 1;
    EXPECT(wrong == 0);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFree(memory));
    CHECK(cudaFree(where));
    CHECK(cudaFree(out));
  }
}

__global__ void bytes(cudaTextureObject_t texture, float4* out) { out[threadIdx.x] = tex2D<float4>(texture, threadIdx.x % 16 + 0.5f, threadIdx.x / 16 + 0.5f); }

// Integers as fractions, signed and not, and sRGB.
template <class T>
void fractions(double low, double high, bool srgb) {
  std::vector<T> host(256);
  for (int i = 0; i < 256; ++i) host[i] = T{decltype(T{}.x)(i), decltype(T{}.x)(255 - i), decltype(T{}.x)(i / 2), decltype(T{}.x)(i)};
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  CHECK(cudaMallocArray(&array, &format, 16, 16));
  CHECK(cudaMemcpyToArray(array, 0, 0, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  how.readMode = cudaReadModeNormalizedFloat;
  how.sRGB = srgb;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  float4* out = check::deviceArray<float4>(256);
  bytes<<<1, 256>>>(texture, out);
  const auto got = check::toHost(out, 256);
  for (int i = 0; i < 256; ++i) {
    const auto fraction = [&](double v) { return std::max(v / high, low); };
    // How exact a colour becomes linear CUDA does not say: GPUs take about 7 bits of it. It is still nearest to the number that was stored.
    const auto color = [&](double linear) { return srgb ? (linear <= 0.0031308 ? linear * 12.92 : std::pow(linear, 1 / 2.4) * 1.055 - 0.055) : linear; };
    const double slack = srgb ? 0.75 / high : 1e-6;
    check::near("x", i, color(got[i].x), fraction(host[i].x), 1e-5, slack);
    check::near("y", i, color(got[i].y), fraction(host[i].y), 1e-5, slack);
    check::near("w", i, got[i].w, fraction(host[i].w), 1e-5, 1e-6);
  }
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(out));
}

void refusals() {
  cudaArray_t array = nullptr;
  cudaChannelFormatDesc three = {32, 32, 32, 0, cudaChannelFormatKindFloat};
  EXPECT(cudaMallocArray(&array, &three, 8, 8) != cudaSuccess);
  const cudaChannelFormatDesc integers = cudaCreateChannelDesc<int>();
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMallocArray(&array, &integers, 0, 8));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMallocArray(&array, &integers, 1 << 20, 8));
  CHECK(cudaMallocArray(&array, &integers, 8, 8));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  cudaTextureObject_t texture;
  how.filterMode = cudaFilterModeLinear;
  EXPECT_ERROR(cudaErrorInvalidFilterSetting, cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));  // nobody looks whether the array was made for it
  CHECK(cudaDestroySurfaceObject(surface));
  char row[64];
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy2DToArray(array, 4, 0, row, 32, 32, 1, cudaMemcpyHostToDevice));
  CHECK(cudaDestroyTextureObject(12345));  // nor whether there is what is destroyed
  CHECK(cudaFreeArray(array));
  if (check::throughRouse()) EXPECT(cudaFreeArray(array) != cudaSuccess);
  (void)cudaGetLastError();
}

int main() {
  filters();
  weights();
  reads<float>(1);
  reads<float2>(2);
  reads<float4>(3);
  reads<int>(4);
  reads<uint4>(5);
  reads<short2>(6);
  reads<unsigned short>(7);
  reads<char4>(8);
  reads<unsigned char>(9);
  reads<uchar2>(10);
  fractions<uchar4>(0, 255, false);
  fractions<uchar4>(0, 255, true);
  fractions<char4>(-1, 127, false);
  fractions<ushort4>(0, 65535, false);
  fractions<short4>(-1, 32767, false);
  places();
  large();
  refusals();
  return check::done();
}
