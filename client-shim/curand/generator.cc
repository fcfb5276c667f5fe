#include "client-shim/curand/generator.h"

#include <unordered_map>

#include "client-shim/library/refuse.h"

namespace rouse::curand {
namespace {

struct Generators {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Generator>> all;
  std::uintptr_t next = 16;
};
// Programs call from destructors of their own.
Generators& generators() {
  static Generators* const the = new Generators;
  return *the;
}

std::uintptr_t numberOf(curandGenerator_t handle) { return reinterpret_cast<std::uintptr_t>(handle); }

}  // namespace

std::shared_ptr<Generator> findGenerator(curandGenerator_t handle) {
  const std::lock_guard lock(generators().mutex);
  const auto found = generators().all.find(numberOf(handle));
  return found == generators().all.end() ? nullptr : found->second;
}

curandGenerator_t addGenerator(std::shared_ptr<Generator> generator) {
  const std::lock_guard lock(generators().mutex);
  generators().all.emplace(generators().next, std::move(generator));
  const auto handle = reinterpret_cast<curandGenerator_t>(generators().next);
  generators().next += 16;
  return handle;
}

bool dropGenerator(curandGenerator_t handle) {
  std::shared_ptr<Generator> dropped;  // ends behind the lock
  const std::lock_guard lock(generators().mutex);
  const auto found = generators().all.find(numberOf(handle));
  if (found == generators().all.end()) return false;
  dropped = std::move(found->second);
  generators().all.erase(found);
  return true;
}

curandStatus_t toStatus(CudaError error) {
  switch (error) {
    case CudaError::success:
      return CURAND_STATUS_SUCCESS;
    case CudaError::memoryAllocation:
      return CURAND_STATUS_ALLOCATION_FAILED;
    case CudaError::invalidResourceHandle:
      return CURAND_STATUS_LAUNCH_FAILURE;
    default:
      return CURAND_STATUS_PREEXISTING_FAILURE;
  }
}

curandStatus_t toStatus(const rand::Check& check, const char* function) {
  switch (check.verdict) {
    case rand::Verdict::runs:
      return CURAND_STATUS_SUCCESS;
    case rand::Verdict::typeError:
      return CURAND_STATUS_TYPE_ERROR;
    case rand::Verdict::outOfRange:
      return CURAND_STATUS_OUT_OF_RANGE;
    case rand::Verdict::notMultiple:
      return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    case rand::Verdict::unsupported:
      break;
  }
  library::refuse(std::string_view(function), check.what);
  return CURAND_STATUS_ARCH_MISMATCH;
}

}  // namespace rouse::curand
