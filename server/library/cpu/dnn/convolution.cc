// Forward: of each group, filters times columns. A piece is some places of an image, and some groups or filters.
#include <algorithm>

#include "server/library/cpu/cblas_calls.h"
#include "server/library/cpu/dnn/columns.h"
#include "server/library/cpu/dnn/direct.h"

namespace rouse::library::cpu {
namespace {

constexpr std::int64_t kPlaces = 512, kColumns = 256 * 1024;  // of a piece; of what is multiplied at once
constexpr std::int64_t kPieceProducts = 1 << 20;               // fewer are not worth a piece
constexpr std::uint64_t kFewPieces = 16;
constexpr std::int64_t kMostShared = 16 << 20;  // columns of a call that several pieces take from one place
constexpr std::int64_t kMostSums = 4 << 20;            // filters times places of a piece
constexpr std::int64_t kFewFilters = 4;  // of a group: less than a product of matrices is good for

struct Piece {
  std::int64_t n, group, groups, filter, filters;
  Box places;
};

struct Forward {
  Convolution conv;
  Form form;
  Cut places;
  std::int64_t groups, filters;  // of a piece
  std::uint64_t groupBlocks, filterBlocks;

  // How it is cut follows from the call alone.
  explicit Forward(const Convolution& c) : conv(c), form(formOf(c, c.x)), places(c.y, straightOrder(5), kPlaces, 0, 0b11), filters(std::min(c.filters, kMostSums / places.most())) {
    const double products = static_cast<double>(places.most()) * static_cast<double>(c.depth) * static_cast<double>(c.filters);
    groups = std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(kPieceProducts) / products), 1, c.groups);
    groupBlocks = blocksOf(c.groups, groups);
    while (filters > 64 && images() * groupBlocks * places.count() * blocksOf(c.filters, filters) < kFewPieces) filters = (filters / 2 + 15) / 16 * 16;
    filterBlocks = blocksOf(c.filters, filters);
  }
  static std::uint64_t blocksOf(std::int64_t count, std::int64_t block) { return static_cast<std::uint64_t>(cpu::blocksOf(count, block)); }
  std::uint64_t images() const { return static_cast<std::uint64_t>(conv.images); }
  std::uint64_t pieces() const { return images() * groupBlocks * filterBlocks * places.count(); }

  Piece piece(std::uint64_t number) const {
    Piece p;
    p.filter = static_cast<std::int64_t>(number % filterBlocks) * filters;
    p.filters = std::min(filters, conv.filters - p.filter);
    number /= filterBlocks;
    p.places = places.box(number % places.count());
    number /= places.count();
    p.group = static_cast<std::int64_t>(number % groupBlocks) * groups;
    p.groups = std::min(groups, conv.groups - p.group);
    p.n = static_cast<std::int64_t>(number / groupBlocks);
    return p;
  }
};

// to[filter][place] += weights · columns, for so few filters that each is a loop.
template <class T>
void multiplyFew(std::int64_t filters, std::int64_t places, std::int64_t depth, const T* weights, std::int64_t spacing, const T* columns, T* to) {
  for (std::int64_t k = 0; k < filters; ++k) {
    T* sums = to + k * places;
    for (std::int64_t d = 0; d < depth; ++d) {
      const T weight = weights[k * spacing + d];
      const T* column = columns + d * places;
      for (std::int64_t p = 0; p < places; ++p) sums[p] += weight * column[p];
    }
  }
}

// Where filters are in several pieces, their columns are made once, before: box by box, each as a piece's own would be.
template <class T>
T* planColumns(Plan& plan, const Forward& f) {
  const Convolution& conv = f.conv;
  const double all = static_cast<double>(conv.images * conv.groups) * static_cast<double>(conv.depth) * static_cast<double>(conv.places);
  if (conv.plain || f.filterBlocks == 1 || all > static_cast<double>(kMostShared)) return nullptr;
  const std::int64_t dims[] = {conv.images * conv.groups, conv.depth * conv.places};
  T* to = reinterpret_cast<T*>(plan.scratch(kTypeOf<T>, 2, dims).base);
  const std::int64_t block = std::clamp<std::int64_t>(4 * kPieceElements / f.places.most(), 1, conv.depth);
  const std::uint64_t blocks = Forward::blocksOf(conv.depth, block), boxes = f.places.count();
  plan.phase(static_cast<std::uint64_t>(dims[0]) * boxes * blocks, [=](std::uint64_t piece) {
    const std::int64_t first = static_cast<std::int64_t>(piece % blocks) * block, count = std::min(block, conv.depth - first);
    const Box box = f.places.box(piece / blocks % boxes);
    const auto image = static_cast<std::int64_t>(piece / blocks / boxes);
    const std::int64_t pixels = box.extent[2] * box.extent[3] * box.extent[4];
    T* part = to + (image * conv.places + placeOf(conv, box)) * conv.depth + (f.form == Form::apart ? first * pixels : first);
    fillColumns(conv, f.form, image / conv.groups, image % conv.groups, first, count, box, part, conv.depth);
  });
  return to;
}

