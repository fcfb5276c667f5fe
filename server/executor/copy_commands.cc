#include <algorithm>

#include "server/executor/session.h"

namespace rouse::executor {
namespace {

AddressRange extent(std::uint64_t base, std::uint64_t width, std::uint64_t height, std::uint64_t pitch,
                    std::uint64_t depth, std::uint64_t slicePitch) {
  return {base, width + (height - 1) * pitch + (depth - 1) * slicePitch};
}

}  // namespace

void Session::noteCopied(std::uint64_t bytes) {
  copied_ += std::min(bytes, kBurstCopiedBytes);
  if (copied_ >= kBurstCopiedBytes) turnOver_ = true;
}

void Session::on(const wire::Copy& command) {
  memory::Stream& stream = streams_->forWork(command.stream);
  attend(stream, {command.destination, command.bytes});
  attend(stream, {command.source, command.bytes});
  context_->copy(stream, {.destination = command.destination, .source = command.source, .width = command.bytes});
  noteCopied(command.bytes);
}

void Session::on(const wire::Copy3D& command) {
  memory::Stream& stream = streams_->forWork(command.stream);
  attend(stream, extent(command.destination, command.width, command.height, command.destinationPitch, command.depth,
                        command.destinationSlicePitch));
  attend(stream, extent(command.source, command.width, command.height, command.sourcePitch, command.depth,
                        command.sourceSlicePitch));
  context_->copy(stream, {.destination = command.destination,
                          .destinationPitch = command.destinationPitch,
                          .destinationSlicePitch = command.destinationSlicePitch,
                          .source = command.source,
                          .sourcePitch = command.sourcePitch,
                          .sourceSlicePitch = command.sourceSlicePitch,
                          .width = command.width,
                          .height = command.height,
                          .depth = command.depth});
  noteCopied(command.width * command.height * command.depth);
}

void Session::on(const wire::CopyInline& command, std::span<const std::byte> data) {
  memory::Stream& stream = streams_->forWork(command.stream, data.size());
  attend(stream, {command.destination, data.size()});
  context_->copyInline(stream, command.destination, data);
}

wire::DecodeStatus Session::on(const wire::Fill& command) {
  if (!isAligned(command.destination, command.elementBytes))
    return wire::Rejection{"Fill.destination = " + std::to_string(command.destination) + ": not a multiple of " +
                           std::to_string(command.elementBytes)};
  memory::Stream& stream = streams_->forWork(command.stream);
  attend(stream, {command.destination, command.count * command.elementBytes});
  context_->fill(stream, {.destination = command.destination,
                          .width = command.count,
                          .value = command.value,
                          .elementBytes = command.elementBytes});
  noteCopied(command.count * command.elementBytes);
  return {};
}

void Session::on(const wire::Fill3D& command) {
  memory::Stream& stream = streams_->forWork(command.stream);
  attend(stream, extent(command.destination, command.width, command.height, command.destinationPitch, command.depth,
                        command.destinationSlicePitch));
  context_->fill(stream, {.destination = command.destination,
                          .pitch = command.destinationPitch,
                          .slicePitch = command.destinationSlicePitch,
                          .width = command.width,
                          .height = command.height,
                          .depth = command.depth,
                          .value = command.value});
  noteCopied(command.width * command.height * command.depth);
}

}  // namespace rouse::executor
