// Tiles of tensors by tensor maps (CUDA C++ Programming Guide, "Tensor Memory Access"): loads of one to five dimensions with a barrier object that counts their bytes, what lies outside of the
// tensor, steps of more than one element, every way to swizzle, stores, reductions, tiles for several blocks of a cluster, plain bulk copies to another block, maps whose address is replaced, and
// what is refused.
// known-gap-check: tiles of tensors are not copied where accesses are checked
// nvcc: -gencode arch=compute_90,code=compute_90
#include <cooperative_groups.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "driver.h"

namespace cg = cooperative_groups;

struct Tensor {
  std::vector<cuuint64_t> dims;
  std::vector<cuuint32_t> box;
  std::vector<cuuint32_t> steps{};
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_INT32;
  std::uint32_t elementBytes = 4;
  std::uint32_t padding = 0;  // bytes behind each row
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

  std::vector<cuuint64_t> strides() const {
    std::vector<cuuint64_t> made;
    cuuint64_t stride = (dims[0] * elementBytes + 15) / 16 * 16 + padding;
    for (std::size_t d = 1; d < dims.size(); ++d) {
      made.push_back(stride);
      stride *= dims[d];
    }
    return made;
  }
  std::size_t bytes() const {
    std::size_t all = (dims[0] * elementBytes + 15) / 16 * 16 + padding;
    for (std::size_t d = 1; d < dims.size(); ++d) all *= dims[d];
    return all;
  }
  std::uint32_t step(std::size_t d) const { return d == 0 || steps.empty() ? 1 : steps[d]; }
  std::uint32_t count(std::size_t d) const { return (box[d] + step(d) - 1) / step(d); }
  std::uint32_t tileBytes() const {
    std::uint32_t all = elementBytes;
    for (std::size_t d = 0; d < dims.size(); ++d) all *= count(d);
    return all;
  }
  std::uint32_t reach() const { return swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : 16u << swizzle; }
  std::uint32_t pitch() const { return std::max(count(0) * elementBytes, reach()); }
  std::uint32_t sharedBytes() const { return tileBytes() / (count(0) * elementBytes) * pitch(); }

  CUresult encode(CUtensorMap* map, void* address) const {
    const auto rows = strides();
    std::vector<cuuint32_t> ones(dims.size(), 1);
    return CALL(cuTensorMapEncodeTiled, map, type, cuuint32_t(dims.size()), address, dims.data(), rows.data(), box.data(), steps.empty() ? ones.data() : steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                         CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
  }
  // Visits each element of a tile: its place in shared memory, and in the tensor, or -1.
  template <class Visit>
  void eachElement(const std::vector<int>& at, Visit visit) const {
    const auto rows = strides();
    std::uint32_t elements = tileBytes() / elementBytes;
    for (std::uint32_t e = 0; e < elements; ++e) {
      std::uint32_t rest = e;
      long long place = 0;
      for (std::size_t d = 0; d < dims.size(); ++d) {
        const long long index = at[d] + static_cast<long long>(rest % count(d)) * step(d);
        rest /= count(d);
        if (index < 0 || index >= static_cast<long long>(dims[d])) place = -1;
        if (place >= 0) place += index * static_cast<long long>(d == 0 ? elementBytes : rows[d - 1]);
      }
      std::uint32_t offset = e / count(0) * pitch() + e % count(0) * elementBytes;
      if (reach() != 0) offset ^= (offset >> 7 & (reach() / 16 - 1)) << 4;
      visit(offset, place);
    }
  }
};

__device__ unsigned sharedAddress(const void* at) { return unsigned(__cvta_generic_to_shared(at)); }

__device__ void initialize(unsigned barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ void expect(unsigned barrier, unsigned bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory"); }
__device__ void waitFor(unsigned barrier, unsigned parity) {
  unsigned done = 0;
  while (done == 0)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
}

struct Coordinates {
  int at[5];
};

template <int kRank>
__device__ void load(unsigned to, const CUtensorMap* map, const Coordinates& c, unsigned barrier) {
  if (kRank == 1)
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(c.at[0]) : "memory");
  if (kRank == 2)
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(c.at[0]), "r"(c.at[1])
                 : "memory");
  if (kRank == 3)
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(c.at[0]), "r"(c.at[1]),
                 "r"(c.at[2])
                 : "memory");
  if (kRank == 4)
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(c.at[0]),
                 "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3])
                 : "memory");
  if (kRank == 5)
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(c.at[0]),
                 "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4])
                 : "memory");
}

