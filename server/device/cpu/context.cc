#include "server/device/cpu/context.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "server/device/cpu/library_loader.h"
#include "server/device/cpu/module_instance.h"
#include "server/device/cpu/peer_memory.h"
#include "server/device/cpu/runtime/stack_pool.h"
#include "server/device/cpu/slot.h"
#include "server/device/cpu/stream_queue.h"
#include "server/device/cpu/transfer.h"

namespace rouse::cpu {
namespace {

class CpuStream final : public memory::Stream {
 public:
  explicit CpuStream(std::shared_ptr<StreamQueue> queue) : queue_(std::move(queue)) {}
  bool idle() const override { return queue_->idle(); }
  StreamQueue& queue() { return *queue_; }

 private:
  std::shared_ptr<StreamQueue> queue_;  // also held by whoever drives it
};

class CpuEvent final : public memory::Event {
 public:
  // The latest record; null: none, or reached when it was made.
  std::shared_ptr<Marker> latest;
};

StreamQueue& queueOf(memory::Stream& stream) { return static_cast<CpuStream&>(stream).queue(); }

// cudaLimitStackSize's largest value on compute capability 9.0: local memory of a thread (Programming Guide, table of
// limits).
constexpr std::uint64_t kMaxStackLimit = std::uint64_t{512} << 10;

}  // namespace

Result<std::unique_ptr<memory::Context>> CpuContext::create(const memory::ContextOptions& options,
                                                            PhysicalMemory& memory,
                                                            std::shared_ptr<ContextState> state) {
  std::unique_ptr<CpuContext> context(new CpuContext(memory, std::move(state)));
  auto device = device::AddressWindow::reserve(options.deviceWindow, "device window");
  if (!device) return std::move(device).error();
  context->deviceWindow_ = std::move(device).value();
  if (auto status = context->state_->visits.open(options.deviceWindow, memory.fd(), memory.alias({})); !status) return status.error();
  auto host = device::AddressWindow::reserve(options.hostWindow, "host window");
  if (!host) return std::move(host).error();
  context->hostWindow_ = std::move(host).value();
  if (options.hostFd >= 0) {
    context->hostFd_ = fcntl(options.hostFd, F_DUPFD_CLOEXEC, 0);
    if (context->hostFd_ < 0) {
      return Error{CudaError::initializationError,
                   std::string("descriptor of the host window: ") + std::strerror(errno)};
    }
  }
  return std::unique_ptr<memory::Context>(std::move(context));
}

CpuContext::~CpuContext() {
  state_->cancelAndWait();
  state_->visits.close();
  state_->prefault->stop();
  if (hostFd_ >= 0) close(hostFd_);
}

Status CpuContext::map(std::uint64_t address, std::span<const memory::Chunk> chunks) {
  for (const memory::Chunk& chunk : chunks) {
    if (auto status = memory_.check(chunk); !status) return status;
    if (auto status = deviceWindow_->map({address, kGranuleBytes}, memory_.fd(), memory_.offsetOf(chunk)); !status) return status;
    state_->prefault->mapped(address, memory_.takeKept(chunk));
    state_->visits.placed(address, memory_.offsetOf(chunk));
    state_->mapped.insert(address);
    address += kGranuleBytes;
  }
  return {};
}

Status CpuContext::unmap(AddressRange range) {
  state_->prefault->unmapped(range);
  state_->visits.left(range);
  if (Status status = deviceWindow_->unmap(range); !status) return status;
  for (std::uint64_t at = range.base; at < range.end(); at += kGranuleBytes) state_->mapped.erase(at);
  return {};
}

void CpuContext::restore(memory::Stream& stream, std::span<const memory::Arrival> arrivals) {
  // One for each way, one behind the other: in a group they are of one way nearly always.
  std::vector<RestoreOperation> operations;
  for (const memory::Arrival& arrival : arrivals) {
    const auto* peer = static_cast<const CpuPeerChunk*>(arrival.peer);
    const device::LinkDirection way = peer != nullptr ? peer->way : device::LinkDirection::toDevice;
    memory_.takeKept(arrival.chunk);
    state_->mapped.insert(arrival.address);
    state_->visits.expect(arrival.address, memory_.offsetOf(arrival.chunk), peer != nullptr ? peer->bytes : arrival.home,
                          static_cast<std::uint8_t>(way));
    auto operation = std::ranges::find(operations, way, &RestoreOperation::way);
    if (operation == operations.end()) operation = operations.insert(operation, {.addresses = {}, .way = way});
    operation->addresses.push_back(arrival.address);
  }
  for (RestoreOperation& operation : operations) queueOf(stream).push(std::move(operation));
}

void CpuContext::save(memory::Stream& stream, std::uint64_t address, std::byte* home) {
  queueOf(stream).push(CopyOperation{
      {.destination = reinterpret_cast<std::uint64_t>(home), .source = address, .width = kGranuleBytes}});
}

Result<bool> CpuContext::share(std::uint64_t address, memory::Chunk chunk) {
  if (auto status = memory_.check(chunk); !status) return status.error();
  if (!deviceWindow_->range().contains({address, kGranuleBytes}) || !isAligned(address, kGranuleBytes))
    return Error{CudaError::invalidValue, "to share a chunk: an address that is no granule's of the device window"};
  const bool fresh = state_->mapped.insert(address);
  auto lent = state_->visits.lend(address, memory_.offsetOf(chunk), fresh);
  if (fresh && (!lent || !*lent)) state_->mapped.erase(address);
  return lent;
}

void CpuContext::settle(memory::Stream& stream, std::uint64_t address, memory::Chunk chunk) {
  memory_.takeKept(chunk);
  queueOf(stream).push(SettleOperation{address, memory_.offsetOf(chunk)});
}

Status CpuContext::mapHost(AddressRange range) {
  if (hostFd_ < 0) return Error{CudaError::invalidValue, "the context has no host memory"};
  Status status = hostWindow_->map(range, hostFd_, range.base - hostWindow_->range().base);
  if (status) state_->mapped.insertHost(range);
  return status;
}

Status CpuContext::unmapHost(AddressRange range) {
  state_->mapped.eraseHost(range);
  return hostWindow_->unmap(range);
}

std::unique_ptr<memory::Stream> CpuContext::createStream(int priority) {
  return std::make_unique<CpuStream>(std::make_shared<StreamQueue>(state_, priority));
}

std::unique_ptr<memory::Event> CpuContext::createEvent() { return std::make_unique<CpuEvent>(); }

void CpuContext::record(memory::Stream& stream, memory::Event& event) {
  StreamQueue& queue = queueOf(stream);
  auto& latest = static_cast<CpuEvent&>(event).latest;
  latest.reset();
  if (queue.idle()) return;
  latest = std::make_shared<Marker>();
  queue.push(RecordOperation{latest});
}

void CpuContext::wait(memory::Stream& stream, memory::Event& event) {
  auto& latest = static_cast<CpuEvent&>(event).latest;
  if (latest == nullptr) return;
  if (latest->reached()) {
    latest.reset();
    return;
  }
  queueOf(stream).push(EventWaitOperation{latest});
}

void CpuContext::copy(memory::Stream& stream, const memory::CopyShape& shape) {
  StreamQueue& queue = queueOf(stream);
  if (!queue.idle() || bytesOf(shape) > kInlineBytes) {
    queue.push(CopyOperation{shape});
  } else if (const auto direction = state_->links == nullptr
                                        ? std::nullopt
                                        : directionOf(state_->deviceWindow, shape.destination, shape.source);
             direction && !state_->links->pass(*direction, bytesOf(shape), false)) {
    queue.push(CopyOperation{shape});
  } else if (alive()) {
    transfer(shape, queue.copies().next(shape.destination, bytesOf(shape)) && deviceWindow_->range().contains(shape.destination));
  }
}

void CpuContext::copyInline(memory::Stream& stream, std::uint64_t destination, std::span<const std::byte> bytes) {
  StreamQueue& queue = queueOf(stream);
  if (!queue.idle() || bytes.size() > kInlineBytes ||
      (state_->links != nullptr && state_->deviceWindow.contains(destination) &&
       !state_->links->pass(device::LinkDirection::toDevice, bytes.size(), false))) {
    queue.push(InlineCopyOperation{destination, {bytes.begin(), bytes.end()}});
  } else if (alive()) {
    std::memcpy(reinterpret_cast<void*>(destination), bytes.data(), bytes.size());
  }
}

void CpuContext::fill(memory::Stream& stream, const memory::FillShape& shape) {
  StreamQueue& queue = queueOf(stream);
  if (!queue.idle() || bytesOf(shape) > kInlineBytes) {
    queue.push(FillOperation{shape});
  } else if (alive()) {
    transfer(shape);
  }
}

Status CpuContext::fingerprint(memory::Stream& stream, const memory::FingerprintKey& key, AddressRange granules,
                               std::span<memory::PageFingerprint> out) {
  if (Status status = memory::checkGranules(granules, deviceWindow_->range(), out.size()); !status) return status;
  for (std::uint64_t at = granules.base; at < granules.end(); at += kGranuleBytes)
    if (!state_->mapped.holds(at)) return memory::notMapped(at);
  if (!out.empty())
    queueOf(stream).push(
        FingerprintOperation{std::make_shared<const memory::FingerprintKey>(key), granules, out.data()});
  return {};
}

void CpuContext::launch(memory::Stream& stream, const memory::LaunchRequest& request) {
  queueOf(stream).push(LaunchOperation{static_cast<CpuModuleInstance*>(request.module)->bound(),
                                       request.function,
                                       request.grid,
                                       request.block,
                                       request.sharedBytes,
                                       request.cluster,
                                       request.cooperative,
                                       {request.parameters.begin(), request.parameters.end()},
                                       state_->check != 0 ? state_->bounds.now() : nullptr});
}

Status CpuContext::call(memory::Stream& stream, const memory::LibraryRequest& request) {
  if (auto library = preparedBy(); !library) return library.error();
  queueOf(stream).push(
      LibraryOperation{request.library, request.function, {request.parameters.begin(), request.parameters.end()}});
  return {};
}

void CpuContext::signal(memory::Stream& stream, wire::Slot& slot, std::uint64_t value, bool timestamp) {
  StreamQueue& queue = queueOf(stream);
  if (!queue.idle()) {
    queue.push(SignalOperation{&slot, value, timestamp});
    return;
  }
  signalSlot(slot, value, timestamp, state_->dead());
  if (!state_->slotWaits.empty()) {
    for (auto& waiting : state_->slotWaits.takeReady()) waiting->resume();
  }
}

void CpuContext::waitFor(memory::Stream& stream, const wire::Slot& slot, std::uint64_t value) {
  StreamQueue& queue = queueOf(stream);
  if (queue.idle() && slotReached(slot, value)) return;
  queue.push(SlotWaitOperation{&slot, value});
}

Result<std::unique_ptr<memory::ModuleInstance>> CpuContext::instantiate(std::shared_ptr<memory::Image> image,
                                                                        std::span<const std::uint64_t> addresses) {
  return bindModule(std::move(image), addresses, state_->check != 0 ? Code::checked : Code::plain);
}

Result<std::unique_ptr<memory::ModuleInstance>> CpuContext::adopt(std::shared_ptr<memory::Image> image,
                                                                  std::span<const std::uint64_t> addresses) {
  return adoptModule(std::move(image), addresses);
}

// Blocks of the device heap are this process's own memory.
std::string CpuContext::ties() const {
  if (state_->check != 0) return "its accesses are checked";
  const std::uint64_t used = state_->heap.used();
  return used == 0 ? "" : std::to_string(used) + " bytes of the device heap are in use";
}

Result<bool> CpuContext::setLimit(memory::ContextLimit limit, std::uint64_t value) {
  switch (limit) {
    case memory::ContextLimit::stackBytes:
      if (value > kMaxStackLimit) {
        return Error{CudaError::invalidValue,
                     "stack of " + std::to_string(value) + " bytes a thread, limit " + std::to_string(kMaxStackLimit)};
      }
      state_->stackLimitBytes = value;
      return true;
    case memory::ContextLimit::printfBytes:
      return true;  // text goes to the observer as it comes; the ring that the client reads has a size of its own
    case memory::ContextLimit::heapBytes:
      state_->heap.setLimit(value);
      return true;
  }
  return Error{CudaError::invalidValue, "limit " + std::to_string(static_cast<std::uint32_t>(limit)) + " is none"};
}

}  // namespace rouse::cpu
