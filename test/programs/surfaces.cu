// faults
// Surfaces: what kernels write to arrays others read, by surfaces and by textures; boundary modes; layers and volumes; a filter over an
// image that goes round and round in a graph.
#include <algorithm>

#include "check.h"

__global__ void write2D(cudaSurfaceObject_t s, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) surf2Dwrite(make_float2(x * 0.5f, y * 2.0f), s, x * sizeof(float2), y);
}
__global__ void read2D(cudaSurfaceObject_t s, cudaTextureObject_t t, float2* a, float2* b, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width || y >= height) return;
  surf2Dread(&a[y * width + x], s, x * sizeof(float2), y);
  b[y * width + x] = tex2D<float2>(t, x + 0.5f, y + 0.5f);
}
__global__ void beyond(cudaSurfaceObject_t s, int* out, int width) {
  const int x = int(threadIdx.x) - 8;
  int clamped = -7, zero = -7;
  surf2Dread(&clamped, s, x * 4, -3, cudaBoundaryModeClamp);
  surf2Dread(&zero, s, x * 4, 1, cudaBoundaryModeZero);
  out[threadIdx.x] = clamped;
  out[64 + threadIdx.x] = zero;
  __syncthreads();
  surf2Dwrite(1000 + x, s, x * 4, 0, cudaBoundaryModeZero);  // outside: nothing happens
}
__global__ void small(cudaSurfaceObject_t s, unsigned char* out) {
  const int i = threadIdx.x;
  surf1Dwrite((unsigned char)(i * 3), s, i);
  __syncthreads();
  surf1Dread(&out[i], s, 63 - i);
}
__global__ void volume(cudaSurfaceObject_t s) { surf3Dwrite(short4{short(threadIdx.x), short(threadIdx.y), short(blockIdx.x), 7}, s, threadIdx.x * 8, threadIdx.y, blockIdx.x); }
__global__ void layer(cudaSurfaceObject_t s) { surf2DLayeredwrite(float(blockIdx.x * 100 + threadIdx.y * 10 + threadIdx.x), s, threadIdx.x * 4, threadIdx.y, blockIdx.x); }
__global__ void face(cudaSurfaceObject_t s) { surfCubemapwrite(int(blockIdx.x * 64 + threadIdx.x), s, threadIdx.x % 8 * 4, threadIdx.x / 8, blockIdx.x); }
__global__ void outside(cudaSurfaceObject_t s) { surf2Dwrite(1, s, 4 * 1000, 0); }

__global__ void smooth(cudaTextureObject_t from, cudaSurfaceObject_t to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width) return;
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) sum += tex2D<float>(from, x + dx + 0.5f, y + dy + 0.5f);
  surf2Dwrite(sum / 8, to, x * 4, y);
}

__global__ void number(cudaSurfaceObject_t to) { surf2Dwrite(static_cast<float>(threadIdx.x + 100 * blockIdx.x), to, threadIdx.x * 4, blockIdx.x); }

cudaArray_t array(const cudaChannelFormatDesc& format, cudaExtent extent, unsigned flags = 0) {
  cudaArray_t made;
  CHECK(cudaMalloc3DArray(&made, &format, extent, cudaArraySurfaceLoadStore | flags));
  return made;
}
cudaResourceDesc resource(cudaArray_t a) {
  cudaResourceDesc made{};
  made.resType = cudaResourceTypeArray;
  made.res.array.array = a;
  return made;
}
cudaSurfaceObject_t surface(cudaArray_t a) {
  const auto r = resource(a);
  cudaSurfaceObject_t made;
  CHECK(cudaCreateSurfaceObject(&made, &r));
  return made;
}
cudaTextureObject_t texture(cudaArray_t a) {
  const auto r = resource(a);
  cudaTextureDesc how{};
  for (auto& axis : how.addressMode) axis = cudaAddressModeClamp;
  cudaTextureObject_t made;
  CHECK(cudaCreateTextureObject(&made, &r, &how, nullptr));
  return made;
}
template <class T>
std::vector<T> content(cudaArray_t a, int width, int height, int depth) {
  std::vector<T> host(size_t(width) * height * depth);
  cudaMemcpy3DParms copy{};
  copy.srcArray = a;
  copy.dstPtr = make_cudaPitchedPtr(host.data(), width * sizeof(T), width, height);
  copy.extent = make_cudaExtent(width, height, depth);
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&copy));
  return host;
}

