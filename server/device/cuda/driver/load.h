// Opens the CUDA driver at run time, so that one binary runs with or without it.
#pragma once

#include <memory>

#include "schemas/base/result.h"
#include "server/device/cuda/driver/driver_table.h"

namespace rouse::cuda {

// A path here is opened instead of libcuda.so.1: another driver, or the double of test/cuda-double.
inline constexpr const char* kDriverVariable = "ROUSE_LIBCUDA";

// Finds every function of the table; calls none but cuDriverGetVersion (cuInit is the caller's). The library stays
// loaded for the life of the process: drivers start threads and register exit handlers. Any thread. Errors, each with
// what to do about it: no library (memory::kNoDriver), one whose driver is too old (memory::kDriverTooOld), a function
// missing from it (symbolNotFound).
Result<std::unique_ptr<Driver>> loadDriver();

}  // namespace rouse::cuda
