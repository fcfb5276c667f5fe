#include "server/router/request_head.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace rouse::router {
namespace {

constexpr std::size_t kMostDigits = 19;  // of a length: it fits 64 bits

bool isTokenChar(char c) {
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool isToken(std::string_view text) { return !text.empty() && std::ranges::all_of(text, isTokenChar); }

bool equals(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

BadRequest bad(std::string what) { return {400, std::move(what)}; }

struct Framing {
  unsigned lengths = 0, codings = 0, hosts = 0;
  bool oldVersion = false;  // 1.0
};

std::optional<BadRequest> checkRequestLine(std::string_view line, Framing& framing) {
  const auto first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return bad("the request line is not METHOD TARGET VERSION");
  const std::string_view method = line.substr(0, first), target = line.substr(first + 1, last - first - 1),
                         version = line.substr(last + 1);
  if (!isToken(method)) return bad("the method has characters that no method has");
  if (std::ranges::any_of(target, [](unsigned char c) { return c <= ' ' || c >= 0x7f; }) || target.empty())
    return bad("the target has blanks, control characters or bytes beyond ASCII");
  if (!version.starts_with("HTTP/")) return bad("the request line does not end with a version");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return BadRequest{505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  framing.oldVersion = version == "HTTP/1.0";
  if (method == "CONNECT") return BadRequest{501, "CONNECT is not served"};
  return std::nullopt;
}

std::optional<BadRequest> checkField(std::string_view line, Framing& framing) {
  if (line.front() == ' ' || line.front() == '\t') return bad("a header field is folded over two lines");
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return bad("a header field without a colon");
  const std::string_view field = line.substr(0, colon), value = trimmed(line.substr(colon + 1));
  if (!isToken(field))
    return bad("a header field's name is empty, or has characters (blanks before the colon?) that no name has");
  for (const unsigned char c : value) {
    if ((c < ' ' && c != '\t') || c == 0x7f)
      return bad("header field '" + std::string(field) + "' has a control character");
  }
  if (equals(field, "content-length")) {
    if (++framing.lengths > 1) return bad("Content-Length is given twice");
    const bool number = !value.empty() && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
    if (!number || value.size() > kMostDigits) return bad("Content-Length is not a number of at most 19 digits");
  } else if (equals(field, "transfer-encoding")) {
    if (++framing.codings > 1) return bad("Transfer-Encoding is given twice");
    if (!equals(value, "chunked")) return BadRequest{501, "a Transfer-Encoding other than chunked is not served"};
  } else if (equals(field, "host")) {
    if (++framing.hosts > 1) return bad("Host is given twice");
    if (std::ranges::any_of(
            value, [](char c) { return c == ' ' || c == '\t' || c == '/' || c == '@' || c == ',' || c == '\\'; }))
      return bad("Host is not a host");
  }
  return std::nullopt;
}

}  // namespace

std::size_t endOfHead(std::string_view bytes, std::size_t searched) {
  const std::size_t from = searched > 3 ? searched - 3 : 0;
  const auto found = bytes.find("\r\n\r\n", from);
  return found == std::string_view::npos ? found : found + 4;
}

std::optional<BadRequest> checkRequestHead(std::string_view head) {
  // A lone CR or LF ends a line for some and not for others.
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\0') return bad("the head has a NUL byte");
    if (head[i] == '\r' && (i + 1 == head.size() || head[i + 1] != '\n'))
      return bad("the head has a carriage return without a line feed");
    if (head[i] == '\n' && (i == 0 || head[i - 1] != '\r'))
      return bad("the head has a line feed without a carriage return");
  }
  Framing framing;
  bool requestLine = true;
  while (!head.empty()) {
    const auto end = head.find("\r\n");
    if (end == std::string_view::npos) return bad("the head does not end with an empty line");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.empty()) break;
    if (auto refused = requestLine ? checkRequestLine(line, framing) : checkField(line, framing)) return refused;
    requestLine = false;
  }
  if (requestLine) return bad("an empty request line");
  if (!head.empty()) return bad("the head goes on behind its empty line");
  if (framing.lengths != 0 && framing.codings != 0) return bad("Content-Length together with Transfer-Encoding");
  if (framing.codings != 0 && framing.oldVersion) return bad("Transfer-Encoding in HTTP/1.0");
  if (framing.hosts == 0 && !framing.oldVersion) return bad("no Host");
  return std::nullopt;
}

}  // namespace rouse::router
