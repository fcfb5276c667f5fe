#include "test/client/executor_double.h"

#include <poll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "schemas/wire/decode.h"
#include "schemas/wire/slot_wait.h"

namespace rouse::test {

namespace {

template <class T>
T orThrow(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

wire::Mapping mapShared(int fd, std::uint64_t bytes) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) throw std::runtime_error("mmap");
  return {static_cast<std::byte*>(base), bytes};
}

std::uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

template <class T>
T parameter(std::span<const std::byte> block, std::size_t offset) {
  T value;
  std::memcpy(&value, block.data() + offset, sizeof value);
  return value;
}

}  // namespace

ExecutorDouble::ExecutorDouble(const ExecutorSetting& setting, int sessionFd, int hostFd, int ringFd, int wakeFd)
    : setting_(setting),
      segment_(orThrow(wire::SessionSegment::map(sessionFd, wire::ForkedChild::without))),
      ring_(orThrow(wire::RingSegment::map(ringFd, wire::ForkedChild::without))),
      host_(mapShared(hostFd, setting.hostWindow.bytes)),
      memory_(mapShared(-1, setting.window.bytes)),
      wakeFd_(::dup(wakeFd)),
      buffer_(std::make_unique<wire::CommandBuffer>()),
      consumer_(ring_.header(), ring_.data(), *buffer_),
      output_(ring_.header(), ring_.output()),
      random_(setting.seed) {
  streams_.begin(wire::kLegacyStream);
  hostRanges_[setting.hostWindow.base] = wire::kStagingBytes;
  auto& status = segment_.header().devices[setting.deviceIndex];
  status.freeBytes.store(setting.memoryLimit);
  status.totalBytes.store(setting.memoryLimit);
  status.state.store(wire::DeviceState::serving, std::memory_order_release);
  thread_ = std::thread([this] { run(); });
}

ExecutorDouble::~ExecutorDouble() {
  stop();
  ::close(wakeFd_);
}

void ExecutorDouble::stop() {
  stopping_.store(true);
  if (thread_.joinable()) thread_.join();
}

void ExecutorDouble::setLost(const char* message) {
  auto& status = segment_.header().devices[setting_.deviceIndex];
  std::snprintf(status.message, sizeof status.message, "%s", message);
  status.state.store(wire::DeviceState::lost, std::memory_order_release);
}

void ExecutorDouble::on(const wire::LibraryCall&, std::span<const std::byte> parameters) {
  const std::lock_guard lock(libraryCallMutex_);
  libraryCall_.assign(parameters.begin(), parameters.end());
}

std::vector<std::byte> ExecutorDouble::lastLibraryCall() {
  const std::lock_guard lock(libraryCallMutex_);
  return libraryCall_;
}

std::string ExecutorDouble::rejection() {
  const std::lock_guard lock(rejectionMutex_);
  return rejection_;
}

void ExecutorDouble::run() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    const bool took = takeCommands();
    const bool ran = runOperations();
    pendingCount_.store(pending_.size());
    if (took || ran) continue;
    if (!consumer_.prepareSleep()) continue;
    pollfd bell{wakeFd_, POLLIN, 0};
    ::poll(&bell, 1, pending_.empty() ? 5 : 1);
    std::uint64_t rung;
    if ((bell.revents & POLLIN) != 0) [[maybe_unused]]
      const auto got = ::read(wakeFd_, &rung, sizeof rung);
    consumer_.awake();
  }
}

bool ExecutorDouble::takeCommands() {
  bool any = false;
  for (int i = 0; i < 64 && pending_.size() < 512; ++i) {
    const wire::Take take = consumer_.next();
    if (take == wire::Take::empty) break;
    any = true;
    std::string why;
    if (take == wire::Take::rejected) {
      why = consumer_.rejection().message;
    } else {
      std::uint16_t opcode;
      std::memcpy(&opcode, consumer_.command().data(), sizeof opcode);
      if (opcode <= wire::kHighestOpcode) counts_[opcode].fetch_add(1);
      if (wire::DecodeStatus status = wire::decodeAndDispatch(consumer_.command(), *this, *this); !status) {
        why = status.message();
      }
    }
    if (!why.empty()) {
      const std::lock_guard lock(rejectionMutex_);
      rejection_ = why;
      std::fprintf(stderr, "executor double rejects: %s\n", why.c_str());
      stopping_.store(true);
      setLost(why.c_str());
      break;
    }
  }
  consumer_.release();
  return any;
}

