// What a simulation was like, as JSON and as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/sim/engine.h"

namespace rouse::sim {

using Json = nlohmann::ordered_json;

void describe(const Outcome& outcome, const Setup& setup, Json& report);
// One object; or its keys and values, a line each.
void print(const Json& report, bool asJson);
void writeFile(const std::string& path, const std::string& text);  // throws std::runtime_error

}  // namespace rouse::sim
