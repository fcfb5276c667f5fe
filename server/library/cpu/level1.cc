// Vectors. Sums of floats are kept in double; a vector is one piece.
#include <cmath>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/rotation.h"

namespace rouse::library::cpu {
namespace {

using blas::Verb;

// Eight sums side by side, then together: independent of who adds, and quick enough.
template <class Sum, class Term>
Sum sum(std::int64_t n, Term&& term) {
  Sum parts[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int j = 0; j < 8; ++j) parts[j] += term(i + j);
  for (; i < n; ++i) parts[0] += term(i);
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

template <class T>
using wide_t = std::conditional_t<kComplex<T>, c64, double>;

// |re| + |im|
template <class T>
double size(const T& element) {
  const auto value = get(element);
  if constexpr (kComplex<computed_t<T>>) return std::abs(static_cast<double>(value.real())) + std::abs(static_cast<double>(value.imag()));
  else return std::abs(static_cast<double>(value));
}

template <class T>
double norm(std::int64_t n, const Vector<T>& x) {
  double greatest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double s = size(x[i]);
    if (!(s <= greatest)) greatest = s;  // a NaN stays
  }
  if (greatest == 0 || !std::isfinite(greatest)) return greatest;
  const double squares = sum<double>(n, [&](std::int64_t i) {
    const auto value = get(x[i]);
    if constexpr (kComplex<computed_t<T>>) {
      const double re = static_cast<double>(value.real()) / greatest, im = static_cast<double>(value.imag()) / greatest;
      return re * re + im * im;
    } else {
      const double part = static_cast<double>(value) / greatest;
      return part * part;
    }
  });
  return greatest * std::sqrt(squares);
}

// The first of the greatest (least) elements, counted from 1.
template <class T>
std::int64_t extreme(std::int64_t n, const Vector<T>& x, bool greatest) {
  std::int64_t best = 0;
  double value = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double s = size(x[i]);
    if (i == 0 || (greatest ? s > value : s < value)) {
      best = i;
      value = s;
    }
  }
  return best + 1;
}

void putReal(blas::Type type, std::uint64_t at, double value) {
  switch (type) {
    case blas::Type::f64:
      *reinterpret_cast<double*>(at) = value;
      return;
    case blas::Type::f16:
      put(*reinterpret_cast<Half*>(at), static_cast<float>(value));
      return;
    case blas::Type::bf16:
      put(*reinterpret_cast<Bfloat*>(at), static_cast<float>(value));
      return;
    case blas::Type::i32:
      *reinterpret_cast<std::int32_t*>(at) = static_cast<std::int32_t>(value);
      return;
    case blas::Type::i64:
      *reinterpret_cast<std::int64_t*>(at) = static_cast<std::int64_t>(value);
      return;
    default:
      *reinterpret_cast<float*>(at) = static_cast<float>(value);
  }
}

template <class T>
void run(const Batch& batch) {
  using C = computed_t<T>;
  const blas::Call& call = batch.call;
  const std::int64_t n = call.n > 0 ? call.n : 0;
  const Vector<T> x(call.x.address, n, call.x.spacing), y(call.y.address, n, call.y.spacing);
  const std::int64_t forward = call.x.spacing > 0 ? n : 0;
  switch (batch.info->verb) {
    case Verb::axpy: {
      const C alpha = as<C>(batch.alpha);
      // Nothing times what is no number is nothing (BLAS, xAXPY): programs leave x as it was allocated.
      if (alpha == C{0}) return;
      for (std::int64_t i = 0; i < n; ++i) put(y[i], alpha * get(x[i]) + get(y[i]));
      return;
    }
    case Verb::scal: {
      const C alpha = as<C>(batch.alpha);
      // A real factor of a complex vector multiplies its parts.
      if (kComplex<C> && !blas::isComplex(call.scaleType)) {
        const auto factor = as<real_t<C>>(batch.alpha);
        for (std::int64_t i = 0; i < n; ++i) put(x[i], get(x[i]) * factor);
        return;
      }
      for (std::int64_t i = 0; i < n; ++i) put(x[i], alpha * get(x[i]));
      return;
    }
    case Verb::copy:
      for (std::int64_t i = 0; i < n; ++i) y[i] = x[i];
      return;
    case Verb::swap:
      for (std::int64_t i = 0; i < n; ++i) std::swap(x[i], y[i]);
      return;
    case Verb::rot: {
      const auto c = as<real_t<C>>(batch.alpha);
      // The sine is complex in two functions, and real in all others.
      const auto rotate = [&](auto s) {
        for (std::int64_t i = 0; i < n; ++i) {
          const C a = get(x[i]), b = get(y[i]);
          put(x[i], c * a + s * b);
          put(y[i], c * b - conjugate(s) * a);
        }
      };
      if (blas::isComplex(blas::betaTypeOf(*batch.info, call))) rotate(as<C>(batch.beta));
      else rotate(as<real_t<C>>(batch.beta));
      return;
    }
    case Verb::rotm:
      if constexpr (!kComplex<C>) {
        const Modified<C> h(batch.parameters);
        if (h.flag == C{-2}) return;
        for (std::int64_t i = 0; i < n; ++i) {
          const C a = get(x[i]), b = get(y[i]);
          put(x[i], h.h11 * a + h.h12 * b);
          put(y[i], h.h21 * a + h.h22 * b);
        }
      }
      return;
    case Verb::rotg:
      return makeRotation<T>(call);
    case Verb::rotmg:
      if constexpr (!kComplex<C>) makeModified<T>(call);
      return;
    case Verb::dot: {
      using W = wide_t<C>;
      const bool conjugates = batch.info->conjugates;
      const W total = sum<W>(n, [&](std::int64_t i) {
        const W a(get(x[i])), b(get(y[i]));
        return (conjugates ? conjugate(a) : a) * b;
      });
      T result;
      put(result, static_cast<C>(total));
      *reinterpret_cast<T*>(call.result) = result;
      return;
    }
    case Verb::nrm2:
      return putReal(call.resultType, call.result, norm(forward, x));
    case Verb::asum:
      return putReal(call.resultType, call.result, sum<double>(forward, [&](std::int64_t i) { return size(x[i]); }));
    case Verb::iamax:
    case Verb::iamin:
      return putReal(call.resultType, call.result,
                     forward == 0 ? 0.0 : static_cast<double>(extreme(forward, x, batch.info->verb == Verb::iamax)));
    default:
      return;
  }
}

}  // namespace

std::unique_ptr<Job> makeLevel1(Batch batch) {
  return makePieces(1, [batch = std::move(batch)](std::uint64_t) {
    const blas::Type type = batch.call.xType;
    if (withBasic(type, [&]<class T>(T) { run<T>(batch); })) return;
    if (type == blas::Type::f16) run<Half>(batch);
    if (type == blas::Type::bf16) run<Bfloat>(batch);
  });
}

}  // namespace rouse::library::cpu
