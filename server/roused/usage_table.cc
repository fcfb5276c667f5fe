#include "server/roused/usage_table.h"

namespace rouse::daemon {

void FunctionUsage::add(const channel::SessionUsage& usage) {
  consumption.busyNs += usage.consumption.busyNs;
  consumption.deviceByteSeconds += usage.consumption.deviceByteSeconds;
  consumption.homeByteSeconds += usage.consumption.homeByteSeconds;
  commands += usage.commands;
  launches += usage.launches;
  arrivals += usage.arrivals;
  departures += usage.departures;
  savedBytes += usage.savedBytes;
  broughtBytes += usage.broughtBytes;
  peerBytes += usage.peerBytes;
}

void UsageTable::seen(std::uint64_t session, std::uint32_t device, const channel::SessionUsage& usage) { live_[session][device] = usage; }

void UsageTable::ended(std::uint64_t session, const std::string& name) {
  const auto found = live_.find(session);
  const bool known = ended_.contains(name) || ended_.size() < kMostNames;
  FunctionUsage& sum = ended_[known ? name : kOthers];
  ++sum.sessions;
  if (found == live_.end()) return;
  for (const auto& [device, usage] : found->second) sum.add(usage);
  live_.erase(found);
}

}  // namespace rouse::daemon
