#include <cinttypes>
#include <cstdio>

#include "schemas/wire/slot_wait.h"
#include "server/executor/session.h"

namespace rouse::executor {
namespace {

wire::DecodeStatus refuse(const char* command, AddressRange range, const std::string& why) {
  char text[96];
  std::snprintf(text, sizeof text, "%s: range [0x%" PRIx64 ", +%" PRIu64 ") ", command, range.base, range.bytes);
  return wire::Rejection{text + why};
}

}  // namespace

wire::DecodeStatus Session::on(const wire::HostMap& command) {
  const AddressRange range{command.base, command.bytes};
  if (!hostWindow_.contains(range)) return refuse("HostMap", range, "is not in the host window");
  if (hostRanges_.overlaps(range)) return refuse("HostMap", range, "is mapped in part already");
  if (hostRanges_.size() > kMaxHostRanges)
    return refuse("HostMap", range, "is one too many: the limit is " + std::to_string(kMaxHostRanges));
  if (Status status = context_->mapHost(range); !status) {
    condemn(status.error());
    return {};
  }
  turnOver_ = true;
  hostRanges_.insert(range);
  return {};
}

wire::DecodeStatus Session::on(const wire::HostUnmap& command) {
  const AddressRange range{command.base, command.bytes};
  if (range.overlaps({hostWindow_.base, wire::kStagingBytes})) return refuse("HostUnmap", range, "is staging");
  // Taken out at once: no later command may name it.
  if (!hostRanges_.erase(range)) return refuse("HostUnmap", range, "is not what a HostMap mapped");
  start(UnmapHost{range, command.value, command.slot});
  return {};
}

bool Session::resume(UnmapHost& command) {
  if (!context_->idle()) return false;
  fenced_ = false;
  const Status status = context_->unmapHost(command.range);
  wire::signal(segment_.slot(command.slot), command.value, status.error().code);
  if (!status) condemn(status.error());
  return true;
}

}  // namespace rouse::executor
