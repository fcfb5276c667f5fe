// cuDNN's batch normalisation: the calls of its two interfaces (cudnnBatchNormalization*, cudnnNormalization*) are the same graphs. They
// need no workspace and keep nothing in reserve.
#include "client-shim/cudnn/graph.h"
#include "client-shim/cudnn/implementations.h"

namespace rouse::cudnn {
namespace {

constexpr std::uint16_t kBatchNorm = 2;  // cudnnBackendNormMode_t

// What comes after the norm, and before its gradient.
enum class Then : std::uint8_t { nothing = 0, activation = 1, addAndActivation = 2 };

struct NormOf {
  cudnnTensorDescriptor_t x, z, y, parameters, statistics;
  cudnnActivationDescriptor_t activation;
  const void *alpha, *beta;
  double epsilon;
  bool perActivation;
  Then then;
};

// One value for each channel, or for each element of an image.
void requireShapes(Call& call, const NormOf& norm, const Tensor& x) {
  call.require(norm.epsilon >= CUDNN_BN_MIN_EPSILON, "epsilon");
  for (const cudnnTensorDescriptor_t each : {norm.parameters, norm.statistics}) {
    const Tensor& parameters = call.get<Tensor>(each);
    for (int i = 0; i < parameters.rank; ++i)
      call.require(parameters.rank == x.rank && parameters.dims[i] == (i == 0 || (!norm.perActivation && i > 1) ? 1 : x.dims[i]),
                   "the parameters' shape does not follow from x's");
  }
}

// The norm's result, further to y: alpha * that + beta * y.
void finish(Call& call, const NormOf& norm, const Tensor& x, std::uint16_t z, std::uint16_t y, dnn::Node& node) {
  const double alpha = call.factor(norm.alpha, x.type), beta = call.factor(norm.beta, x.type);
  if (norm.then == Then::nothing) {
    node.outputs[0] = y;
    node.alpha = alpha;
    node.beta = beta;
    return;
  }
  std::uint16_t passing = call.passing(x);
  node.outputs[0] = passing;
  const dnn::Type compute = node.compute;
  if (norm.then == Then::addAndActivation) {
    const std::uint16_t sum = call.passing(x);
    call.pointwise(CUDNN_POINTWISE_ADD, compute, {passing, z}, sum);
    passing = sum;
  }
  call.activate(call.get<Activation>(norm.activation), compute, passing, y, alpha, beta);
}

cudnnStatus_t infer(cudnnHandle_t handle, const char* function, const NormOf& norm, const void* x, const void* z, void* y,
                    const void* scale, const void* bias, const void* mean, const void* variance) {
  return guarded([&] {
    Call call(handle, function);
    const Tensor &image = call.get<Tensor>(norm.x), &parameters = call.get<Tensor>(norm.parameters),
                 &statistics = call.get<Tensor>(norm.statistics);
    requireShapes(call, norm, image);
    const std::uint16_t in = call.memory(image, x), s = call.memory(parameters, scale), b = call.memory(parameters, bias),
                        m = call.memory(statistics, mean), v = call.memory(statistics, variance);
    const std::uint16_t residual = norm.then == Then::addAndActivation ? call.memory(call.get<Tensor>(norm.z), z) : dnn::kNoTensor;
    const std::uint16_t out = call.memory(call.get<Tensor>(norm.y), y);
    dnn::Node& node = call.node(dnn::Operation::normForward, computeOf(image.type), {in, s, b, m, v}, {});
    node.mode = kBatchNorm;
    node.numbers[dnn::kEpsilon] = norm.epsilon;
    finish(call, norm, image, residual, out, node);
    return call.submit();
  });
}

struct Statistics {
  double averageFactor;
  void *runningMean, *runningVariance, *savedMean, *savedInverse;
};

cudnnStatus_t train(cudnnHandle_t handle, const char* function, const NormOf& norm, const void* x, const void* z, void* y,
                    const void* scale, const void* bias, const Statistics& of) {
  return guarded([&] {
    Call call(handle, function);
    const Tensor &image = call.get<Tensor>(norm.x), &parameters = call.get<Tensor>(norm.parameters),
                 &statistics = call.get<Tensor>(norm.statistics);
    requireShapes(call, norm, image);
    call.require((of.runningMean == nullptr) == (of.runningVariance == nullptr), "one of the running statistics without the other");
    call.require((of.savedMean == nullptr) == (of.savedInverse == nullptr), "one of the saved statistics without the other");
    const std::uint16_t in = call.memory(image, x), s = call.memory(parameters, scale), b = call.memory(parameters, bias);
    const std::uint16_t mean = call.optional(statistics, of.runningMean), variance = call.optional(statistics, of.runningVariance);
    const std::uint16_t savedMean = call.optional(statistics, of.savedMean),
                        savedInverse = call.optional(statistics, of.savedInverse);
    const std::uint16_t residual = norm.then == Then::addAndActivation ? call.memory(call.get<Tensor>(norm.z), z) : dnn::kNoTensor;
    const std::uint16_t out = call.memory(call.get<Tensor>(norm.y), y);
    dnn::Node& node =
        call.node(dnn::Operation::normForward, computeOf(image.type), {in, s, b, dnn::kNoTensor, dnn::kNoTensor, mean, variance},
                  {out, savedMean, savedInverse, mean, variance});
    node.mode = kBatchNorm;
    node.flags = dnn::kTraining;
    node.numbers[dnn::kEpsilon] = norm.epsilon;
    node.numbers[dnn::kAverageFactor] = of.averageFactor;
    finish(call, norm, image, residual, out, node);
    return call.submit();
  });
}

struct Gradients {
  cudnnTensorDescriptor_t dy, dx, dz;
  const void* y;
  const void* dyAddress;
  void *dxAddress, *dzAddress, *scale, *bias;
  const void *parameterAlpha, *parameterBeta;
  const void *savedMean, *savedInverse;
};

cudnnStatus_t differentiate(cudnnHandle_t handle, const char* function, const NormOf& norm, const void* x, const void* scale,
                            const Gradients& of) {
  return guarded([&] {
    Call call(handle, function);
    const Tensor &image = call.get<Tensor>(norm.x), &parameters = call.get<Tensor>(norm.parameters),
                 &statistics = call.get<Tensor>(norm.statistics);
    requireShapes(call, norm, image);
    call.require((of.savedMean == nullptr) == (of.savedInverse == nullptr), "one of the saved statistics without the other");
    const dnn::Type compute = computeOf(image.type);
    const std::uint16_t in = call.memory(image, x), s = call.memory(parameters, scale);
    const std::uint16_t mean = call.optional(statistics, of.savedMean), inverse = call.optional(statistics, of.savedInverse);
    std::uint16_t gradient = call.memory(call.get<Tensor>(of.dy), of.dyAddress);
    const std::uint16_t dx = call.memory(call.get<Tensor>(of.dx), of.dxAddress), dscale = call.memory(parameters, of.scale),
                        dbias = call.memory(parameters, of.bias);
    if (norm.then != Then::nothing) {
      // What y is says where the activation let through: ReLU's alone can be seen from it.
      const Activation& activation = call.get<Activation>(norm.activation);
      if (activation.mode != CUDNN_ACTIVATION_RELU) call.unsupported("the gradient of an activation other than RELU");
      const Tensor& result = call.get<Tensor>(norm.y);
      const std::uint16_t y = call.memory(result, of.y);
      const std::uint16_t before =
          norm.then == Then::addAndActivation ? call.memory(call.get<Tensor>(of.dz), of.dzAddress) : call.passing(image);
      call.differentiate(activation, compute, y, y, gradient, before, image, 1, 0);
      gradient = before;
    }
    dnn::Node& node = call.node(dnn::Operation::normBackward, compute, {in, gradient, s, mean, inverse}, {dx, dscale, dbias});
    node.mode = kBatchNorm;
    node.numbers[dnn::kEpsilon] = norm.epsilon;
    node.numbers[dnn::kParameterAlpha] = call.factor(of.parameterAlpha, image.type);
    node.numbers[dnn::kParameterBeta] = call.factor(of.parameterBeta, image.type);
    node.alpha = call.factor(norm.alpha, image.type);
    node.beta = call.factor(norm.beta, image.type);
    return call.submit();
  });
}

bool valid(cudnnBatchNormMode_t mode) {
  return mode >= CUDNN_BATCHNORM_PER_ACTIVATION && mode <= CUDNN_BATCHNORM_SPATIAL_PERSISTENT;
}
bool valid(cudnnBatchNormOps_t ops) { return ops >= CUDNN_BATCHNORM_OPS_BN && ops <= CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION; }
bool valid(cudnnNormMode_t mode, cudnnNormOps_t ops, cudnnNormAlgo_t algo, int groups) {
  return (mode == CUDNN_NORM_PER_ACTIVATION || mode == CUDNN_NORM_PER_CHANNEL) && ops >= CUDNN_NORM_OPS_NORM &&
         ops <= CUDNN_NORM_OPS_NORM_ADD_ACTIVATION && (algo == CUDNN_NORM_ALGO_STANDARD || algo == CUDNN_NORM_ALGO_PERSIST) &&
         groups == 1;
}
bool perActivation(cudnnBatchNormMode_t mode) { return mode == CUDNN_BATCHNORM_PER_ACTIVATION; }

cudnnStatus_t nothing(cudnnHandle_t handle, const char* function, bool valid, cudnnTensorDescriptor_t xDesc, std::size_t* bytes) {
  if (findHandle(handle) == nullptr || !valid || find<Tensor>(xDesc) == nullptr || bytes == nullptr)
    return fail(CUDNN_STATUS_BAD_PARAM, function);
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

namespace impl {

cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha,
                                                      const void* beta, const cudnnTensorDescriptor_t xDesc, const void* x,
                                                      const cudnnTensorDescriptor_t yDesc, void* y,
                                                      const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void* bnScale,
                                                      const void* bnBias, const void* estimatedMean,
                                                      const void* estimatedVariance, double epsilon) {
  constexpr const char* kFunction = "cudnnBatchNormalizationForwardInference";
  if (!valid(mode)) return fail(CUDNN_STATUS_BAD_PARAM, kFunction);
  const NormOf norm{xDesc, nullptr, yDesc,   bnScaleBiasMeanVarDesc, bnScaleBiasMeanVarDesc, nullptr,
                    alpha, beta,    epsilon, perActivation(mode),    Then::nothing};
  return infer(handle, kFunction, norm, x, nullptr, y, bnScale, bnBias, estimatedMean, estimatedVariance);
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha,
                                                     const void* beta, const cudnnTensorDescriptor_t xDesc, const void* x,
                                                     const cudnnTensorDescriptor_t yDesc, void* y,
                                                     const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void* bnScale,
                                                     const void* bnBias, double exponentialAverageFactor, void* resultRunningMean,
                                                     void* resultRunningVariance, double epsilon, void* resultSaveMean,
                                                     void* resultSaveInvVariance) {
  constexpr const char* kFunction = "cudnnBatchNormalizationForwardTraining";
  if (!valid(mode)) return fail(CUDNN_STATUS_BAD_PARAM, kFunction);
  const NormOf norm{xDesc, nullptr, yDesc,   bnScaleBiasMeanVarDesc, bnScaleBiasMeanVarDesc, nullptr,
                    alpha, beta,    epsilon, perActivation(mode),    Then::nothing};
  return train(handle, kFunction, norm, x, nullptr, y, bnScale, bnBias,
               {exponentialAverageFactor, resultRunningMean, resultRunningVariance, resultSaveMean, resultSaveInvVariance});
}

cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const void* alpha, const void* beta,
    const cudnnTensorDescriptor_t xDesc, const void* xData, const cudnnTensorDescriptor_t zDesc, const void* zData,
    const cudnnTensorDescriptor_t yDesc, void* yData, const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void* bnScale,
    const void* bnBias, double exponentialAverageFactor, void* resultRunningMean, void* resultRunningVariance, double epsilon,
    void* resultSaveMean, void* resultSaveInvVariance, cudnnActivationDescriptor_t activationDesc, void*, size_t, void*, size_t) {
  constexpr const char* kFunction = "cudnnBatchNormalizationForwardTrainingEx";
  if (!valid(mode) || !valid(bnOps)) return fail(CUDNN_STATUS_BAD_PARAM, kFunction);
  const NormOf norm{xDesc, zDesc, yDesc,   bnScaleBiasMeanVarDesc, bnScaleBiasMeanVarDesc,  activationDesc,
                    alpha, beta,  epsilon, perActivation(mode),    static_cast<Then>(bnOps)};
  return train(handle, kFunction, norm, xData, zData, yData, bnScale, bnBias,
               {exponentialAverageFactor, resultRunningMean, resultRunningVariance, resultSaveMean, resultSaveInvVariance});
}

cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alphaDataDiff,
                                              const void* betaDataDiff, const void* alphaParamDiff, const void* betaParamDiff,
                                              const cudnnTensorDescriptor_t xDesc, const void* x,
                                              const cudnnTensorDescriptor_t dyDesc, const void* dy,
                                              const cudnnTensorDescriptor_t dxDesc, void* dx,
                                              const cudnnTensorDescriptor_t dBnScaleBiasDesc, const void* bnScale,
                                              void* dBnScaleResult, void* dBnBiasResult, double epsilon, const void* savedMean,
                                              const void* savedInvVariance) {
  constexpr const char* kFunction = "cudnnBatchNormalizationBackward";
  if (!valid(mode)) return fail(CUDNN_STATUS_BAD_PARAM, kFunction);
  const NormOf norm{xDesc,         nullptr,      nullptr, dBnScaleBiasDesc,    dBnScaleBiasDesc, nullptr,
                    alphaDataDiff, betaDataDiff, epsilon, perActivation(mode), Then::nothing};
  return differentiate(handle, kFunction, norm, x, bnScale,
                       {dyDesc, dxDesc, nullptr, nullptr, dy, dx, nullptr, dBnScaleResult, dBnBiasResult, alphaParamDiff,
                        betaParamDiff, savedMean, savedInvVariance});
}

cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const void* alphaDataDiff,
    const void* betaDataDiff, const void* alphaParamDiff, const void* betaParamDiff, const cudnnTensorDescriptor_t xDesc,
    const void* xData, const cudnnTensorDescriptor_t yDesc, const void* yData, const cudnnTensorDescriptor_t dyDesc,
    const void* dyData, const cudnnTensorDescriptor_t dzDesc, void* dzData, const cudnnTensorDescriptor_t dxDesc, void* dxData,
    const cudnnTensorDescriptor_t dBnScaleBiasDesc, const void* bnScaleData, const void*, void* dBnScaleData, void* dBnBiasData,
    double epsilon, const void* savedMean, const void* savedInvVariance, cudnnActivationDescriptor_t activationDesc, void*,
    size_t, void*, size_t) {
  constexpr const char* kFunction = "cudnnBatchNormalizationBackwardEx";
  if (!valid(mode) || !valid(bnOps)) return fail(CUDNN_STATUS_BAD_PARAM, kFunction);
  const NormOf norm{xDesc,         nullptr,      yDesc,   dBnScaleBiasDesc,    dBnScaleBiasDesc,        activationDesc,
                    alphaDataDiff, betaDataDiff, epsilon, perActivation(mode), static_cast<Then>(bnOps)};
  return differentiate(handle, kFunction, norm, xData, bnScaleData,
                       {dyDesc, dxDesc, dzDesc, yData, dyData, dxData, dzData, dBnScaleData, dBnBiasData, alphaParamDiff,
                        betaParamDiff, savedMean, savedInvVariance});
}

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const cudnnTensorDescriptor_t xDesc,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t* sizeInBytes) {
  return nothing(handle, "cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize", valid(mode) && valid(bnOps), xDesc,
                 sizeInBytes);
}
cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                                                cudnnBatchNormOps_t bnOps, const cudnnTensorDescriptor_t xDesc,
                                                                const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                                                const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                                                const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t,
                                                                size_t* sizeInBytes) {
  return nothing(handle, "cudnnGetBatchNormalizationBackwardExWorkspaceSize", valid(mode) && valid(bnOps), xDesc, sizeInBytes);
}
cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                                                   cudnnBatchNormOps_t bnOps, const cudnnActivationDescriptor_t,
                                                                   const cudnnTensorDescriptor_t xDesc, size_t* sizeInBytes) {
  return nothing(handle, "cudnnGetBatchNormalizationTrainingExReserveSpaceSize", valid(mode) && valid(bnOps), xDesc, sizeInBytes);
}

