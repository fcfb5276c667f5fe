#include <cinttypes>
#include <cstdio>

#include "server/executor/session.h"
#include "server/library/named_memory.h"

namespace rouse::executor {

// A library's work is work of the stream as a kernel is, and names its memory exactly. A pointer to nothing is the program's fault, and
// ends it as a kernel's illegal access would; a call that no client of ours makes is a broken rule.
wire::DecodeStatus Session::on(const wire::LibraryCall& command, std::span<const std::byte> parameters) {
  library::NamedMemory named;
  if (std::string why; !library::namedMemory(command.library, command.function, parameters, named, why))
    return wire::Rejection{std::move(why)};
  ++launches_;
  if (surroundings_.discardLaunches) return {};
  for (const NamedRange& each : named.ranges) {
    if (rangeMapped(each.range(), each.written ? wire::Access::write : wire::Access::read, each.onHost ? wire::Where::host : wire::Where::any)) [[likely]]
      continue;
    char text[192];
    std::snprintf(text, sizeof text, "%s: %s: [0x%" PRIx64 ", +%" PRIu64 ") is not memory of the program's on this device", named.function,
                  each.operand, each.address, each.bytes);
    latch_.latch(CudaError::illegalAddress, text);
    return {};
  }
  memory::Stream& stream = streams_->forWork(command.stream, parameters.size());
  if (presence_.attentive()) [[unlikely]] {
    presence_.beginOperation();
    if (named.indirect && presence_.arriving() && !surroundings_.device.properties().arrivesOnDemand) {
      presence_.useEverything(*context_, stream);
    } else {
      for (const NamedRange& each : named.ranges)
        if (deviceWindow_.contains(each.range())) presence_.use(*context_, stream, each.range());
    }
  }
  const Status status =
      context_->call(stream, {.library = command.library, .function = command.function, .parameters = parameters});
  if (!status) latch_.latch(status.error().code, std::string(named.function) + ": " + status.error().message);
  return {};
}

}  // namespace rouse::executor
