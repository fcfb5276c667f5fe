// `rouse status` and `rouse ps`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "schemas/base/result.h"

namespace rouse::cli {

// What the daemon says of itself (server/roused/status_report.h).
Result<nlohmann::ordered_json> askStatus(const std::string& socketFlag, bool unsupported);

struct StatusOptions {
  std::string socket;
  bool json = false;
  bool unsupported = false;
};
int status(const StatusOptions&);

struct PsOptions {
  std::string socket;
  bool json = false;
};
int ps(const PsOptions&);

}  // namespace rouse::cli
