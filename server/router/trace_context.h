// Names of a request for those who look for it later: W3C Trace Context (https://www.w3.org/TR/trace-context/), and
// X-Request-Id.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rouse::router {

// Of version 00, or of a later one that begins like it.
bool isTraceparent(std::string_view);
// 1 to 128 printable characters without blanks, quotes or commas.
bool isRequestId(std::string_view);

// Random numbers that need not be hard to guess.
class IdMaker {
 public:
  IdMaker();
  std::string traceparent();
  std::string requestId();

 private:
  std::uint64_t next();
  std::uint64_t state_;
};

}  // namespace rouse::router
