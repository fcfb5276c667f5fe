#include "server/router/answer.h"

#include <boost/beast/http/status.hpp>
#include <nlohmann/json.hpp>

namespace rouse::router {

Answer errorAnswer(unsigned status, std::string_view what) {
  Answer answer;
  answer.status = status;
  answer.body = nlohmann::json{{"error", what}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return answer;
}

std::string serialize(const Answer& answer, std::string_view requestId, bool keepAlive, bool head) {
  const auto reason = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(answer.status));
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " ";
  text.append(reason.data(), reason.size()).append("\r\n");
  if (!answer.body.empty()) text.append("Content-Type: ").append(answer.contentType).append("\r\n");
  text += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
  if (answer.retryAfter) text += "Retry-After: " + std::to_string((answer.retryAfter->count() + 999) / 1000) + "\r\n";
  if (!requestId.empty()) text.append("X-Request-Id: ").append(requestId).append("\r\n");
  if (!keepAlive) text += "Connection: close\r\n";
  text += "\r\n";
  if (!head) text += answer.body;
  return text;
}

}  // namespace rouse::router
