// What a graph gives, as its definition says: one element after the other, in double, with no thought of speed. Independent of
// server/library/cpu.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <stdexcept>

#include "test/libraries/dnn_graphs.h"

namespace rouse::dnn {

using Index = std::vector<std::int64_t>;
using Values = std::vector<double>;  // of a tensor, its last dimension inside

inline Dims dimsOf(const Tensor& t) { return Dims(t.dims, t.dims + t.rank); }
inline void forEach(const Dims& dims, const std::function<void(const Index&)>& visit) {
  Index at(dims.size(), 0);
  for (;;) {
    visit(at);
    std::size_t i = dims.size();
    while (i-- > 0) {
      if (++at[i] < dims[i]) break;
      at[i] = 0;
      if (i == 0) return;
    }
  }
}
// A dimension that is 1 is repeated.
inline std::size_t placeOf(const Tensor& t, const Index& at) {
  std::size_t place = 0;
  for (std::uint32_t i = 0; i < t.rank; ++i) place = place * static_cast<std::size_t>(t.dims[i]) + static_cast<std::size_t>(t.dims[i] == 1 ? 0 : at[i]);
  return place;
}

class Reference {
 public:
  Reference(const Parts& parts, std::vector<Values>& values) : parts_(parts), values_(values) {}

  void run() {
    for (const Node& node : parts_.nodes) run(node);
  }

 private:
  const Tensor& in(const Node& n, int i) const { return parts_.tensors[n.inputs[i]]; }
  const Tensor& out(const Node& n, int i = 0) const { return parts_.tensors[n.outputs[i]]; }
  double get(std::uint16_t tensor, const Index& at) const { return values_[tensor][placeOf(parts_.tensors[tensor], at)]; }
  void put(std::uint16_t tensor, const Index& at, double value, double alpha = 1, double beta = 0) {
    double& to = values_[tensor][placeOf(parts_.tensors[tensor], at)];
    to = alpha * value + (beta == 0 ? 0 : beta * to);
  }
  // The node's first output, element by element.
  void fill(const Node& n, const std::function<double(const Index&)>& value) {
    Values fresh(values_[n.outputs[0]].size());
    forEach(dimsOf(out(n)), [&](const Index& at) { fresh[placeOf(out(n), at)] = value(at); });
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      double& to = values_[n.outputs[0]][i];
      to = n.alpha * fresh[i] + (n.beta == 0 ? 0 : n.beta * to);
    }
  }

  void run(const Node& n);
  void convolve(const Node& n);
  void pool(const Node& n);
  void norm(const Node& n);
  double pointwise(const Node& n, const Index& at) const;
  double reduce(const Node& n, const Index& at) const;
  void softmax(const Node& n);
  void responseNorm(const Node& n);

  const Parts& parts_;
  std::vector<Values>& values_;
};

inline void Reference::convolve(const Node& n) {
  const bool data = n.operation == Operation::convolutionBackwardData, filter = n.operation == Operation::convolutionBackwardFilter;
  const std::uint16_t x = data ? n.outputs[0] : n.inputs[0], w = filter ? n.outputs[0] : n.inputs[1], y = data ? n.inputs[0] : filter ? n.inputs[1] : n.outputs[0];
  const Tensor &tx = parts_.tensors[x], &tw = parts_.tensors[w], &ty = parts_.tensors[y];
  const std::int64_t groups = tx.dims[1] / tw.dims[1], filters = tw.dims[0] / groups;
  Values sums(values_[n.outputs[0]].size());
  forEach(dimsOf(ty), [&](const Index& at) {
    Index taps(tw.dims + 1, tw.dims + tw.rank);
    forEach(taps, [&](const Index& tap) {
      Index from{at[0], at[1] / filters * tw.dims[1] + tap[0]}, weight{at[1], tap[0]};
      for (std::uint32_t i = 0; i < n.spatial; ++i) {
        const std::int64_t place = at[i + 2] * n.stride[i] - n.padBefore[i] + tap[i + 1] * n.dilation[i];
        if (place < 0 || place >= tx.dims[i + 2]) return;
        from.push_back(place);
        weight.push_back(n.mode == 0 ? tw.dims[i + 2] - 1 - tap[i + 1] : tap[i + 1]);
      }
      if (data) sums[placeOf(tx, from)] += get(y, at) * get(w, weight);
      else if (filter) sums[placeOf(tw, weight)] += get(y, at) * get(x, from);
      else sums[placeOf(ty, at)] += get(x, from) * get(w, weight);
    });
  });
  fill(n, [&](const Index& at) { return sums[placeOf(out(n), at)]; });
}

