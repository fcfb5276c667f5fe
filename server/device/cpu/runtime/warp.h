// Operations in which lanes of a warp meet (PTX ISA: bar.warp.sync, shfl.sync, vote.sync, match.sync, redux.sync).
// Threads are scheduled independently: a lane waits until all lanes of its mask that have not exited have come to the
// same operation with the same mask, wherever in the program that is; lanes outside the mask are not concerned. Programs name lanes that
// do not come, which is undefined, and hardware goes on without: so does this, when nobody else of the block can run.
#pragma once

#include <array>
#include <cstdint>

#include "server/device/cpu/runtime/fiber.h"

namespace rouse::cpu {

inline constexpr std::uint32_t kWarpLanes = 32;

enum class WarpOperation : std::uint32_t {
  sync,
  shuffleUp,
  shuffleDown,
  shuffleButterfly,
  shuffleIndex,
  voteAll,
  voteAny,
  voteUniform,
  voteBallot,
  matchAny,
  matchAll,
  reduceAdd,
  reduceMinUnsigned,
  reduceMaxUnsigned,
  reduceMinSigned,
  reduceMaxSigned,
  reduceAnd,
  reduceOr,
  reduceXor,
  // And all operations on matrices: kMatrixOperations | MatrixOperation::code(). Different ones do not meet.
};
inline constexpr std::uint32_t kMatrixOperations = std::uint32_t{1} << 31;

// What one lane brings.
struct LaneOperands {
  std::uint64_t value = 0;    // matrices: the address of the lane's registers (abi.h, rouse_cpu_matrix)
  std::uint32_t lane = 0;     // shuffles: the lane, delta or lane mask
  std::uint32_t control = 0;  // shuffles: clamp and segment mask; votes: the lane's own member mask
};

// Fills results[lane] for every lane of `lanes` (those that took part). Bit 32 is the predicate of shuffles and
// match.all.
void evaluate(WarpOperation operation, std::uint32_t lanes, const std::array<LaneOperands, kWarpLanes>& operands,
              std::array<std::uint64_t, kWarpLanes>& results);

class Warp {
 public:
  // `lanes`: how many of the 32 there are.
  void reset(std::uint32_t lanes);

  // The lane arrives, and waits unless it is the last: then true, and the others are moved to `ready`, results in
  // Fiber::result.
  bool meet(Fiber* fiber, WarpOperation operation, std::uint32_t mask, const LaneOperands& operands, FiberQueue& ready);
  // Nobody of the block can run. Meetings whose other lanes wait at barriers end with those who are there; of matrices nothing is half done.
  // False: there is none such.
  bool giveUp(FiberQueue& ready);
  // Nobody of the block can run but those that spin: votes of lanes that their own masks leave out end with those who are there. False: there is none such.
  bool endOutside(FiberQueue& ready);
  // A lane has exited: nobody waits for it any more.
  void laneExited(std::uint32_t lane, FiberQueue& ready);
  // Lanes that poll (Fiber::polls).
  void lanePolls(bool polls) { polling_ += polls ? 1 : -1; }
  bool anyPolls() const { return polling_ != 0; }

 private:
  struct Meeting {
    WarpOperation operation;
    std::uint32_t mask;
    std::uint32_t arrived;
    bool outside;  // of lanes that their own masks leave out
  };
  // Moves everyone but `last` to `ready` and ends the meeting.
  void complete(std::uint32_t index, Fiber* last, FiberQueue& ready);

  std::uint32_t gone_ = 0;  // lanes that have exited or never were
  std::uint32_t meetings_ = 0;
  std::int32_t polling_ = 0;
  std::array<Meeting, kWarpLanes> pending_;  // each has at least one lane that waits in no other
  std::array<LaneOperands, kWarpLanes> operands_;
  std::array<Fiber*, kWarpLanes> waiting_;
};

}  // namespace rouse::cpu
