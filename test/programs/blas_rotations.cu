// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// cuBLAS's plane rotations: what makes them, of scalars in the program's memory or the device's, plain and modified, and what applies them; by what they are for: the second
// of two numbers becomes 0, and lengths stay.
#include "blas.h"

using namespace blas;

namespace typed {
ROUSE_BLAS_OF(rot, cublasSrot, cublasDrot, cublasCrot, cublasZrot)
}  // namespace typed
cublasStatus_t rotg(cublasHandle_t h, float* a, float* b, float* c, float* s) { return cublasSrotg(h, a, b, c, s); }
cublasStatus_t rotg(cublasHandle_t h, double* a, double* b, double* c, double* s) { return cublasDrotg(h, a, b, c, s); }
cublasStatus_t rotg(cublasHandle_t h, cuComplex* a, cuComplex* b, float* c, cuComplex* s) { return cublasCrotg(h, a, b, c, s); }
cublasStatus_t rotg(cublasHandle_t h, cuDoubleComplex* a, cuDoubleComplex* b, double* c, cuDoubleComplex* s) { return cublasZrotg(h, a, b, c, s); }
cublasStatus_t rotm(cublasHandle_t h, Int n, float* x, Int incx, float* y, Int incy, const float* p) { return BLAS_NAME(cublasSrotm)(h, n, x, incx, y, incy, p); }
cublasStatus_t rotm(cublasHandle_t h, Int n, double* x, Int incx, double* y, Int incy, const double* p) { return BLAS_NAME(cublasDrotm)(h, n, x, incx, y, incy, p); }
cublasStatus_t rotmg(cublasHandle_t h, float* d1, float* d2, float* x1, const float* y1, float* p) { return cublasSrotmg(h, d1, d2, x1, y1, p); }
cublasStatus_t rotmg(cublasHandle_t h, double* d1, double* d2, double* x1, const double* y1, double* p) { return cublasDrotmg(h, d1, d2, x1, y1, p); }

// Values where the handle's pointer mode wants them.
template <class T>
struct Values {
  std::vector<T> host;
  T* device = nullptr;
  Values(cublasHandle_t handle, std::vector<T> values) : host(std::move(values)) {
    cublasPointerMode_t mode;
    BLAS(cublasGetPointerMode(handle, &mode));
    if (mode == CUBLAS_POINTER_MODE_DEVICE) device = check::toDevice(host);
  }
  ~Values() {
    if (device != nullptr) CHECK(cudaFree(device));
  }
  Values(const Values&) = delete;
  operator T*() { return device != nullptr ? device : host.data(); }
  T operator()(std::size_t i = 0) { return device != nullptr ? check::toHost(device, host.size())[i] : host[i]; }
};

template <class T>
void close(const char* name, Z got, Z wanted, double scale) {
  if (std::abs(got - wanted) <= 8 * kEpsilon<T> * scale) return;
  std::printf("%s is %.9g + %.9gi, should be %.9g + %.9gi\n", name, got.real(), got.imag(), wanted.real(), wanted.imag());
  ++check::failures;
}

template <class T>
void plain(cublasHandle_t handle) {
  using R = real_t<T>;
  const Z pairs[][2] = {{3, 4}, {-4, 3}, {0, 2}, {2, 0}, {0, 0}, {1e-3, -5}, {Z(1, 2), Z(-3, 0.5)}, {Z(0, -2), Z(0, 1)}};
  for (const auto& [first, second] : pairs) {
    const Z a0 = wide(narrow<T>(first)), b0 = wide(narrow<T>(second));
    Values<T> a(handle, {narrow<T>(first)}), b(handle, {narrow<T>(second)}), s(handle, {T{}});
    Values<R> c(handle, {R{}});
    BLAS(rotg(handle, a, b, c, s));
    const Z cosine = wide(c()), sine = wide(s()), r = wide(a());
    const double size = std::sqrt(std::norm(a0) + std::norm(b0));
    close<T>("rotg r", cosine * a0 + sine * b0, r, size);
    close<T>("rotg 0", cosine * b0 - std::conj(sine) * a0, 0, size);
    close<T>("rotg c c + s s", std::norm(cosine) + std::norm(sine), 1, 1);
    close<T>("rotg |r|", std::abs(r), size, size);
    if constexpr (!kComplex<T>) {
      // The other number that is left says both, as BLAS defines it.
      const double z = wide(b()).real();
      const double sineOfZ = std::abs(z) < 1 ? z : z == 1 ? 1 : std::sqrt(1 - 1 / (z * z)), cosineOfZ = std::abs(z) < 1 ? std::sqrt(1 - z * z) : z == 1 ? 0 : 1 / z;
      close<T>("rotg z: s", std::abs(sineOfZ), std::abs(sine), 4);
      close<T>("rotg z: c", cosineOfZ, cosine, 4);
    }
    check::Random random(91);
    Vector<T> x(random, 20, 2), y(random, 20, -1);
    BLAS(typed::rot<T>(handle, 20, x.device, 2, y.device, -1, (const R*)(R*)c, (const T*)(T*)s));
    x.compare("rot x", [&](int i) { return cosine * x(i) + sine * y(i); }, 6);
    y.compare("rot y", [&](int i) { return cosine * y(i) - std::conj(sine) * x(i); }, 6);
  }
}

