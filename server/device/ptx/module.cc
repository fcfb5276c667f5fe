#include "server/device/ptx/module.h"

#include <algorithm>

namespace rouse::ptx {
namespace {

constexpr std::size_t kLongestQuote = 160;

}  // namespace

Space spaceOf(const Instruction& instruction) {
  using enum Modifier;
  if (instruction.has(global)) return Space::global;
  if (instruction.has(shared) || instruction.has(shared_cta) || instruction.has(shared_cluster)) return Space::shared;
  if (instruction.has(local)) return Space::local;
  if (instruction.has(constant)) return Space::constant;
  if (instruction.has(param) || instruction.has(param_entry) || instruction.has(param_func)) return Space::param;
  return Space::generic;
}

void leaveOut(Function& function, std::string why) {
  if (function.notCovered.empty()) function.notCovered = std::move(why);
  function.registers.clear();
  function.locals.clear();
  function.parameters.resize(std::min(function.parameters.size(), function.signature.inputs.size() + function.signature.results.size()));
  function.instructions.clear();
  function.labels.clear();
  function.targetLists.clear();
  function.prototypes.clear();
  function.calls.clear();
}

std::string Module::textOf(const Instruction& instruction) const {
  std::string quote;
  bool blank = false;
  for (std::size_t i = instruction.begin; i < instruction.end && i < text.size() && quote.size() < kLongestQuote; ++i) {
    const char c = text[i];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      blank = !quote.empty();
    } else {
      if (blank) quote += ' ';
      blank = false;
      quote += c;
    }
  }
  return quote;
}

}  // namespace rouse::ptx
