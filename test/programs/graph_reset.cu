// Graphs, arrays and textures of before a reset of the device are gone, and ending them ends nothing else; what is made afterwards works. (CUDA leaves
// open what comes of handles from before, and may crash: it is Rouse alone that is asked.)
#include "check.h"

__global__ void fetch(cudaTextureObject_t texture, float* out) { out[threadIdx.x] = tex1D<float>(texture, threadIdx.x - 1.0f); }
__global__ void set(int* out, int value) { *out = value; }

struct Everything {
  cudaArray_t array;
  cudaMipmappedArray_t levels;
  cudaTextureObject_t texture;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  void* memory;
  int* word;
  void make() {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    // One row in two dimensions on the CPU device, where fetches with one coordinate stay in it; CUDA does not say what they read then.
    CHECK(cudaMallocArray(&array, &format, 2, check::onCpuDevice() ? 1 : 0));
    CHECK(cudaMallocMipmappedArray(&levels, &format, make_cudaExtent(8, 8, 0), 4));
    const float values[2] = {4, 8};
    CHECK(cudaMemcpy2DToArray(array, 0, 0, values, 8, 8, 1, cudaMemcpyHostToDevice));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how{};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeBorder;
    how.filterMode = check::onCpuDevice() ? cudaFilterModeLinear : cudaFilterModePoint;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    CHECK(cudaMalloc(&word, 4));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&memory, 1 << 20, stream));
    set<<<1, 1, 0, stream>>>(word, 77);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
  }
  void end() {
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeMipmappedArray(levels));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
  }
  void look() {
    // A row of two, between borders.
    float* out = check::deviceArray<float>(5);
    fetch<<<1, 5>>>(texture, out);
    const auto got = check::toHost(out, 5);
    const float between[5] = {0, 2, 6, 4, 0}, points[5] = {0, 4, 8, 0, 0};
    check::equal("row", got.data(), check::onCpuDevice() ? between : points, 5);
    EXPECT(check::toHost(word, 1)[0] == 77);
    CHECK(cudaFree(out));
  }
};

int main() {
  Everything before, after;
  before.make();
  before.look();
  CHECK(cudaDeviceReset());
  if (check::throughRouse()) {
    EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphLaunch(before.exec, 0));
    float row[2];
    EXPECT(cudaMemcpy2DFromArray(row, 8, before.array, 0, 0, 8, 1, cudaMemcpyDeviceToHost) != cudaSuccess);
    (void)cudaGetLastError();
  }
  // New memory, where the old was; ending the old gives back none of it.
  std::vector<unsigned char*> blocks;
  const auto allocate = [&] {
    for (int i = 0; i < 12; ++i) {
      unsigned char* block;
      CHECK(cudaMalloc(&block, 256 << i));
      CHECK(cudaMemset(block, int(blocks.size()), 256 << i));
      blocks.push_back(block);
    }
  };
  allocate();
  if (check::throughRouse()) before.end();
  allocate();
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto got = check::toHost(blocks[i], 256 << i % 12);
    EXPECT(got.front() == i && got.back() == i);
  }
  after.make();
  after.look();
  CHECK(cudaFree(after.memory));
  for (unsigned char* block : blocks) CHECK(cudaFree(block));
  after.end();
  return check::done();
}
