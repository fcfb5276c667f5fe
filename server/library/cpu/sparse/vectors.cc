// Operations on a sparse and a dense vector: one piece each, since so little is done for each element.
#include <string>

#include "server/library/cpu/batch.h"
#include "server/library/cpu/sparse/jobs.h"
#include "server/library/cpu/sparse/pattern.h"

namespace rouse::library::cpu {
namespace {

using sparse::Call;
using sparse::Function;

// Each index, checked.
Result<std::vector<std::int64_t>> readIndices(Function function, const sparse::Sparse& vector) {
  const double bytes = 8.0 * static_cast<double>(vector.nnz);
  if (bytes > static_cast<double>(kMostJobBytes)) return tooLarge(function, bytes);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(vector.nnz));
  for (std::int64_t i = 0; i < vector.nnz; ++i) {
    const std::int64_t index = fromZero(loadIndex(vector.indicesType, vector.indices, i), vector.base);
    if (index < 0 || index >= vector.rows) return badIndex(function, "an index", i, index, vector.rows);
    indices[static_cast<std::size_t>(i)] = index;
  }
  return indices;
}

template <class N, class T>
void runVector(Function function, const Call& call, const std::vector<std::int64_t>& indices) {
  T* const x = reinterpret_cast<T*>(call.a.values);
  T* const y = reinterpret_cast<T*>(function == Function::gather || function == Function::dot ? call.x.values : call.y.values);
  const auto each = [&](auto&& visit) {
    for (std::size_t i = 0; i < indices.size(); ++i) visit(x[i], y[indices[i]]);
  };
  switch (function) {
    case Function::gather:
      return each([](T& value, const T& dense) { value = dense; });
    case Function::scatter:
      return each([](const T& value, T& dense) { dense = value; });
    case Function::axpby: {
      const N alpha = scalarOf<N>(call, call.alpha), beta = scalarOf<N>(call, call.beta);
      // Where there are elements the sum is rounded once.
      std::vector<N> sums(indices.size());
      for (std::size_t i = 0; i < indices.size(); ++i)
        sums[i] = alpha * widened<N>(x[i]) + (beta == N{} ? N{} : beta * widened<N>(y[indices[i]]));
      if (beta != N{1})
        for (std::int64_t i = 0; i < call.y.rows; ++i) narrowTo(y[i], beta == N{} ? N{} : beta * widened<N>(y[i]));
      for (std::size_t i = 0; i < indices.size(); ++i) narrowTo(y[indices[i]], sums[i]);
      return;
    }
    case Function::rot: {
      const N cosine = scalarOf<N>(call, call.alpha), sine = scalarOf<N>(call, call.beta);
      return each([&](T& value, T& dense) {
        const N a = widened<N>(value), b = widened<N>(dense);
        narrowTo(value, cosine * a + sine * b);
        narrowTo(dense, cosine * b - sine * a);
      });
    }
    default: {
      N sum{};
      each([&](const T& value, const T& dense) { sum += conjugatedIf(call.opA == sparse::Operation::conjugate, widened<N>(value)) * widened<N>(dense); });
      store(call.computeType, call.result, 0, sum);
    }
  }
}

}  // namespace

SparseJob makeSparseVector(Function function, const Call& call) {
  auto indices = readIndices(function, call.a);
  if (!indices) return indices.error();
  return makePieces(1, [=, indices = std::move(*indices)](std::uint64_t) {
    withStored(call.a.type, [&]<class T>(T) {
      if constexpr (kComplex<computed_t<T>>) runVector<c64, T>(function, call, indices);
      else runVector<double, T>(function, call, indices);
    });
  });
}

}  // namespace rouse::library::cpu
