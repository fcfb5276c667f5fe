// A file in a file system of our own (FUSE), which answers the thread that has made it, and nobody else.
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "schemas/wire/owned_fd.h"

namespace rouse::test {

class UnansweringFile {
 public:
  static constexpr std::uint64_t kBytes = 4096;

  explicit UnansweringFile(std::filesystem::path folder) : folder_(std::move(folder)), friend_(static_cast<pid_t>(::syscall(SYS_gettid))) {
    std::filesystem::create_directories(folder_);
    device_.reset(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
    const std::string options = "fd=" + std::to_string(device_.get()) + ",rootmode=40000,user_id=" + std::to_string(::getuid()) + ",group_id=" + std::to_string(::getgid());
    mounted_ = device_ && ::mount("rouse-test", folder_.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
    if (mounted_) thread_ = std::thread([this] { serve(); });
  }
  ~UnansweringFile() {
    if (!mounted_) return;
    ::umount2(folder_.c_str(), MNT_FORCE);  // whoever waits is told that it is over
    ::umount2(folder_.c_str(), MNT_DETACH);
    thread_.join();
  }

  // Needs root, and a kernel that has it.
  bool mounted() const { return mounted_; }
  wire::OwnedFd open() const { return wire::OwnedFd(::open((folder_ / "file").c_str(), O_RDONLY | O_CLOEXEC)); }

 private:
  void serve() const {
    std::array<char, 1 << 17> request;
    for (;;) {
      const ssize_t got = ::read(device_.get(), request.data(), request.size());
      if (got < 0 && (errno == EINTR || errno == ENOENT)) continue;
      if (got < static_cast<ssize_t>(sizeof(fuse_in_header))) return;
      fuse_in_header header;
      std::memcpy(&header, request.data(), sizeof header);
      if (header.opcode != FUSE_INIT && static_cast<pid_t>(header.pid) != friend_) continue;
      answer(header);
    }
  }
  void answer(const fuse_in_header& header) const {
    switch (header.opcode) {
      case FUSE_INIT: {
        fuse_init_out out{};
        out.major = FUSE_KERNEL_VERSION;
        out.minor = 31;
        out.max_write = 4096;
        return reply(header, out);
      }
      case FUSE_LOOKUP: {
        fuse_entry_out out{};
        out.nodeid = kFile;
        out.attr = attributes(kFile);
        return reply(header, out);
      }
      case FUSE_GETATTR: {
        fuse_attr_out out{};
        out.attr = attributes(header.nodeid);
        return reply(header, out);
      }
      case FUSE_OPEN: {
        fuse_open_out out{};
        out.open_flags = FOPEN_DIRECT_IO;
        return reply(header, out);
      }
      case FUSE_FLUSH:
        return write(header, 0, nullptr, 0);  // or the kernel would ask no more
      case FUSE_FORGET:
        return;
      default:
        return write(header, -ENOSYS, nullptr, 0);
    }
  }
  static fuse_attr attributes(std::uint64_t node) {
    fuse_attr attributes{};
    attributes.ino = node;
    attributes.mode = node == kFile ? S_IFREG | 0644 : S_IFDIR | 0755;
    attributes.size = node == kFile ? kBytes : 0;
    attributes.nlink = 1;
    attributes.blksize = 4096;
    return attributes;
  }
  template <class Out>
  void reply(const fuse_in_header& to, const Out& out) const {
    write(to, 0, &out, sizeof out);
  }
  void write(const fuse_in_header& to, int error, const void* data, std::size_t bytes) const {
    std::array<char, 512> text;
    const fuse_out_header header{static_cast<std::uint32_t>(sizeof header + bytes), error, to.unique};
    std::memcpy(text.data(), &header, sizeof header);
    if (bytes != 0) std::memcpy(text.data() + sizeof header, data, bytes);
    (void)!::write(device_.get(), text.data(), header.len);
  }

  static constexpr std::uint64_t kFile = 2;  // 1 is the folder
  std::filesystem::path folder_;
  pid_t friend_;
  wire::OwnedFd device_;
  bool mounted_ = false;
  std::thread thread_;
};

}  // namespace rouse::test
