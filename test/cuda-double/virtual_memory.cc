#include "test/cuda-double/virtual_memory.h"
#include "test/cuda-double/simulation.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rouse::cuda_double {
namespace {

// A window alone runs nothing.
class Nobody final : public memory::ContextObserver {
 public:
  void onFault(CudaError, std::string_view) override {}
  void onOutput(std::string_view, bool) override {}
  void onProgress() override {}
};

std::string text(AddressRange range) { return "[" + hex(range.base) + ", +" + hex(range.bytes) + ")"; }

bool granular(AddressRange range) {
  return !range.empty() && isAligned(range.base, kGranuleBytes) && isAligned(range.bytes, kGranuleBytes);
}

CUresult notGranular(AddressRange range) {
  return violation(CUDA_ERROR_INVALID_VALUE, "granularity", text(range) + " is not of whole granules of 2 MiB");
}

}  // namespace

VirtualMemory::Reservation* VirtualMemory::find(std::uint64_t address) {
  auto after = reservations_.upper_bound(address);
  if (after == reservations_.begin()) return nullptr;
  Reservation& candidate = *std::prev(after)->second;
  return candidate.range.contains(address) ? &candidate : nullptr;
}

VirtualMemory::Reservation* VirtualMemory::within(AddressRange range, const char* what) {
  Reservation* reservation = find(range.base);
  if (reservation != nullptr && reservation->range.contains(range) && !reservation->ofModule) return reservation;
  violate("not-reserved", std::string(what) + " " + text(range) + " is not within one reservation");
  return nullptr;
}

Result<VirtualMemory::Reservation*> VirtualMemory::reserveAt(Gpu& gpu, AddressRange range) {
  auto reservation = std::make_unique<Reservation>();
  reservation->gpu = &gpu;
  reservation->range = range;
  reservation->observer = std::make_unique<Nobody>();
  memory::ContextOptions options;
  options.deviceWindow = range;
  std::lock_guard lock(gpu.deviceMutex);
  auto window = gpu.device->createContext(options, *reservation->observer);
  if (!window) return std::move(window).error();
  reservation->window = std::move(window).value();
  return (reservations_[range.base] = std::move(reservation)).get();
}

Result<VirtualMemory::Reservation*> VirtualMemory::reserveAnywhere(Gpu& gpu, std::uint64_t bytes,
                                                                   std::uint64_t alignment) {
  Error error;
  // Another thread may map something between the two steps.
  for (int attempt = 0; attempt < 8; ++attempt) {
    void* found = mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) return Error{CudaError::memoryAllocation, "no addresses left"};
    munmap(found, bytes + alignment);
    auto made = reserveAt(gpu, {roundUp(reinterpret_cast<std::uint64_t>(found), alignment), bytes});
    if (made) return made;
    error = made.error();
  }
  return error;
}

