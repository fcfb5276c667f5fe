// `rouse doctor` without files: can this node's GPUs be served, and if not, why?
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "tools/rouse/diagnosis.h"

namespace rouse::cli {

struct NodeFindings {
  std::string asked;  // who said so: "the daemon at …", "a private daemon"
  nlohmann::ordered_json gpus = nlohmann::ordered_json::array();  // as `rouse status --json` has them
  std::vector<std::string> problems;                              // one line each: what, which device, what to do
};

// Asks the daemon at the socket (empty: see chooseSocket); where none answers, opens the GPUs in a private daemon, with
// little of their memory and only for as long as it takes to say so. Waits for a daemon that is starting, a minute at
// most.
NodeFindings checkNode(const std::string& socket);

// What code of programs runs on there, for `rouse doctor FILE`: as the daemon at the socket says; not known where none answers at the system's, an error where
// none does at one that was chosen.
Result<PoolDevices> devicesOf(const std::string& socket);

}  // namespace rouse::cli
