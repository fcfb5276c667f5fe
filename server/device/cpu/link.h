// What the CPU device says of its link to the host: there is none, copies are the processor's.
#pragma once

#include "memory/link.h"

namespace rouse::cpu {

// The rates of a copy between two pieces of this process's memory, the same in both directions. A few hundredths of a
// second. Empty if there is no memory for it. A device that models a link gives that link's curve here instead.
memory::LinkDescription measureLink();

}  // namespace rouse::cpu
