// Compilation in processes of its own: the same code as in this one, whatever becomes of the processes, and an end of what LLVM comes to none with.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "server/device/cpu/codegen/code_cache.h"
#include "server/device/cpu/codegen/compile_service.h"
#include "server/device/cpu/program.h"
#include "server/device/cpu/runtime/sanitizer.h"
#include "test/cpu/descendants.h"
#include "test/ptx/large_kernel.h"

namespace rouse::test {
namespace {

using std::chrono::steady_clock;

std::shared_ptr<cpu::CompileService> start(const cpu::CompileLimits& limits = {}) {
  auto service = cpu::CompileService::start(limits);
  INFO((service ? "" : service.error().message));
  REQUIRE(service);
  return std::move(*service);
}

std::unique_ptr<cpu::Program> translate(const std::string& text, std::shared_ptr<cpu::CompileService> service) {
  auto program = cpu::Program::translate(text, {.service = std::move(service)});
  INFO((program ? "" : program.error().message));
  REQUIRE(program);
  return std::move(*program);
}

std::vector<pid_t> descendants() { return descendantsOf(::getpid()); }

template <class Condition>
bool soon(Condition condition) {
  for (const auto end = steady_clock::now() + std::chrono::seconds(20); steady_clock::now() < end; ::usleep(2000))
    if (condition()) return true;
  return false;
}

// What goes to standard error while it lives.
class Errors {
 public:
  Errors() : kept_(::dup(2)), file_(std::tmpfile()) { ::dup2(::fileno(file_), 2); }
  ~Errors() {
    ::dup2(kept_, 2);
    ::close(kept_);
    std::fclose(file_);
  }
  std::string text() const {
    std::string text(1 << 16, '\0');
    const ssize_t bytes = ::pread(::fileno(file_), text.data(), text.size(), 0);
    text.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    return text;
  }

