// nvcc: -lcudnn
// library: libcudnn.so.9
// cuDNN's convolutions: forward, both gradients, the bias's gradient, and with bias, residual and ReLU at once; in one to three spatial
// dimensions, with groups, dilations, strides, pads, factors, in several types and layouts.
#include "dnn.h"

using namespace dnn;

struct Case {
  int n, c, k, groups;  // channels in all, filters in all
  Index image, window, pad, stride, dilation;
  cudnnConvolutionMode_t mode;
};

Index operator+(const Index& a, const Index& b) {
  Index both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

// f(image's place, filter's, response's) of every product.
template <class F>
void products(const Case& t, const Index& response, F&& f) {
  const int spatial = int(t.image.size()), perGroup = t.c / t.groups;
  each(Index{t.n, t.k} + response, [&](const Index& y) {
    const int group = y[1] / (t.k / t.groups);
    each(Index{perGroup} + t.window, [&](const Index& r) {
      Index x{y[0], group * perGroup + r[0]}, w{y[1], r[0]};
      for (int i = 0; i < spatial; ++i) {
        const int at = y[i + 2] * t.stride[i] - t.pad[i] + r[i + 1] * t.dilation[i];
        if (at < 0 || at >= t.image[i]) return;
        x.push_back(at);
        w.push_back(t.mode == CUDNN_CONVOLUTION ? t.window[i] - 1 - r[i + 1] : r[i + 1]);
      }
      f(x, w, y);
    });
  });
}

template <class T>
void run(cudnnHandle_t handle, check::Random& r, const Case& t, Layout layout, bool factors) {
  const int spatial = int(t.image.size());
  Index response;
  for (int i = 0; i < spatial; ++i)
    response.push_back((t.image[i] + 2 * t.pad[i] - (t.window[i] - 1) * t.dilation[i] - 1) / t.stride[i] + 1);
  const std::string label =
      std::string(name(layout)) + " " + std::to_string(spatial) + "d k" + std::to_string(t.k) + " g" + std::to_string(t.groups);

  Tensor<T> x(r, Index{t.n, t.c} + t.image, layout), y(r, Index{t.n, t.k} + response, layout),
      bias(r, Index{1, t.k} + Index(spatial, 1)), z(r, Index{t.n, t.k} + response, layout);
  // Filters are packed, in the order that their format says.
  const Layout filterLayout = layout == Layout::channelsLast ? layout : Layout::packed;
  Tensor<T> w(r, Index{t.k, t.c / t.groups} + t.window, filterLayout);
  cudnnFilterDescriptor_t filter;
  DNN(cudnnCreateFilterDescriptor(&filter));
  DNN(cudnnSetFilterNdDescriptor(filter, kType<T>, filterLayout == Layout::packed ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC,
                                 int(w.dims.size()), w.dims.data()));
  cudnnConvolutionDescriptor_t desc;
  DNN(cudnnCreateConvolutionDescriptor(&desc));
  DNN(cudnnSetConvolutionNdDescriptor(desc, spatial, t.pad.data(), t.stride.data(), t.dilation.data(), t.mode, kCompute<T>));
  DNN(cudnnSetConvolutionGroupCount(desc, t.groups));
  DNN(cudnnSetConvolutionMathType(desc, std::is_same_v<T, float> ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH));

  Index dims(w.dims.size());
  DNN(cudnnGetConvolutionNdForwardOutputDim(desc, x, filter, int(dims.size()), dims.data()));
  EXPECT(dims == y.dims);
  const Factor<T> alpha(factors ? 0.75 : 1), beta(factors ? -0.5 : 0);
  int count = 0;
  std::size_t bytes = 0;
  const auto workspace = [&](std::size_t needed) { return needed == 0 ? nullptr : check::deviceArray<char>(needed); };

  cudnnConvolutionFwdAlgoPerf_t forward;
  DNN(cudnnGetConvolutionForwardAlgorithm_v7(handle, x, filter, desc, y, 1, &count, &forward));
  DNN(cudnnGetConvolutionForwardWorkspaceSize(handle, x, filter, desc, y, forward.algo, &bytes));
  char* memory = workspace(bytes);
  Numbers wanted(y.dims);
  products(t, response, [&](const Index& a, const Index& b, const Index& c) { wanted[c] += x(a) * w(b); });
  // Sums of products of numbers up to 1 in floats; their order is the library's own.
  int terms = t.c / t.groups;
  for (const int i : t.window) terms *= i;
  const double rounding = (std::is_same_v<T, double> ? 2.3e-16 : 1.2e-7) * 2;
  DNN(cudnnConvolutionForward(handle, alpha, x, x.device, filter, w.device, desc, forward.algo, memory, bytes, beta, y, y.device));
  y.compare(
      "y, " + label, [&](const Index& i) { return alpha.wide() * wanted(i) + beta.wide() * (beta.wide() != 0 ? y(i) : 0); },
      terms * rounding + kEpsilon<T>);
  if (memory != nullptr) CHECK(cudaFree(memory));

  cudnnActivationDescriptor_t relu;
  DNN(cudnnCreateActivationDescriptor(&relu));
  DNN(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
  const Factor<T> residual(factors ? 0.5 : 0);
  if (layout != Layout::gaps) {
    DNN(cudnnGetConvolutionForwardWorkspaceSize(handle, x, filter, desc, y, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                                &bytes));
    memory = workspace(bytes);
    DNN(cudnnConvolutionBiasActivationForward(handle, alpha, x, x.device, filter, w.device, desc,
                                              CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, memory, bytes, residual, z,
                                              z.device, bias, bias.device, relu, y, y.device));
    y.compare(
        "y with bias, " + label,
        [&](const Index& i) {
          return std::max(0.0, alpha.wide() * wanted(i) + residual.wide() * z(i) + bias({0, i[1], 0, 0, 0}));
        },
        (terms + 4) * rounding + 2 * kEpsilon<T>);
    if (memory != nullptr) CHECK(cudaFree(memory));
  }
  DNN(cudnnDestroyActivationDescriptor(relu));

  // NVIDIA's classic calls have not every layout backwards.
  if (check::onCpuDevice() || layout == Layout::packed) {
    cudnnConvolutionBwdDataAlgoPerf_t data;
    DNN(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, filter, z, desc, x, 1, &count, &data));
    DNN(cudnnGetConvolutionBackwardDataWorkspaceSize(handle, filter, z, desc, x, data.algo, &bytes));
    memory = workspace(bytes);
    Tensor<T> dx(r, x.dims, layout);
    Numbers gradient(x.dims);
    products(t, response, [&](const Index& a, const Index& b, const Index& c) { gradient[a] += z(c) * w(b); });
    terms = terms / (t.c / t.groups) * (t.k / t.groups);
    DNN(cudnnConvolutionBackwardData(handle, alpha, filter, w.device, z, z.device, desc, data.algo, memory, bytes, beta, dx,
                                     dx.device));
    dx.compare(
        "dx, " + label, [&](const Index& i) { return alpha.wide() * gradient(i) + beta.wide() * (beta.wide() != 0 ? dx(i) : 0); },
        terms * rounding + kEpsilon<T>);
    if (memory != nullptr) CHECK(cudaFree(memory));

    cudnnConvolutionBwdFilterAlgoPerf_t ofFilter;
    DNN(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, x, z, desc, filter, 1, &count, &ofFilter));
    DNN(cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, x, z, desc, filter, ofFilter.algo, &bytes));
    memory = workspace(bytes);
    Tensor<T> dw(r, w.dims, filterLayout);
    Numbers filterGradient(w.dims);
    products(t, response, [&](const Index& a, const Index& b, const Index& c) { filterGradient[b] += z(c) * x(a); });
    terms = t.n;
    for (const int i : response) terms *= i;
    DNN(cudnnConvolutionBackwardFilter(handle, alpha, x, x.device, z, z.device, desc, ofFilter.algo, memory, bytes, beta, filter,
                                       dw.device));
    dw.compare(
        "dw, " + label,
        [&](const Index& i) { return alpha.wide() * filterGradient(i) + beta.wide() * (beta.wide() != 0 ? dw(i) : 0); },
        terms * rounding + kEpsilon<T>);
    if (memory != nullptr) CHECK(cudaFree(memory));
  }

  terms = t.n;
  for (const int i : response) terms *= i;
  Numbers sums(bias.dims);
  each(z.dims, [&](const Index& i) { sums[{0, i[1], 0, 0, 0}] += z(i); });
  // NVIDIA's library does not have it of every type and layout.
  if (check::onCpuDevice() || (std::is_same_v<T, float> && layout == Layout::packed)) {
    DNN(cudnnConvolutionBackwardBias(handle, alpha, z, z.device, beta, bias, bias.device));
    bias.compare(
        "db, " + label, [&](const Index& i) { return alpha.wide() * sums(i) + beta.wide() * (beta.wide() != 0 ? bias(i) : 0); },
        terms * rounding + kEpsilon<T>);
  }

  DNN(cudnnDestroyFilterDescriptor(filter));
  DNN(cudnnDestroyConvolutionDescriptor(desc));
}

