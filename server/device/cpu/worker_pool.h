// The threads that do the device's work, and the work that waits for them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/device/cpu/runtime/runner.h"

namespace rouse::cpu {

class Worker;
class WorkerPool;

// Something that workers do in turns, several at once where it can be divided.
class Work {
 public:
  virtual ~Work() = default;

  enum class Turn {
    taken,  // no worker need look at it again
    more,   // there is more to do, also for others
  };
  // Called by a worker without locks.
  virtual Turn run(Worker& worker) = 0;
  // False while this worker cannot do anything for it. Called under the pool's lock.
  virtual bool wants(const Worker& worker) const { return true; }
  // Whether several workers may run it at the same time. One that is not shared runs once for each time it is
  // submitted.
  virtual bool shared() const { return false; }
  // Smaller is more urgent, as for CUDA's streams.
  virtual int priority() const { return 0; }
};

// What stays with one worker between its turns: blocks that spin. Run by that worker only, in rotation.
class Residue {
 public:
  virtual ~Residue() = default;

  enum class Turn { done, more, spinning };
  virtual Turn run(Worker& worker) = 0;
};

// The calling thread's view of the pool.
class Worker {
 public:
  Worker(WorkerPool& pool, std::uint32_t index) : pool_(pool), index_(index) {}

  WorkerPool& pool() { return pool_; }
  Runner& runner() { return *runner_; }
  std::uint32_t index() const { return index_; }
  void keep(std::unique_ptr<Residue> residue) { residues_.push_back(std::move(residue)); }
  template <class Condition>
  bool holds(Condition condition) const {
    for (const auto& residue : residues_) {
      if (residue != nullptr && condition(*residue)) return true;
    }
    return false;
  }
  // Not 0 while something else waits for this worker.
  const std::atomic<std::uint32_t>& others() const;

 private:
  friend class WorkerPool;
  bool runResidue(bool& spinning);

  WorkerPool& pool_;
  std::uint32_t index_;
  std::unique_ptr<Runner> runner_;
  std::vector<std::unique_ptr<Residue>> residues_;
  std::size_t turn_ = 0;
};

class WorkerPool {
 public:
  // Kernels' workers look for work a little before they sleep; engines come before them (engine_thread.h).
  enum class Kind { kernels, engines };
  // `name`: of its threads, at most twelve characters, literal.
  explicit WorkerPool(std::uint32_t workers, const char* name = "cpu-worker", Kind kind = Kind::kernels);
  // Everything must have ended.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;

  std::uint32_t size() const { return static_cast<std::uint32_t>(threads_.size()); }
  // Any thread. `helpers`: how many workers can be of use at once.
  void submit(std::shared_ptr<Work> work, std::uint32_t helpers = 1);
  // Makes workers leave kernels that have been stopped. Any thread.
  void interrupt();

 private:
  friend class Worker;
  struct Waiting {
    std::shared_ptr<Work> work;
    std::uint32_t attending = 0;  // workers in run()
  };

  void main(std::uint32_t index);
  bool runOne(Worker& worker);
  void nap();
  void rest(Worker& worker);
  void wake(std::uint32_t workers);

  const char* const name_;
  const Kind kind_;
  const std::chrono::microseconds spin_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Waiting>> waiting_;  // in order of last service
  std::atomic<std::uint32_t> unattended_{0};       // entries of waiting_ that no worker attends to
  std::atomic<std::uint32_t> submissions_{0};      // changes with each; what resting workers sleep on
  std::atomic<std::uint32_t> spinners_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<bool> ending_{false};
  std::mutex workersMutex_;
  std::vector<Worker*> workers_;
  std::vector<std::thread> threads_;
};

}  // namespace rouse::cpu