// Shared memory, as it lies there, behind the load of a tile.
template <int kRank>
__global__ void loadTile(const __grid_constant__ CUtensorMap map, Coordinates at, unsigned tileBytes, unsigned sharedBytes, unsigned char* out) {
  extern __shared__ __align__(1024) unsigned char tile[];
  __shared__ alignas(8) unsigned long long barrier;
  for (unsigned i = threadIdx.x; i < sharedBytes; i += blockDim.x) tile[i] = 0xee;
  if (threadIdx.x == 0) {
    initialize(sharedAddress(&barrier));
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(sharedAddress(&barrier), tileBytes);
    load<kRank>(sharedAddress(tile), &map, at, sharedAddress(&barrier));
  }
  waitFor(sharedAddress(&barrier), 0);
  for (unsigned i = threadIdx.x; i < sharedBytes; i += blockDim.x) out[i] = tile[i];
}

void testLoad(const char* name, const Tensor& tensor, const std::vector<int>& at) {
  check::Random random(unsigned(tensor.dims[0] * 31 + tensor.dims.size()));
  std::vector<unsigned char> content(tensor.bytes());
  for (auto& byte : content) byte = static_cast<unsigned char>(random.below(256));
  unsigned char *memory = check::toDevice(content), *out = check::deviceArray<unsigned char>(tensor.sharedBytes());
  CUtensorMap map;
  if (const CUresult error = tensor.encode(&map, memory); error != CUDA_SUCCESS) {
    std::printf("%s: the map cannot be made: %d\n", name, int(error));
    ++check::failures;
    return;
  }
  Coordinates c{};
  std::copy(at.begin(), at.end(), c.at);
  const unsigned tileBytes = tensor.tileBytes(), shared = tensor.sharedBytes();
  switch (tensor.dims.size()) {
    case 1:
      loadTile<1><<<1, 64, shared>>>(map, c, tileBytes, shared, out);
      break;
    case 2:
      loadTile<2><<<1, 64, shared>>>(map, c, tileBytes, shared, out);
      break;
    case 3:
      loadTile<3><<<1, 64, shared>>>(map, c, tileBytes, shared, out);
      break;
    case 4:
      loadTile<4><<<1, 64, shared>>>(map, c, tileBytes, shared, out);
      break;
    default:
      loadTile<5><<<1, 64, shared>>>(map, c, tileBytes, shared, out);
  }
  CHECK(cudaGetLastError());
  const auto got = check::toHost(out, shared);
  std::size_t wrong = 0;
  tensor.eachElement(at, [&](std::uint32_t offset, long long place) {
    for (std::uint32_t b = 0; b < tensor.elementBytes; ++b) wrong += got[offset + b] != (place < 0 ? 0 : content[static_cast<std::size_t>(place) + b]) ? 1 : 0;
  });
  if (wrong != 0) {
    std::printf("%s: %zu bytes of the tile are wrong\n", name, wrong);
    ++check::failures;
  }
  CHECK(cudaFree(memory));
  CHECK(cudaFree(out));
}

void testLoads() {
  testLoad("one dimension", {{1000}, {64}}, {100});
  testLoad("one dimension, over the end", {{1000}, {64}}, {980});
  testLoad("one dimension, before the beginning", {{1000}, {64}}, {-20});
  testLoad("two", {{100, 60}, {16, 8}}, {12, 20});
  testLoad("two, over a corner", {{100, 60}, {16, 8}}, {92, 55});
  testLoad("two, before a corner", {{100, 60}, {16, 8}}, {-4, -3});
  testLoad("two, outside", {{100, 60}, {16, 8}}, {200, 0});
  testLoad("two, padded", {{99, 60}, {20, 30}, {}, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 64}, {7, 40});
  testLoad("bytes", {{300, 20}, {48, 6}, {}, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1}, {270, 16});
  testLoad("halves", {{300, 20}, {64, 6}, {}, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2}, {-9, 2});
  testLoad("doubles", {{30, 20}, {6, 6}, {}, CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8}, {27, 15});
  testLoad("three", {{40, 20, 10}, {8, 4, 3}}, {36, -1, 8});
  testLoad("four", {{40, 10, 6, 5}, {8, 3, 2, 4}}, {3, 8, -1, 2});
  testLoad("five", {{24, 7, 6, 5, 4}, {8, 2, 3, 2, 3}}, {20, 6, 4, -1, 2});
  testLoad("steps", {{100, 60, 9}, {16, 12, 6}, {1, 3, 4}}, {12, 50, 2});
  for (const CUtensorMapSwizzle swizzle : {CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B}) {
    const unsigned reach = 16u << swizzle;
    testLoad("swizzled", {{100, 60}, {reach / 4, 20}, {}, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 0, swizzle}, {4, 8});
    testLoad("swizzled, over a corner", {{101, 60}, {reach / 4, 20}, {}, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 0, swizzle}, {98, 50});
    testLoad("swizzled halves in three", {{64, 9, 7}, {reach / 2, 5, 3}, {}, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, 0, swizzle}, {-2, 6, 5});
  }
}

