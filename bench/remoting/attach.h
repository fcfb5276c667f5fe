// What it costs to be attached: the first call of a process, and a pool full of silent clients.
#pragma once

#include <nlohmann/json.hpp>

namespace rouse::bench {

nlohmann::json measureAttach();
nlohmann::json measureIdle();

}  // namespace rouse::bench
