// Kernels whose threads wait at barriers only, without fibers (after Karrenberg, Hack, and PoCL's work-item loops).
//
// The kernel (`step_function`) is cut at its barriers (`cutter`). A segment is what a thread does from one cut to the next, whichever that is; all
// threads of the block do it in loops the optimizer can see through (`segment_loops`), and then all go on from where they have come to. What a
// thread needs behind a cut lies in its frame meanwhile (`frame`). What can be computed from the thread's number and the parameters again is not kept.
//
// Where all threads come to the same barriers (Uniformity), and do not poll, or exchange values beside that, the way between segments is known, values that are the same for all are kept
// once, and branches that decide which barrier comes next are cuts as well: loops around barriers become loops around loops over threads. So it is of those that are left where others have
// returned early (Early::mayEnd). Elsewhere (each has its own number of rounds) each thread's next segment is noted; such branches are cuts there, too, where nobody waits, so that
// what all do before them is done side by side. Of kernels whose lanes exchange values that is each warp's next segment: all of its lanes come to it, or the kernel is one for fibers.
// A segment of its own is each round of a loop that waits for what others store: threads poll by turns, and where none does anything else, other
// blocks run (`rouse_cpu_let_others`). With several barriers' numbers, that might be a deadlock, and is left to fibers.
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <optional>

#include "server/device/cpu/codegen/barrier_objects.h"
#include "server/device/cpu/codegen/cutter.h"
#include "server/device/cpu/codegen/frame.h"
#include "server/device/cpu/codegen/lanes.h"
#include "server/device/cpu/codegen/matrix_registers.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/rounds.h"
#include "server/device/cpu/codegen/segment_loops.h"
#include "server/device/cpu/codegen/step_function.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::size_t kMostCuts = 1024, kMostCutsApart = 128;

// Before anything is cut: as if each segment reached all of the step.
bool mayBeTooLarge(const llvm::Function& step, std::size_t cuts) { return cuts > kMostCutsApart || (cuts + 1) * step.getInstructionCount() > kMostStepInstructions; }

// All segments together. What several reach each has for itself.
bool isTooLarge(llvm::Function& step, const std::vector<Cut>& cuts, bool twice) {
  if (cuts.size() > kMostCuts) return true;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 32> exits, seen;
  for (const Cut& cut : cuts) exits.insert(cut.exit);
  std::size_t instructions = 0;
  llvm::SmallVector<const llvm::BasicBlock*, 32> work;
  const auto add = [&](const llvm::BasicBlock* from) {
    seen.clear();
    work.assign(1, from);
    while (!work.empty()) {
      const llvm::BasicBlock* const block = work.pop_back_val();
      if (!seen.insert(block).second) continue;
      instructions += block->size();
      if (!exits.contains(block)) work.append(llvm::succ_begin(block), llvm::succ_end(block));
    }
    return instructions * (twice ? 2 : 1) <= kMostStepInstructions;
  };
  return !add(&step.getEntryBlock()) || !llvm::all_of(cuts, [&](const Cut& cut) { return add(cut.resume); });
}

// Marks what is the same in all lanes of each warp, where they go together through all of the step.
void findSameInWarps(llvm::Function& step, Beside beside) {
  llvm::DominatorTree dominators(step);
  llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops) llvm::formLCSSARecursively(*loop, dominators, &loops, nullptr);
  const LaneShapes shapes(step, beside);
  for (llvm::Instruction& instruction : llvm::instructions(step)) {
    if (shapes.of(&instruction).isUniform()) markSameInWarp(instruction);
  }
}

// What cuts a kernel into segments.
enum class Cuts : std::uint8_t { barriers, shared, rounds };

// How a kernel is split, and what else may help if it is not.
struct Way {
  Cuts cuts = Cuts::barriers;
  bool apart = false;         // threads that end early are not told from those that come to other barriers
  bool pollsInLanes = false;  // warps poll where the lanes go apart, too, where nobody else is needed meanwhile (Cutter::pollInLanes)
  bool pollsTogether = false;  // whole warps poll, or it is given up: so what is the same in all lanes of a warp stays that
  bool mayStep = false;  // it is given up where threads find what others leave them in whole warps side by side only
  bool inStep = false;   // so it is split
  bool warpsApart = false;  // warps come to barriers each in its own way, or it is given up
  bool pollingHelps = false, steppingHelps = false, apartHelps = false, warpsApartHelp = false;
};

