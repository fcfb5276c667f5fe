#include "server/executor/control_link.h"

#include "server/control/codec.h"

namespace rouse::executor {

Result<ControlLink::Received> ControlLink::receive() {
  Result<channel::FrameReader::Progress> progress = reader_.read(socket_.get());
  if (!progress) return std::move(progress).error();
  Received received;
  if (*progress == channel::FrameReader::Progress::ended) received.ended = true;
  if (*progress != channel::FrameReader::Progress::frame) return received;
  channel::Frame frame = reader_.take();
  Result<channel::Message> message = channel::decode(frame.words);
  if (!message) return std::move(message).error();
  message->fds = std::move(frame.fds);
  received.message = std::move(*message);
  return received;
}

Status ControlLink::send(std::uint64_t id, const channel::Body& body, std::vector<wire::OwnedFd> fds) {
  if (Status status = writer_.push(channel::encode(id, body), std::move(fds)); !status) return status;
  return flush();
}

Status ControlLink::flush() {
  Result<bool> sent = writer_.write(socket_.get());
  return sent ? Status{} : Status{std::move(sent).error()};
}

}  // namespace rouse::executor
