// Local arrays with indices known only at run time in kernels with shuffles, votes and barriers: bytes, integers, doubles, structures,
// a float4 as four floats; kept across barriers, changed in branches and loops, handed to functions that are not inlined. Sine and
// cosine of huge arguments (which reduce them with a local array) between shuffles. Such as are aligned to 256 bytes.
#include <algorithm>

#include "check.h"

constexpr unsigned kFull = 0xffffffffu;

__host__ __device__ inline void insert(int* best, int n, int v) {
  int i = n - 1;
  if (v >= best[i]) return;
  for (; i > 0 && best[i - 1] > v; --i) best[i] = best[i - 1];
  best[i] = v;
}

// Each thread keeps its least eight.
__global__ void least(const int* x, int each, int* out) {
  int best[8], t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < 8; ++i) best[i] = 1 << 20;
  for (int i = 0; i < each; ++i) insert(best, 8, x[t * each + i]);
  int sum = best[t * 5 % 7];
  for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(kFull, sum, k);
  for (int i = 0; i < 8; ++i) out[t * 9 + i] = best[i];
  out[t * 9 + 8] = sum;
}

// Counts in bytes, summed by warps and then the block; the counts are looked at again behind the barriers.
__global__ void count(const unsigned char* x, int each, unsigned* out) {
  __shared__ unsigned total[16];
  char counts[16];
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < 16; ++i) counts[i] = 0;
  for (int i = 0; i < each; ++i) ++counts[x[t * each + i] & 15];
  if (threadIdx.x < 16) total[threadIdx.x] = 0;
  __syncthreads();
  for (int i = 0; i < 16; ++i) {
    int v = counts[i];
    for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(kFull, v, k);
    if (threadIdx.x % 32 == 0) atomicAdd(&total[i], v);
  }
  __syncthreads();
  unsigned s = total[threadIdx.x % 16];
  for (int i = 0; i < 16; ++i) s = s * 31 + counts[(i + threadIdx.x) & 15];
  out[t] = s;
}

struct Item {
  double weight;
  int key;
  short more[3];
};

__device__ __noinline__ double turn(double* a, int n, int by) {
  double last = a[(by + n - 1) % n];
  for (int i = n - 1; i > 0; --i) a[(by + i) % n] = a[(by + i - 1) % n];
  return a[by % n] = last;
}

__device__ __noinline__ int bump(Item* items, int which, int by) {
  items[which].key += by;
  items[which].more[by % 3] = short(items[(which + 1) % 3].key);
  return items[which].more[(by + 1) % 3];
}

// Everything at once, in blocks of 128.
__global__ void mixed(const int* x, double* out) {
  __shared__ double tile[128];
  double a[5];
  Item items[3];
  int t = blockIdx.x * blockDim.x + threadIdx.x, v = x[t];
  float4 four = make_float4(v, v + 1, v + 2, v + 3);
  for (int i = 0; i < 5; ++i) a[i] = v * (i + 1);
  for (int i = 0; i < 3; ++i) items[i] = {v + i * 0.5, v - i, {short(i), short(v), short(v + i)}};
  tile[threadIdx.x] = a[v % 5];
  __syncthreads();
  double other = tile[(threadIdx.x + 7) % 128];
  if (v & 1) {
    for (int i = 0; i < v % 7; ++i) a[(v + i) % 5] += other;
    (&four.x)[v % 4] = float(v % 9);
  } else {
    double* p = &a[v / 2 % 3];
    for (int i = 0; i < 3; ++i) p[i] -= other;
    items[v / 2 % 3].weight = p[v % 3];
  }
  double got = turn(a, 5, v % 6);
  int old = bump(items, v % 3, v % 4);
  unsigned votes = __ballot_sync(kFull, a[v % 5] > 100);
  __syncthreads();
  tile[threadIdx.x] = items[v / 3 % 3].weight + (&four.x)[v / 5 % 4];
  __syncthreads();
  double sum = tile[127 - threadIdx.x] + got + old + __popc(votes);
  for (int i = 0; i < 5; ++i) sum += a[i] * (i + 2) + __shfl_xor_sync(kFull, a[(v + i) % 5], 1 << i);
  for (int i = 0; i < 3; ++i) sum += items[i].key * (i + 1) + items[i].more[(v + i) % 3];
  out[t] = sum;
}

