// A user of its own for each function, out of a range of numbers that nobody else has.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>

#include "schemas/base/result.h"
#include "server/roused/user_range.h"

namespace rouse::functions {

using daemon::UserRange;

// The same name gets the same number where it can: it is begun with at a place that the name decides. Groups have the
// users' numbers.
class UserNumbers {
 public:
  explicit UserNumbers(UserRange range) : range_(range) {}
  // nullopt: all are taken.
  std::optional<uid_t> take(const std::string& function);
  void giveBack(const std::string& function) { taken_.erase(function); }

 private:
  UserRange range_;
  std::map<std::string, uid_t> taken_;
};

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
};
// Of the system's; invalidValue for those that there are not, and for root.
Result<User> findUser(const std::string& name);

}  // namespace rouse::functions
