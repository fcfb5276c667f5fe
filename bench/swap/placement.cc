#include "bench/swap/placement.h"

#include <algorithm>
#include <cstdlib>
#include <chrono>
#include <random>

#include "bench/swap/first_fit.h"
#include "memory/placement.h"

namespace rouse::bench {
namespace {

using memory::Extent;
using Clock = std::chrono::steady_clock;

struct Model {
  std::uint64_t owner = 0;
  std::uint64_t lastUse = 0;
  std::vector<Extent> extents;
  std::uint32_t wanted = 0;  // granules still to come
};

template <class Allocator>
class Churning {
 public:
  explicit Churning(const PlacementRun& run) : run_(run), random_(run.seed), allocator_(run.granules) {
    nanoseconds_.reserve(run.steps);
  }

  PlacementFigures go() {
    while (steps_ < run_.steps) {
      switch (run_.churn) {
        case Churn::byGroup: arriveByGroup(); break;
        case Churn::singles: single(); break;
        default: arrive(); break;
      }
      sample();
    }
    figures_.fragmentationMean = samples_ == 0 ? 0 : sum_ / static_cast<double>(samples_);
    figures_.allocations = nanoseconds_.size();
    figures_.extentsPerAllocation = static_cast<double>(extents_) / static_cast<double>(nanoseconds_.size());
    std::sort(nanoseconds_.begin(), nanoseconds_.end());
    figures_.allocateNsP50 = nanoseconds_[nanoseconds_.size() / 2];
    figures_.allocateNsP99 = nanoseconds_[nanoseconds_.size() * 99 / 100];
    return figures_;
  }

 private:
  std::uint32_t used() const { return run_.granules - allocator_.freeGranules(); }
  std::uint32_t target() const { return static_cast<std::uint32_t>(run_.granules * run_.use); }

  void take(Model& model, std::uint32_t count) {
    fresh_.clear();
    const auto begin = Clock::now();
    const bool given = allocator_.allocate(model.owner, count, fresh_);
    const auto end = Clock::now();
    nanoseconds_.push_back(static_cast<float>(std::chrono::duration<double, std::nano>(end - begin).count()));
    figures_.refused += !given;
    extents_ += fresh_.size();
    model.extents.insert(model.extents.end(), fresh_.begin(), fresh_.end());
    ++steps_;
  }

  void give(std::uint64_t owner, Extent extent) {
    if (!allocator_.free(owner, extent)) std::abort();  // it is this owner's
    ++steps_;
  }

  Model newModel() {
    const auto& sizes = modelGranules();
    return {++owners_, ++time_, {}, sizes[random_() % sizes.size()]};
  }

  void makeRoom(std::uint32_t count) {
    while (used() + count > target() && !models_.empty()) {
      full_ = true;
      const bool lru = run_.churn == Churn::lru || run_.churn == Churn::byGroup;
      const auto out = lru ? std::min_element(models_.begin(), models_.end(),
                                              [](const Model& a, const Model& b) { return a.lastUse < b.lastUse; })
                           : models_.begin() + static_cast<std::ptrdiff_t>(random_() % models_.size());
      if (run_.churn == Churn::pieces && random_() % 4 == 0) {
        Extent& extent = out->extents[random_() % out->extents.size()];
        const auto count = 1 + static_cast<std::uint32_t>(random_() % extent.count);  // from its end: one extent stays one
        give(out->owner, {extent.first + extent.count - count, count});
        if ((extent.count -= count) == 0) std::swap(extent, out->extents.back()), out->extents.pop_back();
      } else {
        for (const Extent& extent : out->extents) give(out->owner, extent);
        out->extents.clear();
      }
      if (out->extents.empty()) {
        std::swap(*out, models_.back());
        models_.pop_back();
      }
    }
  }

  void use() {
    if (!models_.empty()) models_[random_() % models_.size()].lastUse = ++time_;
  }

  void arrive() {
    Model model = newModel();
    makeRoom(model.wanted);
    take(model, model.wanted);
    models_.push_back(std::move(model));
    for (int i = 0; i < 3; ++i) use();
  }

  void arriveByGroup() {
    while (arriving_.size() < 4) {
      Model model = newModel();
      makeRoom(model.wanted + promised_);
      promised_ += model.wanted;
      arriving_.push_back(std::move(model));
    }
    const std::size_t which = random_() % arriving_.size();
    Model& model = arriving_[which];
    const std::uint32_t count = std::min(model.wanted, 1 + static_cast<std::uint32_t>(random_() % 8));
    take(model, count);
    model.wanted -= count;
    promised_ -= count;
    if (model.wanted != 0) return;
    models_.push_back(std::move(model));
    arriving_.erase(arriving_.begin() + static_cast<std::ptrdiff_t>(which));
    use();
  }

  void single() {
    if (used() + 1 > target()) {
      full_ = true;
      const std::size_t which = random_() % singles_.size();
      give(singles_[which].owner, {singles_[which].granule, 1});
      singles_[which] = singles_.back();
      singles_.pop_back();
    }
    Model model{random_() % 512, 0, {}, 1};
    take(model, 1);
    singles_.push_back({model.owner, model.extents[0].first});
  }

  void sample() {
    if (!full_ || used() < run_.granules * (run_.use - 0.03)) return;
    const double now = allocator_.fragmentation();
    sum_ += now;
    ++samples_;
    figures_.fragmentationMax = std::max(figures_.fragmentationMax, now);
  }

  struct Single {
    std::uint64_t owner;
    std::uint32_t granule;
  };

  PlacementRun run_;
  std::mt19937_64 random_;
  Allocator allocator_;
  PlacementFigures figures_;
  std::vector<Model> models_, arriving_;
  std::vector<Single> singles_;
  std::vector<Extent> fresh_;
  std::vector<float> nanoseconds_;
  std::uint64_t steps_ = 0, owners_ = 0, time_ = 0, samples_ = 0, extents_ = 0;
  std::uint32_t promised_ = 0;
  double sum_ = 0;
  bool full_ = false;
};

}  // namespace

const std::vector<std::uint32_t>& modelGranules() {
  // MiB of parameters, 4 bytes each, rounded up to granules of 2 MiB.
  static const std::vector<std::uint32_t> granules = {
      28,    // DenseNet-169: 14.1 M
      39,    // DenseNet-201: 20.0 M
      52,    // Inception-v3: 27.2 M
      11,    // EfficientNet-B0: 5.3 M
      49,    // ResNet-50: 25.6 M
      85,    // ResNet-101: 44.5 M
      115,   // ResNet-152: 60.2 M
      640,   // BERT large: 335 M
      2612,  // Stable Diffusion, 5.1 GB
  };
  return granules;
}

const char* name(Churn churn) {
  switch (churn) {
    case Churn::lru: return "lru";
    case Churn::random: return "random";
    case Churn::byGroup: return "by_group";
    case Churn::pieces: return "pieces";
    case Churn::singles: return "singles";
  }
  return "?";
}

PlacementFigures measurePlacement(const PlacementRun& run) {
  return run.firstFit ? Churning<FirstFit>(run).go() : Churning<memory::Placement>(run).go();
}

}  // namespace rouse::bench
