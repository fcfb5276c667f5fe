#include "server/device/cuda/lane.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "server/device/cuda/fingerprint_kernel.h"
#include "server/device/cuda/lanes.h"
#include "server/device/cuda/module.h"

namespace rouse::cuda {
namespace {

// Operations of one stream that the driver may have at a time. Its queues take about a thousand launches and then block
// the caller; eight streams may share one (CUDA_DEVICE_MAX_CONNECTIONS, gpu.cc).
constexpr std::uint64_t kMostInFlight = 128;
constexpr std::uint64_t kMarkEvery = 32;
constexpr std::size_t kKernelsNamed = 4;

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }  // NOLINT(performance-no-int-to-ptr)

// CUDA_MEMCPY2D and CUDA_MEMCPY3D.
template <class Box>
void setSource(Box& box, bool host, std::uint64_t address) {
  box.srcMemoryType = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  if (host)
    box.srcHost = pointer(address);
  else
    box.srcDevice = address;
}
template <class Box>
void setDestination(Box& box, bool host, std::uint64_t address) {
  box.dstMemoryType = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  if (host)
    box.dstHost = pointer(address);
  else
    box.dstDevice = address;
}

}  // namespace

Record::~Record() {
  if (event != nullptr) owner.giveEvent(event);
}

// --- Progress

std::uint64_t Lane::completed() const {
  if (stream_ == nullptr) return submitted_;
  return std::atomic_ref<std::uint64_t>(*counter_).load(std::memory_order_acquire);
}

void Lane::mark() {
  if (marked_ == submitted_ || owner_.gpu->lost()) return;
  const auto counter = reinterpret_cast<CUdeviceptr>(counter_);
  if (owner_.gpu->good(
          owner_.gpu->driver().cuStreamWriteValue64(stream_, counter, submitted_, CU_STREAM_WRITE_VALUE_DEFAULT),
          "cuStreamWriteValue64", &owner_)) {
    marked_ = submitted_;
    owner_.watch();
  }
}

bool Lane::idle() {
  if (owner_.gpu->lost()) return true;
  if (holds() || !takeCall()) return false;
  if (completed() == submitted_) return true;
  mark();
  return false;
}

bool Lane::quiet() {
  if (calling_ != nullptr && (holds() || !takeCall())) return false;
  if (completed() >= kernel_) return true;
  mark();
  return false;
}

bool Lane::room() {
  if (submitted_ - completed() < kMostInFlight) return true;
  mark();
  return false;
}

void Lane::counted() {
  ++submitted_;
  owner_.active(*this);
  if (submitted_ - marked_ >= kMarkEvery) mark();
}

bool Lane::look() {
  if (held_.empty()) (void)takeCall();  // it was dropped meanwhile
  const std::uint64_t now = completed();
  while (!lent_.empty() && lent_.front().sequence <= now) {
    owner_.bounce->give(lent_.front().block);
    lent_.pop_front();
  }
  while (!launched_.empty() && launched_.front().sequence <= now) launched_.pop_front();
  return std::exchange(seen_, now) != now;
}

// Synchronizing with an event is one of the ways to have the text written (Programming Guide, "Formatted output"), and
// the only one that waits for nothing: the kernel is known to be done.
bool Lane::flushText() {
  CUevent latest = nullptr;
  const std::uint64_t now = completed();
  while (!printed_.empty() && printed_.front().sequence <= now) {
    if (latest != nullptr) owner_.giveEvent(latest);
    latest = printed_.front().event;
    printed_.pop_front();
  }
  if (latest == nullptr) return false;
  owner_.gpu->good(owner_.gpu->driver().cuEventSynchronize(latest), "cuEventSynchronize", &owner_);
  owner_.giveEvent(latest);
  return true;
}

void Lane::forgetText() {
  for (const Printed& printed : printed_) owner_.giveEvent(printed.event);
  printed_.clear();
}

