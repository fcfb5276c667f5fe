// A gate that knows which functions there are: what their owner asks for, and whether they can be asked. On the event loop's thread.
#pragma once

#include <cstddef>
#include <string>

#include "server/router/gate.h"

namespace rouse::router {

struct FunctionTerms {
  std::uint32_t concurrency = 1;  // requests at the function at once
  std::uint32_t waiting = 64;     // at most
  // For gates that decide by them: `percentile` of the requests are to be answered within `deadline`.
  std::chrono::milliseconds deadline{1000};
  double percentile = 0.98;  // below 1
  bool strict = false;       // before those that are not
  bool pinned = false;       // its memory stays where it is
};

class FunctionGate : public Gate {
 public:
  // A function that is not known yet becomes known, and is away.
  virtual void set(const std::string& function, const FunctionTerms&) = 0;
  // Those that wait are refused; those that run still leave.
  virtual void forget(const std::string& function) = 0;
  enum class Presence : std::uint8_t {
    here,     // requests are admitted
    away,     // it is being started again: requests wait
    stopped,  // they are refused
  };
  virtual void setPresence(const std::string& function, Presence) = 0;
  // Everybody is refused from now on.
  virtual void close() = 0;

  // Requests of a function, in all.
  virtual std::size_t waiting(const std::string& function) const = 0;
  virtual std::size_t running(const std::string& function) const = 0;
};

}  // namespace rouse::router
