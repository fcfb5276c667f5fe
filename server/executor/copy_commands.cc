#include "server/executor/session.h"

namespace rouse::executor {

void Session::on(const wire::Copy& command) {
  context_->copy(streams_->forWork(command.stream),
                 {.destination = command.destination, .source = command.source, .width = command.bytes});
}

void Session::on(const wire::Copy3D& command) {
  context_->copy(streams_->forWork(command.stream), {.destination = command.destination,
                                                     .destinationPitch = command.destinationPitch,
                                                     .destinationSlicePitch = command.destinationSlicePitch,
                                                     .source = command.source,
                                                     .sourcePitch = command.sourcePitch,
                                                     .sourceSlicePitch = command.sourceSlicePitch,
                                                     .width = command.width,
                                                     .height = command.height,
                                                     .depth = command.depth});
}

void Session::on(const wire::CopyInline& command, std::span<const std::byte> data) {
  context_->copyInline(streams_->forWork(command.stream, data.size()), command.destination, data);
}

wire::DecodeStatus Session::on(const wire::Fill& command) {
  if (!isAligned(command.destination, command.elementBytes))
    return wire::Rejection{"Fill.destination = " + std::to_string(command.destination) + ": not a multiple of " +
                           std::to_string(command.elementBytes)};
  context_->fill(streams_->forWork(command.stream), {.destination = command.destination,
                                                     .width = command.count,
                                                     .value = command.value,
                                                     .elementBytes = command.elementBytes});
  return {};
}

void Session::on(const wire::Fill3D& command) {
  context_->fill(streams_->forWork(command.stream), {.destination = command.destination,
                                                     .pitch = command.destinationPitch,
                                                     .slicePitch = command.destinationSlicePitch,
                                                     .width = command.width,
                                                     .height = command.height,
                                                     .depth = command.depth,
                                                     .value = command.value});
}

}  // namespace rouse::executor
