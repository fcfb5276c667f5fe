// Statistics over repeated measurements and the JSON they end up in.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace rouse::bench {

// The value below which `fraction` of the samples lie (nearest rank). `samples` must not be empty.
double percentile(std::vector<double> samples, double fraction);
inline double median(std::vector<double> samples) { return percentile(std::move(samples), 0.5); }

// Machine, kernel, cores: what a reader needs to judge a figure.
nlohmann::json environment();

// Seconds of CLOCK_MONOTONIC.
double now();

}  // namespace rouse::bench
