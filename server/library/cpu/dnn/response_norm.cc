// Local response normalisation across channels: y = x (k + alpha / n · sum of x² over the window)^-beta.
#include <algorithm>
#include <cmath>

#include "server/library/cpu/dnn/plan.h"

namespace rouse::library::cpu {
namespace {

template <class T>
struct Window {
  std::int64_t behind, ahead;  // cuDNN: (n - 1) / 2 behind the centre, the rest ahead
  T share, power, k;
  explicit Window(const dnn::Node& node) {
    const auto n = static_cast<std::int64_t>(node.numbers[dnn::kWindow]);
    behind = (n - 1) / 2;
    ahead = n - 1 - behind;
    share = static_cast<T>(node.numbers[dnn::kAlpha] / static_cast<double>(n));
    power = static_cast<T>(node.numbers[dnn::kBeta]);
    k = static_cast<T>(node.numbers[dnn::kK]);
  }
};

// bases[c] = k + share · sum of squares around c.
template <class T>
void basesOf(const Window<T>& w, const T* x, T* bases, std::int64_t channels, std::int64_t inner) {
  for (std::int64_t c = 0; c < channels; ++c) {
    T* to = bases + c * inner;
    std::fill_n(to, inner, T{0});
    for (std::int64_t o = std::max<std::int64_t>(0, c - w.behind); o <= std::min(channels - 1, c + w.ahead); ++o) {
      const T* from = x + o * inner;
      for (std::int64_t i = 0; i < inner; ++i) to[i] += from[i] * from[i];
    }
    for (std::int64_t i = 0; i < inner; ++i) to[i] = w.k + w.share * to[i];
  }
}

}  // namespace

void planResponseNorm(Plan& plan, const dnn::Node& node) {
  const bool forward = node.operation == dnn::Operation::responseNormForward;
  const View x = plan.view(node.inputs[0]), y = forward ? View{} : plan.view(node.inputs[1]), dy = forward ? View{} : plan.view(node.inputs[2]);
  const View to = plan.view(node.outputs[0]);
  const Order order = straightOrder(to.rank);
  const Cut cut(to, order, kPieceElements, 2);
  withComputed(plan, node, [&]<class T>(T) {
    plan.needs<T>(cut.most(), forward ? 2 : 5);
    plan.phase(cut.count(), [=, window = Window<T>(node), scale = Scale<T>(node)](std::uint64_t piece) {
      const Box box = cut.box(piece);
      const std::int64_t count = box.elements(to.rank), channels = box.extent[1], inner = count / box.extent[0] / channels, image = channels * inner;
      const Buffer<T> xs = bufferOf<T>(count), bases = bufferOf<T>(image), ys = bufferOf<T>(forward ? 1 : count), gradients = bufferOf<T>(forward ? 1 : count),
                      results = bufferOf<T>(forward ? 1 : image);
      read(x, box, order, xs.get());
      if (!forward) {
        read(y, box, order, ys.get());
        read(dy, box, order, gradients.get());
      }
      for (std::int64_t n = 0; n < box.extent[0]; ++n) {
        T* values = xs.get() + n * image;
        basesOf(window, values, bases.get(), channels, inner);
        if (forward) {
          for (std::int64_t i = 0; i < image; ++i) values[i] *= std::pow(bases[i], -window.power);
          continue;
        }
        const T *from = ys.get() + n * image, *gradient = gradients.get() + n * image;
        for (std::int64_t c = 0; c < channels; ++c) {
          T* result = results.get() + c * inner;
          std::fill_n(result, inner, T{0});
          // The centres that have c in their windows.
          for (std::int64_t o = std::max<std::int64_t>(0, c - window.ahead); o <= std::min(channels - 1, c + window.behind); ++o) {
            for (std::int64_t i = 0; i < inner; ++i) result[i] += gradient[o * inner + i] * from[o * inner + i] / bases[o * inner + i];
          }
          for (std::int64_t i = 0; i < inner; ++i)
            result[i] = gradient[c * inner + i] * std::pow(bases[c * inner + i], -window.power) -
                        2 * window.share * window.power * values[c * inner + i] * result[i];
        }
        std::copy_n(results.get(), image, values);
      }
      write(to, box, order, xs.get(), scale.alpha, scale.beta);
    });
  });
}

}  // namespace rouse::library::cpu