template <class T>
void run(const Forward& f, const Filters<T>& weights, const T* shared, Scale<T> scale, const Piece& piece) {
  const Convolution& conv = f.conv;
  const bool apart = f.form == Form::apart;
  const std::int64_t places = piece.places.extent[2] * piece.places.extent[3] * piece.places.extent[4], place = placeOf(conv, piece.places);
  const bool few = apart && conv.filters < kFewFilters;
  const std::int64_t block = std::clamp<std::int64_t>(kColumns / places, 1, conv.depth);
  Buffer<T> columns, sums;
  for (std::int64_t g = piece.group; g < piece.group + piece.groups; ++g) {
    const std::int64_t channel = g * conv.channels, filter = g * conv.filters + piece.filter;
    Lying<const T> x;
    if (shared != nullptr) {
      x = {shared + ((piece.n * conv.groups + g) * conv.places + place) * conv.depth, apart ? places : conv.depth};
    } else if (conv.plain) {
      const Lying<T> found = lying<T>(conv.x, f.form, piece.n, channel, place);
      x = {found.data, found.spacing};
    }
    Lying<T> y = few ? Lying<T>{} : lying<T>(conv.y, f.form, piece.n, filter, place);
    const bool direct = y.data != nullptr;
    if (!direct) {
      if (!sums) sums = bufferOf<T>(piece.filters * places);
      y = {sums.get(), apart ? places : piece.filters};
      if (few) std::fill_n(sums.get(), piece.filters * places, T{0});
    }
    if (!columns && x.data == nullptr) columns = bufferOf<T>(block * places);
    const std::int64_t step = x.data != nullptr ? conv.depth : block;
    for (std::int64_t d = 0; d < conv.depth; d += step) {
      const std::int64_t deep = std::min(step, conv.depth - d);
      Lying<const T> from = x;
      if (x.data == nullptr) {
        fillColumns(conv, f.form, piece.n, g, d, deep, piece.places, columns.get(), deep);
        from = {columns.get(), apart ? places : deep};
      }
      const T* w = weights.data + filter * weights.spacing + d;
      if (few && x.data == nullptr) {
        multiplyFew(piece.filters, places, deep, w, weights.spacing, from.data, sums.get());
        continue;
      }
      const T alpha = direct ? scale.alpha : T{1}, beta = d != 0 || few ? T{1} : direct ? scale.beta : T{0};
      if (apart)
        gemm(CblasNoTrans, CblasNoTrans, toInt(places), toInt(piece.filters), toInt(deep), alpha, from.data, toInt(from.spacing), w, toInt(weights.spacing),
             beta, y.data, toInt(y.spacing));
      else
        gemm(CblasTrans, CblasNoTrans, toInt(piece.filters), toInt(places), toInt(deep), alpha, w, toInt(weights.spacing), from.data, toInt(from.spacing),
             beta, y.data, toInt(y.spacing));
    }
    if (direct) continue;
    Box box = piece.places;
    box.begin[0] = piece.n;
    box.begin[1] = filter;
    box.extent[0] = 1;
    box.extent[1] = piece.filters;
    write(conv.y, box, apart ? Order{{0, 1, 2, 3, 4}} : Order{{0, 2, 3, 4, 1}}, sums.get(), scale.alpha, scale.beta);
  }
}

}  // namespace

void planConvolution(Plan& plan, const dnn::Node& node) {
  const Convolution conv(node, plan.view(node.inputs[0]), plan.view(node.inputs[1]), plan.view(node.outputs[0]));
  if (planDepthwise(plan, node, conv) || planPlain(plan, node, conv) || planDirect(plan, node, conv)) return;
  const Forward forward(conv);
  withComputed(plan, node, [&]<class T>(T) {
    plan.needs<T>(forward.filters * forward.places.most() + std::max(kColumns, forward.places.most()));
    const Filters<T> weights = planFilters<T>(plan, conv, forward.form);
    const T* shared = planColumns<T>(plan, forward);
    plan.phase(forward.pieces(), [=, scale = Scale<T>(node)](std::uint64_t piece) { run(forward, weights, shared, scale, forward.piece(piece)); });
  });
}

}  // namespace rouse::library::cpu
