// Heads of messages that go on: to a function, and back to a client. Always written anew from parsed fields, never
// relayed: the framing is the router's own, and what concerns one connection only (RFC 9110 §7.6.1) stays behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/router/http.h"

namespace rouse::router {

enum class Framing : std::uint8_t {
  none,     // no body
  length,   // Content-Length
  chunked,  // Transfer-Encoding: chunked
  close,    // until the connection ends; to clients that speak HTTP/1.0
};

struct RequestPassage {
  std::string target;
  std::string prefix;  // X-Forwarded-Prefix, if not empty
  std::string client;  // address, for X-Forwarded-For; "unknown" for Unix sockets
  std::string requestId, traceparent;
};
// Without its framing, which follows as lines of its own together with the empty one. To be made before anything of the
// body is parsed: Beast adds a chunked body's trailers to the fields of the head, whatever they are.
std::string requestHead(const http::request_header<>&, const RequestPassage&);
std::string framingLines(Framing, std::uint64_t length);

struct ResponsePassage {
  std::string requestId;
  Framing framing = Framing::none;
  // With Framing::none: the length a body would have had (an answer to HEAD).
  std::optional<std::uint64_t> length;
  bool keepAlive = true;
  unsigned clientMinor = 1;  // HTTP/1.x
};
std::string responseHead(const http::response_header<>&, const ResponsePassage&);

}  // namespace rouse::router
