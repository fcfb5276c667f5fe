// PTX in, machine code out: the whole of the compiler as the rest of the CPU device sees it. Implemented in ../ptx (parser,
// checks) and codegen/ (LLVM); nothing outside codegen/ includes LLVM's headers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memory/device.h"
#include "schemas/base/result.h"
#include "server/device/cpu/abi.h"
#include "server/device/ptx/initial_value.h"

namespace rouse::cpu {

class CodeCache;
class CompileService;

using ptx::InitialValue;
using ptx::Relocation;  // of a variable, or a function (see Program::functionAddress)

// Where an instruction stands, for people.
struct InstructionSite {
  std::string function;    // mangled
  std::string text;        // of the instruction
  std::uint32_t line = 0;  // of the PTX
  std::string file;        // of the source, where the module tells (-lineinfo, -G); empty: it does not
  std::uint32_t fileLine = 0;
};

inline constexpr std::uint32_t kSideBySide = 16;  // neighbours in x, at most

// What a kernel's code is for.
struct Code {
  enum Form : std::uint8_t {
    plain,
    checked,  // asks before each access whether it may be made (abi.h)
    clustered,  // for clusters of several blocks: each has its own part of their shared memory (abi.h)
    full,     // as plain, for blocks whose width is a multiple of kSideBySide, whose vectors of neighbours have no empty lanes (KernelCode::lanes)
    // For blocks whose threads go by their number in the block: of other widths than those of whole warps, where warps exchange values (KernelCode::wholeWarps); of short rows else. No more than a loop, if there is one.
    row,   // blocks of one row
    flat,  // of depth 1
    deep,  // of any depth
  };
  Form form = plain;
  std::uint8_t width = 0;    // flat and deep: of the blocks, a power of two; 0: any
  std::uint16_t height = 0;  // deep: the same

  constexpr Code(Form form = plain) : form(form) {}
  constexpr Code(Form form, std::uint32_t width, std::uint32_t height = 0)
      : form(form), width(static_cast<std::uint8_t>(width)), height(static_cast<std::uint16_t>(height)) {}
  auto operator<=>(const Code&) const = default;
  constexpr bool goesByNumber() const { return form >= row; }
};

// How a program's kernels are compiled.
struct Compilation {
  std::shared_ptr<CodeCache> cache = nullptr;  // where code that has been made before is found, and new code kept; null: nowhere
  std::shared_ptr<CompileService> service = nullptr;  // in processes of its own, in bounded time and memory; null: in this process, without bounds
  bool sideBySide = true;  // threads may share vectors, where the processor has vectors (AVX2); false to compare
  bool leavesOut = false;  // functions that need what is not covered make those kernels fail that call them, when they are compiled, not the module; but one without any other kernel
};

class Program {
 public:
  // Parses and checks the whole module. Fails with invalidPtx (malformed: line and what was expected) or notSupported (the
  // first instruction, directive or type that is not covered: its text and line). No code is generated yet.
  static Result<std::unique_ptr<Program>> translate(std::string_view ptx, Compilation how = {});

  virtual ~Program() = default;
  virtual const memory::ModuleDescription& description() const = 0;
  virtual const std::vector<InitialValue>& initialValues() const = 0;  // one for each variable

  // Compiles a kernel with all that it calls, once; later calls return the same code. Of plain and full, where there is no difference between them, any that there is. Any thread; slow the first time.
  virtual Result<KernelCode> compile(std::uint32_t kernel, Code = Code::plain) = 0;
  // Whether the kernel does what is otherwise in a cluster of several blocks; where not, it may run as if there were none.
  virtual bool usesClusters(std::uint32_t kernel) const = 0;

  // For blocks of that shape: of plain and full what is better, with the loop of another form where that one's is not for them; what is needed is compiled. A loop that does not get compiled is none.
  Result<KernelCode> compileFor(std::uint32_t kernel, const memory::Dim3& block);

  // The code address that a function pointer to function `index` holds, for relocations. Compiles what is needed.
  virtual Result<std::uint64_t> functionAddress(std::uint32_t index, Code = Code::plain) = 0;
  // Of an instruction that begins there in the text, as checked code names it. Any thread; searches all of the text.
  virtual InstructionSite site(std::uint32_t begin) const = 0;
  // Whether its kernels, or initial values, can put an address of code into memory, or take one from there.
  virtual bool handlesCodeAddresses() const = 0;
};

}  // namespace rouse::cpu
