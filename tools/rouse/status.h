// `rouse status` and `rouse ps`.
#pragma once

#include <string>

namespace rouse::cli {

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

// `rouse usage`: what functions have used so far.
int usage(const PsOptions&);

}  // namespace rouse::cli
