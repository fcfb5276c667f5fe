#include "memory/quota.h"

namespace rouse::memory {
namespace {

Error exceeded(CudaError code, const char* verb, std::uint64_t bytes, const char* of, std::uint64_t left,
               std::uint64_t whole) {
  return Error{code, std::string(verb) + " " + std::to_string(bytes) + " bytes: " + std::to_string(left) + " left of " +
                         std::to_string(whole) + " " + of};
}

}  // namespace

Status Quota::reserve(std::uint64_t bytes) {
  if (bytes > reservable())
    return exceeded(CudaError::memoryAllocation, "reserve", bytes, "allowed", reservable(), limit_);
  reserved_ += bytes;
  return {};
}

Status Quota::giveBack(std::uint64_t bytes) {
  if (bytes > mappable()) return exceeded(CudaError::invalidValue, "return", bytes, "reserved", mappable(), reserved_);
  reserved_ -= bytes;
  return {};
}

Status Quota::map(std::uint64_t bytes) {
  if (bytes > mappable()) return exceeded(CudaError::invalidValue, "map", bytes, "reserved", mappable(), reserved_);
  mapped_ += bytes;
  return {};
}

Status Quota::unmap(std::uint64_t bytes) {
  if (bytes > mapped_) return exceeded(CudaError::invalidValue, "unmap", bytes, "mapped", mapped_, mapped_);
  mapped_ -= bytes;
  return {};
}

}  // namespace rouse::memory
