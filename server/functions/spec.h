// What an operator says of one function: one file of functions.d.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rouse::functions {

struct FunctionSpec {
  std::string name;  // the file's, without ".toml"

  std::vector<std::string> command;  // the first is an absolute path
  std::map<std::string, std::string> environment;
  std::string directory;  // working directory; empty: the function's own
  std::string socket;     // on which it serves HTTP; empty: http.sock in its own folder, as ROUSE_FUNCTION_SOCKET says
  std::string user;       // empty: one of its own, where roused is root

  // What has been promised: `percentile` percent of its requests within `deadline`.
  std::chrono::milliseconds deadline{1000};
  double percentile = 98;
  bool strict = false;  // before functions that are "best-effort"

  std::chrono::milliseconds timeout{60000};       // of an answer's head, and of each further part
  std::chrono::milliseconds queueTimeout{30000};  // of waiting to be sent to it
  std::uint32_t concurrency = 1, queueLimit = 64;
  std::uint64_t maxBody = std::uint64_t{64} << 20;
  bool retry = false;

  std::uint32_t gpus = 1;
  std::uint64_t gpuMemory = 0;   // bytes on each; 0: as [functions] says
  std::uint64_t hostMemory = 0;  // pinned and managed bytes; 0: as [functions] says
  bool pin = false;
  bool isolated = false;  // on executors of its own
  std::uint64_t memory = 0;     // bytes of its processes; 0: no limit
  double cpus = 0;              // cores' worth of time; 0: no limit
  std::uint32_t processes = 0;  // and threads; 0: no limit

  std::string healthPath = "/v2/health/ready";  // empty: it is well when it takes connections
  std::chrono::milliseconds healthInterval{2000}, healthTimeout{1000};
  std::uint32_t healthFailures = 3;  // in a row, and it is restarted
  std::chrono::milliseconds startTimeout{120000}, stopTimeout{10000};

  bool operator==(const FunctionSpec&) const = default;
};

// What differs concerns its process, not only how requests come to it.
inline bool needsRestart(const FunctionSpec& before, FunctionSpec after) {
  after.deadline = before.deadline;
  after.percentile = before.percentile;
  after.strict = before.strict;
  after.timeout = before.timeout;
  after.queueTimeout = before.queueTimeout;
  after.concurrency = before.concurrency;
  after.queueLimit = before.queueLimit;
  after.maxBody = before.maxBody;
  after.retry = before.retry;
  after.healthPath = before.healthPath;
  after.healthInterval = before.healthInterval;
  after.healthTimeout = before.healthTimeout;
  after.healthFailures = before.healthFailures;
  after.startTimeout = before.startTimeout;
  after.stopTimeout = before.stopTimeout;
  return after != before;
}

}  // namespace rouse::functions
