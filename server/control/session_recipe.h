// All that makes a session what it is, but its segments, which processes share, and the content of its memory, which lies at home:
// from this an executor makes the same session on another device (server/executor/session_recipe.cc). Plain values, checked by who uses
// them. Addresses are the program's, sizes bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schemas/base/range.h"

namespace rouse::channel {

// What a session has used so far (server/executor/meter.h). Byte seconds are floating-point numbers: 64 bits of byte nanoseconds last for ten
// gigabytes and half an hour.
struct Consumption {
  std::uint64_t busyNs = 0;      // while work of it was under way
  double deviceByteSeconds = 0;  // of its memory on the device, what only rests there not counted
  double homeByteSeconds = 0;    // of its places in the host store
  bool operator==(const Consumption&) const = default;
};

struct SessionRecipe {
  // The device's memory: promised, and of that mapped. Each granule by its place in the device window (counted from its beginning), ascending,
  // with where its content lies: an offset in the file of the host store.
  std::uint64_t reservedBytes = 0;
  struct Granule {
    std::uint32_t number = 0;
    std::uint64_t home = 0;
    bool operator==(const Granule&) const = default;
  };
  std::vector<Granule> granules;
  AddressRange toMap;                  // of a MemMap that waits for memory: what is left; empty: none does
  std::vector<std::uint32_t> order;    // granules by first use
  std::vector<AddressRange> objects;   // the program's allocations
  bool allObjectsKnown = true;
  std::vector<AddressRange> hostRanges;  // staging not among them

  // By index of their handles; those not alive only keep their generation. The first stream is the legacy one.
  struct Stream {
    std::uint32_t generation = 0;
    bool live = false;
    bool nonBlocking = false;
    std::int32_t priority = 0;
    bool operator==(const Stream&) const = default;
  };
  std::vector<Stream> streams;
  struct Module {
    std::uint32_t generation = 0;
    bool live = false;
    bool made = false;  // false: the device could not, and launches fail
    std::uint64_t moduleId = 0;
    std::vector<std::uint64_t> addresses;  // of its variables; none where the device places them
    bool operator==(const Module&) const = default;
  };
  std::vector<Module> modules;
  struct Limit {
    std::uint32_t limit = 0;  // memory::ContextLimit
    std::uint64_t value = 0;
    bool operator==(const Limit&) const = default;
  };
  std::vector<Limit> limits;  // in the order in which they were set last

  struct Graph {
    std::uint64_t id = 0;
    std::uint64_t bytes = 0;             // of the whole definition
    std::vector<std::byte> definition;  // fewer: the rest is still to come; of one graph at most, the last
    bool operator==(const Graph&) const = default;
  };
  std::vector<Graph> graphs;

  // Where it is in its rings: bytes since their beginning.
  std::uint64_t commandBytes = 0, outputBytes = 0, outputDropped = 0;
  // For people: so far.
  std::uint64_t commands = 0, launches = 0;
  std::uint32_t lastError = 0;
  std::uint64_t arrivals = 0, departures = 0, savedBytes = 0, lastSavedBytes = 0, peerBytes = 0;
  Consumption consumption;
  std::uint64_t broughtBytes = 0;

  bool operator==(const SessionRecipe&) const = default;
};

}  // namespace rouse::channel
