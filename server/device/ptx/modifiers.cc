#include "server/device/ptx/modifiers.h"

#include <unordered_map>

namespace rouse::ptx {

std::optional<Modifier> modifierNamed(std::string_view word) {
  static const auto* names = new std::unordered_map<std::string_view, Modifier>{
#define ROUSE_PTX_NAME(name, word) {word, Modifier::name},
      ROUSE_PTX_MODIFIERS(ROUSE_PTX_NAME)
#undef ROUSE_PTX_NAME
  };
  const auto found = names->find(word);
  if (found == names->end()) return std::nullopt;
  return found->second;
}

Modifier inOrder(Modifier modifier, const ModifierSet& before) {
  if (!before.has(Modifier::row) && !before.has(Modifier::col)) return modifier;
  if (modifier == Modifier::row) return Modifier::second_row;
  return modifier == Modifier::col ? Modifier::second_col : modifier;
}

}  // namespace rouse::ptx
