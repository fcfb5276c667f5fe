#include "server/roused/prospects.h"

#include <algorithm>

#include "schemas/wire/readable.h"

namespace rouse::daemon {

void Prospects::forgetEnded() {
  std::erase_if(told_, [](const Told& told) { return wire::readable(told.process->get()); });
}

void Prospects::keep(const Who& who, std::vector<std::uint32_t> gpus, std::shared_ptr<const wire::OwnedFd> process) {
  forgetEnded();
  const auto known = std::ranges::find(told_, who, &Told::who);
  if (known != told_.end() && known->gpus == gpus) return;
  if (known != told_.end()) told_.erase(known);
  if (told_.size() == kMost) told_.pop_front();
  told_.push_back({who, std::move(gpus), std::move(process)});
}

std::vector<std::uint32_t> Prospects::of(const Who& who) {
  forgetEnded();
  const auto known = std::ranges::find(told_, who, &Told::who);
  return known != told_.end() ? known->gpus : std::vector<std::uint32_t>{};
}

std::uint64_t Prospects::on(std::uint32_t gpu, const std::function<bool(const Who&)>& served) const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(told_, [&](const Told& told) { return std::ranges::find(told.gpus, gpu) != told.gpus.end() && !served(told.who); }));
}

}  // namespace rouse::daemon
