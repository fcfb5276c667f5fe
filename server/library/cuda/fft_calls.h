// A transform as calls of NVIDIA's cuFFT 12: a plan of its description, kept, and an execution. Tested before a double; what NVIDIA's library takes is
// known from a GPU only.
#pragma once

#include <cufftXt.h>

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/fft/transform.h"
#include "server/library/cuda/real_libraries.h"

namespace rouse::library::cuda {

#define ROUSE_FFT_NAMES(name)  \
  name(cufftCreate)            \
  name(cufftDestroy)           \
  name(cufftSetAutoAllocation) \
  name(cufftXtMakePlanMany)    \
  name(cufftSetStream)         \
  name(cufftSetWorkArea)       \
  name(cufftXtExec)

struct FftApi {
#define ROUSE_FFT_MEMBER(name) decltype(&::name) name = nullptr;
  ROUSE_FFT_NAMES(ROUSE_FFT_MEMBER)
#undef ROUSE_FFT_MEMBER
};

// Plans of one handle, by transform without addresses and direction. Making one takes milliseconds, and device memory of the library's own, so they are
// kept; at most so many, and of more the one that has not been used for longest goes, for which the library waits for the GPU.
class FftPlans {
 public:
  static constexpr std::size_t kMost = 1024;
  // memory: so many bytes of the executor's to work in, for plans that the program's are too few for.
  Status run(const FftApi& api, CUstream_st* stream, const fft::Transform& transform, const std::function<Result<std::uint64_t>(std::uint64_t)>& memory);
  void destroy(const FftApi& api);
  // Another stream may be where an ended one was.
  void forgetStreams();

 private:
  struct Plan {
    cufftHandle plan = CUFFT_PLAN_NULL;
    std::uint64_t workspace = 0;    // bytes that it needs
    CUstream_st* stream = nullptr;  // that it has been set to
    bool hasStream = false;
    std::uint64_t used = 0;  // which call it was
  };
  Status make(const FftApi& api, const fft::Transform& transform, Plan& plan);

  std::map<std::vector<std::byte>, Plan> plans_;
  std::uint64_t calls_ = 0;
};

}  // namespace rouse::library::cuda