inline void Reference::pool(const Node& n) {
  const bool back = n.operation == Operation::poolBackward;
  const std::uint16_t x = n.inputs[0];
  const Tensor &tx = parts_.tensors[x], &ty = back ? in(n, 2) : out(n);
  Values result(values_[n.outputs[0]].size());
  forEach(dimsOf(ty), [&](const Index& at) {
    std::vector<Index> covered;
    double window = 1;
    Dims sizes(n.window, n.window + n.spatial);
    for (const std::int64_t size : sizes) window *= static_cast<double>(size);
    forEach(sizes, [&](const Index& tap) {
      Index from{at[0], at[1]};
      for (std::uint32_t i = 0; i < n.spatial; ++i) {
        const std::int64_t place = at[i + 2] * n.stride[i] - n.padBefore[i] + tap[i];
        if (place < 0 || place >= tx.dims[i + 2]) return;
        from.push_back(place);
      }
      covered.push_back(from);
    });
    const double share = 1 / (n.mode == 1 ? window : static_cast<double>(covered.size()));
    if (n.mode == 0 || n.mode == 3) {
      Index best = covered[0];
      for (const Index& each : covered) {
        if (get(x, each) > get(x, best)) best = each;
      }
      if (back) result[placeOf(tx, best)] += get(n.inputs[2], at);
      else result[placeOf(ty, at)] = get(x, best);
      return;
    }
    for (const Index& each : covered) {
      if (back) result[placeOf(tx, each)] += get(n.inputs[2], at) * share;
      else result[placeOf(ty, at)] += get(x, each) * share;
    }
  });
  fill(n, [&](const Index& at) { return result[placeOf(out(n), at)]; });
}

inline double Reference::pointwise(const Node& n, const Index& at) const {
  const double x = get(n.inputs[0], at) * n.numbers[kScaleX], b = n.inputs[1] == kNoTensor ? 0 : get(n.inputs[1], at) * n.numbers[kScaleB];
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const auto phi = [](double v) { return 0.5 * std::erfc(-v / std::sqrt(2.0)); };
  const auto tanhGelu = [](double v) { return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))); };
  // By differences, of forward as above: another way than the formula.
  const auto slope = [&](auto f, double v) {
    const double h = 1e-5;
    return (f(v - 2 * h) - 8 * f(v - h) + 8 * f(v + h) - f(v + 2 * h)) / (12 * h);
  };
  const double *k = n.numbers, a = k[kEluAlpha], swish = k[kSwishBeta], plus = k[kSoftplusBeta];
  switch (n.mode) {
    case 0: return x + b;
    case 1: return x * b;
    case 2: return std::min(x, b);
    case 3: return std::max(x, b);
    case 4: return std::sqrt(x);
    case 5: return x + b * b;
    case 6: return x / b;
    case 7: return std::fmod(x, b);
    case 8: return std::pow(x, b);
    case 9: return x - b;
    case 10: return std::abs(x);
    case 11: return std::ceil(x);
    case 12: return std::cos(x);
    case 13: return std::exp(x);
    case 14: return std::floor(x);
    case 15: return std::log(x);
    case 16: return -x;
    case 17: return 1 / std::sqrt(x);
    case 18: return std::sin(x);
    case 19: return std::tan(x);
    case 20: return std::erf(x);
    case 21: return x;
    case 22: return 1 / x;
    case 23: return std::atan2(x, b);
    case 100: return x > k[kLowerClip] ? std::min(x, k[kUpperClip]) : k[kLowerClip] + k[kLowerSlope] * (x - k[kLowerClip]);
    case 101: return std::tanh(x);
    case 102: return sigmoid(x);
    case 103: return x > 0 ? x : a * (std::exp(x) - 1);
    case 104: return x * phi(x);
    case 105: return std::log(1 + std::exp(plus * x)) / plus;
    case 106: return x * sigmoid(swish * x);
    case 107: return tanhGelu(x);
    case 200: return b > k[kLowerClip] ? (b < k[kUpperClip] ? x : 0) : x * k[kLowerSlope];
    case 201: return x * slope([](double v) { return std::tanh(v); }, b);
    case 202: return x * slope(sigmoid, b);
    case 203: return x * (b > 0 ? 1 : a * std::exp(b));
    case 204: return x * slope([&](double v) { return v * phi(v); }, b);
    case 205: return x * slope([&](double v) { return std::log(1 + std::exp(plus * v)) / plus; }, b);
    case 206: return x * slope([&](double v) { return v * sigmoid(swish * v); }, b);
    case 207: return x * slope(tanhGelu, b);
    case 300: return x == b;
    case 301: return x != b;
    case 302: return x > b;
    case 303: return x >= b;
    case 304: return x < b;
    case 305: return x <= b;
    case 400: return x != 0 && b != 0;
    case 401: return x != 0 || b != 0;
    case 402: return x == 0;
    case 501: return static_cast<double>(at[static_cast<std::size_t>(n.numbers[kAxis])]);
    case 601: return get(n.inputs[2], at) != 0 ? x : b;
  }
  return NAN;
}

