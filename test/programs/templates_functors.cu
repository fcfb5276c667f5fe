// Templates, functors, device lambdas, variadic arguments, constexpr, fold expressions: what C++ code passes to kernels.
// nvcc: --extended-lambda --expt-relaxed-constexpr
#include <algorithm>
#include <array>
#include <tuple>

#include "check.h"

template <class F, class... T>
__global__ void forEach(int n, F f, T... arguments) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i, arguments...);
}

template <int kPower>
struct Power {
  template <class T>
  __host__ __device__ constexpr T operator()(T x) const {
    if constexpr (kPower == 0)
      return T(1);
    else
      return x * Power<kPower - 1>()(x);
  }
};

template <class... F>
struct Chain {
  std::tuple<F...> steps;  // carried by value, unused fields included
  template <class T>
  __host__ __device__ T operator()(T x) const {
    ((x = F()(x)), ...);
    return x;
  }
};

struct Twice {
  __host__ __device__ unsigned operator()(unsigned x) const { return 2 * x; }
};
struct PlusThree {
  __host__ __device__ unsigned operator()(unsigned x) const { return x + 3; }
};

template <class Op>
__global__ void transform(const unsigned* in, unsigned* out, int n, Op op) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = op(in[i]);
}

template <class T, int N>
struct Polynomial {
  T coefficients[N];
  __host__ __device__ T operator()(T x) const {
    T sum = 0;
    for (int i = N - 1; i >= 0; --i) sum = sum * x + coefficients[i];
    return sum;
  }
};

int main() {
  const int n = 3000, blocks = (n + 127) / 128;
  std::vector<unsigned> in(n), wanted(n);
  check::Random random(18);
  for (unsigned& v : in) v = unsigned(random.next());
  unsigned *din = check::toDevice(in), *dout = check::deviceArray<unsigned>(n);

  unsigned scale = 17;
  forEach<<<blocks, 128>>>(n, [=] __device__(int i, unsigned a, short b, double c) { dout[i] = din[i] * scale + a - b + unsigned(c); },
                           5u, short(-2), 7.9);
  CHECK(cudaGetLastError());
  for (int i = 0; i < n; ++i) wanted[i] = in[i] * 17 + 5 + 2 + 7;
  check::equal("lambda", check::toHost(dout, n), wanted);

  transform<<<blocks, 128>>>(din, dout, n, Power<5>());
  CHECK(cudaGetLastError());
  for (int i = 0; i < n; ++i) wanted[i] = Power<5>()(in[i]);
  check::equal("power", check::toHost(dout, n), wanted);

  Chain<Twice, PlusThree, Power<2>, Twice> chain{};
  transform<<<blocks, 128>>>(din, dout, n, chain);
  CHECK(cudaGetLastError());
  for (int i = 0; i < n; ++i) wanted[i] = chain(in[i]);
  check::equal("chain", check::toHost(dout, n), wanted);

  Polynomial<unsigned, 9> polynomial{{1, 2, 3, 4, 5, 6, 7, 8, 9}};
  transform<<<blocks, 128>>>(din, dout, n, polynomial);
  CHECK(cudaGetLastError());
  for (int i = 0; i < n; ++i) wanted[i] = polynomial(in[i]);
  check::equal("polynomial", check::toHost(dout, n), wanted);

  auto least = [] __host__ __device__(unsigned x) { return std::min(x, std::max(1000u, x % 5000u)); };
  transform<<<blocks, 128>>>(din, dout, n, least);
  CHECK(cudaGetLastError());
  for (int i = 0; i < n; ++i) wanted[i] = least(in[i]);
  check::equal("relaxed constexpr", check::toHost(dout, n), wanted);
  return check::done();
}
