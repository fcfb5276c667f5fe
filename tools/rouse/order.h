// `rouse start`, `stop`, `restart`, `reload` and `logs`: the functions of functions.d.
#pragma once

#include <string>

#include "server/control/message.h"

namespace rouse::cli {

struct OrderOptions {
  std::string socket;
  std::string function;
  channel::OrderAction action = channel::OrderAction::start;
};
int order(const OrderOptions&);

struct LogsOptions {
  std::string socket;
  std::string function;
  std::uint32_t lines = 100;
};
int logs(const LogsOptions&);

}  // namespace rouse::cli
