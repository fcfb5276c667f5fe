// Where NVIDIA's driver keeps the machine code that it has made of PTX, for other executors and other times.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/base/result.h"

namespace rouse::cuda {

// The folder "nvidia" in `directory` (absolute; made where it is not), and at most so many bytes: by CUDA_CACHE_PATH and CUDA_CACHE_MAXSIZE, so
// before the driver is initialised, and only where the first is not set. Without, it is ~/.nv of whoever runs this, which a service often has not.
// An error leaves both as they are: what is found there is run, so the folder must be this user's and writable by nobody else.
Status keepCompiled(const std::string& directory, std::uint64_t bytes);

}  // namespace rouse::cuda
