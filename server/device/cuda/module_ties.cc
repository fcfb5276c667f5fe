#include "server/device/cuda/module_ties.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>

#include "server/device/cuda/elf_file.h"
#include "server/device/cuda/ptx_tokens.h"

namespace rouse::cuda {
namespace {

constexpr const char* kCode = "its kernels handle addresses of functions";
constexpr const char* kHeap = "its kernels use the device heap";
constexpr std::uint32_t kCallGraph = 0x70000001;  // section type of .nv.callgraph
// Callees from here on are no symbols: calls through pointers, and what could be called by them.
constexpr std::uint32_t kNoSymbol = 0xfffffff0;

// Pairs of symbols, caller and callee (cuobjdump -elf shows them); a caller of 0 is nobody.
std::string ofElf(std::string_view bytes) {
  const ElfFile file(bytes);
  if (file.sections().empty()) return kCode;
  for (const ElfFile::Symbol& symbol : file.symbols())
    if (symbol.name == "malloc") return kHeap;
  bool said = false;
  for (const Elf64_Shdr& section : file.sections()) {
    if (section.sh_type != kCallGraph) continue;
    said = true;
    const std::string_view pairs = file.content(section);
    for (std::size_t at = 0; at + 2 * sizeof(std::uint32_t) <= pairs.size(); at += 2 * sizeof(std::uint32_t)) {
      std::uint32_t call[2];
      std::memcpy(call, pairs.data() + at, sizeof call);
      if (call[0] != 0 && call[1] >= kNoSymbol) return kCode;
    }
  }
  return said ? "" : kCode;
}

std::set<std::string_view> functionsOf(std::string_view text) {
  std::set<std::string_view> names;
  PtxTokens tokens(text);
  int brackets = 0;
  bool awaitsName = false;
  for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
    if (token == ".func") {
      awaitsName = true;
    } else if (token == "(") {
      ++brackets;
    } else if (token == ")") {
      --brackets;
    } else if (awaitsName && brackets == 0 && isWord(token) && token[0] != '.') {
      names.insert(token);
      awaitsName = false;
    }
  }
  return names;
}

// Names of functions anywhere but where they are declared and called directly, and calls of anything else.
std::string ofPtx(std::string_view text) {
  const std::set<std::string_view> functions = functionsOf(text);
  PtxTokens tokens(text);
  bool calls = false, declares = false;
  for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
    if (token == "malloc") return kHeap;
    if (token == ".callprototype" || token == ".calltargets" || token == ".alias") return kCode;
    if (token == ";" || token == "{" || token == "}") {
      calls = declares = false;
    } else if (token == "call" || token.starts_with("call.")) {
      calls = true;
    } else if (token == ".func") {
      declares = true;
    } else if (!calls && !declares && functions.contains(token)) {
      return kCode;
    }
  }
  return {};
}

}  // namespace

std::string moduleTies(std::span<const ModuleImage> images) {
  for (const ModuleImage& image : images)
    if (std::string why = image.ptx ? ofPtx(image.content) : ofElf(image.content); !why.empty()) return why;
  return {};
}

}  // namespace rouse::cuda
