// The socket file that a daemon listens on.
#pragma once

#include <sys/types.h>

#include <string>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::daemon {

// Binds and listens. Makes the folder if it is missing, takes over a socket nobody listens on any more, and refuses one
// that somebody does. Errors name the path; the caller knows which setting it comes from.
Result<wire::OwnedFd> makeListeningSocket(const std::string& path, mode_t mode, const std::string& group);

}  // namespace rouse::daemon
