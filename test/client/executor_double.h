// An executor for tests: takes a ring with the generated decoder and does what the commands say on memory of its own,
// through its own mapping of the host window, so that an address of the client used by mistake faults or shows wrong
// bytes.
//
// Work is ordered as CUDA orders streams and nothing more: among the operations that may run next it picks one at
// random.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "schemas/base/range.h"
#include "schemas/wire/check.h"
#include "schemas/wire/commands.h"
#include "schemas/wire/output_ring.h"
#include "schemas/wire/ring_consumer.h"
#include "schemas/wire/segment.h"

namespace rouse::test {

struct ExecutorSetting {
  std::uint32_t deviceIndex = 0;
  AddressRange window, hostWindow;
  std::uint64_t memoryLimit = 0;
  std::uint64_t seed = 1;
  bool checked = false;  // host memory is Allocated, too
};

// Kernels of the one module that the fake server knows: by index in its description.
enum class TestKernel : std::uint32_t {
  fillWords = 0,   // u64 address, u64 count, u32 value: words at address become value
  addOne = 1,      // u64 address, u64 count: each word is incremented
  fault = 2,       // u32 error: latches it
  print = 3,       // u32 number: prints it
  sleepMicros = 4  // u32 microseconds
};
inline constexpr std::uint32_t kVariableBytes = 64;
inline constexpr std::uint32_t kVariableWord = 0x5eed5eed;  // initial value of each variable's words

class ExecutorDouble {
 public:
  // All descriptors are borrowed.
  ExecutorDouble(const ExecutorSetting& setting, int sessionFd, int hostFd, int ringFd, int wakeFd);
  ~ExecutorDouble();

  // Stops taking commands, as a dead executor does, without a word.
  void stop();
  void setLost(const char* message);
  // The parameters of the last call of a library that came; none: empty.
  std::vector<std::byte> lastLibraryCall();
  // Stops running operations (commands are still taken) until told otherwise.
  void hold(bool held) { held_.store(held); }

  // What the client did wrong; empty: nothing.
  std::string rejection();
  std::uint64_t count(wire::Opcode opcode) const { return counts_[static_cast<std::size_t>(opcode)].load(); }
  std::uint64_t reservedBytes() const { return reserved_.load(); }
  std::uint64_t mappedBytes() const { return mappedBytes_.load(); }
  std::uint64_t hostRanges() const { return hostRangeCount_.load(); }
  // Bytes of what is Allocated exactly there; 0: nothing is.
  std::uint64_t allocatedAt(std::uint64_t base) {
    const std::lock_guard lock(objectsMutex_);
    const auto found = objects_.find(base);
    return found == objects_.end() ? 0 : found->second;
  }
  std::uint64_t liveStreams() const { return liveStreams_.load(); }
  std::uint64_t pendingOperations() const { return pendingCount_.load(); }

  // CommandSession and handler, for the decoder.
  bool streamLive(wire::Handle handle) const { return streams_.live(handle); }
  bool newStream(wire::Handle handle) const { return streams_.mayBegin(handle); }
  bool moduleLive(wire::Handle handle) const { return modules_.live(handle); }
  bool newModule(wire::Handle handle) const { return modules_.mayBegin(handle); }
  bool rangeMapped(AddressRange range, wire::Access access, wire::Where where) const;

