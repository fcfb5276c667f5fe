// The CUDA device: memory::Device over NVIDIA's driver.
#pragma once

#include <memory>

#include "server/device/cuda/fingerprint_kernel.h"
#include "server/device/cuda/physical_memory.h"
#include "server/device/cuda/watcher.h"

namespace rouse::cuda {

class CudaDevice final : public memory::Device {
 public:
  static Result<std::unique_ptr<memory::Device>> open(const memory::DeviceOptions& options);
  ~CudaDevice() override;

  const memory::DeviceProperties& properties() const override { return properties_; }
  memory::Acquisitions acquisitions() const override { return {gpu_->allocations, gpu_->pinnings, gpu_->allocatedBytes}; }
  std::span<const memory::Chunk> chunks() const override { return memory_->chunks(); }
  // Remembered; done together with its neighbours when it is mapped again.
  Status scrub(memory::Chunk chunk) override;
  Status withdraw(std::span<const memory::Chunk> chunks) override;
  Result<std::size_t> supply(std::span<const memory::Chunk> chunks) override;
  Result<std::unique_ptr<memory::Context>> createContext(const memory::ContextOptions& options,
                                                         memory::ContextObserver& observer) override;
  Result<memory::SharedChunks> exportChunks(std::span<const memory::Chunk> chunks) override;
  Result<std::vector<std::unique_ptr<memory::PeerChunk>>> importChunks(memory::SharedChunks chunks) override;
  Status useHost(std::span<std::byte> memory) override;
  Result<std::shared_ptr<memory::Image>> load(std::span<const std::byte> module) override;
  Result<wire::TensorMap> encode(const wire::TensorMapRequest& request) override;
  bool poll(bool& waiting) override;
  Status health() const override { return gpu_->health(); }

 private:
  CudaDevice(std::shared_ptr<Gpu> gpu, std::unique_ptr<PhysicalMemory> memory,
             std::shared_ptr<FingerprintKernel> fingerprints, memory::LinkDescription link);

  std::shared_ptr<Gpu> gpu_;
  std::unique_ptr<PhysicalMemory> memory_;
  std::shared_ptr<FingerprintKernel> fingerprints_;
  memory::DeviceProperties properties_;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace rouse::cuda
