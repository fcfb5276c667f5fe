#include "server/device/cuda/physical_memory.h"

#include <algorithm>
#include <utility>

#include "memory/start_failure.h"

namespace rouse::cuda {
namespace {

// What stays free for the driver: code of modules, local memory, printf and heap, libraries' workspaces. Local memory is there for all threads that
// the GPU can have at once: an H100's 270,336 take 2.2 GB for a stack of 8 KiB each.
constexpr std::uint64_t kHeadRoomShare = 16;
constexpr std::uint64_t kMostHeadRoom = std::uint64_t{4} << 30;

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

CUmemAllocationProp property(const Gpu& gpu, bool shareable) {
  CUmemAllocationProp property{};
  property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  property.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu.device()};
  if (shareable) property.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return property;
}

}  // namespace

PhysicalMemory::PhysicalMemory(std::shared_ptr<Gpu> gpu, bool shareable, const std::vector<memory::Extent>& allocations, const Handles& handles)
    : gpu_(std::move(gpu)), plan_(allocations), shareable_(shareable) {
  const std::uint32_t count = allocations.back().first + allocations.back().count;
  for (std::uint32_t id = 0; id < count; ++id) chunks_.push_back({id, kGranuleBytes});
  handles_.assign(count, kNone);
  for (std::size_t i = 0; i < allocations.size(); ++i) handles_[allocations[i].first] = handles[i];
  dirty_.assign(count, true);
  mapped_.assign(count, false);
}

Result<std::unique_ptr<PhysicalMemory>> PhysicalMemory::create(std::shared_ptr<Gpu> gpu, std::uint64_t atMost, std::uint64_t absent,
                                                                bool shareable) {
  const Driver& driver = gpu->driver();
  shareable = shareable && gpu->attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) != 0;
  const CUmemAllocationProp property = cuda::property(*gpu, shareable);
  std::size_t granularity = 0;
  Status status =
      gpu->status(driver.cuMemGetAllocationGranularity(&granularity, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                  "cuMemGetAllocationGranularity");
  if (!status) return status.error();
  if (granularity == 0 || kGranuleBytes % granularity != 0)
    return Error{CudaError::notSupported, gpu->name() + " maps memory in pieces of " + std::to_string(granularity) +
                                              " bytes, Rouse in pieces of " + std::to_string(kGranuleBytes)};

  std::size_t free = 0, total = 0;
  if (status = gpu->status(driver.cuMemGetInfo(&free, &total), "cuMemGetInfo"); !status) return status.error();
  const std::uint64_t headRoom = std::min<std::uint64_t>(total / kHeadRoomShare, kMostHeadRoom);
  const std::uint64_t possible = roundDown(free - std::min<std::uint64_t>(free, headRoom), kGranuleBytes);
  const std::uint64_t wanted = atMost == 0 ? possible : roundDown(atMost, kGranuleBytes);
  absent = std::min(roundDown(absent, kGranuleBytes), wanted);
  if (wanted == 0 || wanted - absent > possible) {
    const std::string needed = wanted == 0 ? mebibytes(kGranuleBytes) : mebibytes(wanted);
    return Error{
        memory::kGpuFull,
        gpu->name() + " is too full: " + mebibytes(free) + " of " + mebibytes(total) + " are free, needed are " +
            needed + " and " + mebibytes(headRoom) +
            " for the driver; other processes hold the rest (nvidia-smi shows them): stop them, or ask for less "
            "memory"};
  }

  const auto count = static_cast<std::uint32_t>(wanted / kGranuleBytes), without = static_cast<std::uint32_t>(absent / kGranuleBytes);
  std::vector<memory::Extent> allocations;
  for (std::uint32_t id = 0; id < without; ++id) allocations.push_back({id, 1});
  Handles handles(without, kNone);
  for (const memory::Extent& piece : AllocationPlan::pieces({without, count - without})) {
    status = make(*gpu, shareable, {piece}, {}, handles);
    if (status) {
      allocations.push_back(piece);
      continue;
    }
    // Somebody else was faster: what there is will do, if it was not asked for by size.
    if (status.error().code == CudaError::memoryAllocation && atMost == 0 && piece.first >= std::max(count / 2, 1u)) break;
    for (std::size_t i = 0; i < handles.size(); ++i) release(*gpu, handles[i], allocations[i]);
    return Error{status.error().code,
                 gpu->name() + ", granule " + std::to_string(piece.first) + " of " + std::to_string(count) + ": " + status.error().message};
  }
  return std::unique_ptr<PhysicalMemory>(new PhysicalMemory(std::move(gpu), shareable, allocations, handles));
}

