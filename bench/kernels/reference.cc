#include "bench/kernels/reference.h"

#include <algorithm>
#include <cmath>

namespace rouse::bench {

Team::Team(unsigned threads) {
  for (unsigned part = 1; part < threads; ++part) threads_.emplace_back([this, part] { work(part); });
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Team::work(unsigned part) {
  for (std::uint64_t done = 0;; ++done) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return over_ || round_ != done; });
    if (over_) return;
    const auto& body = *body_;
    lock.unlock();
    body(part, size());
    lock.lock();
    if (--left_ == 0) changed_.notify_all();
  }
}

void Team::run(const std::function<void(unsigned, unsigned)>& body) {
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    left_ = size() - 1;
    ++round_;
  }
  changed_.notify_all();
  body(0, size());
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return left_ == 0; });
}

void Team::share(std::size_t count, std::size_t step, const std::function<void(std::size_t, std::size_t)>& body) {
  const std::size_t steps = (count + step - 1) / step;
  run([&](unsigned part, unsigned parts) {
    const std::size_t first = steps * part / parts * step, last = std::min(count, steps * (part + 1) / parts * step);
    if (first < last) body(first, last);
  });
}

namespace reference {
namespace {

constexpr std::size_t kLine = 16;  // floats: threads do not write the same cache line

float cumulativeNormal(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * std::fabs(d));
  const float tail = 0.39894228040143267794f * std::exp(-0.5f * d * d) *
                     (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1.0f - tail : tail;
}

}  // namespace

void saxpy(Team& team, std::size_t n, float a, const float* __restrict x, const float* __restrict y, float* __restrict z) {
  team.share(n, kLine, [=](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) z[i] = a * x[i] + y[i];
  });
}

void stencil(Team& team, std::size_t n, float center, float side, const float* __restrict in, float* __restrict out) {
  team.share(n, 1, [=](std::size_t first, std::size_t last) {
    for (std::size_t z = first; z < last; ++z) {
      for (std::size_t y = 0; y < n; ++y) {
        const float* const from = in + (z * n + y) * n;
        float* const to = out + (z * n + y) * n;
        if (z == 0 || y == 0 || z == n - 1 || y == n - 1) {
          std::copy(from, from + n, to);
          continue;
        }
        to[0] = from[0];
        to[n - 1] = from[n - 1];
        const float *const above = from - n, *const below = from + n, *const before = from - n * n, *const behind = from + n * n;
        for (std::size_t x = 1; x + 1 < n; ++x)
          to[x] = center * from[x] + side * (from[x - 1] + from[x + 1] + above[x] + below[x] + before[x] + behind[x]);
      }
    }
  });
}

// Row by row, so that the innermost loop is over neighbours: each element is still summed in the order of k.
void sgemmNaive(Team& team, std::size_t n, const float* __restrict a, const float* __restrict b, float* __restrict c) {
  team.share(n, 1, [=](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row) {
      float* const to = c + row * n;
      std::fill(to, to + n, 0.0f);
      for (std::size_t k = 0; k < n; ++k) {
        const float factor = a[row * n + k];
        const float* const from = b + k * n;
        for (std::size_t column = 0; column < n; ++column) to[column] += factor * from[column];
      }
    }
  });
}

void sgemmTiled(Team& team, std::size_t n, const float* __restrict a, const float* __restrict b, float* __restrict c) {
  constexpr std::size_t kTile = 16;
  team.share(n, kTile, [=](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; row += kTile) {
      for (std::size_t column = 0; column < n; column += kTile) {
        float sum[kTile][kTile] = {};
        for (std::size_t tile = 0; tile < n; tile += kTile) {
          for (std::size_t y = 0; y < kTile; ++y) {
            for (std::size_t k = 0; k < kTile; ++k) {
              const float factor = a[(row + y) * n + tile + k];
              for (std::size_t x = 0; x < kTile; ++x) sum[y][x] += factor * b[(tile + k) * n + column + x];
            }
          }
        }
        for (std::size_t y = 0; y < kTile; ++y) std::copy(sum[y], sum[y] + kTile, c + (row + y) * n + column);
      }
    }
  });
}