void mixedOnHost(const int* x, double* out) {  // one block
  struct Thread {
    double a[5], other;
    Item items[3];
    float four[4];
    double got;
    int old;
  };
  std::vector<Thread> all(128);
  std::vector<double> tile(128);
  for (int t = 0; t < 128; ++t) {
    int v = x[t];
    for (int i = 0; i < 4; ++i) all[t].four[i] = float(v + i);
    for (int i = 0; i < 5; ++i) all[t].a[i] = v * (i + 1);
    for (int i = 0; i < 3; ++i) all[t].items[i] = {v + i * 0.5, v - i, {short(i), short(v), short(v + i)}};
    tile[t] = all[t].a[v % 5];
  }
  for (int t = 0; t < 128; ++t) {
    Thread& h = all[t];
    int v = x[t], w = v % 3, by = v % 4;
    double other = tile[(t + 7) % 128];
    if (v & 1) {
      for (int i = 0; i < v % 7; ++i) h.a[(v + i) % 5] += other;
      h.four[v % 4] = float(v % 9);
    } else {
      for (int i = 0; i < 3; ++i) h.a[v / 2 % 3 + i] -= other;
      h.items[v / 2 % 3].weight = h.a[v / 2 % 3 + v % 3];
    }
    std::rotate(h.a, h.a + 4, h.a + 5);  // wherever it begins, turning a ring by one is turning it by one
    h.got = h.a[v % 6 % 5];
    h.items[w].key += by;
    h.items[w].more[by % 3] = short(h.items[(w + 1) % 3].key);
    h.old = h.items[w].more[(by + 1) % 3];
  }
  for (int t = 0; t < 128; ++t) tile[t] = all[t].items[x[t] / 3 % 3].weight + all[t].four[x[t] / 5 % 4];
  for (int t = 0; t < 128; ++t) {
    Thread& h = all[t];
    int v = x[t], votes = 0;
    for (int l = t / 32 * 32; l < t / 32 * 32 + 32; ++l) votes += all[l].a[x[l] % 5] > 100;
    double sum = tile[127 - t] + h.got + h.old + votes;
    for (int i = 0; i < 5; ++i) sum += h.a[i] * (i + 2) + all[t ^ 1 << i].a[(x[t ^ 1 << i] + i) % 5];
    for (int i = 0; i < 3; ++i) sum += h.items[i].key * (i + 1) + h.items[i].more[(v + i) % 3];
    out[t] = sum;
  }
}

__global__ void waves(const float* x, float* sine, float* cosine, double* exact) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  float v = __shfl_xor_sync(kFull, x[t], 3);
  float s = sinf(v), c = threadIdx.x % 3 ? cosf(v) : 2;
  sine[t] = __shfl_xor_sync(kFull, s, 3);
  __syncthreads();
  cosine[t] = __shfl_xor_sync(kFull, c, 3);
  double d;
  if (threadIdx.x & 4)
    d = __shfl_sync(0xf0f0f0f0u, sin(double(v)), (t % 32) ^ 3);
  else
    d = __shfl_sync(0x0f0f0f0fu, cos(double(v)), (t % 32) ^ 3);
  exact[t] = d;
}

struct alignas(256) Wide {
  int values[8];
};

// Where each thread's is: at a multiple of what it asks for.
template <bool kShuffles>
__global__ void aligned(const int* x, unsigned long long* where, int* out) {
  Wide wide;
  int t = blockIdx.x * blockDim.x + threadIdx.x, v = x[t] & 7;
  for (int i = 0; i < 8; ++i) wide.values[i] = v + i;
  where[t] = reinterpret_cast<unsigned long long>(&wide);
  out[t] = kShuffles ? __shfl_xor_sync(kFull, wide.values[v], 1) : wide.values[v];
}

