#include "client-shim/cufft/work_area.h"

#include <cuda_runtime_api.h>

#include <algorithm>

namespace rouse::cufft {
namespace {

// The calling thread's device, for as long as it lives.
class OnDevice {
 public:
  explicit OnDevice(std::uint32_t device) {
    ok_ = cudaGetDevice(&before_) == cudaSuccess && (before_ == static_cast<int>(device) || cudaSetDevice(static_cast<int>(device)) == cudaSuccess);
    changed_ = ok_ && before_ != static_cast<int>(device);
  }
  ~OnDevice() {
    if (changed_) (void)cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  bool ok() const { return ok_; }

 private:
  int before_ = 0;
  bool ok_ = false, changed_ = false;
};

}  // namespace

std::uint64_t workBytesOf(const Plan& plan) { return std::min(fft::workBytesOf(plan.transform), plan.workLimit); }

cufftResult allocate(Plan& plan) {
  if (!plan.allocates || plan.workArea != 0 || plan.workBytes == 0) return CUFFT_SUCCESS;
  const OnDevice device(plan.device);
  if (!device.ok()) return CUFFT_SETUP_FAILED;
  if (cudaMalloc(&plan.allocated, plan.workBytes) != cudaSuccess) {
    (void)cudaGetLastError();  // it is this call's, not the program's next one's
    plan.allocated = nullptr;
    return CUFFT_ALLOC_FAILED;
  }
  plan.workArea = reinterpret_cast<std::uint64_t>(plan.allocated);
  return CUFFT_SUCCESS;
}

void release(Plan& plan) {
  if (plan.allocated != nullptr) (void)cudaFree(plan.allocated);
  plan.allocated = nullptr;
  plan.workArea = 0;
}

}  // namespace rouse::cufft