cudnnStatus_t cudnnNormalizationForwardInference(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps, cudnnNormAlgo_t algo, const void* alpha, const void* beta,
    const cudnnTensorDescriptor_t xDesc, const void* x, const cudnnTensorDescriptor_t normScaleBiasDesc, const void* normScale,
    const void* normBias, const cudnnTensorDescriptor_t normMeanVarDesc, const void* estimatedMean, const void* estimatedVariance,
    const cudnnTensorDescriptor_t zDesc, const void* z, cudnnActivationDescriptor_t activationDesc,
    const cudnnTensorDescriptor_t yDesc, void* y, double epsilon, int groupCnt) {
  constexpr const char* kFunction = "cudnnNormalizationForwardInference";
  if (!valid(mode, normOps, algo, groupCnt)) return fail(CUDNN_STATUS_BAD_PARAM, kFunction);
  const NormOf norm{xDesc, zDesc, yDesc, normScaleBiasDesc, normMeanVarDesc, activationDesc, alpha, beta, epsilon,
                    mode == CUDNN_NORM_PER_ACTIVATION, static_cast<Then>(normOps)};
  return infer(handle, kFunction, norm, x, z, y, normScale, normBias, estimatedMean, estimatedVariance);
}

cudnnStatus_t cudnnNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps, cudnnNormAlgo_t algo, const void* alpha, const void* beta,
    const cudnnTensorDescriptor_t xDesc, const void* xData, const cudnnTensorDescriptor_t normScaleBiasDesc,
    const void* normScale, const void* normBias, double exponentialAverageFactor, const cudnnTensorDescriptor_t normMeanVarDesc,
    void* resultRunningMean, void* resultRunningVariance, double epsilon, void* resultSaveMean, void* resultSaveInvVariance,
    cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t zDesc, const void* zData,
    const cudnnTensorDescriptor_t yDesc, void* yData, void*, size_t, void*, size_t, int groupCnt) {
  constexpr const char* kFunction = "cudnnNormalizationForwardTraining";
  if (!valid(mode, normOps, algo, groupCnt)) return fail(CUDNN_STATUS_BAD_PARAM, kFunction);
  const NormOf norm{xDesc, zDesc, yDesc, normScaleBiasDesc, normMeanVarDesc, activationDesc, alpha, beta, epsilon,
                    mode == CUDNN_NORM_PER_ACTIVATION, static_cast<Then>(normOps)};
  return train(handle, kFunction, norm, xData, zData, yData, normScale, normBias,
               {exponentialAverageFactor, resultRunningMean, resultRunningVariance, resultSaveMean, resultSaveInvVariance});
}

