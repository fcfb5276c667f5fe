// nvcc: -lcudnn
// library: libcudnn.so.9
// Calls of cuDNN in captured graphs: a convolution, its bias and its activation between kernels, and a normalization that keeps statistics,
// replayed with other inputs, updated and cloned; against plain loops. All numbers of the convolution are small integers.
#include "dnn.h"

using namespace dnn;

__global__ void negate(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = -values[i];
}

const Index kImage{2, 3, 8, 8}, kFilter{4, 3, 3, 3}, kResult{2, 4, 8, 8}, kChannels{1, 4, 1, 1};

void fill(Tensor<float>& tensor, check::Random& r) {
  each(tensor.dims, [&](const Index& i) { tensor[i] = float(int(r.below(7)) - 3); });
  tensor.upload();
}

// -max(0, alpha (x * w) + b) at a place of y.
double wanted(const Tensor<float>& x, const Tensor<float>& w, const Tensor<float>& b, double alpha, const Index& at) {
  double sum = 0;
  for (int c = 0; c < kImage[1]; ++c)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const int row = at[2] + i - 1, column = at[3] + j - 1;
        if (row < 0 || column < 0 || row >= kImage[2] || column >= kImage[3]) continue;
        sum += x({at[0], c, row, column}) * w({at[1], c, i, j});
      }
  return -std::max(0.0, alpha * sum + b(at));
}

struct Layer {
  check::Random r{17};
  Tensor<float> x{r, kImage}, b{r, kChannels}, y{r, kResult}, w{r, kFilter};
  cudnnFilterDescriptor_t filter;
  cudnnConvolutionDescriptor_t convolution;
  cudnnActivationDescriptor_t relu;
  void* workspace = nullptr;
  std::size_t bytes = 0;

  explicit Layer(cudnnHandle_t handle) {
    DNN(cudnnCreateFilterDescriptor(&filter));
    DNN(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 4, 3, 3, 3));
    DNN(cudnnCreateConvolutionDescriptor(&convolution));
    DNN(cudnnSetConvolution2dDescriptor(convolution, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    DNN(cudnnCreateActivationDescriptor(&relu));
    DNN(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
    DNN(cudnnGetConvolutionForwardWorkspaceSize(handle, x, filter, convolution, y, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, &bytes));
    if (bytes != 0) CHECK(cudaMalloc(&workspace, bytes));
    fill(w, r);
    fill(b, r);
  }
  ~Layer() {
    DNN(cudnnDestroyFilterDescriptor(filter));
    DNN(cudnnDestroyConvolutionDescriptor(convolution));
    DNN(cudnnDestroyActivationDescriptor(relu));
    CHECK(cudaFree(workspace));
  }
  void enqueue(cudnnHandle_t handle, cudaStream_t stream, float alpha) {
    const float one = 1, zero = 0;
    DNN(cudnnConvolutionForward(handle, &alpha, x, x.device, filter, w.device, convolution, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, workspace,
                                bytes, &zero, y, y.device));
    DNN(cudnnAddTensor(handle, &one, b, b.device, &one, y, y.device));
    DNN(cudnnActivationForward(handle, relu, &one, y, y.device, &zero, y, y.device));
    negate<<<4, 128, 0, stream>>>(y.device, int(y.host.size()));
  }
  void compare(const char* what, double alpha) {
    y.compare(what, [&](const Index& i) { return wanted(x, w, b, alpha, i); }, 0);
  }
};

void layers(cudnnHandle_t handle, cudaStream_t stream) {
  Layer layer(handle);
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  layer.enqueue(handle, stream, 2);
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int launch = 0; launch < 4; ++launch) {
    fill(layer.x, layer.r);
    fill(layer.b, layer.r);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    layer.compare("y", 2);
  }
  // Captured anew with another factor, and brought into the instance.
  cudaGraph_t second, clone;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  layer.enqueue(handle, stream, -1);
  CHECK(cudaStreamEndCapture(stream, &second));
  cudaGraphExecUpdateResultInfo info;
  CHECK(cudaGraphExecUpdate(exec, second, &info));
  EXPECT(info.result == cudaGraphExecUpdateSuccess);
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  layer.compare("updated", -1);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphClone(&clone, graph));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(second));
  CHECK(cudaGraphInstantiate(&exec, clone, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  layer.compare("cloned", 2);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(clone));
}

// Each launch goes on where the last has left the running statistics.
void statistics(cudnnHandle_t handle, cudaStream_t stream) {
  check::Random r(18);
  Tensor<float> x(r, kResult), y(r, kResult), scale(r, kChannels, Layout::packed, 0.5, 2), bias(r, kChannels), mean(r, kChannels),
      variance(r, kChannels, Layout::packed, 0.5, 2);
  const float one = 1, zero = 0;
  const double epsilon = 1e-3, factor = 0.25;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  DNN(cudnnBatchNormalizationForwardTraining(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, x, x.device, y, y.device, scale, scale.device, bias.device,
                                             factor, mean.device, variance.device, epsilon, nullptr, nullptr));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  std::vector<double> means(4), variances(4);
  for (int c = 0; c < 4; ++c) means[c] = mean({0, c, 0, 0}), variances[c] = variance({0, c, 0, 0});
  for (int launch = 0; launch < 3; ++launch) {
    each(kResult, [&](const Index& i) { x[i] = float(r.uniform(-2, 3)); });
    x.upload();
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    const double count = 2 * 8 * 8;
    std::vector<double> own(4), spread(4);
    each(kResult, [&](const Index& i) { own[i[1]] += x(i) / count; });
    each(kResult, [&](const Index& i) { spread[i[1]] += (x(i) - own[i[1]]) * (x(i) - own[i[1]]) / count; });
    for (int c = 0; c < 4; ++c) {
      means[c] = (1 - factor) * means[c] + factor * own[c];
      variances[c] = (1 - factor) * variances[c] + factor * spread[c] * count / (count - 1);
    }
    y.compare("normalized", [&](const Index& i) {
      return (x(i) - own[i[1]]) / std::sqrt(spread[i[1]] + epsilon) * scale({0, i[1], 0, 0}) + bias({0, i[1], 0, 0});
    }, 1e-5);
    mean.compare("running mean", [&](const Index& i) { return means[i[1]]; }, 1e-6);
    variance.compare("running variance", [&](const Index& i) { return variances[i[1]]; }, 1e-6);
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

int main() {
  cudnnHandle_t handle;
  cudaStream_t stream;
  DNN(cudnnCreate(&handle));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  DNN(cudnnSetStream(handle, stream));
  layers(handle, stream);
  statistics(handle, stream);
  DNN(cudnnDestroy(handle));
  CHECK(cudaStreamDestroy(stream));
  return check::done();
}
