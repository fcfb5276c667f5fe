// cuDNN's handles and descriptors: what is set is told, and what is none is not taken for one.
#include <cublas_v2.h>
#include <dlfcn.h>

#include <cstring>

#include "test/libraries/cudnn_fixture.h"

using namespace rouse;
using namespace rouse::test;

TEST_CASE_METHOD(Cudnn, "versions, names of statuses, the last error in words", "[libraries][cudnn]") {
  CHECK(cudnnGetVersion() == CUDNN_VERSION);
  CHECK(cudnnGetCudartVersion() >= 13000);
  int major = 0;
  CHECK(cudnnGetProperty(MAJOR_VERSION, &major) == CUDNN_STATUS_SUCCESS);
  CHECK(major == 9);
  CHECK(cudnnGetProperty(MAJOR_VERSION, nullptr) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  CHECK(cudnnGetProperty(static_cast<libraryPropertyType>(9), &major) == CUDNN_STATUS_INVALID_VALUE);
  CHECK(std::string(cudnnGetErrorString(CUDNN_STATUS_NOT_SUPPORTED_SHAPE)) == "CUDNN_STATUS_NOT_SUPPORTED_SHAPE");
  CHECK(std::string(cudnnGetErrorString(static_cast<cudnnStatus_t>(77))) == "CUDNN_UNKNOWN_STATUS");
  CHECK(cudnnGetMaxDeviceVersion() == CUDNN_MAX_DEVICE_VERSION);
  for (const auto check : {cudnnOpsVersionCheck, cudnnCnnVersionCheck, cudnnAdvVersionCheck, cudnnGraphVersionCheck})
    CHECK(check() == CUDNN_STATUS_SUCCESS);
  // There is no log, and who wants one is told.
  unsigned mask = 9;
  cudnnCallback_t callback = [](cudnnSeverity_t, void*, const cudnnDebug_t*, const char*) {};
  CHECK(cudnnSetCallback(CUDNN_SEV_ERROR_EN, nullptr, callback) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(cudnnSetCallback(0, nullptr, nullptr) == CUDNN_STATUS_SUCCESS);
  CHECK((cudnnGetCallback(&mask, nullptr, &callback) == CUDNN_STATUS_SUCCESS && mask == 0 && callback == nullptr));
  CHECK(cudnnSetStream(nullptr, nullptr) == CUDNN_STATUS_BAD_PARAM);
  char text[256] = "before", small[8] = "before";
  cudnnGetLastErrorString(text, sizeof text);
  CHECK(std::string(text).find("cudnnSetStream") == 0);
  cudnnGetLastErrorString(text, sizeof text);
  CHECK(std::string(text).empty());
  CHECK(cudnnSetStream(nullptr, nullptr) == CUDNN_STATUS_BAD_PARAM);
  cudnnGetLastErrorString(small, sizeof small);
  CHECK(std::string(small) == "cudnnSe");
  cudnnGetLastErrorString(nullptr, 0);
}

TEST_CASE_METHOD(Cudnn, "handles of cuDNN: destroyed, made up, another library's", "[libraries][cudnn]") {
  cudnnHandle_t gone = nullptr;
  REQUIRE(cudnnCreate(&gone) == CUDNN_STATUS_SUCCESS);
  cudaStream_t stream = nullptr, got = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  CHECK(cudnnSetStream(gone, stream) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnGetStream(gone, &got) == CUDNN_STATUS_SUCCESS);
  CHECK(got == stream);
  CHECK(cudnnGetStream(gone, nullptr) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  REQUIRE(cudnnDestroy(gone) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnDestroy(gone) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnSetStream(gone, nullptr) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnDestroy(nullptr) == CUDNN_STATUS_BAD_PARAM);
  cublasHandle_t blas = nullptr;
  REQUIRE(cublasCreate(&blas) == CUBLAS_STATUS_SUCCESS);
  CHECK(cudnnDestroy(reinterpret_cast<cudnnHandle_t>(blas)) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cublasDestroy(reinterpret_cast<cublasHandle_t>(handle)) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasDestroy(blas) == CUBLAS_STATUS_SUCCESS);
  for (const std::uint64_t made : {std::uint64_t{1}, std::uint64_t{0x4c00000010000000}, ~std::uint64_t{0}})
    CHECK(cudnnSetStream(reinterpret_cast<cudnnHandle_t>(made), nullptr) == CUDNN_STATUS_BAD_PARAM);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE_METHOD(Cudnn, "tensors and filters: what is set is told", "[libraries][cudnn]") {
  cudnnTensorDescriptor_t tensor;
  REQUIRE(cudnnCreateTensorDescriptor(&tensor) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 2, 3, 5, 7) == CUDNN_STATUS_SUCCESS);
  cudnnDataType_t type;
  int n, c, h, w, strides[4];
  REQUIRE(cudnnGetTensor4dDescriptor(tensor, &type, &n, &c, &h, &w, &strides[0], &strides[1], &strides[2], &strides[3]) ==
          CUDNN_STATUS_SUCCESS);
  CHECK(type == CUDNN_DATA_HALF);
  CHECK((n == 2 && c == 3 && h == 5 && w == 7));
  CHECK((strides[0] == 105 && strides[1] == 1 && strides[2] == 21 && strides[3] == 3));
  std::size_t bytes = 0;
  REQUIRE(cudnnGetTensorSizeInBytes(tensor, &bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(bytes == 2 * 2 * 105);
  const int dims[] = {2, 3, 4, 5, 6}, gaps[] = {400, 130, 31, 6, 1};
  REQUIRE(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, 5, dims, gaps) == CUDNN_STATUS_SUCCESS);
  int rank = 0, back[8] = {}, backStrides[8] = {};
  REQUIRE(cudnnGetTensorNdDescriptor(tensor, 3, &type, &rank, back, backStrides) == CUDNN_STATUS_SUCCESS);
  CHECK(rank == 5);
  CHECK((back[2] == 4 && back[3] == 0 && backStrides[2] == 31));
  REQUIRE(cudnnGetTensorSizeInBytes(tensor, &bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(bytes == 4 * (1 + 400 + 2 * 130 + 3 * 31 + 4 * 6 + 5));
  CHECK(cudnnGetTensor4dDescriptor(tensor, &type, &n, &c, &h, &w, nullptr, nullptr, nullptr, nullptr) == CUDNN_STATUS_BAD_PARAM);

  // What is refused changes nothing.
  const int volume[] = {2, 3, 4, 5, 6};
  REQUIRE(cudnnSetTensorNdDescriptorEx(tensor, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 5, volume) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnGetTensorNdDescriptor(tensor, 5, &type, &rank, back, backStrides) == CUDNN_STATUS_SUCCESS);
  CHECK((backStrides[0] == 360 && backStrides[1] == 1 && backStrides[4] == 3));
  CHECK(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 0, 3, 5, 7) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, static_cast<cudnnDataType_t>(99), 1, 3, 5, 7) ==
        CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnSetTensor4dDescriptor(tensor, static_cast<cudnnTensorFormat_t>(7), CUDNN_DATA_FLOAT, 1, 3, 5, 7) ==
        CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW_VECT_C, CUDNN_DATA_INT8x4, 1, 4, 5, 7) == CUDNN_STATUS_NOT_SUPPORTED);
  const int most = 0x7fffffff;
  CHECK(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, most, most, most, most) ==
        CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(cudnnSetTensor4dDescriptorEx(tensor, CUDNN_DATA_FLOAT, 2, 2, 2, 2, most, most, most, most) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, 9, dims, gaps) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, -1, dims, gaps) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, 5, nullptr, gaps) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  CHECK(cudnnGetTensorNdDescriptor(tensor, 99, &type, &rank, back, backStrides) == CUDNN_STATUS_BAD_PARAM);
  REQUIRE(cudnnGetTensorNdDescriptor(tensor, 5, &type, &rank, back, backStrides) == CUDNN_STATUS_SUCCESS);
  CHECK((rank == 5 && back[4] == 6));
  REQUIRE(cudnnDestroyTensorDescriptor(tensor) == CUDNN_STATUS_SUCCESS);

  cudnnFilterDescriptor_t filter;
  cudnnTensorFormat_t format;
  REQUIRE(cudnnCreateFilterDescriptor(&filter) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 8, 3, 5, 5) == CUDNN_STATUS_SUCCESS);
  int k = 0;
  REQUIRE(cudnnGetFilter4dDescriptor(filter, &type, &format, &k, &c, &h, &w) == CUDNN_STATUS_SUCCESS);
  CHECK((format == CUDNN_TENSOR_NHWC && k == 8 && c == 3));
  REQUIRE(cudnnGetFilterSizeInBytes(filter, &bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(bytes == 4 * 600);
  CHECK(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 8, -3, 5, 5) == CUDNN_STATUS_BAD_PARAM);
  const int five[] = {8, 3, 5, 5, 5};
  int gotDims[5] = {};
  REQUIRE(cudnnSetFilterNdDescriptor(filter, CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW, 5, five) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnGetFilterNdDescriptor(filter, 5, &type, &format, &rank, gotDims) == CUDNN_STATUS_SUCCESS);
  CHECK((rank == 5 && gotDims[4] == 5 && type == CUDNN_DATA_HALF && format == CUDNN_TENSOR_NCHW));
  REQUIRE(cudnnDestroyFilterDescriptor(filter) == CUDNN_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Cudnn, "descriptors of operations: what is set is told, and shapes that follow", "[libraries][cudnn]") {
  cudnnConvolutionDescriptor_t convolution;
  REQUIRE(cudnnCreateConvolutionDescriptor(&convolution) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetConvolution2dDescriptor(convolution, 1, 2, 3, 2, 1, 2, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT) ==
          CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetConvolutionGroupCount(convolution, 2) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetConvolutionMathType(convolution, CUDNN_FMA_MATH) == CUDNN_STATUS_SUCCESS);
  int length = 0, pads[3], strides[3], dilations[3], groups = 0;
  cudnnConvolutionMode_t mode;
  cudnnDataType_t type;
  cudnnMathType_t math;
  REQUIRE(cudnnGetConvolutionNdDescriptor(convolution, 3, &length, pads, strides, dilations, &mode, &type) == CUDNN_STATUS_SUCCESS);
  CHECK((length == 2 && pads[1] == 2 && strides[0] == 3 && dilations[1] == 2 && mode == CUDNN_CROSS_CORRELATION));
  CHECK((cudnnGetConvolutionGroupCount(convolution, &groups) == CUDNN_STATUS_SUCCESS && groups == 2));
  CHECK((cudnnGetConvolutionMathType(convolution, &math) == CUDNN_STATUS_SUCCESS && math == CUDNN_FMA_MATH));
  CHECK(cudnnSetConvolution2dDescriptor(convolution, -1, 2, 3, 2, 1, 2, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT) ==
        CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnSetConvolution2dDescriptor(convolution, 1, 2, 0, 2, 1, 2, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT) ==
        CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnSetConvolutionGroupCount(convolution, 0) == CUDNN_STATUS_BAD_PARAM);
  int two[6];
  REQUIRE(cudnnGetConvolution2dDescriptor(convolution, &two[0], &two[1], &two[2], &two[3], &two[4], &two[5], &mode, &type) ==
          CUDNN_STATUS_SUCCESS);
  CHECK((two[0] == 1 && two[1] == 2 && two[2] == 3 && two[3] == 2 && two[4] == 1 && two[5] == 2));
  cudnnReorderType_t reorder;
  REQUIRE(cudnnSetConvolutionReorderType(convolution, CUDNN_NO_REORDER) == CUDNN_STATUS_SUCCESS);
  CHECK((cudnnGetConvolutionReorderType(convolution, &reorder) == CUDNN_STATUS_SUCCESS && reorder == CUDNN_NO_REORDER));
  CHECK(cudnnSetConvolutionMathType(convolution, static_cast<cudnnMathType_t>(9)) == CUDNN_STATUS_BAD_PARAM);
  cudnnFilterDescriptor_t filter;
  REQUIRE(cudnnCreateFilterDescriptor(&filter) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 6, 4, 3, 3) == CUDNN_STATUS_SUCCESS);
  {
    TensorOf image(2, 8, 14, 15), other(2, 7, 14, 15), tiny(2, 8, 1, 1);
    int n, c, h, w;
    REQUIRE(cudnnGetConvolution2dForwardOutputDim(convolution, image, filter, &n, &c, &h, &w) == CUDNN_STATUS_SUCCESS);
    CHECK((n == 2 && c == 6 && h == (14 + 2 - 3) / 3 + 1 && w == (15 + 4 - 5) / 2 + 1));
    CHECK(cudnnGetConvolution2dForwardOutputDim(convolution, other, filter, &n, &c, &h, &w) == CUDNN_STATUS_BAD_PARAM);
    REQUIRE(cudnnSetConvolution2dDescriptor(convolution, 0, 0, 1, 1, 1, 1, CUDNN_CONVOLUTION, CUDNN_DATA_FLOAT) ==
            CUDNN_STATUS_SUCCESS);
    CHECK(cudnnGetConvolution2dForwardOutputDim(convolution, tiny, filter, &n, &c, &h, &w) == CUDNN_STATUS_BAD_PARAM);
    cudnnPoolingDescriptor_t pooling;
    cudnnPoolingMode_t pool;
    cudnnNanPropagation_t nan;
    REQUIRE(cudnnCreatePoolingDescriptor(&pooling) == CUDNN_STATUS_SUCCESS);
    CHECK(cudnnGetPooling2dForwardOutputDim(pooling, image, &n, &c, &h, &w) == CUDNN_STATUS_BAD_PARAM);  // not set
    REQUIRE(cudnnSetPooling2dDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, 3, 2, 1, 0, 2, 1) == CUDNN_STATUS_SUCCESS);
    int window[2], vertical, horizontal, vStride, hStride;
    REQUIRE(cudnnGetPooling2dDescriptor(pooling, &pool, &nan, &window[0], &window[1], &vertical, &horizontal, &vStride,
                                        &hStride) == CUDNN_STATUS_SUCCESS);
    CHECK((window[0] == 3 && window[1] == 2 && vertical == 1 && horizontal == 0 && vStride == 2 && hStride == 1 &&
           nan == CUDNN_PROPAGATE_NAN));
    int spatial = 0, windows[2] = {}, padding[2] = {}, steps[2] = {};
    REQUIRE(cudnnGetPoolingNdDescriptor(pooling, 2, &pool, &nan, &spatial, windows, padding, steps) == CUDNN_STATUS_SUCCESS);
    CHECK((spatial == 2 && windows[0] == 3 && padding[0] == 1 && steps[1] == 1));
    REQUIRE(cudnnGetPooling2dForwardOutputDim(pooling, image, &n, &c, &h, &w) == CUDNN_STATUS_SUCCESS);
    CHECK((n == 2 && c == 8 && h == 7 && w == 14));
    CHECK(cudnnDestroyPoolingDescriptor(pooling) == CUDNN_STATUS_SUCCESS);
    cudnnTensorDescriptor_t derived;
    REQUIRE(cudnnCreateTensorDescriptor(&derived) == CUDNN_STATUS_SUCCESS);
    TensorOf halves(2, 8, 14, 15, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF);
    REQUIRE(cudnnDeriveBNTensorDescriptor(derived, halves, CUDNN_BATCHNORM_SPATIAL) == CUDNN_STATUS_SUCCESS);
    int strides4[4];
    REQUIRE(cudnnGetTensor4dDescriptor(derived, &type, &n, &c, &h, &w, &strides4[0], &strides4[1], &strides4[2], &strides4[3]) ==
            CUDNN_STATUS_SUCCESS);
    CHECK((type == CUDNN_DATA_FLOAT && n == 1 && c == 8 && h == 1 && w == 1));
    REQUIRE(cudnnDeriveBNTensorDescriptor(derived, halves, CUDNN_BATCHNORM_PER_ACTIVATION) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnGetTensor4dDescriptor(derived, &type, &n, &c, &h, &w, &strides4[0], &strides4[1], &strides4[2], &strides4[3]) ==
            CUDNN_STATUS_SUCCESS);
    CHECK((n == 1 && c == 8 && h == 14 && w == 15 && strides4[3] == 1));
    CHECK(cudnnDestroyTensorDescriptor(derived) == CUDNN_STATUS_SUCCESS);
  }
  CHECK(cudnnDestroyFilterDescriptor(filter) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnDestroyConvolutionDescriptor(convolution) == CUDNN_STATUS_SUCCESS);

  cudnnActivationDescriptor_t activation;
  cudnnActivationMode_t activationMode;
  cudnnNanPropagation_t nan;
  double coefficient = 0, beta = 0;
  REQUIRE(cudnnCreateActivationDescriptor(&activation) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetActivationDescriptor(activation, CUDNN_ACTIVATION_CLIPPED_RELU, CUDNN_PROPAGATE_NAN, 6) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetActivationDescriptorSwishBeta(activation, 1.5) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnGetActivationDescriptor(activation, &activationMode, &nan, &coefficient) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnGetActivationDescriptorSwishBeta(activation, &beta) == CUDNN_STATUS_SUCCESS);
  CHECK((activationMode == CUDNN_ACTIVATION_CLIPPED_RELU && nan == CUDNN_PROPAGATE_NAN && coefficient == 6 && beta == 1.5));
  CHECK(cudnnSetActivationDescriptor(activation, static_cast<cudnnActivationMode_t>(7), CUDNN_PROPAGATE_NAN, 6) ==
        CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnDestroyActivationDescriptor(activation) == CUDNN_STATUS_SUCCESS);

  cudnnReduceTensorDescriptor_t reduce;
  cudnnReduceTensorOp_t operation;
  cudnnReduceTensorIndices_t indices;
  cudnnIndicesType_t indicesType;
  REQUIRE(cudnnCreateReduceTensorDescriptor(&reduce) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetReduceTensorDescriptor(reduce, CUDNN_REDUCE_TENSOR_AVG, CUDNN_DATA_DOUBLE, CUDNN_NOT_PROPAGATE_NAN,
                                         CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_64BIT_INDICES) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnGetReduceTensorDescriptor(reduce, &operation, &type, &nan, &indices, &indicesType) == CUDNN_STATUS_SUCCESS);
  CHECK((operation == CUDNN_REDUCE_TENSOR_AVG && type == CUDNN_DATA_DOUBLE && indicesType == CUDNN_64BIT_INDICES));
  CHECK(cudnnDestroyReduceTensorDescriptor(reduce) == CUDNN_STATUS_SUCCESS);

  cudnnLRNDescriptor_t norm;
  unsigned window = 0;
  double alpha, lrnBeta, k;
  REQUIRE(cudnnCreateLRNDescriptor(&norm) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetLRNDescriptor(norm, 3, 0.5, 0.75, 1) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnSetLRNDescriptor(norm, 17, 0.5, 0.75, 1) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnSetLRNDescriptor(norm, 3, 0.5, 0.75, 0) == CUDNN_STATUS_BAD_PARAM);
  REQUIRE(cudnnGetLRNDescriptor(norm, &window, &alpha, &lrnBeta, &k) == CUDNN_STATUS_SUCCESS);
  CHECK((window == 3 && alpha == 0.5 && lrnBeta == 0.75 && k == 1));
  CHECK(cudnnDestroyLRNDescriptor(norm) == CUDNN_STATUS_SUCCESS);

  cudnnOpTensorDescriptor_t op;
  cudnnOpTensorOp_t opMode;
  REQUIRE(cudnnCreateOpTensorDescriptor(&op) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetOpTensorDescriptor(op, CUDNN_OP_TENSOR_MAX, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnGetOpTensorDescriptor(op, &opMode, &type, &nan) == CUDNN_STATUS_SUCCESS);
  CHECK((opMode == CUDNN_OP_TENSOR_MAX && type == CUDNN_DATA_FLOAT && nan == CUDNN_PROPAGATE_NAN));
  CHECK(cudnnDestroyOpTensorDescriptor(op) == CUDNN_STATUS_SUCCESS);

  cudnnTensorTransformDescriptor_t transform;
  const std::int32_t before[] = {0, 0, 1, 2}, after[] = {0, 0, 3, 4};
  std::int32_t gotBefore[4] = {}, gotAfter[4] = {};
  std::uint32_t fold[4] = {9, 9, 9, 9};
  cudnnFoldingDirection_t direction;
  cudnnTensorFormat_t format;
  REQUIRE(cudnnCreateTensorTransformDescriptor(&transform) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensorTransformDescriptor(transform, 4, CUDNN_TENSOR_NHWC, before, after, nullptr, CUDNN_TRANSFORM_UNFOLD) ==
          CUDNN_STATUS_SUCCESS);
  CHECK(cudnnSetTensorTransformDescriptor(transform, 40, CUDNN_TENSOR_NHWC, before, after, nullptr, CUDNN_TRANSFORM_FOLD) ==
        CUDNN_STATUS_BAD_PARAM);
  REQUIRE(cudnnGetTensorTransformDescriptor(transform, 4, &format, gotBefore, gotAfter, fold, &direction) == CUDNN_STATUS_SUCCESS);
  CHECK((format == CUDNN_TENSOR_NHWC && gotBefore[3] == 2 && gotAfter[2] == 3 && fold[1] == 1 && fold[2] == 9 &&
         direction == CUDNN_TRANSFORM_UNFOLD));
  CHECK(cudnnDestroyTensorTransformDescriptor(transform) == CUDNN_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Cudnn, "descriptors of cuDNN: destroyed, made up, taken for each other", "[libraries][cudnn]") {
  cudnnTensorDescriptor_t tensor;
  REQUIRE(cudnnCreateTensorDescriptor(&tensor) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnCreateTensorDescriptor(nullptr) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  const auto set = [](void* what) {
    return cudnnSetTensor4dDescriptor(static_cast<cudnnTensorDescriptor_t>(what), CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 1, 1);
  };
  CHECK(set(tensor) == CUDNN_STATUS_SUCCESS);
  CHECK(set(nullptr) == CUDNN_STATUS_BAD_PARAM);
  CHECK(set(handle) == CUDNN_STATUS_BAD_PARAM);
  CHECK(set(this) == CUDNN_STATUS_BAD_PARAM);
  cudnnFilterDescriptor_t filter;
  REQUIRE(cudnnCreateFilterDescriptor(&filter) == CUDNN_STATUS_SUCCESS);
  CHECK(set(filter) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnDestroyTensorDescriptor(reinterpret_cast<cudnnTensorDescriptor_t>(filter)) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnDestroy(reinterpret_cast<cudnnHandle_t>(tensor)) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnDestroyTensorDescriptor(tensor) == CUDNN_STATUS_SUCCESS);
  CHECK(set(tensor) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnDestroyTensorDescriptor(tensor) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnDestroyTensorDescriptor(nullptr) == CUDNN_STATUS_SUCCESS);
  cudnnTensorDescriptor_t next;
  REQUIRE(cudnnCreateTensorDescriptor(&next) == CUDNN_STATUS_SUCCESS);
  CHECK(next != tensor);
  int rank = 9;
  CHECK((cudnnGetTensorNdDescriptor(next, 0, nullptr, &rank, nullptr, nullptr) == CUDNN_STATUS_SUCCESS && rank == 0));  // as new
  CHECK(cudnnDestroyTensorDescriptor(next) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnDestroyFilterDescriptor(filter) == CUDNN_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Cudnn, "unsupported names of cuDNN say so, and are counted", "[libraries][cudnn]") {
  using namespace rouse::api;
  int unsupported = 0;
  for (std::uint32_t id = kCudnnNames; id < kCufftNames; ++id) {
    if (kAllSupported[id]) continue;
    const std::string name(kAllNames[id]);
    CAPTURE(name);
    void* function = ::dlsym(RTLD_DEFAULT, name.c_str());
    REQUIRE(function != nullptr);
    const std::uint32_t before = poolOfThisProcess().unsupportedCalls(id);
    CHECK(reinterpret_cast<int (*)()>(function)() == CUDNN_STATUS_NOT_SUPPORTED);
    CHECK(poolOfThisProcess().unsupportedCalls(id) == before + 1);
    ++unsupported;
  }
  CHECK(unsupported > 70);
}

TEST_CASE_METHOD(Cudnn, "the parts of cuDNN are the one library", "[libraries][cudnn]") {
  void* ops = ::dlopen(ROUSE_CUDNN_FOLDER "/libcudnn_ops.so.9", RTLD_NOW);
  void* graph = ::dlopen(ROUSE_CUDNN_FOLDER "/libcudnn_graph.so.9", RTLD_NOW);
  REQUIRE(ops != nullptr);
  REQUIRE(graph != nullptr);
  const auto create =
      reinterpret_cast<decltype(&cudnnCreateTensorDescriptor)>(::dlvsym(ops, "cudnnCreateTensorDescriptor", "libcudnn_ops.so.9"));
  const auto version = reinterpret_cast<decltype(&cudnnGetVersion)>(::dlvsym(graph, "cudnnGetVersion", "libcudnn_graph.so.9"));
  REQUIRE(create != nullptr);
  REQUIRE(version != nullptr);
  CHECK(create != &cudnnCreateTensorDescriptor);
  CHECK(version() == CUDNN_VERSION);
  cudnnTensorDescriptor_t tensor;
  REQUIRE(create(&tensor) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnDestroyTensorDescriptor(tensor) == CUDNN_STATUS_SUCCESS);
  for (const char* part :
       {"cnn", "adv", "ext", "heuristic", "engines_precompiled", "engines_runtime_compiled", "engines_tensor_ir"})
    CHECK(::dlopen((std::string(ROUSE_CUDNN_FOLDER "/libcudnn_") + part + ".so.9").c_str(), RTLD_NOW) != nullptr);
}
