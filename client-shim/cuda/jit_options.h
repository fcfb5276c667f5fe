// Options of the compiler, as the runtime has them: the numbers are the same.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace rouse::cuda {

class JitOptions {
 public:
  // CUDA_ERROR_INVALID_VALUE: too many, or null.
  CUresult read(unsigned count, const CUjit_option* options, void** values) {
    if (count > kMost || (count > 0 && (options == nullptr || values == nullptr))) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; ++i) {
      if (withoutEffect(options[i])) continue;
      options_[count_] = static_cast<cudaJitOption>(options[i]);
      values_[count_] = values[i];
      from_[count_++] = i;
    }
    return CUDA_SUCCESS;
  }

  cudaJitOption* options() { return options_; }
  void** values() { return values_; }
  unsigned count() const { return count_; }

  // Some tell something.
  void write(void** values) const {
    for (unsigned i = 0; i < count_; ++i) values[from_[i]] = values_[i];
  }

 private:
  static constexpr unsigned kMost = 64;

  // Which device code is for is not asked: it is the current one. The others are hints, or of link-time optimisation, which is not done here.
  static bool withoutEffect(CUjit_option option) {
    switch (option) {
      case CU_JIT_TARGET_FROM_CUCONTEXT:
      case CU_JIT_TARGET:
      case CU_JIT_NEW_SM3X_OPT:
      case CU_JIT_FAST_COMPILE:
      case CU_JIT_FTZ:
      case CU_JIT_PREC_DIV:
      case CU_JIT_PREC_SQRT:
      case CU_JIT_FMA:
      case CU_JIT_SPLIT_COMPILE:
        return true;
      default:
        return false;
    }
  }

  cudaJitOption options_[kMost];
  void* values_[kMost];
  unsigned from_[kMost], count_ = 0;
};

}  // namespace rouse::cuda
