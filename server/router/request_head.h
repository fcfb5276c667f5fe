// The first look at a request, at the bytes themselves and before any parser: what two readers of HTTP could read in
// two ways is refused here, so that what the router takes for one request is one request to everybody behind it
// (request smuggling). RFC 9112 §2.2, 3, 5, 6, 11.2.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rouse::router {

struct BadRequest {
  unsigned status = 400;
  std::string what;
};

// `head`: from the first byte of the request line to the empty line, both included.
std::optional<BadRequest> checkRequestHead(std::string_view head);

// Where the empty line ends, counted from the beginning; npos: it has not come yet. `searched`: bytes that were looked
// at before.
std::size_t endOfHead(std::string_view bytes, std::size_t searched);

}  // namespace rouse::router
