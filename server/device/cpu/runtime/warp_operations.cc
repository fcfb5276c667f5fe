#include <algorithm>
#include <bit>
#include <cstdint>

#include "server/device/cpu/runtime/matrix.h"
#include "server/device/cpu/runtime/warp.h"

namespace rouse::cpu {
namespace {

using Operands = std::array<LaneOperands, kWarpLanes>;
using Results = std::array<std::uint64_t, kWarpLanes>;

constexpr std::uint64_t kPredicate = std::uint64_t{1} << 32;

template <class Verb>
void forLanes(std::uint32_t lanes, Verb verb) {
  for (; lanes != 0; lanes &= lanes - 1) verb(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

void broadcast(std::uint32_t lanes, Results& results, std::uint64_t value) {
  forLanes(lanes, [&](std::uint32_t lane) { results[lane] = value; });
}

// PTX ISA, shfl.sync, "Semantics". A source that is out of range gives the lane's own value. What one that did not take part gives is undefined; it is 0, which
// programs rely on that add up the last 8 values of a block by steps of 16, 8, 4, 2 and 1 (NVIDIA's own samples).
template <class Source>
void shuffle(std::uint32_t lanes, const Operands& operands, Results& results, bool up, Source source) {
  forLanes(lanes, [&](std::uint32_t lane) {
    const LaneOperands& own = operands[lane];
    const int clamp = own.control & 31;
    const int segment = (own.control >> 8) & 31;
    const int maxLane = (static_cast<int>(lane) & segment) | (clamp & ~segment);
    const int minLane = static_cast<int>(lane) & segment;
    const int from = source(static_cast<int>(lane), static_cast<int>(own.lane & 31), minLane, segment);
    const bool inRange = up ? from >= maxLane : from <= maxLane;
    const bool present = !inRange || ((lanes >> (from & 31)) & 1) != 0;
    const std::uint64_t value = present ? operands[inRange ? static_cast<std::uint32_t>(from) : lane].value : 0;
    results[lane] = (value & 0xffff'ffff) | (inRange ? kPredicate : 0);
  });
}

std::uint32_t ballot(std::uint32_t lanes, const Operands& operands) {
  std::uint32_t set = 0;
  forLanes(lanes, [&](std::uint32_t lane) { set |= std::uint32_t{operands[lane].value != 0} << lane; });
  return set;
}

// Each lane of those its own mask names.
template <class Verdict>
void vote(std::uint32_t lanes, const Operands& operands, Results& results, Verdict verdict) {
  const std::uint32_t set = ballot(lanes, operands);
  forLanes(lanes, [&](std::uint32_t lane) {
    const std::uint32_t members = operands[lane].control;
    results[lane] = verdict(set & members, lanes & members);
  });
}

std::uint32_t equalLanes(std::uint32_t lanes, const Operands& operands, std::uint64_t value) {
  std::uint32_t set = 0;
  forLanes(lanes, [&](std::uint32_t lane) { set |= std::uint32_t{operands[lane].value == value} << lane; });
  return set;
}

template <class Number, class Combine>
std::uint32_t reduce(std::uint32_t lanes, const Operands& operands, Combine combine) {
  auto total = static_cast<Number>(operands[std::countr_zero(lanes)].value);
  forLanes(lanes & (lanes - 1),
           [&](std::uint32_t lane) { total = combine(total, static_cast<Number>(operands[lane].value)); });
  return static_cast<std::uint32_t>(total);
}

void operateOnMatrices(std::uint32_t operation, std::uint32_t lanes, const Operands& operands, Results& results) {
  LaneRegisters registers{};
  forLanes(lanes, [&](std::uint32_t lane) { registers[lane] = reinterpret_cast<std::uint32_t*>(operands[lane].value); });
  broadcast(lanes, results, 0);
  runMatrixOperation(MatrixOperation::decode(operation & ~kMatrixOperations), registers);
}

}  // namespace

void evaluate(WarpOperation operation, std::uint32_t lanes, const Operands& operands, Results& results) {
  using U = std::uint32_t;
  using S = std::int32_t;
  switch (operation) {
    case WarpOperation::sync:
      return;
    case WarpOperation::shuffleUp:
      return shuffle(lanes, operands, results, true, [](int lane, int by, int, int) { return lane - by; });
    case WarpOperation::shuffleDown:
      return shuffle(lanes, operands, results, false, [](int lane, int by, int, int) { return lane + by; });
    case WarpOperation::shuffleButterfly:
      return shuffle(lanes, operands, results, false, [](int lane, int by, int, int) { return lane ^ by; });
    case WarpOperation::shuffleIndex:
      return shuffle(lanes, operands, results, false,
                     [](int, int index, int minLane, int segment) { return minLane | (index & ~segment); });
    case WarpOperation::voteAll:
      return vote(lanes, operands, results, [](U set, U members) { return set == members; });
    case WarpOperation::voteAny:
      return vote(lanes, operands, results, [](U set, U) { return set != 0; });
    case WarpOperation::voteUniform:
      return vote(lanes, operands, results, [](U set, U members) { return set == 0 || set == members; });
    case WarpOperation::voteBallot:
      return vote(lanes, operands, results, [](U set, U) { return set; });
    case WarpOperation::matchAny:
      return forLanes(lanes, [&](U lane) { results[lane] = equalLanes(lanes, operands, operands[lane].value); });
    case WarpOperation::matchAll: {
      const bool same = equalLanes(lanes, operands, operands[std::countr_zero(lanes)].value) == lanes;
      return broadcast(lanes, results, same ? lanes | kPredicate : 0);
    }
    case WarpOperation::reduceAdd:
      return broadcast(lanes, results, reduce<U>(lanes, operands, [](U a, U b) { return a + b; }));
    case WarpOperation::reduceMinUnsigned:
      return broadcast(lanes, results, reduce<U>(lanes, operands, [](U a, U b) { return std::min(a, b); }));
    case WarpOperation::reduceMaxUnsigned:
      return broadcast(lanes, results, reduce<U>(lanes, operands, [](U a, U b) { return std::max(a, b); }));
    case WarpOperation::reduceMinSigned:
      return broadcast(lanes, results, reduce<S>(lanes, operands, [](S a, S b) { return std::min(a, b); }));
    case WarpOperation::reduceMaxSigned:
      return broadcast(lanes, results, reduce<S>(lanes, operands, [](S a, S b) { return std::max(a, b); }));
    case WarpOperation::reduceAnd:
      return broadcast(lanes, results, reduce<U>(lanes, operands, [](U a, U b) { return a & b; }));
    case WarpOperation::reduceOr:
      return broadcast(lanes, results, reduce<U>(lanes, operands, [](U a, U b) { return a | b; }));
    case WarpOperation::reduceXor:
      return broadcast(lanes, results, reduce<U>(lanes, operands, [](U a, U b) { return a ^ b; }));
    default:
      return operateOnMatrices(static_cast<U>(operation), lanes, operands, results);
  }
}

}  // namespace rouse::cpu
