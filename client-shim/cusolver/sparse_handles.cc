// cuSOLVER's sparse part: handles.
#include "client-shim/cusolver/implementations_sparse_handles.h"
#include "client-shim/cusolver/sparse.h"

namespace rouse::cusolver::impl {

cusolverStatus_t cusolverSpCreate(cusolverSpHandle_t* handle) {
  return make<SparseHandle>(handle, client::HandleKind::sparseSolver, [](SparseHandle& object, std::uint32_t device) {
    object.device = device;
    object.stream = 0;
  });
}
cusolverStatus_t cusolverSpDestroy(cusolverSpHandle_t handle) {
  return destroy<SparseHandle>(handle, client::HandleKind::sparseSolver, CUSOLVER_STATUS_NOT_INITIALIZED);
}
cusolverStatus_t cusolverSpSetStream(cusolverSpHandle_t handle, cudaStream_t streamId) {
  return with(handle, [&](SparseHandle& object) {
    object.stream = reinterpret_cast<std::uint64_t>(streamId);
    return CUSOLVER_STATUS_SUCCESS;
  });
}
cusolverStatus_t cusolverSpGetStream(cusolverSpHandle_t handle, cudaStream_t* streamId) {
  return with(handle, [&](SparseHandle& object) {
    if (streamId == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
    *streamId = reinterpret_cast<cudaStream_t>(object.stream);
    return CUSOLVER_STATUS_SUCCESS;
  });
}

}  // namespace rouse::cusolver::impl
