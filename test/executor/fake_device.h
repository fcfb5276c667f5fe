// A device that runs nothing by itself: it writes down what it is asked to do, keeps work in queues while `hold` is
// set, and fails the test when its contract (memory/device.h) is broken: memory handed on unscrubbed, objects used
// after their context. Queues are run by poll(), on the executor's thread.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "memory/device.h"
#include "memory/extent_map.h"
#include "schemas/wire/slot_wait.h"

namespace rouse::executor {

class FakeDevice;

struct FakeImage final : memory::Image {
  memory::ModuleDescription described;
  const memory::ModuleDescription& description() const override { return described; }
  std::string ties() const override { return tied; }
  std::string tied;

  // One kernel of 12 parameter bytes and, if asked, one variable of 64 bytes.
  static std::shared_ptr<FakeImage> ofOneKernel(bool variable) {
    auto image = std::make_shared<FakeImage>();
    memory::KernelDescription kernel;
    kernel.name = "kernel";
    kernel.parameterBytes = 12;
    kernel.maxThreadsPerBlock = 256;
    image->described.kernels.push_back(kernel);
    if (variable) image->described.variables.push_back({.name = "table", .bytes = 64, .alignment = 16});
    return image;
  }
};

// Where a fake that places variables itself puts the first of a module; each is a page behind the one before.
inline constexpr std::uint64_t kPlacedVariables = 0x7000'0000'0000;

struct FakeInstance final : memory::ModuleInstance {
  std::vector<std::uint64_t> addresses;
  std::uint64_t variableAddress(std::uint32_t variable) const override { return addresses.at(variable); }
};

struct FakeQueue {
  std::deque<std::function<bool()>> work;  // each says whether it is done
  int number = 0;
  bool streamLives = true;
};

struct FakeStream final : memory::Stream {
  explicit FakeStream(std::shared_ptr<FakeQueue> queue) : queue(std::move(queue)) {}
  ~FakeStream() override { queue->streamLives = false; }
  bool idle() const override { return queue->work.empty(); }
  std::shared_ptr<FakeQueue> queue;
};

struct FakeEvent final : memory::Event {
  std::uint64_t recorded = 0;  // records so far
  std::shared_ptr<std::uint64_t> reached = std::make_shared<std::uint64_t>(0);
};

class FakeContext final : public memory::Context {
 public:
  FakeContext(FakeDevice& device, memory::ContextObserver& observer) : device_(device), observer_(observer) {}
  ~FakeContext() override;

  bool cancel() override;
  Status map(std::uint64_t address, std::span<const memory::Chunk> chunks) override;
  Status unmap(AddressRange range) override;
  AddressRange together(AddressRange granules) const override;
  bool unmappable(AddressRange granules) const override;
  void prepare(std::span<const memory::Arrival> arrivals) override;
  void restore(memory::Stream&, std::span<const memory::Arrival> arrivals) override;
  void save(memory::Stream&, std::uint64_t address, std::byte* home) override;
  void takeWritten(std::vector<std::uint64_t>& addresses) override;
  Status noticeWrites(AddressRange granules) override;
  Result<bool> share(std::uint64_t address, memory::Chunk chunk) override;
  void own(std::uint64_t address) override { lent_.erase(address); }
  void takeCopied(std::vector<std::uint64_t>& addresses) override;
  void settle(memory::Stream&, std::uint64_t address, memory::Chunk chunk) override;
  // A kernel writes the granule, now: `content` is its first byte from here on.
  void write(std::uint64_t address, std::byte content);
  // As anything reads it, now.
  std::byte read(std::uint64_t address);
  Status mapHost(AddressRange range) override;
  Status unmapHost(AddressRange range) override;
  std::unique_ptr<memory::Stream> createStream(int priority) override;
  std::unique_ptr<memory::Event> createEvent() override { return std::make_unique<FakeEvent>(); }
  void record(memory::Stream&, memory::Event&) override;
  void wait(memory::Stream&, memory::Event&) override;
  void copy(memory::Stream&, const memory::CopyShape&) override;
  void copyInline(memory::Stream&, std::uint64_t destination, std::span<const std::byte>) override;
  void fill(memory::Stream&, const memory::FillShape&) override;
  void launch(memory::Stream&, const memory::LaunchRequest&) override;
  Status call(memory::Stream&, const memory::LibraryRequest&) override;
  Status fingerprint(memory::Stream&, const memory::FingerprintKey&, AddressRange granules,
                     std::span<memory::PageFingerprint> out) override;
  void signal(memory::Stream&, wire::Slot&, std::uint64_t value, bool timestamp) override;
  void waitFor(memory::Stream&, const wire::Slot&, std::uint64_t value) override;
  Result<std::unique_ptr<memory::ModuleInstance>> instantiate(std::shared_ptr<memory::Image>,
                                                              std::span<const std::uint64_t> addresses) override;
  Result<std::unique_ptr<memory::ModuleInstance>> adopt(std::shared_ptr<memory::Image>,
                                                        std::span<const std::uint64_t> addresses) override;
  std::string ties() const override { return ""; }
  void allow(AddressRange range) override { allowed[range.base] = range.bytes; }
  void forbid(AddressRange range) override { allowed.erase(range.base); }
  std::map<std::uint64_t, std::uint64_t> allowed;  // base, bytes
  Result<bool> setLimit(memory::ContextLimit, std::uint64_t value) override;
  bool idle() const override;

