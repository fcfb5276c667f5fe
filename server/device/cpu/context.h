// One function's view of the CPU device.
#pragma once

#include <memory>

#include "memory/device.h"
#include "server/device/address_window.h"
#include "server/device/cpu/context_state.h"
#include "server/device/cpu/physical_memory.h"

namespace rouse::cpu {

class CpuContext final : public memory::Context {
 public:
  static Result<std::unique_ptr<memory::Context>> create(const memory::ContextOptions& options, PhysicalMemory& memory,
                                                         std::shared_ptr<ContextState> state);
  ~CpuContext() override;

  bool cancel() override {
    state_->cancel();
    return true;
  }

  Status map(std::uint64_t address, std::span<const memory::Chunk> chunks) override;
  Status unmap(AddressRange range) override;
  void restore(memory::Stream& stream, std::span<const memory::Arrival> arrivals) override;
  void save(memory::Stream& stream, std::uint64_t address, std::byte* home) override;
  void takeWritten(std::vector<std::uint64_t>& addresses) override { state_->visits.takeWritten(addresses); }
  Status noticeWrites(AddressRange granules) override { return state_->visits.watch(granules); }
  std::uint64_t demandedGranules() const override { return state_->visits.demanded(); }
  Result<bool> share(std::uint64_t address, memory::Chunk chunk) override;
  void own(std::uint64_t address) override { state_->visits.own(address); }
  void takeCopied(std::vector<std::uint64_t>& addresses) override { state_->visits.takeCopied(addresses); }
  void settle(memory::Stream& stream, std::uint64_t address, memory::Chunk chunk) override;
  void reach(AddressRange range) override { state_->mapped.insertOther(range); }
  void unreach(AddressRange range) override { state_->mapped.eraseOther(range); }
  Status mapHost(AddressRange range) override;
  Status unmapHost(AddressRange range) override;

  std::unique_ptr<memory::Stream> createStream(int priority) override;
  std::unique_ptr<memory::Event> createEvent() override;
  void record(memory::Stream& stream, memory::Event& event) override;
  void wait(memory::Stream& stream, memory::Event& event) override;

  void copy(memory::Stream& stream, const memory::CopyShape& shape) override;
  void copyInline(memory::Stream& stream, std::uint64_t destination, std::span<const std::byte> bytes) override;
  void fill(memory::Stream& stream, const memory::FillShape& shape) override;
  Status fingerprint(memory::Stream& stream, const memory::FingerprintKey& key, AddressRange granules,
                     std::span<memory::PageFingerprint> out) override;
  void launch(memory::Stream& stream, const memory::LaunchRequest& request) override;
  Status call(memory::Stream& stream, const memory::LibraryRequest& request) override;
  void signal(memory::Stream& stream, wire::Slot& slot, std::uint64_t value, bool timestamp) override;
  void waitFor(memory::Stream& stream, const wire::Slot& slot, std::uint64_t value) override;

  Result<std::unique_ptr<memory::ModuleInstance>> instantiate(std::shared_ptr<memory::Image> image,
                                                              std::span<const std::uint64_t> addresses) override;
  Result<std::unique_ptr<memory::ModuleInstance>> adopt(std::shared_ptr<memory::Image> image,
                                                        std::span<const std::uint64_t> addresses) override;
  std::string ties() const override;
  void allow(AddressRange range) override { state_->bounds.allow(range); }
  void forbid(AddressRange range) override { state_->bounds.forbid(range); }
  Result<bool> setLimit(memory::ContextLimit limit, std::uint64_t value) override;
  bool idle() const override { return state_->outstanding.load(std::memory_order_acquire) == 0; }

 private:
  CpuContext(PhysicalMemory& memory, std::shared_ptr<ContextState> state) : memory_(memory), state_(std::move(state)) {}
  bool alive() const { return state_->dead() == CudaError::success; }

  PhysicalMemory& memory_;
  std::unique_ptr<device::AddressWindow> deviceWindow_;
  std::shared_ptr<ContextState> state_;
  std::unique_ptr<device::AddressWindow> hostWindow_;
  int hostFd_ = -1;
};

}  // namespace rouse::cpu
