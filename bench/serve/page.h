// The report of a load as one HTML file that needs nothing else: no script, no font, no picture from elsewhere. Pure.
#pragma once

#include <string>

#include "bench/serve/outcomes.h"

namespace rouse::bench {

// Percentiles and goodput by function; the share of requests in time over time; latencies as a distribution, in parts of the deadline; and each
// function's requests on a line. Its size depends on the number of functions, not of requests.
std::string reportPage(const Served&);

// To `file`, and the figures to the same name ending with .json. Throws std::runtime_error where that cannot be.
void writeReport(const Served&, const std::string& file);

}  // namespace rouse::bench
