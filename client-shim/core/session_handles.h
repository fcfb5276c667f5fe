// The handle tables of a session.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "client-shim/core/event.h"
#include "client-shim/core/handle_table.h"
#include "client-shim/core/stream.h"

namespace rouse::client {

class StreamOrderedPool;

struct SessionHandles {
  HandleTable<Stream, 0x53> streams;
  HandleTable<Event, 0x45> events;
  std::mutex poolMutex;
  std::map<std::uint64_t, StreamOrderedPool*> pools;  // also destroyed ones that have blocks in use
  std::atomic<std::uint64_t> restingBlocks{0};        // in all pools

  // Numbers that are never used twice in a process.
  std::uint64_t nextId() { return lastId.fetch_add(1, std::memory_order_relaxed) + 1; }
  std::atomic<std::uint64_t> lastId{0};
};

}  // namespace rouse::client
