// cuFFT, "Basic Plans" and "Extensible Plans". All local; a plan's memory to work in is the program's.
#include <cuda_runtime_api.h>

#include "client-shim/cufft/implementations.h"
#include "client-shim/cufft/plan.h"
#include "client-shim/cufft/work_area.h"

namespace rouse::cufft {
namespace {

cufftResult make(cufftHandle handle, fft::Transform transform, std::size_t* workSize, const char* function) {
  return guarded([&] {
    if (workSize == nullptr) return CUFFT_INVALID_VALUE;
    auto plan = findPlan(handle);
    // "It will fail and return CUFFT_INVALID_PLAN if the plan is locked, i.e. the handle was previously used" for one.
    if (!plan || plan->made) return CUFFT_INVALID_PLAN;
    if (const cufftResult checked = checkPlan(transform, function); checked != CUFFT_SUCCESS) return checked;
    plan->transform = transform;
    plan->made = true;
    plan->workBytes = workBytesOf(*plan);
    if (const cufftResult allocated = allocate(*plan); allocated != CUFFT_SUCCESS) return allocated;
    const cufftResult result = with(handle, [&](Plan& there) {
      if (there.made) return CUFFT_INVALID_PLAN;  // by another thread, meanwhile
      there.transform = plan->transform;
      there.made = true;
      there.workBytes = plan->workBytes;
      there.allocated = plan->allocated;
      there.workArea = plan->workArea;
      return CUFFT_SUCCESS;
    });
    if (result != CUFFT_SUCCESS) release(*plan);
    else *workSize = plan->workBytes;
    return result;
  });
}

template <class Make>
cufftResult plan(cufftHandle* handle, Make&& make) {
  if (handle == nullptr) return CUFFT_INVALID_VALUE;
  cufftHandle created = CUFFT_PLAN_NULL;
  if (const cufftResult result = impl::cufftCreate(&created); result != CUFFT_SUCCESS) return result;
  std::size_t workSize = 0;
  const cufftResult result = make(created, &workSize);
  if (result != CUFFT_SUCCESS) (void)impl::cufftDestroy(created);
  else *handle = created;
  return result;
}

}  // namespace

namespace impl {

cufftResult cufftCreate(cufftHandle* handle) {
  return guarded([&] {
    if (handle == nullptr) return CUFFT_INVALID_VALUE;
    const client::LibraryHost* host = client::libraryHost();
    Plan plan;
    if (host == nullptr || host->attach(&plan.device) != CudaError::success) return CUFFT_SETUP_FAILED;
    *handle = addPlan(plan);
    return CUFFT_SUCCESS;
  });
}

// Queued executions carry all they need; where the plan has memory of its own, freeing that waits for them.
cufftResult cufftDestroy(cufftHandle handle) {
  return guarded([&] {
    if (handle == CUFFT_PLAN_NULL) return CUFFT_SUCCESS;
    auto plan = dropPlan(handle);
    if (!plan) return CUFFT_INVALID_PLAN;
    release(*plan);
    return CUFFT_SUCCESS;
  });
}

cufftResult cufftMakePlan1d(cufftHandle handle, int nx, cufftType type, int batch, size_t* workSize) {
  fft::Transform transform = describe({nx}, batch);
  return typesOf(type, transform) ? make(handle, transform, workSize, "cufftMakePlan1d") : CUFFT_INVALID_TYPE;
}

cufftResult cufftMakePlan2d(cufftHandle handle, int nx, int ny, cufftType type, size_t* workSize) {
  fft::Transform transform = describe({nx, ny}, 1);
  return typesOf(type, transform) ? make(handle, transform, workSize, "cufftMakePlan2d") : CUFFT_INVALID_TYPE;
}

cufftResult cufftMakePlan3d(cufftHandle handle, int nx, int ny, int nz, cufftType type, size_t* workSize) {
  fft::Transform transform = describe({nx, ny, nz}, 1);
  return typesOf(type, transform) ? make(handle, transform, workSize, "cufftMakePlan3d") : CUFFT_INVALID_TYPE;
}

cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride, int odist, cufftType type,
                              int batch, size_t* workSize) {
  fft::Transform transform;
  if (const cufftResult result = describe(rank, n, inembed, istride, idist, onembed, ostride, odist, batch, transform); result != CUFFT_SUCCESS) return result;
  return typesOf(type, transform) ? make(handle, transform, workSize, "cufftMakePlanMany") : CUFFT_INVALID_TYPE;
}

cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long int* n, long long int* inembed, long long int istride, long long int idist,
                                long long int* onembed, long long int ostride, long long int odist, cufftType type, long long int batch, size_t* workSize) {
  fft::Transform transform;
  if (const cufftResult result = describe(rank, n, inembed, istride, idist, onembed, ostride, odist, batch, transform); result != CUFFT_SUCCESS) return result;
  return typesOf(type, transform) ? make(handle, transform, workSize, "cufftMakePlanMany64") : CUFFT_INVALID_TYPE;
}

cufftResult cufftXtMakePlanMany(cufftHandle handle, int rank, long long int* n, long long int* inembed, long long int istride, long long int idist,
                                cudaDataType inputtype, long long int* onembed, long long int ostride, long long int odist, cudaDataType outputtype,
                                long long int batch, size_t* workSize, cudaDataType executiontype) {
  fft::Transform transform;
  if (const cufftResult result = describe(rank, n, inembed, istride, idist, onembed, ostride, odist, batch, transform); result != CUFFT_SUCCESS) return result;
  setTypes(inputtype, outputtype, executiontype, transform);
  return make(handle, transform, workSize, "cufftXtMakePlanMany");
}

cufftResult cufftPlan1d(cufftHandle* handle, int nx, cufftType type, int batch) {
  return plan(handle, [&](cufftHandle made, size_t* workSize) { return impl::cufftMakePlan1d(made, nx, type, batch, workSize); });
}

cufftResult cufftPlan2d(cufftHandle* handle, int nx, int ny, cufftType type) {
  return plan(handle, [&](cufftHandle made, size_t* workSize) { return impl::cufftMakePlan2d(made, nx, ny, type, workSize); });
}

cufftResult cufftPlan3d(cufftHandle* handle, int nx, int ny, int nz, cufftType type) {
  return plan(handle, [&](cufftHandle made, size_t* workSize) { return impl::cufftMakePlan3d(made, nx, ny, nz, type, workSize); });
}

cufftResult cufftPlanMany(cufftHandle* handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride, int odist, cufftType type,
                          int batch) {
  return plan(handle, [&](cufftHandle made, size_t* workSize) {
    return impl::cufftMakePlanMany(made, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, workSize);
  });
}

cufftResult cufftGetSize(cufftHandle handle, size_t* workSize) {
  if (workSize == nullptr) return CUFFT_INVALID_VALUE;
  return with(handle, [&](const Plan& plan) {
    *workSize = plan.workBytes;
    return CUFFT_SUCCESS;
  });
}

}  // namespace impl
}  // namespace rouse::cufft