PhysicalMemory::~PhysicalMemory() {
  gpu_->makeCurrent();
  for (std::uint32_t id = 0; id < chunks_.size(); ++id) release(*gpu_, handles_[id], plan_.of(id));
}

Status PhysicalMemory::make(Gpu& gpu, bool shareable, const std::vector<memory::Extent>& allocations, memory::Extent without, Handles& handles) {
  const std::size_t before = handles.size();
  const CUmemAllocationProp property = cuda::property(gpu, shareable);
  for (const memory::Extent& each : allocations) {
    CUmemGenericAllocationHandle handle = kNone;
    if (each.first < without.first || each.first - without.first >= without.count) {
      const CUresult result = gpu.driver().cuMemCreate(&handle, each.count * kGranuleBytes, &property, 0);
      gpu.allocations.fetch_add(1, std::memory_order_relaxed);
      if (Status status = gpu.status(result, "cuMemCreate"); !status) {
        for (std::size_t i = before; i < handles.size(); ++i) release(gpu, handles[i], allocations[i - before]);
        handles.resize(before);
        return status;
      }
      gpu.allocatedBytes.fetch_add(each.count * kGranuleBytes, std::memory_order_relaxed);
    }
    handles.push_back(handle);
  }
  return {};
}

// The driver frees it once nothing maps it either ("Virtual Memory Management", cuMemRelease).
void PhysicalMemory::release(Gpu& gpu, CUmemGenericAllocationHandle handle, memory::Extent allocation) {
  if (handle == kNone || !gpu.good(gpu.driver().cuMemRelease(handle), "cuMemRelease", nullptr)) return;
  gpu.allocatedBytes.fetch_sub(allocation.count * kGranuleBytes, std::memory_order_relaxed);
}

Status PhysicalMemory::remake(const AllocationPlan::Change& change, memory::Extent without) {
  if (!change.needed()) return {};
  gpu_->makeCurrent();
  Handles begun;
  Status status = make(*gpu_, shareable_, change.begins, without, begun);
  if (!status && status.error().code != CudaError::memoryAllocation) return status;
  if (!status && change.ends.size() > 1) return {};
  if (!status) {
    // There is as much as it has itself.
    release(*gpu_, std::exchange(handles_[change.ends.front().first], kNone), change.ends.front());
    if (status = make(*gpu_, shareable_, change.begins, without, begun); !status) {
      AllocationPlan::Change lost{.ends = change.ends, .begins = {}};
      for (const memory::Extent& each : change.begins)
        for (std::uint32_t i = 0; i < each.count; ++i) lost.begins.push_back({each.first + i, 1});
      adopt(lost, Handles(lost.begins.size(), kNone));
      return status;
    }
  }
  adopt(change, begun);
  for (const memory::Extent& each : change.begins) setDirty(each, true);
  return {};
}

void PhysicalMemory::adopt(const AllocationPlan::Change& change, const Handles& begun) {
  for (const memory::Extent& each : change.ends) release(*gpu_, std::exchange(handles_[each.first], kNone), each);
  for (std::size_t i = 0; i < change.begins.size(); ++i) handles_[change.begins[i].first] = begun[i];
  plan_.apply(change);
}

Status PhysicalMemory::shape(memory::Extent piece) { return remake(plan_.change(piece)); }

Result<PhysicalMemory::Cut> PhysicalMemory::cut(memory::Extent chunks) {
  Cut cut{.change = plan_.cut(chunks), .begun = {}};
  gpu_->makeCurrent();
  if (Status status = make(*gpu_, shareable_, cut.change.begins, {}, cut.begun); !status) return status.error();
  return cut;
}

void PhysicalMemory::adopt(const Cut& cut) { adopt(cut.change, cut.begun); }

void PhysicalMemory::abandon(const Cut& cut) {
  for (std::size_t i = 0; i < cut.begun.size(); ++i) release(*gpu_, cut.begun[i], cut.change.begins[i]);
}

// By whole blocks of two sizes: others are made when they are wanted, which is seldom.
Status PhysicalMemory::scrub(memory::Chunk chunk) {
  if (Status status = check(chunk); !status) return status;
  dirty_[chunk.id] = true;
  for (const std::uint32_t count : {kJoined, AllocationPlan::kLargest}) {
    const memory::Extent block{chunk.id & ~(count - 1), count};
    if (block.first + count > chunks_.size()) return {};
    for (std::uint32_t id = block.first; id != block.first + count; ++id)
      if (mapped_[id] || !dirty_[id] || !check(chunks_[id])) return {};
    if (plan_.of(block.first).count >= count) continue;
    if (Status status = shape(block); !status) return status;
  }
  return {};
}

