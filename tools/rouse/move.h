// `rouse load`, `unload`, `pin` and `unpin`.
#pragma once

#include <string>

#include "server/control/message.h"

namespace rouse::cli {

struct MoveOptions {
  std::string socket;
  std::string function;  // a session's number or a name
  channel::MoveAction action = channel::MoveAction::load;
};
int move(const MoveOptions&);

}  // namespace rouse::cli
