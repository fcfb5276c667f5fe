// nvcc: -lcudnn
// library: libcudnn.so.9
// cuDNN's graph API as its own front end uses it: descriptors, heuristics, plans; convolutions with what follows them, matrix products,
// norms, pools and reductions as graphs whose inner tensors are in no memory; executed, and put into graphs of CUDA's.
#include <initializer_list>
#include <memory>

#include "dnn_graph.h"

using namespace dnn;

Descriptor convolution(const Wholes& pads, const Wholes& strides) {
  Descriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.type(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  made.set<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, {CUDNN_CROSS_CORRELATION});
  made.wholes(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {std::int64_t(pads.size())})
      .wholes(CUDNN_ATTR_CONVOLUTION_DILATIONS, Wholes(pads.size(), 1));
  made.wholes(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, pads).wholes(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, pads);
  return made.wholes(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides).done();
}

// relu(alpha * conv(x, w) + residual + bias), as networks have it.
template <class T>
void convolutionGraph(cudnnHandle_t handle, check::Random& r, Layout layout, bool residual) {
  const Index xs{2, 8, 9, 7}, ws{16, 8, 3, 3}, ys{2, 16, 5, 4}, bs{1, 16, 1, 1};
  Tensor<T> x(r, xs, layout), w(r, ws, layout), y(r, ys, layout), z(r, ys, layout), bias(r, bs, layout);
  x.coarsen();  // of floats an engine may keep TF32 (CUDNN_NUMERICAL_NOTE_TENSOR_CORE)
  w.coarsen();
  Binding at;
  const Descriptor xd = at.memory(x), wd = at.memory(w), bd = at.memory(bias), yd = at.memory(y),
                   product = at.passing(ys, layout), sum = at.passing(ys, layout), biased = at.passing(ys, layout);
  Descriptor convolve(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  convolve.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution({1, 1}, {2, 2}))
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, xd);
  convolve.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, wd).set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, product);
  convolve.set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, {1})
      .set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, {0});
  convolve.done();
  std::vector<Descriptor> operations{convolve};
  if (residual)
    operations.push_back(pointwise(CUDNN_POINTWISE_ADD, product, std::make_unique<Descriptor>(at.memory(z)).get(), sum));
  operations.push_back(pointwise(CUDNN_POINTWISE_ADD, residual ? sum : product, &bd, biased));
  operations.push_back(pointwise(CUDNN_POINTWISE_RELU_FWD, biased, nullptr, yd));
  execute(handle, {operations.begin(), operations.end()}, at);
  y.compare(std::string("conv, bias, ReLU, ") + name(layout),
            [&](const Index& i) {
              double own = bias({0, i[1], 0, 0}) + (residual ? z(i) : 0);
              each({8, 3, 3}, [&](const Index& k) {
                const int h = 2 * i[2] - 1 + k[1], v = 2 * i[3] - 1 + k[2];
                if (h >= 0 && h < 9 && v >= 0 && v < 7) own += x({i[0], k[0], h, v}) * w({i[1], k[0], k[1], k[2]});
              });
              return std::max(0.0, own);
            },
            2e-5 + 2 * kEpsilon<T>);
}

void convolutionGradients(cudnnHandle_t handle, check::Random& r) {
  const Index xs{2, 4, 6, 6}, ws{8, 4, 3, 3}, ys{2, 8, 6, 6};
  Tensor<float> x(r, xs), w(r, ws), dy(r, ys), dx(r, xs), dw(r, ws);
  for (Tensor<float>* each : {&x, &w, &dy}) each->coarsen();
  Numbers ofImage(xs), ofFilter(ws);
  each(ys, [&](const Index& i) {
    each({4, 3, 3}, [&](const Index& k) {
      const int h = i[2] - 1 + k[1], v = i[3] - 1 + k[2];
      if (h < 0 || h >= 6 || v < 0 || v >= 6) return;
      ofImage[{i[0], k[0], h, v}] += dy(i) * w({i[1], k[0], k[1], k[2]});
      ofFilter[{i[1], k[0], k[1], k[2]}] += dy(i) * x({i[0], k[0], h, v});
    });
  });
  {
    Binding at;
    const Descriptor wd = at.memory(w), dyd = at.memory(dy), dxd = at.memory(dx);
    Descriptor data(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
    data.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, convolution({1, 1}, {1, 1}))
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, wd);
    data.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, dyd).set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, dxd);
    data.set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, {1})
        .set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, {0});
    execute(handle, {data.done()}, at);
    dx.compare("dx", ofImage, 2e-5);
  }
  Binding at;
  const Descriptor xd = at.memory(x), dyd = at.memory(dy), dwd = at.memory(dw);
  Descriptor filter(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
  filter.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, convolution({1, 1}, {1, 1}))
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, xd);
  filter.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, dyd).set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, dwd);
  filter.set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, {1})
      .set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, {0});
  execute(handle, {filter.done()}, at);
  dw.compare("dw", ofFilter, 1e-4);
}

