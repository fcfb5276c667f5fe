// Products of matrices in shared memory by warpgroups (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"), as kernels written for Hopper have them: one warp brings tiles by tensor maps into
// buffers with barrier objects, two warpgroups multiply what is there, registers are handed from one to the others. Also: A in registers, what lies transposed, integers, 8-bit floats, nothing to add to.
// All numbers are small whole ones, so that sums are exact in whatever order they are made.
// known-gap-check: products with matrices in shared memory are not done where accesses are checked
// nvcc: -gencode arch=compute_90a,code=compute_90a
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>

#include "driver.h"

// --- PTX

__device__ unsigned sharedAddress(const void* pointer) { return unsigned(__cvta_generic_to_shared(pointer)); }
__device__ void initBarrier(unsigned barrier, unsigned count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory"); }
__device__ void expectBytes(unsigned barrier, unsigned bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory"); }
__device__ void arrive(unsigned barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }
__device__ void waitFor(unsigned barrier, unsigned parity) {
  unsigned done = 0;
  while (done == 0)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
}
__device__ void loadTile(unsigned to, const CUtensorMap& map, int x, int y, unsigned barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y) : "memory");
}
__device__ void fenceProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commitProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
__device__ void waitForProducts() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory"); }

// Layouts of matrices in shared memory.
enum class Swizzle : unsigned { none = 0, by128 = 1, by64 = 2, by32 = 3 };
__device__ unsigned long long descriptorOf(unsigned address, unsigned leading, unsigned stride, Swizzle swizzle) {
  return (unsigned long long)((address & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16 | (unsigned long long)(stride >> 4) << 32 | (unsigned long long)swizzle << 62;
}

#define SIXTEEN(v, at) "+f"(v[at]), "+f"(v[at + 1]), "+f"(v[at + 2]), "+f"(v[at + 3]), "+f"(v[at + 4]), "+f"(v[at + 5]), "+f"(v[at + 6]), "+f"(v[at + 7]), \
                       "+f"(v[at + 8]), "+f"(v[at + 9]), "+f"(v[at + 10]), "+f"(v[at + 11]), "+f"(v[at + 12]), "+f"(v[at + 13]), "+f"(v[at + 14]), "+f"(v[at + 15])

// 64 by 128 by 16.
__device__ void multiply128(float (&d)[64], unsigned long long a, unsigned long long b, int adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, p, 1, 1, 0, 0;\n}"
      : SIXTEEN(d, 0), SIXTEEN(d, 16), SIXTEEN(d, 32), SIXTEEN(d, 48)
      : "l"(a), "l"(b), "r"(adds));
}

// --- A product of large matrices: blocks of 128 by 128, 64 along k at a time, in a ring of buffers.

constexpr int kTile = 128, kDeep = 64, kBuffers = 3, kConsumers = 2;
constexpr unsigned kTileBytes = kTile * kDeep * sizeof(__half);
constexpr unsigned kRingBytes = kBuffers * 2 * kTileBytes + 1024;

