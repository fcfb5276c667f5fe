#include "server/roused/module_store.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "server/control/close_apart.h"

namespace rouse::daemon {
namespace {

constexpr std::size_t kCopyStepBytes = std::size_t{1} << 20;
constexpr std::size_t kRecentContents = 64;
constexpr std::uint64_t kRecentBytes = std::uint64_t{256} << 20;
constexpr std::size_t kRememberedRanges = 16384;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
// Change times come from the kernel's coarse clock, and some file systems keep whole seconds (ext3) or two (FAT).
constexpr std::int64_t kSettledNs = 2 * kNsPerSecond;

constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Error refused(std::string message) { return {CudaError::invalidValue, "module: " + std::move(message)}; }
Error failed(const char* what) {
  return {CudaError::systemNotReady, std::string("module: ") + what + ": " + std::strerror(errno)};
}

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * kNsPerSecond + time.tv_nsec; }

Result<FileRange> examine(int file, std::uint64_t offset, std::uint64_t bytes) {
  // fstat also works on O_PATH descriptors, which are no proof that their holder may read the file.
  const int flags = ::fcntl(file, F_GETFL);
  if (flags < 0) return failed("fcntl");
  if ((flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_WRONLY)
    return refused("the descriptor is not open for reading");
  struct stat status{};
  if (::fstat(file, &status) != 0) return failed("fstat");
  if (!S_ISREG(status.st_mode)) return refused("the descriptor is neither a regular file nor a memfd");
  if (bytes == 0) return refused("0 bytes");
  if (bytes > kMaxModuleBytes) {
    return refused(std::to_string(bytes) + " bytes, the limit is " + std::to_string(kMaxModuleBytes));
  }
  const auto fileBytes = static_cast<std::uint64_t>(status.st_size);
  if (offset > fileBytes || bytes > fileBytes - offset) {
    return refused(std::to_string(bytes) + " bytes at offset " + std::to_string(offset) + " of a file of " +
                   std::to_string(fileBytes));
  }
  return FileRange{.device = status.st_dev,
                   .inode = status.st_ino,
                   .fileBytes = status.st_size,
                   .changedNs = nanoseconds(status.st_ctim),
                   .modifiedNs = nanoseconds(status.st_mtim),
                   .offset = offset,
                   .bytes = bytes};
}

// Whether an equal FileRange, later, will mean equal bytes.
bool recallable(int file, const FileRange& range) {
  struct statfs system{};
  if (::fstatfs(file, &system) != 0) return false;
  // Shared memory does not note writes through mappings.
  if (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC || system.f_type == HUGETLBFS_MAGIC) return false;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now) - std::max(range.changedNs, range.modifiedNs) > kSettledNs;
}

Result<Digest> hash(int file, std::uint64_t bytes) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (!hash || EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) != 1) return refused("SHA-256 is not available");
  std::vector<std::byte> step(std::min<std::uint64_t>(bytes, kCopyStepBytes));
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(file, step.data(), std::min<std::uint64_t>(step.size(), bytes - done), static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failed("read");
    if (EVP_DigestUpdate(hash.get(), step.data(), static_cast<std::size_t>(got)) != 1) return refused("SHA-256 failed");
    done += static_cast<std::uint64_t>(got);
  }
  Digest digest{};
  if (EVP_DigestFinal_ex(hash.get(), digest.data(), nullptr) != 1) return refused("SHA-256 failed");
  return digest;
}

}  // namespace

struct ModuleStore::Interning {
  wire::OwnedFd file;
  FileRange range;
  Done done;
};

ModuleStore::ModuleStore(boost::asio::io_context& io, std::size_t threads) : readers_(io, threads) {}

ModuleStore::~ModuleStore() = default;

Result<ModuleStore::Copied> ModuleStore::copy(int file, std::uint64_t offset, std::uint64_t bytes) {
  wire::OwnedFd memfd(::memfd_create("rouse-module", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd) return failed("memfd_create");
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (!hash || EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) != 1) return refused("SHA-256 is not available");
  // What is hashed is what is kept, byte for byte, even if the client writes to the file meanwhile.
  std::vector<std::byte> step(std::min<std::uint64_t>(bytes, kCopyStepBytes));
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(file, step.data(), std::min<std::uint64_t>(step.size(), bytes - done),
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read");
    if (got == 0) return refused("the file became shorter while it was read");
    ModuleReaders::getsOn();
    if (EVP_DigestUpdate(hash.get(), step.data(), static_cast<std::size_t>(got)) != 1) return refused("SHA-256 failed");
    for (ssize_t written = 0; written < got;) {
      const ssize_t more = ::write(memfd.get(), step.data() + written, static_cast<std::size_t>(got - written));
      if (more < 0 && errno == EINTR) continue;
      if (more < 0) return failed("write");
      written += more;
    }
    done += static_cast<std::uint64_t>(got);
  }
  Copied copied{.digest = {}, .memfd = std::move(memfd)};
  if (EVP_DigestFinal_ex(hash.get(), copied.digest.data(), nullptr) != 1) return refused("SHA-256 failed");
  if (::fcntl(copied.memfd.get(), F_ADD_SEALS, kSeals) != 0) return failed("sealing");
  return copied;
}

