// What a cufftHandle stands for: local state, all of which each execution carries. Nothing of it is on the server.
#pragma once

#include <cufftXt.h>

#include <cstdint>
#include <initializer_list>
#include <new>
#include <optional>

#include "client-shim/library/host.h"
#include "schemas/fft/check.h"

namespace rouse::cufft {

struct Plan {
  std::uint32_t device = 0;
  std::uint64_t stream = 0;  // cudaStream_t
  bool made = false;         // what follows says what it transforms
  fft::Transform transform;  // without addresses, and the direction of complex ones
  std::uint64_t workBytes = 0;
  std::uint64_t workLimit = ~std::uint64_t{0};  // cufftXtSetWorkAreaPolicy
  bool allocates = true;                        // cufftSetAutoAllocation
  void* allocated = nullptr;                    // of the plan's own
  std::uint64_t workArea = 0;
  long long patient = 0, threads = 1;  // cufftSetPlanPropertyInt64: what tunes NVIDIA's planning, and changes no result
};

// A copy, so that nobody holds a lock while a call is queued. None: there is no such plan.
std::optional<Plan> findPlan(cufftHandle handle);
// Throws std::bad_alloc. Numbers from 1 on; none is used again.
cufftHandle addPlan(const Plan& plan);
std::optional<Plan> dropPlan(cufftHandle handle);

// change(plan) under the lock of all plans; it calls nothing that waits. False: there is no such plan.
using Change = void (*)(Plan& plan, const void* how);
bool changePlan(cufftHandle handle, Change change, const void* how);
template <class How>
cufftResult with(cufftHandle handle, How&& how) {
  cufftResult result = CUFFT_INVALID_PLAN;
  const auto call = [&](Plan& plan) { result = how(plan); };
  (void)changePlan(handle, [](Plan& plan, const void* body) { (*static_cast<const decltype(call)*>(body))(plan); }, &call);
  return result;
}

cufftResult toResult(CudaError error);
// What the check says; `function` is counted where it is not supported.
cufftResult toResult(const fft::Check& check, const char* function);

// False: it is none of cufftType.
bool typesOf(cufftType type, fft::Transform& transform);

// Numbers that are none stay what no type has, for the check to find.
inline void setTypes(cudaDataType in, cudaDataType out, cudaDataType execution, fft::Transform& transform) {
  const auto typeOf = [](cudaDataType type) { return static_cast<unsigned>(type) < 256 ? static_cast<fft::Type>(type) : static_cast<fft::Type>(255); };
  transform.inType = typeOf(in);
  transform.outType = typeOf(out);
  transform.executionType = typeOf(execution);
}

// What programs give to plan: n and embeds of int or long long int. The same answers as cuFFT gives before it looks at the plan.
template <class Number>
cufftResult describe(int rank, const Number* n, const Number* inembed, Number istride, Number idist, const Number* onembed, Number ostride, Number odist,
                     Number batch, fft::Transform& transform) {
  if (rank < 1 || rank > static_cast<int>(fft::kMostRank) || n == nullptr) return CUFFT_INVALID_VALUE;
  transform.rank = static_cast<std::uint8_t>(rank);
  transform.batch = batch;
  // Without embeds strides and distances are not looked at.
  transform.packed = inembed == nullptr || onembed == nullptr ? 1 : 0;
  for (int axis = 0; axis < rank; ++axis) {
    transform.dims[axis] = n[axis];
    if (transform.packed != 0) continue;
    transform.in.embed[axis] = inembed[axis];
    transform.out.embed[axis] = onembed[axis];
  }
  if (transform.packed == 0) {
    transform.in.stride = istride;
    transform.in.distance = idist;
    transform.out.stride = ostride;
    transform.out.distance = odist;
  }
  return CUFFT_SUCCESS;
}
// As the program's calls of one, two and three dimensions.
inline fft::Transform describe(std::initializer_list<int> dims, int batch) {
  fft::Transform transform;
  transform.packed = 1;
  transform.batch = batch;
  for (const int dim : dims) transform.dims[transform.rank++] = dim;
  return transform;
}

// The description that a plan is to have, checked: types are set, directions are not.
cufftResult checkPlan(fft::Transform& transform, const char* function);

// No exception leaves the library.
template <class Body>
cufftResult guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return CUFFT_ALLOC_FAILED;
  } catch (...) {
    return CUFFT_INTERNAL_ERROR;
  }
}

}  // namespace rouse::cufft
