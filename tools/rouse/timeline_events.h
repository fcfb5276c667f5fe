// The stories of requests (server/router/story_report.h) in the Trace Event Format, which Perfetto and chrome://tracing read. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace rouse::cli {

// A process for each function: its requests, each with its parts (queue, swap, run) and steps; one for each GPU: which requests ran there, whose memory
// came, who left. Requests of one function may overlap, so all are asynchronous slices, with the request's number as id. Requests as a report has them,
// each with `number` and `arrived_us`; what is missing or unknown in them is left out. Times count from the first one's arrival.
nlohmann::ordered_json timelineEvents(const std::vector<nlohmann::ordered_json>& requests);

}  // namespace rouse::cli
