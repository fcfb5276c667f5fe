// What functions have used so far, by name: of sessions that have ended, all of it; of those that have not, what their executors said last.
// A session whose GPU is lost has used at least what was said of it before. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "server/control/message.h"

namespace rouse::daemon {

struct FunctionUsage {
  std::uint64_t sessions = 0;
  channel::Consumption consumption;
  std::uint64_t commands = 0, launches = 0;
  std::uint64_t arrivals = 0, departures = 0, savedBytes = 0;
  std::uint64_t broughtBytes = 0, peerBytes = 0;

  void add(const channel::SessionUsage& usage);
};

class UsageTable {
 public:
  // Functions that have ended and are known by name; what all others used is counted under kOthers.
  static constexpr std::size_t kMostNames = 10'000;
  static constexpr const char* kOthers = "(others)";

  // As of now, by one of the session's devices (wherever that is now); replaces what was said of that before.
  void seen(std::uint64_t session, std::uint32_t device, const channel::SessionUsage& usage);
  // Nothing more comes of it.
  void ended(std::uint64_t session, const std::string& name);
  // Those that have ended, and the rest, which `nameOf` knows (empty: not counted).
  template <class NameOf>
  std::map<std::string, FunctionUsage> all(NameOf&& nameOf) const {
    std::map<std::string, FunctionUsage> sum = ended_;
    for (const auto& [session, devices] : live_) {
      const std::string name = nameOf(session);
      if (name.empty()) continue;
      FunctionUsage& of = sum[name];
      ++of.sessions;
      for (const auto& [device, usage] : devices) of.add(usage);
    }
    return sum;
  }

 private:
  std::map<std::string, FunctionUsage> ended_;
  std::unordered_map<std::uint64_t, std::map<std::uint32_t, channel::SessionUsage>> live_;
};

}  // namespace rouse::daemon
