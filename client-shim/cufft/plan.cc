#include "client-shim/cufft/plan.h"

#include <limits>
#include <mutex>
#include <unordered_map>

#include "client-shim/library/refuse.h"

namespace rouse::cufft {
namespace {

struct Plans {
  std::mutex mutex;
  std::unordered_map<cufftHandle, Plan> all;
  cufftHandle next = 1;
};
// Programs call from destructors of their own.
Plans& plans() {
  static Plans* const the = new Plans;
  return *the;
}

}  // namespace

std::optional<Plan> findPlan(cufftHandle handle) {
  const std::lock_guard lock(plans().mutex);
  const auto found = plans().all.find(handle);
  return found == plans().all.end() ? std::nullopt : std::optional(found->second);
}

cufftHandle addPlan(const Plan& plan) {
  const std::lock_guard lock(plans().mutex);
  if (plans().next == std::numeric_limits<cufftHandle>::max()) throw std::bad_alloc();
  plans().all.emplace(plans().next, plan);
  return plans().next++;
}

std::optional<Plan> dropPlan(cufftHandle handle) {
  const std::lock_guard lock(plans().mutex);
  const auto found = plans().all.find(handle);
  if (found == plans().all.end()) return std::nullopt;
  const Plan plan = found->second;
  plans().all.erase(found);
  return plan;
}

bool changePlan(cufftHandle handle, Change change, const void* how) {
  const std::lock_guard lock(plans().mutex);
  const auto found = plans().all.find(handle);
  if (found == plans().all.end()) return false;
  change(found->second, how);
  return true;
}

cufftResult toResult(CudaError error) {
  switch (error) {
    case CudaError::success:
      return CUFFT_SUCCESS;
    case CudaError::memoryAllocation:
      return CUFFT_ALLOC_FAILED;
    case CudaError::invalidResourceHandle:
      return CUFFT_INVALID_VALUE;
    default:
      return CUFFT_EXEC_FAILED;
  }
}

cufftResult toResult(const fft::Check& check, const char* function) {
  switch (check.verdict) {
    case fft::Verdict::runs:
      return CUFFT_SUCCESS;
    case fft::Verdict::invalidSize:
      return CUFFT_INVALID_SIZE;
    case fft::Verdict::invalidType:
      return CUFFT_INVALID_TYPE;
    case fft::Verdict::invalidValue:
      return CUFFT_INVALID_VALUE;
    case fft::Verdict::unsupported:
      break;
  }
  library::refuse(std::string_view(function), check.what);
  return CUFFT_NOT_SUPPORTED;
}

bool typesOf(cufftType type, fft::Transform& transform) {
  using fft::Type;
  const auto set = [&](Type in, Type out, Type execution) {
    transform.inType = in;
    transform.outType = out;
    transform.executionType = execution;
    return true;
  };
  switch (type) {
    case CUFFT_C2C:
      return set(Type::c32, Type::c32, Type::c32);
    case CUFFT_R2C:
      return set(Type::f32, Type::c32, Type::c32);
    case CUFFT_C2R:
      return set(Type::c32, Type::f32, Type::c32);
    case CUFFT_Z2Z:
      return set(Type::c64, Type::c64, Type::c64);
    case CUFFT_D2Z:
      return set(Type::f64, Type::c64, Type::c64);
    case CUFFT_Z2D:
      return set(Type::c64, Type::f64, Type::c64);
  }
  return false;
}

cufftResult checkPlan(fft::Transform& transform, const char* function) {
  // Of complex ones each execution says it.
  transform.direction = fft::isComplex(transform.outType) ? fft::Direction::forward : fft::Direction::inverse;
  return toResult(fft::check(transform), function);
}

}  // namespace rouse::cufft
