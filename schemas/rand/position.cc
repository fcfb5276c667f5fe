#include "schemas/rand/position.h"

#include <algorithm>

namespace rouse::rand {

void Position::begin(Type type, Ordering ordering, std::uint64_t offset) {
  lanes_ = lanesOf(type, ordering);
  step_ = offset;
  stretches_.clear();
  if (lanes_ == 0) return;
  if (type == Type::philox) offset /= 4;
  const auto ahead = static_cast<std::uint32_t>(offset % lanes_);
  if (ahead != 0) stretches_.push_back({offset / lanes_ + 1, 0, 0});
  stretches_.push_back({offset / lanes_, ahead, 0});
}

void Position::begin(const Generation& generation, std::span<const Stretch> stretches) {
  lanes_ = lanesOf(generation.type, generation.ordering);
  step_ = generation.step;
  stretches_.assign(stretches.begin(), stretches.end());
}

void Position::draw(std::vector<Stretch>& stretches, std::uint32_t from, std::uint32_t to, std::uint64_t draws) const {
  const auto cut = [&](std::uint32_t lane) {
    const auto behind = std::ranges::upper_bound(stretches, lane, {}, &Stretch::lane);
    if (lane == lanes_ || std::prev(behind)->lane == lane) return;
    stretches.insert(behind, {std::prev(behind)->draws, lane, 0});
  };
  cut(from);
  cut(to);
  for (Stretch& each : stretches)
    if (each.lane >= from && each.lane < to) each.draws += draws;
}

void Position::advance(const Generation& done) {
  if (lanes_ == 0) {
    step_ += isQuasi(done.type) ? done.count / done.dimensions : done.count;
    return;
  }
  const Step each = stepOf(done.type, done.kind);
  const bool within = done.type == Type::philox;  // step_ may be
  const std::uint64_t begun = within ? step_ % each.results : 0, steps = (begun + done.count) / each.results;
  std::vector<Stretch> stretches = stretches_;
  stretches.reserve(stretches.size() + 4);
  for (Stretch& stretch : stretches) stretch.draws += steps / lanes_ * each.draws;
  const auto from = static_cast<std::uint32_t>((within ? step_ / each.results : step_) % lanes_), more = static_cast<std::uint32_t>(steps % lanes_);
  if (more != 0) {
    draw(stretches, from, std::min(from + more, lanes_), each.draws);
    if (from + more > lanes_) draw(stretches, 0, from + more - lanes_, each.draws);
  }
  const auto same = std::ranges::unique(stretches, {}, &Stretch::draws);
  stretches.erase(same.begin(), same.end());
  if (stretches.size() > kMostStretches) stretches = {{std::ranges::max(stretches, {}, &Stretch::draws).draws, 0, 0}};
  stretches_ = std::move(stretches);
  step_ += within ? done.count : steps;
}

}  // namespace rouse::rand
