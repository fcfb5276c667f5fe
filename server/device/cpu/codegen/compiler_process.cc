#include "server/device/cpu/codegen/compiler_process.h"

#include <fcntl.h>
#include <llvm/Support/ErrorHandling.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <new>

#include "server/device/cpu/codegen/compiler_messages.h"
#include "server/device/cpu/codegen/file_io.h"
#include "server/device/cpu/codegen/large_stack.h"
#include "server/device/cpu/ptx/failure.h"
#include "server/device/cpu/ptx/parser.h"
#include "server/device/cpu/runtime/sanitizer.h"

namespace rouse::cpu::codegen {
namespace {

constexpr int kExitOutOfMemory = 3, kExitFailed = 4;

// What a unit's process leaves in its file, before an object or a message.
struct Left {
  bool made = false;
  CudaError error = CudaError::success;
  std::array<std::uint32_t, 8> facts{};
};

void closeAllBut(int kept) {
  if (kept > 3) ::close_range(3, static_cast<unsigned>(kept) - 1, 0);
  ::close_range(static_cast<unsigned>(kept) + 1, ~0u, 0);
}

void endWithParent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

// That this process may write to, and nobody else.
std::uint64_t dataBytes() {
  std::uint64_t pages[6] = {};
  if (const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "re"), &std::fclose); file != nullptr)
    for (std::uint64_t& field : pages)
      if (std::fscanf(file.get(), "%" SCNu64, &field) != 1) return 0;
  return pages[5] * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit(const UnitRequest& request) {
  const auto set = [](auto resource, rlim_t most) {
    const rlimit both{most, RLIM_INFINITY};
    if (::setrlimit(resource, &both) == 0) return;
    const rlimit hard{most, most};  // more than was allowed before is not to be had
    ::setrlimit(resource, &hard);
  };
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  set(RLIMIT_CPU, request.seconds);
  // Sanitizers reserve more than there is.
#if !defined(ROUSE_ASAN) && !defined(ROUSE_TSAN)
  if (request.memoryBytes != 0) {
    set(RLIMIT_DATA, dataBytes() + kStackBytes + request.memoryBytes);
    set(RLIMIT_FSIZE, request.memoryBytes);
  }
#endif
}

[[noreturn]] void runUnit(const ptx::Module& module, const ptx::CallGraph& graph, const UnitRequest& request, int file) {
  endWithParent();
  limit(request);
  std::set_new_handler([] { ::_exit(kExitOutOfMemory); });
  llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { ::_exit(kExitOutOfMemory); });
  Left left;
  std::string bytes;
  try {
    auto entry = translateUnit(module, graph, request.unit, request.attempt);
    left.made = entry.ok();
    if (left.made) left.facts = entry->facts;
    else left.error = entry.error().code;
    bytes = left.made ? std::move(entry->object) : entry.error().message;
  } catch (const ptx::Failure& failure) {
    left.error = failure.error().code;
    bytes = failure.error().message;
  }
  ::_exit(writeAll(file, &left, sizeof left) && writeAll(file, bytes.data(), bytes.size()) ? 0 : kExitFailed);
}

UnitReply replyFor(int status, int file) {
  UnitReply reply;
  if (WIFSIGNALED(status)) {
    reply.outcome = WTERMSIG(status) == SIGXCPU ? Outcome::outOfTime : WTERMSIG(status) == SIGXFSZ ? Outcome::outOfMemory : Outcome::died;
    reply.detail = WTERMSIG(status);
    return reply;
  }
  reply.detail = -WEXITSTATUS(status);
  if (reply.detail == -kExitOutOfMemory) reply.outcome = Outcome::outOfMemory;
  Left left;
  const off_t end = ::lseek(file, 0, SEEK_CUR);
  if (reply.detail != 0 || ::lseek(file, 0, SEEK_SET) != 0 || !readAll(file, &left, sizeof left)) return reply;
  reply.outcome = left.made ? Outcome::made : Outcome::refused;
  reply.detail = static_cast<std::int32_t>(left.error);
  reply.facts = left.facts;
  reply.bytes = static_cast<std::uint64_t>(end) - sizeof left;
  return reply;
}

std::string read(const ProgramText& text, int file) {
  std::string whole(text.bytes, '\0');
  if (!readAll(file, whole.data(), whole.size())) ::_exit(kExitFailed);
  return whole;
}

[[noreturn]] void runProgram(int socket) {
  endWithParent();
  ::signal(SIGCHLD, SIG_DFL);
  closeAllBut(socket);
  ProgramText text;
  wire::OwnedFd textFile;
  if (!receiveMessage(socket, &text, sizeof text, &textFile) || !textFile) ::_exit(kExitFailed);
  try {
    const ptx::Module module = ptx::parse(read(text, textFile.get()));
    textFile.reset();
    const ptx::CallGraph graph(module);
    pollfd waiting{socket, POLLIN, 0};
    int ready = 0;
    while ((ready = ::poll(&waiting, 1, text.idleMs)) != 0) {
      if (ready < 0) continue;
      UnitRequest request;
      if (!receiveMessage(socket, &request, sizeof request)) break;
      wire::OwnedFd file(::memfd_create("rouse-object", MFD_CLOEXEC));
      if (!file) break;
      const pid_t unit = ::fork();
      if (unit < 0) break;
      if (unit == 0) runUnit(module, graph, request, file.get());
      int status = 0;
      while (::waitpid(unit, &status, 0) < 0 && errno == EINTR) {}
      const UnitReply reply = replyFor(status, file.get());
      if (!sendMessage(socket, &reply, sizeof reply, file.get())) break;
    }
  } catch (const ptx::Failure&) {  // which the executor has parsed
  }
  ::_exit(0);
}

}  // namespace

void runService(int socket) {
  ::prctl(PR_SET_NAME, "rouse-compiler");
  // Its executor's end is its own; and it has no way to tell anyone that it was told to stop.
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) ::signal(ignored, SIG_IGN);
  closeAllBut(socket);
  // Of all that there is, what can be had again is what to give up first.
  if (const wire::OwnedFd score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)); score) writeAll(score.get(), "1000", 4);
  NewProgram request;
  wire::OwnedFd program;
  while (receiveMessage(socket, &request, sizeof request, &program)) {
    if (program && ::fork() == 0) runProgram(program.release());
    program.reset();
  }
  ::_exit(0);
}

}  // namespace rouse::cpu::codegen
