#include <cmath>
#include <limits>

#include "server/library/cpu/dnn/plan.h"

namespace rouse::library::cpu {
namespace {

// The numbers of a node, as computed with.
template <class T>
struct Numbers {
  T lower, upper, slope, elu, swish, softplus;
  bool propagateNan;
  explicit Numbers(const dnn::Node& node)
      : lower(static_cast<T>(node.numbers[dnn::kLowerClip])),
        upper(static_cast<T>(node.numbers[dnn::kUpperClip])),
        slope(static_cast<T>(node.numbers[dnn::kLowerSlope])),
        elu(static_cast<T>(node.numbers[dnn::kEluAlpha])),
        swish(static_cast<T>(node.numbers[dnn::kSwishBeta])),
        softplus(static_cast<T>(node.numbers[dnn::kSoftplusBeta])),
        propagateNan((node.flags & dnn::kPropagateNan) != 0) {}
};

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}
template <class T>
T cdf(T x) {  // of the normal distribution
  return T(0.5) * (1 + std::erf(x * T(0.70710678118654752440)));
}
constexpr double kRootTwoOverPi = 0.79788456080286535588, kGeluCubic = 0.044715;

template <class T>
void applyOne(std::uint16_t mode, const Numbers<T>& n, const T* x, T* y, std::int64_t count) {
  const auto each = [&](auto f) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(x[i]);
  };
  switch (mode) {
    case 4: return each([](T v) { return std::sqrt(v); });
    case 10: return each([](T v) { return std::fabs(v); });
    case 11: return each([](T v) { return std::ceil(v); });
    case 12: return each([](T v) { return std::cos(v); });
    case 13: return each([](T v) { return std::exp(v); });
    case 14: return each([](T v) { return std::floor(v); });
    case 15: return each([](T v) { return std::log(v); });
    case 16: return each([](T v) { return -v; });
    case 17: return each([](T v) { return 1 / std::sqrt(v); });
    case 18: return each([](T v) { return std::sin(v); });
    case 19: return each([](T v) { return std::tan(v); });
    case 20: return each([](T v) { return std::erf(v); });
    case 21: return each([](T v) { return v; });
    case 22: return each([](T v) { return 1 / v; });
    case 100: {
      const T lower = n.lower, upper = n.upper, slope = n.slope;
      const T ofNan = n.propagateNan ? std::numeric_limits<T>::quiet_NaN() : lower;
      if (slope == 0) {
        return each([=](T v) {
          const T clipped = v > lower ? (v > upper ? upper : v) : lower;
          return v != v ? ofNan : clipped;
        });
      }
      return each([=](T v) {
        const T low = lower + slope * (v - lower), clipped = v > lower ? (v > upper ? upper : v) : low;
        return v != v ? ofNan : clipped;
      });
    }
    case 101: return each([](T v) { return std::tanh(v); });
    case 102: return each([](T v) { return sigmoid(v); });
    case 103: return each([a = n.elu](T v) { return v > 0 ? v : a * std::expm1(v); });
    case 104: return each([](T v) { return v * cdf(v); });
    // log(1 + exp(b x)) / b, without overflow.
    case 105: return each([b = n.softplus](T v) { return (std::max(b * v, T{0}) + std::log1p(std::exp(-std::fabs(b * v)))) / b; });
    case 106: return each([b = n.swish](T v) { return v * sigmoid(b * v); });
    case 107: return each([](T v) { return T(0.5) * v * (1 + std::tanh(T(kRootTwoOverPi) * (v + T(kGeluCubic) * v * v * v))); });
    default: return each([](T v) { return v == 0 ? T{1} : T{0}; });  // 402, not
  }
}