 private:
  const int kept_;
  std::FILE* const file_;
};

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// Of a few milliseconds, and of twice a limit of some seconds at full effort, of which one without optimization takes less than half: 12.6 and 2.2 s, measured.
constexpr std::uint32_t kShort = 50, kLong = 6000;
// Of more than six times a limit of a second, without optimization.
constexpr std::uint32_t kHopeless = 120'000;
constexpr double kSeconds = 5;

}  // namespace

TEST_CASE("kernels compiled in another process are what they are compiled here") {
  const auto program = translate(chain(kShort), start()), here = translate(chain(kShort), nullptr);
  for (const cpu::Code kind : {cpu::Code::plain, cpu::Code::checked}) {
    const auto code = program->compile(0, kind), same = here->compile(0, kind);
    REQUIRE(code);
    REQUIRE(same);
    CHECK(code->localBytes == same->localBytes);
    CHECK((code->loop != nullptr) == (same->loop != nullptr));
    CHECK(code->rows == same->rows);
    if (kind == cpu::Code::plain) CHECK(run(*code, 77) == expectedOfChain(kShort, 77));
  }
  CHECK_FALSE(program->compile(1));
}

TEST_CASE("an error of the compiler's comes from the other process as it is") {
  ::setenv("ROUSE_CPU_LEVEL", "x86-64-v9", 1);
  const auto service = start();
  ::unsetenv("ROUSE_CPU_LEVEL");
  const auto code = translate(chain(kShort), service)->compile(0);
  REQUIRE_FALSE(code);
  CHECK(code.error().code == CudaError::invalidKernelImage);
  CHECK(code.error().message == "no code generator for this processor");
}

TEST_CASE("what takes too long is compiled with less effort, and computes the same") {
  const auto service = start({.secondsAtLeast = kSeconds, .secondsPerInstruction = 0});
  // What is too long for one processor is not for another.
  constexpr std::uint32_t kLongest = 16 * kLong;
  bool tooLong = false;
  for (std::uint32_t steps = kLong; steps <= kLongest && !tooLong; steps *= 2) {
    const Errors errors;
    const auto program = translate(chain(steps), service);
    const auto code = program->compile(0);
    INFO(errors.text());
    REQUIRE(code);
    for (const std::uint32_t x : {0u, ~0u, 0x1234'5678u}) CHECK(run(*code, x) == expectedOfChain(steps, x));
    CHECK_FALSE(contains(errors.text(), "without optimization takes"));
    tooLong = contains(errors.text(), "compiling kernel k takes more than ");
  }
  CHECK(tooLong);
}

TEST_CASE("what cannot be compiled within the limit is an error that names it, and costs its time once") {
  const auto program = translate(line(kHopeless, 256), start({.secondsAtLeast = 1, .secondsPerInstruction = 0}));
  const Errors errors;
  const auto code = program->compile(0);
  REQUIRE_FALSE(code);
  CHECK(code.error().code == CudaError::invalidKernelImage);
  CHECK(contains(code.error().message, "compiling kernel k without optimization takes more than 1 s of a processor"));
  const auto before = steady_clock::now();
  const auto again = program->compile(0);
  REQUIRE_FALSE(again);
  CHECK(again.error().message == code.error().message);
  CHECK(steady_clock::now() - before < std::chrono::milliseconds(500));
}

// Sanitizers reserve more than any limit.
#if !defined(ROUSE_ASAN) && !defined(ROUSE_TSAN)
TEST_CASE("what needs more memory than the limit is an error that names it") {
  const auto service = start({.memoryBytes = 1 << 20});
  const auto program = translate(line(30'000, 256), service);
  const Errors errors;
  const auto code = program->compile(0);
  REQUIRE_FALSE(code);
  CHECK(contains(code.error().message, "takes more than 1048576 bytes of memory"));
  // The service is none the worse.
  CHECK(descendants().size() <= 2);
}
#endif

TEST_CASE("a limit is larger for a larger kernel") {
  const auto program = translate(chain(kLong), start({.secondsAtLeast = kSeconds, .secondsPerInstruction = 0.01}));
  const Errors errors;
  REQUIRE(program->compile(0));
  CHECK(errors.text().empty());
}

TEST_CASE("a program's process ends when nothing is asked of it, and another is started") {
  const auto program = translate(chain(kShort), start({.idleMs = 20}));
  REQUIRE(program->compile(0));
  CHECK(soon([] { return descendants().size() == 1; }));
  const auto code = program->compile(0, cpu::Code::checked);
  CHECK(code);
}

TEST_CASE("processes end with the service") {
  {
    const auto service = start({.keptBytes = std::uint64_t{1} << 40});
    const auto program = translate(chain(kShort), service);
    REQUIRE(program->compile(0));
    CHECK(descendants().size() == 3);  // the service, the program's, and the one that compiles
  }
  CHECK(soon([] { return descendants().empty(); }));
}

TEST_CASE("one process compiles a program's units, until it has become large") {
  for (const std::uint64_t kept : {std::uint64_t{1} << 40, std::uint64_t{1} << 10}) {
    const auto program = translate(chain(kShort), start({.keptBytes = kept}));
    REQUIRE(program->compile(0));
    const std::vector<pid_t> first = descendants();
    CHECK(first.size() == (kept == 1 << 10 ? 2 : 3));
    const auto code = program->compile(0, cpu::Code::checked);
    REQUIRE(code);
    CHECK(descendants() == first);
  }
}

TEST_CASE("a unit has its own time, whatever the ones before took in the same process") {
  const auto service = start({.secondsAtLeast = 1, .secondsPerInstruction = 0, .keptBytes = std::uint64_t{1} << 40});
  const Errors errors;
  // As many kernels as take more than that together.
  const std::string text = chain(300);
  std::string kernels = text;
  const std::size_t begin = text.find(".visible .entry k");
  REQUIRE(begin != std::string::npos);
  constexpr std::uint32_t kKernels = 16;
  for (std::uint32_t i = 1; i < kKernels; ++i) kernels += std::string(text.substr(begin)).insert(std::string(".visible .entry k").size(), std::to_string(i));
  const auto several = translate(kernels, service);
  for (std::uint32_t i = 0; i < kKernels; ++i) {
    for (const cpu::Code kind : {cpu::Code::plain, cpu::Code::checked}) REQUIRE(several->compile(i, kind));
  }
  CHECK(errors.text().empty());
}

TEST_CASE("without a service that lives, kernels are compiled here") {
  const auto service = start();
  const auto program = translate(chain(kShort), service);
  for (const pid_t process : descendants()) ::kill(process, SIGKILL);
  CHECK(soon([] { return descendants().empty(); }));
  const Errors errors;
  const auto code = program->compile(0);
  REQUIRE(code);
  CHECK(run(*code, 5) == expectedOfChain(kShort, 5));
  CHECK(contains(errors.text(), "no process to compile kernel k in"));
}

TEST_CASE("a process that has threads is not copied") {
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) ::usleep(1000);
  });
  const auto service = cpu::CompileService::start();
  done = true;
  other.join();
  REQUIRE_FALSE(service);
  CHECK(contains(service.error().message, "more than one thread"));
}

// The service itself stays: what it is to be without is another case.
TEST_CASE("processes that are killed at any time change no result, and at most delay it") {
  const auto service = start();
  std::vector<std::unique_ptr<cpu::Program>> programs;
  constexpr std::uint32_t kKernels = 24;
  for (std::uint32_t i = 0; i < kKernels; ++i) programs.push_back(translate(chain(200 + i), service));
  const pid_t spared = descendants().at(0);
  const Errors errors;
  std::atomic<bool> done = false;
  std::thread killer([&] {
    std::mt19937 random(7);
    while (!done) {
      const std::vector<pid_t> all = descendants();
      if (const pid_t victim = all.empty() ? 0 : all[random() % all.size()]; victim != 0 && victim != spared) ::kill(victim, SIGKILL);
      ::usleep(random() % 20'000);
    }
  });
  std::vector<std::thread> compilers;
  std::atomic<std::uint32_t> wrong = 0, next = 0;
  for (int i = 0; i < 3; ++i) {
    compilers.emplace_back([&] {
      for (std::uint32_t at = next++; at < kKernels; at = next++) {
        const auto code = programs[at]->compile(0);
        if (!code && !contains(code.error().message, "ended by Killed")) ++wrong;
      }
    });
  }
  for (std::thread& compiler : compilers) compiler.join();
  done = true;
  killer.join();
  INFO(errors.text());
  CHECK(wrong == 0);
  for (std::uint32_t at = 0; at < kKernels; ++at) {
    const auto code = programs[at]->compile(0);
    REQUIRE(code);
    CHECK(run(*code, 9) == expectedOfChain(200 + at, 9));
  }
}

}  // namespace rouse::test
