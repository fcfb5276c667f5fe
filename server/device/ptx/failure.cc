#include "server/device/ptx/failure.h"

namespace rouse::ptx {
namespace {

std::string located(std::uint32_t line, const std::string& message) {
  return "PTX line " + std::to_string(line) + ": " + message;
}

}  // namespace

void failInvalid(std::uint32_t line, const std::string& message) {
  throw Failure(Error{CudaError::invalidPtx, located(line, message)});
}

void failUnsupported(std::uint32_t line, const std::string& message) {
  throw Failure(Error{CudaError::notSupported, located(line, message)});
}

}  // namespace rouse::ptx
