// One swap as a picture: what arrived when, what ran when. Pure: takes times, gives text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rouse::bench {

struct Span {
  std::string name;
  double begin = 0, end = 0;  // milliseconds from the request on; end >= begin
};

// A row of spans that do not overlap, drawn in the order given.
struct Lane {
  std::string name;
  std::vector<Span> spans;
};

struct SwapChart {
  std::string title;
  std::string note;  // what the reader must know of where the times come from; may be empty
  std::vector<Lane> lanes;
};

// A picture of 960 units' width, a lane under the other above an axis in milliseconds, a tooltip for each span.
std::string drawSvg(const SwapChart& chart);

// Trace Event Format, which Perfetto and chrome://tracing read: a complete event ("X", microseconds) for each span, a thread
// for each lane.
nlohmann::ordered_json traceOf(const SwapChart& chart);

}  // namespace rouse::bench
