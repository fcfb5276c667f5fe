// A pool started for one measurement: a private roused with its executors, stopped with the object.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rouse::bench {

struct PoolOptions {
  bool discardLaunches = false;
  std::string device = "cpu";
};

// Processes that are attached and do nothing; they end with the object.
class IdleClients {
 public:
  IdleClients() = default;
  IdleClients(IdleClients&&) = default;
  IdleClients& operator=(IdleClients&&) = delete;
  ~IdleClients();

 private:
  friend class Pool;
  std::vector<pid_t> pids_;
  std::vector<int> stdins_;
};

class Pool {
 public:
  explicit Pool(const PoolOptions& options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Runs `rouse-bench remoting-client WHAT` as a program of this pool and returns what it printed.
  nlohmann::json runClient(const std::string& what) const;

  // Returns once all of them are attached.
  IdleClients startIdleClients(int count) const;

  // Processor time used so far by the daemon and its executors.
  double cpuSeconds() const;

 private:
  std::vector<std::string> environment() const;

  std::filesystem::path directory_;
  pid_t daemon_ = -1;
};

}  // namespace rouse::bench
