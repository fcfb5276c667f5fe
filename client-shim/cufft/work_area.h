// A plan's memory to work in: the program's own, as cuFFT takes it, and in its account.
#pragma once

#include "client-shim/cufft/plan.h"

namespace rouse::cufft {

// What the plan is told to need, within the limit that the program has set.
std::uint64_t workBytesOf(const Plan& plan);
// Where the plan allocates and has none: so many bytes on the plan's device. The calling thread's device stays as it is.
cufftResult allocate(Plan& plan);
// Ends what the plan has allocated. Waits for what is queued, as cudaFree does.
void release(Plan& plan);

}  // namespace rouse::cufft
