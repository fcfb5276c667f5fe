// The text around the pieces of a chunked body (RFC 9112 §7.1).
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace rouse::router {

using SizeLine = std::array<char, 24>;
inline std::string_view sizeLine(SizeLine& to, std::size_t bytes) {
  const int length = std::snprintf(to.data(), to.size(), "%zx\r\n", bytes);
  return {to.data(), static_cast<std::size_t>(length)};
}

inline boost::asio::const_buffer view(std::string_view text) { return boost::asio::buffer(text.data(), text.size()); }

}  // namespace rouse::router
