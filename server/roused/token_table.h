// What `rouse run` prepared: functions that processes may attach as, each under an unguessable token.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

namespace rouse::daemon {

struct Function {
  std::string name;
  std::uint32_t gpus = 1;
  std::uint64_t gpuMemory = 0;  // bytes on each; 0: as the settings say
  std::uint64_t hostMemory = 0;  // bytes of pinned and managed memory; 0: as the settings say
  bool supervised = false;       // one of functions.d, started by the daemon
  bool isolated = false;         // on executors of its own
  std::uint32_t check = 0;       // its kernels' accesses are checked (control.capnp, Prepare)
  bool operator==(const Function&) const = default;
};

// 128 random bits, as hexadecimal digits.
std::string unguessable();

class TokenTable {
 public:
  // Of one user. With more, that user's oldest token is forgotten; others' are not touched.
  static constexpr std::size_t kTokensPerUser = 1024;

  // A token is good for this user's processes (a program's children attach with it too), and for root's.
  std::string issue(uid_t user, Function);
  // The same for one that is not forgotten but by forget(), and is none of the user's own.
  std::string issueLasting(uid_t user, Function);
  void forget(const std::string& lasting) { functions_.erase(lasting); }
  // nullopt for tokens that were never issued, were forgotten, or are another user's: indistinguishable.
  std::optional<Function> find(const std::string& token, uid_t user) const;

  // Of a daemon before this one: as issue(), or issueLasting() of one that is supervised.
  void restore(const std::string& token, uid_t user, Function);
  // Not those that are lasting.
  template <class Visit>
  void forEach(Visit&& visit) const {
    for (const auto& [user, tokens] : order_)
      for (const std::string& token : tokens) visit(token, user, functions_.at(token).function);
  }
  // Called after each issue().
  void onChange(std::function<void()> changed) { changed_ = std::move(changed); }

  std::size_t size() const { return functions_.size(); }

 private:
  struct Issued {
    uid_t user;
    Function function;
  };
  std::unordered_map<std::string, Issued> functions_;
  std::unordered_map<uid_t, std::deque<std::string>> order_;  // oldest first
  std::function<void()> changed_ = [] {};
};

}  // namespace rouse::daemon
