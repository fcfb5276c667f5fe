#include "server/device/ptx/opcodes.h"

#include <unordered_map>

namespace rouse::ptx {
namespace {

// The opcode's word: the enumerator's name, unless C++ has taken it.
constexpr std::string_view word(std::string_view name) { return name; }
constexpr std::string_view word(std::string_view, std::string_view word) { return word; }

}  // namespace

std::optional<Opcode> opcodeNamed(std::string_view text) {
  static const auto* names = new std::unordered_map<std::string_view, Opcode>{
#define ROUSE_PTX_NAME(name, ...) {word(#name __VA_OPT__(, ) __VA_ARGS__), Opcode::name},
      ROUSE_PTX_OPCODES(ROUSE_PTX_NAME)
#undef ROUSE_PTX_NAME
  };
  const auto found = names->find(text);
  if (found == names->end()) return std::nullopt;
  return found->second;
}

}  // namespace rouse::ptx
