// A roused for one command: its own folder, its own socket, gone with the object.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::cli {

struct PrivateDaemonOptions {
  std::string device;      // empty: auto
  std::uint32_t gpus = 0;  // 0: the daemon's default
  std::uint64_t gpuMemory = 0;
  std::string logLevel = "warning";
};

class PrivateDaemon {
 public:
  // Returns at once: whoever connects waits until the daemon serves, and is disconnected if it ends instead.
  static Result<PrivateDaemon> start(const PrivateDaemonOptions&);
  PrivateDaemon(PrivateDaemon&&) noexcept;
  PrivateDaemon& operator=(PrivateDaemon&&) = delete;
  ~PrivateDaemon() { stop(); }

  std::string socket() const;
  // Ends it and everything it started, and removes the folder.
  void stop();
  // After a failure: why it ended, once it has; empty while it runs. One line.
  std::string howItEnded();

 private:
  PrivateDaemon() = default;
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  wire::OwnedFd exit_;
};

}  // namespace rouse::cli
