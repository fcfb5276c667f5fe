// How a request ended, for the gate that admitted it and for the counters.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rouse::router {

enum class Outcome : std::uint8_t {
  answered,       // by the function, with a status below 500
  functionError,  // by the function, with a status of 500 or more
  failed,         // the function's connection ended early, or what came was no HTTP: 502
  timedOut,       // the function did not answer in time: 504
  refused,        // never sent to the function: 503
  cancelled,      // the client went away
  invalid,        // the client sent too much, too slowly or no HTTP: 4xx
};
inline constexpr std::size_t kOutcomes = 7;

inline constexpr std::string_view name(Outcome outcome) {
  constexpr std::array<std::string_view, kOutcomes> kNames = {"answered", "function_error", "failed", "timed_out",
                                                              "refused",  "cancelled",      "invalid"};
  return kNames[static_cast<std::size_t>(outcome)];
}

}  // namespace rouse::router
