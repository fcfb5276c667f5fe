// Loads modules on threads of their own, so that the reactor never waits for a compiler. A few threads, started when
// needed: one function's slow module does not hold up another's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "memory/device.h"
#include "schemas/wire/owned_fd.h"
#include "server/executor/progress_flag.h"

namespace rouse::executor {

class ModuleLoader {
 public:
  struct Loaded {
    std::uint64_t moduleId;
    Result<std::shared_ptr<memory::Image>> image;
  };

  // Both outlive this object. Rings `flag` when there is something to take.
  ModuleLoader(memory::Device& device, ProgressFlag& flag, unsigned threads);
  // Waits for loads that have begun.
  ~ModuleLoader();

  // `module`: a memfd sealed against writing and shrinking, of at least `bytes`. Fails at once if it is not.
  Status load(std::uint64_t moduleId, wire::OwnedFd module, std::uint64_t bytes);
  // What has been loaded since the last call.
  std::vector<Loaded> take();

 private:
  struct Job {
    std::uint64_t moduleId;
    wire::OwnedFd module;
    std::uint64_t bytes;
  };
  void run();
  Result<std::shared_ptr<memory::Image>> load(const Job& job);

  memory::Device& device_;
  ProgressFlag& flag_;
  const unsigned threadLimit_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<Job> jobs_;
  std::vector<Loaded> loaded_;
  unsigned idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rouse::executor
