// Names of Beast's and Asio's that the router is made of.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <string_view>

namespace rouse::router {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using ErrorCode = boost::system::error_code;
// TCP or Unix, clients or functions.
using Socket = asio::generic::stream_protocol::socket;
using RequestParser = http::request_parser<http::buffer_body>;
using ResponseParser = http::response_parser<http::buffer_body>;
using Fields = http::fields;

inline auto into(ErrorCode& error) { return asio::redirect_error(asio::use_awaitable, error); }
inline std::string_view text(boost::beast::string_view view) { return {view.data(), view.size()}; }

// The next bytes of a body, into `to`: what there is, at least one unless the body is at its end (parser.is_done()) or
// there is an error.
template <bool isRequest>
asio::awaitable<std::size_t> readPiece(Socket& socket, boost::beast::flat_buffer& buffer,
                                       http::parser<isRequest, http::buffer_body>& parser, asio::mutable_buffer to,
                                       ErrorCode& error) {
  auto& body = parser.get().body();
  error = {};
  body.data = to.data();
  body.size = to.size();
  while (!parser.is_done() && body.size == to.size() && !error) {
    co_await http::async_read_some(socket, buffer, parser, into(error));
    if (error == http::error::need_buffer) error = {};
  }
  const std::size_t got = to.size() - body.size;
  body.data = nullptr;
  body.size = 0;
  co_return got;
}

}  // namespace rouse::router