std::string Lane::kernelsUnderWay() const {
  std::string names;
  const std::uint64_t now = completed();
  for (const Launched& launched : launched_) {
    if (launched.sequence <= now) continue;
    names += (names.empty() ? "" : ", ") + *launched.kernel;
  }
  return names;
}

void Lane::waitFor(Lane& other, std::uint64_t sequence) {
  if (&other == this || other.completed() >= sequence) return;
  const auto counter = reinterpret_cast<CUdeviceptr>(other.counter_);
  if (owner_.gpu->good(owner_.gpu->driver().cuStreamWaitValue64(stream_, counter, sequence, CU_STREAM_WAIT_VALUE_GEQ),
                       "cuStreamWaitValue64", &owner_))
    counted();
}

// --- Order

void Lane::push(Operation operation) {
  if (owner_.dead() != CudaError::success) {
    if (auto* signal = std::get_if<SignalOperation>(&operation))
      Lanes::deliverSlot(*signal->slot, signal->value, signal->timestamp, owner_.dead());
    return;
  }
  owner_.gpu->makeCurrent();
  if (!holds() && !stepping_ && attempt(operation)) {
    owner_.pump();
    return;
  }
  if (owner_.dead() != CudaError::success) return push(std::move(operation));
  held_.push_back(std::move(operation));
  owner_.active(*this);
  // So that the executor hears when what is before it is done.
  mark();
  owner_.pump();
}

bool Lane::drain() {
  bool any = false;
  while (!held_.empty() && !stepping_) {
    // Taken out: a fault on the way drops all that is held.
    Operation operation = std::move(held_.front());
    held_.pop_front();
    if (!attempt(operation)) {
      if (owner_.dead() != CudaError::success)
        push(std::move(operation));
      else
        held_.push_front(std::move(operation));
      break;
    }
    any = true;
  }
  return any;
}

bool Lane::attempt(Operation& operation) {
  stepping_ = true;
  const Step result = step(operation);
  stepping_ = false;
  return result == Step::done;
}

bool Lane::waitsForSlot() const { return !held_.empty() && std::holds_alternative<SlotWaitOperation>(held_.front()); }

void Lane::dropHeld(CudaError error) {
  for (Operation& operation : held_) {
    if (auto* signal = std::get_if<SignalOperation>(&operation))
      Lanes::deliverSlot(*signal->slot, signal->value, signal->timestamp, error);
  }
  held_.clear();
}

Lane::Step Lane::step(Operation& operation) {
  return std::visit([this](auto& each) { return step(each); }, operation);
}

bool Lane::settle() {
  if (this == owner_.setup()) return true;
  if (owner_.deviceWindow->unsettled() && !owner_.settleMemory()) return false;
  Lane* setup = owner_.setup();
  if (setup == nullptr || settled_ == owner_.setupSequence()) return true;
  settled_ = owner_.setupSequence();
  waitFor(*setup, settled_);
  return true;
}

// --- Copies

Lane::Step Lane::step(CopyOperation& operation) {
  if (!operation.arrival.empty()) {
    if (Status status = owner_.deviceWindow->settle(operation.arrival); !status) {
      owner_.report(status.error());
      return Step::done;
    }
  } else if (!settle()) {
    return Step::done;
  }
  while (!operation.pieces.done()) {
    if (!room()) return Step::blocked;
    CopyPiece piece = operation.pieces.current();
    std::uint64_t left = 0;
    if (piece.height == 1 && piece.depth == 1) {
      // A row may pass from one pinned piece of host memory to the next.
      const HostWindow& host = *owner_.hostWindow;
      piece.destination += operation.cut;
      piece.source += operation.cut;
      piece.width -= operation.cut;
      left = piece.width;
      for (const std::uint64_t side : {piece.destination, piece.source})
        if (host.contains(side)) piece.width = std::min(piece.width, std::max<std::uint64_t>(host.pinnedFrom(side), 1));
      left -= piece.width;
    }
    if (!submitCopy(piece)) return Step::done;
    counted();
    if (left != 0) {
      operation.cut += piece.width;
    } else {
      operation.cut = 0;
      operation.pieces.advance();
    }
  }
  return Step::done;
}

