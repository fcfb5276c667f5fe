// Which functions there are, for the router; the supervisor's answer (server/functions), or a test's.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace rouse::router {

// What the router needs of one function. Never changed: a reload makes another one, and requests keep what they began
// with.
struct Target {
  std::string name;
  std::string socket;          // path of the Unix socket on which it serves HTTP
  std::optional<uid_t> owner;  // whoever else listens there is not it, and is sent nothing
  std::chrono::milliseconds deadline{1000};
  std::chrono::milliseconds timeout{60000};  // for the head of its answer, then for each further part
  std::chrono::milliseconds queueTimeout{30000};
  std::uint64_t maxBody = std::uint64_t{64} << 20;  // bytes of a request's
  bool retry = false;                               // a request may be sent a second time
  std::uint32_t connections = 1;                    // kept open for later requests, at most
};

class Directory {
 public:
  virtual ~Directory() = default;
  // Null: unknown.
  virtual std::shared_ptr<const Target> find(std::string_view function) const = 0;
  // It answers requests now.
  virtual bool ready(std::string_view function) const = 0;
  // All that are to be ready are.
  virtual bool allReady() const = 0;
  // How often it has lost a GPU's executor so far: an answer of 500 or more in whose time this has grown is the
  // executor's failure.
  virtual std::uint64_t losses(std::string_view function) const = 0;
};

}  // namespace rouse::router
