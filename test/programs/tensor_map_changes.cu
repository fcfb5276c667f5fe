// Tensor maps that a kernel makes of others (PTX ISA, "tensormap.replace"), as CUTLASS's kernels for groups of products do: copied to shared memory, changed field by field, copied to global memory behind
// a fence, and copied by. Also changed where they lie in global memory.
// known-gap-check: tensor maps are not changed where accesses are checked
// nvcc: -gencode arch=compute_90a,code=compute_90a
#include <algorithm>

#include "driver.h"

constexpr int kWidth = 96, kHeight = 40, kBoxWidth = 16, kBoxHeight = 4;
constexpr unsigned kTileBytes = 32 * 32 * sizeof(int);

// What is changed, and where the tile lies then.
struct Change {
  int* address;
  unsigned rank, boxWidth, boxHeight, width, height, step, swizzle;
  unsigned long long stride;
  int x, y;
  unsigned bytes;
};

template <bool kShared>
__device__ void change(void* map, const Change& c) {
  const unsigned shared = unsigned(__cvta_generic_to_shared(map));
#define IN(field, type, ...) \
  if (kShared) { \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." type ";" ::"r"(shared), __VA_ARGS__ : "memory"); \
  } else { \
    asm volatile("tensormap.replace.tile." field ".global.b1024." type ";" ::"l"(map), __VA_ARGS__ : "memory"); \
  }
  // The instruction's name goes before its operands.
#define REPLACE(field, type, constraint, value) IN(field, type " [%0], %1", constraint(value))
#define REPLACE_AT(field, type, at, constraint, value) IN(field, type " [%0], " #at ", %1", constraint(value))
  REPLACE("global_address", "b64", "l", c.address)
  REPLACE("rank", "b32", "r", c.rank - 1)
  REPLACE_AT("box_dim", "b32", 0, "r", c.boxWidth)
  REPLACE_AT("box_dim", "b32", 1, "r", c.boxHeight)
  REPLACE_AT("global_dim", "b32", 0, "r", c.width)
  REPLACE_AT("global_dim", "b32", 1, "r", c.height)
  REPLACE_AT("global_stride", "b64", 0, "l", c.stride)
  REPLACE_AT("element_stride", "b32", 1, "r", c.step)
  if (c.swizzle == 0) {
    IN("swizzle_mode", "b32 [%0], 0", "r"(0))
  } else {
    IN("swizzle_mode", "b32 [%0], 2", "r"(0))
  }
  IN("elemtype", "b32 [%0], 3", "r"(0))
  IN("interleave_layout", "b32 [%0], 0", "r"(0))
  IN("fill_mode", "b32 [%0], 0", "r"(0))
}

template <bool kShared>
__global__ void copyByChanged(const __grid_constant__ CUtensorMap original, CUtensorMap* made, Change c, int* out) {
  __shared__ __align__(1024) int tile[kTileBytes / sizeof(int)];
  __shared__ __align__(128) CUtensorMap copy;
  __shared__ unsigned long long barrier;
  const unsigned at = unsigned(__cvta_generic_to_shared(&barrier)), to = unsigned(__cvta_generic_to_shared(tile));
  for (unsigned i = threadIdx.x; i < kTileBytes / sizeof(int); i += blockDim.x) tile[i] = -1;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    copy = original;
    if (kShared) {
      change<true>(&copy, c);
    } else {
      *made = original;
      __threadfence();
      change<false>(made, c);
      asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    }
  }
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x >= 32) return;
  if (kShared)
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(made), "r"(unsigned(__cvta_generic_to_shared(&copy))) : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(made) : "memory");
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(c.bytes) : "memory");
    if (c.rank == 1) {
      asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(to), "l"(made), "r"(at), "r"(c.x) : "memory");
    } else {
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(made), "r"(at), "r"(c.x), "r"(c.y) : "memory");
    }
  }
  unsigned done = 0;
  while (done == 0) asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(at) : "memory");
  for (unsigned i = threadIdx.x; i < kTileBytes / sizeof(int); i += 32) out[i] = tile[i];
}

