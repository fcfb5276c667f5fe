// What the router can be told; the settings of the section [router].
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace rouse::router {

// Who may use Triton's model repository extension (repository.h).
enum class RepositoryAccess : std::uint8_t {
  off,     // nobody: it is not there
  index,   // anybody sees which functions there are; nobody loads or unloads
  socket,  // those who come over `socket` load and unload as well
  all,     // anybody does
};

struct Options {
  std::string listen;  // "HOST:PORT", "[::1]:8080"; empty: no TCP socket
  std::string socket;  // path of a Unix socket; empty: none
  std::uint32_t socketMode = 0660;
  std::string admin;                               // HOST:PORT of /metrics; empty: none
  std::chrono::milliseconds headerTimeout{10000};  // from a request's first byte to the end of its head
  std::chrono::milliseconds bodyTimeout{15000};    // between parts of a body, either way
  std::chrono::milliseconds idleTimeout{75000};    // between requests
  std::uint32_t maxHeader = 16384;                 // bytes of a request's head
  std::uint32_t maxConnections = 4096;
  RepositoryAccess repository = RepositoryAccess::index;
};

// Of one request's body that is read before the gate is asked, and kept for a second try.
inline constexpr std::size_t kHeldBytes = std::size_t{1} << 20;
// Of all requests together; beyond, bodies are streamed from the first byte, and not tried again.
inline constexpr std::size_t kHeldBytesOfAll = std::size_t{128} << 20;
// What is in one hand of a stream at once, each way.
inline constexpr std::size_t kPieceBytes = 32768;

}  // namespace rouse::router
