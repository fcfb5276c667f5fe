// Loads modules, and what further instances of them need, on threads of their own, so that the reactor never waits for a compiler or a driver. A few
// threads, started when needed: one function's slow module does not hold up another's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <variant>
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

  struct Preparation {
    std::atomic<bool> done{false};
    Status status;  // once it is done
  };

  // Both outlive this object. Rings `flag` when there is something to take, or something has been prepared.
  ModuleLoader(memory::Device& device, ProgressFlag& flag, unsigned threads);
  // Waits for loads that have begun.
  ~ModuleLoader();

  // `module`: a memfd sealed against writing and shrinking, of at least `bytes`. Fails at once if it is not.
  Status load(std::uint64_t moduleId, wire::OwnedFd module, std::uint64_t bytes);
  // What has been loaded since the last call.
  std::vector<Loaded> take();
  // Another instance of the image (memory::Image::prepareInstance()); whoever asks may lose interest.
  std::shared_ptr<const Preparation> prepare(std::shared_ptr<memory::Image> image);

 private:
  struct Load {
    std::uint64_t moduleId;
    wire::OwnedFd module;
    std::uint64_t bytes;
  };
  struct Prepare {
    std::shared_ptr<memory::Image> image;
    std::shared_ptr<Preparation> preparation;
  };
  using Job = std::variant<Load, Prepare>;
  void add(Job job);
  void run();
  void run(Load& job);
  void run(Prepare& job);
  Result<std::shared_ptr<memory::Image>> imageOf(const Load& job);

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
