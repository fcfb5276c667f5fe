// What the programs that use cuDNN share: tensors of random numbers in any layout, and comparisons with what plain loops in double say.
// Needs -lcudnn.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cudnn.h>

#include <algorithm>
#include <functional>
#include <type_traits>

#include "check.h"

namespace dnn {

inline void ok(cudnnStatus_t status, const char* what, const char* file, int line) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char why[256] = "";
  cudnnGetLastErrorString(why, sizeof why);
  std::printf("%s:%d: %s: %s (%s)\n", file, line, what, cudnnGetErrorString(status), why);
  std::fflush(stdout);
  std::_Exit(1);
}

inline void expect(cudnnStatus_t got, cudnnStatus_t wanted, const char* what, const char* file, int line) {
  if (got == wanted) return;
  std::printf("%s:%d: %s: %s instead of %s\n", file, line, what, cudnnGetErrorString(got), cudnnGetErrorString(wanted));
  ++check::failures;
}

#define DNN(...) ::dnn::ok((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define EXPECT_STATUS(wanted, ...) ::dnn::expect((__VA_ARGS__), wanted, #__VA_ARGS__, __FILE__, __LINE__)
// cuDNN's categories: bad parameters are told apart more or less finely from version to version.
#define EXPECT_BAD(...) EXPECT(CUDNN_STATUS_CATEGORY(__VA_ARGS__) == CUDNN_STATUS_BAD_PARAM)

inline double wide(float v) { return v; }
inline double wide(double v) { return v; }
inline double wide(__half v) { return double(__half2float(v)); }
inline double wide(__nv_bfloat16 v) { return double(__bfloat162float(v)); }
inline double wide(signed char v) { return v; }
inline double wide(int v) { return v; }
template <class T> T narrow(double v);
template <> inline float narrow(double v) { return float(v); }
template <> inline double narrow(double v) { return v; }
template <> inline __half narrow(double v) { return __float2half(float(v)); }
template <> inline __nv_bfloat16 narrow(double v) { return __float2bfloat16(float(v)); }
template <> inline signed char narrow(double v) { return (signed char)v; }
template <> inline int narrow(double v) { return int(v); }

template <class T> constexpr double kEpsilon = 1.2e-7;
template <> inline constexpr double kEpsilon<double> = 2.3e-16;
template <> inline constexpr double kEpsilon<__half> = 9.8e-4;
template <> inline constexpr double kEpsilon<__nv_bfloat16> = 7.9e-3;
template <class T> constexpr cudnnDataType_t kType = CUDNN_DATA_FLOAT;
template <> inline constexpr cudnnDataType_t kType<double> = CUDNN_DATA_DOUBLE;
template <> inline constexpr cudnnDataType_t kType<__half> = CUDNN_DATA_HALF;
template <> inline constexpr cudnnDataType_t kType<__nv_bfloat16> = CUDNN_DATA_BFLOAT16;
template <> inline constexpr cudnnDataType_t kType<signed char> = CUDNN_DATA_INT8;
template <> inline constexpr cudnnDataType_t kType<int> = CUDNN_DATA_INT32;
// What statistics and parameters of norms are kept in, and factors are given in.
template <class T> struct ParameterOf { using type = float; };
template <> struct ParameterOf<double> { using type = double; };
template <class T> using parameter_t = typename ParameterOf<T>::type;
template <class T> constexpr cudnnDataType_t kCompute = std::is_same_v<T, double> ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;

using Index = std::vector<int>;

// f(index) for every index, the last dimension fastest.
template <class F>
void each(const Index& dims, F&& f) {
  Index at(dims.size(), 0);
  for (;;) {
    f(at);
    int i = int(dims.size()) - 1;
    while (i >= 0 && ++at[i] == dims[i]) at[i--] = 0;
    if (i < 0) return;
  }
}

enum class Layout { packed, channelsLast, gaps };
inline const char* name(Layout layout) {
  return layout == Layout::packed ? "packed" : layout == Layout::channelsLast ? "channels last" : "gaps";
}

inline Index stridesOf(const Index& dims, Layout layout) {
  const int rank = int(dims.size());
  Index strides(rank), order;
  if (layout == Layout::channelsLast) order.push_back(1);
  for (int i = rank - 1; i >= 0; --i)
    if (i != 1 || layout != Layout::channelsLast) order.push_back(i);
  int next = 1;
  for (const int i : order) {
    strides[i] = next;
    next *= dims[i];
    if (layout == Layout::gaps && i >= rank - 2) next += 3;
  }
  return strides;
}