inline double Reference::reduce(const Node& n, const Index& at) const {
  const Tensor &x = in(n, 0), &y = out(n);
  Dims rest;
  double count = 1;
  for (std::uint32_t i = 0; i < x.rank; ++i) {
    rest.push_back(y.dims[i] == 1 ? x.dims[i] : 1);
    count *= static_cast<double>(rest.back());
  }
  double so = n.mode == 1 || n.mode == 8 ? 1 : n.mode == 2 ? INFINITY : n.mode == 3 ? -INFINITY : 0;
  forEach(rest, [&](const Index& more) {
    Index from = at;
    for (std::size_t i = 0; i < from.size(); ++i) from[i] += more[i];
    const double v = get(n.inputs[0], from);
    switch (n.mode) {
      case 0: case 5: so += v; break;
      case 1: so *= v; break;
      case 2: so = std::min(so, v); break;
      case 3: so = std::max(so, v); break;
      case 4: so = std::max(so, std::abs(v)); break;
      case 6: so += std::abs(v); break;
      case 7: so += v * v; break;
      default: so *= v == 0 ? 1 : v;
    }
  });
  return n.mode == 5 ? so / count : n.mode == 7 ? std::sqrt(so) : so;
}

inline void Reference::softmax(const Node& n) {
  const Tensor& y = out(n);
  const bool channels = (n.flags & kOverChannels) != 0, back = n.operation == Operation::softmaxBackward;
  std::map<Index, std::pair<double, double>> known;
  fill(n, [&](const Index& at) {
    Dims along = channels ? Dims(at.size(), 1) : dimsOf(y);
    along[0] = 1;
    along[1] = y.dims[1];
    const auto of = [&](const Index& more) {
      Index from = channels ? at : more;
      from[0] = at[0];
      from[1] = more[1];
      return from;
    };
    // Of all that share them, once.
    Index key = channels ? at : Index{at[0]};
    if (channels) key[1] = 0;
    const auto [found, fresh] = known.try_emplace(key, 0, -INFINITY);
    auto& [sum, most] = found->second;
    const double own = get(n.inputs[0], at);
    if (back) {
      if (fresh) forEach(along, [&](const Index& more) { found->second.first += get(n.inputs[1], of(more)) * (n.mode == 2 ? 1 : get(n.inputs[0], of(more))); });
      const double dy = get(n.inputs[1], at);
      return n.mode == 2 ? dy - std::exp(own) * sum : own * (dy - sum);
    }
    if (fresh) {
      forEach(along, [&](const Index& more) { found->second.second = std::max(found->second.second, get(n.inputs[0], of(more))); });
      forEach(along, [&](const Index& more) { found->second.first += std::exp(get(n.inputs[0], of(more)) - found->second.second); });
    }
    return n.mode == 2 ? own - most - std::log(sum) : std::exp(own - most) / sum;
  });
}

