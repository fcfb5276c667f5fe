#include "server/device/cpu/codegen/stack_sizes.h"

#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/DataExtractor.h>

namespace rouse::cpu::codegen {

std::uint64_t stackBytes(std::string_view object) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "unit"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  std::uint64_t bytes = 0;
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    auto name = section.getName();
    auto contents = section.getContents();
    if (!name || !contents) {
      llvm::consumeError(name.takeError());
      llvm::consumeError(contents.takeError());
      continue;
    }
    if (*name != ".stack_sizes") continue;
    const llvm::DataExtractor sizes(*contents, (*file)->isLittleEndian(), sizeof(std::uint64_t));
    llvm::DataExtractor::Cursor at(0);
    while (at && !sizes.eof(at)) {
      (void)sizes.getAddress(at);
      const std::uint64_t size = sizes.getULEB128(at);
      if (at) bytes += size;
    }
    llvm::consumeError(at.takeError());
  }
  return bytes;
}

}  // namespace rouse::cpu::codegen