void PhysicalMemory::setMapped(memory::Extent chunks, bool mapped) { std::fill_n(mapped_.begin() + chunks.first, chunks.count, mapped); }

void PhysicalMemory::setDirty(memory::Extent chunks, bool dirty) { std::fill_n(dirty_.begin() + chunks.first, chunks.count, dirty); }

Status PhysicalMemory::forEachPiece(std::span<const memory::Chunk> chunks, const std::function<Status(memory::Extent)>& visit) {
  for (auto at = chunks.begin(); at != chunks.end();) {
    memory::Extent run{at->id, 0};
    for (; at != chunks.end() && at->id == run.first + run.count; ++at) ++run.count;
    for (const memory::Extent& piece : AllocationPlan::pieces(run))
      if (Status status = visit(piece); !status) return status;
  }
  return {};
}

Status PhysicalMemory::withdraw(std::span<const memory::Chunk> chunks) {
  for (const memory::Chunk& chunk : chunks) {
    if (Status status = check(chunk); !status) return status;
    if (mapped_[chunk.id]) return Error{CudaError::invalidValue, gpu_->name() + ": chunk " + std::to_string(chunk.id) + " is mapped"};
  }
  return forEachPiece(chunks, [this](memory::Extent piece) { return withdraw(piece); });
}

Status PhysicalMemory::withdraw(memory::Extent piece) {
  AllocationPlan::Change gone = plan_.change(piece);
  if (!gone.needed()) gone.ends.push_back(piece);
  std::erase_if(gone.begins, [&](memory::Extent each) { return each.first >= piece.first && each.first < piece.first + piece.count; });
  for (std::uint32_t i = 0; i < piece.count; ++i) gone.begins.push_back({piece.first + i, 1});
  return remake(gone, piece);
}

Result<std::size_t> PhysicalMemory::supply(std::span<const memory::Chunk> chunks) {
  for (const memory::Chunk& chunk : chunks) {
    if (Status status = known(chunk); !status) return status.error();
    if (check(chunk)) return Error{CudaError::invalidValue, gpu_->name() + ": chunk " + std::to_string(chunk.id) + " has memory"};
  }
  gpu_->makeCurrent();
  std::size_t supplied = 0;
  bool more = true;
  const Status status = forEachPiece(chunks, [&](memory::Extent piece) -> Status {
    if (!more) return {};
    auto some = supply(piece);
    if (!some) return some.error();
    supplied += *some;
    more = *some == piece.count;
    return {};
  });
  if (!status) return status.error();
  return supplied;
}

Result<std::size_t> PhysicalMemory::supply(memory::Extent piece) {
  const AllocationPlan::Change whole = plan_.change(piece);
  Handles made;
  Status status = make(*gpu_, shareable_, {piece}, {}, made);
  if (status) {
    adopt({.ends = whole.ends, .begins = {piece}}, made);
    setDirty(piece, true);
    return piece.count;
  }
  if (status.error().code != CudaError::memoryAllocation) return status.error();
  for (std::uint32_t i = 0; piece.count != 1 && i < piece.count; ++i) {
    made.clear();
    if (status = make(*gpu_, shareable_, {{piece.first + i, 1}}, {}, made); !status) {
      if (status.error().code != CudaError::memoryAllocation) return status.error();
      return i;
    }
    handles_[piece.first + i] = made.front();
    dirty_[piece.first + i] = true;
  }
  return piece.count == 1 ? 0 : piece.count;
}

Status PhysicalMemory::check(memory::Chunk chunk) const {
  if (Status status = known(chunk); !status) return status;
  if (handles_[plan_.of(chunk.id).first] != kNone) return {};
  return Error{CudaError::invalidValue, gpu_->name() + ": chunk " + std::to_string(chunk.id) + " has given its memory up"};
}

Status PhysicalMemory::known(memory::Chunk chunk) const {
  if (chunk.id < chunks_.size() && chunk.bytes == kGranuleBytes) return {};
  return Error{CudaError::invalidValue, gpu_->name() + ": chunk " + std::to_string(chunk.id) + " of " +
                                            std::to_string(chunk.bytes) + " bytes; there are " +
                                            std::to_string(chunks_.size()) + " of " + std::to_string(kGranuleBytes)};
}

}  // namespace rouse::cuda