int main() {
  const int threads = 2048, each = 40;
  check::Random random(73);
  std::vector<int> x(threads * each), best(threads * 9);
  for (int& v : x) v = int(random.below(1000));
  for (int t = 0; t < threads; ++t) {
    std::vector<int> mine(&x[t * each], &x[t * each] + each);
    std::sort(mine.begin(), mine.end());
    std::copy(mine.begin(), mine.begin() + 8, &best[t * 9]);
    for (int l = t / 32 * 32; l < t / 32 * 32 + 32; ++l) best[l * 9 + 8] += mine[t * 5 % 7];
  }
  int *dx = check::toDevice(x), *dbest = check::deviceArray<int>(threads * 9);
  std::vector<unsigned char> bytes(threads * 100);
  for (auto& b : bytes) b = static_cast<unsigned char>(random.next());
  unsigned char* dbytes = check::toDevice(bytes);
  unsigned* sums = check::deviceArray<unsigned>(threads);
  for (int block : {32, 128, 256}) {
    CHECK(cudaMemset(dbest, 0, threads * 9 * sizeof(int)));
    least<<<threads / block, block>>>(dx, each, dbest);
    CHECK(cudaGetLastError());
    check::equal("least", check::toHost(dbest, threads * 9), best);
    count<<<threads / block, block>>>(dbytes, 100, sums);
    CHECK(cudaGetLastError());
    std::vector<unsigned> counts(threads * 16), total(threads / block * 16), wanted(threads);
    for (int i = 0; i < threads * 100; ++i) ++counts[i / 100 * 16 + bytes[i] % 16], ++total[i / 100 / block * 16 + bytes[i] % 16];
    for (int t = 0; t < threads; ++t) {
      wanted[t] = total[t / block * 16 + t % block % 16];
      for (int i = 0; i < 16; ++i) wanted[t] = wanted[t] * 31 + counts[t * 16 + (i + t % block) % 16];
    }
    check::equal("counts", check::toHost(sums, threads), wanted);
  }
  unsigned long long* where = check::deviceArray<unsigned long long>(threads);
  for (bool shuffles : {false, true}) {
    (shuffles ? aligned<true> : aligned<false>)<<<threads / 64, 64>>>(dx, where, dbest);
    CHECK(cudaGetLastError());
    std::vector<int> wanted(threads);
    for (int t = 0; t < threads; ++t) wanted[t] = (x[shuffles ? t ^ 1 : t] & 7) * 2;
    check::equal("values of wide ones", check::toHost(dbest, threads), wanted);
    std::vector<unsigned long long> beyond = check::toHost(where, threads);
    for (unsigned long long& address : beyond) address %= 256;
    check::equal("addresses by 256", beyond, std::vector<unsigned long long>(threads));
  }
  double* out = check::deviceArray<double>(threads);
  mixed<<<threads / 128, 128>>>(dx, out);
  CHECK(cudaGetLastError());
  std::vector<double> wanted(threads);
  for (int b = 0; b < threads / 128; ++b) mixedOnHost(&x[b * 128], &wanted[b * 128]);
  check::equal("mixed", check::toHost(out, threads), wanted);

  std::vector<float> angles(threads), sines(threads), cosines(threads);
  for (int i = 0; i < threads; ++i) angles[i] = float(random.uniform(-2, 2) * std::pow(10., i % 38));
  for (int i = 0; i < threads; ++i) {
    sines[i] = float(std::sin(double(angles[i])));
    cosines[i] = (i ^ 3) % 128 % 3 ? float(std::cos(double(angles[i]))) : 2;
    wanted[i] = i & 4 ? std::sin(double(angles[i])) : std::cos(double(angles[i]));
  }
  float *dangles = check::toDevice(angles), *dsine = check::deviceArray<float>(threads), *dcosine = check::deviceArray<float>(threads);
  waves<<<threads / 128, 128>>>(dangles, dsine, dcosine, out);
  CHECK(cudaGetLastError());
  check::near("sine", check::toHost(dsine, threads), sines, 4e-7);
  check::near("cosine", check::toHost(dcosine, threads), cosines, 4e-7);
  check::near("in double", check::toHost(out, threads), wanted, 1e-15);
  return check::done();
}