inline void Reference::responseNorm(const Node& n) {
  const auto window = static_cast<std::int64_t>(n.numbers[kWindow]), behind = (window - 1) / 2, ahead = window - 1 - behind;
  const double alpha = n.numbers[kAlpha], beta = n.numbers[kBeta], share = alpha / static_cast<double>(window);
  const std::int64_t channels = out(n).dims[1];
  const auto base = [&](Index at) {
    double sum = 0;
    const std::int64_t c = at[1];
    for (std::int64_t o = std::max<std::int64_t>(0, c - behind); o <= std::min(channels - 1, c + ahead); ++o) {
      at[1] = o;
      sum += get(n.inputs[0], at) * get(n.inputs[0], at);
    }
    return n.numbers[kK] + share * sum;
  };
  fill(n, [&](const Index& at) {
    const double x = get(n.inputs[0], at);
    if (n.operation == Operation::responseNormForward) return x * std::pow(base(at), -beta);
    double result = get(n.inputs[2], at) * std::pow(base(at), -beta);
    for (std::int64_t o = 0; o < channels; ++o) {
      Index centre = at;
      centre[1] = o;
      if (at[1] < o - behind || at[1] > o + ahead) continue;
      const double other = get(n.inputs[0], centre);
      result -= get(n.inputs[2], centre) * other * beta * std::pow(base(centre), -beta - 1) * 2 * share * x;
    }
    return result;
  });
}

