#include "client-shim/core/virtual_memory.h"

#include <algorithm>
#include <bit>
#include <cinttypes>

#include "client-shim/core/command_queue.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_heap.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session.h"
#include "client-shim/core/session_handles.h"

namespace rouse::client {
namespace {

constexpr std::uint64_t kMostMoved = std::uint64_t{32} << 20;  // at once

bool wholeGranules(AddressRange range) {
  return !range.empty() && isAligned(range.base, kGranuleBytes) && isAligned(range.bytes, kGranuleBytes) && range.base <= ~range.bytes;
}

template <class Map>
auto atOrBefore(Map& map, std::uint64_t address) {
  const auto after = map.upper_bound(address);
  return after == map.begin() ? map.end() : std::prev(after);
}

}  // namespace

// Kernels know no allocations, but the check of accesses does.
bool VirtualMemory::tellsMappings() const { return device_.session().check() != nullptr; }

// --- Addresses

CudaError VirtualMemory::reserve(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t hint, std::uint64_t* address) {
  if (bytes == 0 || (alignment != 0 && !std::has_single_bit(alignment))) return CudaError::invalidValue;
  const std::uint64_t window = device_.info().window.bytes;
  if (bytes > window || alignment > window) {
    log(LogLevel::info, "cuMemAddressReserve: %" PRIu64 " bytes at a multiple of %" PRIu64 ", the addresses of device %u are %" PRIu64, bytes, alignment, device_.index(), window);
    return CudaError::memoryAllocation;
  }
  const std::lock_guard lock(mutex_);
  Reservations::iterator made;
  if (const CudaError error = reserveLocked(roundUp(bytes, kGranuleBytes), bytes, alignment, hint, &made); error != CudaError::success) return error;
  *address = made->first;
  return CudaError::success;
}

CudaError VirtualMemory::reserveLocked(std::uint64_t bytes, std::uint64_t asked, std::uint64_t alignment, std::uint64_t hint, Reservations::iterator* made) {
  AddressRange range;
  if (const CudaError error = device_.heap().reserveAddresses(bytes, alignment, hint, &range); error != CudaError::success) {
    log(LogLevel::info, "device %u: no %" PRIu64 " bytes of addresses are left of %" PRIu64, device_.index(), bytes, device_.info().window.bytes);
    return error;
  }
  *made = reservations_.emplace(range.base, Reservation{.range = range, .bytes = asked}).first;
  if (!tellsMappings()) device_.queue().put(wire::Allocated{.base = range.base, .bytes = range.bytes});
  return CudaError::success;
}

CudaError VirtualMemory::release(AddressRange reserved) {
  const std::lock_guard lock(mutex_);
  const auto found = reservations_.find(reserved.base);
  if (found == reservations_.end() || found->second.released || found->second.bytes != reserved.bytes) return CudaError::invalidValue;
  const auto mapping = mappings_.lower_bound(reserved.base);
  if (mapping != mappings_.end() && mapping->first < found->second.range.end()) return CudaError::invalidValue;
  found->second.released = true;
  endIfEmpty(found);
  return CudaError::success;
}

void VirtualMemory::endIfEmpty(Reservations::iterator reservation) {
  if (!reservation->second.released || reservation->second.residents != 0) return;
  const AddressRange range = reservation->second.range;
  if (!tellsMappings()) device_.queue().put(wire::Freed{.base = range.base, .bytes = range.bytes});
  device_.heap().giveAddresses(range);
  reservations_.erase(reservation);
}

VirtualMemory::Reservations::iterator VirtualMemory::reservationAt(std::uint64_t address) {
  const auto found = atOrBefore(reservations_, address);
  return found != reservations_.end() && found->second.range.contains(address) ? found : reservations_.end();
}

// --- Memory

CudaError VirtualMemory::create(std::uint64_t bytes, std::uint64_t note, std::uint64_t* handle) {
  if (bytes == 0 || !isAligned(bytes, kGranuleBytes)) return CudaError::invalidValue;
  if (const CudaError error = device_.heap().hold(bytes); error != CudaError::success) return error;
  const std::lock_guard lock(mutex_);
  *handle = device_.session().handles().nextId();
  Memory& memory = memories_[*handle];
  memory.bytes = bytes;
  memory.note = note;
  memory.places.resize(bytes / kGranuleBytes);
  return CudaError::success;
}

CudaError VirtualMemory::drop(std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = memories_.find(handle);
  if (found == memories_.end() || found->second.references == 0) return CudaError::invalidValue;
  if (--found->second.references == 0 && !found->second.mapped) forget(handle);
  return CudaError::success;
}

CudaError VirtualMemory::retain(std::uint64_t address, std::uint64_t* handle) {
  const std::lock_guard lock(mutex_);
  const auto found = atOrBefore(mappings_, address);
  if (found == mappings_.end() || !found->second.range.contains(address)) return CudaError::invalidValue;
  *handle = found->second.handle;
  ++memories_.at(*handle).references;
  return CudaError::success;
}

bool VirtualMemory::holds(std::uint64_t handle) const {
  std::uint64_t note = 0;
  return noteOf(handle, &note);
}

bool VirtualMemory::noteOf(std::uint64_t handle, std::uint64_t* note) const {
  const std::lock_guard lock(mutex_);
  const auto found = memories_.find(handle);
  if (found == memories_.end() || found->second.references == 0) return false;
  *note = found->second.note;
  return true;
}

void VirtualMemory::place(std::uint64_t handle, Memory& memory, std::size_t granule, std::uint64_t address) {
  memory.places[granule] = address;
  residents_[address] = {handle, granule};
  ++reservationAt(address)->second.residents;
}

void VirtualMemory::unplace(std::uint64_t address) {
  residents_.erase(address);
  const auto reservation = reservationAt(address);
  --reservation->second.residents;
  endIfEmpty(reservation);
}

// Neither mapped nor to be had any more.
void VirtualMemory::forget(std::uint64_t handle) {
  const auto found = memories_.find(handle);
  const std::vector<std::uint64_t> places = std::move(found->second.places);
  const std::uint64_t bytes = found->second.bytes;
  memories_.erase(found);
  for (std::size_t first = 0; first < places.size();) {
    AddressRange run{places[first], 0};
    do {
      run.bytes += kGranuleBytes;
      ++first;
    } while (first < places.size() && run.base != 0 && places[first] == run.end());
    if (run.base != 0) device_.heap().unmapHeld(run);
  }
  for (const std::uint64_t address : places)
    if (address != 0) unplace(address);
  device_.heap().letGo(bytes);
}

// --- Mappings

CudaError VirtualMemory::map(AddressRange range, std::uint64_t handle) {
  if (!wholeGranules(range)) return CudaError::invalidValue;
  if (const CudaError error = device_.asyncError(); error != CudaError::success) return error;
  const std::lock_guard lock(mutex_);
  const auto found = memories_.find(handle);
  if (found == memories_.end() || found->second.references == 0 || range.bytes > found->second.bytes) return CudaError::invalidValue;
  const auto reservation = reservationAt(range.base);
  if (reservation == reservations_.end() || reservation->second.released) return CudaError::invalidValue;
  if (!AddressRange{reservation->first, reservation->second.bytes}.contains(range)) return CudaError::invalidValue;
  const auto before = atOrBefore(mappings_, range.base);
  if (before != mappings_.end() && before->second.range.overlaps(range)) return CudaError::invalidValue;
  const auto behind = mappings_.lower_bound(range.base);
  if (behind != mappings_.end() && behind->second.range.overlaps(range)) return CudaError::invalidValue;
  if (found->second.mapped) {
    log(LogLevel::info, "cuMemMap: memory that is mapped already cannot be mapped a second time");
    return CudaError::notSupported;
  }
  if (const CudaError error = moveIn(range, handle, found->second); error != CudaError::success) return error;
  found->second.mapped = true;
  mappings_[range.base] = {.range = range, .reservation = {reservation->first, reservation->second.bytes}, .handle = handle, .bufferId = device_.session().handles().nextId()};
  joinRun(range, reservation->second.range);
  if (tellsMappings()) device_.queue().put(wire::Allocated{.base = range.base, .bytes = range.bytes});
  return CudaError::success;
}

// The first granules of the memory come to lie at the range, and whatever else lies there goes elsewhere.
CudaError VirtualMemory::moveIn(AddressRange range, std::uint64_t handle, Memory& memory) {
  const std::size_t count = range.bytes / kGranuleBytes;
  const auto addressOf = [&](std::size_t granule) { return range.base + granule * kGranuleBytes; };
  std::vector<std::uint64_t> others;
  bool moves = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto resident = residents_.find(addressOf(i));
    if (resident != residents_.end() && (resident->second.handle != handle || resident->second.granule != i)) others.push_back(addressOf(i));
    moves |= memory.places[i] != 0 && memory.places[i] != addressOf(i);
  }

