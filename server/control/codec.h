// Plain messages to and from the Cap'n Proto encoding of schemas/control/control.capnp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/base/result.h"
#include "server/control/message.h"

namespace rouse::channel {

// The encoding without its frame. Descriptors are not part of it.
std::vector<std::uint64_t> encode(std::uint64_t id, const Body&);

// Decodes everything in the message at once; allocates at most a small multiple of words.size(). An encoding that is
// malformed, of an unknown kind or out of range is an error (invalidValue) that says which; nothing is thrown.
Result<Message> decode(std::span<const std::uint64_t> words);

}  // namespace rouse::channel
