#include <random>
#include <vector>

#include "sched/policies/policies.h"

namespace rouse::sched {
namespace {

// Torpor-Random (section 7.3): on an idle GPU that has the model, else on any idle one, from the host.
class Random final : public Placement {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}

  std::optional<Decision> next(const State& state, Time) override {
    if (state.idle.empty()) return std::nullopt;
    for (const Entry& entry : state.order) {
      const Function& f = state[entry.function];
      for (const Copy& copy : f.copies)
        if (state[copy.gpu].idle() && copy.whole()) return Decision{Decision::Kind::run, f.id, copy.gpu, {}, false, Why::resident};
      candidates_.clear();
      for (const GpuId id : state.idle)
        if (f.allowedOn(id) && State::lacks(f, id) && state.fits(f, state[id])) candidates_.push_back(id);
      if (candidates_.empty()) continue;
      const GpuId gpu = candidates_[random_() % candidates_.size()];
      return Decision{Decision::Kind::run, f.id, gpu, {Source::Kind::host, {}}, false, Why::random};
    }
    return std::nullopt;
  }

 private:
  std::mt19937_64 random_;
  std::vector<GpuId> candidates_;
};

}  // namespace

std::unique_ptr<Placement> randomPlacement(std::uint64_t seed) { return std::make_unique<Random>(seed); }

}  // namespace rouse::sched
