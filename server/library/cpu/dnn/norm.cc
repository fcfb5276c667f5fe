// Norms of all kinds: statistics of rows, then what follows from them, element by element.
#include <cmath>

#include "server/library/cpu/dnn/plan.h"
#include "server/library/cpu/dnn/rows.h"

namespace rouse::library::cpu {
namespace {

constexpr std::uint16_t kGroupNorm = 3, kRmsNorm = 4;

// A node's tensors as it sees them: of norms in groups, C is two dimensions, and what is averaged is always whole ones.
struct Sight {
  const Plan& plan;
  std::int64_t groups = 0, channels = 0;
  std::uint32_t averaged = 0, rank = 0;  // bits

  Sight(const Plan& p, const dnn::Node& node) : plan(p) {
    const View x = plan.view(node.inputs[0]);
    const dnn::Averaged found = dnn::averagedBy(plan.parts(), node);
    rank = x.rank;
    channels = x.dims[1];
    for (std::uint32_t d = 0; d < x.rank; ++d) averaged |= found.dims[d] == 1 ? 1u << d : 0;
    if (node.mode != kGroupNorm) return;
    groups = static_cast<std::int64_t>(node.numbers[dnn::kGroups]);
    averaged = (averaged & 1) | (averaged >> 1 << 2) | 4;
    ++rank;
  }

  View operator()(std::uint16_t tensor) const { return of(tensor, false); }
  View statistic(std::uint16_t tensor) const { return of(tensor, true); }

