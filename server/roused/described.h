// What a process is told of its GPUs before it attaches, or beside that (control.capnp, Describe): what is said to itself, and nothing of others.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "server/roused/session_table.h"

namespace rouse::daemon {

struct Asker {
  struct Gpu {
    std::uint32_t ordinal = 0;
    std::uint64_t memoryLimit = 0;
  };
  std::vector<Gpu> gpus;          // in its view
  std::uint64_t session = 0;      // 0: none
  std::uint64_t family = 0;
};

// Of a session of this user's; nullopt: there is none of that number.
std::optional<Asker> askerOf(const SessionTable&, std::uint64_t session, uid_t user);
Asker askerOf(const SessionRequest&, std::span<ExecutorLink* const> foreseen);

channel::Described describedTo(const Asker&, const DevicePool&, const SessionTable&, const ExecutorStates&);

}  // namespace rouse::daemon
