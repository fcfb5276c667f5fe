#include "server/device/ptx/modifiers.h"

#include <charconv>
#include <unordered_map>
#include <utility>

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

std::optional<WarpgroupShape> warpgroupShapeNamed(std::string_view word) {
  constexpr std::string_view kBegin = "m64n";
  constexpr std::uint16_t kStep = 8, kMost = 256;
  constexpr std::pair<std::string_view, Modifier> kEnds[] = {
      {"k8", Modifier::m64k8}, {"k16", Modifier::m64k16}, {"k32", Modifier::m64k32}, {"k64", Modifier::m64k64}, {"k256", Modifier::m64k256}};
  if (!word.starts_with(kBegin)) return std::nullopt;
  word.remove_prefix(kBegin.size());
  std::uint16_t columns = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), columns);
  if (error != std::errc() || word.starts_with('0') || columns > kMost || columns % kStep != 0) return std::nullopt;
  word.remove_prefix(static_cast<std::size_t>(end - word.data()));
  for (const auto& [text, modifier] : kEnds) {
    if (word == text) return WarpgroupShape{modifier, columns};
  }
  return std::nullopt;
}

Modifier inOrder(Modifier modifier, const ModifierSet& before) {
  if (!before.has(Modifier::row) && !before.has(Modifier::col)) return modifier;
  if (modifier == Modifier::row) return Modifier::second_row;
  return modifier == Modifier::col ? Modifier::second_col : modifier;
}

}  // namespace rouse::ptx
