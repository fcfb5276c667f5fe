// `rouse usage`: what functions have used so far.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rouse::cli {

struct UsageOptions {
  std::string socket;
  bool json = false;
};
int usage(const UsageOptions&);

}  // namespace rouse::cli
