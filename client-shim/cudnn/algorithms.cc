// cuDNN's convolution algorithms: there is one way each, which needs no workspace and gives the same bits every time. Which of cuDNN's
// names a program passes makes no difference.
#include "client-shim/cudnn/convolution.h"
#include "client-shim/cudnn/implementations.h"

namespace rouse::cudnn {
namespace {

// Any address: the question is whether the shapes are served.
const void* const kSomewhere = reinterpret_cast<const void*>(std::uint64_t{1} << 12);

cudnnStatus_t ask(cudnnHandle_t handle, const char* function, Direction direction, cudnnTensorDescriptor_t image,
                  cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t response, cudnnConvolutionDescriptor_t convDesc) {
  Call call(handle, function);
  convolve(call, direction, convDesc, {image, filter, response, kSomewhere, kSomewhere, kSomewhere});
  return call.verify();
}

template <class Perf, class Algorithm>
cudnnStatus_t list(cudnnHandle_t handle, const char* function, Direction direction, cudnnTensorDescriptor_t image,
                   cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t response, cudnnConvolutionDescriptor_t convDesc,
                   Algorithm algorithm, int requested, int* returned, Perf* results) {
  return guarded([&] {
    const Convolution* convolution = find<Convolution>(convDesc);
    if (results == nullptr || requested < 1 || convolution == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, function);
    tell(returned, 0);
    if (const cudnnStatus_t status = ask(handle, function, direction, image, filter, response, convDesc);
        status != CUDNN_STATUS_SUCCESS)
      return status;
    *results = {};
    results->algo = algorithm;
    results->status = CUDNN_STATUS_SUCCESS;
    results->time = -1;  // "-1.0f if it has not been measured"
    results->memory = 0;
    results->determinism = CUDNN_DETERMINISTIC;
    results->mathType = convolution->math;
    tell(returned, 1);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t workspace(cudnnHandle_t handle, const char* function, Direction direction, cudnnTensorDescriptor_t image,
                        cudnnFilterDescriptor_t filter, cudnnTensorDescriptor_t response, cudnnConvolutionDescriptor_t convDesc,
                        bool algorithm, std::size_t* bytes) {
  return guarded([&] {
    if (bytes == nullptr || !algorithm) return fail(CUDNN_STATUS_BAD_PARAM, function);
    const cudnnStatus_t status = ask(handle, function, direction, image, filter, response, convDesc);
    if (status == CUDNN_STATUS_SUCCESS) *bytes = 0;
    return status;
  });
}

cudnnStatus_t most(cudnnHandle_t handle, const char* function, int* count) {
  if (findHandle(handle) == nullptr || count == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, function);
  *count = 1;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

namespace impl {

cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t handle, int* count) {
  return most(handle, "cudnnGetConvolutionForwardAlgorithmMaxCount", count);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithmMaxCount(cudnnHandle_t handle, int* count) {
  return most(handle, "cudnnGetConvolutionBackwardDataAlgorithmMaxCount", count);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(cudnnHandle_t handle, int* count) {
  return most(handle, "cudnnGetConvolutionBackwardFilterAlgorithmMaxCount", count);
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t srcDesc,
                                                     const cudnnFilterDescriptor_t filterDesc,
                                                     const cudnnConvolutionDescriptor_t convDesc,
                                                     const cudnnTensorDescriptor_t destDesc, const int requestedAlgoCount,
                                                     int* returnedAlgoCount, cudnnConvolutionFwdAlgoPerf_t* perfResults) {
  return list(handle, "cudnnGetConvolutionForwardAlgorithm_v7", Direction::forward, srcDesc, filterDesc, destDesc, convDesc,
              CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, requestedAlgoCount, returnedAlgoCount, perfResults);
}
cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc,
                                                   const cudnnFilterDescriptor_t wDesc,
                                                   const cudnnConvolutionDescriptor_t convDesc,
                                                   const cudnnTensorDescriptor_t yDesc, const int requestedAlgoCount,
                                                   int* returnedAlgoCount, cudnnConvolutionFwdAlgoPerf_t* perfResults) {
  return list(handle, "cudnnFindConvolutionForwardAlgorithm", Direction::forward, xDesc, wDesc, yDesc, convDesc,
              CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, requestedAlgoCount, returnedAlgoCount, perfResults);
}
cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const void*,
                                                     const cudnnFilterDescriptor_t wDesc, const void*,
                                                     const cudnnConvolutionDescriptor_t convDesc,
                                                     const cudnnTensorDescriptor_t yDesc, void*, const int requestedAlgoCount,
                                                     int* returnedAlgoCount, cudnnConvolutionFwdAlgoPerf_t* perfResults, void*,
                                                     size_t) {
  return list(handle, "cudnnFindConvolutionForwardAlgorithmEx", Direction::forward, xDesc, wDesc, yDesc, convDesc,
              CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, requestedAlgoCount, returnedAlgoCount, perfResults);
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc,
                                                      const cudnnFilterDescriptor_t wDesc,
                                                      const cudnnConvolutionDescriptor_t convDesc,
                                                      const cudnnTensorDescriptor_t yDesc, cudnnConvolutionFwdAlgo_t algo,
                                                      size_t* sizeInBytes) {
  return workspace(handle, "cudnnGetConvolutionForwardWorkspaceSize", Direction::forward, xDesc, wDesc, yDesc, convDesc,
                   algo >= CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM && algo < CUDNN_CONVOLUTION_FWD_ALGO_COUNT, sizeInBytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t handle, const cudnnFilterDescriptor_t filterDesc,
                                                          const cudnnTensorDescriptor_t diffDesc,
                                                          const cudnnConvolutionDescriptor_t convDesc,
                                                          const cudnnTensorDescriptor_t gradDesc, const int requestedAlgoCount,
                                                          int* returnedAlgoCount,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* perfResults) {
  return list(handle, "cudnnGetConvolutionBackwardDataAlgorithm_v7", Direction::data, gradDesc, filterDesc, diffDesc, convDesc,
              CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, requestedAlgoCount, returnedAlgoCount, perfResults);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(cudnnHandle_t handle, const cudnnFilterDescriptor_t wDesc,
                                                        const cudnnTensorDescriptor_t dyDesc,
                                                        const cudnnConvolutionDescriptor_t convDesc,
                                                        const cudnnTensorDescriptor_t dxDesc, const int requestedAlgoCount,
                                                        int* returnedAlgoCount, cudnnConvolutionBwdDataAlgoPerf_t* perfResults) {
  return list(handle, "cudnnFindConvolutionBackwardDataAlgorithm", Direction::data, dxDesc, wDesc, dyDesc, convDesc,
              CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, requestedAlgoCount, returnedAlgoCount, perfResults);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t handle, const cudnnFilterDescriptor_t wDesc, const void*,
                                                          const cudnnTensorDescriptor_t dyDesc, const void*,
                                                          const cudnnConvolutionDescriptor_t convDesc,
                                                          const cudnnTensorDescriptor_t dxDesc, void*,
                                                          const int requestedAlgoCount, int* returnedAlgoCount,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* perfResults, void*, size_t) {
  return list(handle, "cudnnFindConvolutionBackwardDataAlgorithmEx", Direction::data, dxDesc, wDesc, dyDesc, convDesc,
              CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, requestedAlgoCount, returnedAlgoCount, perfResults);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle, const cudnnFilterDescriptor_t wDesc,
                                                           const cudnnTensorDescriptor_t dyDesc,
                                                           const cudnnConvolutionDescriptor_t convDesc,
                                                           const cudnnTensorDescriptor_t dxDesc,
                                                           cudnnConvolutionBwdDataAlgo_t algo, size_t* sizeInBytes) {
  return workspace(handle, "cudnnGetConvolutionBackwardDataWorkspaceSize", Direction::data, dxDesc, wDesc, dyDesc, convDesc,
                   algo >= CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 && algo < CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, sizeInBytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t srcDesc,
                                                            const cudnnTensorDescriptor_t diffDesc,
                                                            const cudnnConvolutionDescriptor_t convDesc,
                                                            const cudnnFilterDescriptor_t gradDesc, const int requestedAlgoCount,
                                                            int* returnedAlgoCount,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* perfResults) {
  return list(handle, "cudnnGetConvolutionBackwardFilterAlgorithm_v7", Direction::filter, srcDesc, gradDesc, diffDesc, convDesc,
              CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, requestedAlgoCount, returnedAlgoCount, perfResults);
}
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc,
                                                          const cudnnTensorDescriptor_t dyDesc,
                                                          const cudnnConvolutionDescriptor_t convDesc,
                                                          const cudnnFilterDescriptor_t dwDesc, const int requestedAlgoCount,
                                                          int* returnedAlgoCount,
                                                          cudnnConvolutionBwdFilterAlgoPerf_t* perfResults) {
  return list(handle, "cudnnFindConvolutionBackwardFilterAlgorithm", Direction::filter, xDesc, dwDesc, dyDesc, convDesc,
              CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, requestedAlgoCount, returnedAlgoCount, perfResults);
}
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc,
                                                            const void*, const cudnnTensorDescriptor_t dyDesc, const void*,
                                                            const cudnnConvolutionDescriptor_t convDesc,
                                                            const cudnnFilterDescriptor_t dwDesc, void*,
                                                            const int requestedAlgoCount, int* returnedAlgoCount,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* perfResults, void*, size_t) {
  return list(handle, "cudnnFindConvolutionBackwardFilterAlgorithmEx", Direction::filter, xDesc, dwDesc, dyDesc, convDesc,
              CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, requestedAlgoCount, returnedAlgoCount, perfResults);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc,
                                                             const cudnnTensorDescriptor_t dyDesc,
                                                             const cudnnConvolutionDescriptor_t convDesc,
                                                             const cudnnFilterDescriptor_t gradDesc,
                                                             cudnnConvolutionBwdFilterAlgo_t algo, size_t* sizeInBytes) {
  return workspace(handle, "cudnnGetConvolutionBackwardFilterWorkspaceSize", Direction::filter, xDesc, gradDesc, dyDesc, convDesc,
                   algo >= CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 && algo < CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, sizeInBytes);
}

}  // namespace impl
}  // namespace rouse::cudnn
