#include "server/functions/users.h"

#include <pwd.h>

#include <algorithm>
#include <cstdint>

namespace rouse::functions {

std::optional<uid_t> UserNumbers::take(const std::string& function) {
  if (const auto found = taken_.find(function); found != taken_.end()) return found->second;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const unsigned char c : function) hash = (hash ^ c) * 0x100000001b3;
  const std::uint64_t count = std::uint64_t{range_.last} - range_.first + 1;
  for (std::uint64_t i = 0; i < count && i <= taken_.size(); ++i) {
    const uid_t uid = range_.first + static_cast<uid_t>((hash + i) % count);
    if (std::ranges::any_of(taken_, [&](const auto& other) { return other.second == uid; })) continue;
    taken_.emplace(function, uid);
    return uid;
  }
  return std::nullopt;
}

Result<User> findUser(const std::string& name) {
  const passwd* entry = ::getpwnam(name.c_str());
  if (entry == nullptr) return Error{CudaError::invalidValue, "there is no user '" + name + "'"};
  if (entry->pw_uid == 0)
    return Error{CudaError::invalidValue, "'" + name + "' is root, as whom no function runs"};
  return User{entry->pw_uid, entry->pw_gid};
}

}  // namespace rouse::functions
