// nvcc: -lcudnn
// library: libcudnn.so.9
// cuDNN's batch normalisation: inference, training with running and saved statistics, gradients, with addition and ReLU at once.
#include "dnn.h"

using namespace dnn;

template <class T>
void run(cudnnHandle_t handle, check::Random& r, const Index& dims, cudnnBatchNormMode_t mode, Layout layout, bool factors) {
  using P = parameter_t<T>;
  const double epsilon = 1e-3, average = 0.25;
  const std::string label = std::string(name(layout)) + " mode " + std::to_string(mode);
  Tensor<T> x(r, dims, layout, -2, 3), y(r, dims, layout), dy(r, dims, layout), dx(r, dims, layout), z(r, dims, layout), dz(r, dims, layout);
  Index shape = dims;
  shape[0] = 1;
  if (mode != CUDNN_BATCHNORM_PER_ACTIVATION) std::fill(shape.begin() + 2, shape.end(), 1);
  Tensor<P> scale(r, shape, Layout::packed, 0.5, 2), bias(r, shape), mean(r, shape), variance(r, shape, Layout::packed, 0.5, 2), saved(r, shape), inverse(r, shape),
      dscale(r, shape), dbias(r, shape);
  cudnnTensorDescriptor_t derived;
  cudnnDataType_t type;
  int rank = 0;
  Index got(8), strides(8);
  DNN(cudnnCreateTensorDescriptor(&derived));
  DNN(cudnnDeriveBNTensorDescriptor(derived, x, mode));
  DNN(cudnnGetTensorNdDescriptor(derived, 8, &type, &rank, got.data(), strides.data()));
  got.resize(rank);
  EXPECT(got == shape);
  EXPECT(type == kCompute<T>);

  const double rounding = (std::is_same_v<T, double> ? 1e-13 : 2e-5);
  const Factor<T> alpha(factors ? 0.75 : 1), beta(factors ? 0.5 : 0);
  DNN(cudnnBatchNormalizationForwardInference(handle, mode, alpha, beta, x, x.device, y, y.device, derived, scale.device, bias.device, mean.device, variance.device,
                                              epsilon));
  y.compare("y of inference, " + label,
            [&](const Index& i) {
              const double own = (x(i) - mean(i)) / std::sqrt(variance(i) + epsilon) * scale(i) + bias(i);
              return alpha.wide() * own + beta.wide() * (factors ? y(i) : 0);
            },
            rounding + 4 * kEpsilon<T>);

  // What each parameter is one of.
  double count = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) count *= dims[i] / shape[i];
  Numbers mu(shape), squares(shape), dot(shape), sum(shape);
  each(dims, [&](const Index& i) { mu[i] += x(i) / count; });
  each(dims, [&](const Index& i) { squares[i] += (x(i) - mu(i)) * (x(i) - mu(i)) / count; });
  const auto deviation = [&](const Index& i) { return 1 / std::sqrt(squares(i) + epsilon); };
  const auto normal = [&](const Index& i) { return (x(i) - mu(i)) * deviation(i) * scale(i) + bias(i); };
  y.upload();
  DNN(cudnnBatchNormalizationForwardTraining(handle, mode, alpha, beta, x, x.device, y, y.device, derived, scale.device, bias.device, average, mean.device,
                                             variance.device, epsilon, saved.device, inverse.device));
  y.compare("y of training, " + label, [&](const Index& i) { return alpha.wide() * normal(i) + beta.wide() * (factors ? y(i) : 0); }, rounding + 4 * kEpsilon<T>);
  saved.compare("the saved mean, " + label, mu, rounding);
  inverse.compare("the saved deviation, " + label, deviation, rounding);
  mean.compare("the running mean, " + label, [&](const Index& i) { return (1 - average) * mean(i) + average * mu(i); }, rounding);
  variance.compare("the running variance, " + label,
                   [&](const Index& i) { return (1 - average) * variance(i) + average * squares(i) * count / (count > 1 ? count - 1 : 1); }, rounding);

  const Factor<T> ofParameters(factors ? 2 : 1), before(factors ? -1 : 0);
  each(dims, [&](const Index& i) {
    dot[i] += dy(i) * (x(i) - mu(i)) * deviation(i);
    sum[i] += dy(i);
  });
  const auto gradient = [&](const Index& i) { return scale(i) * deviation(i) * (dy(i) - sum(i) / count - (x(i) - mu(i)) * deviation(i) * dot(i) / count); };
  for (const bool kept : {true, false}) {
    dscale.upload();
    dbias.upload();
    dx.upload();
    DNN(cudnnBatchNormalizationBackward(handle, mode, alpha, beta, ofParameters, before, x, x.device, dy, dy.device, dx, dx.device, derived, scale.device,
                                        dscale.device, dbias.device, epsilon, kept ? saved.device : nullptr, kept ? inverse.device : nullptr));
    dx.compare("dx, " + label, [&](const Index& i) { return alpha.wide() * gradient(i) + beta.wide() * (factors ? dx(i) : 0); }, 4 * rounding + 4 * kEpsilon<T>);
    dscale.compare("dscale, " + label, [&](const Index& i) { return ofParameters.wide() * dot(i) + before.wide() * (factors ? dscale(i) : 0); }, count * rounding);
    dbias.compare("dbias, " + label, [&](const Index& i) { return ofParameters.wide() * sum(i) + before.wide() * (factors ? dbias(i) : 0); }, count * rounding);
  }
  DNN(cudnnDestroyTensorDescriptor(derived));
}

