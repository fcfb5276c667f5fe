// Which kernels reach no memory of the program's but what addresses in their parameters lead to, as far as their text shows. Such a kernel can
// begin while memory that it does not name is still on its way (server/executor/presence.h), on devices that cannot bring memory when it is touched.
//
// Each 64-bit register has a set of origins, whoever writes it and in whatever order. An address that is made of one in a parameter, by sums with numbers, leads into the
// allocation that the parameter points into, or a word beside it (C++ defines no other way to use a pointer). One that was itself found in memory may lead anywhere.
#pragma once

#include <set>
#include <string>

#include "server/device/ptx/module.h"

namespace rouse::ptx {

// Names of those kernels. Besides the program's memory they may use shared and local memory, their parameters, and variables of the module. Not among them is what calls functions (but for a failed
// assert), uses textures or surfaces, takes an address from memory, from pieces or by other operations than sums, or takes long to look through. Pure.
std::set<std::string, std::less<>> kernelsThatReachOnlyParameters(const Module&);

}  // namespace rouse::ptx
