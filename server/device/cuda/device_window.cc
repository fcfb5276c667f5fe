#include "server/device/cuda/device_window.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "server/device/cuda/driver/error.h"
#include "server/device/cuda/own_stream.h"

namespace rouse::cuda {
namespace {

std::string text(AddressRange range) {
  char digits[64];
  std::snprintf(digits, sizeof digits, "[0x%llx, +0x%llx)", static_cast<unsigned long long>(range.base),
                static_cast<unsigned long long>(range.bytes));
  return digits;
}

AddressRange rangeOf(const std::pair<const std::uint64_t, memory::Extent>& mapping) { return {mapping.first, mapping.second.count * kGranuleBytes}; }

// Addresses of the driver's choice, for a moment. Unmapping is the user's.
class Scratch {
 public:
  Scratch(Gpu& gpu, std::uint64_t bytes) : gpu_(gpu), bytes_(bytes) {
    status_ = gpu_.status(gpu_.driver().cuMemAddressReserve(&address_, bytes, 0, 0, 0), "cuMemAddressReserve");
  }
  ~Scratch() {
    if (!mapped_.empty()) (void)gpu_.unmap(mapped_);
    if (status_) gpu_.good(gpu_.driver().cuMemAddressFree(address_, bytes_), "cuMemAddressFree", nullptr);
  }
  Scratch(const Scratch&) = delete;

  const Status& status() const { return status_; }
  CUdeviceptr address() const { return address_; }
  // Behind what is mapped already.
  Status map(std::uint64_t bytes, CUmemGenericAllocationHandle handle) {
    const AddressRange at{mapped_.empty() ? address_ : mapped_.back().end(), bytes};
    Status status = gpu_.status(gpu_.driver().cuMemMap(at.base, at.bytes, 0, handle, 0), "cuMemMap");
    if (status) mapped_.push_back(at);
    return status;
  }