  bool pump();
  memory::ContextObserver& observer() { return observer_; }

 private:
  friend class FakeDevice;
  void push(memory::Stream&, std::function<bool()>);
  void run(memory::Stream&, std::string line);

  FakeDevice& device_;
  memory::ContextObserver& observer_;
  std::vector<std::shared_ptr<FakeQueue>> queues_;
  void enterChunk(std::uint32_t chunk);
  void leaveChunk(std::uint32_t chunk);
  std::vector<std::pair<std::uint64_t, std::uint32_t>>::iterator find(std::uint64_t address);

  std::vector<std::pair<std::uint64_t, std::uint32_t>> mapped_;  // address, chunk: kNoChunk while it has been copied
  std::map<std::uint64_t, std::uint32_t> prepared_;  // by address: the chunk
  std::set<std::uint64_t> restored_;
  std::set<std::uint64_t> lent_;
  std::vector<std::uint64_t> copied_;                // not taken yet
  std::map<std::uint64_t, std::byte> copies_;  // by address
  bool cancelled_ = false;
};

struct FakePeerChunk final : memory::PeerChunk {
  FakePeerChunk(std::uint64_t number, std::size_t& living) : number(number), living(living) { ++living; }
  ~FakePeerChunk() override { --living; }
  const std::uint64_t number;
  std::size_t& living;
};

class FakeDevice final : public memory::Device {
 public:
  explicit FakeDevice(std::uint32_t chunkCount = 64) : dirty_(chunkCount) {
    for (std::uint32_t id = 0; id < chunkCount; ++id) chunks_.push_back({id, kGranuleBytes});
    properties_.name = "fake";
    properties_.memoryBytes = chunkCount * kGranuleBytes;
  }

