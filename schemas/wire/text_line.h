// Builds describe()'s lines: "Copy stream=0/0 destination=0x7f00 … bytes=64".
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "schemas/wire/commands.h"

namespace rouse::wire {

class Line {
 public:
  explicit Line(const char* name) : text_(name) {}

  void add(const char* name, std::integral auto value) { key(name) += std::to_string(value); }
  void add(const char* name, Handle value) {
    key(name) += std::to_string(value.index) + '/' + std::to_string(value.generation);
  }
  void add(const char* name, Dim3 value) {
    key(name) += std::to_string(value.x) + 'x' + std::to_string(value.y) + 'x' + std::to_string(value.z);
  }
  void hex(const char* name, std::uint64_t value) {
    char digits[24];
    std::snprintf(digits, sizeof(digits), "0x%llx", static_cast<unsigned long long>(value));
    key(name) += digits;
  }
  void payload(const char* name, std::size_t bytes) { key(name) += '[' + std::to_string(bytes) + ']'; }

  std::string text() && { return std::move(text_); }

 private:
  std::string& key(const char* name) {
    text_ += ' ';
    text_ += name;
    return text_ += '=';
  }

  std::string text_;
};

}  // namespace rouse::wire