 private:
  Gpu& gpu_;
  const std::uint64_t bytes_;
  CUdeviceptr address_ = 0;
  Status status_;
  std::vector<AddressRange> mapped_;
};

}  // namespace

Result<std::unique_ptr<DeviceWindow>> DeviceWindow::reserve(std::shared_ptr<Gpu> gpu, PhysicalMemory& memory,
                                                            AddressRange range) {
  gpu->makeCurrent();
  CUdeviceptr got = 0;
  const Driver& driver = gpu->driver();
  Status status = gpu->status(driver.cuMemAddressReserve(&got, range.bytes, 0, range.base, 0), "cuMemAddressReserve",
                              "device window " + text(range));
  if (!status) return status.error();
  // The address is a wish only (CUDA Driver API, cuMemAddressReserve).
  if (got != range.base) {
    driver.cuMemAddressFree(got, range.bytes);
    return Error{CudaError::initializationError, "device window " + text(range) + " is taken: the driver of " +
                                                     gpu->name() + " offers " + text({got, range.bytes}) + " instead"};
  }
  return std::unique_ptr<DeviceWindow>(new DeviceWindow(std::move(gpu), memory, range));
}

DeviceWindow::~DeviceWindow() {
  gpu_->makeCurrent();
  for (auto first = mapped_.begin(); first != mapped_.end();) {
    std::vector<AddressRange> run;
    for (; first != mapped_.end() && (run.empty() || first->first == run.back().end()); ++first) {
      run.push_back(rangeOf(*first));
      memory_.setMapped(first->second, false);
    }
    (void)gpu_->unmap(run);  // a lost GPU keeps nothing; that it is lost has been told
  }
  gpu_->good(gpu_->driver().cuMemAddressFree(range_.base, range_.bytes), "cuMemAddressFree", nullptr);
}

Status DeviceWindow::check(AddressRange range) const {
  if (!range.empty() && range_.contains(range) && isAligned(range.base, kGranuleBytes) &&
      isAligned(range.bytes, kGranuleBytes))
    return {};
  return Error{CudaError::invalidValue,
               "range " + text(range) + " is not one of whole granules in the device window " + text(range_)};
}

DeviceWindow::Mappings::const_iterator DeviceWindow::find(std::uint64_t address) const {
  auto next = mapped_.upper_bound(address);
  if (next == mapped_.begin()) return mapped_.end();
  return rangeOf(*--next).contains(address) ? next : mapped_.end();
}

Status DeviceWindow::map(std::uint64_t address, std::span<const memory::Chunk> chunks) {
  const AddressRange range{address, chunks.size() * kGranuleBytes};
  for (const memory::Chunk& chunk : chunks)
    if (Status status = memory_.check(chunk); !status) return status;
  if (Status status = check(range); !status) return status;
  if (const auto next = mapped_.lower_bound(address); find(address) != mapped_.end() || (next != mapped_.end() && next->first < range.end()))
    return Error{CudaError::invalidValue, "range " + text(range) + " is mapped already"};
  gpu_->makeCurrent();
  for (auto at = chunks.begin(); at != chunks.end();) {
    memory::Extent run{at->id, 0};
    for (; at != chunks.end() && at->id == run.first + run.count; ++at, ++run.count)
      if (memory_.mapped(at->id))
        return Error{CudaError::invalidValue, gpu_->name() + ": chunk " + std::to_string(at->id) + " is mapped already, and not only at " + text(range)};
    for (const memory::Extent& piece : AllocationPlan::pieces(run)) {
      if (Status status = mapRun(address, piece); !status) return status;
      address += piece.count * kGranuleBytes;
    }
  }
  return {};
}

Status DeviceWindow::mapRun(std::uint64_t address, memory::Extent chunks) {
  if (Status status = memory_.shape(chunks); !status) return status;
  while (chunks.count != 0) {
    const memory::Extent allocation = memory_.allocationOf(chunks.first);
    const AddressRange at{address, allocation.count * kGranuleBytes};
    if (Status status = gpu_->status(gpu_->driver().cuMemMap(at.base, at.bytes, 0, memory_.handle(allocation), 0), "cuMemMap", text(at)); !status)
      return status;
    mapped_[address] = fresh_[address] = allocation;
    memory_.setMapped(allocation, true);
    address = at.end();
    chunks = {chunks.first + allocation.count, chunks.count - allocation.count};
  }
  return {};
}

Status DeviceWindow::mapOver(std::uint64_t address, std::span<const memory::Chunk> chunks) {
  if (Status status = map(address, chunks); !status) return status;
  for (const memory::Chunk& chunk : chunks) memory_.setDirty({chunk.id, 1}, false);
  return {};
}

bool DeviceWindow::hasOver(std::uint64_t address, memory::Chunk chunk) const {
  const auto mapping = find(address);
  return mapping != mapped_.end() && mapping->second.first + (address - mapping->first) / kGranuleBytes == chunk.id && !memory_.dirty(chunk.id);
}

AddressRange DeviceWindow::together(AddressRange range) const {
  const auto first = find(range.base), last = find(range.end() - kGranuleBytes);
  const std::uint64_t base = first != mapped_.end() ? first->first : range.base;
  return {base, (last != mapped_.end() ? rangeOf(*last).end() : range.end()) - base};
}

Status DeviceWindow::unmap(AddressRange range) {
  if (Status status = check(range); !status) return status;
  if (const std::uint64_t at = firstUnmapped(range); at != range.end())
    return Error{CudaError::invalidValue, "nothing is mapped at " + text({at, kGranuleBytes})};
  gpu_->makeCurrent();
  for (const std::uint64_t end : {range.base, range.end() - kGranuleBytes}) {
    const auto mapping = find(end);  // none: it has been cut at the other end
    if (mapping != mapped_.end() && !range.contains(rangeOf(*mapping)))
      if (Status status = cut(mapping, range); !status) return status;
  }
  const auto first = mapped_.lower_bound(range.base), end = mapped_.lower_bound(range.end());
  std::vector<AddressRange> mappings;
  for (auto each = first; each != end; ++each) mappings.push_back(rangeOf(*each));
  if (!mappings.empty())
    if (Status status = gpu_->unmap(mappings); !status) return status;
  for (auto each = first; each != end; ++each) memory_.setMapped(each->second, false);
  mapped_.erase(first, end);
  fresh_.erase(fresh_.lower_bound(range.base), fresh_.lower_bound(range.end()));
  return {};
}

// --- A part of an allocation

struct DeviceWindow::Part {
  AddressRange mapping, gone;
  memory::Extent chunks, goneChunks;

