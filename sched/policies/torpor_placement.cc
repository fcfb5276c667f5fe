#include "sched/policies/policies.h"

namespace rouse::sched {
namespace {

// Torpor's interference-aware scheduling (section 5.3, Algorithm 1): where the model is; else from the GPU that has it, over the
// fastest NVLink; else from the host, on a GPU whose neighbour behind the switch loads nothing, or a light model, or on any.
class Torpor final : public Placement {
 public:
  std::optional<Decision> next(const State& state, Time) override {
    if (state.idle.empty()) return std::nullopt;
    for (const Entry& entry : state.order)
      if (auto decision = place(state, state[entry.function])) return decision;
    return std::nullopt;
  }

 private:
  static std::optional<Decision> place(const State& state, const Function& f) {
    for (const Copy& copy : f.copies)
      if (state[copy.gpu].idle() && copy.whole()) return Decision{Decision::Kind::run, f.id, copy.gpu, {}, false, Why::resident};

    std::optional<Decision> best;
    double fastest = 0;
    for (const Copy& copy : f.copies) {
      if (!copy.whole()) continue;
      for (const GpuId id : state.idle) {
        const Gpu& gpu = state[id];
        const double rate = state.peerRate(gpu, copy.gpu);
        if (rate <= fastest || f.copyOn(id) != nullptr || !may(state, f, gpu)) continue;
        fastest = rate;
        best = Decision{Decision::Kind::run, f.id, id, {Source::Kind::peer, copy.gpu}, false, Why::fastestPeer};
      }
    }
    if (best) return best;

    int least = 3;
    Rank cheapest;
    for (const GpuId id : state.idle) {
      const Gpu& gpu = state[id];
      if (!may(state, f, gpu)) continue;
      const int interference = neighbourLoads(state, gpu);
      const Rank leaves = whoLeaves(f, gpu);
      if (interference > least || (interference == least && leaves >= cheapest)) continue;
      least = interference, cheapest = leaves;
      const Why why = interference == 0 ? Why::quietLink : interference == 1 ? Why::lightLink : Why::cheapestRoom;
      best = Decision{Decision::Kind::run, f.id, id, {Source::Kind::host, {}}, false, why};
    }
    return best;
  }

  static bool may(const State& state, const Function& f, const Gpu& gpu) {
    return f.allowedOn(gpu.id) && State::lacks(f, gpu.id) && state.fits(f, gpu);
  }

  // Of several GPUs that will do as well, the one whose eviction costs least: memory is one pool (section 5.4).
  static Rank whoLeaves(const Function& f, const Gpu& gpu) {
    if (gpu.used + f.spec.memoryBytes <= gpu.spec.memoryBytes || gpu.leavers.empty()) return {-1, static_cast<double>(gpu.used)};
    return gpu.leavers.begin()->rank;
  }

  // 0: nothing, 1: a light model, 2: a heavy one.
  static int neighbourLoads(const State& state, const Gpu& gpu) {
    int loads = 0;
    for (const Traffic::Transfer& transfer : state.traffic[gpu.spec.switchId].transfers())
      loads = std::max(loads, state.heavy(state[transfer.function], state[transfer.gpu]) ? 2 : 1);
    return loads;
  }
};

}  // namespace

std::unique_ptr<Placement> torporPlacement() { return std::make_unique<Torpor>(); }

}  // namespace rouse::sched