// With what cuDNN puts into the same kernel: halves, channels last.
void fused(cudnnHandle_t handle, check::Random& r, cudnnBatchNormOps_t ops) {
  using T = __half;
  const Index dims{4, 8, 5, 5}, shape{1, 8, 1, 1};
  const double epsilon = 1e-3;
  Tensor<T> x(r, dims, Layout::channelsLast), y(r, dims, Layout::channelsLast), z(r, dims, Layout::channelsLast), dy(r, dims, Layout::channelsLast),
      dx(r, dims, Layout::channelsLast), dz(r, dims, Layout::channelsLast);
  Tensor<float> scale(r, shape, Layout::packed, 0.5, 2), bias(r, shape), saved(r, shape), inverse(r, shape), dscale(r, shape), dbias(r, shape);
  cudnnActivationDescriptor_t relu;
  DNN(cudnnCreateActivationDescriptor(&relu));
  DNN(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
  const cudnnBatchNormMode_t mode = CUDNN_BATCHNORM_SPATIAL_PERSISTENT;
  const bool add = ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION;
  std::size_t workspace = 0, backwardWorkspace = 0, reserve = 0;
  DNN(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(handle, mode, ops, x, add ? z.desc : nullptr, y, scale, relu, &workspace));
  DNN(cudnnGetBatchNormalizationBackwardExWorkspaceSize(handle, mode, ops, x, y, dy, add ? dz.desc : nullptr, dx, scale, relu, &backwardWorkspace));
  DNN(cudnnGetBatchNormalizationTrainingExReserveSpaceSize(handle, mode, ops, relu, x, &reserve));
  workspace = std::max(workspace, backwardWorkspace);
  char *work = workspace != 0 ? check::deviceArray<char>(workspace) : nullptr, *kept = reserve != 0 ? check::deviceArray<char>(reserve) : nullptr;
  const Factor<T> one(1), zero(0);
  DNN(cudnnBatchNormalizationForwardTrainingEx(handle, mode, ops, one, zero, x, x.device, z, add ? z.device : nullptr, y, y.device, scale, scale.device, bias.device,
                                               1, nullptr, nullptr, epsilon, saved.device, inverse.device, relu, work, workspace, kept, reserve));
  const double count = 4 * 25;
  Numbers mu(shape), squares(shape), dot(shape), sum(shape);
  each(dims, [&](const Index& i) { mu[i] += x(i) / count; });
  each(dims, [&](const Index& i) { squares[i] += (x(i) - mu(i)) * (x(i) - mu(i)) / count; });
  const auto deviation = [&](const Index& i) { return 1 / std::sqrt(squares(i) + epsilon); };
  y.compare("y of norm and ReLU",
            [&](const Index& i) { return std::max(0.0, (x(i) - mu(i)) * deviation(i) * scale(i) + bias(i) + (add ? z(i) : 0)); }, 1e-3);
  y.download();
  const auto through = [&](const Index& i) { return y(i) > 0 ? dy(i) : 0; };
  each(dims, [&](const Index& i) {
    dot[i] += through(i) * (x(i) - mu(i)) * deviation(i);
    sum[i] += through(i);
  });
  DNN(cudnnBatchNormalizationBackwardEx(handle, mode, ops, one, zero, one, zero, x, x.device, y, y.device, dy, dy.device, dz, add ? dz.device : nullptr, dx, dx.device,
                                        scale, scale.device, bias.device, dscale.device, dbias.device, epsilon, saved.device, inverse.device, relu, work, workspace,
                                        kept, reserve));
  dx.compare("dx of norm and ReLU",
             [&](const Index& i) { return scale(i) * deviation(i) * (through(i) - sum(i) / count - (x(i) - mu(i)) * deviation(i) * dot(i) / count); }, 4e-3);
  if (add) dz.compare("dz", through, 1e-3);
  dscale.compare("dscale of norm and ReLU", dot, 2e-2);
  dbias.compare("dbias of norm and ReLU", sum, 2e-2);
  if (work != nullptr) CHECK(cudaFree(work));
  if (kept != nullptr) CHECK(cudaFree(kept));
  DNN(cudnnDestroyActivationDescriptor(relu));
}

int main() {
  cudnnHandle_t handle;
  DNN(cudnnCreate(&handle));
  check::Random r(53);
  bool factors = false;
  for (const Index& dims : {Index{4, 3, 5, 6}, Index{2, 8, 1, 7}, Index{3, 4, 2, 3, 4}}) {
    for (const cudnnBatchNormMode_t mode : {CUDNN_BATCHNORM_SPATIAL, CUDNN_BATCHNORM_PER_ACTIVATION}) {
      if (mode == CUDNN_BATCHNORM_PER_ACTIVATION && dims.size() > 4) continue;
      run<float>(handle, r, dims, mode, Layout::packed, factors);
      run<double>(handle, r, dims, mode, Layout::packed, !factors);
      if (mode == CUDNN_BATCHNORM_SPATIAL && dims.size() == 4) {
        run<float>(handle, r, dims, mode, Layout::channelsLast, factors);
        run<__half>(handle, r, dims, mode, Layout::packed, false);
      }
      factors = !factors;
    }
  }
  fused(handle, r, CUDNN_BATCHNORM_OPS_BN_ACTIVATION);
  fused(handle, r, CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION);
  DNN(cudnnDestroy(handle));
  return check::done();
}