 private:
  View of(std::uint16_t tensor, bool statistic) const {
    if (!plan.has(tensor)) return {};
    const View view = plan.view(tensor);
    if (groups == 0) return view;
    View made = view;
    made.rank = rank;
    for (std::uint32_t d = 2; d < view.rank; ++d) {
      made.dims[d + 1] = view.dims[d];
      made.strides[d + 1] = view.strides[d];
    }
    // (groups, channels of one): of a statistic the first alone; of what is 1, neither.
    const std::int64_t inner = channels / groups;
    const bool whole = !statistic && view.dims[1] == channels;
    made.dims[1] = statistic || whole ? groups : 1;
    made.dims[2] = whole ? inner : 1;
    made.strides[1] = view.strides[1] * (whole ? inner : 1);
    made.strides[2] = view.strides[1];
    return made;
  }
};

struct Statistics {
  View mean, deviation;  // deviation: 1 / sqrt(variance + epsilon). No mean: base null.
};

template <class T>
Statistics roomFor(Plan& plan, const View& x, std::uint32_t averaged, bool hasMean) {
  std::int64_t dims[kMostDims];
  for (std::uint32_t d = 0; d < x.rank; ++d) dims[d] = (averaged >> d & 1) != 0 ? 1 : x.dims[d];
  Statistics made;
  if (hasMean) made.mean = plan.scratch(kTypeOf<T>, x.rank, dims);
  made.deviation = plan.scratch(kTypeOf<T>, x.rank, dims);
  return made;
}

// The mean and the variance of each of `count` rows that a piece is of, read twice: of squares of differences nothing cancels.
template <class T>
void measure(const View& x, const Rows& rows, const Box& places, bool hasMean, double* mean, double* variance) {
  const std::int64_t count = places.elements(x.rank);
  const auto n = static_cast<double>(rows.length());
  const Buffer<T> values = bufferOf<T>(rows.mostElements());
  const auto pass = [&](bool again, auto&& sum, double* to) {
    std::fill_n(to, count, 0.0);
    for (std::uint64_t i = 0; i < rows.parts(); ++i) {
      const Box part = rows.part(places, i);
      if (!again || rows.parts() > 1) read(x, part, rows.order(), values.get());
      const std::int64_t length = part.elements(x.rank) / count;
      for (std::int64_t p = 0; p < count; ++p) to[p] += sum(values.get() + p * length, length, p);
    }
    for (std::int64_t p = 0; p < count; ++p) to[p] /= n;
  };
  std::fill_n(mean, count, 0.0);
  if (hasMean) pass(false, [](const T* row, std::int64_t length, std::int64_t) { return sumOf(length, [=](std::int64_t i) { return double(row[i]); }); }, mean);
  pass(hasMean, [&](const T* row, std::int64_t length, std::int64_t p) {
    return sumOf(length, [=, m = mean[p]](std::int64_t i) { return (double(row[i]) - m) * (double(row[i]) - m); });
  }, variance);
}

// Statistics of x, and what else becomes of them: copies, and running ones.
template <class T>
Statistics planMeasuring(Plan& plan, const dnn::Node& node, const Sight& sight, bool forward) {
  const bool hasMean = node.mode != kRmsNorm;
  const View x = sight(node.inputs[0]);
  const Statistics made = roomFor<T>(plan, x, sight.averaged, hasMean);
  const Rows rows(x, sight.averaged);
  struct Outputs {
    View mean, deviation, oldMean, oldVariance, newMean, newVariance;
  } out{};
  if (forward) {
    out = {sight.statistic(node.outputs[1]), sight.statistic(node.outputs[2]), sight.statistic(node.inputs[5]),
           sight.statistic(node.inputs[6]),  sight.statistic(node.outputs[3]), sight.statistic(node.outputs[4])};
  }
  plan.phase(rows.pieces(), [=, epsilon = node.numbers[dnn::kEpsilon], factor = node.numbers[dnn::kAverageFactor]](std::uint64_t piece) {
    const Box places = rows.places(piece);
    const std::int64_t count = places.elements(x.rank);
    const Buffer<double> mean = bufferOf<double>(count), variance = bufferOf<double>(count), other = bufferOf<double>(count);
    measure<T>(x, rows, places, hasMean, mean.get(), variance.get());
    const auto put = [&](const View& view, const double* numbers) {
      if (view.base != nullptr) write(view, places, rows.order(), numbers);
    };
    const auto run = [&](const View& before, const View& after, const double* numbers, double correction) {
      if (after.base == nullptr) return;
      if (factor != 1) read(before, places, rows.order(), other.get());
      else std::fill_n(other.get(), count, 0.0);
      for (std::int64_t p = 0; p < count; ++p) other[p] = (1 - factor) * other[p] + factor * correction * numbers[p];
      write(after, places, rows.order(), other.get());
    };
    put(made.mean, mean.get());
    put(out.mean, mean.get());
    run(out.oldMean, out.newMean, mean.get(), 1);
    // Running variances are those of the population that the rows are samples of.
    const auto n = static_cast<double>(rows.length());
    run(out.oldVariance, out.newVariance, variance.get(), n > 1 ? n / (n - 1) : 1);
    for (std::int64_t p = 0; p < count; ++p) variance[p] = 1 / std::sqrt(variance[p] + epsilon);
    put(made.deviation, variance.get());
    put(out.deviation, variance.get());
  });
  return made;
}

template <class T>
Statistics planGiven(Plan& plan, const dnn::Node& node, const Sight& sight) {
  const View variance = sight.statistic(node.inputs[4]);
  Statistics made{sight.statistic(node.inputs[3]), variance};
  if ((node.flags & dnn::kVarianceIsInverse) != 0) return made;
  made.deviation = plan.scratch(kTypeOf<T>, variance.rank, variance.dims);
  const Order order = memoryOrder(variance);
  const Cut cut(variance, order, kPieceElements);
  plan.phase(cut.count(), [=, to = made.deviation, epsilon = node.numbers[dnn::kEpsilon]](std::uint64_t piece) {
    const Box box = cut.box(piece);
    const std::int64_t count = box.elements(variance.rank);
    const Buffer<double> values = bufferOf<double>(count);
    read(variance, box, order, values.get());
    for (std::int64_t i = 0; i < count; ++i) values[i] = 1 / std::sqrt(values[i] + epsilon);
    write(to, box, order, values.get());
  });
  return made;
}

// values *= or += what `view` has for the box; where there is none, nothing.
template <class T, class Combine>
void combine(const View& view, const Box& box, const Order& order, std::int64_t count, T* values, T* room, Combine&& with) {
  if (view.base == nullptr) return;
  read(view, box, order, room);
  for (std::int64_t i = 0; i < count; ++i) values[i] = with(values[i], room[i]);
}

// (x - mean) · deviation.
template <class T>
void normalise(const View& x, const Statistics& statistics, const Box& box, const Order& order, std::int64_t count, T* values, T* room) {
  read(x, box, order, values);
  combine(statistics.mean, box, order, count, values, room, [](T v, T m) { return v - m; });
  combine(statistics.deviation, box, order, count, values, room, [](T v, T d) { return v * d; });
}

template <class T>
void planForward(Plan& plan, const dnn::Node& node) {
  const Sight sight(plan, node);
  const Statistics statistics = (node.flags & dnn::kTraining) != 0 ? planMeasuring<T>(plan, node, sight, true) : planGiven<T>(plan, node, sight);
  const View x = sight(node.inputs[0]), scale = sight(node.inputs[1]), bias = sight(node.inputs[2]), y = sight(node.outputs[0]);
  const Order order = memoryOrder(y);
  const Cut cut(y, order, kPieceElements);
  plan.phase(cut.count(), [=, result = Scale<T>(node)](std::uint64_t piece) {
    const Box box = cut.box(piece);
    const std::int64_t count = box.elements(y.rank);
    const Buffer<T> values = bufferOf<T>(count), room = bufferOf<T>(count);
    normalise(x, statistics, box, order, count, values.get(), room.get());
    combine(scale, box, order, count, values.get(), room.get(), [](T v, T s) { return v * s; });
    combine(bias, box, order, count, values.get(), room.get(), [](T v, T b) { return v + b; });
    write(y, box, order, values.get(), result.alpha, result.beta);
  });
}

// Of scale and bias: sums of dy · normalised x, and of dy, over all that share one of them.
template <class T>
void planParameters(Plan& plan, const dnn::Node& node, const Sight& sight, const Statistics& statistics) {
  const View x = sight(node.inputs[0]), dy = sight(node.inputs[1]), scale = sight(node.inputs[2]), dscale = sight(node.outputs[1]), dbias = sight(node.outputs[2]);
  if (dscale.base == nullptr && dbias.base == nullptr) return;
  std::uint32_t summed = 0;
  for (std::uint32_t d = 0; d < x.rank; ++d) summed |= scale.dims[d] == 1 ? 1u << d : 0;
  const Rows rows(x, summed);
  plan.phase(rows.pieces(), [=, alpha = node.numbers[dnn::kParameterAlpha], beta = node.numbers[dnn::kParameterBeta]](std::uint64_t piece) {
    const Box places = rows.places(piece);
    const std::int64_t places_ = places.elements(x.rank), most = rows.mostElements();
    const Buffer<T> values = bufferOf<T>(most), gradients = bufferOf<T>(most), room = bufferOf<T>(most);
    const Buffer<double> products = bufferOf<double>(places_), sums = bufferOf<double>(places_);
    std::fill_n(products.get(), places_, 0.0);
    std::fill_n(sums.get(), places_, 0.0);
    for (std::uint64_t i = 0; i < rows.parts(); ++i) {
      const Box part = rows.part(places, i);
      const std::int64_t count = part.elements(x.rank), length = count / places_;
      normalise(x, statistics, part, rows.order(), count, values.get(), room.get());
      read(dy, part, rows.order(), gradients.get());
      for (std::int64_t p = 0; p < places_; ++p) {
        const T *v = values.get() + p * length, *g = gradients.get() + p * length;
        products[p] += sumOf(length, [=](std::int64_t j) { return double(v[j]) * double(g[j]); });
        sums[p] += sumOf(length, [=](std::int64_t j) { return double(g[j]); });
      }
    }
    if (dscale.base != nullptr) write(dscale, places, rows.order(), products.get(), alpha, beta);
    if (dbias.base != nullptr) write(dbias, places, rows.order(), sums.get(), alpha, beta);
  });
}

// dx = deviation (g - mean of g - x' · mean of g x'), g being dy · scale and x' what forward made of x before scale and bias.
template <class T>
void planBackward(Plan& plan, const dnn::Node& node) {
  const Sight sight(plan, node);
  const bool hasMean = node.mode != kRmsNorm;
  const Statistics statistics = plan.has(node.inputs[4]) ? Statistics{sight.statistic(node.inputs[3]), sight.statistic(node.inputs[4])}
                                                         : planMeasuring<T>(plan, node, sight, false);
  planParameters<T>(plan, node, sight, statistics);
  const View x = sight(node.inputs[0]), dy = sight(node.inputs[1]), scale = sight(node.inputs[2]), dx = sight(node.outputs[0]);
  const Rows rows(x, sight.averaged);
  plan.phase(rows.pieces(), [=, result = Scale<T>(node)](std::uint64_t piece) {
    const Box places = rows.places(piece);
    const std::int64_t count = places.elements(x.rank), most = rows.mostElements();
    const Buffer<T> values = bufferOf<T>(most), gradients = bufferOf<T>(most), room = bufferOf<T>(most), deviations = bufferOf<T>(count);
    const Buffer<double> products = bufferOf<double>(count), sums = bufferOf<double>(count);
    std::fill_n(products.get(), count, 0.0);
    std::fill_n(sums.get(), count, 0.0);
    const auto load = [&](const Box& part) {
      const std::int64_t elements = part.elements(x.rank);
      normalise(x, statistics, part, rows.order(), elements, values.get(), room.get());
      read(dy, part, rows.order(), gradients.get());
      combine(scale, part, rows.order(), elements, gradients.get(), room.get(), [](T v, T s) { return v * s; });
      return elements / count;
    };
    for (std::uint64_t i = 0; i < rows.parts(); ++i) {
      const std::int64_t length = load(rows.part(places, i));
      for (std::int64_t p = 0; p < count; ++p) {
        const T *v = values.get() + p * length, *g = gradients.get() + p * length;
        products[p] += sumOf(length, [=](std::int64_t j) { return double(v[j]) * double(g[j]); });
        if (hasMean) sums[p] += sumOf(length, [=](std::int64_t j) { return double(g[j]); });
      }
    }
    read(statistics.deviation, places, rows.order(), deviations.get());
    const auto n = static_cast<double>(rows.length());
    for (std::uint64_t i = 0; i < rows.parts(); ++i) {
      const Box part = rows.part(places, i);
      const std::int64_t length = load(part);
      for (std::int64_t p = 0; p < count; ++p) {
        T* g = gradients.get() + p * length;
        const T* v = values.get() + p * length;
        const T mean = static_cast<T>(sums[p] / n), product = static_cast<T>(products[p] / n), deviation = deviations[p];
        for (std::int64_t j = 0; j < length; ++j) g[j] = deviation * (g[j] - mean - v[j] * product);
      }
      write(dx, part, rows.order(), gradients.get(), result.alpha, result.beta);
    }
  });
}

}  // namespace

void planNormForward(Plan& plan, const dnn::Node& node) {
  withComputed(plan, node, [&]<class T>(T) { planForward<T>(plan, node); });
}

void planNormBackward(Plan& plan, const dnn::Node& node) {
  withComputed(plan, node, [&]<class T>(T) { planBackward<T>(plan, node); });
}

}  // namespace rouse::library::cpu
