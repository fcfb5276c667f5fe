// nvcc: -lcudnn
// library: libcudnn.so.9
// cuDNN's pools, softmax and local response normalisation, forward and backward.
#include "dnn.h"

using namespace dnn;

struct Pool {
  cudnnPoolingMode_t mode;
  Index image, window, pad, stride;
};

template <class T>
void pools(cudnnHandle_t handle, check::Random& r, const Pool& t, Layout layout, bool factors) {
  const int spatial = int(t.image.size());
  Index in{2, 3}, out{2, 3};
  for (int i = 0; i < spatial; ++i) {
    in.push_back(t.image[i]);
    out.push_back((t.image[i] + 2 * t.pad[i] - t.window[i]) / t.stride[i] + 1);
  }
  const std::string label = std::string(name(layout)) + " pool " + std::to_string(t.mode) + " " + std::to_string(spatial) + "d";
  Tensor<T> x(r, in, layout), y(r, out, layout), dy(r, out, layout), dx(r, in, layout);
  cudnnPoolingDescriptor_t desc;
  DNN(cudnnCreatePoolingDescriptor(&desc));
  DNN(cudnnSetPoolingNdDescriptor(desc, t.mode, CUDNN_PROPAGATE_NAN, spatial, t.window.data(), t.pad.data(), t.stride.data()));
  Index dims(in.size());
  DNN(cudnnGetPoolingNdForwardOutputDim(desc, x, int(dims.size()), dims.data()));
  EXPECT(dims == out);
  // f(place in the image, whether it is the first of the largest, how many are averaged)
  const auto window = [&](const Index& o, auto&& f) {
    std::vector<Index> places;
    double largest = -1e300;
    std::size_t best = 0;
    each(t.window, [&](const Index& w) {
      Index at{o[0], o[1]};
      for (int i = 0; i < spatial; ++i) {
        at.push_back(o[i + 2] * t.stride[i] - t.pad[i] + w[i]);
        if (at.back() < 0 || at.back() >= t.image[i]) return;
      }
      if (x(at) > largest) {
        largest = x(at);
        best = places.size();
      }
      places.push_back(at);
    });
    int all = 1;
    for (const int w : t.window) all *= w;
    const int count = t.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ? all : int(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) f(places[i], i == best, count);
  };
  const bool maximum = t.mode == CUDNN_POOLING_MAX || t.mode == CUDNN_POOLING_MAX_DETERMINISTIC;
  Numbers wanted(out), gradient(in);
  const Factor<T> alpha(factors ? 1.5 : 1), beta(factors ? 0.25 : 0);
  each(out, [&](const Index& o) { window(o, [&](const Index& at, bool best, int count) { wanted[o] += maximum ? (best ? x(at) : 0) : x(at) / count; }); });
  DNN(cudnnPoolingForward(handle, desc, alpha, x, x.device, beta, y, y.device));
  y.compare("y, " + label, [&](const Index& i) { return alpha.wide() * wanted(i) + beta.wide() * (factors ? y(i) : 0); }, 4 * kEpsilon<T>);
  // The gradient looks at what forward has given.
  DNN(cudnnPoolingForward(handle, desc, Factor<T>(1), x, x.device, Factor<T>(0), y, y.device));
  each(out, [&](const Index& o) { window(o, [&](const Index& at, bool best, int count) { gradient[at] += maximum ? (best ? dy(o) : 0) : dy(o) / count; }); });
  DNN(cudnnPoolingBackward(handle, desc, alpha, y, y.device, dy, dy.device, x, x.device, beta, dx, dx.device));
  dx.compare("dx, " + label, [&](const Index& i) { return alpha.wide() * gradient(i) + beta.wide() * (factors ? dx(i) : 0); }, 8 * kEpsilon<T>);
  DNN(cudnnDestroyPoolingDescriptor(desc));
}

template <class T>
void softmax(cudnnHandle_t handle, check::Random& r, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode, Layout layout, bool factors) {
  const Index dims{3, 10, 2, 4};
  const std::string label = std::string(name(layout)) + " softmax " + std::to_string(algorithm) + std::to_string(mode);
  Tensor<T> x(r, dims, layout, -3, 3), y(r, dims, layout), dy(r, dims, layout), dx(r, dims, layout);
  const bool channel = mode == CUDNN_SOFTMAX_MODE_CHANNEL;
  const auto key = [&](const Index& i) { return channel ? Index{i[0], 0, i[2], i[3]} : Index{i[0], 0, 0, 0}; };
  Numbers sums(dims), result(dims), dots(dims);
  each(dims, [&](const Index& i) { sums[key(i)] += std::exp(x(i)); });
  each(dims, [&](const Index& i) { result[i] = algorithm == CUDNN_SOFTMAX_LOG ? x(i) - std::log(sums[key(i)]) : std::exp(x(i)) / sums[key(i)]; });
  const Factor<T> alpha(factors ? 0.5 : 1), beta(factors ? 2 : 0);
  DNN(cudnnSoftmaxForward(handle, algorithm, mode, alpha, x, x.device, beta, y, y.device));
  y.compare("y, " + label, [&](const Index& i) { return alpha.wide() * result(i) + beta.wide() * (factors ? y(i) : 0); },
            (std::is_same_v<T, double> ? 1e-14 : 4e-6) + kEpsilon<T>);
  DNN(cudnnSoftmaxForward(handle, algorithm, mode, Factor<T>(1), x, x.device, Factor<T>(0), y, y.device));
  y.download();
  // Of what was rounded to T.
  each(dims, [&](const Index& i) { dots[key(i)] += algorithm == CUDNN_SOFTMAX_LOG ? dy(i) : dy(i) * y(i); });
  DNN(cudnnSoftmaxBackward(handle, algorithm, mode, alpha, y, y.device, dy, dy.device, beta, dx, dx.device));
  dx.compare("dx, " + label,
             [&](const Index& i) {
               const double own = algorithm == CUDNN_SOFTMAX_LOG ? dy(i) - std::exp(y(i)) * dots(key(i)) : y(i) * (dy(i) - dots(key(i)));
               return alpha.wide() * own + beta.wide() * (factors ? dx(i) : 0);
             },
             (std::is_same_v<T, double> ? 1e-13 : 1e-5) + 2 * kEpsilon<T>);
}

