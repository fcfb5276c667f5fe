// What a target asks for. Open Inference Protocol v2 (health, metadata, infer), Triton's model repository extension, and /fn/F/... for
// anything a function serves.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rouse::router {

struct Route {
  enum class Kind {
    unknown,     // 404
    live,        // /v2/health/live
    ready,       // /v2/health/ready
    server,      // /v2
    modelReady,  // /v2/models/F/ready, /v2/models/F/versions/V/ready
    index,       // /v2/repository/index
    load,        // /v2/repository/models/F/load
    unload,      // /v2/repository/models/F/unload
    forward,     // to the function, as `target`
  };
  Kind kind = Kind::unknown;
  std::string function;
  std::string target;  // what the function is asked for: path and query
  std::string prefix;  // what was taken off the front of the path; may be empty
};

// `target`: as in the request line, absolute form included.
Route route(std::string_view target);

// Letters, digits, '-', '_', '.'; the first a letter or digit; at most 64. Names that a function can have, as they are
// in a path.
inline constexpr std::size_t kMostNameBytes = 64;
bool isFunctionName(std::string_view);

}  // namespace rouse::router
