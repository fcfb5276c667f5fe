// Triton's model repository extension, as a node's functions answer it; the daemon's answer, or a test's. To load a function is to start it
// and to bring what it has to its GPU; to unload it is to stop it. On the event loop's thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"

namespace rouse::router {

class Repository {
 public:
  struct Model {
    std::string name;
    std::string_view state;   // READY, LOADING, UNLOADING or UNAVAILABLE
    std::string_view reason;  // why it is not ready, in words that anybody may read; empty: it is, or is about to be
  };

  virtual ~Repository() = default;
  // By name.
  virtual std::vector<Model> models() const = 0;
  // `done` is called once, at once or later: when the function answers requests, or has failed to. devicesUnavailable: the daemon is ending.
  virtual void load(const std::string& function, std::function<void(Status)> done) = 0;
  // When no process of it is left.
  virtual void unload(const std::string& function, std::function<void(Status)> done) = 0;
};

}  // namespace rouse::router
