// `rouse load`, `unload`, `pin`, `unpin` and `migrate`.
#pragma once

#include <string>

#include "server/control/message.h"

namespace rouse::cli {

struct MoveOptions {
  std::string socket;
  std::string function;  // a session's number or a name
  channel::MoveAction action = channel::MoveAction::load;
  std::uint32_t gpu = 0;  // to migrate to
};
int move(const MoveOptions&);

}  // namespace rouse::cli