// Nothing where the kernel is one for fibers, or for another way; whatever has become of the step.
std::optional<SplitLoop> split(llvm::Function& step, llvm::StringRef name, bool independent, llvm::TargetMachine* lanes, Code code,
                               const std::function<void(llvm::Function&)>& tidy, Way& way) {
  if (!inlineWaiting(step, tidy)) return std::nullopt;
  if (code.goesByNumber()) {
    if (!numberFlat(step, code)) return std::nullopt;
    tidy(step);
  }
  separateAddresses(step);
  gatherLoads(step);
  ObjectWaits objects;
  if (!objects.become(step)) return std::nullopt;
  Cutter cutter(step);
  if (!cutter.findBarriers()) return std::nullopt;
  if (way.inStep) cutter.goInStep();
  if (way.cuts == Cuts::rounds && !cutter.separateRounds()) return std::nullopt;
  // Lanes of warps exchange values side by side only.
  const bool wholeWarps = cutter.hasWarpCalls();
  // Of blocks whose rows are short, threads go by their number for speed only: what is simple.
  if (code.goesByNumber() && !wholeWarps && cutter.polls()) return std::nullopt;
  if (wholeWarps && (lanes == nullptr || !hasLaneForms(step))) return std::nullopt;
  std::optional<Uniformity> uniformity;
  const bool needsCommon = cutter.reduces() || cutter.hasSeveralNumbers() || wholeWarps || !objects.none() || way.cuts != Cuts::barriers || code.goesByNumber();
  Early early = Early::never;
  Loads loads = Loads::known;
  const auto look = [&] { uniformity.emplace(step, cutter.barriers(), early, loads); };
  look();
  if ((needsCommon || (!way.apart && !cutter.polls())) && objects.none()) {
    constexpr std::pair<Early, Loads> kWays[] = {{Early::never, Loads::shared}, {Early::mayEnd, Loads::known}, {Early::never, Loads::promised}, {Early::mayEnd, Loads::promised}};
    for (const auto& [mayEnd, how] : kWays) {
      if (uniformity->barriersAreUniform()) break;
      if (cutter.polls() && mayEnd != Early::never) continue;
      // Where each may go its own way, nothing is taken for granted.
      if (!needsCommon && (mayEnd == Early::never || how != Loads::known)) continue;
      // No barrier of the program's, so nothing is promised of it.
      if (way.cuts == Cuts::rounds && how == Loads::promised) continue;
      early = mayEnd;
      loads = how;
      look();
    }
  }
  const bool common = uniformity->barriersAreUniform() && (needsCommon || !cutter.polls());
  const Beside beside = code.goesByNumber() ? Beside::warps : wholeWarps ? Beside::rows : neighboursOf(code);
  if (!common && needsCommon) {
    way.warpsApartHelp = wholeWarps && !cutter.polls() && !cutter.reduces() && !cutter.hasSeveralNumbers() && objects.none() && way.cuts == Cuts::barriers;
    if (!way.warpsApart || !way.warpsApartHelp) return std::nullopt;
  }
  if (!common && early != Early::never) {
    early = Early::never;
    loads = Loads::known;
    look();
  }
  way.apartHelps = common && !needsCommon && early != Early::never;
  if (!objects.areAlike(*uniformity)) return std::nullopt;
  if (common) {
    if (cutter.polls()) {
      cutter.separatePolls(*uniformity);
      look();
      if (cutter.separateOverwrites(*uniformity)) look();
    } else {
      const bool separated = cutter.separateOverwrites(*uniformity);
      way.steppingHelps = way.mayStep && cutter.crosses() && lanes != nullptr && hasLaneForms(step);
      if (way.steppingHelps || (!separated && !wholeWarps && way.cuts == Cuts::shared)) return std::nullopt;
      if (separated) look();
    }
    splitInductions(step, *uniformity);
    if (way.pollsTogether) findSameInWarps(step, beside);
    look();
    const Cutter::Branching branching = cutter.branching(*uniformity);
    if (cutter.holdUpPolls(branching, *uniformity)) return std::nullopt;
    way.pollingHelps = cutter.polls() && wholeWarps;
    if (way.pollsInLanes) cutter.pollInLanes();
    cutter.separateEarlyEnds(*uniformity);
    cutter.cutBranches(branching);
    if (wholeWarps) cutter.cutEarlyEnds(branching);
  } else if (wholeWarps) {
    findSameInWarps(step, beside);
    cutter.cutRounds();
  } else if (lanes != nullptr) {
    const Cutter::Branching branching = cutter.branching(*uniformity);
    if (!mayBeTooLarge(step, cutter.barriers().size() + 3 * branching.size())) cutter.cutBranchesApart(branching);
  }
  Ranges ranges{static_cast<std::uint32_t>(cutter.cuts().size()), 0, way.pollsTogether};
  cutter.cutPolls();
  ranges.polls = static_cast<std::uint32_t>(cutter.cuts().size()) - ranges.branches;
  cutter.cutBarriers();
  // Each segment twice where threads end early.
  if (isTooLarge(step, cutter.cuts(), !cutter.earlyEnds().empty())) return std::nullopt;
  Frame frame(step, cutter.cuts(), cutter.earlyEnds(), common ? &*uniformity : nullptr);
  if (!frame.keep()) return std::nullopt;
  llvm::removeUnreachableBlocks(step);
  SegmentLoops loops(step, cutter.cuts().size(), frame, independent, lanes, beside, ranges);
  if (!common && !wholeWarps) {
    loops.addApart(name);
  } else {
    if (!(common ? loops.addCommon(name) : loops.addWarpsApart(name))) return std::nullopt;
    step.eraseFromParent();
  }
  return SplitLoop{static_cast<std::uint32_t>(frame.bytes()), wholeWarps, cutter.polls()};
}

