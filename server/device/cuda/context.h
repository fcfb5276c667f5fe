// One function's view of the GPU. All functions of an executor share the GPU's one CUDA context: that is what makes
// switching between them cheap, and why a fault of one ends them all.
#pragma once

#include <memory>

#include "server/device/cuda/lanes.h"

namespace rouse::cuda {

class CudaContext final : public memory::Context {
 public:
  static Result<std::unique_ptr<memory::Context>> create(std::shared_ptr<Gpu> gpu, Watcher& watcher,
                                                         PhysicalMemory& memory,
                                                         std::shared_ptr<FingerprintKernel> fingerprints,
                                                         const memory::ContextOptions& options,
                                                         memory::ContextObserver& observer);
  ~CudaContext() override;

  bool cancel() override;
  Status map(std::uint64_t address, std::span<const memory::Chunk> chunks) override;
  Status unmap(AddressRange range) override;
  AddressRange together(AddressRange granules) const override;
  bool unmappable(AddressRange granules) const override;
  void prepare(std::span<const memory::Arrival> arrivals) override;
  void reach(AddressRange range) override;
  void unreach(AddressRange range) override;
  void restore(memory::Stream& stream, std::span<const memory::Arrival> arrivals) override;
  void save(memory::Stream& stream, std::uint64_t address, std::byte* home) override;
  void takeWritten(std::vector<std::uint64_t>&) override {}  // the driver does not say
  Status noticeWrites(AddressRange granules) override;
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
  Result<std::uint64_t> createTexture(const wire::TextureRequest& request) override;
  Status destroyTexture(std::uint64_t object) override;
  void forgetArray(std::uint64_t base) override;
  std::string ties() const override;
  Result<bool> setLimit(memory::ContextLimit limit, std::uint64_t value) override;
  bool idle() const override;

 private:
  explicit CudaContext(std::shared_ptr<Lanes> lanes) : gpu_(lanes->gpu), lanes_(std::move(lanes)) {}
  // A granule, or what arrives.
  void move(memory::Stream& stream, std::uint64_t to, std::uint64_t from, AddressRange arrival = {});
  // What is not yet.
  Status mapForArrival(std::span<const memory::Arrival> arrivals);
  bool unbroken(std::uint64_t address, std::uint64_t bytes) const;

  std::shared_ptr<Gpu> gpu_;
  std::shared_ptr<Lanes> lanes_;
};

}  // namespace rouse::cuda
