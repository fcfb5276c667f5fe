#include "server/device/cpu/codegen/compiler_process.h"

#include <fcntl.h>
#include <llvm/Support/ErrorHandling.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <new>

#include "server/device/cpu/codegen/compiler_messages.h"
#include "server/device/cpu/codegen/file_io.h"
#include "server/device/cpu/codegen/large_stack.h"
#include "server/device/ptx/check_module.h"
#include "server/device/ptx/failure.h"
#include "server/device/ptx/parser.h"
#include "server/device/cpu/runtime/sanitizer.h"

namespace rouse::cpu::codegen {
namespace {

constexpr int kExitOutOfMemory = 3, kExitFailed = 4;

// From a process that compiles to that of its program.
struct Compiled {
  UnitReply reply;
  bool ends = false;  // it compiles no more
};

void closeAllBut(int kept) {
  if (kept > 3) ::close_range(3, static_cast<unsigned>(kept) - 1, 0);
  ::close_range(static_cast<unsigned>(kept) + 1, ~0u, 0);
}

void endWithParent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

struct MemoryUse {
  std::uint64_t resident = 0;  // bytes
  std::uint64_t data = 0;      // that this process may write to, and nobody else
};

// proc_pid_statm(5).
MemoryUse memoryUse() {
  std::uint64_t pages[6] = {};
  if (const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "re"), &std::fclose); file != nullptr)
    for (std::uint64_t& field : pages)
      if (std::fscanf(file.get(), "%" SCNu64, &field) != 1) return {};
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {pages[1] * page, pages[5] * page};
}

// Of a processor, from now on, to the end of the unit: resource limits count whole seconds of all that a process has used.
void limitTime(std::uint32_t seconds) {
  static timer_t timer{};
  static const bool isThere = [] {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGXCPU;
    return ::timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0;
  }();
  itimerspec until{};
  until.it_value.tv_sec = seconds;
  if (isThere) ::timer_settime(timer, 0, &until, nullptr);
}

// Of a processor, so far; rounded up.
std::uint64_t secondsUsed() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  return static_cast<std::uint64_t>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + 1;
}

void limit(const UnitRequest& request) {
  const auto set = [](auto resource, rlim_t most) {
    rlimit both{};
    if (::getrlimit(resource, &both) != 0) return;
    both.rlim_cur = std::min(most, both.rlim_max);  // what is allowed at most stays, for the next unit
    ::setrlimit(resource, &both);
  };
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  limitTime(request.seconds);
  set(RLIMIT_CPU, secondsUsed() + request.seconds);
  // Sanitizers reserve more than there is.
#if !defined(ROUSE_ASAN) && !defined(ROUSE_TSAN)
  if (request.memoryBytes != 0) {
    set(RLIMIT_DATA, memoryUse().data + kStackBytes + request.memoryBytes);
    set(RLIMIT_FSIZE, request.memoryBytes);
  }
#endif
}

UnitReply compileUnit(const ptx::Module& module, const ptx::CallGraph& graph, const UnitRequest& request, int file) {
  UnitReply reply;
  std::string bytes;
  try {
    auto entry = translateUnit(module, graph, request.unit, request.attempt);
    reply.outcome = entry.ok() ? Outcome::made : Outcome::refused;
    if (entry.ok()) reply.facts = entry->facts;
    else reply.detail = static_cast<std::int32_t>(entry.error().code);
    bytes = entry.ok() ? std::move(entry->object) : entry.error().message;
  } catch (const ptx::Failure& failure) {
    reply.outcome = Outcome::refused;
    reply.detail = static_cast<std::int32_t>(failure.error().code);
    bytes = failure.error().message;
  }
  if (!writeAll(file, bytes.data(), bytes.size()) || ::lseek(file, 0, SEEK_SET) != 0) ::_exit(kExitFailed);
  reply.bytes = bytes.size();
  return reply;
}

// One unit after the other: what LLVM has set up for the first, and the memory that it took, is there for the next.
[[noreturn]] void runUnits(const ptx::Module& module, const ptx::CallGraph& graph, int socket) {
  endWithParent();
  closeAllBut(socket);
  std::set_new_handler([] { ::_exit(kExitOutOfMemory); });
  llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { ::_exit(kExitOutOfMemory); });
  UnitRequest request;
  wire::OwnedFd file;
  while (receiveMessage(socket, &request, sizeof request, &file) && file) {
    limit(request);
    Compiled compiled{compileUnit(module, graph, request, file.get())};
    file.reset();
    compiled.ends = memoryUse().resident > request.keptBytes;
    if (!sendMessage(socket, &compiled, sizeof compiled) || compiled.ends) break;
  }
  ::_exit(0);
}

UnitReply replyFor(int status) {
  UnitReply reply;
  if (WIFSIGNALED(status)) {
    reply.outcome = WTERMSIG(status) == SIGXCPU ? Outcome::outOfTime : WTERMSIG(status) == SIGXFSZ ? Outcome::outOfMemory : Outcome::died;
    reply.detail = WTERMSIG(status);
    return reply;
  }
  reply.detail = -WEXITSTATUS(status);
  if (reply.detail == -kExitOutOfMemory) reply.outcome = Outcome::outOfMemory;
  return reply;
}

// The process that compiles a program's units; another one when it has ended, of whatever.
class Units {
 public:
  Units(const ptx::Module& module, const ptx::CallGraph& graph) : module_(module), graph_(graph) {}

  // Nothing: no process can be had.
  std::optional<UnitReply> compile(const UnitRequest& request, int file) {
    if (!socket_ && !begin()) return std::nullopt;
    Compiled compiled;
    const bool lives = sendMessage(socket_.get(), &request, sizeof request, file) && receiveMessage(socket_.get(), &compiled, sizeof compiled);
    if (lives && !compiled.ends) return compiled.reply;
    socket_.reset();
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {}
    return lives ? compiled.reply : replyFor(status);
  }

 private:
  bool begin() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
    wire::OwnedFd own(ends[0]), its(ends[1]);
    process_ = ::fork();
    if (process_ == 0) runUnits(module_, graph_, its.release());
    if (process_ > 0) socket_ = std::move(own);
    return process_ > 0;
  }

  const ptx::Module& module_;
  const ptx::CallGraph& graph_;
  wire::OwnedFd socket_;
  pid_t process_ = -1;
};

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
    // What the executor would not have is refused there.
    ptx::Module module = ptx::parse(read(text, textFile.get()), ptx::Uncovered::leftOut);
    ptx::checkModule(module, ptx::Uncovered::leftOut);
    textFile.reset();
    const ptx::CallGraph graph(module);
    Units units(module, graph);
    pollfd waiting{socket, POLLIN, 0};
    int ready = 0;
    while ((ready = ::poll(&waiting, 1, text.idleMs)) != 0) {
      if (ready < 0) continue;
      UnitRequest request;
      if (!receiveMessage(socket, &request, sizeof request)) break;
      wire::OwnedFd file(::memfd_create("rouse-object", MFD_CLOEXEC));
      if (!file) break;
      const auto reply = units.compile(request, file.get());
      if (!reply) break;
      if (!sendMessage(socket, &*reply, sizeof *reply, file.get())) break;
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