__global__ void __launch_bounds__(384) product(float* c, int columns, int depth, const __grid_constant__ CUtensorMap aMap, const __grid_constant__ CUtensorMap bMap) {
  extern __shared__ unsigned char raw[];
  __shared__ unsigned long long fullBarriers[kBuffers], emptyBarriers[kBuffers];
  const unsigned ring = (sharedAddress(raw) + 1023) / 1024 * 1024;
  const auto full = [&](int buffer) { return sharedAddress(&fullBarriers[buffer]); };
  const auto empty = [&](int buffer) { return sharedAddress(&emptyBarriers[buffer]); };
  const int group = int(threadIdx.x) / 128, steps = depth / kDeep;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kBuffers; ++i) {
      initBarrier(full(i), 1);
      initBarrier(empty(i), kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x != 0) return;
    for (int step = 0; step < steps; ++step) {
      const int buffer = step % kBuffers;
      if (step >= kBuffers) waitFor(empty(buffer), unsigned(step / kBuffers - 1) & 1);
      const unsigned a = ring + unsigned(buffer) * 2 * kTileBytes;
      expectBytes(full(buffer), 2 * kTileBytes);
      loadTile(a, aMap, step * kDeep, int(blockIdx.y) * kTile, full(buffer));
      loadTile(a + kTileBytes, bMap, step * kDeep, int(blockIdx.x) * kTile, full(buffer));
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float d[64];
  for (float& value : d) value = -1;  // not added to
  const unsigned half = unsigned(group - 1) * kTileBytes / 2;
  for (int step = 0; step < steps; ++step) {
    const int buffer = step % kBuffers;
    waitFor(full(buffer), unsigned(step / kBuffers) & 1);
    const unsigned a = ring + unsigned(buffer) * 2 * kTileBytes + half, b = ring + unsigned(buffer) * 2 * kTileBytes + kTileBytes;
    // One warp is late, another gives the buffer back: the product is all four's.
    if (int(threadIdx.x) % 128 / 32 == step % 4) __nanosleep(1000);
    fenceProducts();
    for (int k = 0; k < kDeep / 16; ++k)
      multiply128(d, descriptorOf(a + unsigned(k) * 32, 16, 1024, Swizzle::by128), descriptorOf(b + unsigned(k) * 32, 16, 1024, Swizzle::by128), step + k);
    commitProducts();
    waitForProducts<0>();
    if (int(threadIdx.x) % 128 == (step + 1) % 4 * 32) arrive(empty(buffer));
  }
  const int warp = int(threadIdx.x) % 128 / 32, lane = int(threadIdx.x) % 32;
  for (int i = 0; i < 64; ++i) {
    const int row = int(blockIdx.y) * kTile + (group - 1) * 64 + warp * 16 + lane / 4 + i / 2 % 2 * 8;
    const int column = int(blockIdx.x) * kTile + i / 4 * 8 + lane % 4 * 2 + i % 2;
    c[std::size_t(row) * columns + column] = d[i];
  }
}

CUtensorMap mapOf(const __half* matrix, int rows, int depth) {
  CUtensorMap map;
  const cuuint64_t dims[] = {cuuint64_t(depth), cuuint64_t(rows)}, strides[] = {depth * sizeof(__half)};
  const cuuint32_t box[] = {kDeep, kTile}, ones[] = {1, 1};
  DRIVER(cuTensorMapEncodeTiled, &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2u, const_cast<__half*>(matrix), dims, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
     CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

int smallNumber(int i, int seed) { return int((unsigned(i) * 2654435761u + unsigned(seed) * 40503u) >> 20) % 7 - 3; }

void testLarge(int rows, int columns, int depth) {
  std::vector<__half> a(std::size_t(rows) * depth), b(std::size_t(columns) * depth);
  std::vector<int> an(a.size()), bn(b.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = __float2half(float(an[i] = smallNumber(int(i), 1)));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = __float2half(float(bn[i] = smallNumber(int(i), 2)));
  __half *const da = check::toDevice(a), *const db = check::toDevice(b);
  float* const dc = check::deviceArray<float>(std::size_t(rows) * columns);
  CHECK(cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, kRingBytes));
  product<<<dim3(columns / kTile, rows / kTile), 384, kRingBytes>>>(dc, columns, depth, mapOf(da, rows, depth), mapOf(db, columns, depth));
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<float> wanted(std::size_t(rows) * columns);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      int sum = 0;
      for (int k = 0; k < depth; ++k) sum += an[std::size_t(row) * depth + k] * bn[std::size_t(column) * depth + k];
      wanted[std::size_t(row) * columns + column] = float(sum);
    }
  check::equal("product", check::toHost(dc, wanted.size()), wanted);
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
}

// --- One product of a warpgroup, 64 by 16: every kind.

enum class Kind { inRegisters, transposed, integers, saturated, floats8, negative };

__device__ void multiplyOnce(Kind kind, float (&d)[8], int (&sums)[8], const unsigned (&a)[4], unsigned long long descA, unsigned long long descB) {
#define EIGHT "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define FLOATS "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define INTEGERS "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3]), "+r"(sums[4]), "+r"(sums[5]), "+r"(sums[6]), "+r"(sums[7])
#define ADDS(text) "{\n.reg .pred p;\nsetp.eq.u32 p, 0, 0;\n" text "\n}"
  switch (kind) {
    case Kind::inRegisters:
      asm volatile(ADDS("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " EIGHT ", {%8, %9, %10, %11}, %12, p, 1, 1, 0;") : FLOATS : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descB));
      break;
    case Kind::transposed:
      asm volatile(ADDS("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " EIGHT ", %8, %9, p, 1, 1, 1, 1;") : FLOATS : "l"(descA), "l"(descB));
      break;
    case Kind::integers:
      asm volatile(ADDS("wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.u8 " EIGHT ", %8, %9, p;") : INTEGERS : "l"(descA), "l"(descB));
      break;
    case Kind::saturated:
      asm volatile(ADDS("wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.u8.satfinite " EIGHT ", %8, %9, p;") : INTEGERS : "l"(descA), "l"(descB));
      break;
    case Kind::floats8:
      asm volatile(ADDS("wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e5m2 " EIGHT ", %8, %9, p, 1, 1;") : FLOATS : "l"(descA), "l"(descB));
      break;
    case Kind::negative:
      asm volatile(ADDS("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " EIGHT ", %8, %9, p, -1, 1, 0, 0;") : FLOATS : "l"(descA), "l"(descB));
      break;
  }
}

// `a` has 64 rows of 32 bytes along k, `b` 16. Where they are transposed, 16 rows along k of 64 and 16 numbers. Without swizzling: eight rows of 16 bytes are together.
__global__ void __launch_bounds__(128) single(Kind kind, const unsigned char* a, const unsigned char* b, float* floats, int* integers) {
  __shared__ __align__(128) unsigned char aTile[64 * 32], bTile[16 * 32];
  const int thread = int(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const bool transposed = kind == Kind::transposed;
  // Units of 16 bytes. K-major: units of one row are 128 bytes apart, eight rows 256. Transposed: eight numbers along k are together, then the next eight numbers of M or N, then eight more along k.
  for (int unit = thread; unit < 64 * 2; unit += 128) {
    const int row = transposed ? unit / 8 : unit / 2, part = transposed ? unit % 8 : unit % 2;
    const int to = transposed ? row % 8 * 16 + part * 128 + row / 8 * 1024 : row % 8 * 16 + part * 128 + row / 8 * 256;
    std::memcpy(aTile + to, a + unit * 16, 16);
  }
  for (int unit = thread; unit < 16 * 2; unit += 128) {
    const int row = unit / 2, part = unit % 2;
    const int to = row % 8 * 16 + part * 128 + row / 8 * 256;
    std::memcpy(bTile + to, b + unit * 16, 16);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[8];
  int sums[8];
  for (int i = 0; i < 8; ++i) {
    d[i] = float(thread + i);
    sums[i] = thread % 2 == 0 ? 0x7fffff00 : -thread * 100;
  }
  unsigned registers[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&registers[i], a + (warp * 16 + lane / 4 + i % 2 * 8) * 32 + i / 2 * 16 + lane % 4 * 4, 4);
  fenceProducts();
  multiplyOnce(kind, d, sums, registers, descriptorOf(sharedAddress(aTile), transposed ? 1024 : 128, transposed ? 128 : 256, Swizzle::none),
               descriptorOf(sharedAddress(bTile), transposed ? 256 : 128, transposed ? 128 : 256, Swizzle::none));
  commitProducts();
  waitForProducts<0>();
  for (int i = 0; i < 8; ++i) {
    const int at = (warp * 16 + lane / 4 + i / 2 % 2 * 8) * 16 + i / 4 * 8 + lane % 4 * 2 + i % 2;
    floats[at] = d[i];
    integers[at] = sums[i];
  }
}

void testSingle(Kind kind, const char* name) {
  const bool isInteger = kind == Kind::integers || kind == Kind::saturated, isByte = isInteger || kind == Kind::floats8, transposed = kind == Kind::transposed;
  const int depth = isByte ? 32 : 16;
  std::vector<unsigned char> a(64 * 32), b(16 * 32);
  std::vector<int> an(64 * depth), bn(16 * depth);
  const auto put = [&](std::vector<unsigned char>& bytes, std::size_t at, int value, bool second) {
    if (isInteger) {
      bytes[at] = (unsigned char)(value);
    } else if (isByte) {
      bytes[at] = second ? __nv_fp8_e5m2(float(value)).__x : __nv_fp8_e4m3(float(value)).__x;
    } else {
      const __half number = __float2half(float(value));
      std::memcpy(&bytes[at * 2], &number, 2);
    }
  };
  for (int row = 0; row < 64; ++row)
    for (int k = 0; k < depth; ++k) put(a, std::size_t(transposed ? k * 64 + row : row * depth + k), an[row * depth + k] = isInteger ? smallNumber(row * depth + k, 3) * 40 : smallNumber(row * depth + k, 3), false);
  for (int column = 0; column < 16; ++column)
    for (int k = 0; k < depth; ++k)
      put(b, std::size_t(transposed ? k * 16 + column : column * depth + k), bn[column * depth + k] = isInteger ? 255 - (column + k) % 9 : smallNumber(column * depth + k, 4) / 2, true);
  unsigned char *const da = check::toDevice(a), *const db = check::toDevice(b);
  float* const floats = check::deviceArray<float>(64 * 16);
  int* const integers = check::deviceArray<int>(64 * 16);
  single<<<1, 128>>>(kind, da, db, floats, integers);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<float> wantedFloats(64 * 16);
  std::vector<int> wantedIntegers(64 * 16);
  for (int row = 0; row < 64; ++row)
    for (int column = 0; column < 16; ++column) {
      const int thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2, i = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
      long long sum = 0;
      for (int k = 0; k < depth; ++k) sum += an[row * depth + k] * bn[column * depth + k];
      const long long begin = thread % 2 == 0 ? 0x7fffff00 : -thread * 100;
      wantedFloats[row * 16 + column] = float(thread + i) + (isInteger ? 0 : kind == Kind::negative ? -float(sum) : float(sum));
      wantedIntegers[row * 16 + column] = int(unsigned(begin));
      if (isInteger) wantedIntegers[row * 16 + column] = kind == Kind::saturated ? int(std::min(begin + sum, 0x7fffffffLL)) : int(unsigned(begin + sum));
    }
  check::equal((std::string(name) + ", floats").c_str(), check::toHost(floats, wantedFloats.size()), wantedFloats);
  check::equal((std::string(name) + ", integers").c_str(), check::toHost(integers, wantedIntegers.size()), wantedIntegers);
  for (void* each : {static_cast<void*>(da), static_cast<void*>(db), static_cast<void*>(floats), static_cast<void*>(integers)}) CHECK(cudaFree(each));
}

int main() {
  CHECK(cudaFree(nullptr));
  testLarge(128, 128, 64);
  testLarge(256, 384, 1024);
  testSingle(Kind::inRegisters, "A in registers");
  testSingle(Kind::transposed, "transposed");
  testSingle(Kind::integers, "integers");
  testSingle(Kind::saturated, "integers that saturate");
  testSingle(Kind::floats8, "8-bit floats");
  testSingle(Kind::negative, "the negative");
  return check::done();
}