  void on(const wire::StreamCreate&);
  void on(const wire::StreamDestroy&);
  void on(const wire::Fence&);
  void on(const wire::MemReserve&);
  wire::DecodeStatus on(const wire::MemReturn&);
  wire::DecodeStatus on(const wire::MemMap&);
  wire::DecodeStatus on(const wire::MemUnmap&);
  wire::DecodeStatus on(const wire::HostMap&);
  wire::DecodeStatus on(const wire::HostUnmap&);
  void on(const wire::Copy&);
  void on(const wire::Copy3D&);
  void on(const wire::CopyInline&, std::span<const std::byte> data);
  void on(const wire::Fill&);
  void on(const wire::Fill3D&);
  wire::DecodeStatus on(const wire::ModuleBind&, std::span<const std::uint64_t> addresses);
  void on(const wire::ModuleUnbind&);
  wire::DecodeStatus on(const wire::VariableAddress&);
  wire::DecodeStatus on(const wire::TensorMapEncode&, std::span<const std::byte>);
  wire::DecodeStatus on(const wire::Launch&, std::span<const std::byte> parameters);
  void on(const wire::SlotSignal&);
  void on(const wire::SlotWait&);
  void on(const wire::SetLimit&) {}
  void on(const wire::LibraryCall&, std::span<const std::byte> parameters);
  wire::DecodeStatus on(const wire::Allocated&);
  wire::DecodeStatus on(const wire::Freed&);
  void on(const wire::Reset&);
  // Graphs are the executor's alone (test/executor/graphs_test.cc): whoever sends one here is told so.
  wire::DecodeStatus on(const wire::GraphDefine&, std::span<const std::byte>) { return wire::Rejection{"the double has no graphs"}; }
  wire::DecodeStatus on(const wire::GraphLaunch&, std::span<const std::uint64_t>) { return wire::Rejection{"the double has no graphs"}; }
  wire::DecodeStatus on(const wire::GraphDestroy&) { return wire::Rejection{"the double has no graphs"}; }
  wire::DecodeStatus on(const wire::TextureCreate&, std::span<const std::byte>) { return wire::Rejection{"the double makes no textures"}; }
  wire::DecodeStatus on(const wire::TextureDestroy&) { return wire::Rejection{"the double makes no textures"}; }
  wire::DecodeStatus on(const wire::ArrayForget&) { return wire::Rejection{"the double makes no textures"}; }

 private:
  class Numbers {
   public:
    bool live(wire::Handle handle) const {
      const auto found = entries_.find(handle.index);
      return found != entries_.end() && found->second.live && found->second.generation == handle.generation;
    }
    bool mayBegin(wire::Handle handle) const {
      const auto found = entries_.find(handle.index);
      if (found == entries_.end()) return handle.index == entries_.size();
      return !found->second.live && handle.generation > found->second.generation;
    }
    void begin(wire::Handle handle) { entries_[handle.index] = {handle.generation, true}; }
    void end(wire::Handle handle) { entries_[handle.index].live = false; }
    void clear() { entries_.clear(); }
    std::size_t liveCount() const {
      std::size_t count = 0;
      for (const auto& entry : entries_) count += entry.second.live;
      return count;
    }

   private:
    struct Entry {
      std::uint32_t generation = 0;
      bool live = false;
    };
    std::map<std::uint32_t, Entry> entries_;
  };

  struct Operation {
    std::uint32_t stream = 0;
    bool legacy = false, blocking = true, everything = false;  // everything: a fence, behind and before all others
    bool evenAfterFault = false;
    std::function<bool()> run;  // false: not yet
  };

  void run();
  bool takeCommands();
  bool runOperations();
  bool mayRun(std::size_t index) const;
  void queue(wire::Handle stream, std::function<bool()> run, bool evenAfterFault = false);
  void queueBehindEverything(std::function<bool()> run);
  std::byte* at(std::uint64_t address);
  void latch(CudaError error, const char* message);

  const ExecutorSetting setting_;
  wire::SessionSegment segment_;
  wire::RingSegment ring_;
  wire::Mapping host_;
  wire::Mapping memory_;
  int wakeFd_;
  std::unique_ptr<wire::CommandBuffer> buffer_;
  wire::RingConsumer consumer_;
  wire::OutputProducer output_;
  std::mt19937_64 random_;

  Numbers streams_, modules_;
  std::set<std::uint32_t> nonBlocking_;
  std::set<std::uint64_t> mapped_;                     // granules
  std::map<std::uint64_t, std::uint64_t> objects_;     // base -> bytes
  std::mutex objectsMutex_;
  std::map<std::uint64_t, std::uint64_t> hostRanges_;  // base, bytes
  std::vector<Operation> pending_;
  CudaError fault_ = CudaError::success;

  std::atomic<std::uint64_t> reserved_{0}, mappedBytes_{0}, hostRangeCount_{0}, liveStreams_{0}, pendingCount_{0};
  std::atomic<std::uint64_t> counts_[wire::kHighestOpcode + 1]{};
  std::atomic<bool> stopping_{false}, held_{false};
  std::mutex rejectionMutex_;
  std::string rejection_;
  std::mutex libraryCallMutex_;
  std::vector<std::byte> libraryCall_;
  std::thread thread_;
};

}  // namespace rouse::test
