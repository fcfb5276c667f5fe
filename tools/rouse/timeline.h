// `rouse timeline`: what became of the last requests, as a trace for Perfetto.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rouse::cli {

struct TimelineOptions {
  std::string socket;
  std::string output;                  // empty: standard output
  std::vector<std::string> functions;  // none: all
  std::uint32_t last = 0;              // requests at most; 0: all that are remembered
};
int timeline(const TimelineOptions&);

}  // namespace rouse::cli