int main() {
  cudnnHandle_t handle;
  DNN(cudnnCreate(&handle));
  check::Random r(51);
  const Case cases[] = {
      {2, 3, 4, 1, {7, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, CUDNN_CROSS_CORRELATION},
      {2, 4, 6, 2, {9, 6}, {3, 2}, {0, 1}, {2, 1}, {1, 1}, CUDNN_CROSS_CORRELATION},
      {1, 6, 6, 6, {8, 8}, {3, 3}, {2, 2}, {1, 2}, {2, 2}, CUDNN_CROSS_CORRELATION},
      {3, 8, 16, 1, {5, 5}, {1, 1}, {0, 0}, {1, 1}, {1, 1}, CUDNN_CROSS_CORRELATION},
      {1, 2, 3, 1, {6, 5}, {2, 3}, {1, 0}, {1, 1}, {1, 1}, CUDNN_CONVOLUTION},
      {2, 2, 2, 1, {12, 12}, {7, 7}, {3, 3}, {2, 2}, {1, 1}, CUDNN_CROSS_CORRELATION},
  };
  bool factors = false;
  for (const Case& t : cases) {
    for (const Layout layout : {Layout::packed, Layout::channelsLast}) {
      if (layout == Layout::channelsLast && t.mode == CUDNN_CONVOLUTION)
        continue;  // NVIDIA's flips filters in the packed layout only
      run<float>(handle, r, t, layout, factors);
      run<__half>(handle, r, t, layout, factors);
      if (layout == Layout::packed) run<double>(handle, r, t, layout, factors);
      else run<__nv_bfloat16>(handle, r, t, layout, factors);
      factors = !factors;
    }
    run<float>(handle, r, t, Layout::gaps, factors);
  }
  run<float>(handle, r, {1, 3, 4, 1, {4, 5, 6}, {2, 3, 2}, {1, 1, 0}, {1, 2, 1}, {1, 1, 1}, CUDNN_CROSS_CORRELATION},
             Layout::packed, true);
  run<float>(handle, r, {2, 4, 4, 2, {4, 4, 4}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, CUDNN_CROSS_CORRELATION},
             Layout::packed, false);
  DNN(cudnnDestroy(handle));
  return check::done();
}