bool Lane::submitCopy(const CopyPiece& piece) {
  const Driver& driver = owner_.gpu->driver();
  const AddressRange& homes = owner_.gpu->homes;
  const bool toHost = owner_.hostWindow->contains(piece.destination) || homes.contains(piece.destination);
  const bool fromHost = owner_.hostWindow->contains(piece.source) || homes.contains(piece.source);
  if (toHost && fromHost) return submitHostCopy(piece);
  if (piece.height == 1 && piece.depth == 1) {
    if (fromHost)
      return owner_.gpu->good(driver.cuMemcpyHtoDAsync(piece.destination, pointer(piece.source), piece.width, stream_),
                              "cuMemcpyHtoDAsync", &owner_);
    if (toHost)
      return owner_.gpu->good(driver.cuMemcpyDtoHAsync(pointer(piece.destination), piece.source, piece.width, stream_),
                              "cuMemcpyDtoHAsync", &owner_);
    return owner_.gpu->good(driver.cuMemcpyDtoDAsync(piece.destination, piece.source, piece.width, stream_),
                            "cuMemcpyDtoDAsync", &owner_);
  }
  if (piece.depth == 1) {
    CUDA_MEMCPY2D box{};
    setSource(box, fromHost, piece.source);
    box.srcPitch = piece.sourcePitch;
    setDestination(box, toHost, piece.destination);
    box.dstPitch = piece.destinationPitch;
    box.WidthInBytes = piece.width;
    box.Height = piece.height;
    return owner_.gpu->good(driver.cuMemcpy2DAsync(&box, stream_), "cuMemcpy2DAsync", &owner_);
  }
  CUDA_MEMCPY3D box{};
  setSource(box, fromHost, piece.source);
  box.srcPitch = piece.sourcePitch;
  box.srcHeight = piece.sourcePlanePitch / piece.sourcePitch;
  setDestination(box, toHost, piece.destination);
  box.dstPitch = piece.destinationPitch;
  box.dstHeight = piece.destinationPlanePitch / piece.destinationPitch;
  box.WidthInBytes = piece.width;
  box.Height = piece.height;
  box.Depth = piece.depth;
  return owner_.gpu->good(driver.cuMemcpy3DAsync(&box, stream_), "cuMemcpy3DAsync", &owner_);
}

// The driver copies between host memory while its caller waits (CUDA Driver API, "API synchronization behavior"), so it
// is done where the stream gets to it, on a thread of the driver's. Not called once the GPU is lost: then the process
// ends.
bool Lane::submitHostCopy(const CopyPiece& piece) {
  auto copy = std::make_unique<CopyPiece>(piece);
  const auto run = [](void* data) {
    const std::unique_ptr<CopyPiece> p(static_cast<CopyPiece*>(data));
    for (std::uint64_t z = 0; z < p->depth; ++z) {
      for (std::uint64_t y = 0; y < p->height; ++y) {
        std::memmove(pointer(p->destination + z * p->destinationPlanePitch + y * p->destinationPitch),
                     pointer(p->source + z * p->sourcePlanePitch + y * p->sourcePitch), p->width);
      }
    }
  };
  if (!owner_.gpu->good(owner_.gpu->driver().cuLaunchHostFunc(stream_, run, copy.get()), "cuLaunchHostFunc", &owner_))
    return false;
  copy.release();
  return true;
}

