#include "server/router/trace_context.h"

#include <algorithm>
#include <random>

namespace rouse::router {
namespace {

bool isHex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool isZero(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '0'; });
}

void append(std::string& text, std::uint64_t value) {
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(value >> shift) & 15];
}

}  // namespace

bool isTraceparent(std::string_view text) {
  constexpr std::size_t kLength = 55;
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  const std::string_view version = text.substr(0, 2), trace = text.substr(3, 32), parent = text.substr(36, 16),
                         flags = text.substr(53, 2);
  if (!isHex(version) || !isHex(trace) || !isHex(parent) || !isHex(flags)) return false;
  if (version == "ff" || isZero(trace) || isZero(parent)) return false;
  return text.size() == kLength || (version != "00" && text[kLength] == '-' && text.size() <= 256);
}

bool isRequestId(std::string_view text) {
  return !text.empty() && text.size() <= 128 &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != ',' && c != '\\'; });
}

IdMaker::IdMaker() {
  std::random_device random;
  state_ = (static_cast<std::uint64_t>(random()) << 32) | random();
}

// splitmix64
std::uint64_t IdMaker::next() {
  std::uint64_t x = state_ += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::string IdMaker::traceparent() {
  std::string text = "00-";
  append(text, next() | 1);
  append(text, next());
  text += '-';
  append(text, next() | 1);
  return text + "-00";  // not sampled: that is others' to decide
}

std::string IdMaker::requestId() {
  std::string text;
  append(text, next());
  return text;
}

}  // namespace rouse::router
