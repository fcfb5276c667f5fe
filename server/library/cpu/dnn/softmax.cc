#include <algorithm>
#include <cmath>

#include "server/library/cpu/dnn/plan.h"

namespace rouse::library::cpu {
namespace {

// `axis` numbers, `step` apart, for each of `inner` neighbours.
template <class T>
void forward(dnn::SoftmaxMode mode, T* values, std::int64_t axis, std::int64_t inner, T* most, T* sums) {
  if (mode == dnn::SoftmaxMode::fast) std::fill_n(most, inner, T{0});
  else {
    std::copy_n(values, inner, most);
    for (std::int64_t a = 1; a < axis; ++a) {
      const T* row = values + a * inner;
      for (std::int64_t i = 0; i < inner; ++i) most[i] = row[i] > most[i] ? row[i] : most[i];
    }
  }
  std::fill_n(sums, inner, T{0});
  const bool logarithm = mode == dnn::SoftmaxMode::logarithm;
  for (std::int64_t a = 0; a < axis; ++a) {
    T* row = values + a * inner;
    for (std::int64_t i = 0; i < inner; ++i) {
      const T shifted = row[i] - most[i], power = std::exp(shifted);
      sums[i] += power;
      row[i] = logarithm ? shifted : power;
    }
  }
  for (std::int64_t i = 0; i < inner; ++i) sums[i] = logarithm ? std::log(sums[i]) : 1 / sums[i];
  for (std::int64_t a = 0; a < axis; ++a) {
    T* row = values + a * inner;
    if (logarithm)
      for (std::int64_t i = 0; i < inner; ++i) row[i] -= sums[i];
    else
      for (std::int64_t i = 0; i < inner; ++i) row[i] *= sums[i];
  }
}

// Of y and dy: dx, in dy's place.
template <class T>
void backward(dnn::SoftmaxMode mode, const T* y, T* dy, std::int64_t axis, std::int64_t inner, T* sums) {
  const bool logarithm = mode == dnn::SoftmaxMode::logarithm;
  std::fill_n(sums, inner, T{0});
  for (std::int64_t a = 0; a < axis; ++a) {
    for (std::int64_t i = 0; i < inner; ++i) sums[i] += logarithm ? dy[a * inner + i] : y[a * inner + i] * dy[a * inner + i];
  }
  for (std::int64_t a = 0; a < axis; ++a) {
    for (std::int64_t i = 0; i < inner; ++i) {
      T& to = dy[a * inner + i];
      const T of = y[a * inner + i];
      to = logarithm ? to - std::exp(of) * sums[i] : of * (to - sums[i]);
    }
  }
}

}  // namespace

void planSoftmax(Plan& plan, const dnn::Node& node) {
  const bool forwards = node.operation == dnn::Operation::softmaxForward;
  const View first = plan.view(node.inputs[0]), second = forwards ? View{} : plan.view(node.inputs[1]), to = plan.view(node.outputs[0]);
  const bool channels = (node.flags & dnn::kOverChannels) != 0;
  // N outside, what is summed over, and the places inside.
  const std::uint32_t whole = channels ? 2 : ~1u;
  const Order order = straightOrder(to.rank);
  const Cut cut(to, order, kPieceElements, whole);
  withComputed(plan, node, [&]<class T>(T) {
    plan.needs<T>(cut.most(), 4);
    plan.phase(cut.count(), [=, mode = static_cast<dnn::SoftmaxMode>(node.mode), scale = Scale<T>(node)](std::uint64_t piece) {
      const Box box = cut.box(piece);
      const std::int64_t count = box.elements(to.rank), outer = box.extent[0];
      const std::int64_t axis = channels ? box.extent[1] : count / outer, inner = count / outer / axis;
      const Buffer<T> values = bufferOf<T>(count), others = bufferOf<T>(forwards ? 1 : count), sums = bufferOf<T>(2 * inner);
      read(forwards ? first : second, box, order, values.get());
      if (!forwards) read(first, box, order, others.get());
      for (std::int64_t n = 0; n < outer; ++n) {
        T* part = values.get() + n * axis * inner;
        if (forwards) forward(mode, part, axis, inner, sums.get(), sums.get() + inner);
        else backward(mode, others.get() + n * axis * inner, part, axis, inner, sums.get());
      }
      write(to, box, order, values.get(), scale.alpha, scale.beta);
    });
  });
}

}  // namespace rouse::library::cpu
