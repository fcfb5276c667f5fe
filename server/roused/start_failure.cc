#include "server/roused/start_failure.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "memory/start_failure.h"
#include "schemas/wire/owned_fd.h"
#include "server/roused/printable.h"

namespace rouse::daemon {
namespace {

constexpr std::size_t kMostBytes = 1024;

struct Exit {
  CudaError reason;
  int status;
};
constexpr Exit kExits[] = {
    {memory::kNoDriver, kExitNoDriver},   {memory::kDriverTooOld, kExitDriverTooOld}, {memory::kNoGpu, kExitNoGpu},
    {memory::kNoSuchGpu, kExitNoGpu},     {memory::kGpuTaken, kExitGpuTaken},         {memory::kGpuFull, kExitGpuFull},
    {memory::kNotPinned, kExitNotPinned},
};

std::string path(const std::string& socket) { return socket + ".failed"; }

}  // namespace

int exitCodeOf(CudaError code) {
  for (const Exit& exit : kExits)
    if (exit.reason == code) return exit.status;
  return kExitNotServed;
}

void leaveStartFailure(const std::string& socket, const std::string& reason) {
  const wire::OwnedFd file(
      ::open(path(socket).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!file) return;
  const std::string line = printable(reason, kMostBytes - 1) + "\n";
  (void)!::write(file.get(), line.data(), line.size());
}

void forgetStartFailure(const std::string& socket) { ::unlink(path(socket).c_str()); }

std::string readStartFailure(const std::string& socket) {
  const wire::OwnedFd file(::open(path(socket).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return "";
  std::array<char, kMostBytes> text{};
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got <= 0) return "";
  const std::string_view read(text.data(), static_cast<std::size_t>(got));
  return printable(read.substr(0, read.find('\n')), kMostBytes);
}

}  // namespace rouse::daemon
