#include "bench/kernels/cases.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <type_traits>

#include "bench/remoting/client.h"
#include "bench/report.h"

namespace rouse::bench {

extern const char kKernelsPtx[];

namespace {

// Host and device copies of an array.
template <class T>
class Array {
 public:
  explicit Array(std::size_t size) : host(size) { check(cudaMalloc(&device_, size * sizeof(T)), "cudaMalloc"); }
  ~Array() { cudaFree(device_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* device() const { return static_cast<T*>(device_); }
  std::size_t size() const { return host.size(); }
  void upload() { check(cudaMemcpy(device_, host.data(), size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy"); }
  void clear() { check(cudaMemset(device_, 0, size() * sizeof(T)), "cudaMemset"); }
  std::vector<T> downloaded() const {
    std::vector<T> values(size());
    check(cudaMemcpy(values.data(), device_, size() * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

  std::vector<T> host;

 private:
  void* device_ = nullptr;
};

std::mt19937& random() {
  static std::mt19937 generator(1);
  return generator;
}

void fill(Array<float>& array, float least, float greatest) {
  std::uniform_real_distribution<float> values(least, greatest);
  for (float& value : array.host) value = values(random());
  array.upload();
}

template <class T>
double differenceOf(const std::vector<T>& got, const std::vector<T>& wanted) {
  if constexpr (std::is_integral_v<T>) return got == wanted ? 0 : 1;
  double mean = 0, worst = 0;
  for (const T value : wanted) mean += std::fabs(value);
  mean /= static_cast<double>(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double one = std::fabs(static_cast<double>(got[i]) - wanted[i]) / std::max<double>(std::fabs(wanted[i]), mean);
    worst = one <= worst ? worst : std::isnan(one) ? HUGE_VAL : one;
  }
  return worst;
}

constexpr unsigned kBlock = 256;

unsigned blocksFor(std::size_t threads) { return static_cast<unsigned>((threads + kBlock - 1) / kBlock); }
std::size_t linear(double full, double scale) { return static_cast<std::size_t>(full * scale); }
// Of things whose work grows with a power of it; a multiple of `step`.
std::size_t edge(double full, double scale, double power, std::size_t step) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(full * std::pow(scale, 1 / power) / static_cast<double>(step))) * step;
}
unsigned number(std::size_t value) { return static_cast<unsigned>(value); }

class Saxpy final : public Case {
 public:
  Saxpy(Kernels& kernels, double scale) : kernels_(kernels), n_(linear(8e6, scale)), x_(n_), y_(n_), z_(n_) {
    fill(x_, -1, 1);
    fill(y_, -1, 1);
  }
  void onDevice() override { kernels_.launch("saxpy", blocksFor(n_), kBlock, number(n_), 1.5f, x_.device(), y_.device(), z_.device()); }
  void here(Team& team) override { reference::saxpy(team, n_, 1.5f, x_.host.data(), y_.host.data(), z_.host.data()); }
  double difference() override { return differenceOf(z_.downloaded(), z_.host); }

 private:
  Kernels& kernels_;
  std::size_t n_;
  Array<float> x_, y_, z_;
};

class Stencil final : public Case {
 public:
  Stencil(Kernels& kernels, double scale) : kernels_(kernels), n_(edge(224, scale, 3, 8)), in_(n_ * n_ * n_), out_(in_.size()) {
    fill(in_, -1, 1);
  }
  void onDevice() override {
    const unsigned n = number(n_);
    kernels_.launch("stencil", dim3((n + 31) / 32, (n + 7) / 8, n), dim3(32, 8), n, 0.4f, 0.1f, in_.device(), out_.device());
  }
  void here(Team& team) override { reference::stencil(team, n_, 0.4f, 0.1f, in_.host.data(), out_.host.data()); }
  double difference() override { return differenceOf(out_.downloaded(), out_.host); }

 private:
  Kernels& kernels_;
  std::size_t n_;
  Array<float> in_, out_;
};

class Sgemm final : public Case {
 public:
  Sgemm(Kernels& kernels, double scale, bool tiled)
      : kernels_(kernels), tiled_(tiled), n_(edge(512, scale, 3, 16)), a_(n_ * n_), b_(a_.size()), c_(a_.size()) {
    fill(a_, 0, 1);
    fill(b_, 0, 1);
  }
  void onDevice() override {
    const unsigned tiles = number(n_ / 16);
    kernels_.launch(tiled_ ? "sgemm_tiled" : "sgemm_naive", dim3(tiles, tiles), dim3(16, 16), number(n_), a_.device(), b_.device(), c_.device());
  }
  void here(Team& team) override {
    (tiled_ ? reference::sgemmTiled : reference::sgemmNaive)(team, n_, a_.host.data(), b_.host.data(), c_.host.data());
  }
  double difference() override { return differenceOf(c_.downloaded(), c_.host); }

 private:
  Kernels& kernels_;
  bool tiled_;
  std::size_t n_;
  Array<float> a_, b_, c_;
};

class BlackScholes final : public Case {
 public:
  BlackScholes(Kernels& kernels, double scale)
      : kernels_(kernels), n_(linear(1e6, scale)), price_(n_), strike_(n_), years_(n_), call_(n_), put_(n_) {
    fill(price_, 5, 30);
    fill(strike_, 1, 100);
    fill(years_, 0.25f, 10);
  }
  void onDevice() override {
    kernels_.launch("black_scholes", blocksFor(n_), kBlock, number(n_), 0.02f, 0.3f, price_.device(), strike_.device(), years_.device(),
                    call_.device(), put_.device());
  }
  void here(Team& team) override {
    reference::blackScholes(team, n_, 0.02f, 0.3f, price_.host.data(), strike_.host.data(), years_.host.data(), call_.host.data(),
                            put_.host.data());
  }
  double difference() override {
    return std::max(differenceOf(call_.downloaded(), call_.host), differenceOf(put_.downloaded(), put_.host));
  }

 private:
  Kernels& kernels_;
  std::size_t n_;
  Array<float> price_, strike_, years_, call_, put_;
};

class Reduction final : public Case {
 public:
  Reduction(Kernels& kernels, double scale) : kernels_(kernels), n_(linear(16e6, scale)), in_(n_), sums_(kBlocks), sum_(1) {
    fill(in_, 0, 1);
  }
  void onDevice() override {
    kernels_.launch("reduce", kBlocks, kBlock, number(n_), in_.device(), sums_.device());
    kernels_.launch("reduce", 1, kBlock, kBlocks, sums_.device(), sum_.device());
  }
  void here(Team& team) override { sum_.host[0] = reference::reduce(team, n_, in_.host.data()); }
  double difference() override { return differenceOf(sum_.downloaded(), sum_.host); }

 private:
  static constexpr unsigned kBlocks = 256;
  Kernels& kernels_;
  std::size_t n_;
  Array<float> in_, sums_, sum_;
};

class Scan final : public Case {
 public:
  Scan(Kernels& kernels, double scale)
      : kernels_(kernels), n_(linear(4e6, scale)), in_(n_), out_(n_), sums_(blocksFor(n_)), sums2_(blocksFor(sums_.size())), sums3_(1) {
    for (auto& value : in_.host) value = static_cast<std::uint32_t>(random()());
    in_.upload();
  }
  // Blocks, what the blocks add up to, what those add up to: 256 at most.
  void onDevice() override {
    const unsigned n = number(n_), blocks = number(sums_.size()), blocks2 = number(sums2_.size());
    kernels_.launch("scan_blocks", blocks, kBlock, n, in_.device(), out_.device(), sums_.device());
    kernels_.launch("scan_blocks", blocks2, kBlock, blocks, sums_.device(), sums_.device(), sums2_.device());
    kernels_.launch("scan_blocks", 1, kBlock, blocks2, sums2_.device(), sums2_.device(), sums3_.device());
    kernels_.launch("scan_add", blocks2, kBlock, blocks, sums_.device(), sums2_.device());
    kernels_.launch("scan_add", blocks, kBlock, n, out_.device(), sums_.device());
  }
  void here(Team& team) override { reference::scan(team, n_, in_.host.data(), out_.host.data()); }
  double difference() override { return differenceOf(out_.downloaded(), out_.host); }

 private:
  Kernels& kernels_;
  std::size_t n_;
  Array<std::uint32_t> in_, out_, sums_, sums2_, sums3_;
};

class Histogram final : public Case {
 public:
  Histogram(Kernels& kernels, double scale) : kernels_(kernels), n_(linear(8e6, scale)), in_(n_), bins_(kBlock) {
    for (auto& value : in_.host) value = static_cast<std::uint8_t>(random()() & random()());
    in_.upload();
  }
  void onDevice() override {
    bins_.clear();
    kernels_.launch("histogram", 128, kBlock, number(n_), in_.device(), bins_.device());
  }
  void here(Team& team) override {
    std::fill(bins_.host.begin(), bins_.host.end(), 0);
    reference::histogram(team, n_, in_.host.data(), bins_.host.data());
  }
  double difference() override { return differenceOf(bins_.downloaded(), bins_.host); }

 private:
  Kernels& kernels_;
  std::size_t n_;
  Array<std::uint8_t> in_;
  Array<std::uint32_t> bins_;
};

class Nbody final : public Case {
 public:
  Nbody(Kernels& kernels, double scale) : kernels_(kernels), n_(edge(4096, scale, 2, kBlock)), body_(n_), acceleration_(n_) {
    std::uniform_real_distribution<float> place(-1, 1), mass(0.5f, 1.5f);
    for (auto& body : body_.host) body = {place(random()), place(random()), place(random()), mass(random())};
    body_.upload();
  }
  void onDevice() override { kernels_.launch("nbody", blocksFor(n_), kBlock, number(n_), 0.01f, body_.device(), acceleration_.device()); }
  void here(Team& team) override { reference::nbody(team, n_, 0.01f, body_.host.data(), acceleration_.host.data()); }
  double difference() override {
    const auto flat = [](const std::vector<Float4>& values) {
      std::vector<float> numbers;
      for (const Float4& value : values) numbers.insert(numbers.end(), {value.x, value.y, value.z});
      return numbers;
    };
    return differenceOf(flat(acceleration_.downloaded()), flat(acceleration_.host));
  }

 private:
  Kernels& kernels_;
  std::size_t n_;
  Array<Float4> body_, acceleration_;
};

template <class Made, auto... More>
std::unique_ptr<Case> make(Kernels& kernels, double scale) {
  return std::make_unique<Made>(kernels, scale, More...);
}

}  // namespace

Kernels::Kernels() {
  check(cudaLibraryLoadData(&library_, kKernelsPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), "cudaLibraryLoadData");
  // With the first kernel comes what all have in common: the module is parsed, the compiler is there.
  launch("nothing", 1, 32);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

Kernels::~Kernels() { cudaLibraryUnload(library_); }

void Kernels::launchWith(const char* name, dim3 grid, dim3 block, void** arguments) {
  cudaKernel_t& kernel = kernels_[name];
  if (kernel == nullptr) check(cudaLibraryGetKernel(&kernel, library_, name), "cudaLibraryGetKernel");
  const double begin = now();
  check(cudaLaunchKernel(kernel, grid, block, arguments, 0, nullptr), "cudaLaunchKernel");
  if (!timed_) return;
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  times_[name].push_back(now() - begin);
}

const std::vector<CaseKind>& kernelCases() {
  static const std::vector<CaseKind> cases{
      {"saxpy", false, make<Saxpy>},
      {"stencil", false, make<Stencil>},
      {"sgemm_naive", false, make<Sgemm, false>},
      {"black_scholes", false, make<BlackScholes>},
      {"sgemm_tiled", true, make<Sgemm, true>},
      {"reduction", true, make<Reduction>},
      {"scan", true, make<Scan>},
      {"histogram", true, make<Histogram>},
      {"nbody", true, make<Nbody>},
  };
  return cases;
}

}  // namespace rouse::bench
