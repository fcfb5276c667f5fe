#include <algorithm>
#include <cmath>
#include <limits>

#include "server/library/cpu/dnn/plan.h"
#include "server/library/cpu/dnn/rows.h"

namespace rouse::library::cpu {
namespace {

// cudnnReduceTensorOp_t.
enum Reduce : std::uint16_t { kAdd, kMul, kMin, kMax, kAmax, kAvg, kNorm1, kNorm2, kMulNoZeros };

double beginningOf(std::uint16_t mode) {
  switch (mode) {
    case kMul: case kMulNoZeros: return 1;
    case kMin: return std::numeric_limits<double>::infinity();
    case kMax: return -std::numeric_limits<double>::infinity();
    default: return 0;
  }
}

template <class T>
double reduced(std::uint16_t mode, bool propagate, double so, const T* row, std::int64_t count) {
  const auto each = [&](auto f) {
    for (std::int64_t i = 0; i < count; ++i) so = f(so, static_cast<double>(row[i]));
    return so;
  };
  switch (mode) {
    case kMul: return each([](double a, double v) { return a * v; });
    case kMulNoZeros: return each([](double a, double v) { return v == 0 ? a : a * v; });
    case kMin: return each([=](double a, double v) { return propagate && (a != a || v != v) ? a + v : std::fmin(a, v); });
    case kMax: return each([=](double a, double v) { return propagate && (a != a || v != v) ? a + v : std::fmax(a, v); });
    case kAmax: return each([=](double a, double v) { return propagate && (a != a || v != v) ? a + v : std::fmax(a, std::fabs(v)); });
    case kNorm1: return so + sumOf(count, [=](std::int64_t i) { return std::fabs(static_cast<double>(row[i])); });
    case kNorm2: return so + sumOf(count, [=](std::int64_t i) { return static_cast<double>(row[i]) * static_cast<double>(row[i]); });
    default: return so + sumOf(count, [=](std::int64_t i) { return static_cast<double>(row[i]); });
  }
}

}  // namespace

void planReduction(Plan& plan, const dnn::Node& node) {
  View x = plan.view(node.inputs[0]), y = plan.view(node.outputs[0]);
  // A dimension that is reduced in parts is two: the parts, and what is in each of them.
  for (std::uint32_t d = 0; d < x.rank; ++d) {
    if (y.dims[d] == 1 || y.dims[d] == x.dims[d]) continue;
    const std::int64_t parts = y.dims[d], length = x.dims[d] / parts;
    for (View* each : {&x, &y}) {
      std::copy_backward(each->dims + d, each->dims + each->rank, each->dims + each->rank + 1);
      std::copy_backward(each->strides + d, each->strides + each->rank, each->strides + each->rank + 1);
      ++each->rank;
    }
    x.dims[d] = parts;
    x.dims[d + 1] = length;
    x.strides[d] *= length;
    y.dims[d + 1] = 1;
    break;
  }
  std::uint32_t summed = 0;
  for (std::uint32_t d = 0; d < x.rank; ++d) summed |= y.dims[d] == 1 ? 1u << d : 0;
  const Rows rows(x, summed);
  withComputed(plan, node, [&]<class T>(T) {
    plan.phase(rows.pieces(), [=, mode = node.mode, propagate = (node.flags & dnn::kPropagateNan) != 0, scale = Scale<T>(node)](std::uint64_t piece) {
      const Box places = rows.places(piece);
      const std::int64_t count = places.elements(x.rank);
      const Buffer<T> values = bufferOf<T>(rows.mostElements()), results = bufferOf<T>(count);
      const Buffer<double> so = bufferOf<double>(count);
      std::fill_n(so.get(), count, beginningOf(mode));
      for (std::uint64_t i = 0; i < rows.parts(); ++i) {
        const Box part = rows.part(places, i);
        read(x, part, rows.order(), values.get());
        const std::int64_t length = part.elements(x.rank) / count;
        for (std::int64_t p = 0; p < count; ++p) so[p] = reduced(mode, propagate, so[p], values.get() + p * length, length);
      }
      for (std::int64_t p = 0; p < count; ++p) {
        const double value = mode == kAvg ? so[p] / static_cast<double>(rows.length()) : mode == kNorm2 ? std::sqrt(so[p]) : so[p];
        results[p] = static_cast<T>(value);
      }
      write(y, places, rows.order(), results.get(), scale.alpha, scale.beta);
    });
  });
}

}  // namespace rouse::library::cpu
