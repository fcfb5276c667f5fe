// What is compiled at once, and at what effort: from PTX to an object file, in whatever process. Linking is compile.h's.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/base/result.h"
#include "server/device/cpu/codegen/code_cache.h"
#include "server/device/cpu/program.h"
#include "server/device/ptx/call_graph.h"

namespace rouse::cpu::codegen {

// A kernel with what it calls, or the functions whose address is taken.
struct Unit {
  std::optional<std::uint32_t> function;  // none: those whose address is taken
  Code code = Code::plain;
  bool pointersWait = false;  // functions called through pointers may
  bool sideBySide = true;     // false: no threads in vectors (lanes.h)

  auto operator<=>(const Unit&) const = default;
  bool checked() const { return code == Code::checked; }
  // Whether each thread is a fiber, whatever the kernel does.
  bool forFibers() const { return checked() || code == Code::clustered; }
  std::string entryName() const { return "rouse." + formName() + "entry." + std::to_string(*function); }
  std::string loopName() const { return "rouse." + formName() + "loop." + std::to_string(*function); }
  // Of its code: each has its own.
  std::string formName() const {
    constexpr const char* kNames[] = {"", "checked.", "clustered.", "full.", "row.", "flat.", "deep."};
    std::string name = kNames[code.form];
    if (code.form >= Code::flat) name += std::to_string(code.width) + ".";
    if (code.form == Code::deep) name += std::to_string(code.height) + ".";
    return name;
  }
};

// What the cache keeps beside an object.
enum Fact : std::size_t { kStaticShared, kReservedShared, kLocal, kHasLoop, kWaits, kFrame, kForm, kSharedAlignment };
// Of kForm, as in KernelCode.
constexpr std::uint32_t kWholeWarps = 1, kRows = 2, kMayPoll = 4, kLanes = 8;

// LLVM does not come to an end with every module: each attempt asks less of it, for code that is as right and slower. whole: all that the processor has;
// narrow: without AVX-512, whose instruction selection knows most ways to rewrite; plain: one thread at a time, without optimization.
enum class Attempt : std::uint8_t { whole, narrow, plain };
inline constexpr std::array kAttempts = {Attempt::whole, Attempt::narrow, Attempt::plain};
// Whether it is anything else than the one before, of so many instructions of PTX on this processor.
bool differs(Attempt, std::size_t instructions);

// How many instructions it compiles, for limits: of PTX, before anything is inlined.
std::size_t instructionsOf(const ptx::Module&, const ptx::CallGraph&, const Unit&);

// Throws ptx::Failure. On a stack of its own (large_stack.h), any thread.
Result<CodeCache::Entry> translateUnit(const ptx::Module&, const ptx::CallGraph&, const Unit&, Attempt);

}  // namespace rouse::cpu::codegen