void blackScholes(Team& team, std::size_t n, float rate, float volatility, const float* __restrict price, const float* __restrict strike,
                  const float* __restrict years, float* __restrict call, float* __restrict put) {
  team.share(n, kLine, [=](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const float s = price[i], x = strike[i], t = years[i], root = std::sqrt(t);
      const float d1 = (std::log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
      const float d2 = d1 - volatility * root;
      const float n1 = cumulativeNormal(d1), n2 = cumulativeNormal(d2), discounted = x * std::exp(-rate * t);
      call[i] = s * n1 - discounted * n2;
      put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
  });
}

float reduce(Team& team, std::size_t n, const float* in) {
  constexpr std::size_t kSums = 64;  // at once, as vectors
  std::vector<float> parts(team.size());
  team.run([&](unsigned part, unsigned count) {
    const std::size_t first = n * part / count, last = n * (part + 1) / count;
    float sums[kSums] = {};
    std::size_t i = first;
    for (; i + kSums <= last; i += kSums)
      for (std::size_t k = 0; k < kSums; ++k) sums[k] += in[i + k];
    for (; i < last; ++i) sums[0] += in[i];
    for (std::size_t half = kSums / 2; half > 0; half /= 2)
      for (std::size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
    parts[part] = sums[0];
  });
  float sum = 0;
  for (const float part : parts) sum += part;
  return sum;
}

// Each thread's part twice: what it adds up to, then its sums.
void scan(Team& team, std::size_t n, const std::uint32_t* in, std::uint32_t* out) {
  std::vector<std::uint32_t> sums(team.size());
  team.run([&](unsigned part, unsigned count) {
    std::uint32_t sum = 0;
    for (std::size_t i = n * part / count; i < n * (part + 1) / count; ++i) sum += in[i];
    sums[part] = sum;
  });
  team.run([&](unsigned part, unsigned count) {
    std::uint32_t sum = 0;
    for (unsigned before = 0; before < part; ++before) sum += sums[before];
    for (std::size_t i = n * part / count; i < n * (part + 1) / count; ++i) out[i] = sum += in[i];
  });
}

void histogram(Team& team, std::size_t n, const std::uint8_t* in, std::uint32_t* bins) {
  constexpr std::size_t kBins = 256;
  std::vector<std::uint32_t> parts(team.size() * kBins);
  team.run([&](unsigned part, unsigned count) {
    std::uint32_t mine[kBins] = {};
    for (std::size_t i = n * part / count; i < n * (part + 1) / count; ++i) ++mine[in[i]];
    std::copy(mine, mine + kBins, parts.data() + part * kBins);
  });
  for (std::size_t i = 0; i < parts.size(); ++i) bins[i % kBins] += parts[i];
}

void nbody(Team& team, std::size_t bodies, float softening, const Float4* body, Float4* acceleration) {
  constexpr std::size_t kAtOnce = 16;
  team.share(bodies, kAtOnce, [=](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; i += kAtOnce) {
      float x[kAtOnce], y[kAtOnce], z[kAtOnce], ax[kAtOnce] = {}, ay[kAtOnce] = {}, az[kAtOnce] = {};
      for (std::size_t k = 0; k < kAtOnce; ++k) x[k] = body[i + k].x, y[k] = body[i + k].y, z[k] = body[i + k].z;
      for (std::size_t j = 0; j < bodies; ++j) {
        const Float4 other = body[j];
        for (std::size_t k = 0; k < kAtOnce; ++k) {
          const float dx = other.x - x[k], dy = other.y - y[k], dz = other.z - z[k];
          const float inverse = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + softening);
          const float force = other.w * inverse * inverse * inverse;
          ax[k] += dx * force, ay[k] += dy * force, az[k] += dz * force;
        }
      }
      for (std::size_t k = 0; k < kAtOnce; ++k) acceleration[i + k] = {ax[k], ay[k], az[k], 0};
    }
  });
}

}  // namespace reference
}  // namespace rouse::bench
