// What the programs that use cuRAND share. Needs -lcurand.
#pragma once

#include <curand.h>

#include "check.h"

namespace rnd {

inline void ok(curandStatus_t status, const char* what, const char* file, int line) {
  if (status == CURAND_STATUS_SUCCESS) return;
  std::printf("%s:%d: %s: curandStatus_t %d\n", file, line, what, int(status));
  std::fflush(stdout);
  std::_Exit(1);
}

inline void expect(curandStatus_t got, curandStatus_t wanted, const char* what, const char* file, int line) {
  if (got == wanted) return;
  std::printf("%s:%d: %s: curandStatus_t %d instead of %d\n", file, line, what, int(got), int(wanted));
  ++check::failures;
}

#define RAND(...) ::rnd::ok((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define EXPECT_STATUS(wanted, ...) ::rnd::expect((__VA_ARGS__), wanted, #__VA_ARGS__, __FILE__, __LINE__)

inline curandGenerator_t generator(curandRngType_t type, bool onHost = false) {
  curandGenerator_t made = nullptr;
  RAND(onHost ? curandCreateGeneratorHost(&made, type) : curandCreateGenerator(&made, type));
  return made;
}

inline curandStatus_t generate(curandGenerator_t from, unsigned* to, size_t count) { return curandGenerate(from, to, count); }
inline curandStatus_t generate(curandGenerator_t from, unsigned long long* to, size_t count) { return curandGenerateLongLong(from, to, count); }
inline curandStatus_t generate(curandGenerator_t from, float* to, size_t count) { return curandGenerateUniform(from, to, count); }
inline curandStatus_t generate(curandGenerator_t from, double* to, size_t count) { return curandGenerateUniformDouble(from, to, count); }

// The next numbers, of a generator on the device or on the host.
template <class T, class Make>
std::vector<T> made(size_t count, bool onHost, Make&& make) {
  if (onHost) {
    std::vector<T> numbers(count);
    RAND(make(numbers.data()));
    return numbers;
  }
  T* const memory = check::deviceArray<T>(count);
  RAND(make(memory));
  CHECK(cudaDeviceSynchronize());
  std::vector<T> numbers = check::toHost(memory, count);
  CHECK(cudaFree(memory));
  return numbers;
}
template <class T>
std::vector<T> numbers(curandGenerator_t from, size_t count, bool onHost = false) {
  return made<T>(count, onHost, [&](T* to) { return generate(from, to, count); });
}

}  // namespace rnd
