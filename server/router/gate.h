// Who may go to their function now. The router asks before it forwards a request and tells when it is over; which
// request goes first, on which GPU, and who is turned away is the gate's alone. `QueueGate` is the first: a queue for
// each function. On the event loop's thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/router/outcome.h"

namespace rouse::router {

// Of one request's stay; never reused.
using Ticket = std::uint64_t;
using Time = std::chrono::steady_clock::time_point;

struct Entry {
  std::string function;
  std::uint64_t request = 0;  // the same when it is tried a second time
  Time arrived;
  Time deadline;       // when the function has promised its answer; for deciding who goes first
  Time giveUp;         // when nobody wants to wait in the queue any more: it is refused
  bool again = false;  // it was admitted before, and its function failed: it goes before others and is not held to the
                       // queue's limit
  std::optional<std::uint32_t> failedOn{};  // its first try's GPU, where that was lost: another one is better, if there is one
};

enum class RefusalReason : std::uint8_t {
  queueFull,
  waitedTooLong,  // giveUp has come
  hopeless,       // the deadline cannot be met any more; for schedulers
  stopped,        // the function is stopped, or unknown to the gate
  closing,        // the daemon is
};

struct Admitted {
  std::optional<std::uint32_t> gpu;  // on which its function is served now; nullopt: not known
};
struct Refused {
  RefusalReason reason = RefusalReason::stopped;
  std::chrono::milliseconds retryAfter{1000};
};
using Admission = std::variant<Admitted, Refused>;

inline constexpr std::string_view name(RefusalReason reason) {
  constexpr std::array<std::string_view, 5> kNames = {"queue-full", "waited-too-long", "hopeless", "stopped", "closing"};
  return kNames[static_cast<std::size_t>(reason)];
}

// How the model of a request that was let in was found when a GPU was given to it.
enum class ModelSource : std::uint8_t {
  none,      // nobody knows, or it uses no GPU
  resident,  // on that GPU
  host,      // it came from the host for it
  peer,      // from another GPU
};
inline constexpr std::size_t kModelSources = 4;
inline constexpr std::string_view name(ModelSource source) {
  constexpr std::array<std::string_view, kModelSources> kNames = {"none", "resident", "host", "peer"};
  return kNames[static_cast<std::size_t>(source)];
}

struct Stages {
  ModelSource source = ModelSource::none;
  Time begun{};  // a GPU was given to it; zero: when it was admitted
  Time here{};   // all of its model was there, that may be before `begun`; zero: not yet, or there is none to come
};

class Gate {
 public:
  virtual ~Gate() = default;
  // `answer` is called once: before enter() returns, or later from the event loop; not after cancel().
  virtual Ticket enter(Entry, std::function<void(Admission)> answer) = 0;
  // Who waits no longer wants to. Nothing for those that have been answered.
  virtual void cancel(Ticket) = 0;
  // Who was admitted is done. Exactly once for each.
  virtual void leave(Ticket, Outcome) = 0;
  // Of who is admitted and has not left.
  virtual Stages stages(Ticket) const { return {}; }
};

}  // namespace rouse::router
