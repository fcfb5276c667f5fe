// The version of this build.
#pragma once

namespace rouse::daemon {

inline constexpr const char* kVersion = ROUSE_VERSION;

}  // namespace rouse::daemon