inline void Reference::norm(const Node& n) {
  const bool back = n.operation == Operation::normBackward, rms = n.mode == 4;
  const Tensor& x = in(n, 0);
  const std::uint16_t scale = n.inputs[back ? 2 : 1], bias = back ? kNoTensor : n.inputs[2];
  const std::uint16_t shape = scale != kNoTensor ? scale : bias;
  // Which statistic an element belongs to.
  const std::int64_t groups = n.mode == 3 ? static_cast<std::int64_t>(n.numbers[kGroups]) : 0;
  Tensor statistic = x;
  for (std::uint32_t i = 0; i < x.rank; ++i) {
    const bool one = n.mode == 1 || n.mode == 3 ? i >= 2 : n.mode == 2 ? (shape == kNoTensor ? i != 1 : parts_.tensors[shape].dims[i] == 1) : parts_.tensors[shape].dims[i] != 1;
    if (one) statistic.dims[i] = 1;
  }
  if (groups != 0) statistic.dims[1] = groups;
  const auto of = [&](Index at) {
    if (groups != 0) at[1] /= x.dims[1] / groups;
    return placeOf(statistic, at);
  };
  const auto places = static_cast<std::size_t>(elementsOf(statistic));
  const double count = static_cast<double>(elementsOf(x)) / static_cast<double>(places), epsilon = n.numbers[kEpsilon];
  Values mean(places), variance(places), deviation(places);
  const bool given = back ? n.inputs[4] != kNoTensor : (n.flags & kTraining) == 0;
  const auto all = [&](const std::function<void(const Index&)>& f) { forEach(dimsOf(x), f); };
  if (given) {
    if (!rms) mean = values_[n.inputs[3]];
    for (std::size_t i = 0; i < places; ++i) {
      const double v = values_[n.inputs[4]][i];
      deviation[i] = back || (n.flags & kVarianceIsInverse) != 0 ? v : 1 / std::sqrt(v + epsilon);
    }
  } else {
    if (!rms) all([&](const Index& at) { mean[of(at)] += get(n.inputs[0], at) / count; });
    all([&](const Index& at) { variance[of(at)] += std::pow(get(n.inputs[0], at) - mean[of(at)], 2) / count; });
    for (std::size_t i = 0; i < places; ++i) deviation[i] = 1 / std::sqrt(variance[i] + epsilon);
  }
  const auto normal = [&](const Index& at) { return (get(n.inputs[0], at) - mean[of(at)]) * deviation[of(at)]; };
  if (!back) {
    Values running[2];
    for (int i = 0; i < 2; ++i) {
      if (n.inputs[5 + i] != kNoTensor) running[i] = values_[n.inputs[5 + i]];
    }
    fill(n, [&](const Index& at) { return normal(at) * (scale == kNoTensor ? 1 : get(scale, at)) + (bias == kNoTensor ? 0 : get(bias, at)); });
    if (n.outputs[1] != kNoTensor) values_[n.outputs[1]] = mean;
    if (n.outputs[2] != kNoTensor) values_[n.outputs[2]] = deviation;
    const double factor = n.numbers[kAverageFactor];
    for (std::size_t i = 0; i < places; ++i) {
      if (n.outputs[3] != kNoTensor) values_[n.outputs[3]][i] = (1 - factor) * running[0][i] + factor * mean[i];
      if (n.outputs[4] != kNoTensor) values_[n.outputs[4]][i] = (1 - factor) * running[1][i] + factor * variance[i] * count / (count - 1);
    }
    return;
  }
  Values sums(places), products(places);
  const auto gradient = [&](const Index& at) { return get(n.inputs[1], at) * get(scale, at); };
  all([&](const Index& at) {
    if (!rms) sums[of(at)] += gradient(at) / count;
    products[of(at)] += gradient(at) * normal(at) / count;
  });
  for (int i = 1; i < 3; ++i) {
    const std::uint16_t to = n.outputs[i];
    if (to == kNoTensor) continue;
    Values fresh(values_[to].size());
    all([&](const Index& at) { fresh[placeOf(parts_.tensors[to], at)] += get(n.inputs[1], at) * (i == 1 ? normal(at) : 1); });
    for (std::size_t j = 0; j < fresh.size(); ++j) {
      double& old = values_[to][j];
      old = n.numbers[kParameterAlpha] * fresh[j] + (n.numbers[kParameterBeta] == 0 ? 0 : n.numbers[kParameterBeta] * old);
    }
  }
  fill(n, [&](const Index& at) { return deviation[of(at)] * (gradient(at) - sums[of(at)] - normal(at) * products[of(at)]); });
}

inline void Reference::run(const Node& n) {
  switch (n.operation) {
    case Operation::convolutionForward:
    case Operation::convolutionBackwardData:
    case Operation::convolutionBackwardFilter: return convolve(n);
    case Operation::pointwise: return fill(n, [&](const Index& at) { return pointwise(n, at); });
    case Operation::reduction: return fill(n, [&](const Index& at) { return reduce(n, at); });
    case Operation::matrixProduct:
      return fill(n, [&](const Index& at) {
        double sum = 0;
        const std::size_t last = at.size() - 1;
        for (std::int64_t k = 0; k < in(n, 0).dims[last]; ++k) {
          Index a = at, b = at;
          a[last] = b[last - 1] = k;
          sum += get(n.inputs[0], a) * get(n.inputs[1], b);
        }
        return sum;
      });
    case Operation::normForward:
    case Operation::normBackward: return norm(n);
    case Operation::poolForward:
    case Operation::poolBackward: return pool(n);
    case Operation::softmaxForward:
    case Operation::softmaxBackward: return softmax(n);
    case Operation::responseNormForward:
    case Operation::responseNormBackward: return responseNorm(n);
    case Operation::copy: return fill(n, [&](const Index& at) { return get(n.inputs[0], at); });
    case Operation::attentionForward:
    case Operation::reorder:
    case Operation::random: throw std::logic_error("attention has a reference of its own");
  }
}

}  // namespace rouse::dnn