  // Of those that stay, before and behind what goes: empty where there are none.
  std::array<AddressRange, 2> kept() const { return {{{mapping.base, gone.base - mapping.base}, {gone.end(), mapping.end() - gone.end()}}}; }
  bool keeps(memory::Extent piece) const { return piece.first < goneChunks.first || piece.first >= goneChunks.first + goneChunks.count; }
  std::uint64_t offset(memory::Extent piece) const { return (piece.first - chunks.first) * kGranuleBytes; }
};

// The bytes that stay are copied while nobody uses them; then what they lie in changes. Between the two calls that do that nothing is mapped there.
Status DeviceWindow::cut(Mappings::const_iterator from, AddressRange range) {
  Part part{.mapping = rangeOf(*from), .gone = {}, .chunks = from->second, .goneChunks = {}};
  const std::uint64_t base = std::max(part.mapping.base, range.base), end = std::min(part.mapping.end(), range.end());
  part.gone = {base, end - base};
  part.goneChunks = {part.chunks.first + static_cast<std::uint32_t>((base - part.mapping.base) / kGranuleBytes),
                     static_cast<std::uint32_t>((end - base) / kGranuleBytes)};
  auto cut = memory_.cut(part.goneChunks);
  if (!cut) return std::move(cut).error();
  const bool fresh = fresh_.contains(part.mapping.base);  // holds nothing that anybody has written
  Status status = fresh ? Status{} : fill(*cut, part);
  if (status) status = gpu_->unmap(std::span(&part.mapping, 1));
  if (!status) {
    memory_.abandon(*cut);
    return status;
  }
  memory_.adopt(*cut);
  mapped_.erase(part.mapping.base);
  fresh_.erase(part.mapping.base);
  memory_.setMapped(part.chunks, false);
  memory_.setDirty(part.goneChunks, true);
  for (const memory::Extent& piece : cut->change.begins) {
    if (!part.keeps(piece)) continue;
    const AddressRange at{part.mapping.base + part.offset(piece), piece.count * kGranuleBytes};
    status = gpu_->status(gpu_->driver().cuMemMap(at.base, at.bytes, 0, memory_.handle(piece), 0), "cuMemMap", text(at));
    if (!status) return status;
    mapped_[at.base] = piece;
    if (fresh) fresh_[at.base] = piece;
    memory_.setMapped(piece, true);
  }
  if (fresh) return {};
  for (const AddressRange& kept : part.kept())
    if (!kept.empty())
      if (status = grant(kept); !status) return status;
  return {};
}

Status DeviceWindow::fill(const PhysicalMemory::Cut& cut, const Part& part) {
  const Driver& driver = gpu_->driver();
  Scratch scratch(*gpu_, part.mapping.bytes - part.gone.bytes);
  if (!scratch.status()) return scratch.status();
  for (std::size_t i = 0; i < cut.begun.size(); ++i) {
    const memory::Extent& piece = cut.change.begins[i];
    if (!part.keeps(piece)) continue;
    if (Status status = scratch.map(piece.count * kGranuleBytes, cut.begun[i]); !status) return status;
  }
  const OwnStream stream(driver);
  if (Status status = gpu_->status(stream.created(), "cuStreamCreateWithPriority"); !status) return status;
  Status status;
  CUdeviceptr to = scratch.address();
  for (const AddressRange& kept : part.kept()) {
    if (kept.empty() || !status) continue;
    if (status = grant({to, kept.bytes}); status)
      status = gpu_->status(driver.cuMemcpyDtoDAsync(to, kept.base, kept.bytes, stream.get()), "cuMemcpyDtoDAsync", text(kept));
    to += kept.bytes;
  }
  const Status done = gpu_->status(driver.cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
  return status ? done : status;
}

// --- Access

std::uint64_t DeviceWindow::firstUnmapped(AddressRange granules) const {
  std::uint64_t at = granules.base;
  for (auto mapping = find(at); at < granules.end() && mapping != mapped_.end() && mapping->first <= at; ++mapping) at = rangeOf(*mapping).end();
  return std::min(at, granules.end());
}

Status DeviceWindow::grant(AddressRange mapped) {
  CUmemAccessDesc access{};
  access.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu_->device()};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return gpu_->status(gpu_->driver().cuMemSetAccess(mapped.base, mapped.bytes, &access, 1), "cuMemSetAccess", text(mapped));
}

Status DeviceWindow::settle(AddressRange overwritten) {
  for (auto mapping = find(overwritten.base); mapping != mapped_.end() && mapping->first < overwritten.end(); ++mapping) {
    const auto fresh = fresh_.find(mapping->first);
    if (fresh == fresh_.end()) continue;
    gpu_->makeCurrent();
    if (Status status = grant(rangeOf(*mapping)); !status) return status;
    fresh_.erase(fresh);
  }
  return {};
}

Status DeviceWindow::settle(const std::function<Status(AddressRange)>& zero) {
  gpu_->makeCurrent();
  for (auto first = fresh_.begin(); first != fresh_.end();) {
    AddressRange run{first->first, 0};
    auto end = first;
    for (; end != fresh_.end() && end->first == run.end(); ++end) run.bytes += rangeOf(*end).bytes;
    if (Status status = grant(run); !status) return status;
    AddressRange dirty{run.base, 0};
    const auto zeroDirty = [&] { return dirty.empty() ? Status{} : zero(dirty); };
    for (auto at = first; at != end; ++at) {
      for (std::uint32_t i = 0; i < at->second.count; ++i) {
        const std::uint64_t address = at->first + i * kGranuleBytes;
        if (memory_.dirty(at->second.first + i)) {
          dirty.bytes += kGranuleBytes;
          continue;
        }
        if (Status status = zeroDirty(); !status) return status;
        dirty = {address + kGranuleBytes, 0};
      }
    }
    if (Status status = zeroDirty(); !status) return status;
    for (; first != end; ++first) memory_.setDirty(first->second, false);
  }
  fresh_.clear();
  return {};
}

}  // namespace rouse::cuda
