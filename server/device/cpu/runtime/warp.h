// Operations in which lanes of a warp meet (PTX ISA: bar.warp.sync, shfl.sync, vote.sync, match.sync, redux.sync).
// Threads are scheduled independently: a lane waits until all lanes of its mask that have not exited have come to the
// same operation with the same mask, wherever in the program that is; lanes outside the mask are not concerned, but those that come to a shuffle nevertheless. Programs name lanes that
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
  // Nobody of the block can run. Meetings whose other lanes wait at barriers end with those who are there, and so do those of one mask, all of whose lanes wait, but at different operations: the
  // parts of a warp that go through shuffles of their own, each naming all of it, which GPUs without independent threads do part by part. Of matrices nothing is half done.
  // False: there is none such.
  bool giveUp(FiberQueue& ready);
  // Nobody of the block can run but those that spin: votes of lanes that their own masks leave out end with those who are there. So do shuffles, but only when that has been so for long: who spins
  // may be who is named. False: there is none such.
  bool endOutside(FiberQueue& ready);
  // A lane has exited: nobody waits for it any more.
  void laneExited(std::uint32_t lane, FiberQueue& ready);
  // Lanes that poll (Fiber::polls).
  void lanePolls(bool polls) { polling_ += polls ? 1 : -1; }
  bool anyPolls() const { return polling_ != 0; }

  // The lane waits until it is its turn to go on (rouse_cpu_step). `soft`: not for lanes that poll.
  void step(Fiber* fiber, std::uint64_t place, bool soft);
  bool anySteps() const { return stepping_ != 0; }
  // Lanes that have let others go first, though they do not only poll: those that step wait for them.
  void laneIsBehind(bool behind) { behind_ += behind ? 1 : -1; }
  // No lane of the warp can run but those that step and those that poll or are behind: moves those whose turn it is to `going`, and says how many.
  // `holds`: those that step wait for those that poll.
  std::uint32_t letStep(bool holds, FiberQueue& going);
  // Lanes ask who is active where they are, and no other can run but, if `mayCome`, those that poll: whether to wait for these a while longer.
  bool activemaskWaits(bool mayCome);
  // All that step.
  std::uint32_t letAllStep(FiberQueue& going) { return letGo(stepping_, going); }

 private:
  struct Meeting {
    WarpOperation operation;
    std::uint32_t mask;
    std::uint32_t arrived;
    bool outside;  // of lanes that their own masks leave out, only
    bool isComplete(std::uint32_t gone) const { return (arrived & mask) == (mask & ~gone); }
  };
  // A shuffle that lanes named by its mask have ended, for those that come to it behind them though it does not name them.
  struct Ended {
    WarpOperation operation;
    std::uint32_t mask = 0;  // 0: there is none
    std::uint32_t lanes;     // that took part
    std::uint32_t outside;   // that have had their results of it without being named
    std::array<LaneOperands, kWarpLanes> operands;
  };
  bool takeOfEnded(Fiber* fiber, WarpOperation operation, std::uint32_t mask, const LaneOperands& operands);
  // Moves everyone but `last` to `ready` and ends the meeting.
  void complete(std::uint32_t index, Fiber* last, FiberQueue& ready);
  // Whether all lanes that the mask names wait in meetings that have it.
  bool isAllOf(std::uint32_t mask) const;
  std::uint32_t letGo(std::uint32_t lanes, FiberQueue& going);

  std::uint32_t gone_ = 0;  // lanes that have exited or never were
  std::uint32_t meetings_ = 0;
  std::int32_t polling_ = 0, behind_ = 0;
  std::uint32_t stepping_ = 0, soft_ = 0, waits_ = 0;  // lanes: that step, softly, in loops that wait
  std::uint32_t passedOver_ = 0, patience_ = 0;
  std::uint32_t activemaskRounds_ = 0, activemaskPatience_ = 0;
  std::uint32_t outsideRounds_ = 0;  // since a meeting has ended, in which lanes that are not named have waited for those that are
  std::array<std::uint64_t, kWarpLanes> places_;  // of those that step
  std::array<Meeting, kWarpLanes> pending_;  // each has at least one lane that waits in no other
  std::array<LaneOperands, kWarpLanes> operands_;
  Ended ended_;
  std::array<Fiber*, kWarpLanes> waiting_;  // in meetings, or stepping
};

}  // namespace rouse::cpu