// gelu(factor * (a b) + bias), in halves; the operations are not in their order.
void product(cudnnHandle_t handle, check::Random& r) {
  const Index as{3, 16, 24}, bs{3, 24, 8}, cs{3, 16, 8}, rows{1, 1, 8};
  Tensor<__half> a(r, as), b(r, bs), c(r, cs), bias(r, rows);
  float factor = 0.25f;
  Binding at;
  const Descriptor ad = at.memory(a), bd = at.memory(b), cd = at.memory(c), biasd = at.memory(bias),
                   factord = at.value(&factor, 3), raw = at.passing(cs, Layout::packed), scaled = at.passing(cs, Layout::packed),
                   biased = at.passing(cs, Layout::packed);
  Descriptor desc(CUDNN_BACKEND_MATMUL_DESCRIPTOR), multiply(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  desc.type(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT).done();
  multiply.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, desc)
      .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, ad)
      .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, bd);
  multiply.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, raw).done();
  const Descriptor scale = pointwise(CUDNN_POINTWISE_MUL, raw, &factord, scaled),
                   add = pointwise(CUDNN_POINTWISE_ADD, scaled, &biasd, biased),
                   gelu = pointwise(CUDNN_POINTWISE_GELU_FWD, biased, nullptr, cd);
  execute(handle, {gelu, multiply, add, scale}, at);
  c.compare("gelu of a product",
            [&](const Index& i) {
              double sum = 0;
              for (int k = 0; k < 24; ++k) sum += a({i[0], i[1], k}) * b({i[0], k, i[2]});
              const double v = factor * sum + bias({0, 0, i[2]});
              return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
            },
            1e-3);
}

// Layer norm over all but the first dimension, its statistics, and its gradients.
void layerNorm(cudnnHandle_t handle, check::Random& r) {
  const Index xs{6, 32, 1, 1}, shape{1, 32, 1, 1}, each6{6, 1, 1, 1};
  Tensor<float> x(r, xs, Layout::channelsLast, -1, 3), y(r, xs, Layout::channelsLast), dy(r, xs, Layout::channelsLast),
      dx(r, xs, Layout::channelsLast), scale(r, shape, Layout::channelsLast), bias(r, shape, Layout::channelsLast),
      mean(r, each6, Layout::channelsLast), inverse(r, each6, Layout::channelsLast), dscale(r, shape, Layout::channelsLast),
      dbias(r, shape, Layout::channelsLast);
  float epsilon = 1e-3f;
  {
    Binding at;
    const Descriptor xd = at.memory(x), yd = at.memory(y), sd = at.memory(scale), bd = at.memory(bias), md = at.memory(mean),
                     id = at.memory(inverse), ed = at.value(&epsilon, 4);
    Descriptor norm(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    norm.set<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, {CUDNN_LAYER_NORM});
    norm.set<cudnnBackendNormFwdPhase_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, {CUDNN_NORM_FWD_TRAINING});
    norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, xd)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, yd)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, sd);
    norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, bd).set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, md);
    norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, id).set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, ed);
    execute(handle, {norm.done()}, at);
  }
  Numbers mu(each6), squares(each6), dot(shape), sum(shape), dotRow(each6), sumRow(each6);
  each(xs, [&](const Index& i) { mu[i] += x(i) / 32; });
  each(xs, [&](const Index& i) { squares[i] += (x(i) - mu(i)) * (x(i) - mu(i)) / 32; });
  const auto deviation = [&](const Index& i) { return 1 / std::sqrt(squares(i) + epsilon); };
  const auto normal = [&](const Index& i) { return (x(i) - mu(i)) * deviation(i); };
  y.compare("y of layer norm", [&](const Index& i) { return normal(i) * scale(i) + bias(i); }, 2e-5);
  mean.compare("its mean", mu, 1e-5);
  inverse.compare("its deviation", deviation, 1e-5);
  Binding at;
  const Descriptor xd = at.memory(x), dyd = at.memory(dy), dxd = at.memory(dx), sd = at.memory(scale), md = at.memory(mean),
                   id = at.memory(inverse), dsd = at.memory(dscale), dbd = at.memory(dbias);
  Descriptor norm(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
  norm.set<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, {CUDNN_LAYER_NORM});
  norm.set(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, xd)
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, dyd)
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, dxd);
  norm.set(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, sd).set(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, md);
  norm.set(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, id)
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, dsd)
      .set(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, dbd);
  execute(handle, {norm.done()}, at);
  each(xs, [&](const Index& i) {
    dot[i] += dy(i) * normal(i);
    sum[i] += dy(i);
    dotRow[i] += dy(i) * scale(i) * normal(i) / 32;
    sumRow[i] += dy(i) * scale(i) / 32;
  });
  dx.compare(
      "dx of layer norm", [&](const Index& i) { return deviation(i) * (dy(i) * scale(i) - sumRow(i) - normal(i) * dotRow(i)); },
      4e-5);
  dscale.compare("dscale of layer norm", dot, 4e-5);
  dbias.compare("dbias of layer norm", sum, 4e-5);
}

