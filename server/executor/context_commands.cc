#include "schemas/wire/slot_wait.h"
#include "server/executor/session.h"

namespace rouse::executor {

void Session::on(const wire::SetLimit& command) { start(SetLimits{{{command.limit, command.value}}}); }

bool Session::resume(SetLimits& command) {
  while (!command.left.empty()) {
    const channel::SessionRecipe::Limit limit = command.left.back();
    const Result<bool> set = context_->setLimit(static_cast<memory::ContextLimit>(limit.limit), limit.value);
    if (set && !*set) return false;
    command.left.pop_back();
    if (!set) {
      latch_.latch(set.error().code, set.error().message);
      continue;
    }
    std::erase_if(limits_, [&](const auto& other) { return other.limit == limit.limit; });
    limits_.push_back(limit);
  }
  return true;
}

void Session::on(const wire::Reset& command) { start(StartAnew{command.value, command.slot}); }

bool Session::resume(StartAnew& command) {
  if (!dismantle()) return false;
  fenced_ = false;
  latch_.clear();
  textures_ = endedTextures_ = 0;
  presence_.startAnew();
  if (pinned_ && !surroundings_.memory.enroll(id_, memory::Tenure::stays)) std::abort();  // with nothing promised
  const Status status = createContext();
  publishMemory();
  wire::signal(segment_.slot(command.slot), command.value, status.error().code);
  if (!status) condemn(status.error());
  return true;
}

}  // namespace rouse::executor
