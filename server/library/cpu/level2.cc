// A matrix of which all is stored, and vectors.
#include <algorithm>
#include <vector>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/cblas_calls.h"

namespace rouse::library::cpu {
namespace {

using blas::Verb;

// Elements of a matrix that one piece reads.
constexpr std::int64_t kPieceElements = std::int64_t{1} << 18;

template <class T>
T* element(std::uint64_t address, std::int64_t row, std::int64_t column, std::int64_t spacing) {
  return reinterpret_cast<T*>(address) + row + column * spacing;
}

// Rows of y that one piece makes.
std::int64_t rowsOf(const blas::Call& call) {
  const std::int64_t other = call.transa == blas::Transpose::none ? call.n : call.m;
  return std::max<std::int64_t>(kPieceElements / std::max<std::int64_t>(other, 1), 64);
}

template <class T>
void multiply(const Batch& batch, const Places& p, std::int64_t first, std::int64_t count) {
  const blas::Call& call = batch.call;
  const bool straight = call.transa == blas::Transpose::none;
  const std::int64_t length = straight ? call.m : call.n;
  const T* a = straight ? element<T>(p.a, first, 0, call.a.spacing) : element<T>(p.a, 0, first, call.a.spacing);
  T* y = part<T>(p.y, length, call.y.spacing, first, count);
  const T beta = as<T>(batch.beta);
  // OpenBLAS leaves y alone when there is nothing to add, and multiplies by a beta of 0 rather than setting.
  if (beta == T{0}) {
    const Vector<T> out(reinterpret_cast<std::uint64_t>(y), count, call.y.spacing);
    for (std::int64_t i = 0; i < count; ++i) out[i] = T{0};
  } else if ((straight ? call.n : call.m) == 0) {
    const Vector<T> out(reinterpret_cast<std::uint64_t>(y), count, call.y.spacing);
    for (std::int64_t i = 0; i < count; ++i) out[i] *= beta;
  }
  gemv(toCblas(call.transa), toInt(straight ? count : call.m), toInt(straight ? call.n : count), as<T>(batch.alpha), a, toInt(call.a.spacing),
       reinterpret_cast<const T*>(p.x), toInt(call.x.spacing), beta == T{0} ? T{1} : beta, y, toInt(call.y.spacing));
}

template <class In, class Out>
void multiplySmall(const Batch& batch, const Places& p, std::int64_t first, std::int64_t count) {
  const blas::Call& call = batch.call;
  const bool straight = call.transa == blas::Transpose::none;
  const std::int64_t inner = straight ? call.n : call.m, length = straight ? call.m : call.n;
  const Vector<In> x(p.x, inner, call.x.spacing);
  const Vector<Out> y(p.y, length, call.y.spacing);
  const auto alpha = as<float>(batch.alpha), beta = as<float>(batch.beta);
  for (std::int64_t i = first; i < first + count; ++i) {
    float total = 0;
    for (std::int64_t j = 0; j < inner; ++j)
      total += get(straight ? *element<In>(p.a, i, j, call.a.spacing) : *element<In>(p.a, j, i, call.a.spacing)) * get(x[j]);
    put(y[i], (alpha == 0 ? 0.0f : alpha * total) + (beta == 0 ? 0.0f : beta * get(y[i])));
  }
}

std::unique_ptr<Job> makeGemv(Batch batch) {
  const std::int64_t rows = rowsOf(batch.call);
  const std::int64_t length = batch.call.transa == blas::Transpose::none ? batch.call.m : batch.call.n;
  const auto each = static_cast<std::uint64_t>(blocksOf(length, rows));
  const std::uint64_t pieces = each * batch.count();
  return makePieces(pieces, [=, batch = std::move(batch)](std::uint64_t piece) {
    const Places p = batch.places(piece / each);
    const auto first = static_cast<std::int64_t>(piece % each) * rows;
    const std::int64_t count = std::min(rows, length - first);
    if (withBasic(batch.call.aType, [&]<class T>(T) { multiply<T>(batch, p, first, count); })) return;
    const bool toFloat = batch.call.yType == blas::Type::f32;
    if (batch.call.aType == blas::Type::f16) (toFloat ? multiplySmall<Half, float> : multiplySmall<Half, Half>)(batch, p, first, count);
    if (batch.call.aType == blas::Type::bf16) (toFloat ? multiplySmall<Bfloat, float> : multiplySmall<Bfloat, Bfloat>)(batch, p, first, count);
  });
}

std::unique_ptr<Job> makeGer(Batch batch) {
  const std::int64_t columns = std::max<std::int64_t>(kPieceElements / batch.call.m, 16);
  const auto pieces = static_cast<std::uint64_t>(blocksOf(batch.call.n, columns));
  return makePieces(pieces, [=, batch = std::move(batch)](std::uint64_t piece) {
    const blas::Call& call = batch.call;
    const auto first = static_cast<std::int64_t>(piece) * columns;
    const std::int64_t count = std::min(columns, call.n - first);
    withBasic(call.aType, [&]<class T>(T) {
      ger(batch.info->conjugates, toInt(call.m), toInt(count), as<T>(batch.alpha), reinterpret_cast<const T*>(call.x.address),
          toInt(call.x.spacing), part<T>(call.y.address, call.n, call.y.spacing, first, count), toInt(call.y.spacing),
          element<T>(call.a.address, 0, first, call.a.spacing), toInt(call.a.spacing));
    });
  });
}

}  // namespace

std::unique_ptr<Job> makeLevel2(Batch batch) {
  return batch.info->verb == Verb::gemv ? makeGemv(std::move(batch)) : makeGer(std::move(batch));
}

}  // namespace rouse::library::cpu
