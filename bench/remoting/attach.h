// What it costs to be attached: the first call of a process, and a pool full of silent clients.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rouse::bench {

nlohmann::json measureAttach(const std::string& device);
nlohmann::json measureIdle(const std::string& device);

}  // namespace rouse::bench
