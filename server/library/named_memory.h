// What memory a library's call names, found in the call itself: by whoever has to know before it runs. Nothing in it is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schemas/base/named_range.h"

namespace rouse::library {

struct NamedMemory {
  std::vector<NamedRange> ranges;
  // It reads further addresses from these: what lies there is known only when it runs.
  bool indirect = false;
  const char* function = "";  // its name; literal
};

// wire::LibraryCall's fields and payload. False: it is no call that a client of ours makes; `why` says what and the limit.
bool namedMemory(std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters, NamedMemory& named, std::string& why);

}  // namespace rouse::library
