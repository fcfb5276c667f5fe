// Page tables filled ahead of use. A page that is touched for the first time after its chunk was mapped costs a fault
// of microseconds; filling the tables of a whole granule at once costs a fraction of that. Large transfers do it for
// the granules they touch, and idle workers for granules whose pages exist already.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>

#include "schemas/base/range.h"
#include "server/device/cpu/worker_pool.h"

namespace rouse::cpu {

class Prefault final : public Work, public std::enable_shared_from_this<Prefault> {
 public:
  Prefault(AddressRange window, WorkerPool& pool);

  // --- The executor's thread ---
  // A granule of the window has been mapped or is about to be unmapped. `pagesExist`: filling costs no memory.
  void mapped(std::uint64_t address, bool pagesExist);
  void unmapped(AddressRange range);
  // Nothing more is begun ahead of use.
  void stop();

  // --- Any thread ---
  // Fills the tables of what lies in the window. The range is mapped.
  void touch(std::uint64_t address, std::uint64_t bytes);

  // --- Workers ---
  Turn run(Worker& worker) override;
  bool shared() const override { return true; }
  int priority() const override;

 private:
  void fill(std::uint64_t granule);

  const AddressRange window_;
  WorkerPool& pool_;
  struct Free {
    void operator()(std::atomic<bool>* flags) const { std::free(flags); }
  };
  // By granule. Windows are large and mostly empty: memory that nobody touches stays unbacked.
  const std::unique_ptr<std::atomic<bool>[], Free> filled_;
  std::mutex mutex_;
  std::deque<std::uint64_t> queued_;
  bool submitted_ = false;
};

}  // namespace rouse::cpu
