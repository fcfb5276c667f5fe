#include "server/router/forward_head.h"

#include <boost/beast/http/rfc7230.hpp>
#include <charconv>

namespace rouse::router {
namespace {

using boost::beast::iequals;

// Fields that concern one connection, and those that the router writes itself.
bool staysBehind(http::field field) {
  switch (field) {
    case http::field::connection:
    case http::field::keep_alive:
    case http::field::proxy_connection:
    case http::field::proxy_authenticate:
    case http::field::proxy_authorization:
    case http::field::te:
    case http::field::trailer:
    case http::field::transfer_encoding:
    case http::field::upgrade:
    case http::field::content_length:
    case http::field::expect:
      return true;
    default:
      return false;
  }
}

// Connection names fields that stay behind too.
bool namedByConnection(const Fields& fields, boost::beast::string_view name) {
  const auto connections = fields.equal_range(http::field::connection);
  for (auto field = connections.first; field != connections.second; ++field) {
    if (http::token_list(field->value()).exists(name)) return true;
  }
  return false;
}

void add(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}
void add(std::string& head, std::string_view name, std::uint64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  add(head, name, std::string_view(digits, static_cast<std::size_t>(end - digits)));
}

void addFraming(std::string& head, Framing framing, std::optional<std::uint64_t> length) {
  if (framing == Framing::chunked) add(head, "Transfer-Encoding", "chunked");
  if ((framing == Framing::length || framing == Framing::none) && length) add(head, "Content-Length", *length);
}

constexpr std::string_view kRequestId = "X-Request-Id", kTraceparent = "traceparent", kForwardedFor = "X-Forwarded-For",
                           kForwardedPrefix = "X-Forwarded-Prefix";

bool isOurs(boost::beast::string_view name) {
  return iequals(name, "X-Request-Id") || iequals(name, "traceparent") || iequals(name, "X-Forwarded-For") ||
         iequals(name, "X-Forwarded-Prefix");
}

}  // namespace

std::string requestHead(const http::request_header<>& request, const RequestPassage& passage) {
  std::string head;
  head.reserve(1024);
  head.append(text(request.method_string())).append(" ").append(passage.target).append(" HTTP/1.1\r\n");
  std::string forwardedFor;
  bool host = false, proto = false, forwardedHost = false;
  const bool connection = request.count(http::field::connection) != 0;
  for (const auto& field : request) {
    if (staysBehind(field.name())) continue;
    if (iequals(field.name_string(), "X-Forwarded-For")) {
      if (!forwardedFor.empty()) forwardedFor += ", ";
      forwardedFor += text(field.value());
    }
    if (isOurs(field.name_string())) continue;
    if (field.name() != http::field::host && connection && namedByConnection(request, field.name_string())) continue;
    host = host || field.name() == http::field::host;
    proto = proto || iequals(field.name_string(), "X-Forwarded-Proto");
    forwardedHost = forwardedHost || iequals(field.name_string(), "X-Forwarded-Host");
    add(head, text(field.name_string()), text(field.value()));
  }
  if (!host) add(head, "Host", "localhost");  // HTTP/1.0 without one
  if (!forwardedFor.empty()) forwardedFor += ", ";
  add(head, kForwardedFor, forwardedFor + passage.client);
  if (!proto) add(head, "X-Forwarded-Proto", "http");
  if (!forwardedHost && host) add(head, "X-Forwarded-Host", text(request[http::field::host]));
  if (!passage.prefix.empty()) add(head, kForwardedPrefix, passage.prefix);
  add(head, kRequestId, passage.requestId);
  add(head, kTraceparent, passage.traceparent);
  return head;
}

std::string framingLines(Framing framing, std::uint64_t length) {
  std::string lines;
  addFraming(lines, framing, framing == Framing::length ? std::optional(length) : std::nullopt);
  return lines += "\r\n";
}

std::string responseHead(const http::response_header<>& response, const ResponsePassage& passage) {
  std::string head;
  head.reserve(1024);
  // The router's own version: what it says of itself on this connection (RFC 9112 §2.3).
  head.append("HTTP/1.1 ").append(std::to_string(response.result_int())).append(" ");
  head.append(text(response.reason())).append("\r\n");
  const bool connection = response.count(http::field::connection) != 0;
  for (const auto& field : response) {
    if (staysBehind(field.name()) || iequals(field.name_string(), "X-Request-Id")) continue;
    if (connection && namedByConnection(response, field.name_string())) continue;
    add(head, text(field.name_string()), text(field.value()));
  }
  add(head, kRequestId, passage.requestId);
  addFraming(head, passage.framing, passage.length);
  if (!passage.keepAlive) {
    add(head, "Connection", "close");
  } else if (passage.clientMinor == 0) {
    add(head, "Connection", "keep-alive");
  }
  return head += "\r\n";
}

}  // namespace rouse::router
