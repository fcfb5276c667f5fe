#include "server/device/cpu/runtime/warp.h"

#include <algorithm>
#include <bit>

namespace rouse::cpu {
namespace {

// How often in a row lanes in a loop that waits go before a lane that is further, until that goes on as well: it may be what they wait for. Lanes that all count in one word, each trying again
// until it is its own, are through in 32 rounds.
constexpr std::uint32_t kPatience = 256;

// How often lanes that poll get their turns before others of their warp no longer wait for them to become active where they are.
constexpr std::uint32_t kActivemaskPatience = 256;

// How often those that spin may run before lanes that a shuffle's mask leaves out no longer wait for those that it names.
constexpr std::uint32_t kOutsideRounds = 10'000;

bool isMatrix(WarpOperation operation) { return (static_cast<std::uint32_t>(operation) & kMatrixOperations) != 0; }

bool isShuffle(WarpOperation operation) { return operation >= WarpOperation::shuffleUp && operation <= WarpOperation::shuffleIndex; }

bool isVote(WarpOperation operation) { return operation >= WarpOperation::voteAll && operation <= WarpOperation::voteBallot; }

}  // namespace

void Warp::reset(std::uint32_t lanes) {
  gone_ = lanes >= kWarpLanes ? 0 : ~std::uint32_t{0} << lanes;
  meetings_ = 0;
  polling_ = behind_ = 0;
  stepping_ = soft_ = waits_ = passedOver_ = 0;
  patience_ = kPatience;
  activemaskRounds_ = 0;
  activemaskPatience_ = kActivemaskPatience;
  ended_.mask = 0;
  outsideRounds_ = 0;
}

void Warp::step(Fiber* fiber, std::uint64_t place, bool soft) {
  const std::uint32_t lane = fiber->context.lane, self = std::uint32_t{1} << lane;
  stepping_ |= self;
  soft_ |= soft ? self : 0;
  waits_ |= fiber->yielded ? self : 0;
  places_[lane] = place;
  waiting_[lane] = fiber;
}

std::uint32_t Warp::letGo(std::uint32_t lanes, FiberQueue& going) {
  stepping_ &= ~lanes;
  soft_ &= ~lanes;
  waits_ &= ~lanes;
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) going.push(waiting_[std::countr_zero(left)]);
  return static_cast<std::uint32_t>(std::popcount(lanes));
}

// Those at the least place (after Diamos et al., "SIMD Re-Convergence at Thread Frontiers", MICRO 2011), as stackless GPUs choose the least program counter.
std::uint32_t Warp::letStep(bool holds, FiberQueue& going) {
  if (behind_ != 0) return 0;
  if (anyPolls() && holds) return letGo(soft_, going);
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint32_t left = stepping_; left != 0; left &= left - 1) least = std::min(least, places_[std::countr_zero(left)]);
  std::uint32_t first = 0;
  for (std::uint32_t left = stepping_; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (places_[lane] == least) first |= std::uint32_t{1} << lane;
  }
  if ((first & waits_) != 0) first |= soft_;
  if (first == stepping_) {
    passedOver_ = 0;
  } else if ((first & waits_) != 0 && ++passedOver_ >= patience_) {
    first = stepping_;
    passedOver_ = 0;
    patience_ = std::max(patience_ / 2, 1u);  // so that a lane of many steps which others wait for comes through
  }
  return letGo(first, going);
}

bool Warp::activemaskWaits(bool mayCome) {
  if (mayCome && ++activemaskRounds_ < activemaskPatience_) return true;
  if (mayCome) activemaskPatience_ = std::max(activemaskPatience_ / 2, 1u);  // they poll for what these do: the next time as well
  activemaskRounds_ = 0;
  return false;
}

