// The loops of vectors.h, for vectors of kLanes floats. Included by one file for each set of instructions.
#pragma once

#include "server/library/cpu/dnn/vectors.h"

namespace rouse::library::cpu {
namespace {

// By name each, since the attribute does not come through everywhere where it depends on a parameter.
template <int kLanes>
struct Wide;
template <>
struct Wide<16> {
  typedef float Vector __attribute__((vector_size(64)));
  typedef float Unaligned __attribute__((vector_size(64), aligned(4), may_alias));
};
template <>
struct Wide<8> {
  typedef float Vector __attribute__((vector_size(32)));
  typedef float Unaligned __attribute__((vector_size(32), aligned(4), may_alias));
};

template <int kLanes>
struct Loops {
  using Vector = typename Wide<kLanes>::Vector;
  using Unaligned = typename Wide<kLanes>::Unaligned;

  [[gnu::always_inline]] static Vector load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
  // The first `count` of it.
  [[gnu::always_inline]] static void store(float* to, const Vector& vector, std::int64_t count) {
    if (count >= kLanes) *reinterpret_cast<Unaligned*>(to) = vector;
    else
      for (std::int64_t i = 0; i < count; ++i) to[i] = vector[i];
  }

  template <int kVectors, int kPlaces>
  static void products(std::int64_t filters, const float* x, std::int64_t step, const WindowParts& parts, const float* w, std::int64_t wStep, float* to, std::int64_t spacing) {
    Vector sums[kPlaces][kVectors] = {};
    for (std::int64_t part = 0; part < parts.count; ++part) {
      const float *from = x + parts.parts[part].x, *weights = w + parts.parts[part].w * wStep;
      for (std::int64_t i = 0; i < parts.length; ++i, ++from, weights += wStep) {
        Vector w_[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) w_[v] = load(weights + v * kLanes);
#pragma GCC unroll 16
        for (int p = 0; p < kPlaces; ++p) {
          const Vector element = from[p * step] - Vector{};
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) sums[p][v] += element * w_[v];
        }
      }
    }
#pragma GCC unroll 16
    for (int p = 0; p < kPlaces; ++p) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) store(to + p * spacing + v * kLanes, sums[p][v], filters - v * kLanes);
    }
  }

  template <int kPlaces>
  static void depthwise(std::int64_t channels, const float* x, std::int64_t step, const WindowParts& parts, const float* w, float* to, std::int64_t spacing) {
    Vector sums[kPlaces] = {};
    for (std::int64_t part = 0; part < parts.count; ++part) {
      const float* from = x + parts.parts[part].x;
      const Vector weights = load(w + parts.parts[part].w);
#pragma GCC unroll 16
      for (int p = 0; p < kPlaces; ++p) sums[p] += load(from + p * step) * weights;
    }
#pragma GCC unroll 16
    for (int p = 0; p < kPlaces; ++p) store(to + p * spacing, sums[p], channels);
  }

  // That instance whose number of places is `places`.
  template <int kVectors, int kPlaces>
  static void chosenProducts(std::int64_t filters, std::int64_t places, const float* x, std::int64_t step, const WindowParts& parts, const float* w, std::int64_t wStep, float* to,
                             std::int64_t spacing) {
    if (places == kPlaces) return products<kVectors, kPlaces>(filters, x, step, parts, w, wStep, to, spacing);
    if constexpr (kPlaces > 1) chosenProducts<kVectors, kPlaces - 1>(filters, places, x, step, parts, w, wStep, to, spacing);
  }
  template <int kPlaces>
  static void chosenDepthwise(std::int64_t channels, std::int64_t places, const float* x, std::int64_t step, const WindowParts& parts, const float* w, float* to, std::int64_t spacing) {
    if (places == kPlaces) return depthwise<kPlaces>(channels, x, step, parts, w, to, spacing);
    if constexpr (kPlaces > 1) chosenDepthwise<kPlaces - 1>(channels, places, x, step, parts, w, to, spacing);
  }

  template <int kMost>
  static constexpr VectorLoops made() {
    return {kLanes, kMost,
            [](std::int64_t filters, std::int64_t places, const float* x, std::int64_t step, const WindowParts& parts, const float* w, std::int64_t wStep, float* to,
               std::int64_t spacing) {
              if (filters <= kLanes) chosenProducts<1, kMost>(filters, places, x, step, parts, w, wStep, to, spacing);
              else chosenProducts<2, kMost>(filters, places, x, step, parts, w, wStep, to, spacing);
            },
            [](std::int64_t channels, std::int64_t places, const float* x, std::int64_t step, const WindowParts& parts, const float* w, float* to, std::int64_t spacing) {
              chosenDepthwise<kMost>(channels, places, x, step, parts, w, to, spacing);
            }};
  }
};

}  // namespace
}  // namespace rouse::library::cpu
