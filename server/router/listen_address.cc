#include "server/router/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace rouse::router {
namespace {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

std::optional<Address> addressOf(const HostPort& where) {
  Address address;
  auto* four = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* six = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET, where.host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(where.port);
    address.size = sizeof *four;
    return address;
  }
  if (::inet_pton(AF_INET6, where.host.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(where.port);
    address.size = sizeof *six;
    return address;
  }
  return std::nullopt;
}

}  // namespace

std::optional<HostPort> parseHostPort(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  HostPort result;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), result.port);
  if (error != std::errc{} || end != port.data() + port.size()) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  result.host = host.empty() ? "0.0.0.0" : host == "localhost" ? "127.0.0.1" : std::string(host);
  if (!addressOf(result)) return std::nullopt;
  return result;
}

Result<wire::OwnedFd> listenOn(const HostPort& where) {
  const auto failed = [&](const char* what) {
    return Error{CudaError::systemNotReady,
                 std::string(what) + " " + where.host + ":" + std::to_string(where.port) + ": " + std::strerror(errno)};
  };
  const auto address = addressOf(where);
  if (!address) return Error{CudaError::invalidValue, "'" + where.host + "' is not an address"};
  wire::OwnedFd socket(::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failed("socket for");
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address->storage), address->size) != 0)
    return failed("binding");
  if (::listen(socket.get(), 4096) != 0) return failed("listening on");
  return socket;
}

std::uint16_t portOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

}  // namespace rouse::router
