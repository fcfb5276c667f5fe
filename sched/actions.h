// What Scheduler::step asks for, to be done in the order given.
#pragma once

#include <optional>
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

// Bring the model, or what of it is missing, and run the request as the parts arrive.
struct Run { RequestId request{}; FunctionId function{}; GpuId gpu{}; Source source; };
// Bring the model. A Run will follow, perhaps before ModelArrived.
struct Fetch { FunctionId function{}; GpuId gpu{}; Source source; };
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
