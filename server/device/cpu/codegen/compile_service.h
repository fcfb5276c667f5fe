// Compilation in processes of their own, since kernels come from clients, and LLVM neither comes to an end with every one of them nor does so within the
// memory that there is: what one takes is bounded, and what it ends with is a message.
//
// Three generations, each a copy of the one before (fork without exec: LLVM is loaded once, and an image of megabytes is parsed once for all its kernels):
//   the service   forked of the executor before that has a second thread; one thread ever, so that it may fork at any time
//   a program     has parsed one text; ends when nothing was asked of it for a while
//   its units     compiles one after the other, each under the limits; ends when one has made it large, or passed them, and another takes its place
// Each ends with the one before it, and the service with its executor.
#pragma once

#include <cstdint>
#include <memory>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::cpu {

// Of one attempt to compile one unit, of which there are three (codegen/unit.h).
struct CompileLimits {
  // Of a processor: so many, and more for each instruction of PTX. As measured: 0.5 s for a hundred of them, 3 s for some thousands, 13 s for a hundred
  // thousand; 10 s for a scan of HeCBench's that is unrolled 32 times; and without an end where the compiler goes round in circles.
  double secondsAtLeast = 20, secondsPerInstruction = 0.0005, secondsAtMost = 200;
  std::uint64_t memoryBytes = std::uint64_t{8} << 30;
  // With more than this in memory, what has compiled ends, and another process compiles what is next.
  std::uint64_t keptBytes = std::uint64_t{128} << 20;
  // After which the process of a program of which nothing was asked ends. Kernels are first launched one after the other, or much later.
  int idleMs = 5000;
};

class CompileService {
 public:
  // Forks: an error where this process has more than one thread. One for each process that compiles.
  static Result<std::shared_ptr<CompileService>> start(const CompileLimits& = {});
  // Ends its processes.
  ~CompileService();
  CompileService(const CompileService&) = delete;

  // The socket of a new process for one program, to which its text goes first (codegen/program_compiler.h). None: the service is gone. Any thread.
  wire::OwnedFd connect();
  const CompileLimits& limits() const { return limits_; }

 private:
  CompileService(int process, wire::OwnedFd socket, const CompileLimits& limits) : process_(process), socket_(std::move(socket)), limits_(limits) {}

  const int process_;
  wire::OwnedFd socket_;
  const CompileLimits limits_;
};

}  // namespace rouse::cpu
