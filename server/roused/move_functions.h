// `rouse load`, `unload`, `pin`, `unpin` and `migrate`: what is asked of functions by name, asked of the executors that serve them.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>

#include "server/control/message.h"
#include "server/roused/device_pool.h"
#include "server/roused/session_table.h"

namespace rouse::daemon {

// Longer than any executor takes to answer, a transfer apart (server/executor/moves.h).
inline constexpr std::chrono::milliseconds kMovePatience{45'000};

// A session belongs to its own user; root and the daemon's user may move all, and others are refused those that are not
// theirs. `done` is called once, with a result for each GPU of each session; with an error when no session is meant. An executor
// that has not answered after `patience` is a result as well; it may still do what it was asked. On the event loop's thread.
void moveFunctions(boost::asio::io_context&, const DevicePool&, SessionTable&, const channel::Move&, uid_t asker,
                   std::chrono::milliseconds patience, std::function<void(Result<channel::Moved>)> done);

}  // namespace rouse::daemon