template <class T>
void responseNorm(cudnnHandle_t handle, check::Random& r, unsigned window, Layout layout) {
  const Index dims{2, 9, 3, 4};
  const double a = 0.3, b = 0.75, k = 2;
  Tensor<T> x(r, dims, layout), y(r, dims, layout), dy(r, dims, layout), dx(r, dims, layout);
  cudnnLRNDescriptor_t desc;
  DNN(cudnnCreateLRNDescriptor(&desc));
  DNN(cudnnSetLRNDescriptor(desc, window, a, b, k));
  // "from lookBehind = (lrnN - 1) / 2 before to lookAhead = lrnN - lookBehind - 1 after"
  const int behind = int(window - 1) / 2, ahead = int(window) - behind - 1;
  Numbers scale(dims), gradient(dims);
  const auto near = [&](const Index& i, auto&& f) {
    for (int c = std::max(0, i[1] - behind); c <= std::min(dims[1] - 1, i[1] + ahead); ++c) f(Index{i[0], c, i[2], i[3]});
  };
  each(dims, [&](const Index& i) {
    double sum = 0;
    near(i, [&](const Index& j) { sum += x(j) * x(j); });
    scale[i] = k + a / window * sum;
  });
  DNN(cudnnLRNCrossChannelForward(handle, desc, CUDNN_LRN_CROSS_CHANNEL_DIM1, Factor<T>(1), x, x.device, Factor<T>(0), y, y.device));
  y.compare("y of LRN", [&](const Index& i) { return x(i) * std::pow(scale(i), -b); }, 1e-5 + kEpsilon<T>);
  each(dims, [&](const Index& i) {
    gradient[i] += dy(i) * std::pow(scale(i), -b);
    near(i, [&](const Index& j) { gradient[j] -= dy(i) * x(i) * 2 * a / window * b * std::pow(scale(i), -b - 1) * x(j); });
  });
  DNN(cudnnLRNCrossChannelBackward(handle, desc, CUDNN_LRN_CROSS_CHANNEL_DIM1, Factor<T>(1), y, y.device, dy, dy.device, x, x.device, Factor<T>(0), dx, dx.device));
  dx.compare("dx of LRN", [&](const Index& i) { return gradient(i); }, 1e-5 + 2 * kEpsilon<T>);
  DNN(cudnnDestroyLRNDescriptor(desc));
}

int main() {
  cudnnHandle_t handle;
  DNN(cudnnCreate(&handle));
  check::Random r(52);
  bool factors = false;
  for (int mode = CUDNN_POOLING_MAX; mode <= CUDNN_POOLING_MAX_DETERMINISTIC; ++mode) {
    const Pool shapes[] = {{cudnnPoolingMode_t(mode), {8, 7}, {2, 2}, {0, 0}, {2, 2}},
                           {cudnnPoolingMode_t(mode), {9, 9}, {3, 3}, {1, 1}, {2, 2}},
                           {cudnnPoolingMode_t(mode), {6, 5}, {3, 2}, {1, 0}, {1, 1}},
                           {cudnnPoolingMode_t(mode), {7, 7}, {7, 7}, {0, 0}, {1, 1}}};
    for (const Pool& shape : shapes) {
      for (const Layout layout : {Layout::packed, Layout::channelsLast}) {
        pools<float>(handle, r, shape, layout, factors);
        factors = !factors;
      }
      pools<double>(handle, r, shape, Layout::packed, factors);
      pools<__half>(handle, r, shape, Layout::packed, factors);
    }
    pools<float>(handle, r, {cudnnPoolingMode_t(mode), {4, 5, 6}, {2, 2, 3}, {0, 1, 1}, {2, 1, 2}}, Layout::packed, factors);
  }
  for (int algorithm = CUDNN_SOFTMAX_FAST; algorithm <= CUDNN_SOFTMAX_LOG; ++algorithm)
    for (int mode = 0; mode < 2; ++mode)
      for (const Layout layout : {Layout::packed, Layout::channelsLast}) {
        const auto a = cudnnSoftmaxAlgorithm_t(algorithm);
        const auto m = mode == 0 ? CUDNN_SOFTMAX_MODE_INSTANCE : CUDNN_SOFTMAX_MODE_CHANNEL;
        softmax<float>(handle, r, a, m, layout, factors);
        softmax<double>(handle, r, a, m, layout, !factors);
        softmax<__half>(handle, r, a, m, layout, factors);
        factors = !factors;
      }
  for (const unsigned window : {3u, 5u, 4u}) {
    responseNorm<float>(handle, r, window, Layout::packed);
    responseNorm<double>(handle, r, window, Layout::packed);
    responseNorm<float>(handle, r, window, Layout::channelsLast);
  }
  DNN(cudnnDestroy(handle));
  return check::done();
}