CUresult VirtualMemory::reserve(Gpu& gpu, CUdeviceptr* address, std::uint64_t bytes, std::uint64_t alignment,
                                CUdeviceptr hint) {
  if (!granular({hint, bytes})) return notGranular({hint, bytes});
  if ((alignment & (alignment - 1)) != 0) {
    return violation(CUDA_ERROR_INVALID_VALUE, "alignment", hex(alignment) + " is not a power of two");
  }
  alignment = std::max<std::uint64_t>(alignment, kGranuleBytes);
  std::lock_guard lock(mutex_);
  Result<Reservation*> made = Error{CudaError::unknown, {}};
  if (hint != 0 && isAligned(hint, alignment)) made = reserveAt(gpu, {hint, bytes});
  // The address is a hint, says the manual: where it is taken the driver takes another.
  if (!made) made = reserveAnywhere(gpu, bytes, alignment);
  if (!made) {
    note("cuMemAddressReserve: " + made.error().message);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *address = (*made)->range.base;
  return CUDA_SUCCESS;
}

void VirtualMemory::drop(std::uint64_t base) {
  const auto found = reservations_.find(base);
  std::lock_guard lock(found->second->gpu->deviceMutex);
  reservations_.erase(found);
}

CUresult VirtualMemory::free(AddressRange range) {
  std::lock_guard lock(mutex_);
  const auto found = reservations_.find(range.base);
  if (found == reservations_.end() || found->second->ofModule || found->second->range != range) {
    return violation(CUDA_ERROR_INVALID_VALUE, "not-reserved", text(range) + " is not a reservation");
  }
  if (!found->second->mappings.empty()) {
    return violation(CUDA_ERROR_INVALID_VALUE, "still-mapped", "memory is mapped in " + text(range));
  }
  drop(range.base);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::create(Gpu& gpu, CUmemGenericAllocationHandle* handle, std::uint64_t bytes, bool shareable) {
  if (bytes == 0 || !isAligned(bytes, kGranuleBytes)) return notGranular({0, bytes});
  auto chunks = gpu.take(bytes);
  if (chunks.empty()) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = handles_.add(std::make_shared<Physical>(gpu, std::move(chunks), shareable));
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::share(CUmemGenericAllocationHandle handle, int* descriptor) {
  const auto physical = handles_.find(handle, "memory handle");
  if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!physical->shareable)
    return violation(CUDA_ERROR_INVALID_VALUE, "not-shareable", hex(handle) + " was made without a type of handle to share, or imported");
  std::lock_guard lock(physical->gpu.deviceMutex);
  auto shared = physical->gpu.device->exportChunks(physical->chunks);
  if (shared && shared->places.back().offset - shared->places.front().offset != physical->bytes() - kGranuleBytes) {
    note("the memory is in several pieces of the double's: it cannot be shared by one descriptor");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (!shared || ::lseek(shared->fds[0].get(), static_cast<off_t>(shared->places[0].offset + physical->chunks.size() - 1), SEEK_SET) < 0) {
    note(shared ? "lseek" : shared.error().message);
    return CUDA_ERROR_UNKNOWN;
  }
  *descriptor = shared->fds[0].release();
  return CUDA_SUCCESS;
}

// What it is given may be anything: that is for the caller to find out.
CUresult VirtualMemory::import(Gpu& gpu, CUmemGenericAllocationHandle* handle, int descriptor) {
  wire::OwnedFd file(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  struct stat status{};
  const off_t position = file ? ::lseek(file.get(), 0, SEEK_CUR) : -1;
  AddressRange part;
  if (position >= 0) {
    part.base = roundDown(static_cast<std::uint64_t>(position), kGranuleBytes);
    part.bytes = (static_cast<std::uint64_t>(position) - part.base + 1) * kGranuleBytes;
  }
  if (part.empty() || ::fstat(file.get(), &status) != 0 || (::fcntl(file.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0 ||
      part.end() > static_cast<std::uint64_t>(status.st_size)) {
    note("the descriptor " + std::to_string(descriptor) + " is no memory of a device");
    return CUDA_ERROR_INVALID_VALUE;
  }
  *handle = handles_.add(std::make_shared<Physical>(gpu, std::move(file), part));
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::release(CUmemGenericAllocationHandle handle) {
  return handles_.remove(handle, "memory handle") != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult VirtualMemory::map(AddressRange range, CUmemGenericAllocationHandle handle) {
  if (!granular(range)) return notGranular(range);
  auto physical = handles_.find(handle, "memory handle");
  if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (range.bytes > physical->bytes()) {
    return violation(CUDA_ERROR_INVALID_VALUE, "beyond-memory",
                     text(range) + " is larger than the memory, " + hex(physical->bytes()));
  }
  std::lock_guard lock(mutex_);
  Reservation* reservation = within(range, "mapping");
  if (reservation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& [base, mapping] : reservation->mappings) {
    if (range.overlaps({base, mapping.bytes})) {
      return violation(CUDA_ERROR_INVALID_VALUE, "already-mapped", text(range) + " overlaps a mapping at " + hex(base));
    }
  }
  if (&physical->gpu != reservation->gpu) {
    note("memory of another device than the reservation's: the double has no peers");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  reservation->mappings[range.base] = {range.bytes, std::move(physical)};
  return CUDA_SUCCESS;
}

// True when the range begins and ends with mappings and has no hole.
bool VirtualMemory::wholeMappings(Reservation& reservation, AddressRange range) {
  std::uint64_t at = range.base;
  while (at < range.end()) {
    const auto found = reservation.mappings.find(at);
    if (found == reservation.mappings.end()) return false;
    at += found->second.bytes;
  }
  return at == range.end();
}

Status VirtualMemory::expose(Reservation& reservation, std::uint64_t base, Mapping& mapping, bool accessible) {
  if (mapping.accessible == accessible) return {};
  std::lock_guard lock(reservation.gpu->deviceMutex);
  Status status;
  if (mapping.physical->imported()) {
    const Physical& physical = *mapping.physical;
    void* const at = reinterpret_cast<void*>(base);
    void* const mapped = accessible ? ::mmap(at, mapping.bytes, PROT_READ, MAP_SHARED | MAP_FIXED, physical.file.get(), static_cast<off_t>(physical.part.base))
                                    : ::mmap(at, mapping.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (mapped == MAP_FAILED) status = Error{CudaError::memoryAllocation, "mapping another process's memory"};
  } else if (!accessible) {
    status = reservation.window->unmap({base, mapping.bytes});
  } else {
    for (std::uint64_t offset = 0; offset < mapping.bytes && status; offset += kGranuleBytes) {
      status = reservation.window->map(base + offset, mapping.physical->chunks[offset / kGranuleBytes]);
    }
  }
  if (status) mapping.accessible = accessible;
  return status;
}

CUresult VirtualMemory::unmap(AddressRange range) {
  if (!granular(range)) return notGranular(range);
  std::lock_guard lock(mutex_);
  Reservation* reservation = within(range, "unmapping");
  if (reservation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!wholeMappings(*reservation, range)) {
    return violation(CUDA_ERROR_INVALID_VALUE, "partial-mapping", text(range) + " is not of whole mappings");
  }
  if (simulation::singleUnmap() && reservation->mappings.at(range.base).bytes != range.bytes) {
    note(text(range) + " is of several mappings");
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (auto at = reservation->mappings.find(range.base);
       at != reservation->mappings.end() && at->first < range.end();) {
    if (auto status = expose(*reservation, at->first, at->second, false); !status) {
      note(status.error().message);
      return CUDA_ERROR_UNKNOWN;
    }
    at = reservation->mappings.erase(at);
  }
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::setAccess(AddressRange range, int ordinal, Access access) {
  if (!granular(range)) return notGranular(range);
  std::lock_guard lock(mutex_);
  Reservation* reservation = within(range, "access to");
  if (reservation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!wholeMappings(*reservation, range)) {
    return violation(CUDA_ERROR_INVALID_VALUE, "partial-mapping", text(range) + " is not of whole mappings");
  }
  if (ordinal != reservation->gpu->ordinal) {
    note("access for another device than the memory's: the double has no peers");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  for (auto at = reservation->mappings.find(range.base); at != reservation->mappings.end() && at->first < range.end();
       ++at) {
    if (access != Access::none && (access == Access::read) != at->second.physical->imported()) {
      note("the double has read access to what another process has shared, and to nothing else");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (auto status = expose(*reservation, at->first, at->second, access != Access::none); !status) {
      note(status.error().message);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  return CUDA_SUCCESS;
}

CUdeviceptr VirtualMemory::allocateForModule(Gpu& gpu, std::uint64_t bytes) {
  bytes = roundUp(bytes, kGranuleBytes);
  auto chunks = gpu.takeForModules(bytes);
  if (chunks.empty()) return 0;
  auto physical = std::make_shared<Physical>(gpu, std::move(chunks), false);
  std::lock_guard lock(mutex_);
  auto made = reserveAnywhere(gpu, bytes, kGranuleBytes);
  if (!made) return 0;
  Reservation& reservation = **made;
  reservation.ofModule = true;
  Mapping& mapping = reservation.mappings[reservation.range.base] = {bytes, std::move(physical)};
  if (!expose(reservation, reservation.range.base, mapping, true)) {
    drop(reservation.range.base);
    return 0;
  }
  return reservation.range.base;
}

void VirtualMemory::freeForModule(CUdeviceptr base) {
  std::lock_guard lock(mutex_);
  drop(base);
}

VirtualMemory::Place VirtualMemory::placeOf(AddressRange range) {
  std::lock_guard lock(mutex_);
  Reservation* reservation = find(range.base);
  if (reservation == nullptr || !reservation->range.contains(range)) return Place::none;
  Place least = Place::accessible;
  for (std::uint64_t at = range.base; at < range.end();) {
    auto after = reservation->mappings.upper_bound(at);
    if (after == reservation->mappings.begin()) return Place::reserved;
    const auto& [base, mapping] = *std::prev(after);
    if (!AddressRange{base, mapping.bytes}.contains(at)) return Place::reserved;
    least = std::min(least, !mapping.accessible ? Place::mapped : mapping.physical->imported() ? Place::readable : Place::accessible);
    at = base + mapping.bytes;
  }
  return least;
}

void VirtualMemory::reportLeaks(const Gpu& gpu) {
  std::lock_guard lock(mutex_);
  for (const auto& [base, reservation] : reservations_) {
    if (reservation->ofModule || reservation->gpu != &gpu) continue;
    for (const auto& [at, mapping] : reservation->mappings) {
      violate("leaked-mapping", text({at, mapping.bytes}) + " is still mapped");
    }
    violate("leaked-reservation", text(reservation->range) + " is still reserved");
  }
  for (const auto& [handle, physical] : handles_.all()) {
    if (&physical->gpu != &gpu) continue;
    violate("leaked-memory", hex(handle) + ", " + hex(physical->bytes()) + " bytes, was not released");
  }
}

}  // namespace rouse::cuda_double