void ModuleStore::intern(wire::OwnedFd file, std::uint64_t offset, std::uint64_t bytes, Done done) {
  auto interning = std::make_shared<Interning>();
  interning->file = std::move(file);
  interning->done = std::move(done);
  // The kernel's own memory keeps nobody.
  if (::fcntl(interning->file.get(), F_GET_SEALS) >= 0) {
    auto range = examine(interning->file.get(), offset, bytes);
    if (!range) return interning->done(std::move(range).error());
    interning->range = *range;
    return recall(interning);
  }
  readers_.run([this, interning, offset, bytes]() -> ModuleReaders::Then {
    auto range = examine(interning->file.get(), offset, bytes);
    if (!range) {
      interning->file.reset();
      return [interning, why = range.error()] { interning->done(why); };
    }
    interning->range = *range;
    return [this, interning] { recall(interning); };
  });
}

void ModuleStore::recall(const std::shared_ptr<Interning>& interning) {
  if (const auto known = ranges_.find(interning->range); known != ranges_.end()) {
    if (ModuleContentPtr content = known->second.lock()) {
      channel::closeApart(std::move(interning->file));
      return interning->done(std::move(content));
    }
    ranges_.erase(known);
  }
  ++copies_;
  readers_.run([this, interning]() -> ModuleReaders::Then {
    const FileRange& range = interning->range;
    const int file = interning->file.get();
    auto copied = std::make_shared<Result<Copied>>(copy(file, range.offset, range.bytes));
    const auto after = examine(file, range.offset, range.bytes);
    const bool recall = copied->ok() && after.ok() && *after == range && recallable(file, range);
    interning->file.reset();
    return [this, interning, copied, recall] {
      if (!*copied) return interning->done(copied->error());
      const ModuleContentPtr content = keep(std::move(**copied), interning->range.bytes);
      if (recall) remember(interning->range, content);
      interning->done(content);
    };
  });
}

ModuleContentPtr ModuleStore::keep(Copied copied, std::uint64_t bytes) {
  std::weak_ptr<const ModuleContent>& known = contents_[copied.digest];
  ModuleContentPtr content = known.lock();
  if (!content) {
    std::erase_if(contents_, [&](const auto& entry) { return entry.first != copied.digest && entry.second.expired(); });
    auto fresh = std::make_shared<ModuleContent>();
    fresh->id = nextId_++;
    fresh->bytes = bytes;
    fresh->digest = copied.digest;
    fresh->memfd = std::move(copied.memfd);
    content = std::move(fresh);
    known = content;
  }
  std::erase(recent_, content);
  recent_.push_back(content);
  std::uint64_t total = 0;
  for (const ModuleContentPtr& recent : recent_) total += recent->bytes;
  while (!recent_.empty() && (recent_.size() > kRecentContents || total > kRecentBytes)) {
    total -= recent_.front()->bytes;
    recent_.pop_front();
  }
  return content;
}

Result<ModuleContentPtr> ModuleStore::adopt(std::uint64_t number, wire::OwnedFd file, std::uint64_t bytes) {
  struct stat status {};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (::fstat(file.get(), &status) != 0 || seals < 0 || (seals & kSeals) != kSeals) return refused("what was kept of number " + std::to_string(number) + " is not sealed");
  if (number == 0 || bytes == 0 || bytes > kMaxModuleBytes || static_cast<std::uint64_t>(status.st_size) != bytes)
    return refused("number " + std::to_string(number) + " is said to have " + std::to_string(bytes) + " bytes, and has " + std::to_string(status.st_size));
  for (const auto& [digest, known] : contents_) {
    const ModuleContentPtr content = known.lock();
    if (!content || content->id != number) continue;
    struct stat other {};
    if (::fstat(content->memfd.get(), &other) == 0 && other.st_ino == status.st_ino && other.st_dev == status.st_dev) return content;
    return refused("number " + std::to_string(number) + " is two contents'");
  }
  auto digest = hash(file.get(), bytes);
  if (!digest) return digest.error();
  std::weak_ptr<const ModuleContent>& known = contents_[*digest];
  if (!known.expired()) return refused("number " + std::to_string(number) + " is content that is there under another");
  auto content = std::make_shared<ModuleContent>();
  content->id = number;
  content->bytes = bytes;
  content->digest = *digest;
  content->memfd = std::move(file);
  nextId_ = std::max(nextId_, number + 1);
  known = content;
  return ModuleContentPtr(content);
}

void ModuleStore::remember(const FileRange& range, const ModuleContentPtr& content) {
  if (ranges_.size() >= kRememberedRanges) ranges_.clear();
  ranges_[range] = content;
}

std::size_t ModuleStore::contents() const {
  std::size_t count = 0;
  for (const auto& [digest, content] : contents_) count += content.expired() ? 0 : 1;
  return count;
}

}  // namespace rouse::daemon
