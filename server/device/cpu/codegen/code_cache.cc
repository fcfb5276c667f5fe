#include "server/device/cpu/codegen/code_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "schemas/wire/owned_fd.h"
#include "server/device/cpu/codegen/file_io.h"

namespace rouse::cpu {
namespace {

constexpr std::array<char, 8> kMagic = {'r', 'o', 'u', 's', 'e', 'c', 'o', '1'};
constexpr std::uint64_t kLargestObject = std::uint64_t{256} << 20;
constexpr std::uint64_t kLeastLimit = std::uint64_t{1} << 20;
constexpr const char* kSuffix = ".code";
constexpr const char* kAside = "aside-";
// An entry's time of use is written so often at most, and what was left half written is removed after so long.
constexpr std::int64_t kUseSeconds = 600, kAsideSeconds = 600;

struct Header {
  std::array<char, 8> magic;
  CodeCache::Key key;
  std::array<std::uint32_t, 8> facts;
  std::uint64_t objectBytes;
  CodeCache::Key checksum;  // of all before it, and of the object
};
static_assert(sizeof(Header) == 8 + 32 + 32 + 8 + 32);

CodeCache::Key checksum(const Header& header, std::string_view object) {
  llvm::SHA256 hash;
  hash.update(llvm::ArrayRef(reinterpret_cast<const std::uint8_t*>(&header), offsetof(Header, checksum)));
  hash.update(llvm::StringRef(object.data(), object.size()));
  return hash.final();
}

std::string nameOf(const CodeCache::Key& key) { return llvm::toHex(key, true) + kSuffix; }

// Of a directory or an entry: nobody else's, and nobody else may change it.
bool isOurs(const struct stat& status) { return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0; }

std::int64_t secondsNow() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec;
}

std::optional<CodeCache::Entry> readEntry(int fd, const struct stat& status, const CodeCache::Key& key) {
  if (!S_ISREG(status.st_mode) || !isOurs(status)) return std::nullopt;
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes < sizeof(Header) || bytes > sizeof(Header) + kLargestObject) return std::nullopt;
  Header header;
  if (!codegen::readAll(fd, &header, sizeof header)) return std::nullopt;
  if (header.magic != kMagic || header.key != key || header.objectBytes != bytes - sizeof header) return std::nullopt;
  CodeCache::Entry entry{header.facts, std::string(header.objectBytes, '\0')};
  if (!codegen::readAll(fd, entry.object.data(), entry.object.size()) || checksum(header, entry.object) != header.checksum) return std::nullopt;
  return entry;
}

}  // namespace

Result<std::unique_ptr<CodeCache>> CodeCache::open(const std::string& directory, std::uint64_t bytes) {
  const auto refused = [&](const std::string& why) { return Error{CudaError::invalidValue, "code cache " + directory + ": " + why}; };
  if (directory.empty() || directory.front() != '/') return refused("not an absolute path");
  if (bytes < kLeastLimit) return refused(std::to_string(bytes) + " bytes, at least " + std::to_string(kLeastLimit) + " are needed");
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(directory).parent_path(), error);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return refused(std::strerror(errno));
  wire::OwnedFd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return refused(std::strerror(errno));
  struct stat status;
  if (::fstat(opened.get(), &status) != 0) return refused(std::strerror(errno));
  if (!isOurs(status)) return refused("it must belong to the user of this process, and be writable by nobody else");
  return std::unique_ptr<CodeCache>(new CodeCache(opened.release(), bytes));
}

CodeCache::~CodeCache() { ::close(directory_); }

std::optional<CodeCache::Entry> CodeCache::find(const Key& key) {
  const std::string name = nameOf(key);
  const wire::OwnedFd file(::openat(directory_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (!file && errno == ENOENT) {
    missed_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  auto entry = file && ::fstat(file.get(), &status) == 0 ? readEntry(file.get(), status, key) : std::nullopt;
  if (!entry) {
    ::unlinkat(directory_, name.c_str(), 0);
    rejected_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  // The time of change says when it was used last.
  if (status.st_mtim.tv_sec < secondsNow() - kUseSeconds) ::futimens(file.get(), nullptr);
  found_.fetch_add(1, std::memory_order_relaxed);
  return entry;
}

void CodeCache::store(const Key& key, const Entry& entry) {
  static std::atomic<std::uint64_t> counter = 0;
  const std::uint64_t bytes = sizeof(Header) + entry.object.size();
  if (entry.object.size() > kLargestObject || bytes > limit_) {
    unstored_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Header header{kMagic, key, entry.facts, entry.object.size(), {}};
  header.checksum = checksum(header, entry.object);
  const std::string name = nameOf(key);
  const std::string aside = kAside + std::to_string(::getpid()) + "-" + std::to_string(counter.fetch_add(1, std::memory_order_relaxed));
  bool done = false;
  if (const wire::OwnedFd file(::openat(directory_, aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)); file) {
    // Nothing waits for the disk: what a power cut leaves half written, its checksum tells.
    done = codegen::writeAll(file.get(), &header, sizeof header) && codegen::writeAll(file.get(), entry.object.data(), entry.object.size()) &&
           ::renameat(directory_, aside.c_str(), directory_, name.c_str()) == 0;
    if (!done) ::unlinkat(directory_, aside.c_str(), 0);
  }
  (done ? stored_ : unstored_).fetch_add(1, std::memory_order_relaxed);
  // Looking at all entries is paid by a sixteenth of the limit. Each process looks at its first, since many that store little would never.
  if (done && (stored_.load(std::memory_order_relaxed) == 1 || sinceTrim_.fetch_add(bytes, std::memory_order_relaxed) + bytes > limit_ / 16)) trim();
}

void CodeCache::trim() {
  sinceTrim_.store(0, std::memory_order_relaxed);
  struct File {
    std::string name;
    std::int64_t used;
    std::uint64_t bytes;
  };
  std::vector<File> files;
  std::uint64_t sum = 0;
  const int copy = ::openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = copy < 0 ? nullptr : ::fdopendir(copy);
  if (listing == nullptr) {
    if (copy >= 0) ::close(copy);
    return;
  }
  const std::int64_t now = secondsNow();
  while (const dirent* const each = ::readdir(listing)) {
    const std::string_view name = each->d_name;
    const bool aside = name.starts_with(kAside);
    if (!aside && !name.ends_with(kSuffix)) continue;
    struct stat status;
    if (::fstatat(directory_, each->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) continue;
    if (aside) {
      if (status.st_mtim.tv_sec < now - kAsideSeconds) ::unlinkat(directory_, each->d_name, 0);
      continue;
    }
    files.push_back({std::string(name), status.st_mtim.tv_sec, static_cast<std::uint64_t>(status.st_size)});
    sum += files.back().bytes;
  }
  ::closedir(listing);
  if (sum <= limit_) return;
  std::ranges::sort(files, {}, &File::used);
  // An eighth more than must be, so that this is not to be done at every store.
  for (const File& file : files) {
    if (sum <= limit_ - limit_ / 8) break;
    if (::unlinkat(directory_, file.name.c_str(), 0) == 0) removed_.fetch_add(1, std::memory_order_relaxed);
    sum -= file.bytes;
  }
}

CodeCache::Counts CodeCache::counts() const {
  const auto read = [](const std::atomic<std::uint64_t>& count) { return count.load(std::memory_order_relaxed); };
  return {read(found_), read(missed_), read(stored_), read(rejected_), read(unstored_), read(removed_)};
}

}  // namespace rouse::cpu