void pool(cudnnHandle_t handle, check::Random& r) {
  const Index xs{2, 8, 8, 8}, ys{2, 8, 4, 4};
  Tensor<__half> x(r, xs, Layout::channelsLast), y(r, ys, Layout::channelsLast);
  Binding at;
  const Descriptor xd = at.memory(x), yd = at.memory(y);
  Descriptor desc(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR), made(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
  desc.set<cudnnResampleMode_t>(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, {CUDNN_RESAMPLE_MAXPOOL})
      .type(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_DATA_FLOAT);
  desc.set<cudnnPaddingMode_t>(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE, {CUDNN_NEG_INF_PAD})
      .wholes(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, {2});
  desc.wholes(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, {3, 3})
      .wholes(CUDNN_ATTR_RESAMPLE_STRIDES, {2, 2})
      .wholes(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, {1, 1});
  desc.wholes(CUDNN_ATTR_RESAMPLE_POST_PADDINGS, {1, 1}).done();
  made.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, desc)
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, xd)
      .set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, yd);
  execute(handle, {made.done()}, at);
  y.compare("the pool",
            [&](const Index& i) {
              double most = -1e300;
              each({3, 3}, [&](const Index& k) {
                const int h = 2 * i[2] - 1 + k[0], v = 2 * i[3] - 1 + k[1];
                if (h >= 0 && h < 8 && v >= 0 && v < 8) most = std::max(most, x({i[0], i[1], h, v}));
              });
              return most;
            },
            0);
}

// The norm of (x - b)'s rows: pointwise operations before a reduction.
void reduction(cudnnHandle_t handle, check::Random& r) {
  const Index xs{1, 16, 32}, bs{1, 1, 32}, ys{1, 16, 1};
  Tensor<float> x(r, xs), b(r, bs), y(r, ys);
  Binding at;
  const Descriptor xd = at.memory(x), bd = at.memory(b), yd = at.memory(y), difference = at.passing(xs, Layout::packed),
                   square = at.passing(xs, Layout::packed);
  Descriptor desc(CUDNN_BACKEND_REDUCTION_DESCRIPTOR), reduce(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  desc.set<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, {CUDNN_REDUCE_TENSOR_ADD});
  desc.type(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT).done();
  reduce.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, desc)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, square)
      .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, yd)
      .done();
  const Descriptor subtract = pointwise(CUDNN_POINTWISE_SUB, xd, &bd, difference),
                   multiply = pointwise(CUDNN_POINTWISE_MUL, difference, &difference, square);
  if (!tried(handle, {subtract, multiply, reduce}, at)) {
    EXPECT(!check::throughRouse());  // NVIDIA's library need not have an engine for it
    return;
  }
  y.compare("the reduction",
            [&](const Index& i) {
              double sum = 0;
              for (int k = 0; k < 32; ++k) sum += (x({0, i[1], k}) - b({0, 0, k})) * (x({0, i[1], k}) - b({0, 0, k}));
              return sum;
            },
            4e-5);
}

int main() {
  cudnnHandle_t handle;
  DNN(cudnnCreate(&handle));
  check::Random r(55);
  for (const Layout layout : {Layout::packed, Layout::channelsLast})
    for (const bool residual : {false, true}) {
      convolutionGraph<float>(handle, r, layout, residual);
      convolutionGraph<__half>(handle, r, layout, residual);
    }
  convolutionGradients(handle, r);
  product(handle, r);
  layerNorm(handle, r);
  pool(handle, r);
  reduction(handle, r);
  DNN(cudnnDestroy(handle));
  return check::done();
}
