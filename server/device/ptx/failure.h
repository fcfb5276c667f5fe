// How the parser and the checks give up: thrown inside ptx/ and codegen/, turned into a Result at Program's boundary.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "schemas/base/result.h"

namespace rouse::ptx {

class Failure {
 public:
  explicit Failure(Error error) : error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

// "line 12: <message>"
[[noreturn]] void failInvalid(std::uint32_t line, const std::string& message);
[[noreturn]] void failUnsupported(std::uint32_t line, const std::string& message);

}  // namespace rouse::ptx
