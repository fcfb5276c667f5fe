#include "server/device/cpu/codegen/compile.h"

#include <llvm/Config/llvm-config.h>
#include <llvm/Support/SHA256.h>

#include <cstdio>

#include "server/device/cpu/codegen/compiler_identity.h"
#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

CodeCache::Key hashOf(std::string_view text) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(text.data(), text.size()));
  return hash.final();
}

std::string pointerName(std::uint32_t function, Code code) { return ModuleEmitter::pointerName(function, code); }

namespace {

CodeCache::Key keyOf(const Source& source, const Unit& unit) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(LLVM_VERSION_STRING " " ROUSE_COMPILER_SOURCES " "));
  hash.update(llvm::StringRef(hostName()));
  hash.update(llvm::ArrayRef(source.text));
  hash.update(llvm::StringRef(unit.formName()));
  hash.update(llvm::StringRef(unit.function ? "kernel " + std::to_string(*unit.function) + (unit.pointersWait ? " waits" : "") : "pointers"));
  if (!unit.sideBySide) hash.update(llvm::StringRef(" one by one"));
  return hash.final();
}

std::string nameOf(const Source& source, const Unit& unit) {
  return unit.function ? "kernel " + std::string(source.module.functions[*unit.function].name) : "the functions that are called through pointers";
}

Result<CodeCache::Entry> make(const Source& source, const Unit& unit) {
  if (source.compiler != nullptr) {
    if (auto made = source.compiler->compile(unit, nameOf(source, unit), instructionsOf(source.module, source.graph, unit))) return std::move(*made);
    std::fprintf(stderr, "rouse-executor: no process to compile %s in: compiled in this one, without limits\n", nameOf(source, unit).c_str());
  }
  return translateUnit(source.module, source.graph, unit, Attempt::whole);
}

// Linked. Its facts.
Result<CodeCache::Entry> build(Jit& jit, const Source& source, const Unit& unit) {
  std::optional<CodeCache::Key> key;
  std::optional<CodeCache::Entry> entry;
  if (source.cache != nullptr) entry = source.cache->find(key.emplace(keyOf(source, unit)));
  if (!entry) {
    auto made = make(source, unit);
    if (!made) return std::move(made).error();
    if (key) source.cache->store(*key, *made);
    entry = std::move(*made);
  }
  if (Status added = jit.add(entry->object); !added) return added.error();
  return std::move(*entry);
}

}  // namespace

Result<KernelCode> compileKernel(Jit& jit, const Source& source, const KernelUnit& kernel) {
  const Unit unit{kernel.function, kernel.code, kernel.pointersWait, source.sideBySide};
  const auto built = build(jit, source, unit);
  if (!built) return built.error();
  KernelCode code;
  code.staticSharedBytes = built->facts[kStaticShared];
  code.reservedSharedBytes = built->facts[kReservedShared];
  code.sharedAlignment = built->facts[kSharedAlignment];
  code.localBytes = built->facts[kLocal];
  const Result<std::uint64_t> entry = jit.find(unit.entryName());
  if (!entry) return entry.error();
  code.entry = reinterpret_cast<KernelEntry>(*entry);
  code.wholeWarps = (built->facts[kForm] & kWholeWarps) != 0;
  if (built->facts[kHasLoop] != 0) {
    const Result<std::uint64_t> loop = jit.find(unit.loopName());
    if (!loop) return loop.error();
    code.loop = reinterpret_cast<BlockLoop>(*loop);
    code.frameBytes = built->facts[kFrame];
    code.rows = (built->facts[kForm] & kRows) != 0;
    code.lanes = (built->facts[kForm] & kLanes) != 0;
    code.mayPoll = (built->facts[kForm] & kMayPoll) != 0;
  }
  return code;
}

Result<bool> compilePointers(Jit& jit, const Source& source, Code code) {
  const auto built = build(jit, source, {std::nullopt, code, false, source.sideBySide});
  if (!built) return built.error();
  return built->facts[kWaits] != 0;
}

}  // namespace rouse::cpu::codegen
