#include "server/device/cuda/allocation_plan.h"

#include <cassert>

#include "memory/aligned_pieces.h"

namespace rouse::cuda {
namespace {

void append(std::vector<memory::Extent>& to, memory::Extent chunks) {
  for (const memory::Extent& piece : AllocationPlan::pieces(chunks)) to.push_back(piece);
}

}  // namespace

AllocationPlan::AllocationPlan(const std::vector<memory::Extent>& allocations) {
  for (const memory::Extent& each : allocations) {
    assert(each.first == granules_.size());
    granules_.resize(granules_.size() + each.count);
    granules_[each.first] = static_cast<std::uint8_t>(each.count);
  }
}

memory::Extent AllocationPlan::of(std::uint32_t chunk) const {
  for (std::uint32_t first = chunk, size = 1;; size *= 2, first = chunk & ~(size - 1)) {
    assert(size <= kLargest);
    if (granules_[first] >= size) return {first, granules_[first]};
  }
}

std::vector<memory::Extent> AllocationPlan::pieces(memory::Extent chunks) {
  std::vector<memory::Extent> pieces;
  memory::forEachAlignedPiece(chunks, [&](memory::Extent piece) {
    if (piece.count >= kSmallest) return pieces.push_back(piece);
    for (std::uint32_t i = 0; i < piece.count; ++i) pieces.push_back({piece.first + i, 1});
  });
  return pieces;
}

AllocationPlan::Change AllocationPlan::change(memory::Extent piece) const {
  Change change;
  const memory::Extent around = of(piece.first);
  if (around == piece) return change;
  if (around.count > piece.count) {
    change.ends.push_back(around);
    const memory::Extent whole = piece.count == 1 ? memory::Extent{piece.first & ~(kSmallest - 1), kSmallest} : piece;
    append(change.begins, {around.first, whole.first - around.first});
    for (std::uint32_t at = 0; at != whole.count; at += piece.count) change.begins.push_back({whole.first + at, piece.count});
    append(change.begins, {whole.first + whole.count, around.first + around.count - whole.first - whole.count});
    return change;
  }
  change.begins.push_back(piece);
  for (std::uint32_t at = piece.first; at != piece.first + piece.count; at += change.ends.back().count) change.ends.push_back(of(at));
  return change;
}

AllocationPlan::Change AllocationPlan::cut(memory::Extent chunks) const {
  Change change;
  const memory::Extent around = of(chunks.first);
  if (around == chunks) return change;
  change.ends.push_back(around);
  append(change.begins, {around.first, chunks.first - around.first});
  append(change.begins, chunks);
  append(change.begins, {chunks.first + chunks.count, around.first + around.count - chunks.first - chunks.count});
  return change;
}

void AllocationPlan::apply(const Change& change) {
  for (const memory::Extent& each : change.ends) granules_[each.first] = 0;
  for (const memory::Extent& each : change.begins) granules_[each.first] = static_cast<std::uint8_t>(each.count);
}

}  // namespace rouse::cuda
