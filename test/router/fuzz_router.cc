// A request's bytes as a client sends them: the first look, the parser, the body, and the head that goes on. What is
// sent on must read as one request with the same body to another reader, whatever came in.
#include <boost/asio/buffer.hpp>
#include <cstdlib>
#include <string>

#include "server/router/forward_head.h"
#include "server/router/request_head.h"
#include "server/router/route.h"

using namespace rouse::router;

namespace {

// The body of a parsed head's message in `bytes`; false: it is not all there, or broken.
bool readBody(RequestParser& parser, std::string_view& bytes, std::string& body) {
  char piece[512];
  ErrorCode error;
  while (!parser.is_done()) {
    parser.get().body().data = piece;
    parser.get().body().size = sizeof piece;
    const std::size_t used = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    bytes.remove_prefix(used);
    const std::size_t got = sizeof piece - parser.get().body().size;
    body.append(piece, got);
    if (error == http::error::need_buffer) error = {};
    if (error || (used == 0 && got == 0 && !parser.is_done())) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (int requests = 0; requests < 4; ++requests) {
    const std::size_t end = endOfHead(bytes, 0);
    if (end == std::string_view::npos || end > 16384) return 0;
    if (checkRequestHead(bytes.substr(0, end))) return 0;
    RequestParser parser;
    parser.body_limit(boost::none);
    parser.header_limit(16384);
    ErrorCode error;
    const std::size_t used = parser.put(boost::asio::buffer(bytes.data(), end), error);
    if (error || used != end || !parser.is_header_done()) return 0;
    bytes.remove_prefix(end);
    const Route where = route(text(parser.get().target()));
    const std::string head = requestHead(parser.get(), {.target = where.target.empty() ? "/" : where.target,
                                                        .prefix = where.prefix,
                                                        .client = "unknown",
                                                        .requestId = "id",
                                                        .traceparent = "trace"});
    const bool hasBody = parser.content_length() || parser.chunked();
    std::string body;
    if (!readBody(parser, bytes, body)) return 0;
    const std::string sent = head + framingLines(hasBody ? Framing::length : Framing::none, body.size()) + body;
    // What the function reads.
    const std::size_t headEnd = endOfHead(sent, 0);
    if (headEnd != sent.size() - body.size() || checkRequestHead(std::string_view(sent).substr(0, headEnd)))
      std::abort();
    RequestParser again;
    again.body_limit(boost::none);
    again.header_limit(65536);
    again.put(boost::asio::buffer(sent.data(), headEnd), error);
    if (error || !again.is_header_done()) std::abort();
    std::string_view rest = std::string_view(sent).substr(headEnd);
    std::string bodyAgain;
    if (!readBody(again, rest, bodyAgain) || !rest.empty() || bodyAgain != body) std::abort();
    if (again.get().method_string() != parser.get().method_string()) std::abort();
  }
  return 0;
}
