// A libcusparse.so.12 that computes nothing: each function that is used of the real one writes down its name and its arguments, as 64-bit words. Objects are numbers, sizes of memory to
// work in are what a test says, and so are elements that are counted and pivots.
#include <cusparse.h>

#include <string_view>
#include <tuple>

#include "server/library/cuda/sparse_api.h"
#include "test/libraries/recorded.h"

using namespace rouse::recorded;

namespace {

std::uint64_t workBytes = 4096;
std::int64_t elements = 50;
int pivot = -1;
bool onDevice = false;

// What the function writes where its arguments say.
template <class... Arguments>
void answerInto(std::string_view name, std::tuple<Arguments...> arguments) {
  constexpr std::size_t count = sizeof...(Arguments);
  const auto write = [](auto pointer, std::uint64_t value) {
    if constexpr (std::is_pointer_v<decltype(pointer)>) {
      using Pointed = std::remove_pointer_t<decltype(pointer)>;
      if constexpr (!std::is_const_v<Pointed> && (std::is_integral_v<Pointed> || std::is_pointer_v<Pointed>)) std::memcpy(pointer, &value, sizeof(Pointed));
    }
  };
  if (name.starts_with("cusparseCreate") && name != "cusparseCreateIdentityPermutation") return write(std::get<0>(arguments), fresh());
  if (name.ends_with("_createDescr")) return write(std::get<0>(arguments), fresh());
  if (name.find("ufferSize") != name.npos) return write(std::get<count - 1>(arguments), workBytes);
  if (name == "cusparseSpGEMM_workEstimation" || name == "cusparseSpGEMM_compute") return write(std::get<count >= 2 ? count - 2 : 0>(arguments), workBytes);
  if (name == "cusparseSpMatGetSize" || name == "cusparseSpGEMM_getNumProducts") return write(std::get<count - 1>(arguments), static_cast<std::uint64_t>(elements));
  if (name == "cusparseXcsrgeam2Nnz" && !onDevice) return write(std::get<count >= 2 ? count - 2 : 0>(arguments), static_cast<std::uint64_t>(elements));
  if (name.ends_with("_zeroPivot")) return write(std::get<count - 1>(arguments), static_cast<std::uint64_t>(static_cast<std::int64_t>(pivot)));
  if (name == "cusparseSetPointerMode") onDevice = word(std::get<count - 1>(arguments)) == CUSPARSE_POINTER_MODE_DEVICE;
}

template <const char* name, class... Arguments>
cusparseStatus_t recordSparse(Arguments... arguments) {
  all().push_back({name, {word(arguments)...}});
  answerInto(name, std::tuple(arguments...));
  return static_cast<cusparseStatus_t>(refusing().name == name ? refusing().status : 0);
}

}  // namespace

#define ROUSE_RECORDED(function)                                                                            \
  static constexpr char kName_##function[] = #function;                                                     \
  template <class... Arguments>                                                                             \
  static auto pick_##function(cusparseStatus_t (*)(Arguments...)) -> cusparseStatus_t (*)(Arguments...) {   \
    return &recordSparse<kName_##function, Arguments...>;                                                   \
  }                                                                                                         \
  extern "C" {                                                                                              \
  static decltype(&function) resolve_##function() { return pick_##function(static_cast<decltype(&function)>(nullptr)); } \
  __attribute__((visibility("default"), ifunc("resolve_" #function))) decltype(function) function;          \
  }

ROUSE_SPARSE_STATUS_NAMES(ROUSE_RECORDED)

ROUSE_EXPORTED const char* cusparseGetErrorName(cusparseStatus_t status) {
  return status == CUSPARSE_STATUS_NOT_SUPPORTED ? "CUSPARSE_STATUS_NOT_SUPPORTED" : "a status";
}

// For tests.
ROUSE_EXPORTED void rouse_cusparse_double_says(std::uint64_t bytes, std::int64_t counted, int zero) {
  workBytes = bytes;
  elements = counted;
  pivot = zero;
}

ROUSE_TAKEN
