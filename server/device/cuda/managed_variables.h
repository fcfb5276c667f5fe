// `__managed__` variables. The driver would put them into managed memory of this process, which the program's own cannot
// map, and nothing in its interface says where. They have to lie in the host window, where the client finds room for
// them (cudaMallocManaged's memory lies there too), and code has to reach them there. Machine code cannot: addresses are built in when it
// is loaded. PTX can be told: it is given a table of their addresses, and reads it where it names one.
//
//   .global .attribute(.managed) .align 4 .u32 total = 5;      .visible .global .align 8 .u64 rouse_managed_places[1];
//   .entry k() {                                               .global .align 4 .u32 rouse_managed_value_total = 5;
//                                                              .entry k() {
//                                                                .reg .b64 %rouse_managed_0;
//                                                                ld.global.u64 %rouse_managed_0, [rouse_managed_places];
//     ld.global.u32 %r1, [total];                                ld.global.u32 %r1, [%rouse_managed_0];
//
// What the variable was stays, as the keeper of its initial value and size; of an array without a value one element does, since it would take as much of the GPU's memory as of the host's. A name
// that could not be followed would be undefined in the text that results, so none goes unnoticed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"

namespace rouse::cuda {

struct ManagedVariable {
  std::string name;
  std::uint64_t zeros = 0;  // it is so many bytes, all zero; 0: its keeper has its value and size
  bool operator==(const ManagedVariable&) const = default;
};

struct ManagedText {
  std::string ptx;
  std::vector<ManagedVariable> variables;  // in the table's order; empty: the code has none, and `ptx` is not set
};

// The table: a global variable of one 64-bit address for each variable.
inline constexpr std::string_view kManagedPlaces = "rouse_managed_places";
// The variable that has the initial value of a managed one.
std::string managedValue(std::string_view name);
// The table, or such a variable.
bool isOfManaged(std::string_view name);

// `ptx`: one module, from a client. notSupported: it has managed variables and uses them in a way that cannot be followed (which,
// where), such as in another variable's initial value. Pure.
Result<ManagedText> reachManagedThroughTable(std::string_view ptx);

}  // namespace rouse::cuda