Lane::Step Lane::step(ArrayOperation& operation) {
  if (!settle()) return Step::done;
  if (!room()) return Step::blocked;
  CUDA_MEMCPY3D box{};
  box.WidthInBytes = operation.width;
  box.Height = operation.height;
  box.Depth = operation.depth;
  if (operation.toArray) {
    setSource(box, false, operation.address);
    box.srcPitch = operation.pitch;
    box.srcHeight = operation.rows;
    box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    box.dstArray = operation.array;
    box.dstXInBytes = operation.x;
    box.dstY = operation.y;
    box.dstZ = operation.z;
  } else {
    setDestination(box, false, operation.address);
    box.dstPitch = operation.pitch;
    box.dstHeight = operation.rows;
    box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    box.srcArray = operation.array;
    box.srcXInBytes = operation.x;
    box.srcY = operation.y;
    box.srcZ = operation.z;
  }
  if (owner_.gpu->good(owner_.gpu->driver().cuMemcpy3DAsync(&box, stream_), "cuMemcpy3DAsync", &owner_, "an array")) counted();
  return Step::done;
}

Lane::Step Lane::step(InlineOperation& operation) {
  if (!settle()) return Step::done;
  while (operation.done < operation.bytes.size()) {
    if (!room()) return Step::blocked;
    std::size_t bytes = std::min<std::size_t>(operation.bytes.size() - operation.done, Bounce::kLarge);
    const std::uint64_t destination = operation.destination + operation.done;
    const bool toHost = owner_.hostWindow->contains(destination);
    if (toHost) bytes = std::min(bytes, std::max<std::uint64_t>(owner_.hostWindow->pinnedFrom(destination), 1));
    std::byte* block = owner_.bounce->take(bytes);
    if (block == nullptr) {
      mark();
      return Step::blocked;
    }
    std::memcpy(block, operation.bytes.data() + operation.done, bytes);
    const CopyPiece piece{.destination = destination, .source = reinterpret_cast<std::uint64_t>(block), .width = bytes};
    const bool good = toHost
                          ? submitHostCopy(piece)
                          : owner_.gpu->good(owner_.gpu->driver().cuMemcpyHtoDAsync(destination, block, bytes, stream_),
                                             "cuMemcpyHtoDAsync", &owner_);
    if (!good) {
      owner_.bounce->give(block);
      return Step::done;
    }
    counted();
    lent_.push_back({submitted_, block});
    operation.done += bytes;
  }
  return Step::done;
}

// --- Fills

Lane::Step Lane::step(FillOperation& operation) {
  if (!settle()) return Step::done;
  while (!operation.pieces.done()) {
    if (!room()) return Step::blocked;
    FillPiece piece = operation.pieces.current();
    std::uint64_t left = 0;
    if (piece.height == 1) {
      piece.destination += operation.cut * piece.elementBytes;
      piece.width -= operation.cut;
      left = piece.width;
      if (owner_.hostWindow->contains(piece.destination))
        piece.width =
            std::min(piece.width,
                     std::max<std::uint64_t>(owner_.hostWindow->pinnedFrom(piece.destination) / piece.elementBytes, 1));
      left -= piece.width;
    }
    if (!submitFill(piece)) return Step::done;
    counted();
    if (left != 0) {
      operation.cut += piece.width;
    } else {
      operation.cut = 0;
      operation.pieces.advance();
    }
  }
  return Step::done;
}

bool Lane::submitFill(const FillPiece& p) {
  const Driver& driver = owner_.gpu->driver();
  const auto byte = static_cast<unsigned char>(p.value);
  const auto word = static_cast<unsigned short>(p.value);
  Gpu& gpu = *owner_.gpu;
  if (p.height == 1) {
    if (p.elementBytes == 1)
      return gpu.good(driver.cuMemsetD8Async(p.destination, byte, p.width, stream_), "cuMemsetD8Async", &owner_);
    if (p.elementBytes == 2)
      return gpu.good(driver.cuMemsetD16Async(p.destination, word, p.width, stream_), "cuMemsetD16Async", &owner_);
    return gpu.good(driver.cuMemsetD32Async(p.destination, p.value, p.width, stream_), "cuMemsetD32Async", &owner_);
  }
  if (p.elementBytes == 1)
    return gpu.good(driver.cuMemsetD2D8Async(p.destination, p.pitch, byte, p.width, p.height, stream_),
                    "cuMemsetD2D8Async", &owner_);
  if (p.elementBytes == 2)
    return gpu.good(driver.cuMemsetD2D16Async(p.destination, p.pitch, word, p.width, p.height, stream_),
                    "cuMemsetD2D16Async", &owner_);
  return gpu.good(driver.cuMemsetD2D32Async(p.destination, p.pitch, p.value, p.width, p.height, stream_),
                  "cuMemsetD2D32Async", &owner_);
}

