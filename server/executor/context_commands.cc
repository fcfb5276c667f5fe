#include "schemas/wire/slot_wait.h"
#include "server/executor/session.h"

namespace rouse::executor {

void Session::on(const wire::SetLimit& command) {
  if (Status status = context_->setLimit(static_cast<memory::ContextLimit>(command.limit), command.value); !status) {
    latch_.latch(status.error().code, status.error().message);
    return;
  }
  std::erase_if(limits_, [&](const auto& set) { return set.limit == command.limit; });
  limits_.push_back({command.limit, command.value});
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
