// cuFFT's settings of a plan, and what it says of itself.
#include <cuda_runtime_api.h>

#include <utility>

#include "client-shim/cufft/implementations.h"
#include "client-shim/cufft/plan.h"
#include "client-shim/cufft/work_area.h"

namespace rouse::cufft {
namespace {

cufftResult setWorkArea(cufftHandle handle, void* workArea) {
  void* before = nullptr;
  const cufftResult result = with(handle, [&](Plan& plan) {
    plan.workArea = reinterpret_cast<std::uint64_t>(workArea);
    before = std::exchange(plan.allocated, nullptr);
    return CUFFT_SUCCESS;
  });
  if (before != nullptr) (void)cudaFree(before);
  return result;
}

long long* propertyOf(Plan& plan, cufftProperty property) {
  switch (property) {
    case NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT:
      return &plan.patient;
    case NVFFT_PLAN_PROPERTY_INT64_MAX_NUM_HOST_THREADS:
      return &plan.threads;
  }
  return nullptr;
}

cufftResult setProperty(cufftHandle handle, cufftProperty property, long long value) {
  return with(handle, [&](Plan& plan) {
    long long* const there = propertyOf(plan, property);
    const bool patient = property == NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT;
    if (there == nullptr || value < (patient ? 0 : 1) || (patient && value > 1)) return CUFFT_INVALID_VALUE;
    if (plan.made) return CUFFT_NOT_SUPPORTED;  // it would change what is made already
    *there = value;
    return CUFFT_SUCCESS;
  });
}

}  // namespace

namespace impl {

// Whether there is such a stream on the plan's device is known when it is used.
cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  return with(handle, [&](Plan& plan) {
    plan.stream = reinterpret_cast<std::uint64_t>(stream);
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int autoAllocate) {
  return with(handle, [&](Plan& plan) {
    plan.allocates = autoAllocate != 0;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftSetWorkArea(cufftHandle handle, void* workArea) { return setWorkArea(handle, workArea); }

cufftResult cufftXtSetWorkArea(cufftHandle handle, void** workArea) {
  return workArea != nullptr ? setWorkArea(handle, workArea[0]) : CUFFT_INVALID_VALUE;
}

cufftResult cufftXtSetWorkAreaPolicy(cufftHandle handle, cufftXtWorkAreaPolicy policy, size_t* workSize) {
  if (policy == CUFFT_WORKAREA_USER && workSize == nullptr) return CUFFT_INVALID_VALUE;
  const bool known = policy == CUFFT_WORKAREA_MINIMAL || policy == CUFFT_WORKAREA_USER || policy == CUFFT_WORKAREA_PERFORMANCE;
  if (!known) return CUFFT_INVALID_VALUE;
  return with(handle, [&](Plan& plan) {
    plan.workLimit = policy == CUFFT_WORKAREA_MINIMAL ? 0 : policy == CUFFT_WORKAREA_USER ? *workSize : ~std::uint64_t{0};
    // What a made plan has allocated stays what it has.
    if (plan.made && plan.allocated == nullptr) plan.workBytes = workBytesOf(plan);
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftSetPlanPropertyInt64(cufftHandle handle, cufftProperty property, const long long int inputValueInt) {
  return setProperty(handle, property, inputValueInt);
}

cufftResult cufftGetPlanPropertyInt64(cufftHandle handle, cufftProperty property, long long int* returnPtrValue) {
  return with(handle, [&](Plan& plan) {
    const long long* const there = propertyOf(plan, property);
    if (there == nullptr || returnPtrValue == nullptr) return CUFFT_INVALID_VALUE;
    *returnPtrValue = *there;
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftResetPlanProperty(cufftHandle handle, cufftProperty property) {
  return setProperty(handle, property, property == NVFFT_PLAN_PROPERTY_INT64_MAX_NUM_HOST_THREADS ? 1 : 0);
}

cufftResult cufftGetVersion(int* version) {
  if (version != nullptr) *version = CUFFT_VERSION;
  return CUFFT_SUCCESS;
}

cufftResult cufftGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUFFT_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION:
      *value = CUFFT_VER_MAJOR;
      return CUFFT_SUCCESS;
    case MINOR_VERSION:
      *value = CUFFT_VER_MINOR;
      return CUFFT_SUCCESS;
    case PATCH_LEVEL:
      *value = CUFFT_VER_PATCH;
      return CUFFT_SUCCESS;
  }
  return CUFFT_INVALID_TYPE;
}

}  // namespace impl
}  // namespace rouse::cufft