// Arithmetic: x, b. Derivatives: x is the gradient, b what forward was applied to.
template <class T>
void applyTwo(std::uint16_t mode, const Numbers<T>& n, const T* x, const T* b, T* y, std::int64_t count) {
  const auto each = [&](auto f) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(x[i], b[i]);
  };
  const bool propagate = n.propagateNan;
  switch (mode) {
    case 0: return each([](T u, T v) { return u + v; });
    case 1: return each([](T u, T v) { return u * v; });
    case 2: return each([=](T u, T v) { return propagate && (u != u || v != v) ? u + v : std::fmin(u, v); });
    case 3: return each([=](T u, T v) { return propagate && (u != u || v != v) ? u + v : std::fmax(u, v); });
    case 5: return each([](T u, T v) { return u + v * v; });
    case 6: return each([](T u, T v) { return u / v; });
    case 7: return each([](T u, T v) { return std::fmod(u, v); });
    case 8: return each([](T u, T v) { return std::pow(u, v); });
    case 9: return each([](T u, T v) { return u - v; });
    case 23: return each([](T u, T v) { return std::atan2(u, v); });
    case 200: return each([lower = n.lower, upper = n.upper, slope = n.slope](T g, T v) { return v > lower ? (v < upper ? g : T{0}) : slope * g; });
    case 201:
      return each([](T g, T v) {
        const T t = std::tanh(v);
        return g * (1 - t * t);
      });
    case 202:
      return each([](T g, T v) {
        const T s = sigmoid(v);
        return g * s * (1 - s);
      });
    case 203: return each([a = n.elu](T g, T v) { return v > 0 ? g : g * a * std::exp(v); });
    case 204: return each([](T g, T v) { return g * (cdf(v) + v * T(0.39894228040143267794) * std::exp(T(-0.5) * v * v)); });
    case 205: return each([k = n.softplus](T g, T v) { return g * sigmoid(k * v); });
    case 206:
      return each([k = n.swish](T g, T v) {
        const T s = sigmoid(k * v);
        return g * (s + k * v * s * (1 - s));
      });
    case 207:
      return each([](T g, T v) {
        const T inner = T(kRootTwoOverPi) * (v + T(kGeluCubic) * v * v * v), t = std::tanh(inner);
        return g * T(0.5) * (1 + t + v * (1 - t * t) * T(kRootTwoOverPi) * (1 + 3 * T(kGeluCubic) * v * v));
      });
    case 300: return each([](T u, T v) { return u == v ? T{1} : T{0}; });
    case 301: return each([](T u, T v) { return u != v ? T{1} : T{0}; });
    case 302: return each([](T u, T v) { return u > v ? T{1} : T{0}; });
    case 303: return each([](T u, T v) { return u >= v ? T{1} : T{0}; });
    case 304: return each([](T u, T v) { return u < v ? T{1} : T{0}; });
    case 305: return each([](T u, T v) { return u <= v ? T{1} : T{0}; });
    case 400: return each([](T u, T v) { return u != 0 && v != 0 ? T{1} : T{0}; });
    default: return each([](T u, T v) { return u != 0 || v != 0 ? T{1} : T{0}; });  // 401, or
  }
}

template <class T>
void fillIndex(const Box& box, const Order& order, std::uint32_t rank, std::uint32_t axis, T* y) {
  std::int64_t inner = 1;
  for (std::uint32_t i = rank; order.dims[i - 1] != axis; --i) inner *= box.extent[order.dims[i - 1]];
  const std::int64_t count = box.elements(rank);
  for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(box.begin[axis] + i / inner % box.extent[axis]);
}

}  // namespace

void planPointwise(Plan& plan, const dnn::Node& node) {
  const std::uint32_t inputs = dnn::pointwiseInputs(node.mode);
  const View y = plan.view(node.outputs[0]);
  View views[3];
  for (std::uint32_t i = 0; i < inputs; ++i) views[i] = plan.view(node.inputs[i]);
  const Order order = memoryOrder(y);
  const Cut cut(y, order, kPieceElements);
  withComputed(plan, node, [&]<class T>(T) {
    const T factors[2] = {static_cast<T>(node.numbers[dnn::kScaleX]), static_cast<T>(node.numbers[dnn::kScaleB])};
    plan.phase(cut.count(), [=, mode = node.mode, numbers = Numbers<T>(node), scale = Scale<T>(node), axis = node.numbers[dnn::kAxis]](std::uint64_t piece) {
      const Box box = cut.box(piece);
      const std::int64_t count = box.elements(y.rank);
      const Buffer<T> room = bufferOf<T>(count * 3);
      T* in[3] = {room.get(), room.get() + count, room.get() + 2 * count};
      if (mode == 501) {
        fillIndex(box, order, y.rank, static_cast<std::uint32_t>(axis), in[0]);
        return write(y, box, order, in[0], scale.alpha, scale.beta);
      }
      for (std::uint32_t i = 0; i < inputs; ++i) {
        // As in BLAS, and as PyTorch expects of its z: what is multiplied by nothing is not read, and may be no number.
        if (i < 2 && factors[i] == 0) {
          std::fill_n(in[i], count, T{0});
          continue;
        }
        read(views[i], box, order, in[i]);
        if (i < 2 && factors[i] != 1) {
          for (std::int64_t j = 0; j < count; ++j) in[i][j] *= factors[i];
        }
      }
      if (inputs == 1) applyOne(mode, numbers, in[0], in[0], count);
      else if (inputs == 2) applyTwo(mode, numbers, in[0], in[1], in[0], count);
      else
        for (std::int64_t i = 0; i < count; ++i) in[0][i] = in[2][i] != 0 ? in[0][i] : in[1][i];
      write(y, box, order, in[0], scale.alpha, scale.beta);
    });
  });
}

}  // namespace rouse::library::cpu
