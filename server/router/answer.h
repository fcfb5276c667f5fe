// The router's own answers. Errors are JSON, as the Open Inference Protocol has them: {"error": "what is wrong"}.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace rouse::router {

struct Answer {
  unsigned status = 200;
  std::string body;
  std::string_view contentType = "application/json";
  std::optional<std::chrono::milliseconds> retryAfter;
};

Answer errorAnswer(unsigned status, std::string_view what);

// The whole message; without the body itself if `head` (an answer to HEAD).
std::string serialize(const Answer&, std::string_view requestId, bool keepAlive, bool head);

}  // namespace rouse::router
