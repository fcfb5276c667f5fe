#include "server/device/cuda/printing_kernels.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "server/device/cuda/elf_file.h"
#include "server/device/cuda/ptx_tokens.h"

namespace rouse::cuda {
namespace {

constexpr std::string_view kPrint = "vprintf";
constexpr std::uint32_t kCallGraph = 0x70000001;  // section type of .nv.callgraph
// Callees from here on are no symbols: calls through pointers, and what could be called by them.
constexpr std::uint32_t kNoSymbol = 0xfffffff0;

// Pairs of symbols, caller and callee (cuobjdump -elf shows them).
void ofElf(std::string_view bytes, PrintingKernels& found) {
  const ElfFile file(bytes);
  const std::vector<ElfFile::Symbol> symbols = file.symbols();
  bool named = false;
  std::vector<bool> prints(symbols.size());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    prints[i] = symbols[i].name == kPrint;
    named = named || prints[i];
  }
  if (!named) {
    if (file.sections().empty() || bytes.find(kPrint) != std::string_view::npos) found.all = true;
    return;
  }
  struct Call {
    std::uint32_t caller, callee;
  };
  std::vector<Call> calls;
  for (const Elf64_Shdr& section : file.sections()) {
    if (section.sh_type != kCallGraph) continue;
    const std::string_view pairs = file.content(section);
    for (std::size_t at = 0; at + sizeof(Call) <= pairs.size(); at += sizeof(Call)) {
      Call call{};
      std::memcpy(&call, pairs.data() + at, sizeof call);
      if (call.caller != 0 && call.caller < symbols.size()) calls.push_back(call);
    }
  }
  bool called = false;
  for (bool grown = true; grown;) {
    grown = false;
    for (const Call& call : calls) {
      if (prints[call.caller]) continue;
      if (call.callee >= kNoSymbol || (call.callee < symbols.size() && prints[call.callee]))
        prints[call.caller] = grown = called = true;
    }
  }
  if (!called) found.all = true;
  for (std::size_t i = 0; i < symbols.size(); ++i)
    if (prints[i]) found.names.emplace(symbols[i].name);
}

// The bodies of entries that name it. Functions that do may be called from anywhere.
void ofPtx(std::string_view text, PrintingKernels& found) {
  PtxTokens tokens(text);
  int depth = 0;
  bool entry = false, awaitsName = false;
  std::string_view name;
  for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
    if (token == "{") {
      ++depth;
    } else if (token == "}") {
      --depth;
    } else if (depth > 0) {
      if (token != kPrint) continue;
      if (entry)
        found.names.emplace(name);
      else
        found.all = true;
    } else if (token == ".entry" || token == ".func") {
      entry = awaitsName = token == ".entry";
    } else if (awaitsName && isWord(token)) {
      name = token;
      awaitsName = false;
    }
  }
}

}  // namespace

PrintingKernels printingKernels(std::span<const ModuleImage> images) {
  PrintingKernels found;
  for (const ModuleImage& image : images) image.ptx ? ofPtx(image.content, found) : ofElf(image.content, found);
  return found;
}

}  // namespace rouse::cuda
