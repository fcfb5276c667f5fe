// A piece is some places of an image and some filters of a group. Filters are put into vectors before, for all pieces.
#include "server/library/cpu/dnn/direct.h"

#include <algorithm>

#include "server/library/cpu/dnn/patch.h"

namespace rouse::library::cpu {
namespace {

constexpr std::int64_t kPlaces = 448;  // of a piece
constexpr std::uint64_t kFewPieces = 16;
constexpr double kMostPatch = 1 << 20;    // floats
constexpr std::int64_t kFewPlaces = 96;   // of all images: less is not worth the filters' way into vectors
constexpr std::int64_t kFewFilters = 12;  // of a group: less than a vector; where channels lie together, anything else is slower yet

// Of each group its filters, as blocks of two vectors, the last of one where that is enough; of a block, for each tap, for each channel, its
// filters' numbers. What there are no filters for is 0.
struct Packed {
  const float* data;
  std::int64_t filters, depth, lanes;
  std::int64_t blocks() const { return blocksOf(filters, 2 * lanes); }
  std::int64_t width(std::int64_t block) const { return std::min(2 * lanes, blocksOf(filters - block * 2 * lanes, lanes) * lanes); }
  std::int64_t perGroup() const { return blocksOf(filters, lanes) * lanes * depth; }
  const float* at(std::int64_t group, std::int64_t block) const { return data + group * perGroup() + block * 2 * lanes * depth; }
};

typedef float Four __attribute__((vector_size(16)));
typedef float UnalignedFour __attribute__((vector_size(16), aligned(4), may_alias));

// Four numbers of each of four rows to four columns.
void transpose(const float* from, std::int64_t spacing, float* const* to, std::int64_t offset) {
  const auto row = [&](std::int64_t i) -> Four { return *reinterpret_cast<const UnalignedFour*>(from + i * spacing); };
  const Four a = row(0), b = row(1), c = row(2), d = row(3);
  const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const auto store = [&](int i, Four value) { *reinterpret_cast<UnalignedFour*>(to[i] + offset) = value; };
  store(0, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
  store(1, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
  store(2, __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5));
  store(3, __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7));
}

// From filters as rows of depth, in whichever form they lie.
Packed planPacked(Plan& plan, const Convolution& conv, std::int64_t lanes) {
  const Form form = conv.channels > 1 && conv.w.strides[1] == 1 ? Form::together : Form::apart;
  const Filters<float> rows = planFilters<float>(plan, conv, form);
  Packed packed{nullptr, conv.filters, conv.depth, lanes};
  const std::int64_t dims[] = {conv.groups, packed.perGroup()};
  auto* const to = reinterpret_cast<float*>(plan.scratch(dnn::Type::f32, 2, dims).base);
  packed.data = to;
  // Some of the depths of a block, channel by channel or tap by tap.
  const std::int64_t inner = form == Form::apart ? conv.channels : conv.taps, outer = conv.depth / inner, step = std::clamp<std::int64_t>(512 / outer, 1, inner),
                     steps = blocksOf(inner, step);
  plan.phase(static_cast<std::uint64_t>(conv.groups * packed.blocks() * steps), [=](std::uint64_t piece) {
    const auto number = static_cast<std::int64_t>(piece);
    const std::int64_t first = number % steps * step, end = std::min(inner, first + step), block = number / steps % packed.blocks(), group = number / steps / packed.blocks();
    const std::int64_t width = packed.width(block), filter = block * 2 * lanes, filters = std::min(width, conv.filters - filter);
    const float* from = rows.data + (group * conv.filters + filter) * rows.spacing;
    float* part = to + group * packed.perGroup() + block * 2 * lanes * conv.depth;
    // In `rows` depths follow each other as they come here; packed ones are tap by tap.
    const auto at = [&](std::int64_t depth) { return part + (form == Form::apart ? depth % outer * conv.channels + depth / outer : depth) * width; };
    // Sixteen numbers at a time: four depths of four filters; sixteen filters, since their rows may share a cache's few places.
    for (std::int64_t k = 0; k < filters; k += 16) {
      const std::int64_t here = std::min<std::int64_t>(16, filters - k);
      std::int64_t depth = first * outer;
      for (; depth + 4 <= end * outer && here == 16; depth += 4) {
        float* const to[4] = {at(depth) + k, at(depth + 1) + k, at(depth + 2) + k, at(depth + 3) + k};
        for (std::int64_t f = 0; f < 16; f += 4) transpose(from + (k + f) * rows.spacing + depth, rows.spacing, to, f);
      }
      for (; depth < end * outer; ++depth) {
        float* const to = at(depth) + k;
        for (std::int64_t f = 0; f < here; ++f) to[f] = from[(k + f) * rows.spacing + depth];
      }
    }
    if (filters == width) return;
    for (std::int64_t depth = first * outer; depth < end * outer; ++depth) std::fill(at(depth) + filters, at(depth) + width, 0.0f);
  });
  return packed;
}

// Where a piece's results go: to y, if they can as they come; else beside it, and from there at the end.
struct Target {
  float* data;
  std::int64_t spacing;  // from place to place