  const memory::DeviceProperties& properties() const override { return properties_; }
  memory::Acquisitions acquisitions() const override { return {}; }
  std::span<const memory::Chunk> chunks() const override { return chunks_; }
  Status useHost(std::span<std::byte> memory) override {
    homes = memory;
    return {};
  }
  Status scrub(memory::Chunk chunk) override {
    if (inUse_.count(chunk.id)) broken("scrub of a mapped chunk");
    if (absent_.contains(chunk.id)) broken("scrub of a chunk without memory");
    bytes_.erase(chunk.id);
    dirty_[chunk.id] = false;
    ++scrubs;
    return {};
  }
  Status withdraw(std::span<const memory::Chunk> chunks) override {
    for (const memory::Chunk& chunk : chunks) {
      if (inUse_.count(chunk.id)) broken("a mapped chunk gives its memory up");
      if (!absent_.insert(chunk.id).second) broken("a chunk gives its memory up twice");
    }
    return {};
  }
  Result<std::size_t> supply(std::span<const memory::Chunk> chunks) override {
    if (failSupply) return std::size_t{0};
    for (const memory::Chunk& chunk : chunks) {
      if (absent_.erase(chunk.id) == 0) broken("a chunk with memory gets some");
      bytes_.erase(chunk.id);
    }
    return chunks.size();
  }
  Result<std::unique_ptr<memory::Context>> createContext(const memory::ContextOptions&,
                                                         memory::ContextObserver& observer) override {
    auto context = std::make_unique<FakeContext>(*this, observer);
    contexts_.insert(context.get());
    return std::unique_ptr<memory::Context>(std::move(context));
  }
  // Chunks are told apart by their numbers.
  Result<memory::SharedChunks> exportChunks(std::span<const memory::Chunk> chunks) override {
    if (failExport) return Error{CudaError::unknown, "cannot be shared"};
    memory::SharedChunks shared{.device = properties_.uuid, .places = {}, .fds = {}};
    for (const memory::Chunk& chunk : chunks) shared.places.push_back({0, chunk.id});
    shared.fds.emplace_back(::memfd_create("chunks", MFD_CLOEXEC));
    return shared;
  }
  Result<std::vector<std::unique_ptr<memory::PeerChunk>>> importChunks(memory::SharedChunks chunks) override {
    if (chunks.device.empty() || chunks.fds.size() != 1) return Error{CudaError::invalidValue, "nothing is shared"};
    std::vector<std::unique_ptr<memory::PeerChunk>> imported;
    for (const auto& place : chunks.places) imported.push_back(std::make_unique<FakePeerChunk>(place.offset, peerChunks));
    return imported;
  }
  Result<std::shared_ptr<memory::Image>> load(std::span<const std::byte> module) override {
    ++loads;
    const std::string text(reinterpret_cast<const char*>(module.data()), module.size());
    if (text.rfind("bad", 0) == 0) return Error{CudaError::invalidPtx, "line 1: bad"};
    auto loaded = std::make_shared<FakeImage>(image);
    return std::shared_ptr<memory::Image>(std::move(loaded));
  }
  bool poll(bool& waiting) override {
    bool did = false;
    for (FakeContext* context : contexts_) did = context->pump() || did;
    for (FakeContext* context : contexts_) waiting = waiting || (!hold && !context->idle());
    return did;
  }

  // From any thread: queued work may run.
  void release() {
    hold = false;
    progress();
  }
  void progress() {
    for (FakeContext* context : contexts_) context->observer().onProgress();
  }
  FakeContext& context() { return **contexts_.begin(); }
  // That whose window's memory is mapped there.
  FakeContext& contextOf(std::uint64_t address);
  std::size_t contexts() const { return contexts_.size(); }
  std::size_t mappedChunks() const { return inUse_.size(); }

  // What was submitted, in order: "launch 0 s1", "copy 4 s0" …
  std::vector<std::string> taken;
  std::vector<const memory::Event*> recorded, awaited;  // in order
  void write(std::string line) { taken.push_back(std::move(line)); }
  void broken(const std::string& what) { violations.push_back(what); }

  std::atomic<bool> hold{false};
  std::atomic<int> scrubs{0}, loads{0}, signals{0};
  bool failInstantiate = false, failExport = false, failSupply = false;
  bool limitsWait = false;  // setLimit() says "not yet"
  std::size_t peerChunks = 0;  // imported, and not given up
  AddressRange failUnmap;  // what cannot be unmapped
  AddressRange usedByOthers;       // what cannot move, where it is mapped together with something
  std::uint64_t mappedTogether = 1;  // granules whose addresses agree but for so many
  // What saves leave behind and restores find: the first byte of a granule. Its number, where nothing else is said here, by
  // address.
  std::span<std::byte> homes;
  std::map<std::uint64_t, std::byte> contents;
  std::set<std::uint64_t> written;  // granules that takeWritten() will tell of, or that have another fingerprint
  std::map<std::uint64_t, std::uint64_t> versions;            // by address: what fingerprints tell apart
  std::map<const std::byte*, std::uint64_t> savedVersions;  // by home
  bool keepRunningWhenCancelled = false;
  std::vector<std::string> violations;
  FakeImage image;
  memory::DeviceProperties properties_;

 private:
  friend class FakeContext;
  std::vector<memory::Chunk> chunks_;
  std::vector<bool> dirty_;
  std::set<std::uint32_t> absent_;  // chunks without memory
  std::map<std::uint32_t, unsigned> inUse_;  // mappings, by chunk
  std::map<std::uint32_t, std::byte> bytes_;  // the first of a chunk, where it is known
  std::set<FakeContext*> contexts_;
  int streamNumber_ = 0;
};

}  // namespace rouse::executor
