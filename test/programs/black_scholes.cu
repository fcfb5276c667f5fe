// Option pricing: expf, logf, sqrtf, erfcf in float and double versions, structures by value; against long double.
#include "check.h"

struct Market {
  double rate, volatility;
};

template <class T>
__device__ T normal(T x);
template <>
__device__ float normal(float x) { return 0.5f * erfcf(-x * 0.70710678118654752f); }
template <>
__device__ double normal(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

template <class T>
__global__ void price(Market market, const T* spot, const T* strike, const T* years, T* call, T* put, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T r = T(market.rate), v = T(market.volatility), root = sqrt(years[i]);
  T d1 = (log(spot[i] / strike[i]) + (r + T(0.5) * v * v) * years[i]) / (v * root), d2 = d1 - v * root;
  T discounted = strike[i] * exp(-r * years[i]);
  call[i] = spot[i] * normal(d1) - discounted * normal(d2);
  put[i] = discounted * normal(-d2) - spot[i] * normal(-d1);
}

template <class T>
void run(const char* name, double absolute) {
  const int n = 5000;
  const Market market{0.02, 0.3};
  check::Random random(17);
  std::vector<T> spot(n), strike(n), years(n);
  std::vector<double> calls(n), puts(n);
  for (int i = 0; i < n; ++i) {
    spot[i] = T(random.uniform(5, 30));
    strike[i] = T(random.uniform(1, 100));
    years[i] = T(random.uniform(0.25, 10));
    long double s = spot[i], k = strike[i], t = years[i], r = market.rate, v = market.volatility;
    long double d1 = (std::log(s / k) + (r + 0.5L * v * v) * t) / (v * std::sqrt(t)), d2 = d1 - v * std::sqrt(t);
    auto cumulative = [](long double x) { return 0.5L * std::erfc(-x / std::sqrt(2.0L)); };
    long double discounted = k * std::exp(-r * t);
    calls[i] = double(s * cumulative(d1) - discounted * cumulative(d2));
    puts[i] = double(discounted * cumulative(-d2) - s * cumulative(-d1));
  }
  T *s = check::toDevice(spot), *k = check::toDevice(strike), *t = check::toDevice(years);
  T *call = check::deviceArray<T>(n), *put = check::deviceArray<T>(n);
  price<T><<<(n + 127) / 128, 128>>>(market, s, k, t, call, put, n);
  CHECK(cudaGetLastError());
  check::near(name, check::toHost(call, n), calls, 0, absolute);
  check::near(name, check::toHost(put, n), puts, 0, absolute);
}

int main() {
  // Values up to 100; the functions are good to a few ulp, the final subtraction keeps their absolute error.
  run<float>("float", 100 * 64 * 6e-8);
  run<double>("double", 100 * 64 * 1.2e-16);
  return check::done();
}
