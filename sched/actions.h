// What Scheduler::step asks for, to be done in the order given.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "sched/ids.h"
#include "sched/time.h"

namespace rouse::sched {

struct Source {
  enum class Kind : std::uint8_t {
    resident,  // it is there, or on its way there by an earlier Fetch
    host,
    peer,
  };
  Kind kind = Kind::resident;
  GpuId peer{};  // where kind is peer; it keeps the model until this one has arrived
  bool operator==(const Source&) const = default;
};

// Why there, as the placement policy has it; for people. Names: name(Why).
enum class Why : std::uint8_t {
  unsaid,
  resident,       // its model is on that GPU, which is idle
  inTime,         // what is missing of it will be there before it is needed
  idleOtherwise,  // nobody more urgent could use that GPU now
  lastChance,     // where it is it would wait for too long: copied from there
  nothingElse,    // that GPU has nothing else to do: copied from where it is
  earliestEnd,    // where it should end first, by links, queues, and what would have to leave
  fastestPeer,    // from the GPU that has it, over the fastest link between two
  quietLink,      // nobody else loads over that link
  lightLink,      // only light models load over that link
  cheapestRoom,   // whoever leaves there costs least; its link is busy with a heavy model
  random,
  evenLoad,       // that GPU has had less to do lately, and nothing now
};
inline constexpr std::string_view name(Why why) {
  constexpr std::array<std::string_view, 13> kNames = {"unsaid",       "resident",     "in-time",    "idle-otherwise", "last-chance",   "nothing-else",
                                                       "earliest-end", "fastest-peer", "quiet-link", "light-link",     "cheapest-room", "random",
                                                       "even-load"};
  return kNames[static_cast<std::size_t>(why)];
}

// Bring the model, or what of it is missing, and run the request as the parts arrive.
struct Run { RequestId request{}; FunctionId function{}; GpuId gpu{}; Source source; Why why{}; };
// Bring the model. A Run will follow, perhaps before ModelArrived.
struct Fetch { FunctionId function{}; GpuId gpu{}; Source source; Why why{}; };
// Before the Run or Fetch that follows: these leave, in this order. None of them runs, arrives or is copied from. Who does not
// leave whole gives up so many bytes of what it uses last, and is brought them again with its next Fetch or Run from the host.
struct Leave { FunctionId function{}; std::uint64_t bytes = 0; bool whole = true; };
struct Evict { GpuId gpu{}; std::vector<Leave> leave; };

enum class Reason : std::uint8_t {
  queueFull,       // of the function
  hopeless,        // could not be answered before its deadline
  functionRemoved,
  executorFailed,  // it ran there, and may not be run again
};
struct Refuse { RequestId request{}; Reason reason{}; Duration retryAfter{}; };
// A TimerFired then, instead of at any time asked for before; a later step does as well.
struct SetTimer { std::optional<Time> at; };

using Action = std::variant<Run, Fetch, Evict, Refuse, SetTimer>;

}  // namespace rouse::sched
