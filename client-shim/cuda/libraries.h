// Which of the runtime's libraries are the driver's: a library's module is the same handle, but not the program's to unload.
#pragma once

#include <cuda.h>

namespace rouse::cuda {

// Whether a program has loaded it as a library, not as a module.
bool isOfLibrary(CUmodule module);

}  // namespace rouse::cuda
