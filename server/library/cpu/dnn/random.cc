// Philox 4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011): the seed is the key, offset and place are what is counted,
// so that a forward pass and its gradient draw the same.
#include <array>
#include <cmath>

#include "server/library/cpu/dnn/plan.h"

namespace rouse::library::cpu {
namespace {

using Four = std::array<std::uint32_t, 4>;

Four drawn(std::uint64_t seed, std::uint64_t offset, std::uint64_t place) {
  std::uint32_t key[2] = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  Four c{static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32), static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xd251'1f53} * c[0], second = std::uint64_t{0xcd9e'8d57} * c[2];
    c = {static_cast<std::uint32_t>(second >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(second), static_cast<std::uint32_t>(first >> 32) ^ c[3] ^ key[1],
         static_cast<std::uint32_t>(first)};
    key[0] += 0x9e37'79b9;
    key[1] += 0xbb67'ae85;
  }
  return c;
}

std::uint64_t seedOf(const View& number, bool there) {
  if (!there) return 0;
  if (number.type == dnn::Type::i64) return *reinterpret_cast<const std::uint64_t*>(number.base);
  return static_cast<std::uint64_t>(std::int64_t{*reinterpret_cast<const std::int32_t*>(number.base)});
}

}  // namespace

void planRandom(Plan& plan, const dnn::Node& node) {
  const View seed = plan.view(node.inputs[0]), y = plan.view(node.outputs[0]);
  const bool counted = plan.has(node.inputs[1]);
  const View offset = counted ? plan.view(node.inputs[1]) : View{};
  // In the order of its dimensions, wherever they lie.
  const Order order = straightOrder(y.rank);
  const Cut cut(y, order, kPieceElements);
  // Of 2^32, and so that 1 is always.
  const auto below = static_cast<std::uint64_t>(std::llround(node.numbers[dnn::kProbability] * 4294967296.0));
  plan.phase(cut.count(), [=](std::uint64_t piece) {
    const Box box = cut.box(piece);
    const std::int64_t count = box.elements(y.rank);
    // What is cut are whole dimensions inside, so a box's elements follow each other.
    std::uint64_t first = 0;
    for (std::uint32_t d = 0; d < y.rank; ++d) first = first * static_cast<std::uint64_t>(y.dims[d]) + static_cast<std::uint64_t>(box.begin[d]);
    const std::uint64_t key = seedOf(seed, true), at = seedOf(offset, counted);
    const Buffer<float> values = bufferOf<float>(count);
    Four four{};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t place = first + static_cast<std::uint64_t>(i);
      if (i == 0 || place % 4 == 0) four = drawn(key, at, place / 4);
      values[i] = four[place % 4] < below ? 1.0f : 0.0f;
    }
    write(y, box, order, values.get());
  });
}

}  // namespace rouse::library::cpu
