// Plane rotations, and modified ones: what makes them, of scalars in memory (rotg, rotmg), and the matrix of a modified one. As BLAS defines them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "schemas/blas/check.h"
#include "server/library/cpu/number.h"

namespace rouse::library::cpu {

template <class T>
T* scalarAt(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}

// a and b become r and z (for complex numbers b stays), c and s the rotation that makes (a, b) into (r, 0).
template <class T>
void makeRotation(const blas::Call& call) {
  using C = computed_t<T>;
  T& a = *scalarAt<T>(call.rotation[0]);
  T& b = *scalarAt<T>(call.rotation[1]);
  const C first = get(a), second = get(b);
  if constexpr (kComplex<C>) {
    using R = real_t<C>;
    R c{0};
    C s{1}, r = second;
    const R one = std::abs(first), other = std::abs(second);
    if (one != R{0}) {
      const R norm = std::hypot(one, other);
      const C direction = first / one;
      c = one / norm;
      s = direction * std::conj(second / norm);
      r = direction * norm;
    }
    a = r;
    *scalarAt<R>(call.rotation[2]) = c;
    *scalarAt<C>(call.rotation[3]) = s;
  } else {
    C c{1}, s{0}, r{0}, z{0};
    const bool larger = std::abs(first) > std::abs(second);
    const C norm = std::hypot(first, second);
    if (norm != C{0}) {
      r = std::copysign(norm, larger ? first : second);
      c = first / r;
      s = second / r;
      z = larger ? s : c != C{0} ? C{1} / c : C{1};
    }
    put(a, r);
    put(b, z);
    put(*scalarAt<T>(call.rotation[2]), c);
    put(*scalarAt<T>(call.rotation[3]), s);
  }
}

// H, with what its flag leaves out filled in.
template <class C>
struct Modified {
  C flag{-2}, h11{1}, h21{0}, h12{0}, h22{1};

  Modified() = default;
  explicit Modified(const std::array<double, blas::kRotationParameters>& p)
      : flag(static_cast<C>(p[0])), h11(static_cast<C>(p[1])), h21(static_cast<C>(p[2])), h12(static_cast<C>(p[3])), h22(static_cast<C>(p[4])) {
    fill();
  }
  void fill() {
    if (flag == C{-2}) h11 = h22 = C{1}, h21 = h12 = C{0};
    if (flag == C{0}) h11 = h22 = C{1};
    if (flag == C{1}) h12 = C{1}, h21 = C{-1};
  }
};

// Of d1, d2, x1, y1: H that makes the second of (sqrt(d1) x1, sqrt(d2) y1) zero, and what d1, d2 and x1 are then.
template <class T>
void makeModified(const blas::Call& call) {
  using C = computed_t<T>;
  C d1 = get(*scalarAt<T>(call.rotation[0])), d2 = get(*scalarAt<T>(call.rotation[1])), x1 = get(*scalarAt<T>(call.rotation[2]));
  const C y1 = get(*scalarAt<T>(call.rotation[3]));
  Modified<C> h;
  const auto nothing = [&] {
    h.flag = -1;
    h.h11 = h.h21 = h.h12 = h.h22 = d1 = d2 = x1 = C{0};
  };
  const C p2 = d2 * y1;
  if (d1 < C{0}) {
    nothing();
  } else if (p2 != C{0}) {
    const C p1 = d1 * x1, q2 = p2 * y1, q1 = p1 * x1;
    if (std::abs(q1) > std::abs(q2)) {
      h.h21 = -y1 / x1;
      h.h12 = p2 / p1;
      const C u = C{1} - h.h12 * h.h21;
      if (u > C{0}) {
        h.flag = 0;
        d1 /= u;
        d2 /= u;
        x1 *= u;
      } else {
        nothing();
      }
    } else if (q2 < C{0}) {
      nothing();
    } else {
      h.flag = 1;
      h.h11 = p1 / p2;
      h.h22 = x1 / y1;
      const C u = C{1} + h.h11 * h.h22, other = d2 / u;
      d2 = d1 / u;
      d1 = other;
      x1 = y1 * u;
    }
    // Into a range whose squares stay representable; infinities and zeros have none.
    constexpr C kGamma{4096}, kSquare{kGamma * kGamma};
    const auto scale = [&](C& d, C& left, C& right, C* x) {
      while (d != C{0} && std::isfinite(d) && (std::abs(d) <= C{1} / kSquare || std::abs(d) >= kSquare)) {
        h.fill();
        h.flag = -1;
        const bool small = std::abs(d) <= C{1} / kSquare;
        const C factor = small ? C{1} / kGamma : kGamma;
        d = small ? d * kSquare : d / kSquare;
        left *= factor;
        right *= factor;
        if (x != nullptr) *x *= factor;
      }
    };
    scale(d1, h.h11, h.h12, &x1);
    scale(d2, h.h21, h.h22, nullptr);
  }
  put(*scalarAt<T>(call.rotation[0]), d1);
  put(*scalarAt<T>(call.rotation[1]), d2);
  put(*scalarAt<T>(call.rotation[2]), x1);
  T* const parameters = scalarAt<T>(call.rotation[4]);
  put(parameters[0], h.flag);
  // What the flag says already is not written.
  if (h.flag == C{-1} || h.flag == C{1}) put(parameters[1], h.h11), put(parameters[4], h.h22);
  if (h.flag == C{-1} || h.flag == C{0}) put(parameters[2], h.h21), put(parameters[3], h.h12);
}

}  // namespace rouse::library::cpu