// On the device, and on the host as it was uploaded. What lies between its elements is NaN, and stays as it is.
template <class T>
struct Tensor {
  Index dims, strides;
  std::vector<T> host;
  T* device = nullptr;
  cudnnTensorDescriptor_t desc = nullptr;

  Tensor(check::Random& r, const Index& dims, Layout layout = Layout::packed, double low = -1, double high = 1)
      : dims(dims), strides(stridesOf(dims, layout)) {
    std::size_t size = 1;
    for (std::size_t i = 0; i < dims.size(); ++i) size += std::size_t(dims[i] - 1) * strides[i];
    host.resize(size);
    std::memset(host.data(), 0xff, size * sizeof(T));
    each(dims, [&](const Index& i) {
      (*this)[i] = narrow<T>(std::is_integral_v<T> ? double(int(r.below(15)) - 7) : r.uniform(low, high));
    });
    device = check::toDevice(host);
    DNN(cudnnCreateTensorDescriptor(&desc));
    DNN(cudnnSetTensorNdDescriptor(desc, kType<T>, int(dims.size()), dims.data(), strides.data()));
  }
  ~Tensor() {
    CHECK(cudaFree(device));
    DNN(cudnnDestroyTensorDescriptor(desc));
  }
  Tensor(const Tensor&) = delete;

  std::size_t place(const Index& i) const {
    std::size_t at = 0;
    for (std::size_t d = 0; d < dims.size(); ++d)
      at += std::size_t(dims[d] == 1 ? 0 : i[d]) * strides[d];  // repeated where it is 1
    return at;
  }
  T& operator[](const Index& i) { return host[place(i)]; }
  double operator()(const Index& i) const { return wide(host[place(i)]); }
  // There, also for streams that do not wait for the default one: a copy from pageable memory may be on its way when it returns.
  void upload() {
    CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    CHECK(cudaStreamSynchronize(nullptr));
  }
  // Multiples of 1/8, which TF32 and halves have, too: their products are exact in all of them.
  void coarsen() {
    each(dims, [&](const Index& i) { (*this)[i] = narrow<T>(std::round((*this)(i) * 8) / 8); });
    upload();
  }
  // What is on the device now is what was uploaded from here on.
  void download() { CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost)); }
  operator cudnnTensorDescriptor_t() const { return desc; }

  // The device's tensor is wanted(index), within `bound` beside its own rounding to T; nothing between the elements has been written.
  template <class Wanted>
  void compare(const std::string& what, Wanted&& wanted, double bound) const {
    const std::vector<T> got = check::toHost(device, host.size());
    std::vector<bool> ours(host.size());
    bool good = true;
    each(dims, [&](const Index& i) {
      ours[place(i)] = true;
      const double w = wanted(i), g = wide(got[place(i)]);
      if (!good || (std::isnan(w) ? std::isnan(g) : std::fabs(g - w) <= bound + 2 * kEpsilon<T> * std::fabs(w))) return;
      std::printf("%s", what.c_str());
      for (const int n : i) std::printf("[%d]", n);
      std::printf(" is %.9g, should be %.9g within %g\n", g, w, bound + 2 * kEpsilon<T> * std::fabs(w));
      ++check::failures;
      good = false;
    });
    for (std::size_t i = 0; i < host.size() && good; ++i)
      if (!ours[i] && std::memcmp(&got[i], &host[i], sizeof(T)) != 0) {
        std::printf("%s: written between the elements, at %zu\n", what.c_str(), i);
        ++check::failures;
        good = false;
      }
  }
};

// A number of every element, in double.
class Numbers {
 public:
  explicit Numbers(const Index& dims) : dims_(dims) {
    std::size_t size = 1;
    for (const int d : dims) size *= d;
    values_.resize(size);
  }
  double& operator[](const Index& i) { return values_[place(i)]; }
  double operator()(const Index& i) const { return values_[place(i)]; }

 private:
  std::size_t place(const Index& i) const {
    std::size_t at = 0;
    for (std::size_t d = 0; d < dims_.size(); ++d) at = at * dims_[d] + (dims_[d] == 1 ? 0 : i[d]);
    return at;
  }
  Index dims_;
  std::vector<double> values_;
};

// A factor as cuDNN takes it with tensors of T.
template <class T>
struct Factor {
  parameter_t<T> value;
  explicit Factor(double v) : value(parameter_t<T>(v)) {}
  operator const void*() const { return &value; }
  double wide() const { return value; }
};

}  // namespace dnn
