// Threads that stand for hardware which works beside the kernels: the copy engines, and the clock of the modelled links.
#pragma once

namespace rouse::cpu {

// The calling thread runs as soon as it has work, also where kernels have every core: its turns are short and come before
// theirs, as far as this process is allowed that.
void beEngine();

}  // namespace rouse::cpu