// H of its parameters.
struct Modified {
  double h11 = 1, h21 = 0, h12 = 0, h22 = 1;
  template <class P>
  explicit Modified(P&& p) {
    const double flag = p(0);
    if (flag == -1) h11 = p(1), h21 = p(2), h12 = p(3), h22 = p(4);
    if (flag == 0) h21 = p(2), h12 = p(3);
    if (flag == 1) h11 = p(1), h22 = p(4), h21 = -1, h12 = 1;
    EXPECT(flag == -2 || flag == -1 || flag == 0 || flag == 1);
  }
};

template <class T>
void modified(cublasHandle_t handle) {
  const double cases[][4] = {{1, 2, 3, 0.5}, {2, 1, 0.5, 3}, {1, 1, 1, 1}, {1e-9, 1, 1, 1}, {1, 1e10, 2, 1}, {1e12, 1e12, 1, 1}, {3, 2, 1, 0}, {1, 0, 1, 1}, {0, 2, 1, 1}};
  for (const auto& [first, second, x, y] : cases) {
    Values<T> d1(handle, {T(first)}), d2(handle, {T(second)}), x1(handle, {T(x)}), y1(handle, {T(y)}), p(handle, {T(7), T(7), T(7), T(7), T(7)});
    BLAS(rotmg(handle, d1, d2, x1, y1, p));
    const Modified h([&](int i) { return double(p(i)); });
    // In the lengths that the factors say: the second is 0, the first as long as both were.
    const double a = double(T(x)), b = double(T(y)), before = double(T(first)) * a * a + double(T(second)) * b * b;
    const double size = std::abs(h.h21 * a) + std::abs(h.h22 * b) + 1;
    close<T>("rotmg x1", h.h11 * a + h.h12 * b, double(x1()), std::abs(h.h11 * a) + std::abs(h.h12 * b) + 1);
    if (p(0) != T(-2)) close<T>("rotmg 0", h.h21 * a + h.h22 * b, 0, size);
    if (p(0) != T(-2)) close<T>("rotmg d1 x1 x1", double(d1()) * double(x1()) * double(x1()), before, before + 1);
    EXPECT(y1() == T(y));
    check::Random random(92);
    Vector<T> u(random, 15, -2), v(random, 15, 3);
    BLAS(rotm(handle, 15, u.device, -2, v.device, 3, p));
    u.compare("rotm x", [&](int i) { return h.h11 * u(i) + h.h12 * v(i); }, 4 * (std::abs(h.h11) + std::abs(h.h12)));
    v.compare("rotm y", [&](int i) { return h.h21 * u(i) + h.h22 * v(i); }, 4 * (std::abs(h.h21) + std::abs(h.h22)));
  }
}

template <class T>
void extended(cublasHandle_t handle, cudaDataType executes) {
  const cudaDataType type = kType<T>;
  Values<T> a(handle, {narrow<T>(3)}), b(handle, {narrow<T>(4)}), c(handle, {narrow<T>(0)}), s(handle, {narrow<T>(0)});
  BLAS(cublasRotgEx(handle, (T*)a, (T*)b, type, (T*)c, (T*)s, type, executes));
  close<T>("RotgEx r", wide(a()), 5, 5);
  close<T>("RotgEx c", wide(c()), 0.6, 1);
  close<T>("RotgEx s", wide(s()), 0.8, 1);
  Values<T> d1(handle, {narrow<T>(1)}), d2(handle, {narrow<T>(2)}), x1(handle, {narrow<T>(3)}), y1(handle, {narrow<T>(0.5)}), p(handle, std::vector<T>(5, narrow<T>(7)));
  BLAS(cublasRotmgEx(handle, (T*)d1, type, (T*)d2, type, (T*)x1, type, (T*)y1, type, (T*)p, type, executes));
  const Modified h([&](int i) { return wide(p(i)).real(); });
  close<T>("RotmgEx x1", h.h11 * 3 + h.h12 * 0.5, wide(x1()), 4);
  close<T>("RotmgEx 0", h.h21 * 3 + h.h22 * 0.5, 0, 4);
  check::Random random(93);
  Vector<T> u(random, 15, 2), v(random, 15, 1);
  BLAS(BLAS_NAME(cublasRotmEx)(handle, 15, u.device, type, 2, v.device, type, 1, (T*)p, type, executes));
  u.compare("RotmEx x", [&](int i) { return h.h11 * u(i) + h.h12 * v(i); }, 8);
  v.compare("RotmEx y", [&](int i) { return h.h21 * u(i) + h.h22 * v(i); }, 8);
}

int main() {
  cublasHandle_t handle;
  BLAS(cublasCreate(&handle));
  for (cublasPointerMode_t mode : {CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE}) {
    BLAS(cublasSetPointerMode(handle, mode));
    plain<float>(handle);
    plain<double>(handle);
    plain<cuComplex>(handle);
    plain<cuDoubleComplex>(handle);
    modified<float>(handle);
    modified<double>(handle);
    extended<float>(handle, CUDA_R_32F);
    extended<double>(handle, CUDA_R_64F);
  }
  BLAS(cublasDestroy(handle));
  return check::done();
}
