// Which line of its source an instruction comes from, where the module says so (PTX ISA, "Debugging Directives").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rouse::ptx {

struct SourceLine {
  std::string file;
  std::uint32_t line = 0;
  // Where that was inlined, in the end; empty: it was not.
  std::string inlinedFile;
  std::uint32_t inlinedLine = 0;
};

// Of what begins at `offset` of a module's text: as the last .loc of the same function before it says. Reads the text, not what was
// parsed of it: nobody else needs these directives.
std::optional<SourceLine> sourceLineAt(std::string_view text, std::size_t offset);

}  // namespace rouse::ptx
