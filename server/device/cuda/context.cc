#include "server/device/cuda/context.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "server/device/cuda/fingerprint_kernel.h"
#include "server/device/cuda/module.h"
#include "server/device/cuda/peer_memory.h"
#include "server/device/cuda/watcher.h"

namespace rouse::cuda {
namespace {

// Of a thread, on every GPU so far (CUDA Programming Guide, "Technical Specifications per Compute Capability").
constexpr std::uint64_t kMostLocalBytes = std::uint64_t{512} << 10;

class CudaStream final : public memory::Stream {
 public:
  CudaStream(std::shared_ptr<Lanes> lanes, std::shared_ptr<Lane> lane)
      : lanes_(std::move(lanes)), lane_(std::move(lane)) {}
  ~CudaStream() override {
    const std::lock_guard lock(lanes_->gpu->mutex);
    if (lane_) lanes_->destroy(*lane_);
    lane_.reset();
  }
  bool idle() const override {
    const std::lock_guard lock(lanes_->gpu->mutex);
    if (!lane_) return true;
    lanes_->gpu->makeCurrent();
    if (!lane_->idle()) return false;
    if (lane_->signals != 0) lanes_->deliver();
    return true;
  }
  const std::shared_ptr<Lane>& lane() const { return lane_; }

 private:
  std::shared_ptr<Lanes> lanes_;
  std::shared_ptr<Lane> lane_;  // null: could not be made, which has been reported
};

class CudaEvent final : public memory::Event {
 public:
  explicit CudaEvent(std::shared_ptr<Lanes> lanes) : lanes_(std::move(lanes)) {}
  ~CudaEvent() override {
    const std::lock_guard lock(lanes_->gpu->mutex);
    latest.reset();
  }
  std::shared_ptr<Record> latest;

 private:
  std::shared_ptr<Lanes> lanes_;
};

const std::shared_ptr<Lane>& laneOf(memory::Stream& stream) { return static_cast<CudaStream&>(stream).lane(); }

}  // namespace

Result<std::unique_ptr<memory::Context>> CudaContext::create(std::shared_ptr<Gpu> gpu, Watcher& watcher,
                                                             PhysicalMemory& memory,
                                                             std::shared_ptr<FingerprintKernel> fingerprints,
                                                             const memory::ContextOptions& options,
                                                             memory::ContextObserver& observer) {
  if (Status status = gpu->health(); !status) return status.error();
  const std::lock_guard lock(gpu->mutex);
  gpu->makeCurrent();
  auto lanes = std::make_shared<Lanes>(gpu, watcher, observer);
  auto device = DeviceWindow::reserve(gpu, memory, options.deviceWindow);
  if (!device) return std::move(device).error();
  lanes->deviceWindow = std::move(*device);
  auto host = HostWindow::create(gpu, options.hostWindow, options.hostFd);
  if (!host) return std::move(host).error();
  lanes->hostWindow = std::move(*host);
  auto bounce = Bounce::create(gpu);
  if (!bounce) return std::move(bounce).error();
  lanes->bounce = std::move(*bounce);
  lanes->fingerprints = std::move(fingerprints);
  lanes->maxPitch = static_cast<std::uint64_t>(std::max(gpu->attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH), 0));
  lanes->maxSharedBytes =
      static_cast<std::uint32_t>(std::max(gpu->attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 0));
  gpu->contexts.push_back(lanes.get());
  return std::unique_ptr<memory::Context>(new CudaContext(std::move(lanes)));
}