// --- Fingerprints

// By way of pinned memory: the caller's need not be known to the GPU.
Lane::Step Lane::step(FingerprintOperation& operation) {
  if (!settle()) return Step::done;
  const std::uint64_t pages = operation.granules.bytes / kGranuleBytes;
  while (operation.done < pages) {
    if (!room()) return Step::blocked;
    const std::uint64_t count = std::min(pages - operation.done, Bounce::kLarge / sizeof(memory::PageFingerprint));
    const std::uint64_t bytes = count * sizeof(memory::PageFingerprint);
    std::byte* block = owner_.bounce->take(bytes);
    if (block == nullptr) {
      mark();
      return Step::blocked;
    }
    const CUresult result = owner_.fingerprints->launch(
        owner_.gpu->driver(), stream_, operation.granules.base + operation.done * kGranuleBytes,
        static_cast<std::uint32_t>(count), reinterpret_cast<std::uint64_t>(block), *operation.key);
    if (!owner_.gpu->good(result, "cuLaunchKernelEx", &owner_, "fingerprints")) {
      owner_.bounce->give(block);
      return Step::done;
    }
    counted();
    kernel_ = submitted_;
    if (submitHostCopy({.destination = reinterpret_cast<std::uint64_t>(operation.out + operation.done),
                        .source = reinterpret_cast<std::uint64_t>(block),
                        .width = bytes}))
      counted();
    lent_.push_back({submitted_, block});
    operation.done += count;
  }
  return Step::done;
}

// --- Launches

Lane::Step Lane::step(LaunchOperation& operation) {
  if (!settle()) return Step::done;
  if (!room()) return Step::blocked;
  const memory::KernelDescription& kernel = operation.instance->kernel(operation.function);
  const std::uint64_t shared = std::uint64_t{kernel.staticSharedBytes} + operation.sharedBytes;
  if (shared > owner_.maxSharedBytes) {
    owner_.report({CudaError::launchOutOfResources, kernel.name + ": " + std::to_string(shared) +
                                                        " bytes of shared memory a block, limit " +
                                                        std::to_string(owner_.maxSharedBytes)});
    return Step::done;
  }
  if (Status status = operation.instance->allowShared(operation.function, operation.sharedBytes); !status) {
    owner_.report(status.error());
    return Step::done;
  }
  if (Status status = operation.instance->allowCluster(operation.function, operation.cluster); !status) {
    owner_.report(status.error());
    return Step::done;
  }
  LocalMemory& localMemory = owner_.gpu->localMemory;
  if (kernel.localBytes > localMemory.bytes() ? !localMemory.take(owner_, kernel.localBytes) : localMemory.holds()) return Step::blocked;
  const bool prints = operation.instance->prints(operation.function);
  if (prints && !owner_.gpu->text.take(owner_)) return Step::blocked;
  const CUevent printed = prints ? owner_.takeEvent() : nullptr;
  if (prints && printed == nullptr) {
    owner_.fetchText();  // ends its turn if nothing else of it prints
    return Step::done;
  }
  std::vector<void*> parameters;
  parameters.reserve(kernel.parameters.size());
  for (const memory::ParameterLayout& parameter : kernel.parameters)
    parameters.push_back(operation.parameters.data() + parameter.offset);

  std::array<CUlaunchAttribute, 2> attributes{};
  unsigned count = 0;
  if (operation.cooperative) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[count++].value.cooperative = 1;
  }
  // Not of one block, which a GPU without clusters would refuse, unless the kernel wants to be told.
  if (operation.cluster.blocks() > 1 || (!operation.cluster.none() && kernel.clusterMustBeSet)) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    auto& shape = attributes[count++].value.clusterDim;
    shape.x = operation.cluster.x;
    shape.y = operation.cluster.y;
    shape.z = operation.cluster.z;
  }
  CUlaunchConfig config{};
  config.gridDimX = operation.grid.x;
  config.gridDimY = operation.grid.y;
  config.gridDimZ = operation.grid.z;
  config.blockDimX = operation.block.x;
  config.blockDimY = operation.block.y;
  config.blockDimZ = operation.block.z;
  config.sharedMemBytes = operation.sharedBytes;
  config.hStream = stream_;
  config.attrs = attributes.data();
  config.numAttrs = count;
  const CUresult result = owner_.gpu->driver().cuLaunchKernelEx(
      &config, operation.instance->function(operation.function), parameters.data(), nullptr);
  if (!owner_.gpu->good(result, "cuLaunchKernelEx", &owner_, kernel.name)) {
    if (prints) {
      owner_.giveEvent(printed);
      owner_.fetchText();
    }
    return Step::done;
  }
  counted();
  kernel_ = submitted_;
  localMemory.grew(kernel.localBytes);
  launched_.push_back({submitted_, &kernel.name});
  if (launched_.size() > kKernelsNamed) launched_.pop_front();
  if (prints) willPrint(printed);
  return Step::done;
}