cudnnStatus_t cudnnNormalizationBackward(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps, cudnnNormAlgo_t algo, const void* alphaDataDiff,
    const void* betaDataDiff, const void* alphaParamDiff, const void* betaParamDiff, const cudnnTensorDescriptor_t xDesc,
    const void* xData, const cudnnTensorDescriptor_t yDesc, const void* yData, const cudnnTensorDescriptor_t dyDesc,
    const void* dyData, const cudnnTensorDescriptor_t dzDesc, void* dzData, const cudnnTensorDescriptor_t dxDesc, void* dxData,
    const cudnnTensorDescriptor_t dNormScaleBiasDesc, const void* normScaleData, const void*, void* dNormScaleData,
    void* dNormBiasData, double epsilon, const cudnnTensorDescriptor_t normMeanVarDesc, const void* savedMean,
    const void* savedInvVariance, cudnnActivationDescriptor_t activationDesc, void*, size_t, void*, size_t, int groupCnt) {
  constexpr const char* kFunction = "cudnnNormalizationBackward";
  if (!valid(mode, normOps, algo, groupCnt)) return fail(CUDNN_STATUS_BAD_PARAM, kFunction);
  const NormOf norm{xDesc,
                    nullptr,
                    yDesc,
                    dNormScaleBiasDesc,
                    normMeanVarDesc,
                    activationDesc,
                    alphaDataDiff,
                    betaDataDiff,
                    epsilon,
                    mode == CUDNN_NORM_PER_ACTIVATION,
                    static_cast<Then>(normOps)};
  return differentiate(handle, kFunction, norm, xData, normScaleData,
                       {dyDesc, dxDesc, dzDesc, yData, dyData, dxData, dzData, dNormScaleData, dNormBiasData, alphaParamDiff,
                        betaParamDiff, savedMean, savedInvVariance});
}

