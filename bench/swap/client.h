// The half of the swap benchmark that runs as programs of the pool.
#pragma once

#include <cstdint>
#include <string>

namespace rouse::bench {

// Answers lines on standard input by lines of JSON until it closes; the first answer comes unasked.
//   (at first)                      {"attach_ms", "load_ms", "bytes"}
//   infer REQUEST STRIDE [trace]    {"ms", "wrong"}, with trace also {"began", "queued", "ended", "times"}
//   touch                           {"ms"}
//   spoil                           {}
int serveNetwork(const std::string& network, double scale, std::uint64_t seed, int gpu);

// Takes `bytes` of a GPU and keeps them: {"ms"}. Then each line is answered when they are there, by {"ms"}: a function that others have to
// leave for.
int hold(std::uint64_t bytes, int gpu);

// Takes `bytes` of each GPU it sees, all at once, says how long that took, each GPU in turn: {"ms": […]}, and ends.
int occupy(std::uint64_t bytes);

}  // namespace rouse::bench
