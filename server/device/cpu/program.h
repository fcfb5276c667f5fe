// PTX in, machine code out: the whole of the compiler as the rest of the CPU device sees it. Implemented in ptx/ (parser,
// checks) and codegen/ (LLVM); nothing outside those two folders includes LLVM's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memory/module.h"
#include "schemas/base/result.h"
#include "server/device/cpu/abi.h"

namespace rouse::cpu {

class CodeCache;
class CompileService;

// A 64-bit word in a variable's initial value that holds an address known only once the module is instantiated.
struct Relocation {
  std::uint64_t offset = 0;  // in the variable
  enum class Target : std::uint8_t { variable, function } target = Target::variable;
  std::uint32_t index = 0;   // variable, or function (see Program::functionAddress)
  std::int64_t addend = 0;
};

struct InitialValue {
  std::vector<std::byte> bytes;  // shorter than the variable: the rest is zero
  std::vector<Relocation> relocations;
};

// Where an instruction stands, for people.
struct InstructionSite {
  std::string function;    // mangled
  std::string text;        // of the instruction
  std::uint32_t line = 0;  // of the PTX
  std::string file;        // of the source, where the module tells (-lineinfo, -G); empty: it does not
  std::uint32_t fileLine = 0;
};

// Code::checked: asks before each access whether it may be made (abi.h). Code::flat: of kernels whose loop is for blocks of whole warps in x
// (KernelCode::wholeWarps), one for blocks of any other width and depth 1; Code::row: the same for blocks of one row. Without a loop where there is none.
// Code::full: as plain, for blocks whose width is a multiple of kSideBySide, whose vectors of neighbours have no empty lanes (KernelCode::lanes).
enum class Code : std::uint8_t { plain, checked, flat, row, full };
inline constexpr std::size_t kCodes = 5;
inline constexpr std::uint32_t kSideBySide = 16;  // neighbours in x, at most
constexpr bool isFlat(Code code) { return code == Code::flat || code == Code::row; }

// How a program's kernels are compiled.
struct Compilation {
  std::shared_ptr<CodeCache> cache = nullptr;  // where code that has been made before is found, and new code kept; null: nowhere
  std::shared_ptr<CompileService> service = nullptr;  // in processes of its own, in bounded time and memory; null: in this process, without bounds
  bool sideBySide = true;  // threads may share vectors, where the processor has vectors (AVX2); false to compare
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

  // The code address that a function pointer to function `index` holds, for relocations. Compiles what is needed.
  virtual Result<std::uint64_t> functionAddress(std::uint32_t index, Code = Code::plain) = 0;
  // Of an instruction that begins there in the text, as checked code names it. Any thread; searches all of the text.
  virtual InstructionSite site(std::uint32_t begin) const = 0;
  // Whether its kernels, or initial values, can put an address of code into memory, or take one from there.
  virtual bool handlesCodeAddresses() const = 0;
};

}  // namespace rouse::cpu
