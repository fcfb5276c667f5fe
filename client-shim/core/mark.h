// A point in a stream: reached when the slot's value is at least this. Value 0: nothing to wait for.
#pragma once

#include <cstdint>

namespace rouse::client {

struct Mark {
  std::uint32_t slot = 0;
  std::uint64_t value = 0;
};

}  // namespace rouse::client