  const auto append = [](std::vector<Move>& list, std::uint64_t from, std::uint64_t to) {
    if (!list.empty() && list.back().from + list.back().bytes == from && list.back().to + list.back().bytes == to) {
      list.back().bytes += kGranuleBytes;
    } else {
      list.push_back({from, to, kGranuleBytes});
    }
  };
  if (moves || !others.empty()) {
    Stream* stream = nullptr;
    void* buffer = nullptr;
    const std::uint64_t most = std::min(std::max(others.size(), count) * kGranuleBytes, kMostMoved);
    HostHeap& host = device_.session().hostHeap();
    if (const CudaError error = device_.internalStream(&stream); error != CudaError::success) return error;
    if (const CudaError error = host.allocate(most, MemoryKind::pinned, 0, device_.index(), &buffer); error != CudaError::success) return error;
    Reservations::iterator aside = reservations_.end();
    if (!others.empty()) {
      const std::uint64_t bytes = others.size() * kGranuleBytes;
      if (const CudaError error = reserveLocked(bytes, bytes, 0, 0, &aside); error != CudaError::success) {
        host.release(buffer);
        return error;
      }
    }
    const auto through = reinterpret_cast<std::uint64_t>(buffer);
    std::vector<Move> away, in;
    for (std::size_t i = 0; i < others.size(); ++i) append(away, others[i], aside->first + i * kGranuleBytes);
    move(away, *stream, through, most);
    if (aside != reservations_.end()) aside->second.released = true;
    // Where it goes on lying in this memory's own addresses, its reservation must not end in between: it is entered first.
    for (std::size_t i = 0; i < others.size(); ++i) {
      const Resident moved = residents_.at(others[i]);
      place(moved.handle, memories_.at(moved.handle), moved.granule, aside->first + i * kGranuleBytes);
      unplace(others[i]);
    }
    for (std::size_t i = 0; i < count; ++i)
      if (memory.places[i] != 0 && memory.places[i] != addressOf(i)) append(in, memory.places[i], addressOf(i));
    move(in, *stream, through, most);
    for (const Move& moved : in) {
      for (std::uint64_t at = 0; at != moved.bytes; at += kGranuleBytes) {
        place(handle, memory, (moved.to + at - range.base) / kGranuleBytes, moved.to + at);
        unplace(moved.from + at);
      }
    }
    host.release(buffer);
  }
  for (std::size_t i = 0; i < count;) {
    AddressRange fresh{addressOf(i), 0};
    for (; i < count && memory.places[i] == 0; ++i) {
      place(handle, memory, i, addressOf(i));
      fresh.bytes += kGranuleBytes;
    }
    if (fresh.empty()) {
      ++i;
    } else {
      device_.heap().mapHeld(fresh);
    }
  }
  return CudaError::success;
}