std::optional<SplitLoop> splitAnyWay(llvm::Module& module, llvm::Function& body, llvm::StringRef name, bool independent, llvm::TargetMachine* lanes, Code code,
                                     const std::function<void(llvm::Function&)>& tidy, Cuts cuts) {
  const auto made = [&](Way& way) -> std::optional<SplitLoop> {
    llvm::Function* const step = makeStep(module, body, name);
    const auto made = split(*step, name, independent, lanes, code, tidy, way);
    if (!made) step->eraseFromParent();
    return made;
  };
  Way first{.cuts = cuts, .mayStep = true};
  if (const auto loop = made(first)) return loop;
  if (first.pollingHelps) {
    Way inLanes{.cuts = cuts, .pollsInLanes = true}, together{.cuts = cuts, .pollsTogether = true};
    const auto loop = made(inLanes);
    return loop ? loop : made(together);
  }
  if (first.steppingHelps) {
    Way inStep{.cuts = cuts, .inStep = true}, alone{.cuts = cuts};
    if (const auto loop = made(inStep)) return loop;
    if (const auto loop = made(alone)) return loop;
  }
  if (first.warpsApartHelp) {
    Way warpsApart{.cuts = cuts, .warpsApart = true};
    return made(warpsApart);
  }
  if (!first.apartHelps) return std::nullopt;
  Way apart{.cuts = cuts, .apart = true};
  return made(apart);
}

}  // namespace

std::optional<SplitLoop> splitAtBarriers(llvm::Module& module, llvm::Function& body, llvm::StringRef name, bool independent,
                                         llvm::TargetMachine* lanes, Code code, const std::function<void(llvm::Function&)>& tidy) {
  return splitAnyWay(module, body, name, independent, lanes, code, tidy, Cuts::barriers);
}

std::optional<SplitLoop> splitAtRounds(llvm::Module& module, llvm::Function& body, llvm::StringRef name, bool independent, llvm::TargetMachine* lanes, Code code) {
  if (endsOfRounds(body).empty()) return std::nullopt;
  return splitAnyWay(module, body, name, independent, lanes, code, [](llvm::Function&) {}, Cuts::rounds);
}

std::optional<SplitLoop> splitAtShared(llvm::Module& module, llvm::Function& body, llvm::StringRef name, bool independent, llvm::TargetMachine* lanes, Code code) {
  bool stores = false, loads = false;
  for (const llvm::Instruction& instruction : llvm::instructions(body)) {
    const llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (pointer == nullptr || !isOfShared(pointer, body)) continue;
    (llvm::isa<llvm::StoreInst>(instruction) ? stores : loads) = true;
  }
  if (!stores || !loads) return std::nullopt;
  return splitAnyWay(module, body, name, independent, lanes, code, [](llvm::Function&) {}, Cuts::shared);
}

}  // namespace rouse::cpu::codegen