bool ExecutorDouble::mayRun(std::size_t index) const {
  const Operation& operation = pending_[index];
  for (std::size_t earlier = 0; earlier < index; ++earlier) {
    const Operation& other = pending_[earlier];
    if (other.everything || operation.everything) return false;
    if (other.stream == operation.stream) return false;
    if (other.legacy && operation.blocking) return false;
    if (operation.legacy && other.blocking) return false;
  }
  return true;
}

bool ExecutorDouble::runOperations() {
  if (pending_.empty() || held_.load(std::memory_order_relaxed)) return false;
  // From a random place on, so that streams overtake each other; from the front now and then, so that all get on.
  const std::size_t window = std::min<std::size_t>(pending_.size(), 64);
  const std::size_t start = random_() % window;
  for (std::size_t i = 0; i < window; ++i) {
    const std::size_t index = (start + i) % window;
    if (!mayRun(index)) continue;
    Operation& operation = pending_[index];
    if (fault_ != CudaError::success && !operation.evenAfterFault) {
      pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
      return true;
    }
    if (!operation.run()) continue;
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
    return true;
  }
  return false;
}

void ExecutorDouble::queue(wire::Handle stream, std::function<bool()> run, bool evenAfterFault) {
  const bool nonBlocking = nonBlocking_.contains(stream.index);
  pending_.push_back({.stream = stream.index,
                      .legacy = stream.index == 0,
                      .blocking = !nonBlocking,
                      .evenAfterFault = evenAfterFault,
                      .run = std::move(run)});
}

void ExecutorDouble::queueBehindEverything(std::function<bool()> run) {
  pending_.push_back({.stream = ~0u, .everything = true, .evenAfterFault = true, .run = std::move(run)});
}

// An address of neither window gives a pointer that nobody may follow.
std::byte* ExecutorDouble::at(std::uint64_t address) {
  const bool onDevice = setting_.window.contains(address);
  const auto base = reinterpret_cast<std::uint64_t>(onDevice ? memory_.base() : host_.base());
  return reinterpret_cast<std::byte*>(base + (address - (onDevice ? setting_.window : setting_.hostWindow).base));
}

bool ExecutorDouble::rangeMapped(AddressRange range, wire::Access, wire::Where where) const {
  if (where != wire::Where::host && setting_.window.contains(range)) {
    for (std::uint64_t granule = roundDown(range.base, kGranuleBytes); granule < range.end();
         granule += kGranuleBytes) {
      if (!mapped_.contains(granule)) return false;
    }
    return true;
  }
  if (where == wire::Where::device || !setting_.hostWindow.contains(range)) return false;
  std::uint64_t next = range.base;
  while (next < range.end()) {
    auto after = hostRanges_.upper_bound(next);
    if (after == hostRanges_.begin()) return false;
    --after;
    if (after->first + after->second <= next) return false;
    next = after->first + after->second;
  }
  return true;
}

void ExecutorDouble::latch(CudaError error, const char* message) {
  auto& status = segment_.header().devices[setting_.deviceIndex];
  std::snprintf(status.message, sizeof status.message, "%s", message);
  if (isSticky(error)) fault_ = error;
  status.error.store(static_cast<std::uint32_t>(error), std::memory_order_release);
}

// --- Commands

void ExecutorDouble::on(const wire::StreamCreate& command) {
  streams_.begin(command.stream);
  if (command.flags & 1)
    nonBlocking_.insert(command.stream.index);
  else
    nonBlocking_.erase(command.stream.index);
  liveStreams_.store(streams_.liveCount());
}

void ExecutorDouble::on(const wire::StreamDestroy& command) {
  streams_.end(command.stream);
  liveStreams_.store(streams_.liveCount());
}

void ExecutorDouble::on(const wire::Fence&) {
  queueBehindEverything([] { return true; });
}

void ExecutorDouble::on(const wire::MemReserve& command) {
  CudaError result = CudaError::memoryAllocation;
  if (reserved_.load() + command.bytes <= setting_.memoryLimit) {
    reserved_.fetch_add(command.bytes);
    segment_.header().devices[setting_.deviceIndex].freeBytes.fetch_sub(command.bytes);
    result = CudaError::success;
  }
  wire::signal(segment_.slot(command.slot), command.value, result);
}

wire::DecodeStatus ExecutorDouble::on(const wire::MemReturn& command) {
  if (command.bytes > reserved_.load() - mappedBytes_.load()) return wire::Rejection{"MemReturn of mapped bytes"};
  reserved_.fetch_sub(command.bytes);
  segment_.header().devices[setting_.deviceIndex].freeBytes.fetch_add(command.bytes);
  return {};
}

