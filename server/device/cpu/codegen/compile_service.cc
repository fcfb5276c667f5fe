#include "server/device/cpu/codegen/compile_service.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "server/device/cpu/codegen/compiler_messages.h"
#include "server/device/cpu/codegen/compiler_process.h"
#include "server/device/cpu/runtime/sanitizer.h"

namespace rouse::cpu {
namespace {

// ThreadSanitizer has one of its own.
#ifdef ROUSE_TSAN
constexpr std::ptrdiff_t kThreads = 2;
#else
constexpr std::ptrdiff_t kThreads = 1;
#endif

std::ptrdiff_t threads() {
  std::error_code error;
  const std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return error ? 0 : std::distance(begin(tasks), end(tasks));
}

Error failed(const char* what) {
  return Error{CudaError::initializationError, std::string("compiling in a process of its own: ") + what + ": " + std::strerror(errno)};
}

}  // namespace

Result<std::shared_ptr<CompileService>> CompileService::start(const CompileLimits& limits) {
  if (threads() > kThreads)
    return Error{CudaError::initializationError, "compiling in a process of its own: this one has more than one thread, and cannot be copied"};
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return failed("socketpair");
  wire::OwnedFd own(ends[0]), its(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return failed("fork");
  if (child == 0) codegen::runService(its.get());
  return std::shared_ptr<CompileService>(new CompileService(child, std::move(own), limits));
}

CompileService::~CompileService() {
  socket_.reset();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {}
}

wire::OwnedFd CompileService::connect() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return {};
  wire::OwnedFd own(ends[0]), its(ends[1]);
  const codegen::NewProgram request;
  if (!codegen::sendMessage(socket_.get(), &request, sizeof request, its.get())) return {};
  return own;
}

}  // namespace rouse::cpu