cudnnStatus_t cudnnGetNormalizationForwardTrainingWorkspaceSize(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps,
                                                                cudnnNormAlgo_t algo, const cudnnTensorDescriptor_t xDesc,
                                                                const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                                                const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t,
                                                                const cudnnTensorDescriptor_t, size_t* sizeInBytes, int groupCnt) {
  return nothing(handle, "cudnnGetNormalizationForwardTrainingWorkspaceSize", valid(mode, normOps, algo, groupCnt), xDesc,
                 sizeInBytes);
}
cudnnStatus_t cudnnGetNormalizationBackwardWorkspaceSize(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps,
                                                         cudnnNormAlgo_t algo, const cudnnTensorDescriptor_t xDesc,
                                                         const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                                         const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                                         const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t,
                                                         const cudnnTensorDescriptor_t, size_t* sizeInBytes, int groupCnt) {
  return nothing(handle, "cudnnGetNormalizationBackwardWorkspaceSize", valid(mode, normOps, algo, groupCnt), xDesc, sizeInBytes);
}
cudnnStatus_t cudnnGetNormalizationTrainingReserveSpaceSize(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps,
                                                            cudnnNormAlgo_t algo, const cudnnActivationDescriptor_t,
                                                            const cudnnTensorDescriptor_t xDesc, size_t* sizeInBytes,
                                                            int groupCnt) {
  return nothing(handle, "cudnnGetNormalizationTrainingReserveSpaceSize", valid(mode, normOps, algo, groupCnt), xDesc, sizeInBytes);
}

}  // namespace impl
}  // namespace rouse::cudnn
