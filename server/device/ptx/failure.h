// How the parser and the checks give up: thrown inside ptx/ and codegen/, turned into a Result at Program's boundary.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "schemas/base/result.h"
#include "server/device/ptx/module.h"

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

// Runs `body`, that reads or checks the function. Where it fails for what is not covered, and functions are left out then, so is this one: false.
template <class Body>
bool isCovered(Function& function, Uncovered uncovered, Body&& body) {
  try {
    body();
    return true;
  } catch (const Failure& failure) {
    if (uncovered == Uncovered::fails || failure.error().code != CudaError::notSupported) throw;
    leaveOut(function, failure.error().message);
    return false;
  }
}

}  // namespace rouse::ptx
