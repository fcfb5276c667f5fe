// nvcc: -lcudnn
// library: libcudnn.so.9
// cuDNN's operations on elements: activations and their derivatives, operations on two tensors, reductions, and changes of layout.
#include "dnn.h"

using namespace dnn;

template <class T>
void activations(cudnnHandle_t handle, check::Random& r, Layout layout, bool factors) {
  const Index dims{2, 5, 3, 4};
  for (int mode = CUDNN_ACTIVATION_SIGMOID; mode <= CUDNN_ACTIVATION_SWISH; ++mode) {
    if (mode == CUDNN_ACTIVATION_IDENTITY) continue;  // NVIDIA's has it in ConvolutionBiasActivationForward only
    const std::string label = std::string(name(layout)) + " activation " + std::to_string(mode);
    const double coefficient = mode == CUDNN_ACTIVATION_CLIPPED_RELU ? 1.25 : 0.5, swish = 1.5;
    Tensor<T> x(r, dims, layout, -3, 3), y(r, dims, layout), dy(r, dims, layout), dx(r, dims, layout);
    cudnnActivationDescriptor_t desc;
    DNN(cudnnCreateActivationDescriptor(&desc));
    DNN(cudnnSetActivationDescriptor(desc, cudnnActivationMode_t(mode), CUDNN_PROPAGATE_NAN, coefficient));
    DNN(cudnnSetActivationDescriptorSwishBeta(desc, swish));
    const auto value = [&](double v) {
      switch (mode) {
        case CUDNN_ACTIVATION_SIGMOID: return 1 / (1 + std::exp(-v));
        case CUDNN_ACTIVATION_RELU: return std::max(0.0, v);
        case CUDNN_ACTIVATION_TANH: return std::tanh(v);
        case CUDNN_ACTIVATION_CLIPPED_RELU: return std::min(coefficient, std::max(0.0, v));
        case CUDNN_ACTIVATION_ELU: return v < 0 ? coefficient * (std::exp(v) - 1) : v;
        default: return v / (1 + std::exp(-swish * v));
      }
    };
    const auto slope = [&](double v) {
      const double s = 1 / (1 + std::exp(-v)), b = 1 / (1 + std::exp(-swish * v)), h = std::tanh(v);
      switch (mode) {
        case CUDNN_ACTIVATION_SIGMOID: return s * (1 - s);
        case CUDNN_ACTIVATION_RELU: return v > 0 ? 1.0 : 0.0;
        case CUDNN_ACTIVATION_TANH: return 1 - h * h;
        case CUDNN_ACTIVATION_CLIPPED_RELU: return v > 0 && v < coefficient ? 1.0 : 0.0;
        case CUDNN_ACTIVATION_ELU: return v < 0 ? coefficient * std::exp(v) : 1.0;
        default: return b + swish * v * b * (1 - b);
      }
    };
    const Factor<T> alpha(factors ? 0.5 : 1), beta(factors ? 3 : 0);
    const double rounding = (std::is_same_v<T, double> ? 1e-14 : 4e-6) + 4 * kEpsilon<T>;
    DNN(cudnnActivationForward(handle, desc, alpha, x, x.device, beta, y, y.device));
    y.compare(
        "y, " + label, [&](const Index& i) { return alpha.wide() * value(x(i)) + beta.wide() * (factors ? y(i) : 0); }, rounding);
    DNN(cudnnActivationForward(handle, desc, Factor<T>(1), x, x.device, Factor<T>(0), y, y.device));
    DNN(cudnnActivationBackward(handle, desc, alpha, y, y.device, dy, dy.device, x, x.device, beta, dx, dx.device));
    dx.compare(
        "dx, " + label, [&](const Index& i) { return alpha.wide() * slope(x(i)) * dy(i) + beta.wide() * (factors ? dx(i) : 0); },
        2 * rounding);
    DNN(cudnnDestroyActivationDescriptor(desc));
  }
}

