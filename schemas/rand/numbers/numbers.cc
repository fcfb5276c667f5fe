#include "schemas/rand/numbers/numbers.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include "schemas/rand/numbers/loops.h"
#include "schemas/rand/numbers/mt19937.h"
#include "schemas/rand/numbers/mtgp.h"

namespace rouse::rand {
namespace {

// What a piece should make, so that it is worth being one.
constexpr std::uint64_t kPieceResults = 1 << 17;
// Of XORWOW in the seeded ordering, from one lane's seed to the next one's.
constexpr std::uint64_t kSeedsApart = 3133713;

class Made : public Numbers {
 public:
  explicit Made(const Generation& generation) : generation_(generation), bytes_(bytesOf(generation.kind)) {
    distribution_ = {generation.kind, generation.first, generation.second, nullptr, generation.type == Type::mt19937};
    if (generation.kind == Kind::poisson) distribution_.poisson = &poisson_.emplace(generation.first);
  }

 protected:
  const Generation generation_;
  const std::uint64_t bytes_;  // of a result
  Distribution distribution_;

 private:
  std::optional<Poisson> poisson_;
};

std::uint64_t drawsOf(const std::vector<Stretch>& stretches, std::uint64_t lane) {
  return std::prev(std::ranges::upper_bound(stretches, lane, {}, &Stretch::lane))->draws;
}

// Cut by lanes, so that nothing is skipped but where a piece begins.
template <class State>
class Lanes final : public Made {
 public:
  Lanes(const Generation& generation, std::span<const Stretch> stretches)
      : Made(generation), stretches_(stretches.begin(), stretches.end()), lanes_(lanesOf(generation.type, generation.ordering)) {
    results_ = stepOf(generation.type, generation.kind).results;
    steps_ = generation.count / results_;
    used_ = std::min<std::uint64_t>(steps_, lanes_);
    const std::uint64_t perLane = (steps_ + lanes_ - 1) / lanes_ * results_;
    perPiece_ = std::clamp<std::uint64_t>(kPieceResults / perLane / kTogether, 1, lanes_ / kTogether) * kTogether;
  }

  std::uint64_t pieces() const override { return (used_ + perPiece_ - 1) / perPiece_; }

  void make(std::uint64_t piece, std::byte* output) const override {
    State states[kTogether];
    const std::uint64_t end = std::min((piece + 1) * perPiece_, used_);
    for (std::uint64_t from = piece * perPiece_; from < end; from += kTogether) {
      const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(kTogether, end - from));
      begin(from, count, states);
      LaneRows rows;
      rows.lanes = count;
      rows.rows = (steps_ - from + lanes_ - 1) / lanes_;
      rows.last = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, steps_ - from - (rows.rows - 1) * lanes_));
      rows.output = output + from * results_ * bytes_;
      rows.rowBytes = std::uint64_t{lanes_} * results_ * bytes_;
      if constexpr (std::is_same_v<State, XorwowState>) loops().xorwow(states, rows, distribution_);
      else loops().mrg(states, rows, distribution_);
    }
  }

 private:
  // Lanes are counted from that of the first step.
  void begin(std::uint64_t from, std::uint32_t count, State* states) const {
    State state;
    std::uint64_t drawn = 0;  // by `state`
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t lane = (generation_.step % lanes_ + from + i) % lanes_;
      const std::uint64_t draws = drawsOf(stretches_, lane);
      if (generation_.ordering == Ordering::seeded) {
        states[i] = seeded(generation_.seed + kSeedsApart * lane);
        skip(states[i], draws);
        continue;
      }
      if (i != 0 && lane != 0 && draws == drawn) {
        skipSubsequences(state, 1);
      } else {
        state = seeded(generation_.seed);
        skip(state, drawn = draws);
        skipSubsequences(state, lane);
      }
      states[i] = state;
    }
  }
  static State seeded(std::uint64_t seed) {
    if constexpr (std::is_same_v<State, XorwowState>) return xorwowSeeded(seed);
    else return mrgSeeded(seed);
  }

  const std::vector<Stretch> stretches_;
  const std::uint32_t lanes_;
  std::uint64_t results_ = 1, steps_ = 0, used_ = 0, perPiece_ = kTogether;
};

