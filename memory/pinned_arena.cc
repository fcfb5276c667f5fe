#include "memory/pinned_arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "memory/memory_limits.h"
#include "schemas/base/range.h"

#ifndef MADV_POPULATE_WRITE  // Linux 5.14
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21u << 26)
#endif

namespace rouse::memory {
namespace {

Error failed(const char* what, std::uint64_t bytes, int error) {
  return Error{CudaError::memoryAllocation, std::string("host memory: ") + what + " of " + std::to_string(bytes) +
                                                " bytes: " + std::strerror(error)};
}

// Of the mapping that begins at `base`, as the kernel counts.
std::uint64_t transparentBytes(const std::byte* base) {
  std::ifstream smaps("/proc/self/smaps");
  char start[32];
  std::snprintf(start, sizeof start, "%" PRIxPTR "-", reinterpret_cast<std::uintptr_t>(base));
  bool ours = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') < line.find(' ')) ours = line.compare(0, std::strlen(start), start) == 0;
    if (ours && line.compare(0, 15, "ShmemPmdMapped:") == 0) return std::stoull(line.substr(15)) << 10;
  }
  return 0;
}

}  // namespace

const char* name(ArenaPages pages) {
  switch (pages) {
    case ArenaPages::hugetlb: return "huge pages of 2 MiB (hugetlb)";
    case ArenaPages::transparent: return "transparent huge pages of 2 MiB";
    case ArenaPages::plain: return "pages of 4 KiB";
  }
  return "?";
}

Result<PinnedArena> PinnedArena::create(const ArenaOptions& options) {
  if (options.bytes == 0 || options.bytes > std::uint64_t{1} << 46)
    return Error{CudaError::invalidValue, "host memory: an arena of " + std::to_string(options.bytes) +
                                              " bytes was asked for; it must have 1 byte to 64 TiB"};
  const std::uint64_t bytes = roundUp(options.bytes, kGranuleBytes);
  PinnedArena arena;
  // The reserve may be short, be claimed by another at the same moment, or be out of bounds for this process: then without.
  bool ready = false;
  if (options.hugePages && checkMemoryLimits({bytes, true, options.lock}))
    ready = arena.open(bytes, true).ok() && (!options.present || arena.fault(options.threads).ok());
  if (!ready) {
    arena.close();
    if (Status status = checkMemoryLimits({bytes, false, options.lock}); !status) return status.error();
    if (Status status = arena.open(bytes, false); !status) return status.error();
    if (options.hugePages) ::madvise(arena.base_, bytes, MADV_HUGEPAGE);  // where it is refused, pages are plain
    if (options.present)
      if (Status status = arena.fault(options.threads); !status) return status.error();
    arena.hugeBytes_ = transparentBytes(arena.base_);
    if (arena.hugeBytes_ * 2 >= bytes) arena.pages_ = ArenaPages::transparent;
  }
  if (options.lock) {
    if (::mlock(arena.base_, bytes) != 0) return failed("mlock", bytes, errno);
    arena.locked_ = true;
  }
  return arena;
}

Result<PinnedArena> PinnedArena::adopt(wire::OwnedFd file, std::uint64_t wanted) {
  const std::uint64_t bytes = roundUp(wanted, kGranuleBytes);
  struct stat status {};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);  // which no file has but a memfd
  constexpr int kFixed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (::fstat(file.get(), &status) != 0 || seals < 0 || (seals & kFixed) != kFixed || (seals & F_SEAL_WRITE) != 0)
    return Error{CudaError::invalidValue, "host memory: the file is no arena"};
  if (static_cast<std::uint64_t>(status.st_size) != bytes)
    return Error{CudaError::invalidValue, "host memory: an arena of " + std::to_string(status.st_size) + " bytes, needed are " + std::to_string(bytes)};
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (base == MAP_FAILED) return failed("mmap", bytes, errno);
  PinnedArena arena;
  arena.fd_ = file.release();
  arena.base_ = static_cast<std::byte*>(base);
  arena.bytes_ = bytes;
  if (static_cast<std::uint64_t>(status.st_blksize) == kGranuleBytes) {
    arena.pages_ = ArenaPages::hugetlb;
    arena.hugeBytes_ = bytes;
  } else if (arena.hugeBytes_ = transparentBytes(arena.base_); arena.hugeBytes_ * 2 >= bytes) {
    arena.pages_ = ArenaPages::transparent;
  }
  return arena;
}

Status PinnedArena::open(std::uint64_t bytes, bool hugetlb) {
  fd_ = ::memfd_create("rouse-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING | (hugetlb ? MFD_HUGETLB | MFD_HUGE_2MB : 0));
  if (fd_ < 0) return failed("memfd_create", bytes, errno);
  if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) return failed("ftruncate", bytes, errno);
  if (::fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return failed("sealing", bytes, errno);
  // Hugetlb pages are reserved by the mapping: none is short later.
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (base == MAP_FAILED) return failed("mmap", bytes, errno);
  base_ = static_cast<std::byte*>(base);
  bytes_ = bytes;
  if (hugetlb) pages_ = ArenaPages::hugetlb, hugeBytes_ = bytes;
  return {};
}

// A page that cannot be had is an error here, not SIGBUS at its first use.
Status PinnedArena::fault(unsigned threads) {
  constexpr std::uint64_t kPiece = std::uint64_t{64} << 20;
  if (threads == 0) threads = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
  std::atomic<std::uint64_t> next{0};
  std::atomic<int> error{0};
  const auto work = [&] {
    for (std::uint64_t at; error == 0 && (at = next.fetch_add(kPiece)) < bytes_;) {
      const std::uint64_t count = std::min(kPiece, bytes_ - at);
      int code = ::madvise(base_ + at, count, MADV_POPULATE_WRITE) == 0 ? 0 : errno;
      if (code == EINVAL) {  // an older kernel: allocate in the file, which may fail, then touch
        code = ::fallocate(fd_, 0, static_cast<off_t>(at), static_cast<off_t>(count)) == 0 ? 0 : errno;
        for (std::uint64_t page = at; code == 0 && page < at + count; page += 4096)
          *static_cast<volatile std::byte*>(base_ + page) = std::byte{0};
      }
      if (code != 0) error = code;
    }
  };
  std::vector<std::thread> others;
  try {
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
  } catch (const std::system_error&) {  // fewer, then
  }
  work();
  for (std::thread& other : others) other.join();
  return error == 0 ? Status() : Status(failed("faulting in", bytes_, error));
}

std::uint64_t PinnedArena::pageBytes() const {
  return pages_ == ArenaPages::plain ? static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : kGranuleBytes;
}

PinnedArena::PinnedArena(PinnedArena&& other) noexcept { *this = std::move(other); }

PinnedArena& PinnedArena::operator=(PinnedArena&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  base_ = std::exchange(other.base_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  hugeBytes_ = std::exchange(other.hugeBytes_, 0);
  pages_ = other.pages_;
  locked_ = std::exchange(other.locked_, false);
  return *this;
}

PinnedArena::~PinnedArena() { close(); }

void PinnedArena::close() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  base_ = nullptr;
  bytes_ = hugeBytes_ = 0;
  pages_ = ArenaPages::plain;
}

}  // namespace rouse::memory
