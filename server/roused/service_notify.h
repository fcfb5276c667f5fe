// What systemd wants to know and offers: sd_notify(3), sd_listen_fds(3), spoken directly. Does nothing outside a
// service.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::daemon {

// Sends "READY=1", "STATUS=…", "STOPPING=1", "WATCHDOG=1" and the like to $NOTIFY_SOCKET, if there is one.
void notifyService(std::string_view state);

// Gives the service manager a descriptor to keep under this name, for a daemon to come (FDSTORE, sd_notify(3)), in place of what it had under it;
// or has it forget that (-1).
inline constexpr std::string_view kKeptStore = "rouse-store";
void keepFile(std::string_view name, int fd);

// How often WATCHDOG=1 is due at least ($WATCHDOG_USEC); nullopt: never.
std::optional<std::chrono::microseconds> watchdogInterval();

// What whoever started us passed ($LISTEN_FDS, $LISTEN_FDNAMES, $LISTEN_PID): the host store, if it was kept, and a listening
// socket. More than one of these is an error, and so is one that is not a Unix stream socket. Removes the variables, so that no child takes
// them for its own.
struct Inherited {
  std::optional<wire::OwnedFd> listener;
  wire::OwnedFd store;
};
Result<Inherited> inheritedDescriptors();

}  // namespace rouse::daemon