bool Warp::meet(Fiber* fiber, WarpOperation operation, std::uint32_t mask, const LaneOperands& operands,
                FiberQueue& ready) {
  const std::uint32_t lane = fiber->context.lane;
  const std::uint32_t self = std::uint32_t{1} << lane;
  // Undefined by PTX. Programs vote so with masks of the lanes before their own; on GPUs the lanes that are there vote, and each gets of it what its mask
  // names. Here they do so among themselves, so that they keep nobody up. Shuffles of whole warps with masks of the lanes that are read from give all what those have: who is not named waits
  // for them, and they not for him. Otherwise harmless is to meet nobody.
  bool outside = (mask & self) == 0;
  const bool joins = isShuffle(operation);
  if (outside && !(joins && mask != 0)) mask = isVote(operation) ? ~std::uint32_t{0} : self;
  if (outside && joins && takeOfEnded(fiber, operation, mask, operands)) return true;

  std::uint32_t index = 0;
  const auto isIt = [&](const Meeting& meeting) { return meeting.mask == mask && meeting.operation == operation && (joins || meeting.outside == outside); };
  while (index < meetings_ && !isIt(pending_[index])) ++index;
  if (index == meetings_) {
    pending_[index] = {operation, mask, 0, outside};
    ++meetings_;
  }
  pending_[index].arrived |= self;
  if (joins) pending_[index].outside &= outside;
  operands_[lane] = operands;
  waiting_[lane] = fiber;
  if (pending_[index].isComplete(gone_)) {
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
    if (meeting.isComplete(gone_)) {
      complete(index, nullptr, ready);
    } else {
      ++index;
    }
  }
}

// Those named came first: the lane reads what they have brought, once.
bool Warp::takeOfEnded(Fiber* fiber, WarpOperation operation, std::uint32_t mask, const LaneOperands& operands) {
  const std::uint32_t lane = fiber->context.lane, self = std::uint32_t{1} << lane;
  if (ended_.mask != mask || ended_.operation != operation || (ended_.outside & self) != 0) return false;
  ended_.outside |= self;
  std::array<LaneOperands, kWarpLanes> brought = ended_.operands;
  brought[lane] = operands;
  std::array<std::uint64_t, kWarpLanes> results;
  evaluate(operation, ended_.lanes | self, brought, results);
  fiber->result = results[lane];
  return true;
}

bool Warp::isAllOf(std::uint32_t mask) const {
  std::uint32_t arrived = 0;
  for (std::uint32_t index = 0; index < meetings_; ++index) {
    if (pending_[index].mask == mask && !isMatrix(pending_[index].operation)) arrived |= pending_[index].arrived;
  }
  return arrived == (mask & ~gone_);
}

bool Warp::giveUp(FiberQueue& ready) {
  std::uint32_t here = 0, apart = 0;  // meetings: that are parts of one
  for (std::uint32_t index = 0; index < meetings_; ++index) here |= pending_[index].arrived;
  for (std::uint32_t index = 0; index < meetings_; ++index) apart |= isAllOf(pending_[index].mask) ? std::uint32_t{1} << index : 0;
  bool any = false;
  for (std::uint32_t index = meetings_; index-- > 0;) {
    const Meeting& meeting = pending_[index];
    if (isMatrix(meeting.operation) || ((meeting.mask & ~gone_ & ~meeting.arrived & here) != 0 && (apart >> index & 1) == 0)) continue;
    any = true;
    complete(index, nullptr, ready);
  }
  return any;
}

bool Warp::endOutside(FiberQueue& ready) {
  bool any = false, waits = false;
  for (std::uint32_t index = 0; index < meetings_; ++index) waits |= pending_[index].outside && isShuffle(pending_[index].operation);
  const bool forLong = waits && ++outsideRounds_ >= kOutsideRounds;
  for (std::uint32_t index = 0; index < meetings_;) {
    if (!pending_[index].outside || (isShuffle(pending_[index].operation) && !forLong)) {
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
  outsideRounds_ = 0;
  std::array<std::uint64_t, kWarpLanes> results;
  if (meeting.operation != WarpOperation::sync) evaluate(meeting.operation, meeting.arrived, operands_, results);
  if ((meeting.mask | gone_) == ~std::uint32_t{0}) {
    ended_.mask = 0;  // all lanes are here, and none is behind
  } else if (isShuffle(meeting.operation)) {
    ended_.operation = meeting.operation;
    ended_.mask = meeting.mask;
    ended_.lanes = meeting.arrived & meeting.mask;
    ended_.outside = meeting.arrived & ~meeting.mask;
    ended_.operands = operands_;
  }
  for (std::uint32_t left = meeting.arrived; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    Fiber* fiber = waiting_[lane];
    if (meeting.operation != WarpOperation::sync) fiber->result = results[lane];
    if (fiber != last) ready.push(fiber);
  }
}

}  // namespace rouse::cpu