// Work of the program on any stream comes wholly before or wholly behind it: a fence at either end. Between the ends a range is unmapped only behind all
// that is queued, the copy out of it included.
void VirtualMemory::move(const std::vector<Move>& moves, Stream& stream, std::uint64_t buffer, std::uint64_t bufferBytes) {
  if (moves.empty()) return;
  CommandQueue& queue = device_.queue();
  queue.put(wire::Fence{});
  for (const Move& whole : moves) {
    for (std::uint64_t done = 0; done != whole.bytes;) {
      const std::uint64_t bytes = std::min(whole.bytes - done, bufferBytes), from = whole.from + done, to = whole.to + done;
      queue.put(stream, wire::Copy{.stream = {}, .destination = buffer, .source = from, .bytes = bytes});
      device_.heap().unmapHeld({from, bytes});
      device_.heap().mapHeld({to, bytes});
      queue.put(stream, wire::Copy{.stream = {}, .destination = to, .source = buffer, .bytes = bytes});
      done += bytes;
    }
  }
  queue.put(wire::Fence{});
}

bool VirtualMemory::coveredExactly(AddressRange range) const {
  if (!wholeGranules(range)) return false;
  std::uint64_t at = range.base;
  for (auto mapping = mappings_.find(at); mapping != mappings_.end() && mapping->first == at && at < range.end(); ++mapping) at = mapping->second.range.end();
  return at == range.end();
}

