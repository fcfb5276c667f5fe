// Backward: the image's gradient, filters' transpose times dy, added up where windows overlap; the filters', dy times the columns' transpose.
#include <algorithm>

#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/dnn/columns.h"

namespace rouse::library::cpu {
namespace {

constexpr std::int64_t kPlaces = 256, kColumns = 256 * 1024;
constexpr std::int64_t kMostElements = 4 << 20;  // of dy, and of sums, for a piece: what more filters, or larger ones, are cut to
constexpr std::int64_t kFewPieces = 16;

// dy of some filters at some places, as [filter][place].
template <class T>
struct Gradients {
  Lying<const T> at;
  Buffer<T> own;
  Gradients(const Convolution& conv, std::int64_t n, std::int64_t filter, std::int64_t filters, Box places) {
    if (const Lying<T> found = lying<T>(conv.y, Form::apart, n, filter, placeOf(conv, places)); found.data != nullptr) {
      at = {found.data, found.spacing};
      return;
    }
    places.begin[0] = n;
    places.begin[1] = filter;
    places.extent[0] = 1;
    places.extent[1] = filters;
    own = bufferOf<T>(places.elements(5));
    read(conv.y, places, straightOrder(5), own.get());
    at = {own.get(), places.elements(5) / filters};
  }
};

// As few as make enough pieces with the others, but at least `least`.
std::int64_t blockOf(std::int64_t count, std::int64_t others, std::int64_t least) {
  std::int64_t block = count;
  while (block > least && blocksOf(count, block) * others < kFewPieces) block = std::max(least, (block + 1) / 2);
  return block;
}

}  // namespace

void planConvolutionBackwardData(Plan& plan, const dnn::Node& node) {
  const Convolution conv(node, plan.view(node.outputs[0]), plan.view(node.inputs[1]), plan.view(node.inputs[0]));
  const std::int64_t plane = conv.in[0] * conv.in[1] * conv.in[2];
  // Channels of a piece: their images are kept near, all places of them.
  const std::int64_t most = std::clamp<std::int64_t>(kColumns / std::max(plane, conv.taps * kPlaces), 1, conv.channels);
  const std::int64_t block = std::min(most, blockOf(conv.channels, conv.images * conv.groups, 8)), blocks = blocksOf(conv.channels, block);
  const std::int64_t placesAtOnce = std::clamp<std::int64_t>(std::min(kColumns / (block * conv.taps), kMostElements / conv.filters), 1, kPlaces);
  const Cut places(conv.y, straightOrder(5), placesAtOnce, 0, 0b11);
  withComputed(plan, node, [&]<class T>(T) {
    plan.needs<T>(block * (plane + conv.taps * places.most()) + conv.filters * places.most());
    const Filters<T> weights = planFilters<T>(plan, conv, Form::apart);
    plan.phase(static_cast<std::uint64_t>(conv.images * conv.groups * blocks), [=, scale = Scale<T>(node)](std::uint64_t piece) {
      const auto number = static_cast<std::int64_t>(piece);
      const std::int64_t channel = number % blocks * block, group = number / blocks % conv.groups, n = number / blocks / conv.groups;
      const std::int64_t channels = std::min(block, conv.channels - channel), depth = channels * conv.taps, filter = group * conv.filters;
      const Buffer<T> image = bufferOf<T>(channels * plane), columns = bufferOf<T>(depth * places.most());
      std::fill_n(image.get(), channels * plane, T{0});
      for (std::uint64_t i = 0; i < places.count(); ++i) {
        const Box box = places.box(i);
        const std::int64_t count = box.extent[2] * box.extent[3] * box.extent[4];
        const Gradients<T> dy(conv, n, filter, conv.filters, box);
        gemm(CblasNoTrans, CblasTrans, toInt(count), toInt(depth), toInt(conv.filters), T{1}, dy.at.data, toInt(dy.at.spacing),
             weights.data + filter * weights.spacing + channel * conv.taps, toInt(weights.spacing), T{0}, columns.get(), toInt(count));
        addColumns(conv, channels, box, columns.get(), image.get());
      }
      Box box = wholeOf(conv.x);
      box.begin[0] = n;
      box.begin[1] = group * conv.channels + channel;
      box.extent[0] = 1;
      box.extent[1] = channels;
      write(conv.x, box, straightOrder(5), image.get(), scale.alpha, scale.beta);
    });
  });
}

void planConvolutionBackwardFilter(Plan& plan, const dnn::Node& node) {
  const Convolution conv(node, plan.view(node.inputs[0]), plan.view(node.outputs[0]), plan.view(node.inputs[1]));
  const std::int64_t filterBlock = std::clamp<std::int64_t>(kMostElements / conv.taps, 1, std::min<std::int64_t>(conv.filters, 256)), filterBlocks = blocksOf(conv.filters, filterBlock);
  const std::int64_t most = std::clamp<std::int64_t>(512 / conv.taps, 1, conv.channels);
  const std::int64_t block = std::min(most, blockOf(conv.channels, conv.groups * filterBlocks, 4)), blocks = blocksOf(conv.channels, block);
  const std::int64_t placesAtOnce = std::clamp<std::int64_t>(kColumns / (block * conv.taps), 1, kPlaces);
  const Cut places(conv.y, straightOrder(5), placesAtOnce, 0, 0b11);
  withComputed(plan, node, [&]<class T>(T) {
    plan.needs<T>(block * conv.taps * (filterBlock + places.most()) + filterBlock * places.most());
    plan.phase(static_cast<std::uint64_t>(conv.groups * filterBlocks * blocks), [=, scale = Scale<T>(node)](std::uint64_t piece) {
      auto number = static_cast<std::int64_t>(piece);
      const std::int64_t channel = number % blocks * block;
      number /= blocks;
      const std::int64_t filter = number % filterBlocks * filterBlock, group = number / filterBlocks;
      const std::int64_t channels = std::min(block, conv.channels - channel), filters = std::min(filterBlock, conv.filters - filter), depth = channels * conv.taps;
      const Buffer<T> sums = bufferOf<T>(filters * depth), columns = bufferOf<T>(depth * places.most());
      bool begun = false;
      for (std::int64_t n = 0; n < conv.images; ++n) {
        for (std::uint64_t i = 0; i < places.count(); ++i) {
          const Box box = places.box(i);
          const std::int64_t count = box.extent[2] * box.extent[3] * box.extent[4];
          const Gradients<T> dy(conv, n, group * conv.filters + filter, filters, box);
          fillColumns(conv, Form::apart, n, group, channel * conv.taps, depth, box, columns.get(), depth);
          gemm(CblasTrans, CblasNoTrans, toInt(depth), toInt(filters), toInt(count), T{1}, columns.get(), toInt(count), dy.at.data, toInt(dy.at.spacing),
               begun ? T{1} : T{0}, sums.get(), toInt(depth));
          begun = true;
        }
      }
      if (conv.flipped) reverseTaps(conv, Form::apart, filters, channels, sums.get());
      Box box = wholeOf(conv.w);
      box.begin[0] = group * conv.filters + filter;
      box.begin[1] = channel;
      box.extent[0] = filters;
      box.extent[1] = channels;
      write(conv.w, box, straightOrder(5), sums.get(), scale.alpha, scale.beta);
    });
  });
}

}  // namespace rouse::library::cpu