void test(const char* name, const CUtensorMap& original, int* out, CUtensorMap* made, Change c, const std::vector<int>& tensor, std::size_t offset) {
  const unsigned rows = c.rank == 1 ? 1 : (c.boxHeight + c.step - 1) / c.step;
  c.bytes = c.boxWidth * rows * unsigned(sizeof(int));
  std::vector<int> wanted(kTileBytes / sizeof(int), -1);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < c.boxWidth; ++column) {
      const int x = c.x + int(column), y = c.rank == 1 ? 0 : c.y + int(row * c.step);
      const bool inside = x >= 0 && x < int(c.width) && (c.rank == 1 || (y >= 0 && y < int(c.height)));
      std::size_t at = std::size_t(row) * c.boxWidth + column;
      if (c.swizzle != 0) at ^= at * 4 / 128 % 4 * 4;  // by 64 bytes: pieces of four numbers, by the number of the line of 128 bytes
      wanted[at] = inside ? tensor[offset + std::size_t(y) * (c.stride / sizeof(int)) + std::size_t(x)] : 0;
    }
  copyByChanged<true><<<1, 64>>>(original, made, c, out);
  CHECK(cudaGetLastError());
  check::equal((std::string(name) + ", in shared memory").c_str(), check::toHost(out, wanted.size()), wanted);
  CHECK(cudaMemset(made, 0, sizeof *made));
  copyByChanged<false><<<1, 64>>>(original, made, c, out);
  CHECK(cudaGetLastError());
  check::equal((std::string(name) + ", in global memory").c_str(), check::toHost(out, wanted.size()), wanted);
}

// What is no map yet: the field is written, and nothing else happens.
__global__ void changeNone(int* out) {
  __shared__ __align__(128) int words[32];
  words[threadIdx.x] = 0;
  __syncwarp();
  if (threadIdx.x == 0) asm volatile("tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], 2;" ::"r"(unsigned(__cvta_generic_to_shared(words))) : "memory");
  if (threadIdx.x == 0) *out = 1;
}

int main() {
  CHECK(cudaFree(nullptr));
  std::vector<int> tensor(kWidth * kHeight);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = int(i) * 7 + 1;
  int* const in = check::toDevice(tensor);
  int* const out = check::deviceArray<int>(kTileBytes / sizeof(int));
  CUtensorMap* const made = check::deviceArray<CUtensorMap>(1);
  CUtensorMap original;
  const cuuint64_t dims[] = {kWidth, kHeight}, strides[] = {kWidth * sizeof(int)};
  const cuuint32_t box[] = {kBoxWidth, kBoxHeight}, ones[] = {1, 1};
  DRIVER(cuTensorMapEncodeTiled, &original, CU_TENSOR_MAP_DATA_TYPE_INT32, 2u, in, dims, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  const Change same{in, 2, kBoxWidth, kBoxHeight, kWidth, kHeight, 1, 0, kWidth * sizeof(int), 8, 3, 0};
  test("the same", original, out, made, same, tensor, 0);
  Change c = same;
  c.address = in + 4 * kWidth + 16;
  test("another address", original, out, made, c, tensor, 4 * kWidth + 16);
  c = same;
  c.width = 20, c.height = 5;
  test("smaller", original, out, made, c, tensor, 0);
  c.boxWidth = 32, c.boxHeight = 20, c.x = -4, c.y = -2;
  test("another box, and what lies outside", original, out, made, c, tensor, 0);
  c = same;
  c.stride = 2 * kWidth * sizeof(int), c.height = kHeight / 2;
  test("every second row", original, out, made, c, tensor, 0);
  c = same;
  c.boxHeight = 9, c.step = 3;
  test("steps", original, out, made, c, tensor, 0);
  c = same;
  c.boxHeight = 16, c.swizzle = 2;
  test("swizzled by 64 bytes", original, out, made, c, tensor, 0);
  c = same;
  c.rank = 1, c.boxWidth = 64, c.x = 40;
  test("of one dimension", original, out, made, c, tensor, 0);
  changeNone<<<1, 32>>>(out);
  CHECK(cudaDeviceSynchronize());
  check::equal("what is no map", check::toHost(out, 1), std::vector<int>{1});
  for (void* each : {static_cast<void*>(in), static_cast<void*>(out), static_cast<void*>(made)}) CHECK(cudaFree(each));
  return check::done();
}
