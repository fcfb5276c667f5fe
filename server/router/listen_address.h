// Where the router listens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::router {

struct HostPort {
  std::string host;  // an address, as inet_pton reads it
  std::uint16_t port = 0;
};
// "127.0.0.1:8080", "[::1]:8080", ":8080" (every address), "localhost:8080"; names are not looked up.
std::optional<HostPort> parseHostPort(std::string_view);

// A listening TCP socket, non-blocking. Port 0: any that is free.
Result<wire::OwnedFd> listenOn(const HostPort&);
// The port that a socket of listenOn() has.
std::uint16_t portOf(int socket);

}  // namespace rouse::router
