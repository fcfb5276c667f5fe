#include <algorithm>
#include <vector>

#include "sched/policies/policies.h"

namespace rouse::sched {
namespace {

// Torpor's required request count with the adaptive threshold (section 5.2; what the paper leaves to its technical report is as
// in the published prototype's router). A function's weight is its mean latency times (p n - m) / (1 - p): GPU time that it
// would need to comply. Every 2 s functions are sorted by it; those first ones whose positive weights add up to no more than
// alpha times the sum of all are of high priority, and served by descending weight: who needs most first. The others come after
// them, by ascending weight. Every 40 s alpha doubles (up to 1) or halves when the part of the functions that comply has risen
// or fallen by 4%, and grows by 1% otherwise.
//
// The prototype counts n and m from its start; here they are those of the window, as for every policy.
class Torpor final : public Queueing {
 public:
  Key key(const State&, const Function& f, Time) const override {
    const double weight = weigh(f);
    const bool high = index(f.id) >= low_.size() || !low_[index(f.id)];
    return {(f.spec.strict ? 0 : 2) + (high ? 0 : 1), high ? -weight : weight, f.headNumber};
  }

  std::optional<Time> refreshAt() const override { return next_; }

  void refresh(const State& state, Time now) override {
    next_ = now + kSort;
    struct Weighed {
      double weight;
      FunctionId id;
    };
    std::vector<Weighed> weighed;
    double sum = 0;
    std::size_t complying = 0;
    for (const Function& f : state.functions) {
      if (!f.known || f.window.requests() == 0) continue;
      weighed.push_back({weigh(f), f.id});
      sum += std::max(0.0, weighed.back().weight);
      complying += f.window.complies(f.spec.percentile);
    }
    std::sort(weighed.begin(), weighed.end(), [](const Weighed& a, const Weighed& b) {
      return a.weight != b.weight ? a.weight < b.weight : a.id < b.id;
    });
    low_.assign(state.functions.size(), false);
    double running = 0;
    bool over = false;
    for (const Weighed& one : weighed) {
      running += std::max(0.0, one.weight);
      over = over || running > sum * alpha_ * kRounding;
      if (over) low_[index(one.id)] = true;
    }
    if (weighed.empty() || ++sorts_ < kSortsPerChange) return;
    sorts_ = 0;
    const double part = static_cast<double>(complying) / static_cast<double>(weighed.size());
    const double change = before_ > 0 ? (part - before_) / before_ : kChange;
    if (change >= kChange) {
      alpha_ = std::min(1.0, alpha_ * 2), before_ = part;
    } else if (change < -kChange) {
      alpha_ /= 2, before_ = part;
    } else {
      alpha_ = std::min(1.0, alpha_ * 1.01);
    }
  }

 private:
  static constexpr Duration kSort = std::chrono::seconds(2);
  static constexpr int kSortsPerChange = 20;
  static constexpr double kChange = 0.04;
  static constexpr double kRounding = 1 + 1e-9;  // of a sum, added up twice

  static double weigh(const Function& f) { return f.meanLatency * f.window.required(f.spec.percentile); }

  Time next_{};  // at once
  std::vector<bool> low_;
  double alpha_ = 1, before_ = 0;
  int sorts_ = 0;
};

}  // namespace

std::unique_ptr<Queueing> torporQueueing() { return std::make_unique<Torpor>(); }

}  // namespace rouse::sched