  Target(const Convolution& conv, Scale<float> scale, const Box& places, std::int64_t n, std::int64_t filter, std::int64_t filters) : y_(conv.y), scale_(scale), box_(places) {
    box_.begin[0] = n, box_.begin[1] = filter;
    box_.extent[0] = 1, box_.extent[1] = filters;
    if (scale.alpha == 1 && scale.beta == 0) {
      const Lying<float> found = lying<float>(y_, Form::together, n, filter, placeOf(conv, places));
      data = found.data, spacing = found.spacing;
      if (data != nullptr) return;
    }
    own_ = bufferOf<float>(box_.elements(5));
    data = own_.get(), spacing = filters;
  }
  void finish() {
    if (!own_) return;
    eachRow(box_, [&](const Box& row, std::int64_t place) { write(y_, row, Order{{0, 2, 3, 4, 1}}, data + place * spacing, scale_.alpha, scale_.beta); });
  }

 private:
  const View y_;
  const Scale<float> scale_;
  Box box_;
  Buffer<float> own_;
};

}  // namespace

bool planDirect(Plan& plan, const dnn::Node& node, const Convolution& conv) {
  const VectorLoops* const loops = vectorLoops();
  if (loops == nullptr || plan.wide(node) || conv.images * conv.places < kFewPlaces) return false;
  if (conv.filters < (conv.x.strides[1] == 1 ? 2 : kFewFilters)) return false;
  // One tap, and channels apart: a product as it stands, which needs no other order.
  if (conv.plain && formOf(conv, conv.x) == Form::apart) return false;
  const Cut places(conv.y, straightOrder(5), kPlaces, 0, 0b11);
  const Box largest = places.box(0);
  if (patchElements(conv, largest, conv.channels) > kMostPatch) return false;
  const std::int64_t lanes = loops->lanes;
  const Packed packed = planPacked(plan, conv, lanes);
  // Blocks of filters of a piece.
  const std::uint64_t others = static_cast<std::uint64_t>(conv.images * conv.groups) * places.count();
  std::int64_t blocks = std::min(packed.blocks(), std::max<std::int64_t>(1, 2048 / (2 * lanes)));
  while (blocks > 1 && others * static_cast<std::uint64_t>(blocksOf(packed.blocks(), blocks)) < kFewPieces) blocks = blocksOf(blocks, 2);
  const std::int64_t parts = blocksOf(packed.blocks(), blocks);
  plan.phase(others * static_cast<std::uint64_t>(parts), [=, scale = Scale<float>(node)](std::uint64_t piece) {
    auto number = static_cast<std::int64_t>(piece);
    const std::int64_t block = number % parts * blocks, last = std::min(packed.blocks(), block + blocks);
    number /= parts;
    const Box box = places.box(static_cast<std::uint64_t>(number) % places.count());
    number /= static_cast<std::int64_t>(places.count());
    const std::int64_t group = number % conv.groups, n = number / conv.groups;
    const std::int64_t filter = block * 2 * lanes, filters = std::min(conv.filters, last * 2 * lanes) - filter;
    const Patch patch(conv, box, n, group * conv.channels, conv.channels, Patch::Edges::zeros);
    Target to(conv, scale, box, n, group * conv.filters + filter, filters);
    for (std::int64_t k = block; k < last; ++k) {
      const float* const weights = packed.at(group, k);
      const std::int64_t first = (k - block) * 2 * lanes, width = std::min(2 * lanes, filters - first);
      patch.eachRun(loops->places, false, [&](const float* x, std::int64_t step, const WindowParts& window, std::int64_t length, std::int64_t place) {
        loops->products(width, length, x, step, window, weights, packed.width(k), to.data + place * to.spacing + first, to.spacing);
      });
    }
    to.finish();
  });
  return true;
}

bool planPlain(Plan& plan, const dnn::Node& node, const Convolution& conv) {
  const VectorLoops* const loops = vectorLoops();
  if (loops == nullptr || plan.wide(node) || !conv.plain || node.alpha != 1 || node.beta != 0 || conv.filters < kFewFilters) return false;
  const std::int64_t vectors = 2 * loops->lanes, most = loops->places;
  // What is summed are filters' numbers, place by place: here places are what vectors have, and filters what there are some of at once.
  if (conv.places < vectors || lying<float>(conv.x, Form::apart, 0, 0, 0).data == nullptr || lying<float>(conv.y, Form::apart, 0, 0, 0).data == nullptr) return false;
  const Filters<float> weights = planFilters<float>(plan, conv, Form::apart);
  const std::int64_t boxes = std::max<std::int64_t>(1, conv.places / kPlaces), others = conv.images * conv.groups * boxes;
  std::int64_t block = conv.filters;
  while (block > most && others * blocksOf(conv.filters, block) < static_cast<std::int64_t>(kFewPieces)) block = blocksOf(block, 2 * most) * most;
  const std::int64_t blocks = blocksOf(conv.filters, block);
  plan.phase(static_cast<std::uint64_t>(others * blocks), [=](std::uint64_t piece) {
    auto number = static_cast<std::int64_t>(piece);
    const std::int64_t first = number % blocks * block, filters = std::min(block, conv.filters - first);
    number /= blocks;
    const auto boundary = [&](std::int64_t box) { return box == boxes ? conv.places : conv.places * box / boxes / vectors * vectors; };
    const std::int64_t begin = boundary(number % boxes), end = boundary(number % boxes + 1);
    number /= boxes;
    const std::int64_t group = number % conv.groups, n = number / conv.groups, filter = group * conv.filters + first;
    const Lying<float> x = lying<float>(conv.x, Form::apart, n, group * conv.channels, 0), y = lying<float>(conv.y, Form::apart, n, filter, 0);
    const WindowPart whole{0, 0};
    const std::int64_t runs = blocksOf(filters, most), run = blocksOf(filters, runs);
    for (std::int64_t place = begin; place < end; place += vectors) {
      // The last are as many as the others: some of them once more.
      const std::int64_t at = std::min(place, end - vectors);
      for (std::int64_t k = 0; k < filters; k += run)
        loops->products(vectors, std::min(run, filters - k), weights.data + (filter + k) * weights.spacing, weights.spacing, {&whole, 1, conv.depth}, x.data + at, x.spacing,
                        y.data + k * y.spacing + at, y.spacing);
    }
  });
  return true;
}

bool planDepthwise(Plan& plan, const dnn::Node& node, const Convolution& conv) {
  const VectorLoops* const loops = vectorLoops();
  if (loops == nullptr || plan.wide(node) || conv.channels != 1 || conv.filters != 1 || conv.groups < 4) return false;
  const std::int64_t lanes = loops->lanes, all = conv.groups;
  // Channels of a piece, and places: what is written is about a piece.
  const std::int64_t block = std::min<std::int64_t>(all, 4 * lanes), blocks = blocksOf(all, block);
  const Cut places(conv.y, straightOrder(5), 4 * kPlaces, 0, 0b11);
  if (patchElements(conv, places.box(0), block) > kMostPatch || conv.taps > 4096) return false;
  const Filters<float> rows = planFilters<float>(plan, conv, Form::apart);
  plan.phase(static_cast<std::uint64_t>(conv.images * blocks) * places.count(), [=, scale = Scale<float>(node)](std::uint64_t piece) {
    const Box box = places.box(piece % places.count());
    const auto number = static_cast<std::int64_t>(piece / places.count());
    const std::int64_t channel = number % blocks * block, n = number / blocks, channels = std::min(block, all - channel);
    // Tap by tap, channels together.
    const Buffer<float> weights = bufferOf<float>(conv.taps * channels + lanes);
    for (std::int64_t t = 0; t < conv.taps; ++t) {
      for (std::int64_t c = 0; c < channels; ++c) weights[t * channels + c] = rows.data[(channel + c) * rows.spacing + t];
    }
    std::fill_n(weights.get() + conv.taps * channels, lanes, 0.0f);
    const Patch patch(conv, box, n, channel, channels, Patch::Edges::leftOut, lanes);
    Target to(conv, scale, box, n, channel, channels);
    patch.eachRun(loops->places, true, [&](const float* x, std::int64_t step, const WindowParts& window, std::int64_t length, std::int64_t place) {
      for (std::int64_t c = 0; c < channels; c += lanes)
        loops->depthwise(std::min(lanes, channels - c), length, x + c, step, window, weights.get() + c, to.data + place * to.spacing + c, to.spacing);
    });
    to.finish();
  });
  return true;
}

}  // namespace rouse::library::cpu