template <class T>
void pairs(cudnnHandle_t handle, check::Random& r, Layout layout, bool factors) {
  const Index dims{2, 5, 3, 4};
  for (const Index& other : {dims, Index{1, 5, 1, 1}, Index{1, 1, 1, 1}, Index{1, 5, 3, 4}}) {
    for (int op = CUDNN_OP_TENSOR_ADD; op <= CUDNN_OP_TENSOR_NOT; ++op) {
      const std::string label = std::string(name(layout)) + " operation " + std::to_string(op);
      Tensor<T> a(r, dims, layout, 0.1, 2), b(r, other, Layout::packed, 0.1, 2), c(r, dims, layout);
      const Factor<parameter_t<T>> first(factors ? 0.5 : 1), second(factors ? 1.5 : 1), beta(factors ? -1 : 0);
      cudnnOpTensorDescriptor_t desc;
      DNN(cudnnCreateOpTensorDescriptor(&desc));
      DNN(cudnnSetOpTensorDescriptor(desc, cudnnOpTensorOp_t(op), kCompute<T>, CUDNN_PROPAGATE_NAN));
      DNN(cudnnOpTensor(handle, desc, first, a, a.device, second, b, b.device, beta, c, c.device));
      c.compare("C, " + label,
                [&](const Index& i) {
                  const double x = first.wide() * a(i), y = second.wide() * b(i);
                  const double own = op == CUDNN_OP_TENSOR_ADD    ? x + y
                                     : op == CUDNN_OP_TENSOR_MUL  ? x * y
                                     : op == CUDNN_OP_TENSOR_MIN  ? std::min(x, y)
                                     : op == CUDNN_OP_TENSOR_MAX  ? std::max(x, y)
                                     : op == CUDNN_OP_TENSOR_SQRT ? std::sqrt(x)
                                                                  : 1 - x;
                  return own + beta.wide() * (factors ? c(i) : 0);
                },
                8 * kEpsilon<T>);
      DNN(cudnnDestroyOpTensorDescriptor(desc));
    }
    Tensor<T> a(r, other), c(r, dims, layout);
    const Factor<T> alpha(0.5), beta(2);
    DNN(cudnnAddTensor(handle, alpha, a, a.device, beta, c, c.device));
    c.compare("AddTensor", [&](const Index& i) { return 0.5 * a(i) + 2 * c(i); }, 4 * kEpsilon<T>);
  }
  Tensor<T> x(r, dims, layout), y(r, dims, Layout::packed), z(r, dims, Layout::channelsLast);
  const Factor<T> three(3);
  DNN(cudnnScaleTensor(handle, x, x.device, three));
  x.compare("ScaleTensor", [&](const Index& i) { return 3 * x(i); }, kEpsilon<T>);
  x.upload();
  const Factor<T> alpha(factors ? 0.5 : 1), beta(factors ? 0.25 : 0);
  for (Tensor<T>* to : {&y, &z}) {
    DNN(cudnnTransformTensor(handle, alpha, x, x.device, beta, *to, to->device));
    to->compare(
        "TransformTensor", [&](const Index& i) { return alpha.wide() * x(i) + beta.wide() * (factors ? (*to)(i) : 0); },
        2 * kEpsilon<T>);
  }
  const parameter_t<T> value = 2.5;  // a float of halves, too, whatever the documentation says
  DNN(cudnnSetTensor(handle, x, x.device, &value));
  x.compare("SetTensor", [](const Index&) { return 2.5; }, 0);
}

