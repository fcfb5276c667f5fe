// What the programs here share: stop at an unexpected CUDA error, compare with the reference, say PASS. CUDA runtime only.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// In every CUDA runtime, in no header of the toolkit's.
extern "C" cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t* id);

namespace check {

inline int failures = 0;

inline void cuda(cudaError_t error, const char* what, const char* file, int line) {
  if (error == cudaSuccess) return;
  std::printf("%s:%d: %s: %s (%s)\n", file, line, what, cudaGetErrorName(error), cudaGetErrorString(error));
  std::fflush(stdout);
  std::_Exit(1);
}

inline void expect(bool condition, const char* what, const char* file, int line) {
  if (condition) return;
  std::printf("%s:%d: not so: %s\n", file, line, what);
  ++failures;
}

inline void expectError(cudaError_t got, cudaError_t wanted, const char* what, const char* file, int line) {
  if (got == wanted) return;
  std::printf("%s:%d: %s: %s instead of %s\n", file, line, what, cudaGetErrorName(got), cudaGetErrorName(wanted));
  ++failures;
}

// Bit for bit; names the first element that differs.
template <class T>
void equal(const char* name, const T* got, const T* wanted, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::memcmp(&got[i], &wanted[i], sizeof(T)) == 0) continue;
    unsigned long long g = 0, w = 0;
    std::memcpy(&g, &got[i], sizeof(T) < 8 ? sizeof(T) : 8);
    std::memcpy(&w, &wanted[i], sizeof(T) < 8 ? sizeof(T) : 8);
    std::printf("%s[%zu] is 0x%llx, should be 0x%llx\n", name, i, g, w);
    ++failures;
    return;
  }
}

template <class T>
void equal(const char* name, const std::vector<T>& got, const std::vector<T>& wanted) {
  if (got.size() != wanted.size()) {
    std::printf("%s has %zu elements, should have %zu\n", name, got.size(), wanted.size());
    ++failures;
    return;
  }
  equal(name, got.data(), wanted.data(), got.size());
}

// |got - wanted| <= absolute + relative * |wanted|; a NaN matches a NaN only.
inline bool near(const char* name, std::size_t index, double got, double wanted, double relative, double absolute = 0) {
  if (std::isnan(wanted) ? std::isnan(got) : (got == wanted || std::fabs(got - wanted) <= absolute + relative * std::fabs(wanted)))
    return true;
  std::printf("%s[%zu] is %.17g, should be %.17g within %g relative, %g absolute\n", name, index, got, wanted, relative, absolute);
  ++failures;
  return false;
}

template <class T, class U>
void near(const char* name, const std::vector<T>& got, const std::vector<U>& wanted, double relative, double absolute = 0) {
  if (got.size() != wanted.size()) {
    std::printf("%s has %zu elements, should have %zu\n", name, got.size(), wanted.size());
    ++failures;
    return;
  }
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!near(name, i, double(got[i]), double(wanted[i]), relative, absolute)) return;
}

// Whether the CUDA runtime is Rouse's. For what CUDA leaves undefined and Rouse does not, handles of objects that are no more for one: it must
// not be tried with another runtime. Asks for an export table by a number that only Rouse's runtime has; any other refuses it, by the
// same call. What another thread or a capture does is not touched; the thread's last error is forgotten.
inline bool throughRouse() {
  static const bool is = [] {
    const cudaUUID_t id = {{'r', 'o', 'u', 's', 'e', ' ', 'r', 'u', 'n', 't', 'i', 'm', 'e', 0, 0, 0}};
    const void* table = nullptr;
    const bool found = cudaGetExportTable(&table, &id) == cudaSuccess && table != nullptr;
    (void)cudaGetLastError();
    return found;
  }();
  return is;
}

// Whether the current device is Rouse's CPU device. For kernels that a GPU need not run to their end, or not to one result (lanes counted on to
// stay in step, masks that name lanes which do not come), that programs contain all the same, and that the CPU device runs as they were meant.
inline bool onCpuDevice() {
  if (!throughRouse()) return false;
  int device = 0;
  cudaDeviceProp properties;
  cuda(cudaGetDevice(&device), "cudaGetDevice", __FILE__, __LINE__);
  cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties", __FILE__, __LINE__);
  return std::string(properties.name) == "Rouse CPU Device";
}

// The last statement of main.
inline int done() {
  if (failures == 0) std::printf("PASS\n");
  std::fflush(stdout);
  return failures == 0 ? 0 : 1;
}

// SplitMix64: the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  std::uint32_t below(std::uint32_t limit) { return std::uint32_t((next() >> 32) * limit >> 32); }
  // In [low, high), a multiple of (high - low) / 2^24.
  double uniform(double low = 0, double high = 1) { return low + (high - low) * double(next() >> 40) / double(1 << 24); }

 private:
  std::uint64_t state_;
};

}  // namespace check

#define CHECK(...) ::check::cuda((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define EXPECT(...) ::check::expect(bool(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define EXPECT_ERROR(wanted, ...) ::check::expectError((__VA_ARGS__), wanted, #__VA_ARGS__, __FILE__, __LINE__)

namespace check {

template <class T>
T* toDevice(const std::vector<T>& host) {
  T* device = nullptr;
  CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
  CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

template <class T>
T* deviceArray(std::size_t count) {
  T* device = nullptr;
  CHECK(cudaMalloc(&device, count * sizeof(T)));
  return device;
}

// Waits for the legacy default stream, as cudaMemcpy does.
template <class T>
std::vector<T> toHost(const T* device, std::size_t count) {
  std::vector<T> host(count);
  CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

}  // namespace check
