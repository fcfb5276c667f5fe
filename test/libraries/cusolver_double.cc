// A libcusolver.so.12 that computes nothing: each function that is used of the real one writes down its name and its arguments, as 64-bit words.
#include <cusolverDn.h>
#include <cusolverSp.h>
#include <unistd.h>

#include <atomic>
#include <string_view>
#include <type_traits>
#include <utility>

#include "test/libraries/recorded.h"

using namespace rouse::recorded;

namespace {

// For tests: what calls from now on need to work in, in elements or bytes, and of the host's memory in bytes.
int needed = 100;
std::size_t neededOnHost = 0;
// Where sparse systems are singular.
int singularity = -1;

// For tests: while the word is 0, cusolverDnSpotrf does not return. Null: it does.
std::atomic<std::uint32_t*> held{nullptr};

// Numbers of 16 bytes by their first half.
using rouse::recorded::word;
std::uint64_t word(cuDoubleComplex value) { return rouse::recorded::word(value.x); }

template <class T>
struct IsObject : std::false_type {};
template <>
struct IsObject<cusolverDnHandle_t> : std::true_type {};
template <>
struct IsObject<cusolverDnParams_t> : std::true_type {};
template <>
struct IsObject<syevjInfo_t> : std::true_type {};
template <>
struct IsObject<gesvdjInfo_t> : std::true_type {};
template <>
struct IsObject<cusolverSpHandle_t> : std::true_type {};
template <>
struct IsObject<csrqrInfo_t> : std::true_type {};

// What a function hands back: a new object; how much memory a call needs.
template <class T>
void handBack(bool size, bool system, T* to) {
  if constexpr (IsObject<T>::value) *to = reinterpret_cast<T>(fresh());
  else if constexpr (std::is_same_v<T, int>) size ? void(*to = needed) : system ? void(*to = singularity) : void();
}
template <class T>
void handBack(bool, bool, T) {}

template <const char* name, class Function>
struct Recorder;
template <const char* name, class... Arguments>
struct Recorder<name, cusolverStatus_t(Arguments...)> {
  static cusolverStatus_t call(Arguments... arguments) {
    all().push_back({name, {word(arguments)...}});
    const bool size = std::string_view(name).ends_with("_bufferSize") || std::string_view(name).ends_with("BufferInfoBatched");
    (handBack(size, std::string_view(name).find("csrlsv") != std::string_view::npos, arguments), ...);
    // On the device, then on the host.
    if (std::uint32_t* const word = held; word != nullptr && std::string_view(name) == "cusolverDnSpotrf")
      while (std::atomic_ref(*word).load() == 0) usleep(100);
    std::size_t* told[] = {sizeOf(arguments)...};
    bool onHost = false;
    for (std::size_t* each : told)
      if (each != nullptr && size) *each = std::exchange(onHost, true) ? neededOnHost : static_cast<std::size_t>(needed);
    return static_cast<cusolverStatus_t>(refusing().name == name ? refusing().status : CUSOLVER_STATUS_SUCCESS);
  }
  static std::size_t* sizeOf(std::size_t* at) { return at; }
  template <class Other>
  static std::size_t* sizeOf(Other) {
    return nullptr;
  }
};

}  // namespace

ROUSE_EXPORTED void rouse_cusolver_double_hold(std::uint32_t* word) { held = word; }
ROUSE_EXPORTED void rouse_cusolver_double_singular(int where) { singularity = where; }
ROUSE_EXPORTED void rouse_cusolver_double_needs(int elements, std::size_t onHost) {
  needed = elements;
  neededOnHost = onHost;
}

// The exported function is that instance itself.
#define ROUSE_SOLVER_CALL(name, ...)
#define ROUSE_SOLVER_NAME(name)                                                                            \
  static constexpr char kName_##name[] = #name;                                                            \
  extern "C" {                                                                                             \
  using Type_##name = decltype(::name);                                                                    \
  static Type_##name* resolve_##name() { return &Recorder<kName_##name, Type_##name>::call; }              \
  __attribute__((visibility("default"), ifunc("resolve_" #name))) Type_##name name;                        \
  }
#include "server/library/cuda/solver_calls.inc"
ROUSE_SOLVER_NAME(cusolverDnCreate)
ROUSE_SOLVER_NAME(cusolverDnDestroy)
ROUSE_SOLVER_NAME(cusolverDnSetStream)
ROUSE_SOLVER_NAME(cusolverDnSetDeterministicMode)
ROUSE_SOLVER_NAME(cusolverDnSetMathMode)
ROUSE_SOLVER_NAME(cusolverDnSetEmulationStrategy)
ROUSE_SOLVER_NAME(cusolverDnCreateParams)
ROUSE_SOLVER_NAME(cusolverDnDestroyParams)
ROUSE_SOLVER_NAME(cusolverDnSetAdvOptions)
ROUSE_SOLVER_NAME(cusolverDnCreateSyevjInfo)
ROUSE_SOLVER_NAME(cusolverDnDestroySyevjInfo)
ROUSE_SOLVER_NAME(cusolverDnXsyevjSetTolerance)
ROUSE_SOLVER_NAME(cusolverDnXsyevjSetMaxSweeps)
ROUSE_SOLVER_NAME(cusolverDnXsyevjSetSortEig)
ROUSE_SOLVER_NAME(cusolverDnCreateGesvdjInfo)
ROUSE_SOLVER_NAME(cusolverDnDestroyGesvdjInfo)
ROUSE_SOLVER_NAME(cusolverDnXgesvdjSetTolerance)
ROUSE_SOLVER_NAME(cusolverDnXgesvdjSetMaxSweeps)
ROUSE_SOLVER_NAME(cusolverDnXgesvdjSetSortEig)
#define ROUSE_SYSTEM_TYPED(letter)                                \
  ROUSE_SOLVER_NAME(cusolverSp##letter##csrlsvqr)                 \
  ROUSE_SOLVER_NAME(cusolverSp##letter##csrlsvchol)               \
  ROUSE_SOLVER_NAME(cusolverSp##letter##csreigvsi)                \
  ROUSE_SOLVER_NAME(cusolverSp##letter##csrqrBufferInfoBatched)   \
  ROUSE_SOLVER_NAME(cusolverSp##letter##csrqrsvBatched)
ROUSE_SYSTEM_TYPED(S)
ROUSE_SYSTEM_TYPED(D)
ROUSE_SYSTEM_TYPED(C)
ROUSE_SYSTEM_TYPED(Z)
ROUSE_SOLVER_NAME(cusolverSpCreate)
ROUSE_SOLVER_NAME(cusolverSpDestroy)
ROUSE_SOLVER_NAME(cusolverSpSetStream)
ROUSE_SOLVER_NAME(cusolverSpCreateCsrqrInfo)
ROUSE_SOLVER_NAME(cusolverSpDestroyCsrqrInfo)
ROUSE_SOLVER_NAME(cusolverSpXcsrqrAnalysisBatched)

ROUSE_TAKEN