// --- Stores and reductions: a tile that a block makes, over the tensor's borders.

enum class Verb { store, add, min, max, bitOr };

template <Verb kVerb>
__global__ void storeTile(const __grid_constant__ CUtensorMap map, int x, int y, unsigned bytes, const unsigned char* content) {
  extern __shared__ __align__(1024) unsigned char tile[];
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) tile[i] = content[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  const unsigned from = sharedAddress(tile);
  if (kVerb == Verb::store) asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y) : "memory");
  if (kVerb == Verb::add) asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y) : "memory");
  if (kVerb == Verb::min) asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y) : "memory");
  if (kVerb == Verb::max) asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y) : "memory");
  if (kVerb == Verb::bitOr) asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.or.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

template <Verb kVerb, class T, class Combine>
void testStore(const char* name, CUtensorMapDataType type, CUtensorMapSwizzle swizzle, int x, int y, unsigned blocks, Combine combine) {
  Tensor tensor{{60, 40}, {16, 12}, {}, type, sizeof(T), 0, swizzle};
  if (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE) tensor.box[0] = tensor.reach() / unsigned(sizeof(T));
  check::Random random(5);
  std::vector<T> content(tensor.bytes() / sizeof(T)), tile(tensor.sharedBytes() / sizeof(T));
  for (auto& value : content) value = T(float(random.below(64)));
  for (auto& value : tile) value = T(float(random.below(64)));
  T *memory = check::toDevice(content), *from = check::toDevice(tile);
  CUtensorMap map;
  EXPECT(tensor.encode(&map, memory) == CUDA_SUCCESS);
  storeTile<kVerb><<<blocks, 64, tensor.sharedBytes()>>>(map, x, y, tensor.sharedBytes(), reinterpret_cast<const unsigned char*>(from));
  CHECK(cudaGetLastError());
  const auto got = check::toHost(memory, content.size());
  for (unsigned block = 0; block < blocks; ++block)
    tensor.eachElement({x, y}, [&](std::uint32_t offset, long long place) {
      if (place >= 0) content[std::size_t(place) / sizeof(T)] = combine(content[std::size_t(place) / sizeof(T)], tile[offset / sizeof(T)]);
    });
  check::equal(name, got.data(), content.data(), content.size());
  CHECK(cudaFree(memory));
  CHECK(cudaFree(from));
}

