// A request's story as JSON, for `rouse explain`. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "server/router/history.h"

namespace rouse::router {

inline constexpr int kStorySchema = 1;

// `id`: a request's, a trace's, or a whole traceparent. `may`: whether whoever asks may see requests of this function; what others had to give up
// is told without their names. The requests found, the newest first; none: it is not remembered, or not theirs to see.
std::string storyReport(const History&, std::string_view id, const std::function<bool(const std::string& function)>& may);

}  // namespace rouse::router
