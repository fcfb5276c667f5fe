// A whole pool for the hostile tests: roused with its executors and the CPU device on a private socket, and a
// neighbour, an ordinary CUDA program that checks all its results, running all the while. One for the whole test
// program.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

namespace rouse::test {

class Pool {
 public:
  // Started at the first use, ended when the test program ends.
  static Pool& instance();

  const std::string& socket() const { return socket_; }
  // Fails the current test unless the daemon is the same process, answers, has its executors never restarted, and the
  // neighbour has had no wrong result.
  void expectUnharmed();
  // Waits until the neighbour has completed `runs` more runs.
  void awaitNeighbour(int runs);
  // `rouse status --json`, as text.
  std::string status() const;

  Pool(const Pool&) = delete;
  ~Pool();

 private:
  Pool();
  void runNeighbour();

  std::filesystem::path folder_;
  std::string socket_;
  pid_t daemon_ = -1;
  std::atomic<bool> stopping_{false};
  std::atomic<int> neighbourRuns_{0}, neighbourFailures_{0};
  std::thread neighbour_;
};

}  // namespace rouse::test
