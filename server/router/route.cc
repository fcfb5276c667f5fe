#include "server/router/route.h"

#include <algorithm>

namespace rouse::router {
namespace {

// Takes one segment off the front: "/a/b" gives "a" and leaves "/b".
std::string_view takeSegment(std::string_view& path) {
  if (!path.starts_with('/')) return {};
  path.remove_prefix(1);
  const auto end = std::min(path.find('/'), path.size());
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(end);
  return segment;
}

// RFC 9112 §3.2.2: a server takes the absolute form too.
std::string_view withoutOrigin(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (!target.starts_with(kScheme)) return target;
  const auto path = target.find_first_of("/?", kScheme.size());
  return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
}

Route model(std::string_view rest, std::string_view whole) {
  Route result;
  const std::string_view name = takeSegment(rest);
  if (!isFunctionName(name)) return result;
  result.function = name;
  std::string_view version = rest;
  const bool versioned = takeSegment(version) == "versions" && !takeSegment(version).empty();
  if (rest == "/ready" || (versioned && version == "/ready")) {
    result.kind = Route::Kind::modelReady;
  } else {
    result.kind = Route::Kind::forward;
    result.target = whole;
  }
  return result;
}

Route repository(std::string_view rest) {
  Route result;
  if (rest == "/index") {
    result.kind = Route::Kind::index;
    return result;
  }
  if (takeSegment(rest) != "models") return result;
  const std::string_view name = takeSegment(rest);
  if (!isFunctionName(name) || (rest != "/load" && rest != "/unload")) return result;
  result.kind = rest == "/load" ? Route::Kind::load : Route::Kind::unload;
  result.function = name;
  return result;
}

}  // namespace

bool isFunctionName(std::string_view name) {
  const auto alphanumeric = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (name.empty() || name.size() > kMostNameBytes || !alphanumeric(name[0])) return false;
  return std::ranges::all_of(name, [&](char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

Route route(std::string_view target) {
  target = withoutOrigin(target);
  // What is behind '#' is no part of a request (RFC 9112 §3.2): nobody is asked for it.
  if (target.find('#') != std::string_view::npos) return {};
  const std::string_view path = target.substr(0, target.find('?'));
  const std::string_view query = target.substr(path.size());
  std::string_view rest = path;
  const std::string_view first = takeSegment(rest);
  if (first == "fn") {
    Route result;
    const std::string_view name = takeSegment(rest);
    if (!isFunctionName(name)) return result;
    result.kind = Route::Kind::forward;
    result.function = name;
    result.target = std::string(rest.empty() ? "/" : rest) + std::string(query);
    result.prefix = path.substr(0, path.size() - rest.size());
    return result;
  }
  if (first != "v2") return {};
  if (rest.empty() || rest == "/") return {.kind = Route::Kind::server, .function = {}, .target = {}, .prefix = {}};
  if (rest == "/health/live") return {.kind = Route::Kind::live, .function = {}, .target = {}, .prefix = {}};
  if (rest == "/health/ready") return {.kind = Route::Kind::ready, .function = {}, .target = {}, .prefix = {}};
  const std::string_view second = takeSegment(rest);
  if (second == "repository") return repository(rest);
  return second == "models" ? model(rest, target) : Route{};
}

}  // namespace rouse::router
