#include "server/device/cpu/runtime/warp.h"

#include <bit>

namespace rouse::cpu {
namespace {

bool isVote(WarpOperation operation) { return operation >= WarpOperation::voteAll && operation <= WarpOperation::voteBallot; }

}  // namespace

void Warp::reset(std::uint32_t lanes) {
  gone_ = lanes >= kWarpLanes ? 0 : ~std::uint32_t{0} << lanes;
  meetings_ = 0;
  polling_ = 0;
}

bool Warp::meet(Fiber* fiber, WarpOperation operation, std::uint32_t mask, const LaneOperands& operands,
                FiberQueue& ready) {
  const std::uint32_t lane = fiber->context.lane;
  const std::uint32_t self = std::uint32_t{1} << lane;
  // Undefined by PTX. Programs vote so with masks of the lanes before their own; on GPUs the lanes that are there vote, and each gets of it what its mask
  // names. Here they do so among themselves, so that they keep nobody up. Otherwise harmless is to meet nobody.
  const bool outside = (mask & self) == 0;
  if (outside) mask = isVote(operation) ? ~std::uint32_t{0} : self;

  std::uint32_t index = 0;
  const auto isIt = [&](const Meeting& meeting) { return meeting.mask == mask && meeting.operation == operation && meeting.outside == outside; };
  while (index < meetings_ && !isIt(pending_[index])) ++index;
  if (index == meetings_) {
    pending_[index] = {operation, mask, 0, outside};
    ++meetings_;
  }
  pending_[index].arrived |= self;
  operands_[lane] = operands;
  waiting_[lane] = fiber;
  if (pending_[index].arrived == (mask & ~gone_)) {
    complete(index, fiber, ready);
    return true;
  }
  fiber->wait = Wait::warp;
  fiber->detail = mask;
  return false;
}

void Warp::laneExited(std::uint32_t lane, FiberQueue& ready) {
  gone_ |= std::uint32_t{1} << lane;
  for (std::uint32_t index = 0; index < meetings_;) {
    const Meeting& meeting = pending_[index];
    if (meeting.arrived == (meeting.mask & ~gone_)) {
      complete(index, nullptr, ready);
    } else {
      ++index;
    }
  }
}

bool Warp::giveUp(FiberQueue& ready) {
  std::uint32_t here = 0;
  for (std::uint32_t index = 0; index < meetings_; ++index) here |= pending_[index].arrived;
  bool any = false;
  for (std::uint32_t index = 0; index < meetings_;) {
    const Meeting& meeting = pending_[index];
    const bool isMatrix = (static_cast<std::uint32_t>(meeting.operation) & kMatrixOperations) != 0;
    if (isMatrix || (meeting.mask & ~gone_ & ~meeting.arrived & here) != 0) {
      ++index;
      continue;
    }
    any = true;
    complete(index, nullptr, ready);
  }
  return any;
}

bool Warp::endOutside(FiberQueue& ready) {
  bool any = false;
  for (std::uint32_t index = 0; index < meetings_;) {
    if (!pending_[index].outside) {
      ++index;
      continue;
    }
    any = true;
    complete(index, nullptr, ready);
  }
  return any;
}

void Warp::complete(std::uint32_t index, Fiber* last, FiberQueue& ready) {
  const Meeting meeting = pending_[index];
  pending_[index] = pending_[--meetings_];
  std::array<std::uint64_t, kWarpLanes> results;
  if (meeting.operation != WarpOperation::sync) evaluate(meeting.operation, meeting.arrived, operands_, results);
  for (std::uint32_t left = meeting.arrived; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    Fiber* fiber = waiting_[lane];
    if (meeting.operation != WarpOperation::sync) fiber->result = results[lane];
    if (fiber != last) ready.push(fiber);
  }
}

}  // namespace rouse::cpu