// Cut by steps: a lane's counter is all of its state.
class Philox final : public Made {
 public:
  Philox(const Generation& generation, std::span<const Stretch> stretches) : Made(generation), stretches_(stretches.begin(), stretches.end()) {
    skipped_ = generation.step % 4;
    draws_ = stepOf(generation.type, generation.kind).draws;
  }

  std::uint64_t pieces() const override { return (generation_.count + skipped_ + kPieceResults - 1) / kPieceResults; }

  void make(std::uint64_t piece, std::byte* output) const override {
    PhiloxLanes lanes;
    // Results are counted from the first of the step that the call begins in.
    const std::uint64_t end = std::min((piece + 1) * kPieceResults, generation_.count + skipped_);
    for (std::uint64_t from = piece * kPieceResults; from < end; from += 4 * kTogether) {
      const std::uint64_t steps = from / 4;
      for (std::uint32_t i = 0; i < kTogether; ++i) lanes.lanes[i] = static_cast<std::uint32_t>((generation_.step / 4 + steps + i) % kLanes);
      for (std::uint32_t i = 0; i < kTogether; ++i) lanes.counters[i] = (steps + i) / kLanes * draws_;
      if (stretches_.size() == 1) {
        for (std::uint64_t& counter : lanes.counters) counter += stretches_[0].draws;
      } else {
        for (std::uint32_t i = 0; i < kTogether; ++i) lanes.counters[i] += drawsOf(stretches_, lanes.lanes[i]);
      }
      const auto skipped = static_cast<std::uint32_t>(from == 0 ? skipped_ : 0);
      const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(4 * kTogether, end - from)) - skipped;
      loops().philox(generation_.seed, lanes, skipped, count, output + (from + skipped - skipped_) * bytes_, distribution_);
    }
  }

 private:
  static constexpr std::uint64_t kLanes = 65536;
  const std::vector<Stretch> stretches_;
  std::uint64_t skipped_ = 0, draws_ = 1;
};

// States of Mersenne Twisters' blocks at a row of theirs, or before: there is no way there but row by row, so the last ones are kept.
template <class Block>
struct States {
  std::uint64_t seed = 0, row = 0;
  std::vector<Block> blocks;
};
template <class States, std::size_t most>
class KeptStates {
 public:
  // The latest of these blocks that are not behind `row`; null: none.
  std::shared_ptr<const States> find(std::uint64_t seed, std::size_t blocks, std::uint64_t row) {
    const std::lock_guard lock(mutex_);
    auto best = all_.end();
    for (auto each = all_.begin(); each != all_.end(); ++each)
      if ((*each)->seed == seed && (*each)->blocks.size() == blocks && (*each)->row <= row && (best == all_.end() || (*each)->row > (*best)->row)) best = each;
    if (best == all_.end()) return nullptr;
    all_.splice(all_.begin(), all_, best);
    return all_.front();
  }
  void keep(std::shared_ptr<const States> states) {
    const std::lock_guard lock(mutex_);
    all_.push_front(std::move(states));
    if (all_.size() > most) all_.pop_back();
  }
  static KeptStates& get() {
    static KeptStates* const the = new KeptStates;
    return *the;
  }

 private:
  std::mutex mutex_;
  std::list<std::shared_ptr<const States>> all_;  // the one used last first
};

using MtgpStates = States<Mtgp>;
using KeptMtgp = KeptStates<MtgpStates, 16>;  // of 800 KB each

