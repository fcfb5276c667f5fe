#include "client-shim/cudart/mapped_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

namespace rouse::cudart {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct Free {
  void operator()(char* memory) const { std::free(memory); }
};

// A line of /proc/self/maps (proc_pid_maps(5)).
struct Mapping {
  std::uint64_t begin = 0, end = 0, offset = 0, inode = 0;
  unsigned major = 0, minor = 0;
  char permissions[5] = {};
  int pathAt = 0;
};

bool parse(const char* line, Mapping* mapping) {
  return std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &mapping->begin,
                     &mapping->end, mapping->permissions, &mapping->offset, &mapping->major, &mapping->minor,
                     &mapping->inode, &mapping->pathAt) == 7 &&
         mapping->pathAt > 0;
}

}  // namespace

bool findMappedFile(std::span<const std::byte> bytes, MappedFile* file) {
  const std::unique_ptr<std::FILE, CloseFile> maps(std::fopen("/proc/self/maps", "re"));
  if (maps == nullptr) return false;
  const auto begin = reinterpret_cast<std::uint64_t>(bytes.data());
  const std::uint64_t end = begin + bytes.size();
  char* buffer = nullptr;
  std::size_t capacity = 0;
  ssize_t length = 0;
  while ((length = ::getline(&buffer, &capacity, maps.get())) > 0) {
    Mapping mapping;
    if (!parse(buffer, &mapping) || begin < mapping.begin || begin >= mapping.end) continue;
    const std::unique_ptr<char, Free> owned(buffer);
    if (end > mapping.end || mapping.inode == 0 || std::strchr(mapping.permissions, 'w') != nullptr) return false;
    if (buffer[length - 1] == '\n') buffer[length - 1] = '\0';
    wire::OwnedFd fd(::open(buffer + mapping.pathAt, O_RDONLY | O_CLOEXEC));
    struct stat status{};
    // The name may be another file's by now.
    if (!fd || ::fstat(fd.get(), &status) != 0 || status.st_ino != mapping.inode ||
        ::major(status.st_dev) != mapping.major || ::minor(status.st_dev) != mapping.minor) {
      return false;
    }
    file->fd = std::move(fd);
    file->offset = mapping.offset + (begin - mapping.begin);
    return true;
  }
  std::free(buffer);
  return false;
}

}  // namespace rouse::cudart
