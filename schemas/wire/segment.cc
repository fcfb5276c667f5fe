#include "schemas/wire/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "schemas/wire/commands.h"
#include "schemas/wire/shared_event.h"

namespace rouse::wire {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Error systemError(const std::string& what, int number) {
  return {CudaError::initializationError, what + ": " + std::strerror(number)};
}

Error refused(std::string message) { return {CudaError::initializationError, std::move(message)}; }

// Maps part of a descriptor over address space that `whole` holds already.
Status place(const Mapping& whole, std::size_t at, int fd, std::size_t offset, std::size_t bytes) {
  void* wanted = whole.base() + at;
  void* got = ::mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset));
  if (got == MAP_FAILED) return systemError("mapping " + std::to_string(bytes) + " bytes of a segment", errno);
  return {};
}

Result<Mapping> reserve(std::size_t bytes) {
  void* base = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return systemError("reserving " + std::to_string(bytes) + " bytes of address space", errno);
  return Mapping{static_cast<std::byte*>(base), bytes};
}

Status applyFork(const Mapping& mapping, ForkedChild child) {
  if (child == ForkedChild::inherits) return {};
  if (::madvise(mapping.base(), mapping.bytes(), MADV_DONTFORK) != 0)
    return systemError("madvise(MADV_DONTFORK)", errno);
  return {};
}

Status writeStart(int fd, const void* bytes, std::size_t count) {
  const ssize_t written = ::pwrite(fd, bytes, count, 0);
  if (written < 0) return systemError("writing a segment's header", errno);
  if (static_cast<std::size_t>(written) != count) return refused("writing a segment's header: short write");
  return {};
}

}  // namespace

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    if (base_ != nullptr) ::munmap(base_, bytes_);
    base_ = std::exchange(other.base_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Result<OwnedFd> createSealedMemfd(const char* name, std::size_t bytes) {
  OwnedFd fd{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!fd) return systemError(std::string("memfd_create ") + name, errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return systemError(std::string("sizing ") + name + " to " + std::to_string(bytes) + " bytes", errno);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return systemError(std::string("sealing ") + name, errno);
  return fd;
}

Status checkSealedMemfd(int fd, const char* name, std::size_t bytes) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) return refused(std::string(name) + ": not a memfd: " + std::strerror(errno));
  if ((seals & kSeals) != kSeals) {
    return refused(std::string(name) + ": seals are " + std::to_string(seals) + ", needed are " +
                   std::to_string(kSeals) + " (shrink, grow, seal)");
  }
  if ((seals & ~kSeals) != 0) {
    return refused(std::string(name) + ": sealed against writing (" + std::to_string(seals) + ")");
  }
  struct stat status{};
  if (::fstat(fd, &status) != 0) return systemError(std::string(name) + ": fstat", errno);
  if (static_cast<std::uint64_t>(status.st_size) != bytes) {
    return refused(std::string(name) + ": " + std::to_string(status.st_size) + " bytes, needed are exactly " +
                   std::to_string(bytes));
  }
  return {};
}

Result<OwnedFd> SessionSegment::create(std::uint64_t sessionId, std::uint32_t deviceCount) {
  if (deviceCount > kMaxDevices) {
    return refused("session segment: " + std::to_string(deviceCount) + " devices, the limit is " +
                   std::to_string(kMaxDevices));
  }
  Result<OwnedFd> fd = createSealedMemfd("rouse-session", kSessionSegmentBytes);
  if (!fd) return fd;
  // Only the plain fields at the start; all else begins as zero, which is the initial value of everything in it.
  struct {
    std::uint32_t magic, deviceCount;
    std::uint64_t sessionId, wireHash;
  } start{kSessionMagic, deviceCount, sessionId, kWireHash};
  static_assert(offsetof(SessionHeader, deviceCount) == 4 && offsetof(SessionHeader, sessionId) == 8 &&
                offsetof(SessionHeader, wireHash) == 16 && sizeof(start) == 24);
  if (Status status = writeStart(fd->get(), &start, sizeof(start)); !status) return status.error();
  return fd;
}

