#include "server/device/cpu/codegen/program_compiler.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "server/device/cpu/codegen/file_io.h"

namespace rouse::cpu::codegen {
namespace {

std::string describe(const UnitReply& reply, const UnitRequest& request) {
  switch (reply.outcome) {
    case Outcome::outOfTime: return "takes more than " + std::to_string(request.seconds) + " s of a processor";
    case Outcome::outOfMemory: return "takes more than " + std::to_string(request.memoryBytes) + " bytes of memory";
    default: break;
  }
  return reply.detail > 0 ? std::string("ended by ") + ::sigdescr_np(reply.detail) : "ended with status " + std::to_string(-reply.detail);
}

bool wasKilled(const UnitReply& reply) { return reply.outcome == Outcome::died && reply.detail == SIGKILL; }

constexpr const char* nameOf(Attempt attempt) {
  switch (attempt) {
    case Attempt::whole: return "";
    case Attempt::narrow: return " without AVX-512";
    case Attempt::plain: return " without optimization";
  }
  return "";
}

}  // namespace

bool ProgramCompiler::connect() {
  socket_ = service_.connect();
  if (!socket_) return false;
  const wire::OwnedFd file(::memfd_create("rouse-ptx", MFD_CLOEXEC));
  const ProgramText text{text_.size(), service_.limits().idleMs};
  return file && writeAll(file.get(), text_.data(), text_.size()) && ::lseek(file.get(), 0, SEEK_SET) == 0 && sendMessage(socket_.get(), &text, sizeof text, file.get());
}

std::optional<ProgramCompiler::Answer> ProgramCompiler::exchange(const UnitRequest& request) {
  Answer answer;
  wire::OwnedFd file;
  if (!sendMessage(socket_.get(), &request, sizeof request) || !receiveMessage(socket_.get(), &answer.reply, sizeof answer.reply, &file)) return std::nullopt;
  if (answer.reply.outcome != Outcome::made && answer.reply.outcome != Outcome::refused) return answer;
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0 || answer.reply.bytes > static_cast<std::uint64_t>(found.st_size)) return std::nullopt;
  answer.bytes.resize(answer.reply.bytes);
  if (!readAll(file.get(), answer.bytes.data(), answer.bytes.size())) return std::nullopt;
  return answer;
}

// The program's process may have ended since it was asked last, also just now: then another does it.
std::optional<ProgramCompiler::Answer> ProgramCompiler::ask(const UnitRequest& request) {
  for (int tries = 0; tries < 2; ++tries) {
    const bool isNew = !socket_;
    if (isNew && !connect()) break;
    if (auto answer = exchange(request)) return answer;
    socket_.reset();
    tries -= !isNew;
  }
  return std::nullopt;
}

std::optional<Result<CodeCache::Entry>> ProgramCompiler::compile(const Unit& unit, std::string_view name, std::size_t instructions) {
  if (const auto known = hopeless_.find(unit); known != hopeless_.end()) return known->second;
  const CompileLimits& limits = service_.limits();
  UnitRequest request{.unit = unit, .attempt = Attempt::whole, .memoryBytes = limits.memoryBytes, .keptBytes = limits.keptBytes};
  const double seconds = limits.secondsAtLeast + limits.secondsPerInstruction * static_cast<double>(instructions);
  request.seconds = static_cast<std::uint32_t>(std::ceil(std::min(seconds, limits.secondsAtMost)));
  std::string reasons;
  bool isCertain = true;
  for (const Attempt attempt : kAttempts) {
    if (!differs(attempt, instructions)) continue;
    request.attempt = attempt;
    auto answer = ask(request);
    // Whoever killed it had a reason that need not be the kernel's.
    if (answer && wasKilled(answer->reply)) answer = ask(request);
    if (!answer) return std::nullopt;
    const UnitReply& reply = answer->reply;
    if (reply.outcome == Outcome::made) return CodeCache::Entry{reply.facts, std::move(answer->bytes)};
    if (reply.outcome == Outcome::refused) return Error{static_cast<CudaError>(reply.detail), std::move(answer->bytes)};
    const std::string reason = "compiling " + std::string(name) + nameOf(attempt) + " " + describe(reply, request);
    isCertain = isCertain && !wasKilled(reply);
    std::fprintf(stderr, "rouse-executor: %s\n", reason.c_str());
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  const Error error{CudaError::invalidKernelImage, reasons};
  if (isCertain) hopeless_.emplace(unit, error);
  return error;
}

}  // namespace rouse::cpu::codegen
