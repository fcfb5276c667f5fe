#include "server/roused/described.h"

#include <algorithm>

#include "schemas/base/range.h"

namespace rouse::daemon {
std::optional<Asker> askerOf(const SessionTable& sessions, std::uint64_t id, uid_t user) {
  const auto found = sessions.sessions().find(id);
  if (found == sessions.sessions().end()) return std::nullopt;
  const Session& session = *found->second;
  if (session.state != Session::State::open || (user != 0 && user != session.who.uid)) return std::nullopt;
  Asker asker{.gpus = {}, .session = id, .family = session.who.family};
  for (const Session::Device& device : session.devices) asker.gpus.push_back({device.executor->ordinal(), device.memoryLimit});
  return asker;
}

Asker askerOf(const SessionRequest& request, std::span<ExecutorLink* const> foreseen) {
  Asker asker{.gpus = {}, .family = request.family};
  for (const ExecutorLink* link : foreseen) {
    const std::uint64_t physical = link->properties().memoryBytes;
    asker.gpus.push_back({link->ordinal(), request.gpuMemory == 0 ? physical : std::min(physical, roundUp(request.gpuMemory, kGranuleBytes))});
  }
  return asker;
}

channel::Described describedTo(const Asker& asker, const DevicePool& pool, const SessionTable& sessions, const ExecutorStates& executors) {
  channel::Described described;
  for (const Asker::Gpu& gpu : asker.gpus) {
    const auto link = std::ranges::find_if(pool.links(), [&](const auto& each) { return each->ordinal() == gpu.ordinal; });
    if (link == pool.links().end()) continue;
    const memory::LinkDescription& way = (*link)->properties().link;
    channel::Described::Device& device = described.devices.emplace_back(
        channel::Described::Device{.properties = (*link)->properties(),
                                   .memoryLimit = gpu.memoryLimit,
                                   .pcieGeneration = way.pcieGeneration,
                                   .pcieGenerationAtMost = way.pcieGenerationAtMost,
                                   .pcieWidth = way.pcieWidth,
                                   .pcieWidthAtMost = way.pcieWidthAtMost});
    if (const auto status = executors.find(link->get()); status != executors.end())
      device.freeBytes = std::min(gpu.memoryLimit, status->second.offeredBytes);
    for (const auto& [id, session] : sessions.sessions()) {
      if (id != asker.session && (asker.family == 0 || session->who.family != asker.family)) continue;
      for (const Session::Device& each : session->devices) {
        if (each.executor->ordinal() != gpu.ordinal || !each.served()) continue;
        if (const channel::SessionUsage* usage = usageOf(executors, *each.executor, id)) device.busyNs += usage->consumption.busyNs;
      }
    }
  }
  return described;
}

}  // namespace rouse::daemon