// At once: whoever sees that something behind this launch is reached must find its text fetched.
void Lane::willPrint(CUevent event) {
  if (!owner_.gpu->good(owner_.gpu->driver().cuEventRecord(event, stream_), "cuEventRecord", &owner_))
    return owner_.giveEvent(event);
  counted();
  printed_.push_back({submitted_, event});
  mark();
}

// --- Order between streams and processes

Lane::Step Lane::step(SignalOperation& operation) {
  if (completed() == submitted_) {
    // What caused this may have been reached and not been delivered.
    owner_.deliver();
    Lanes::deliverSlot(*operation.slot, operation.value, operation.timestamp, owner_.dead());
  } else {
    // In this order: marking may meet a fault, which delivers all that is pending, for the last time.
    owner_.signalled(*this, submitted_, *operation.slot, operation.value, operation.timestamp);
    mark();
  }
  owner_.retry();
  return Step::done;
}

Lane::Step Lane::step(SlotWaitOperation& operation) {
  if (operation.slot->value.load(std::memory_order_seq_cst) >= operation.value) return Step::done;
  const Lanes::Promise promise = owner_.promised(*operation.slot, operation.value);
  if (promise.lane == nullptr || !room()) return Step::blocked;
  waitFor(*promise.lane, promise.sequence);
  return Step::done;
}

Lane::Step Lane::step(RecordOperation& operation) {
  Record& record = *operation.record;
  if (completed() != submitted_) {
    if (!room()) return Step::blocked;
    record.event = owner_.takeEvent();
    if (record.event == nullptr ||
        !owner_.gpu->good(owner_.gpu->driver().cuEventRecord(record.event, stream_), "cuEventRecord", &owner_))
      return Step::done;
    counted();
  }
  record.sequence = submitted_;
  record.submitted = true;
  owner_.retry();
  return Step::done;
}

Lane::Step Lane::step(EventWaitOperation& operation) {
  const Record& record = *operation.record;
  if (!record.submitted || !room()) return Step::blocked;
  if (record.event == nullptr || record.lane->completed() >= record.sequence) return Step::done;
  if (owner_.gpu->good(owner_.gpu->driver().cuStreamWaitEvent(stream_, record.event, CU_EVENT_WAIT_DEFAULT),
                       "cuStreamWaitEvent", &owner_))
    counted();
  return Step::done;
}

}  // namespace rouse::cuda
