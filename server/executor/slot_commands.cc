#include "server/executor/session.h"

namespace rouse::executor {

void Session::on(const wire::SlotSignal& command) {
  context_->signal(streams_->forWork(command.stream), segment_.slot(command.slot), command.value,
                   (command.flags & 1) != 0);
}

void Session::on(const wire::SlotWait& command) {
  context_->waitFor(streams_->forWork(command.stream), segment_.slot(command.slot), command.value);
}

}  // namespace rouse::executor