// A piece is a block with all of its rows.
class MtgpNumbers final : public Made {
 public:
  explicit MtgpNumbers(const Generation& generation)
      : Made(generation), blocks_(mtgpBlocksOf(generation.ordering)), first_(generation.step / (blocks_ * kMtgpRow)), skipped_(generation.step % (blocks_ * kMtgpRow)) {
    from_ = KeptMtgp::get().find(generation.seed, blocks_, first_);
    behind_ = std::make_shared<MtgpStates>();
    behind_->seed = generation.seed;
    behind_->row = (generation.step + generation.count) / (blocks_ * kMtgpRow);
    behind_->blocks.resize(blocks_);
    left_ = blocks_;
  }

  std::uint64_t pieces() const override { return blocks_; }

  void make(std::uint64_t piece, std::byte* output) const override {
    Mtgp block = from_ != nullptr ? from_->blocks[piece] : Mtgp(static_cast<std::uint32_t>(piece), generation_.seed);
    block.skip(first_ - (from_ != nullptr ? from_->row : 0));
    std::uint32_t words[kMtgpRow];
    // Results are counted from the first of the row that the call begins in.
    const std::uint64_t begin = skipped_, end = skipped_ + generation_.count;
    for (std::uint64_t row = 0;; ++row) {
      if (first_ + row == behind_->row) behind_->blocks[piece] = block;  // the last one may not be used up
      const std::uint64_t at = (row * blocks_ + piece) * kMtgpRow, low = std::max(at, begin), high = std::min(at + kMtgpRow, end);
      if (row * blocks_ * kMtgpRow >= end) break;
      block.row(words);
      if (low < high) loops().words(words + (low - at), static_cast<std::uint32_t>(high - low), output + (low - begin) * bytes_, distribution_);
    }
    if (--left_ == 0) KeptMtgp::get().keep(behind_);
  }

 private:
  const std::uint64_t blocks_, first_, skipped_;
  std::shared_ptr<const MtgpStates> from_;
  std::shared_ptr<MtgpStates> behind_;
  mutable std::atomic<std::uint64_t> left_;
};

// Of MT19937, neighbouring twisters at a row; null: nobody has needed them.
struct TwisterGroup {
  std::uint64_t row = 0;
  std::vector<Twister> all;
};
using TwisterStates = States<std::shared_ptr<const TwisterGroup>>;
using KeptTwisters = KeptStates<TwisterStates, 4>;  // of up to 20 MB each
using KeptBeginnings = KeptStates<TwisterStates, 2>;  // they take longest: for another generator of that seed

// A piece is a group with all of its rows.
class TwisterNumbers final : public Made {
 public:
  explicit TwisterNumbers(const Generation& generation) : Made(generation), first_(generation.step / kRow), skipped_(generation.step % kRow) {
    const std::uint64_t end = skipped_ + generation.count;
    // Of a call within a row not all are needed.
    if (end <= kRow) begin_ = skipped_ / kGroupRow, end_ = (end + kGroupRow - 1) / kGroupRow;
    from_ = KeptTwisters::get().find(generation.seed, kGroups, first_);
    begun_ = KeptBeginnings::get().find(generation.seed, kGroups, 0);
    if (from_ == nullptr) from_ = begun_;
    behind_ = std::make_shared<TwisterStates>();
    behind_->seed = generation.seed;
    behind_->row = (generation.step + generation.count) / kRow;
    if (from_ != nullptr) behind_->blocks = from_->blocks;
    behind_->blocks.resize(kGroups);
    beginnings_ = std::make_shared<TwisterStates>();
    beginnings_->seed = generation.seed;
    if (begun_ != nullptr) beginnings_->blocks = begun_->blocks;
    beginnings_->blocks.resize(kGroups);
    left_ = end_ - begin_;
  }

  std::uint64_t pieces() const override { return end_ - begin_; }

