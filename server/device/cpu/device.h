// The CPU device: memory::Device over shared memory, worker threads and translated PTX.
#pragma once

#include <memory>
#include <vector>

#include "memory/device.h"
#include "server/device/cpu/codegen/code_cache.h"
#include "server/device/cpu/codegen/compile_service.h"
#include "server/device/cpu/link_use.h"
#include "server/device/cpu/peer_memory.h"
#include "server/device/cpu/physical_memory.h"
#include "server/device/cpu/runtime/tensor_map.h"
#include "server/device/cpu/slot_waits.h"
#include "server/device/cpu/worker_pool.h"

namespace rouse::cpu {

class CpuDevice final : public memory::Device {
 public:
  // `service`: where kernels are compiled; null: in this process.
  static Result<std::unique_ptr<memory::Device>> open(const memory::DeviceOptions& options, std::shared_ptr<CompileService> service = nullptr);

  const memory::DeviceProperties& properties() const override { return properties_; }
  // All memory is one file, made when the device is, and nothing needs pinning.
  memory::Acquisitions acquisitions() const override { return {.deviceAllocations = 1, .allocatedBytes = memory_->bytes()}; }
  std::span<const memory::Chunk> chunks() const override { return memory_->chunks(); }
  Status scrub(memory::Chunk chunk) override { return memory_->scrub(chunk); }
  Status withdraw(std::span<const memory::Chunk> chunks) override { return memory_->withdraw(chunks); }
  Result<std::size_t> supply(std::span<const memory::Chunk> chunks) override { return memory_->supply(chunks); }
  Result<std::unique_ptr<memory::Context>> createContext(const memory::ContextOptions& options,
                                                         memory::ContextObserver& observer) override;
  Result<memory::SharedChunks> exportChunks(std::span<const memory::Chunk> chunks) override;
  Result<std::vector<std::unique_ptr<memory::PeerChunk>>> importChunks(memory::SharedChunks chunks) override;
  Status useHost(std::span<std::byte>) override { return {}; }  // any memory of this process will do
  Result<std::shared_ptr<memory::Image>> load(std::span<const std::byte> module) override;
  Result<wire::TensorMap> encode(const wire::TensorMapRequest& request) override { return encodeTensorMap(request); }
  bool poll(bool& waiting) override;

 private:
  CpuDevice(std::unique_ptr<PhysicalMemory> memory, std::unique_ptr<LinkUse> links, std::uint32_t ordinal,
            std::uint32_t workers, Compilation compilation);

  const std::uint32_t ordinal_;
  std::unique_ptr<PhysicalMemory> memory_;
  PeerMemories peers_;
  memory::DeviceProperties properties_;
  SlotWaits slotWaits_;
  WorkerPool pool_;
  std::unique_ptr<LinkUse> links_;  // its threads submit work to the pool
  const Compilation compilation_;
};

}  // namespace rouse::cpu
