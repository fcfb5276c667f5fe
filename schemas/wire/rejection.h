// Why a client's bytes were refused. A rejection always ends the connection they came over.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace rouse::wire {

struct Rejection {
  std::string message;  // command, field, value, limit
};

// One pointer wide, null when all is well: it is returned for every command.
class [[nodiscard]] DecodeStatus {
 public:
  DecodeStatus() = default;
  DecodeStatus(Rejection rejection) : rejection_(std::make_unique<Rejection>(std::move(rejection))) {}

  bool ok() const { return rejection_ == nullptr; }
  explicit operator bool() const { return ok(); }
  // Only when not ok.
  const std::string& message() const { return rejection_->message; }

 private:
  std::unique_ptr<Rejection> rejection_;
};

}  // namespace rouse::wire