  void make(std::uint64_t piece, std::byte* output) const override {
    const std::uint64_t which = begin_ + piece;
    const TwisterGroup* kept = from_ != nullptr ? from_->blocks[which].get() : nullptr;
    if (kept == nullptr && begun_ != nullptr) kept = begun_->blocks[which].get();
    auto group = std::make_shared<TwisterGroup>();
    if (kept != nullptr) {
      group->all = kept->all;
    } else {
      group->all = twisters(generation_.seed, static_cast<std::uint32_t>(which * kGroup), kGroup);
      beginnings_->blocks[which] = std::make_shared<TwisterGroup>(*group);
      newlyBegun_ = true;
    }
    for (Twister& each : group->all) each.skip(first_ - (kept != nullptr ? kept->row : 0));
    group->row = behind_->row;
    std::uint32_t words[kGroupRow];
    const std::uint64_t begin = skipped_, end = skipped_ + generation_.count;
    for (std::uint64_t row = 0;; ++row) {
      if (first_ + row == behind_->row) behind_->blocks[which] = std::make_shared<TwisterGroup>(*group);  // the last one may not be used up
      if (row * kRow >= end) break;
      const std::uint64_t at = row * kRow + which * kGroupRow, low = std::max(at, begin), high = std::min(at + kGroupRow, end);
      for (std::uint32_t i = 0; i < kGroup; ++i) group->all[i].row(words + i * kTwisterRow);
      if (low < high) loops().words(words + (low - at), static_cast<std::uint32_t>(high - low), output + (low - begin) * bytes_, distribution_);
    }
    if (--left_ != 0) return;
    if (newlyBegun_) KeptBeginnings::get().keep(beginnings_);
    KeptTwisters::get().keep(behind_);
  }

 private:
  static constexpr std::uint64_t kGroup = 64, kGroups = kTwisters / kGroup, kGroupRow = kGroup * kTwisterRow, kRow = kTwisters * kTwisterRow;
  const std::uint64_t first_, skipped_;
  std::uint64_t begin_ = 0, end_ = kGroups;
  std::shared_ptr<const TwisterStates> from_, begun_;
  std::shared_ptr<TwisterStates> behind_, beginnings_;
  mutable std::atomic<bool> newlyBegun_ = false;
  mutable std::atomic<std::uint64_t> left_;
};

// One dimension after the other.
class Sobol final : public Made {
 public:
  using Made::Made;
  std::uint64_t pieces() const override { return (generation_.count + kPieceResults - 1) / kPieceResults; }
  void make(std::uint64_t piece, std::byte* output) const override {
    const bool scrambled = generation_.type == Type::scrambledSobol32 || generation_.type == Type::scrambledSobol64;
    const std::uint64_t points = generation_.count / generation_.dimensions;
    const std::uint64_t end = std::min((piece + 1) * kPieceResults, generation_.count);
    for (std::uint64_t from = piece * kPieceResults; from < end;) {
      const auto dimension = static_cast<std::uint32_t>(from / points);
      const std::uint64_t point = from % points, count = std::min(points - point, end - from);
      loops().sobol(directionsOf(dimension, scrambled), shiftOf(dimension, scrambled), is64(generation_.type), generation_.step + point, count,
                    output + from * bytes_, distribution_);
      from += count;
    }
  }
};

}  // namespace

const Loops& loops() {
#if defined(__x86_64__)
  static const Loops& found = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? kLoops512
                              : __builtin_cpu_supports("avx2")                                        ? kLoops256
                                                                                                       : kLoopsAny;
  return found;
#else
  return kLoopsAny;
#endif
}

std::unique_ptr<Numbers> numbersOf(const Generation& generation, std::span<const Stretch> stretches) {
  switch (generation.type) {
    case Type::xorwow:
      return std::make_unique<Lanes<XorwowState>>(generation, stretches);
    case Type::mrg32k3a:
      return std::make_unique<Lanes<MrgState>>(generation, stretches);
    case Type::philox:
      return std::make_unique<Philox>(generation, stretches);
    case Type::mtgp32:
      return std::make_unique<MtgpNumbers>(generation);
    case Type::mt19937:
      return std::make_unique<TwisterNumbers>(generation);
    default:
      return std::make_unique<Sobol>(generation);
  }
}

}  // namespace rouse::rand
