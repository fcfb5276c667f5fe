// nvcc: -lcudnn
// library: libcudnn.so.9
// cuDNN's handles: versions, streams and kernels around calls, several threads, and what cuDNN answers when an argument is wrong.
#include <thread>

#include "dnn.h"

using namespace dnn;

__global__ void add(float* x, int n, float what) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += what;
}

void versions() {
  int major = 0, minor = 0;
  DNN(cudnnGetProperty(MAJOR_VERSION, &major));
  DNN(cudnnGetProperty(MINOR_VERSION, &minor));
  EXPECT(major == 9);
  EXPECT(cudnnGetVersion() / 100 == std::size_t(major * 100 + minor));
  EXPECT(cudnnGetCudartVersion() >= 13000);
  EXPECT(std::string(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM)) == "CUDNN_STATUS_BAD_PARAM");
}

// A call waits for the kernel before it in its stream, and the kernel after it for the call.
void streams(cudnnHandle_t handle) {
  const int count = 4 * 64 * 8 * 8;
  cudaStream_t stream = nullptr, got = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  DNN(cudnnSetStream(handle, stream));
  DNN(cudnnGetStream(handle, &got));
  EXPECT(got == stream);
  check::Random r(61);
  Tensor<float> x(r, {4, 64, 8, 8});
  CHECK(cudaDeviceSynchronize());
  const float two = 2;
  for (int round = 0; round < 20; ++round) {
    add<<<1, 256, 0, stream>>>(x.device, count, 1);
    DNN(cudnnScaleTensor(handle, x, x.device, &two));
    add<<<1, 256, 0, stream>>>(x.device, count, -1);
    DNN(cudnnScaleTensor(handle, x, x.device, &two));
    CHECK(cudaMemsetAsync(x.device, 0, sizeof(float), stream));
    CHECK(cudaMemcpyAsync(x.device + 1, x.device, sizeof(float), cudaMemcpyDeviceToDevice, stream));
    if (round % 5 == 4) CHECK(cudaMemcpyAsync(x.device, x.host.data(), x.host.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
  }
  add<<<1, 256, 0, stream>>>(x.device, count, 1);
  DNN(cudnnScaleTensor(handle, x, x.device, &two));
  CHECK(cudaStreamSynchronize(stream));
  x.compare("after the stream", [&](const Index& i) { return 2 * (x(i) + 1); }, 1e-6);
  DNN(cudnnSetStream(handle, nullptr));
  CHECK(cudaStreamDestroy(stream));
}

void threads() {
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([t] {
      cudnnHandle_t handle;
      DNN(cudnnCreate(&handle));
      cudaStream_t stream = nullptr;
      CHECK(cudaStreamCreate(&stream));
      DNN(cudnnSetStream(handle, stream));
      check::Random r(70 + t);
      Tensor<float> x(r, {2, 3, 4, 5});
      for (int i = 0; i < 50; ++i) {
        const float value = float(t * 100 + i);
        DNN(cudnnSetTensor(handle, x, x.device, &value));
      }
      CHECK(cudaStreamSynchronize(stream));
      x.compare("a thread's tensor", [&](const Index&) { return double(t * 100 + 49); }, 0);
      CHECK(cudaStreamDestroy(stream));
      DNN(cudnnDestroy(handle));
    });
  for (std::thread& each : all) each.join();
}

void wrongArguments(cudnnHandle_t handle) {
  EXPECT(cudnnCreate(nullptr) != CUDNN_STATUS_SUCCESS);
  EXPECT(cudnnCreateTensorDescriptor(nullptr) != CUDNN_STATUS_SUCCESS);
  check::Random r(62);
  Tensor<float> x(r, {2, 4, 6, 6}), y(r, {2, 8, 6, 6}), wrong(r, {2, 5, 6, 6});
  cudnnTensorDescriptor_t desc;
  DNN(cudnnCreateTensorDescriptor(&desc));
  EXPECT_BAD(cudnnSetTensor4dDescriptor(desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, -4, 6, 6));
  EXPECT_BAD(cudnnSetTensor4dDescriptor(desc, CUDNN_TENSOR_NCHW, cudnnDataType_t(1234), 2, 4, 6, 6));
  EXPECT_STATUS(CUDNN_STATUS_NOT_SUPPORTED, cudnnSetTensor4dDescriptor(desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 65536, 65536, 2, 2));
  DNN(cudnnDestroyTensorDescriptor(desc));

  cudnnFilterDescriptor_t filter;
  cudnnConvolutionDescriptor_t convolution;
  DNN(cudnnCreateFilterDescriptor(&filter));
  DNN(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 8, 4, 3, 3));
  DNN(cudnnCreateConvolutionDescriptor(&convolution));
  EXPECT_BAD(cudnnSetConvolution2dDescriptor(convolution, 1, 1, 0, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  DNN(cudnnSetConvolution2dDescriptor(convolution, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  int n, c, h, w;
  DNN(cudnnGetConvolution2dForwardOutputDim(convolution, x, filter, &n, &c, &h, &w));
  EXPECT(n == 2 && c == 8 && h == 6 && w == 6);
  EXPECT_BAD(cudnnGetConvolution2dForwardOutputDim(convolution, wrong, filter, &n, &c, &h, &w));
  const float one = 1, zero = 0;
  const auto forward = [&](cudnnTensorDescriptor_t from, const void* at, cudnnTensorDescriptor_t to) {
    return cudnnConvolutionForward(handle, &one, from, at, filter, x.device, convolution, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &zero, to, y.device);
  };
  EXPECT_BAD(forward(wrong, wrong.device, y));
  EXPECT_BAD(forward(x, x.device, x));
  EXPECT_BAD(forward(x, nullptr, y));
  char why[256] = "";
  cudnnGetLastErrorString(why, sizeof why);
  EXPECT(why[0] != 0);
  DNN(cudnnDestroyFilterDescriptor(filter));
  DNN(cudnnDestroyConvolutionDescriptor(convolution));

  cudnnPoolingDescriptor_t pooling;
  DNN(cudnnCreatePoolingDescriptor(&pooling));
  EXPECT_BAD(cudnnSetPooling2dDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, 0, 2, 0, 0, 1, 1));
  DNN(cudnnSetPooling2dDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, 2, 2, 0, 0, 2, 2));
  EXPECT_BAD(cudnnPoolingForward(handle, pooling, &one, x, x.device, &zero, y, y.device));
  DNN(cudnnDestroyPoolingDescriptor(pooling));
  CHECK(cudaDeviceSynchronize());
}

int main() {
  cudnnHandle_t handle;
  DNN(cudnnCreate(&handle));
  versions();
  streams(handle);
  threads();
  wrongArguments(handle);
  DNN(cudnnDestroy(handle));
  return check::done();
}
