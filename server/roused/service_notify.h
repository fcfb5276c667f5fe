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

// How often WATCHDOG=1 is due at least ($WATCHDOG_USEC); nullopt: never.
std::optional<std::chrono::microseconds> watchdogInterval();

// The listening socket that whoever started us passed ($LISTEN_FDS, $LISTEN_PID); nullopt: none. More than one is an
// error, and so is one that is not a Unix stream socket. Removes the variables, so that no child takes them for its
// own.
Result<std::optional<wire::OwnedFd>> inheritedListener();

}  // namespace rouse::daemon
