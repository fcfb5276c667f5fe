// malloc and free on the device, new and delete, memory handed from kernel to kernel, growing a vector, heap limit, exhaustion gives
// nullptr and leaves everything else alone.
#include "check.h"

struct Row {
  int length;
  int* values;
};

__global__ void allocate(Row* rows, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int length = 1 + i % 37;
  rows[i].length = length;
  rows[i].values = static_cast<int*>(malloc(length * sizeof(int)));
  if (!rows[i].values) return;
  for (int k = 0; k < length; ++k) rows[i].values[k] = i * 100 + k;
}

__global__ void useAndFree(Row* rows, int n, long long* sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long sum = 0;
  for (int k = 0; k < rows[i].length; ++k) sum += rows[i].values[k];
  sums[i] = sum;
  free(rows[i].values);
}

template <class T>
class Vector {
 public:
  __device__ ~Vector() { delete[] data_; }
  __device__ void push(T value) {
    if (size_ == capacity_) {
      capacity_ = capacity_ ? capacity_ * 2 : 2;
      T* bigger = new T[capacity_];
      for (int i = 0; i < size_; ++i) bigger[i] = data_[i];
      delete[] data_;
      data_ = bigger;
    }
    data_[size_++] = value;
  }
  __device__ int size() const { return size_; }
  __device__ T operator[](int i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
  int size_ = 0, capacity_ = 0;
};

__global__ void primes(int* counts, int* last, int limit) {
  Vector<int> found;
  for (int c = 2; c < limit + int(threadIdx.x); ++c) {
    bool prime = true;
    for (int k = 0; k < found.size() && found[k] * found[k] <= c; ++k)
      if (c % found[k] == 0) prime = false;
    if (prime) found.push(c);
  }
  counts[threadIdx.x] = found.size();
  last[threadIdx.x] = found[found.size() - 1];
}

__global__ void exhaust(int* got, int* wrong) {
  // More than any heap set here; then small pieces work again.
  void* huge = malloc(size_t(1) << 40);
  if (huge) atomicAdd(wrong, 1);
  free(nullptr);
  int* small = static_cast<int*>(malloc(64));
  if (!small || reinterpret_cast<size_t>(small) % 16) atomicAdd(wrong, 1);
  if (small) {
    memset(small, 0x11, 64);
    *got = small[15];
    free(small);
  }
}

int main() {
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
  size_t limit = 0;
  CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  EXPECT(limit >= 16u << 20);
  const int n = 2000;
  Row* rows = check::deviceArray<Row>(n);
  long long* sums = check::deviceArray<long long>(n);
  std::vector<long long> wanted(n);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 1 + i % 37; ++k) wanted[i] += i * 100 + k;
  for (int round = 0; round < 3; ++round) {
    allocate<<<(n + 63) / 64, 64>>>(rows, n);
    CHECK(cudaGetLastError());
    useAndFree<<<(n + 95) / 96, 96>>>(rows, n, sums);
    CHECK(cudaGetLastError());
    check::equal("sums", check::toHost(sums, n), wanted);
  }
  int* out = check::deviceArray<int>(64);
  primes<<<1, 32>>>(out, out + 32, 300);
  CHECK(cudaGetLastError());
  std::vector<int> counts(64);
  for (int t = 0; t < 32; ++t)
    for (int c = 2; c < 300 + t; ++c) {
      bool prime = true;
      for (int d = 2; d * d <= c; ++d) prime &= c % d != 0;
      if (prime) {
        ++counts[t];
        counts[32 + t] = c;
      }
    }
  check::equal("primes", check::toHost(out, 64), counts);
  CHECK(cudaMemset(out, 0, 8));
  exhaust<<<1, 1>>>(out, out + 1);
  CHECK(cudaGetLastError());
  check::equal("exhausted", check::toHost(out, 2), std::vector<int>{0x11111111, 0});
  return check::done();
}
