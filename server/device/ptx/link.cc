// How units of one text know each other (PTX ISA, "Linking Directives"): by name, where a directive says so. Definitions replace declarations;
// of weak ones the first is kept, unless there is one that is not weak; of common ones the largest.
#include <algorithm>

#include "server/device/ptx/failure.h"
#include "server/device/ptx/parser.h"

namespace rouse::ptx {
namespace {

bool yields(Linkage linkage) { return linkage == Linkage::weak || linkage == Linkage::common; }

[[noreturn]] void failTwice(std::string_view name, std::uint32_t line, std::uint32_t before) {
  failInvalid(line, "'" + std::string(name) + "' is defined twice, first in line " + std::to_string(before));
}

}  // namespace

const Parser::Symbol* Parser::inScope(std::string_view name) const {
  const auto found = scopes_.back().find(name);
  return found == scopes_.back().end() ? nullptr : &found->second;
}

void Parser::declareInUnit(std::string_view name, Symbol symbol, Linkage linkage) {
  declare(name, symbol);
  if (linkage != Linkage::internal) linked_.emplace(name, symbol);
}

// What has this name in this unit, or, where that can be, in one before it; from now on here as well.
const Parser::Symbol* Parser::known(std::string_view name, Linkage linkage, std::uint32_t line) {
  const auto here = scopes_[0].find(name);
  if (linkage == Linkage::internal) return here == scopes_[0].end() ? nullptr : &here->second;
  if (here == scopes_[0].end()) {
    const auto elsewhere = linked_.find(name);
    if (elsewhere == linked_.end()) return nullptr;
    return &scopes_[0].emplace(name, elsewhere->second).first->second;
  }
  // Declared without a directive at first.
  const auto [elsewhere, isNew] = linked_.try_emplace(name, here->second);
  if (!isNew && (elsewhere->second.index != here->second.index || elsewhere->second.kind != here->second.kind))
    failInvalid(line, "'" + std::string(name) + "' is used as this unit's own before, and is another one's");
  return &here->second;
}

// Whether the one that is there stays. Both are aligned as either asks for.
bool Parser::keepsVariable(Variable& old, Variable& found) const {
  old.alignment = found.alignment = std::max(found.alignment, old.alignment);
  if (found.linkage == Linkage::external) return true;
  if (old.linkage == Linkage::external) return false;
  if (!yields(old.linkage) && !yields(found.linkage)) failTwice(found.name, found.line, old.line);
  if (!yields(found.linkage)) return false;
  if (old.linkage != Linkage::common || found.linkage != Linkage::common) return true;
  return old.bytes >= found.bytes;
}

bool Parser::keepsFunction(const Function& old, const Function& found) const {
  if (!old.isDefined) return false;
  if (!yields(old.linkage) && !yields(found.linkage)) failTwice(found.name, found.line, old.line);
  return yields(found.linkage);
}

}  // namespace rouse::ptx