void testStores() {
  const auto last = [](auto, auto b) { return b; };
  const auto sum = [](auto a, auto b) { return decltype(a)(float(a) + float(b)); };
  testStore<Verb::store, int>("stored", CU_TENSOR_MAP_DATA_TYPE_INT32, CU_TENSOR_MAP_SWIZZLE_NONE, 8, 4, 1, last);
  testStore<Verb::store, int>("stored over a corner", CU_TENSOR_MAP_DATA_TYPE_INT32, CU_TENSOR_MAP_SWIZZLE_NONE, 50, 35, 1, last);
  testStore<Verb::store, float>("stored before a corner", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_SWIZZLE_64B, -6, -5, 1, last);
  testStore<Verb::store, __half>("stored halves", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_SWIZZLE_128B, 52, 3, 1, last);
  testStore<Verb::add, int>("added", CU_TENSOR_MAP_DATA_TYPE_INT32, CU_TENSOR_MAP_SWIZZLE_NONE, 50, 35, 20, sum);
  testStore<Verb::add, float>("added floats", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_SWIZZLE_32B, -3, 2, 20, sum);
  testStore<Verb::add, __half>("added halves", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_SWIZZLE_NONE, 3, 2, 7, sum);
  testStore<Verb::min, int>("least", CU_TENSOR_MAP_DATA_TYPE_INT32, CU_TENSOR_MAP_SWIZZLE_NONE, 3, 2, 3, [](int a, int b) { return std::min(a, b); });
  testStore<Verb::max, unsigned>("greatest", CU_TENSOR_MAP_DATA_TYPE_UINT32, CU_TENSOR_MAP_SWIZZLE_NONE, 3, 2, 3, [](unsigned a, unsigned b) { return std::max(a, b); });
  testStore<Verb::bitOr, unsigned>("bits", CU_TENSOR_MAP_DATA_TYPE_UINT32, CU_TENSOR_MAP_SWIZZLE_128B, 3, 2, 3, [](unsigned a, unsigned b) { return a | b; });
}

// --- In a cluster: each block loads a part of a tile for all, and hands bytes of its own on to the next block.

__global__ void __cluster_dims__(4, 1, 1) shareTile(const __grid_constant__ CUtensorMap map, int* out) {
  __shared__ __align__(128) int tile[4][32];
  __shared__ __align__(128) int handed[2][32];
  __shared__ alignas(8) unsigned long long barriers[2];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), thread = threadIdx.x;
  if (thread == 0) {
    initialize(sharedAddress(&barriers[0]));
    initialize(sharedAddress(&barriers[1]));
  }
  handed[0][thread] = int(blockIdx.x * 1000 + thread);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cluster.sync();
  if (thread == 0) {
    expect(sharedAddress(&barriers[0]), sizeof tile);
    const unsigned short all = 0xf;
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(sharedAddress(tile[rank])), "l"(&map),
                 "r"(sharedAddress(&barriers[0])), "r"(8), "r"(int(blockIdx.x)), "h"(all)
                 : "memory");
    expect(sharedAddress(&barriers[1]), sizeof handed[0]);
    unsigned to, barrier;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(sharedAddress(handed[1])), "r"((rank + 1) % 4));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(barrier) : "r"(sharedAddress(&barriers[1])), "r"((rank + 1) % 4));
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "r"(sharedAddress(handed[0])), "r"(unsigned(sizeof handed[0])),
                 "r"(barrier)
                 : "memory");
  }
  waitFor(sharedAddress(&barriers[0]), 0);
  waitFor(sharedAddress(&barriers[1]), 0);
  int sum = handed[1][thread];
  for (int row = 0; row < 4; ++row) sum = sum * 7 + tile[row][thread];
  out[blockIdx.x * 32 + thread] = sum;
  cluster.sync();
}

void testCluster() {
  const Tensor tensor{{64, 8}, {32, 1}};
  std::vector<int> content(64 * 8);
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = int(i * 2654435761u >> 16);
  int *memory = check::toDevice(content), *out = check::deviceArray<int>(8 * 32);
  CUtensorMap map;
  EXPECT(tensor.encode(&map, memory) == CUDA_SUCCESS);
  shareTile<<<8, 32>>>(map, out);
  CHECK(cudaGetLastError());
  std::vector<int> wanted;
  for (unsigned block = 0; block < 8; ++block)
    for (unsigned t = 0; t < 32; ++t) {
      unsigned sum = (block / 4 * 4 + (block + 3) % 4) * 1000 + t;
      for (unsigned row = 0; row < 4; ++row) sum = sum * 7 + unsigned(content[(block / 4 * 4 + row) * 64 + 8 + t]);
      wanted.push_back(int(sum));
    }
  check::equal("cluster", check::toHost(out, wanted.size()), wanted);
  CHECK(cudaFree(memory));
  CHECK(cudaFree(out));
}

// --- A map in global memory, and one whose address has been replaced.

__global__ void loadByPointer(const CUtensorMap* map, int* out) {
  __shared__ __align__(128) int tile[4][8];
  __shared__ alignas(8) unsigned long long barrier;
  if (threadIdx.x == 0) initialize(sharedAddress(&barrier));
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    expect(sharedAddress(&barrier), sizeof tile);
    load<2>(sharedAddress(tile), map, {{4, 2}}, sharedAddress(&barrier));
  }
  waitFor(sharedAddress(&barrier), 0);
  out[threadIdx.x] = tile[threadIdx.x / 8][threadIdx.x % 8];
}

