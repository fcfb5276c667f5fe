// What `rouse explain` prints of the daemon's answer (server/router/story_report.h). Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rouse::cli {

// Each request found: what became of it, then its steps, a line each, with milliseconds since its arrival. Empty: none was found.
std::string explanation(const nlohmann::ordered_json& report);

}  // namespace rouse::cli