void planes() {
  constexpr int width = 100, height = 30;
  cudaArray_t a = array(cudaCreateChannelDesc<float2>(), make_cudaExtent(width, height, 0));
  const auto s = surface(a);
  const auto t = texture(a);
  float2 *x = check::deviceArray<float2>(width * height), *y = check::deviceArray<float2>(width * height);
  write2D<<<dim3(1, height), 128>>>(s, width, height);
  read2D<<<dim3(1, height), 128>>>(s, t, x, y, width, height);
  const auto bySurface = check::toHost(x, width * height), byTexture = check::toHost(y, width * height);
  check::equal("read back", byTexture, bySurface);
  for (int i = 0; i < width * height; ++i) EXPECT(bySurface[i].x == i % width * 0.5f && bySurface[i].y == i / width * 2.0f);
  CHECK(cudaDestroySurfaceObject(s));
  CHECK(cudaDestroyTextureObject(t));
  CHECK(cudaFreeArray(a));
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));

  a = array(cudaCreateChannelDesc<int>(), make_cudaExtent(16, 4, 0));
  std::vector<int> numbers(64);
  for (int i = 0; i < 64; ++i) numbers[i] = i;
  CHECK(cudaMemcpy2DToArray(a, 0, 0, numbers.data(), 64, 64, 4, cudaMemcpyHostToDevice));
  const auto edge = surface(a);
  int* out = check::deviceArray<int>(128);
  beyond<<<1, 32>>>(edge, out, 16);
  const auto got = check::toHost(out, 128);
  const auto after = content<int>(a, 16, 4, 1);
  for (int i = 0; i < 32; ++i) {
    const int at = i - 8;
    EXPECT(got[i] == std::min(std::max(at, 0), 15));
    EXPECT(got[64 + i] == (at < 0 || at > 15 ? 0 : 16 + at));
  }
  for (int i = 0; i < 64; ++i) EXPECT(after[i] == (i < 16 ? 1000 + i : i));
  CHECK(cudaDestroySurfaceObject(edge));
  CHECK(cudaFreeArray(a));
  CHECK(cudaFree(out));

  a = array(cudaCreateChannelDesc<unsigned char>(), make_cudaExtent(64, 0, 0));
  const auto line = surface(a);
  unsigned char* bytes = check::deviceArray<unsigned char>(64);
  small<<<1, 64>>>(line, bytes);
  const auto reversed = check::toHost(bytes, 64);
  for (int i = 0; i < 64; ++i) EXPECT(reversed[i] == (unsigned char)((63 - i) * 3));
  CHECK(cudaDestroySurfaceObject(line));
  CHECK(cudaFreeArray(a));
  CHECK(cudaFree(bytes));
}

void boxes() {
  cudaArray_t a = array(cudaCreateChannelDesc<short4>(), make_cudaExtent(8, 4, 3));
  auto s = surface(a);
  volume<<<3, dim3(8, 4)>>>(s);
  const auto cells = content<short4>(a, 8, 4, 3);
  for (int i = 0; i < 96; ++i) EXPECT(cells[i].x == i % 8 && cells[i].y == i / 8 % 4 && cells[i].z == i / 32 && cells[i].w == 7);
  CHECK(cudaDestroySurfaceObject(s));
  CHECK(cudaFreeArray(a));

  a = array(cudaCreateChannelDesc<float>(), make_cudaExtent(8, 4, 5), cudaArrayLayered);
  s = surface(a);
  layer<<<5, dim3(8, 4)>>>(s);
  const auto sheets = content<float>(a, 8, 4, 5);
  for (int i = 0; i < 160; ++i) EXPECT(sheets[i] == i / 32 * 100 + i / 8 % 4 * 10 + i % 8);
  CHECK(cudaDestroySurfaceObject(s));
  CHECK(cudaFreeArray(a));

  a = array(cudaCreateChannelDesc<int>(), make_cudaExtent(8, 8, 6), cudaArrayCubemap);
  s = surface(a);
  face<<<6, 64>>>(s);
  const auto faces = content<int>(a, 8, 8, 6);
  for (int i = 0; i < 384; ++i) EXPECT(faces[i] == i);
  CHECK(cudaDestroySurfaceObject(s));
  CHECK(cudaFreeArray(a));
}

// Two images, each made of the other, by a graph.
void feedback() {
  constexpr int width = 70, height = 40, rounds = 6;
  cudaArray_t images[2];
  cudaTextureObject_t from[2];
  cudaSurfaceObject_t to[2];
  for (int i = 0; i < 2; ++i) {
    images[i] = array(cudaCreateChannelDesc<float>(), make_cudaExtent(width, height, 0));
    from[i] = texture(images[i]);
    to[i] = surface(images[i]);
  }
  std::vector<float> host(width * height);
  for (int i = 0; i < width * height; ++i) host[i] = float((i * 37) % 101);
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemcpy2DToArrayAsync(images[0], 0, 0, host.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice, stream));
  for (int i = 0; i < rounds; ++i) smooth<<<dim3(1, height), 128, 0, stream>>>(from[i % 2], to[1 - i % 2], width, height);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int launch = 0; launch < 2; ++launch) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  const auto got = content<float>(images[0], width, height, 1);
  std::vector<float> now = host, next(host.size());
  for (int i = 0; i < rounds; ++i) {
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        float sum = 0;
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx)
            sum += now[std::min(std::max(y + dy, 0), height - 1) * width + std::min(std::max(x + dx, 0), width - 1)];
        next[y * width + x] = sum / 8;
      }
    now.swap(next);
  }
  check::equal("image", got, now);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaDestroyTextureObject(from[i]));
    CHECK(cudaDestroySurfaceObject(to[i]));
    CHECK(cudaFreeArray(images[i]));
  }
}

// Surfaces of levels of a mipmapped array, which was not made for them in particular.
void levels() {
  const auto format = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t made;
  CHECK(cudaMallocMipmappedArray(&made, &format, make_cudaExtent(32, 16, 0), 3));
  for (unsigned level = 0; level < 3; ++level) {
    const int width = 32 >> level, height = 16 >> level;
    cudaArray_t plane;
    CHECK(cudaGetMipmappedArrayLevel(&plane, made, level));
    const auto to = surface(plane);
    number<<<height, width>>>(to);
    const auto found = content<float>(plane, width, height, 1);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) EXPECT(found[y * width + x] == static_cast<float>(x + 100 * y));
    CHECK(cudaDestroySurfaceObject(to));
  }
  CHECK(cudaFreeMipmappedArray(made));
}

int main() {
  levels();
  planes();
  boxes();
  feedback();
  // The last: it ends the context.
  cudaArray_t a = array(cudaCreateChannelDesc<int>(), make_cudaExtent(16, 4, 0));
  outside<<<1, 1>>>(surface(a));
  EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
  return check::done();
}
