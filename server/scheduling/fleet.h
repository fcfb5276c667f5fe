// What the scheduler's decisions are carried out on: the node's GPUs and the functions' programs on them. The daemon's pool is one
// (server/roused); tests have another. On the event loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "schemas/base/result.h"

namespace rouse::scheduling {

// Where the memory of a function's program belongs now.
struct Whereabouts {
  std::uint32_t gpu = 0;     // ordinal
  std::uint64_t bytes = 0;   // of a GPU that it may take: what it is promised
  bool tied = false;         // it can be on no other
  bool operator==(const Whereabouts&) const = default;
};

// What came to a GPU of a program's memory.
struct Arrived {
  std::uint64_t hostBytes = 0, peerBytes = 0;  // from the host, from other GPUs
};

class Fleet {
 public:
  using Done = std::function<void(Status)>;

  virtual ~Fleet() = default;
  // None: the function has no program that uses a GPU.
  virtual std::optional<Whereabouts> whereIs(const std::string& function) const = 0;
  // Takes it to this GPU, and begins to bring its memory there. `done` is called once, perhaps at once: when what the program asks for
  // from now on is served there, its memory still arriving; or when that cannot be, and it is where it was.
  virtual void take(const std::string& function, std::uint32_t gpu, Done done) = 0;
  // All of its memory has arrived, or it is not to arrive any more.
  virtual void whenHere(const std::string& function, Done done) = 0;
  // Of the last arrival that there was an end of; for people.
  virtual Arrived lastArrival(const std::string&) const { return {}; }
  // Its memory leaves the GPU, as far as others need the room: so many bytes of what it uses last before anybody loses more; 0: all of it.
  // Nobody waits for it.
  virtual void release(const std::string& function, std::uint64_t bytes) = 0;
};

}  // namespace rouse::scheduling