void testReplaced() {
  const Tensor tensor{{32, 16}, {8, 4}};
  std::vector<int> first(32 * 16), second(32 * 16);
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = int(i), second[i] = int(i) + 10'000;
  int *a = check::toDevice(first), *b = check::toDevice(second), *out = check::deviceArray<int>(32);
  CUtensorMap map;
  EXPECT(tensor.encode(&map, a) == CUDA_SUCCESS);
  CUtensorMap* onDevice = check::deviceArray<CUtensorMap>(1);
  for (const int* memory : {a, b}) {
    DRIVER(cuTensorMapReplaceAddress, &map, const_cast<int*>(memory));
    CHECK(cudaMemcpy(onDevice, &map, sizeof map, cudaMemcpyHostToDevice));
    loadByPointer<<<1, 32>>>(onDevice, out);
    CHECK(cudaGetLastError());
    std::vector<int> wanted;
    for (int y = 2; y < 6; ++y)
      for (int x = 4; x < 12; ++x) wanted.push_back((memory == a ? first : second)[std::size_t(y * 32 + x)]);
    check::equal("replaced", check::toHost(out, 32), wanted);
  }
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuTensorMapReplaceAddress, &map, reinterpret_cast<char*>(a) + 4);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuTensorMapReplaceAddress, nullptr, a);
  for (void* each : {static_cast<void*>(a), static_cast<void*>(b), static_cast<void*>(out), static_cast<void*>(onDevice)}) CHECK(cudaFree(each));
}

// --- What the driver refuses (cuda.h, cuTensorMapEncodeTiled).

void testRefused() {
  int* memory = check::deviceArray<int>(4096);
  CUtensorMap map;
  const auto refused = [&](const char* what, Tensor tensor, std::size_t offset = 0) {
    if (tensor.encode(&map, reinterpret_cast<char*>(memory) + offset) == CUDA_ERROR_INVALID_VALUE) return;
    std::printf("not refused: %s\n", what);
    ++check::failures;
  };
  const Tensor good{{64, 16}, {16, 4}};
  EXPECT(good.encode(&map, memory) == CUDA_SUCCESS);
  refused("an address that is not aligned", good, 8);
  refused("no elements", {{0, 16}, {16, 4}});
  refused("an empty box", {{64, 16}, {16, 0}});
  refused("a box of more than 256", {{64, 1024}, {16, 257}});
  refused("a box whose rows are no multiples of 16 bytes", {{64, 16}, {3, 4}});
  refused("a stride that is no multiple of 16", {{64, 16}, {16, 4}, {}, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 4});
  refused("steps of more than 8", {{64, 16}, {16, 4}, {1, 9}});
  refused("no steps", {{64, 16}, {16, 4}, {1, 0}});
  refused("rows that are longer than they are swizzled by", {{64, 16}, {16, 4}, {}, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 0, CU_TENSOR_MAP_SWIZZLE_32B});
  refused("whole numbers that are no numbers",
          {{64, 16}, {16, 4}, {}, CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 0, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA});
  EXPECT(good.encode(nullptr, memory) == CUDA_ERROR_INVALID_VALUE);
  const cuuint64_t dims[6] = {16, 1, 1, 1, 1, 1}, strides[5] = {64, 64, 64, 64, 64};
  const cuuint32_t box[6] = {16, 1, 1, 1, 1, 1}, ones[6] = {1, 1, 1, 1, 1, 1};
  for (const cuuint32_t rank : {0u, 6u})
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuTensorMapEncodeTiled, &map, CU_TENSOR_MAP_DATA_TYPE_INT32, rank, memory, dims, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                 CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  // Of an image's columns a rank of 3 is the least.
  const int corner[3] = {};
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuTensorMapEncodeIm2col, &map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, memory, dims, strides, corner, corner, 16, 16, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  CHECK(cudaFree(memory));
}

int main() {
  CHECK(cudaFree(nullptr));  // the driver's functions want a context
  testLoads();
  testStores();
  testCluster();
  testReplaced();
  testRefused();
  return check::done();
}