CudaError VirtualMemory::unmap(AddressRange range) {
  const std::lock_guard lock(mutex_);
  if (!coveredExactly(range)) return CudaError::invalidValue;
  bool keeps = false;
  for (auto mapping = mappings_.find(range.base); mapping != mappings_.end() && mapping->first < range.end();) {
    if (tellsMappings()) device_.queue().put(wire::Freed{.base = mapping->first, .bytes = mapping->second.range.bytes});
    const std::uint64_t handle = mapping->second.handle;
    mapping = mappings_.erase(mapping);
    Memory& memory = memories_.at(handle);
    memory.mapped = false;
    keeps |= memory.references != 0;
    if (memory.references == 0) forget(handle);
  }
  // CUDA waits here: who maps the memory again finds what was queued before done, on whatever stream.
  if (keeps) device_.queue().put(wire::Fence{});
  cutRun(range);
  return CudaError::success;
}

CudaError VirtualMemory::setAccess(AddressRange range, const std::uint32_t* access) {
  const std::lock_guard lock(mutex_);
  if (!coveredExactly(range)) return CudaError::invalidValue;
  if (access == nullptr) return CudaError::success;
  for (auto mapping = mappings_.find(range.base); mapping != mappings_.end() && mapping->first < range.end(); ++mapping) mapping->second.access = *access;
  return CudaError::success;
}

bool VirtualMemory::mappingAt(std::uint64_t address, Mapping* found) const {
  const std::lock_guard lock(mutex_);
  const auto mapping = atOrBefore(mappings_, address);
  if (mapping == mappings_.end() || !mapping->second.range.contains(address)) return false;
  *found = mapping->second;
  return true;
}

bool VirtualMemory::find(std::uint64_t address, Allocation* found) const {
  const std::lock_guard lock(mutex_);
  const auto run = atOrBefore(runs_, address);
  if (run == runs_.end() || address >= run->second) return false;
  *found = {.kind = MemoryKind::device, .mapped = true, .deviceIndex = device_.index()};
  found->range = {run->first, run->second - run->first};
  found->deviceBase = run->first;
  found->bufferId = atOrBefore(mappings_, address)->second.bufferId;
  return true;
}

std::vector<Allocation> VirtualMemory::live() const {
  const std::lock_guard lock(mutex_);
  std::vector<Allocation> found;
  for (const auto& [handle, memory] : memories_)
    found.push_back({.kind = MemoryKind::device, .mapped = memory.mapped, .deviceIndex = device_.index(), .range = {memory.places.front(), memory.bytes}});
  return found;
}

// Two reservations may lie side by side; what is mapped in them is not one array.
void VirtualMemory::joinRun(AddressRange range, AddressRange reservation) {
  std::uint64_t base = range.base, end = range.end();
  if (const auto behind = runs_.find(end); behind != runs_.end() && reservation.contains(end)) {
    end = behind->second;
    runs_.erase(behind);
  }
  if (const auto before = atOrBefore(runs_, base); before != runs_.end() && before->second == base && reservation.contains(before->first)) base = before->first;
  runs_[base] = end;
}

// Of one run, or of neighbouring ones, in several reservations.
void VirtualMemory::cutRun(AddressRange range) {
  for (std::uint64_t at = range.base; at != range.end();) {
    const auto run = atOrBefore(runs_, at);
    const std::uint64_t base = run->first, end = run->second;
    runs_.erase(run);
    if (base != at) runs_[base] = at;
    const std::uint64_t to = std::min(end, range.end());
    if (end != to) runs_[to] = end;
    at = to;
  }
}

void VirtualMemory::forgetEverything() {
  reservations_.clear();
  memories_.clear();
  mappings_.clear();
  runs_.clear();
  residents_.clear();
}

}  // namespace rouse::client
