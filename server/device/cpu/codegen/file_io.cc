#include "server/device/cpu/codegen/file_io.h"

#include <unistd.h>

#include <cerrno>

namespace rouse::cpu::codegen {
namespace {

template <class Call>
bool all(std::size_t count, Call call) {
  for (std::size_t done = 0; done < count;) {
    const ssize_t moved = call(done, count - done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    done += static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

bool writeAll(int file, const void* bytes, std::size_t count) {
  return all(count, [&](std::size_t at, std::size_t left) { return ::write(file, static_cast<const char*>(bytes) + at, left); });
}

bool readAll(int file, void* bytes, std::size_t count) {
  return all(count, [&](std::size_t at, std::size_t left) { return ::read(file, static_cast<char*>(bytes) + at, left); });
}

}  // namespace rouse::cpu::codegen