wire::DecodeStatus ExecutorDouble::on(const wire::MemMap& command) {
  if (!setting_.window.contains({command.base, command.bytes})) return wire::Rejection{"MemMap outside the window"};
  if (mappedBytes_.load() + command.bytes > reserved_.load()) return wire::Rejection{"MemMap beyond the reservation"};
  for (std::uint64_t granule = command.base; granule < command.base + command.bytes; granule += kGranuleBytes) {
    if (!mapped_.insert(granule).second) return wire::Rejection{"MemMap of what is mapped"};
  }
  mappedBytes_.fetch_add(command.bytes);
  queueBehindEverything([this, command] {
    std::memset(at(command.base), 0, command.bytes);
    return true;
  });
  return {};
}

wire::DecodeStatus ExecutorDouble::on(const wire::Allocated& command) {
  const std::lock_guard lock(objectsMutex_);
  const AddressRange range{command.base, command.bytes};
  const auto first = mapped_.lower_bound(granulesOf(range).base);
  const bool addressesAlone = setting_.window.contains(range) && (first == mapped_.end() || *first >= range.end());
  if (!addressesAlone && !rangeMapped(range, wire::Access::write, setting_.checked ? wire::Where::any : wire::Where::device))
    return wire::Rejection{"Allocated where part of it is mapped, or nothing can be"};
  const auto after = objects_.lower_bound(command.base);
  if (after != objects_.end() && after->first < command.base + command.bytes)
    return wire::Rejection{"Allocated over another"};
  if (after != objects_.begin() && std::prev(after)->first + std::prev(after)->second > command.base)
    return wire::Rejection{"Allocated in another"};
  objects_.emplace_hint(after, command.base, command.bytes);
  return {};
}

wire::DecodeStatus ExecutorDouble::on(const wire::Freed& command) {
  const std::lock_guard lock(objectsMutex_);
  const auto found = objects_.find(command.base);
  if (found == objects_.end() || found->second != command.bytes) return wire::Rejection{"Freed what was not Allocated"};
  objects_.erase(found);
  return {};
}

wire::DecodeStatus ExecutorDouble::on(const wire::MemUnmap& command) {
  for (std::uint64_t granule = command.base; granule < command.base + command.bytes; granule += kGranuleBytes) {
    if (mapped_.erase(granule) != 1) return wire::Rejection{"MemUnmap of what is not mapped"};
  }
  mappedBytes_.fetch_sub(command.bytes);
  queueBehindEverything([this, command] {
    std::memset(at(command.base), 0xdd, command.bytes);
    return true;
  });
  return {};
}

wire::DecodeStatus ExecutorDouble::on(const wire::HostMap& command) {
  const AddressRange range{command.base, command.bytes};
  if (!setting_.hostWindow.contains(range)) return wire::Rejection{"HostMap outside the window"};
  for (const auto& [base, bytes] : hostRanges_) {
    if (range.overlaps({base, bytes})) return wire::Rejection{"HostMap of what is mapped"};
  }
  hostRanges_[command.base] = command.bytes;
  hostRangeCount_.store(hostRanges_.size() - 1);
  return {};
}

wire::DecodeStatus ExecutorDouble::on(const wire::HostUnmap& command) {
  const auto found = hostRanges_.find(command.base);
  if (found == hostRanges_.end() || found->second != command.bytes) return wire::Rejection{"HostUnmap of no HostMap"};
  hostRanges_.erase(found);
  hostRangeCount_.store(hostRanges_.size() - 1);
  queueBehindEverything([this, command] {
    wire::signal(segment_.slot(command.slot), command.value);
    return true;
  });
  return {};
}

void ExecutorDouble::on(const wire::Copy& command) {
  queue(command.stream, [this, command] {
    std::memmove(at(command.destination), at(command.source), command.bytes);
    return true;
  });
}

void ExecutorDouble::on(const wire::Copy3D& command) {
  queue(command.stream, [this, command] {
    for (std::uint64_t z = 0; z < command.depth; ++z) {
      for (std::uint64_t y = 0; y < command.height; ++y) {
        std::memmove(at(command.destination + z * command.destinationSlicePitch + y * command.destinationPitch),
                     at(command.source + z * command.sourceSlicePitch + y * command.sourcePitch), command.width);
      }
    }
    return true;
  });
}

void ExecutorDouble::on(const wire::CopyInline& command, std::span<const std::byte> data) {
  queue(command.stream, [this, command, bytes = std::vector<std::byte>(data.begin(), data.end())] {
    std::memcpy(at(command.destination), bytes.data(), bytes.size());
    return true;
  });
}

void ExecutorDouble::on(const wire::Fill& command) {
  queue(command.stream, [this, command] {
    for (std::uint64_t i = 0; i < command.count; ++i) {
      std::memcpy(at(command.destination) + i * command.elementBytes, &command.value, command.elementBytes);
    }
    return true;
  });
}

