#include "client-shim/core/session.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include <cstdlib>

#include "client-shim/core/access_check.h"
#include "client-shim/core/callback_thread.h"
#include "client-shim/core/command_queue.h"
#include "client-shim/core/control_connection.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_heap.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/host_window.h"
#include "client-shim/core/interprocess.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session_handles.h"
#include "client-shim/core/staging.h"
#include "client-shim/core/stream_ordered_pool.h"
#include "client-shim/core/thread_streams.h"
#include "schemas/wire/round_trips.h"
#include "schemas/wire/segment.h"
#include "schemas/wire/slot_wait.h"

namespace rouse::client {

namespace {

std::uint64_t nowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

const char* variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::uint64_t nextSessionId() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

AttachOptions AttachOptions::fromEnvironment() {
  AttachOptions options;
  options.socketPath = variable("ROUSE_SOCKET", "/run/rouse/rouse.sock");
  options.token = variable("ROUSE_TOKEN", "");
  options.program = program_invocation_short_name;
  return options;
}

struct Session::Memory {
  wire::SessionSegment segment;
  std::vector<wire::Mapping> windows;
};

Session::Session() : id_(nextSessionId()) {}

Result<std::unique_ptr<Session>> Session::attach(const AttachOptions& options) {
  auto connection = ControlConnection::connect(options.socketPath);
  if (!connection) return connection.error();
  auto attachment = (*connection)->attach({options.token, options.library, options.program, options.apiNames});
  if (!attachment) return attachment.error();
  if (attachment->devices.empty()) return Error{CudaError::noDevice, "the daemon gave this process no device"};

  auto segment = wire::SessionSegment::map(attachment->sessionSegment.get(), wire::ForkedChild::without);
  if (!segment) return segment.error();
  if (Status status = segment->checkHeader(); !status) return status.error();
  auto window = HostWindow::map(std::move(attachment->hostMemory), attachment->hostWindow);
  if (!window) return window.error();

  std::unique_ptr<Session> session(new Session);
  session->connection_ = std::move(*connection);
  session->memory_.reset(new Memory{std::move(*segment), {}});
  session->slotBase_ = session->memory_->segment.slots().data();
  if (attachment->check != 0) session->check_ = std::make_unique<AccessCheck>(*session, attachment->check);
  session->hostWindow_ = std::make_unique<HostWindow>(std::move(*window));
  session->slots_ = std::make_unique<SlotAllocator>(session->slotBase_);
  session->handles_ = std::make_unique<SessionHandles>();
  session->callbacks_ = std::make_unique<CallbackThread>(*session);
  session->staging_ = std::make_unique<Staging>(*session);
  session->hostHeap_ = std::make_unique<HostHeap>(*session);
  session->interprocess_ = std::make_unique<Interprocess>(*session);
  session->number_ = attachment->sessionId;

  for (std::uint32_t index = 0; index < attachment->devices.size(); ++index) {
    Attachment::Device& device = attachment->devices[index];
    auto reserved = reserveWindow(device.info.window);
    if (!reserved) return reserved.error();
    session->memory_->windows.push_back(std::move(*reserved));
    auto ring = wire::RingSegment::map(device.ring.get(), wire::ForkedChild::without);
    if (!ring) return ring.error();
    if (Status status = ring->checkHeader(index); !status) return status.error();
    auto queue = std::make_unique<CommandQueue>(*session, index, std::move(*ring), std::move(device.wake));
    session->devices_.push_back(std::make_unique<Device>(*session, index, std::move(device.info), std::move(queue),
                                                         session->memory_->segment.header().devices[index]));
  }
  ThreadStreams::sessionBegins(*session);
  return session;
}

Result<std::vector<DescribedDevice>> Session::describe(const AttachOptions& options, std::uint64_t number) {
  auto connection = ControlConnection::connect(options.socketPath);
  if (!connection) return connection.error();
  return (*connection)->describe(options.token, number);
}

Session::~Session() {
  ThreadStreams::sessionEnds(*this);
  callbacks_.reset();
  if (handles_ != nullptr) {
    for (const auto& [handle, pool] : handles_->pools) {
      if (pool != &pool->device().defaultPool()) delete pool;
    }
  }
}

Device* Session::deviceAt(std::uint64_t address) {
  for (const auto& device : devices_) {
    if (device->info().window.contains(address)) return device.get();
  }
  Allocation found;
  for (const auto& device : devices_) {
    if (device->heap().adopts() && device->memory().find(address, &found)) return device.get();
  }
  return nullptr;
}

bool Session::findAllocation(std::uint64_t address, Allocation* found) {
  if (Device* device = deviceAt(address)) return device->memory().find(address, found);
  return hostHeap_->find(address, found);
}

Status Session::mapEvent(std::uint32_t page, int fd) { return memory_->segment.mapEvent(page, fd, wire::ForkedChild::without); }

CudaError Session::wait(std::uint32_t deviceIndex, Mark mark, Waiting waiting) {
  wire::roundTrips(memory_->segment.header()).fetch_add(1, std::memory_order_relaxed);
  thread_local wire::SpinBudget learned, learnedBesideDevice{false, wire::SpinBudget::kMostBesideDevice};
  wire::SpinBudget none{true};
  // An executor that rests has just been woken, often on this very core, where looking out for it would only keep it from
  // running. Where it has a core of its own this returns at once.
  if (devices_[deviceIndex]->queue().header().consumerState.load(std::memory_order_relaxed) !=
      wire::ConsumerState::polling) {
    ::sched_yield();
  }
  const DeviceInfo& info = devices_[deviceIndex]->info();
  const bool spins = waiting == Waiting::spins && info.spin;
  wire::SpinBudget& budget = !spins ? none : info.leavesProcessors ? learnedBesideDevice : learned;
  const wire::WaitResult result =
      wire::waitUntil(slot(mark.slot), mark.value, budget, [&] { return alive(deviceIndex); });
  return result == wire::WaitResult::reached ? CudaError::success : CudaError::devicesUnavailable;
}

bool Session::probe(std::uint32_t deviceIndex) {
  const std::uint64_t now = nowNs();
  std::uint64_t last = lastLookNs_.load(std::memory_order_relaxed);
  const auto interval = static_cast<std::uint64_t>(std::chrono::nanoseconds(wire::kLivenessInterval).count());
  if (now - last >= interval && lastLookNs_.compare_exchange_strong(last, now, std::memory_order_relaxed)) {
    return alive(deviceIndex);
  }
  return !devices_[deviceIndex]->lost();
}

bool Session::alive(std::uint32_t deviceIndex) {
  Device& device = *devices_[deviceIndex];
  if (device.lost()) return false;
  if (device.status().state.load(std::memory_order_acquire) == wire::DeviceState::lost) {
    if (device.markLost()) {
      log(LogLevel::error, "device %u: its executor is gone: %.447s", deviceIndex, device.status().message);
    }
    return false;
  }
  if (!connection_->closed()) return true;
  for (const auto& each : devices_) each->markLost();
  return false;
}

void Session::countUnsupported(std::uint32_t apiId, std::uint32_t times) {
  if (apiId >= wire::kMaxApiNames || times == 0) return;
  memory_->segment.header().unsupportedCalls[apiId].fetch_add(times, std::memory_order_relaxed);
}

void Session::lockForFork() { hostHeap_->lock().release(); }
void Session::unlockAfterFork() { hostHeap_->unlock(); }

void Session::abandonInChild() {
  hostHeap_->privatizeInChild();
  hostWindow_->closeInChild();
  connection_->abandonInChild();
  for (const auto& device : devices_) device->queue().abandonInChild();
}

}  // namespace rouse::client
