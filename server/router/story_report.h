// Requests' stories as JSON, for `rouse explain` and `rouse timeline`. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "server/router/history.h"

namespace rouse::router {

inline constexpr int kStorySchema = 1;

// `id`: a request's, a trace's, or a whole traceparent. `may`: whether whoever asks may see requests of this function; what others had to give up
// is told without their names. The requests found, the newest first; none: it is not remembered, or not theirs to see.
std::string storyReport(const History&, std::string_view id, const std::function<bool(const std::string& function)>& may);

// Those of all requests after the one with this number that are remembered and may be seen, the oldest first, `most` of them at most. Each also with its number
// and when it came (microseconds of one clock); `next` is the number to ask after for more, until it is `last`.
std::string storiesReport(const History&, std::uint64_t after, std::uint32_t most, const std::function<bool(const std::string& function)>& may);

}  // namespace rouse::router