template <class T>
void reductions(cudnnHandle_t handle, check::Random& r, Layout layout, bool factors) {
  const Index dims{3, 4, 5, 6};
  for (const Index& to : {Index{1, 4, 1, 1}, Index{3, 4, 1, 1}, Index{1, 1, 1, 1}, Index{1, 4, 5, 6}, Index{3, 1, 5, 6}}) {
    for (int op = CUDNN_REDUCE_TENSOR_ADD; op <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS; ++op) {
      const std::string label = std::string(name(layout)) + " reduction " + std::to_string(op);
      Tensor<T> a(r, dims, layout, op == CUDNN_REDUCE_TENSOR_MUL || op == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS ? 0.95 : -1, 1.05),
          c(r, to);
      if (op == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS) {
        a[{0, 0, 0, 0}] = a[{2, 3, 4, 5}] = narrow<T>(0);
        a.upload();
      }
      cudnnReduceTensorDescriptor_t desc;
      DNN(cudnnCreateReduceTensorDescriptor(&desc));
      DNN(cudnnSetReduceTensorDescriptor(desc, cudnnReduceTensorOp_t(op), kCompute<T>, CUDNN_PROPAGATE_NAN,
                                         CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES));
      std::size_t bytes = 0, indices = 0;
      DNN(cudnnGetReductionWorkspaceSize(handle, desc, a, c, &bytes));
      DNN(cudnnGetReductionIndicesSize(handle, desc, a, c, &indices));
      char* work = bytes != 0 ? check::deviceArray<char>(bytes) : nullptr;
      Numbers sums(to), counts(to);
      const bool product = op == CUDNN_REDUCE_TENSOR_MUL || op == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS;
      each(to, [&](const Index& i) {
        sums[i] = product ? 1 : op == CUDNN_REDUCE_TENSOR_MIN ? 1e300 : op == CUDNN_REDUCE_TENSOR_MAX ? -1e300 : 0;
      });
      each(dims, [&](const Index& i) {
        const double v = a(i);
        double& s = sums[i];
        counts[i] += 1;
        switch (op) {
          case CUDNN_REDUCE_TENSOR_MUL: s *= v; break;
          case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS: s *= v == 0 ? 1 : v; break;
          case CUDNN_REDUCE_TENSOR_MIN: s = std::min(s, v); break;
          case CUDNN_REDUCE_TENSOR_MAX: s = std::max(s, v); break;
          case CUDNN_REDUCE_TENSOR_AMAX: s = std::max(s, std::fabs(v)); break;
          case CUDNN_REDUCE_TENSOR_NORM1: s += std::fabs(v); break;
          case CUDNN_REDUCE_TENSOR_NORM2: s += v * v; break;
          default: s += v;
        }
      });
      const Factor<T> alpha(factors ? 0.5 : 1), beta(factors ? 1 : 0);
      DNN(cudnnReduceTensor(handle, desc, nullptr, 0, work, bytes, alpha, a, a.device, beta, c, c.device));
      c.compare(
          "C, " + label,
          [&](const Index& i) {
            const double s = op == CUDNN_REDUCE_TENSOR_AVG     ? sums(i) / counts(i)
                             : op == CUDNN_REDUCE_TENSOR_NORM2 ? std::sqrt(sums(i))
                                                               : sums(i);
            return alpha.wide() * s + beta.wide() * (factors ? c(i) : 0);
          },
          (std::is_same_v<T, double> ? 1e-13 : 1e-4) + 2 * kEpsilon<T>);
      if (work != nullptr) CHECK(cudaFree(work));
      DNN(cudnnDestroyReduceTensorDescriptor(desc));
    }
  }
}

int main() {
  cudnnHandle_t handle;
  DNN(cudnnCreate(&handle));
  check::Random r(54);
  bool factors = false;
  for (const Layout layout : {Layout::packed, Layout::channelsLast, Layout::gaps}) {
    activations<float>(handle, r, layout, factors);
    activations<double>(handle, r, layout, !factors);
    activations<__half>(handle, r, layout, factors);
    pairs<float>(handle, r, layout, factors);
    pairs<double>(handle, r, layout, !factors);
    pairs<__half>(handle, r, layout, factors);
    reductions<float>(handle, r, layout, factors);
    reductions<double>(handle, r, layout, !factors);
    factors = !factors;
  }
  DNN(cudnnDestroy(handle));
  return check::done();
}
