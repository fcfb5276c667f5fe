#include "server/device/cpu/codegen/runtime_symbols.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "server/device/cpu/abi.h"
#include "server/device/cpu/codegen/lane_stores.h"
#include "server/device/cpu/codegen/math_functions.h"

// Conversions of half for processors without F16C, from the compiler's support library, which no header declares. The
// argument travels in an SSE register as a _Float16.
extern "C" {
_Float16 __truncsfhf2(float);
_Float16 __truncdfhf2(double);
float __extendhfsf2(_Float16);
}

namespace rouse::cpu::codegen {
namespace {

template <class Function>
std::uint64_t address(Function* function) {
  return reinterpret_cast<std::uintptr_t>(function);
}

}  // namespace

#define ROUSE_SYMBOL(name) {#name, address(&name)}
#define ROUSE_MATH1(name) \
  {#name, address<double(double)>(&::name)}, { #name "f", address<float(float)>(&::name##f) }

const std::vector<RuntimeSymbol>& runtimeSymbols() {
  static const auto* symbols = new std::vector<RuntimeSymbol>{
      ROUSE_SYMBOL(rouse_cpu_barrier),
      ROUSE_SYMBOL(rouse_cpu_barrier_arrive),
      ROUSE_SYMBOL(rouse_cpu_barrier_reduce),
      ROUSE_SYMBOL(rouse_cpu_cluster_arrive),
      ROUSE_SYMBOL(rouse_cpu_cluster_wait),
      ROUSE_SYMBOL(rouse_cpu_warp_sync),
      ROUSE_SYMBOL(rouse_cpu_shuffle),
      ROUSE_SYMBOL(rouse_cpu_vote),
      ROUSE_SYMBOL(rouse_cpu_match),
      ROUSE_SYMBOL(rouse_cpu_redux),
      ROUSE_SYMBOL(rouse_cpu_matrix),
      ROUSE_SYMBOL(rouse_cpu_matrix_part),
      ROUSE_SYMBOL(rouse_cpu_matrix_of_warp),
      ROUSE_SYMBOL(rouse_cpu_matrix_part_of_warp),
      ROUSE_SYMBOL(rouse_cpu_tensor_load),
      ROUSE_SYMBOL(rouse_cpu_tensor_store),
      ROUSE_SYMBOL(rouse_cpu_reduce_bulk),
      ROUSE_SYMBOL(rouse_cpu_tensor_map_replace),
      ROUSE_SYMBOL(rouse_cpu_texture),
      ROUSE_SYMBOL(rouse_cpu_texture_query),
      ROUSE_SYMBOL(rouse_cpu_surface),
      ROUSE_SYMBOL(rouse_cpu_activemask),
      ROUSE_SYMBOL(rouse_cpu_step),
      ROUSE_SYMBOL(rouse_cpu_fence_step),
      ROUSE_SYMBOL(rouse_cpu_yield),
      ROUSE_SYMBOL(rouse_cpu_yield_while),
      ROUSE_SYMBOL(rouse_cpu_poll_begin),
      ROUSE_SYMBOL(rouse_cpu_poll_end),
      ROUSE_SYMBOL(rouse_cpu_change_begin),
      ROUSE_SYMBOL(rouse_cpu_change_end),
      ROUSE_SYMBOL(rouse_cpu_let_others),
      ROUSE_SYMBOL(rouse_cpu_vprintf),
      ROUSE_SYMBOL(rouse_cpu_assert_fail),
      ROUSE_SYMBOL(rouse_cpu_trap),
      ROUSE_SYMBOL(rouse_cpu_endless),
      ROUSE_SYMBOL(rouse_cpu_misaligned),
      ROUSE_SYMBOL(rouse_cpu_check),
      ROUSE_SYMBOL(rouse_cpu_malloc),
      ROUSE_SYMBOL(rouse_cpu_free),
      ROUSE_SYMBOL(rouse_cpu_frames),
      ROUSE_SYMBOL(rouse_cpu_clock),
      ROUSE_SYMBOL(rouse_ptx_mul_f64),
      ROUSE_SYMBOL(rouse_ptx_div_f64),
      ROUSE_SYMBOL(rouse_ptx_fma_f64),
      ROUSE_SYMBOL(rouse_ptx_sqrt_f64),
      ROUSE_SYMBOL(rouse_ptx_fns),
      ROUSE_SYMBOL(rouse_ptx_store_lanes),
      {"memcpy", address(&::memcpy)},
      {"memmove", address(&::memmove)},
      {"memset", address(&::memset)},
      {"memcmp", address<int(const void*, const void*, std::size_t)>(&::memcmp)},
      {"bcmp", address<int(const void*, const void*, std::size_t)>(&::memcmp)},
      ROUSE_MATH1(sqrt),
      ROUSE_MATH1(floor),
      ROUSE_MATH1(ceil),
      ROUSE_MATH1(trunc),
      ROUSE_MATH1(rint),
      ROUSE_MATH1(nearbyint),
      {"roundeven", address<double(double)>(&::nearbyint)},
      {"roundevenf", address<float(float)>(&::nearbyintf)},
      {"fma", address<double(double, double, double)>(&::fma)},
      {"fmaf", address<float(float, float, float)>(&::fmaf)},
      {"ldexp", address<double(double, int)>(&::ldexp)},
      {"ldexpf", address<float(float, int)>(&::ldexpf)},
      ROUSE_SYMBOL(__truncsfhf2),
      ROUSE_SYMBOL(__truncdfhf2),
      ROUSE_SYMBOL(__extendhfsf2),
  };
  return *symbols;
}

}  // namespace rouse::cpu::codegen
