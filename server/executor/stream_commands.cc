#include "server/executor/session.h"

namespace rouse::executor {

wire::DecodeStatus Session::on(const wire::StreamCreate& command) {
  if (streams_->size() >= kMaxStreams && !streams_->draining())
    return wire::Rejection{"StreamCreate.stream: " + std::to_string(streams_->size()) +
                           " streams are live, the limit is " + std::to_string(kMaxStreams)};
  start(CreateStream{command.stream, (command.flags & 1) != 0, command.priority});
  return {};
}

// Destroyed streams that still work count: a client that makes and destroys without end waits for them.
bool Session::resume(CreateStream& command) {
  if (streams_->size() >= kMaxStreams && !streams_->collect()) return false;
  streams_->create(command.stream, command.nonBlocking, command.priority);
  return true;
}

wire::DecodeStatus Session::on(const wire::StreamDestroy& command) {
  if (command.stream.index == wire::kLegacyStream.index)
    return wire::Rejection{"StreamDestroy.stream: the legacy stream cannot be destroyed"};
  streams_->destroy(command.stream);
  return {};
}

void Session::on(const wire::Fence&) {
  streams_->fence();
  fenced_ = true;
}

}  // namespace rouse::executor