Result<SessionSegment> SessionSegment::map(int fd, ForkedChild child) {
  if (Status status = checkSealedMemfd(fd, "session segment", kSessionSegmentBytes); !status) return status.error();
  Result<Mapping> mapping = reserve(kSessionSegmentBytes);
  if (!mapping) return mapping.error();
  if (Status status = place(*mapping, 0, fd, 0, kSessionSegmentBytes); !status) return status.error();
  if (Status status = applyFork(*mapping, child); !status) return status.error();
  return SessionSegment{std::move(*mapping)};
}

Status SessionSegment::mapEvent(std::uint32_t page, int fd, ForkedChild child) const {
  if (page >= kSharedEventPages)
    return refused("shared event: page " + std::to_string(page) + " of slots, there are " + std::to_string(kSharedEventPages));
  if (Status status = checkSealedMemfd(fd, "shared event", kPageBytes); !status) return status;
  const std::size_t at = kSlotsOffset + std::size_t{page} * kPageBytes;
  if (Status status = place(mapping_, at, fd, 0, kPageBytes); !status) return status;
  if (child == ForkedChild::without && ::madvise(mapping_.base() + at, kPageBytes, MADV_DONTFORK) != 0)
    return systemError("madvise(MADV_DONTFORK)", errno);
  return {};
}

Status SessionSegment::checkHeader() const {
  const SessionHeader& header = this->header();
  if (header.magic != kSessionMagic) return refused("session segment: wrong magic " + std::to_string(header.magic));
  if (header.wireHash != kWireHash) {
    return refused("session segment: made for wire " + std::to_string(header.wireHash) + ", this library speaks " +
                   std::to_string(kWireHash));
  }
  if (header.deviceCount > kMaxDevices) {
    return refused("session segment: " + std::to_string(header.deviceCount) + " devices, the limit is " +
                   std::to_string(kMaxDevices));
  }
  return {};
}

Result<OwnedFd> RingSegment::create(std::uint32_t deviceIndex) {
  Result<OwnedFd> fd = createSealedMemfd("rouse-ring", kRingSegmentBytes);
  if (!fd) return fd;
  const std::uint32_t start[] = {kRingMagic, deviceIndex};
  static_assert(offsetof(RingHeader, deviceIndex) == 4);
  if (Status status = writeStart(fd->get(), start, sizeof(start)); !status) return status.error();
  return fd;
}

Result<RingSegment> RingSegment::map(int fd, ForkedChild child) {
  if (Status status = checkSealedMemfd(fd, "ring segment", kRingSegmentBytes); !status) return status.error();
  Result<Mapping> mapping = reserve(kRingSegmentBytes + kRingBytes);
  if (!mapping) return mapping.error();
  static_assert(kOutputOffset == kRingDataOffset + kRingBytes);
  // Header and data; then data once more, with the output behind it as in the file.
  const std::size_t first = kRingDataOffset + kRingBytes;
  if (Status status = place(*mapping, 0, fd, 0, first); !status) return status.error();
  if (Status status = place(*mapping, first, fd, kRingDataOffset, kRingBytes + kOutputBytes); !status) {
    return status.error();
  }
  if (Status status = applyFork(*mapping, child); !status) return status.error();
  return RingSegment{std::move(*mapping)};
}

Status RingSegment::checkHeader(std::uint32_t deviceIndex) const {
  const RingHeader& header = this->header();
  if (header.magic != kRingMagic) return refused("ring segment: wrong magic " + std::to_string(header.magic));
  if (header.deviceIndex != deviceIndex) {
    return refused("ring segment: of device " + std::to_string(header.deviceIndex) + ", expected " +
                   std::to_string(deviceIndex));
  }
  return {};
}

}  // namespace rouse::wire
