#include "server/roused/token_table.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

namespace rouse::daemon {

std::string unguessable() {
  std::array<unsigned char, 16> bytes;
  // getrandom of so few bytes neither blocks once the system is up nor returns less (getrandom(2)).
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("getrandom failed");
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4];
    token += kDigits[byte & 15];
  }
  return token;
}

std::string TokenTable::issue(uid_t user, Function function) {
  const std::string token = unguessable();
  restore(token, user, std::move(function));
  changed_();
  return token;
}

void TokenTable::restore(const std::string& token, uid_t user, Function function) {
  if (!functions_.emplace(token, Issued{user, std::move(function)}).second || functions_.at(token).function.supervised) return;
  std::deque<std::string>& tokens = order_[user];
  if (tokens.size() >= kTokensPerUser) {
    functions_.erase(tokens.front());
    tokens.pop_front();
  }
  tokens.push_back(token);
}

std::string TokenTable::issueLasting(uid_t user, Function function) {
  std::string token = unguessable();
  functions_.emplace(token, Issued{user, std::move(function)});
  return token;
}

std::optional<Function> TokenTable::find(const std::string& token, uid_t user) const {
  const auto found = functions_.find(token);
  if (found == functions_.end() || (user != 0 && user != found->second.user)) return std::nullopt;
  return found->second.function;
}

}  // namespace rouse::daemon
