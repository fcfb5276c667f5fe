// What is fetched follows the array, whoever has written it last: copies of every kind after the object was made, surfaces, graphs, other arrays.
// nvcc: -Wno-deprecated-declarations
#include <algorithm>

#include "check.h"

constexpr int kWidth = 37, kHeight = 11;

struct Expected {
  std::vector<float> values = std::vector<float>(kWidth * kHeight);
  float& at(int x, int y) { return values[y * kWidth + x]; }
};

__global__ void fetchAll(cudaTextureObject_t texture, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kWidth * kHeight) out[i] = tex2D<float>(texture, i % kWidth + 0.5f, i / kWidth + 0.5f);
}

__global__ void paint(cudaSurfaceObject_t surface, int x, int y, int width, int height, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width * height) surf2Dwrite(value + i, surface, (x + i % width) * 4, y + i / width);
}

__global__ void fetchLayers(cudaTextureObject_t texture, int layers, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 8 * 4 * layers) out[i] = tex2DLayered<float>(texture, i % 8 + 0.5f, i / 8 % 4 + 0.5f, i / 32);
}

cudaTextureObject_t textureOf(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

cudaSurfaceObject_t surfaceOf(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  return surface;
}

void compare(const char* what, cudaTextureObject_t texture, float* out, const Expected& expected) {
  fetchAll<<<(kWidth * kHeight + 63) / 64, 64>>>(texture, out);
  check::equal(what, check::toHost(out, kWidth * kHeight), expected.values);
}

int main() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, kWidth, kHeight, cudaArraySurfaceLoadStore));
  float* const out = check::deviceArray<float>(kWidth * kHeight);
  Expected expected;
  for (int i = 0; i < kWidth * kHeight; ++i) expected.values[i] = float(i);
  CHECK(cudaMemcpy2DToArray(array, 0, 0, expected.values.data(), kWidth * 4, kWidth * 4, kHeight, cudaMemcpyHostToDevice));
  const cudaTextureObject_t texture = textureOf(array);
  compare("what it had", texture, out, expected);

  // A box of it, from pageable memory.
  std::vector<float> patch(5 * 3);
  for (int i = 0; i < 15; ++i) expected.at(7 + i % 5, 2 + i / 5) = patch[i] = 1000.f + i;
  CHECK(cudaMemcpy2DToArray(array, 7 * 4, 2, patch.data(), 20, 20, 3, cudaMemcpyHostToDevice));
  compare("a box", texture, out, expected);

  // Bytes across rows, from the middle of one to the middle of another, from device memory and in a stream.
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  std::vector<float> run(kWidth * 3);
  for (int i = 0; i < kWidth * 3; ++i) expected.values[kWidth * 4 + 30 + i] = run[i] = 2000.f + i;
  float* const there = check::toDevice(run);
  CHECK(cudaMemcpyToArray(array, 30 * 4, 4, there, run.size() * 4, cudaMemcpyDeviceToDevice));
  compare("bytes across rows", texture, out, expected);

  // Rows, in a stream that another waits for.
  cudaEvent_t copied;
  CHECK(cudaEventCreate(&copied));
  float* pinned;
  CHECK(cudaMallocHost(&pinned, kWidth * 2 * 4));
  for (int i = 0; i < kWidth * 2; ++i) expected.values[kWidth * 9 + i] = pinned[i] = 3000.f + i;
  cudaMemcpy3DParms rows{};
  rows.srcPtr = make_cudaPitchedPtr(pinned, kWidth * 4, kWidth, 2);
  rows.dstArray = array;
  rows.dstPos = make_cudaPos(0, 9, 0);
  rows.extent = make_cudaExtent(kWidth, 2, 1);
  rows.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3DAsync(&rows, stream));
  CHECK(cudaEventRecord(copied, stream));
  CHECK(cudaStreamWaitEvent(nullptr, copied, 0));
  compare("rows in a stream", texture, out, expected);

  // A surface writes, a copy writes beside it, and both are there; also for who reads the array.
  const cudaSurfaceObject_t surface = surfaceOf(array);
  paint<<<1, 64>>>(surface, 3, 5, 6, 4, 4000.f);
  for (int i = 0; i < 24; ++i) expected.at(3 + i % 6, 5 + i / 6) = 4000.f + i;
  expected.at(4, 6) = 5000.f;
  CHECK(cudaMemcpy2DToArray(array, 4 * 4, 6, &expected.at(4, 6), 4, 4, 1, cudaMemcpyHostToDevice));
  compare("a surface and a copy", texture, out, expected);
  std::vector<float> read(kWidth * kHeight);
  CHECK(cudaMemcpy2DFromArray(read.data(), kWidth * 4, array, 0, 0, kWidth * 4, kHeight, cudaMemcpyDeviceToHost));
  check::equal("read", read, expected.values);
  paint<<<1, 64>>>(surface, 0, 0, 2, 2, 6000.f);
  for (int i = 0; i < 4; ++i) expected.at(i % 2, i / 2) = 6000.f + i;
  std::vector<float> corner(4);
  CHECK(cudaMemcpy2DFromArray(corner.data(), 8, array, 0, 0, 8, 2, cudaMemcpyDeviceToHost));
  check::equal("a corner", corner, std::vector<float>{6000, 6001, 6002, 6003});

  // To another array that has a texture already, and from its surface back.
  cudaArray_t other;
  CHECK(cudaMallocArray(&other, &format, kWidth, kHeight, cudaArraySurfaceLoadStore));
  const cudaTextureObject_t second = textureOf(other);
  CHECK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, kWidth * 4, kHeight, cudaMemcpyDeviceToDevice));
  compare("from an array to another", second, out, expected);
  const cudaSurfaceObject_t brush = surfaceOf(other);
  paint<<<1, 64>>>(brush, 20, 1, 10, 2, 7000.f);
  for (int i = 0; i < 20; ++i) expected.at(20 + i % 10, 1 + i / 10) = 7000.f + i;
  CHECK(cudaMemcpy2DArrayToArray(array, 20 * 4, 1, other, 20 * 4, 1, 40, 2, cudaMemcpyDeviceToDevice));
  compare("and back", texture, out, expected);
  const Expected others = expected;

  // A graph that copies, and one object more of the same array.
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t node;
  for (int i = 0; i < kWidth * 2; ++i) expected.values[kWidth * 9 + i] = pinned[i] = 8000.f + i;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &rows));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  const cudaTextureObject_t third = textureOf(array);
  compare("a graph", third, out, expected);
  for (int i = 0; i < kWidth * 2; ++i) expected.values[kWidth * 9 + i] = pinned[i] = 9000.f + i;
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  compare("the graph again", texture, out, expected);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));

  CHECK(cudaDestroyTextureObject(third));
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaDestroySurfaceObject(surface));
  const cudaTextureObject_t again = textureOf(array);
  compare("an object made anew", again, out, expected);
  CHECK(cudaDestroyTextureObject(again));
  CHECK(cudaFreeArray(array));

  // Memory that was an array's may be another's, of another shape; layers one by one.
  for (int round = 0; round < 3; ++round) {
    const int layers = 2 + round;
    cudaArray_t solid;
    CHECK(cudaMalloc3DArray(&solid, &format, make_cudaExtent(8, 4, layers), cudaArrayLayered));
    const cudaTextureObject_t layered = textureOf(solid);
    std::vector<float> values(8 * 4 * layers);
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i) + 100 * round;
    for (int layer = layers - 1; layer >= 0; --layer) {
      cudaMemcpy3DParms one{};
      one.srcPtr = make_cudaPitchedPtr(values.data() + 32 * layer, 32, 8, 4);
      one.dstArray = solid;
      one.dstPos = make_cudaPos(0, 0, layer);
      one.extent = make_cudaExtent(8, 4, 1);
      one.kind = cudaMemcpyHostToDevice;
      CHECK(cudaMemcpy3D(&one));
    }
    fetchLayers<<<layers, 32>>>(layered, layers, out);
    check::equal("layers", check::toHost(out, int(values.size())), values);
    // Either may go first.
    if (round == 1) CHECK(cudaFreeArray(solid));
    CHECK(cudaDestroyTextureObject(layered));
    if (round != 1) CHECK(cudaFreeArray(solid));
  }
  compare("the other array", second, out, others);

  // All of it ends with the device's memory.
  CHECK(cudaDeviceReset());
  if (check::throughRouse()) EXPECT(cudaDestroyTextureObject(second) == cudaSuccess);
  return check::done();
}
