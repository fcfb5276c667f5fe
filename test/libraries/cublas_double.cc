// A libcublas.so.13 that computes nothing: each function of the real one writes down its name and its arguments, as 64-bit words.
#include <cublas_api.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

struct Recorded {
  const char* name = "";
  std::vector<std::uint64_t> arguments;
};
std::vector<Recorded>& all() {
  static std::vector<Recorded> calls;
  return calls;
}

template <class T>
std::uint64_t word(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <const char* name, class... Arguments>
cublasStatus_t record(Arguments... arguments) {
  all().push_back({name, {word(arguments)...}});
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

// The exported function is that instance itself.
#define ROUSE_BLAS_CALL(name, ...)
#define ROUSE_BLAS_NAME(name, ...)                                                        \
  static constexpr char kName_##name[] = #name;                                           \
  extern "C" {                                                                            \
  using Type_##name = cublasStatus_t (*)(__VA_ARGS__);                                    \
  static Type_##name resolve_##name() { return &record<kName_##name, __VA_ARGS__>; }      \
  __attribute__((visibility("default"), ifunc("resolve_" #name))) cublasStatus_t name(__VA_ARGS__); \
  }
#include "server/library/cuda/blas_calls.inc"

ROUSE_BLAS_NAME(cublasSetStream_v2, cublasHandle_t, cudaStream_t)
ROUSE_BLAS_NAME(cublasSetWorkspace_v2, cublasHandle_t, void*, size_t)
ROUSE_BLAS_NAME(cublasSetPointerMode_v2, cublasHandle_t, cublasPointerMode_t)
ROUSE_BLAS_NAME(cublasSetAtomicsMode, cublasHandle_t, cublasAtomicsMode_t)
ROUSE_BLAS_NAME(cublasSetMathMode, cublasHandle_t, cublasMath_t)
ROUSE_BLAS_NAME(cublasSetSmCountTarget, cublasHandle_t, int)
ROUSE_BLAS_NAME(cublasDestroy_v2, cublasHandle_t)

extern "C" {

__attribute__((visibility("default"))) cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  static std::uint64_t next = 0x1000;
  *handle = reinterpret_cast<cublasHandle_t>(next += 0x10);
  all().push_back({"cublasCreate_v2", {next}});
  return CUBLAS_STATUS_SUCCESS;
}

__attribute__((visibility("default"))) const char* cublasGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS_OF_THE_DOUBLE"; }

// For tests: what has been called since the last time; the name, and so many arguments. Null: nothing more.
__attribute__((visibility("default"))) const char* rouse_double_take(std::uint64_t* arguments, std::size_t* count) {
  static std::vector<Recorded> taken;
  static std::size_t at = 0;
  if (at == taken.size()) {
    taken = std::move(all());
    all().clear();
    at = 0;
    if (taken.empty()) return nullptr;
  }
  const Recorded& call = taken[at++];
  *count = call.arguments.size();
  std::memcpy(arguments, call.arguments.data(), call.arguments.size() * sizeof(std::uint64_t));
  return call.name;
}
}