void ExecutorDouble::on(const wire::Fill3D& command) {
  queue(command.stream, [this, command] {
    for (std::uint64_t z = 0; z < command.depth; ++z) {
      for (std::uint64_t y = 0; y < command.height; ++y) {
        std::memset(at(command.destination + z * command.destinationSlicePitch + y * command.destinationPitch),
                    static_cast<int>(command.value), command.width);
      }
    }
    return true;
  });
}

wire::DecodeStatus ExecutorDouble::on(const wire::ModuleBind& command, std::span<const std::uint64_t> addresses) {
  modules_.begin(command.module);
  for (const std::uint64_t address : addresses) {
    if (!rangeMapped({address, kVariableBytes}, wire::Access::write, wire::Where::any)) {
      return wire::Rejection{"ModuleBind: a variable is not mapped"};
    }
    queueBehindEverything([this, address] {
      for (std::uint32_t i = 0; i < kVariableBytes; i += 4) std::memcpy(at(address) + i, &kVariableWord, 4);
      return true;
    });
  }
  return {};
}

void ExecutorDouble::on(const wire::ModuleUnbind& command) { modules_.end(command.module); }

wire::DecodeStatus ExecutorDouble::on(const wire::TensorMapEncode&, std::span<const std::byte>) {
  return wire::Rejection{"TensorMapEncode: this device has no tensor maps"};
}
wire::DecodeStatus ExecutorDouble::on(const wire::VariableAddress&) {
  return wire::Rejection{"VariableAddress: this device does not place variables"};
}

wire::DecodeStatus ExecutorDouble::on(const wire::Launch& command, std::span<const std::byte> parameters) {
  const std::size_t wanted[] = {20, 16, 4, 4, 4};
  if (command.function >= 5 || parameters.size() != wanted[command.function])
    return wire::Rejection{"Launch: no such kernel"};
  std::vector<std::byte> block(parameters.begin(), parameters.end());
  queue(command.stream, [this, command, block = std::move(block)] {
    switch (static_cast<TestKernel>(command.function)) {
      case TestKernel::fillWords: {
        auto* words = reinterpret_cast<std::uint32_t*>(at(parameter<std::uint64_t>(block, 0)));
        std::fill_n(words, parameter<std::uint64_t>(block, 8), parameter<std::uint32_t>(block, 16));
        break;
      }
      case TestKernel::addOne: {
        auto* words = reinterpret_cast<std::uint32_t*>(at(parameter<std::uint64_t>(block, 0)));
        for (std::uint64_t i = 0; i < parameter<std::uint64_t>(block, 8); ++i) ++words[i];
        break;
      }
      case TestKernel::fault:
        latch(static_cast<CudaError>(parameter<std::uint32_t>(block, 0)), "a kernel of the test failed");
        break;
      case TestKernel::print: {
        const std::string text = "printed " + std::to_string(parameter<std::uint32_t>(block, 0)) + "\n";
        output_.write(text, false);
        break;
      }
      case TestKernel::sleepMicros:
        ::usleep(parameter<std::uint32_t>(block, 0));
        break;
    }
    return true;
  });
  return {};
}

void ExecutorDouble::on(const wire::SlotSignal& command) {
  queue(
      command.stream,
      [this, command] {
        wire::signal(segment_.slot(command.slot), command.value, fault_, (command.flags & 1) != 0 ? now() : 0);
        return true;
      },
      true);
}

void ExecutorDouble::on(const wire::SlotWait& command) {
  queue(
      command.stream,
      [this, command] {
        return fault_ != CudaError::success ||
               segment_.slot(command.slot).value.load(std::memory_order_acquire) >= command.value;
      },
      true);
}

void ExecutorDouble::on(const wire::Reset& command) {
  pending_.clear();
  streams_.clear();
  streams_.begin(wire::kLegacyStream);
  modules_.clear();
  nonBlocking_.clear();
  mapped_.clear();
  {
    const std::lock_guard lock(objectsMutex_);
    objects_.clear();
  }
  hostRanges_.clear();
  hostRanges_[setting_.hostWindow.base] = wire::kStagingBytes;
  hostRangeCount_.store(0);
  liveStreams_.store(1);
  mappedBytes_.store(0);
  auto& status = segment_.header().devices[setting_.deviceIndex];
  status.freeBytes.fetch_add(reserved_.exchange(0));
  fault_ = CudaError::success;
  status.error.store(0);
  wire::signal(segment_.slot(command.slot), command.value);
}

}  // namespace rouse::test