CudaContext::~CudaContext() {
  cancel();
  // CUDA cannot stop a kernel: what runs is waited for.
  while (!idle()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  const std::lock_guard lock(gpu_->mutex);
  std::erase(gpu_->contexts, lanes_.get());
  lanes_->end();
}

bool CudaContext::cancel() {
  const std::lock_guard lock(gpu_->mutex);
  lanes_->cancel();
  return true;
}

bool CudaContext::unbroken(std::uint64_t address, std::uint64_t bytes) const {
  return !lanes_->hostWindow->contains(address) || lanes_->hostWindow->pinnedFrom(address) >= bytes;
}

// --- Memory

Status CudaContext::map(std::uint64_t address, std::span<const memory::Chunk> chunks) {
  const std::lock_guard lock(gpu_->mutex);
  return lanes_->deviceWindow->map(address, chunks);
}

Status CudaContext::unmap(AddressRange range) {
  const std::lock_guard lock(gpu_->mutex);
  // Fresh memory that nobody has used may still be being zeroed.
  if (Lane* setup = lanes_->setup(); setup != nullptr && setup->completed() < lanes_->setupSequence()) {
    gpu_->makeCurrent();
    if (Status status = gpu_->status(gpu_->driver().cuStreamSynchronize(setup->stream()), "cuStreamSynchronize");
        !status)
      return status;
  }
  return lanes_->deviceWindow->unmap(range);
}

AddressRange CudaContext::together(AddressRange granules) const {
  const std::lock_guard lock(gpu_->mutex);
  return lanes_->deviceWindow->together(granules);
}

bool CudaContext::unmappable(AddressRange granules) const {
  const std::lock_guard lock(gpu_->mutex);
  const AddressRange all = lanes_->deviceWindow->together(granules);
  if (all == granules) return true;
  gpu_->makeCurrent();
  return std::ranges::none_of(gpu_->contexts, [&](Lanes* other) {
    return std::ranges::any_of(other->reached, [&](AddressRange range) { return range.overlaps(all); }) && !other->idle();
  });
}

void CudaContext::reach(AddressRange range) {
  const std::lock_guard lock(gpu_->mutex);
  lanes_->reached.push_back(range);
}

void CudaContext::unreach(AddressRange range) {
  const std::lock_guard lock(gpu_->mutex);
  if (const auto found = std::ranges::find(lanes_->reached, range); found != lanes_->reached.end()) lanes_->reached.erase(found);
}

void CudaContext::move(memory::Stream& stream, std::uint64_t to, std::uint64_t from, AddressRange arrival) {
  const std::uint64_t bytes = arrival.empty() ? kGranuleBytes : arrival.bytes;
  if (const std::shared_ptr<Lane>& lane = laneOf(stream))
    lane->push(CopyOperation{.pieces = CopyPieces({.destination = to, .source = from, .width = bytes}, lanes_->maxPitch,
                                                  [](std::uint64_t, std::uint64_t) { return true; }),
                             .arrival = arrival});
}

// Before the copies: the driver maps while its caller waits, not in a stream.
Status CudaContext::mapForArrival(std::span<const memory::Arrival> arrivals) {
  DeviceWindow& window = *lanes_->deviceWindow;
  std::vector<memory::Chunk> run;
  for (auto at = arrivals.begin(); at != arrivals.end();) {
    run.clear();
    const std::uint64_t address = at->address;
    for (; at != arrivals.end() && at->address == address + run.size() * kGranuleBytes && !window.hasOver(at->address, at->chunk); ++at) run.push_back(at->chunk);
    if (run.empty())
      ++at;
    else if (Status status = window.mapOver(address, run); !status)
      return status;
  }
  return {};
}

void CudaContext::prepare(std::span<const memory::Arrival> arrivals) {
  const std::lock_guard lock(gpu_->mutex);
  if (Status status = mapForArrival(arrivals); !status) lanes_->report(status.error());
}

void CudaContext::restore(memory::Stream& stream, std::span<const memory::Arrival> arrivals) {
  const std::lock_guard lock(gpu_->mutex);
  if (Status status = mapForArrival(arrivals); !status) return lanes_->report(status.error());
  const auto from = [](const memory::Arrival& arrival) {
    return arrival.peer != nullptr ? static_cast<const CudaPeerChunk*>(arrival.peer)->address : reinterpret_cast<std::uint64_t>(arrival.home);
  };
  // Neighbours that come from neighbours are one copy.
  for (auto at = arrivals.begin(); at != arrivals.end();) {
    const memory::Arrival& first = *at;
    std::uint64_t bytes = 0;
    do {
      bytes += kGranuleBytes;
      ++at;
    } while (at != arrivals.end() && first.peer == nullptr && at->peer == nullptr && at->address == first.address + bytes && at->home == first.home + bytes);
    move(stream, first.address, from(first), {first.address, bytes});
  }
}

void CudaContext::save(memory::Stream& stream, std::uint64_t address, std::byte* home) {
  const std::lock_guard lock(gpu_->mutex);
  move(stream, reinterpret_cast<std::uint64_t>(home), address);
}

Status CudaContext::noticeWrites(AddressRange) {
  return Error{CudaError::notSupported, gpu_->name() + " does not tell which granules are written"};
}

Status CudaContext::mapHost(AddressRange range) {
  const std::lock_guard lock(gpu_->mutex);
  return lanes_->hostWindow->map(range);
}

Status CudaContext::unmapHost(AddressRange range) {
  const std::lock_guard lock(gpu_->mutex);
  return lanes_->hostWindow->unmap(range);
}

// --- Streams

std::unique_ptr<memory::Stream> CudaContext::createStream(int priority) {
  const std::lock_guard lock(gpu_->mutex);
  auto lane = lanes_->add(priority);
  if (!lane) {
    lanes_->report(lane.error());
    return std::make_unique<CudaStream>(lanes_, nullptr);
  }
  return std::make_unique<CudaStream>(lanes_, std::move(*lane));
}

std::unique_ptr<memory::Event> CudaContext::createEvent() { return std::make_unique<CudaEvent>(lanes_); }

void CudaContext::record(memory::Stream& stream, memory::Event& event) {
  const std::shared_ptr<Lane>& lane = laneOf(stream);
  const std::lock_guard lock(gpu_->mutex);
  auto& latest = static_cast<CudaEvent&>(event).latest;
  latest.reset();
  if (!lane || (!lane->holds() && lane->completed() == lane->submitted())) return;
  latest = std::make_shared<Record>(*lanes_, lane);
  lane->push(RecordOperation{latest});
}

void CudaContext::wait(memory::Stream& stream, memory::Event& event) {
  const std::shared_ptr<Lane>& lane = laneOf(stream);
  const std::lock_guard lock(gpu_->mutex);
  const auto& latest = static_cast<CudaEvent&>(event).latest;
  if (lane && latest && latest->lane != lane) lane->push(EventWaitOperation{latest});
}

void CudaContext::signal(memory::Stream& stream, wire::Slot& slot, std::uint64_t value, bool timestamp) {
  const std::shared_ptr<Lane>& lane = laneOf(stream);
  const std::lock_guard lock(gpu_->mutex);
  if (!lane) return Lanes::deliverSlot(slot, value, timestamp, CudaError::memoryAllocation);
  lane->push(SignalOperation{&slot, value, timestamp});
}

void CudaContext::waitFor(memory::Stream& stream, const wire::Slot& slot, std::uint64_t value) {
  const std::shared_ptr<Lane>& lane = laneOf(stream);
  const std::lock_guard lock(gpu_->mutex);
  if (lane) lane->push(SlotWaitOperation{&slot, value});
}

// --- Work

void CudaContext::copy(memory::Stream& stream, const memory::CopyShape& shape) {
  const std::shared_ptr<Lane>& lane = laneOf(stream);
  const std::lock_guard lock(gpu_->mutex);
  if (!lane) return;
  if (lanes_->textures) lanes_->textures->beforeCopy(*lane, shape);
  lane->push(CopyOperation{CopyPieces(shape, lanes_->maxPitch, [this](std::uint64_t address, std::uint64_t bytes) {
    return unbroken(address, bytes);
  })});
  if (lanes_->textures) lanes_->textures->afterCopy(*lane, shape);
}

void CudaContext::copyInline(memory::Stream& stream, std::uint64_t destination, std::span<const std::byte> bytes) {
  const std::shared_ptr<Lane>& lane = laneOf(stream);
  const std::lock_guard lock(gpu_->mutex);
  if (!lane) return;
  lane->push(InlineOperation{destination, {bytes.begin(), bytes.end()}});
  if (lanes_->textures) lanes_->textures->afterCopy(*lane, {.destination = destination, .width = bytes.size()});
}

void CudaContext::fill(memory::Stream& stream, const memory::FillShape& shape) {
  const std::shared_ptr<Lane>& lane = laneOf(stream);
  const std::lock_guard lock(gpu_->mutex);
  if (!lane) return;
  lane->push(FillOperation{FillPieces(shape, lanes_->maxPitch, [this](std::uint64_t address, std::uint64_t bytes) {
    return unbroken(address, bytes);
  })});
}

Status CudaContext::fingerprint(memory::Stream& stream, const memory::FingerprintKey& key, AddressRange granules,
                                std::span<memory::PageFingerprint> out) {
  const std::shared_ptr<Lane>& lane = laneOf(stream);
  const std::lock_guard lock(gpu_->mutex);
  const DeviceWindow& window = *lanes_->deviceWindow;
  if (Status status = memory::checkGranules(granules, window.range(), out.size()); !status) return status;
  if (const std::uint64_t at = window.firstUnmapped(granules); at != granules.end()) return memory::notMapped(at);
  if (lane && !out.empty())
    lane->push(FingerprintOperation{std::make_shared<const memory::FingerprintKey>(key), granules, out.data()});
  return {};
}

void CudaContext::launch(memory::Stream& stream, const memory::LaunchRequest& request) {
  const std::shared_ptr<Lane>& lane = laneOf(stream);
  const std::lock_guard lock(gpu_->mutex);
  if (!lane) return;
  lane->push(LaunchOperation{static_cast<CudaInstance*>(request.module),
                             request.function,
                             request.grid,
                             request.block,
                             request.sharedBytes,
                             request.cooperative,
                             request.cluster,
                             {request.parameters.begin(), request.parameters.end()}});
}

Status CudaContext::call(memory::Stream& stream, const memory::LibraryRequest& request) {
  const std::shared_ptr<Lane>& lane = laneOf(stream);
  const std::lock_guard lock(gpu_->mutex);
  if (lane) lane->push(LibraryOperation{request.library, request.function, {request.parameters.begin(), request.parameters.end()}});
  return {};
}

// --- Modules, limits

Result<std::unique_ptr<memory::ModuleInstance>> CudaContext::instantiate(std::shared_ptr<memory::Image> image,
                                                                         std::span<const std::uint64_t> addresses) {
  auto own = std::static_pointer_cast<CudaImage>(std::move(image));
  auto library = own->instance(addresses);
  if (!library) return std::move(library).error();
  return std::unique_ptr<memory::ModuleInstance>(
      std::make_unique<CudaInstance>(std::move(own), std::move(*library)));
}

Result<std::unique_ptr<memory::ModuleInstance>> CudaContext::adopt(std::shared_ptr<memory::Image> image,
                                                                   std::span<const std::uint64_t> addresses) {
  if (const auto& variables = image->description().variables; !variables.empty())
    return Error{CudaError::notSupported, "the driver places variable " + variables.front().name + " on " + gpu_->name() +
                                              " anew: its address and value are elsewhere"};
  return instantiate(std::move(image), addresses);
}

// --- Textures

Result<std::uint64_t> CudaContext::createTexture(const wire::TextureRequest& request) {
  const std::lock_guard lock(gpu_->mutex);
  if (!lanes_->textures) lanes_->textures = std::make_unique<Textures>(*lanes_);
  return lanes_->textures->create(request);
}

Status CudaContext::destroyTexture(std::uint64_t object) {
  const std::lock_guard lock(gpu_->mutex);
  return lanes_->textures ? lanes_->textures->destroy(object) : Error{CudaError::invalidValue, "no such object"};
}

void CudaContext::forgetArray(std::uint64_t base) {
  const std::lock_guard lock(gpu_->mutex);
  if (lanes_->textures) lanes_->textures->forget(base);
}

std::string CudaContext::ties() const {
  const std::lock_guard lock(gpu_->mutex);
  return lanes_->textures && lanes_->textures->any() ? "the driver has made its arrays, textures or surfaces" : "";
}

// Limits are the CUDA context's, which all functions share: they grow to the largest that any function asked for.
Result<bool> CudaContext::setLimit(memory::ContextLimit limit, std::uint64_t value) {
  CUlimit which{};
  const char* what = nullptr;
  switch (limit) {
    case memory::ContextLimit::stackBytes:
      which = CU_LIMIT_STACK_SIZE;
      what = "stack of a thread";
      break;
    case memory::ContextLimit::printfBytes:
      which = CU_LIMIT_PRINTF_FIFO_SIZE;
      what = "printf buffer";
      break;
    case memory::ContextLimit::heapBytes:
      which = CU_LIMIT_MALLOC_HEAP_SIZE;
      what = "device heap";
      break;
    default:
      return Error{CudaError::invalidValue, "limit " + std::to_string(static_cast<std::uint32_t>(limit)) + " is none"};
  }
  const std::lock_guard lock(gpu_->mutex);
  gpu_->makeCurrent();
  std::size_t now = 0;
  if (Status status = gpu_->status(gpu_->driver().cuCtxGetLimit(&now, which), "cuCtxGetLimit", what); !status)
    return status.error();
  if (value <= now) return true;
  const bool stack = limit == memory::ContextLimit::stackBytes;
  if (stack && value > kMostLocalBytes)
    return Error{CudaError::invalidValue, std::string(what) + ": " + std::to_string(value) + " bytes, the limit is " + std::to_string(kMostLocalBytes)};
  if (stack && !gpu_->localMemory.take(*lanes_, value)) return false;
  Status status = gpu_->status(gpu_->driver().cuCtxSetLimit(which, value), "cuCtxSetLimit", what);
  if (status && stack) gpu_->localMemory.grew(value);
  if (status) return true;
  if (gpu_->lost()) return status.error();
  return Error{status.error().code, status.error().message + ": " + std::to_string(value) + " bytes were asked for, " +
                                        std::to_string(now) + " are what all functions on " + gpu_->name() +
                                        " have; the driver changes it only before the first kernel that uses it"};
}

bool CudaContext::idle() const {
  const std::lock_guard lock(gpu_->mutex);
  gpu_->makeCurrent();
  if (!lanes_->idle()) return false;
  if (lanes_->textures && !gpu_->lost()) lanes_->textures->settle();
  return true;
}

}  // namespace rouse::cuda
