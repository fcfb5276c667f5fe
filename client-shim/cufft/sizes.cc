// How much memory to work in plans need: the same answer as to the plan itself. A guess in both of cuFFT's senses, since what really works is the
// executor's library.
#include "client-shim/cufft/implementations.h"
#include "client-shim/cufft/plan.h"

namespace rouse::cufft {
namespace {

cufftResult estimate(fft::Transform transform, std::size_t* workSize, const char* function) {
  return guarded([&] {
    if (workSize == nullptr) return CUFFT_INVALID_VALUE;
    if (const cufftResult checked = checkPlan(transform, function); checked != CUFFT_SUCCESS) return checked;
    *workSize = fft::workBytesOf(transform);
    return CUFFT_SUCCESS;
  });
}

cufftResult estimate(fft::Transform transform, cufftType type, std::size_t* workSize, const char* function) {
  return typesOf(type, transform) ? estimate(transform, workSize, function) : CUFFT_INVALID_TYPE;
}

// Of a plan that may be made otherwise, or not at all.
template <class Answer>
cufftResult ofPlan(cufftHandle handle, Answer&& answer) {
  return guarded([&] { return findPlan(handle) ? answer() : CUFFT_INVALID_PLAN; });
}

}  // namespace

namespace impl {

cufftResult cufftEstimate1d(int nx, cufftType type, int batch, size_t* workSize) { return estimate(describe({nx}, batch), type, workSize, "cufftEstimate1d"); }

cufftResult cufftEstimate2d(int nx, int ny, cufftType type, size_t* workSize) { return estimate(describe({nx, ny}, 1), type, workSize, "cufftEstimate2d"); }

cufftResult cufftEstimate3d(int nx, int ny, int nz, cufftType type, size_t* workSize) {
  return estimate(describe({nx, ny, nz}, 1), type, workSize, "cufftEstimate3d");
}

cufftResult cufftEstimateMany(int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride, int odist, cufftType type, int batch,
                              size_t* workSize) {
  fft::Transform transform;
  if (const cufftResult result = describe(rank, n, inembed, istride, idist, onembed, ostride, odist, batch, transform); result != CUFFT_SUCCESS) return result;
  return estimate(transform, type, workSize, "cufftEstimateMany");
}

cufftResult cufftGetSize1d(cufftHandle handle, int nx, cufftType type, int batch, size_t* workSize) {
  return ofPlan(handle, [&] { return estimate(describe({nx}, batch), type, workSize, "cufftGetSize1d"); });
}

cufftResult cufftGetSize2d(cufftHandle handle, int nx, int ny, cufftType type, size_t* workSize) {
  return ofPlan(handle, [&] { return estimate(describe({nx, ny}, 1), type, workSize, "cufftGetSize2d"); });
}

cufftResult cufftGetSize3d(cufftHandle handle, int nx, int ny, int nz, cufftType type, size_t* workSize) {
  return ofPlan(handle, [&] { return estimate(describe({nx, ny, nz}, 1), type, workSize, "cufftGetSize3d"); });
}

cufftResult cufftGetSizeMany(cufftHandle handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed, int ostride, int odist, cufftType type,
                             int batch, size_t* workArea) {
  fft::Transform transform;
  if (const cufftResult result = describe(rank, n, inembed, istride, idist, onembed, ostride, odist, batch, transform); result != CUFFT_SUCCESS) return result;
  return ofPlan(handle, [&] { return estimate(transform, type, workArea, "cufftGetSizeMany"); });
}

cufftResult cufftGetSizeMany64(cufftHandle handle, int rank, long long int* n, long long int* inembed, long long int istride, long long int idist,
                               long long int* onembed, long long int ostride, long long int odist, cufftType type, long long int batch, size_t* workSize) {
  fft::Transform transform;
  if (const cufftResult result = describe(rank, n, inembed, istride, idist, onembed, ostride, odist, batch, transform); result != CUFFT_SUCCESS) return result;
  return ofPlan(handle, [&] { return estimate(transform, type, workSize, "cufftGetSizeMany64"); });
}

cufftResult cufftXtGetSizeMany(cufftHandle handle, int rank, long long int* n, long long int* inembed, long long int istride, long long int idist,
                               cudaDataType inputtype, long long int* onembed, long long int ostride, long long int odist, cudaDataType outputtype,
                               long long int batch, size_t* workSize, cudaDataType executiontype) {
  fft::Transform transform;
  if (const cufftResult result = describe(rank, n, inembed, istride, idist, onembed, ostride, odist, batch, transform); result != CUFFT_SUCCESS) return result;
  setTypes(inputtype, outputtype, executiontype, transform);
  return ofPlan(handle, [&] { return estimate(transform, workSize, "cufftXtGetSizeMany"); });
}

}  // namespace impl
}  // namespace rouse::cufft
