// A memory pool: blocks of the device's memory, each in use or resting since it was freed on a stream.
//
// Lock order: the session's pool list, then a pool, then the device's memory.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "client-shim/core/mark.h"
#include "client-shim/core/memory_pool.h"

namespace rouse::client {

class Session;

class StreamOrderedPool final : public MemoryPool {
 public:
  // `maxBytes`: 0 for no limit of its own. Known to the session from now on.
  StreamOrderedPool(Device& device, std::uint64_t maxBytes);
  ~StreamOrderedPool() override;

  Device& device() const override { return device_; }
  std::uint64_t handle() const override { return handle_; }
  CudaError allocate(std::uint64_t bytes, Stream& stream, std::uint64_t* address) override;
  std::uint64_t releaseThreshold() const override;
  void setReleaseThreshold(std::uint64_t bytes) override;
  PoolReuse reuse() const override;
  void setReuse(const PoolReuse& reuse) override;
  PoolUsage usage() const override;
  void resetReservedHigh() override;
  void resetUsedHigh() override;
  CudaError trimTo(std::uint64_t keepBytes) override;

  // Null: not live.
  static MemoryPool* find(Session& session, std::uint64_t handle);
  // Gives what is above the thresholds back, where its free has been reached. At synchronisations; nearly free when
  // nothing rests.
  static void trimAll(Device& device);
  // Gives everything back that rests in any pool of the device. True if there was anything.
  static bool giveBackAll(Device& device);
  // cudaFree of a pooled block.
  static CudaError releaseUnordered(Device& device, std::uint64_t address);
  // Before a reset: the device's pools have no blocks any more, and but for the default one they end.
  static void forgetAll(Device& device);

 private:
  friend CudaError releaseAsync(std::uint64_t address, Stream& stream);
  friend CudaError destroyPool(MemoryPool& pool);
  friend class Session;

  struct Block {
    std::uint64_t bytes = 0;
    std::uint64_t used = 0;  // of them, while it is given out: what was asked for, rounded up
    bool resting = false;
    std::uint64_t streamId = 0;  // resting: freed on
    Mark freed{};                // and reached when
  };
  using Resting = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // bytes, address

  bool takeResting(std::uint64_t bytes, Stream& stream, bool mayWait, std::uint64_t* address);
  CudaError takeFresh(std::uint64_t bytes, Stream& stream, std::uint64_t* address);
  void rest(std::uint64_t address, Stream& stream);
  void remove(std::map<std::uint64_t, Block>::iterator block);
  std::uint64_t trim(std::uint64_t keepBytes, bool onlyReached);
  void use(std::uint64_t bytes);
  bool empty() const { return blocks_.empty(); }

  Device& device_;
  const std::uint64_t handle_;
  const std::uint64_t maxBytes_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Block> blocks_;  // by address
  Resting resting_;
  PoolUsage usage_;
  PoolReuse reuse_;
  std::uint64_t threshold_ = 0;
  bool destroyed_ = false;
};

}  // namespace rouse::client
