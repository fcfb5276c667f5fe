#include "server/device/ptx/parameter_reach.h"

#include <algorithm>

namespace rouse::ptx {
namespace {

// What a value may be; several where registers have several values, or nothing is known yet (no bit).
using Origins = std::uint8_t;
constexpr Origins kNumber = 1;      // made of constants, or of what is narrower than an address
constexpr Origins kScaled = 2;      // of another number by multiplication: an offset, not an address, unless divided again
constexpr Origins kOwn = 4;         // an address of shared or local memory, of a parameter or a variable
constexpr Origins kParameter = 8;   // a parameter, or the sum of one and numbers
constexpr Origins kUnknown = 16;    // found in memory, or made in another way: perhaps an address

constexpr std::int64_t kHalf = std::int64_t{1} << 32;  // what is less is half of an address at most

// Loops make a pass for each register that a value goes through before it is back; texts that were made for this would make one for each instruction.
constexpr unsigned kMostPasses = 32;

Origins sum(Origins a, Origins b) {
  if (a == 0 || b == 0) return 0;
  const Origins both = a | b;
  Origins made = both & kUnknown;
  // Of pairs, what is more of an address.
  for (const Origins x : {kParameter, kOwn, kScaled, kNumber})
    for (const Origins y : {kParameter, kOwn, kScaled, kNumber})
      if ((a & x) != 0 && (b & y) != 0) made |= std::max(x, y);
  return made;
}

Origins anything(Origins sources) {
  if (sources == 0) return 0;
  return sources == kNumber ? kNumber : kUnknown;
}

class Reach {
 public:
  explicit Reach(const Function& function) : function_(function), origins_(function.registers.size(), 0) {}

  bool isOfParameters() {
    if (std::any_of(function_.instructions.begin(), function_.instructions.end(), [](const Instruction& i) { return leadsElsewhere(i); })) return false;
    for (unsigned pass = 0; pass < kMostPasses; ++pass) {
      isChanged_ = false;
      for (const Instruction& i : function_.instructions) follow(i);
      if (!isChanged_) return std::all_of(function_.instructions.begin(), function_.instructions.end(), [&](const Instruction& i) { return isContained(i); });
    }
    return false;
  }

 private:
  static bool leadsElsewhere(const Instruction& i) {
    switch (i.opcode) {
      case Opcode::tex:
      case Opcode::tld4:
      case Opcode::txq:
      case Opcode::suld:
      case Opcode::suq:
      case Opcode::sust:
        return true;
      case Opcode::cp:
        return i.has(Modifier::bulk);
      default:
        return false;
    }
  }

  bool isWide(std::uint32_t reg) const { return bitsOf(function_.registers[reg]) >= 64; }

  Origins of(const Operand& operand) const {
    switch (operand.kind) {
      case Operand::Kind::reg:
        return isWide(operand.index) && operand.part == Part::whole ? origins_[operand.index] : kNumber;
      case Operand::Kind::symbol:
        return operand.symbol == SymbolKind::function ? kNumber : kOwn;
      case Operand::Kind::vector:
        return kUnknown;  // an address in pieces
      default:
        return kNumber;
    }
  }

  void give(const Operand& to, Origins origins) {
    if (to.kind == Operand::Kind::vector) {
      for (const Operand& element : to.elements) give(element, origins);
    } else if (to.kind == Operand::Kind::reg && isWide(to.index) && (origins_[to.index] | origins) != origins_[to.index]) {
      origins_[to.index] |= origins;
      isChanged_ = true;
    }
  }

  // Of all operands from this one on: any, and all of them together; nothing while one of them has none yet.
  Origins sources(const Instruction& i, std::size_t first) const {
    Origins all = 0;
    for (std::size_t k = first; k < i.operands.size(); ++k) {
      const Origins one = i.operands[k].isMemory ? kUnknown : of(i.operands[k]);
      if (one == 0) return 0;
      all |= one;
    }
    return all == 0 ? kNumber : all;
  }

  Origins either(const Instruction& i, std::size_t a, std::size_t b) const { return of(i.operands[a]) | of(i.operands[b]); }

  // Of two numbers. One that is multiplied by 2^32 and more is perhaps half of an address.
  Origins product(const Instruction& i) const {
    for (const std::size_t k : {1u, 2u}) {
      const Operand& factor = i.operands[k];
      const auto value = static_cast<std::int64_t>(factor.value);
      if (factor.kind == Operand::Kind::integer && (value >= kHalf || value <= -kHalf)) return kUnknown;
    }
    return of(i.operands[1]) == 0 || of(i.operands[2]) == 0 ? Origins{0} : kScaled;
  }
  Origins shifted(const Instruction& i) const {
    const Operand& by = i.operands[2];
    if (by.kind != Operand::Kind::integer || by.value >= 32) return kUnknown;
    return of(i.operands[1]) == 0 ? Origins{0} : kScaled;
  }

  // An address or offset rounded to a multiple, or one with a small offset put into such a one.
  Origins masked(const Instruction& i) const {
    const Origins value = of(i.operands[1]);
    if (value == kOwn) return kOwn;
    constexpr std::uint64_t kLow = 0xfff;
    const Operand& by = i.operands[2];
    if (i.opcode == Opcode::and_ && by.kind == Operand::Kind::integer && by.value < std::uint64_t{kHalf}) return kNumber;  // too small for an address
    const bool isSmall = by.kind == Operand::Kind::integer && (i.opcode == Opcode::or_ ? by.value <= kLow : (by.value | kLow) == ~std::uint64_t{0});
    return isSmall && (value & kUnknown) == 0 ? value : anything(sources(i, 1));
  }

  Origins loaded(const Instruction& i) const {
    if (bitsOf(i.type()) < 64) return kNumber;
    return spaceOf(i) == Space::param ? kParameter : kUnknown;
  }

  Origins made(const Instruction& i) const {
    const auto operand = [&](std::size_t k) { return of(i.operands[k]); };
    switch (i.opcode) {
      case Opcode::ld:
      case Opcode::ldu:
        return loaded(i);
      case Opcode::mov:
      case Opcode::cvta:
        return operand(1);
      case Opcode::cvt:
        // d, a: of a's type.
        return bitsOf(i.type(1)) >= 64 && !isFloat(i.type(0)) && !isFloat(i.type(1)) ? operand(1) : kNumber;
      case Opcode::add:
      case Opcode::sub:
        return isFloat(i.type()) ? kNumber : sum(operand(1), operand(2));
      case Opcode::mul:
        return isFloat(i.type()) || i.has(Modifier::wide) ? kNumber : product(i);
      case Opcode::mad:
        if (isFloat(i.type())) return kNumber;
        return sum(i.has(Modifier::wide) ? kNumber : product(i), operand(3));
      case Opcode::fma:
        return kNumber;
      case Opcode::shl:
        return shifted(i);
      case Opcode::neg:
        return operand(1);
      case Opcode::min:
      case Opcode::max:
      case Opcode::selp:
        return either(i, 1, 2);
      case Opcode::and_:
      case Opcode::or_:
        return masked(i);
      case Opcode::alloca_:
        return kOwn;
      default:
        return anything(sources(i, 1));
    }
  }

  void follow(const Instruction& i) {
    if (i.operands.empty() || i.operands.front().isMemory || i.opcode == Opcode::call) return;
    give(i.operands.front(), made(i));
    if (i.hasSecond) give(i.second, kUnknown);
  }

  // Whether what it accesses is its own, or what parameters lead to.
  bool isContained(const Instruction& i) const {
    const bool copies = i.opcode == Opcode::cp;  // from global to shared memory
    const Space space = spaceOf(i);
    if (!copies && space != Space::generic && space != Space::global) return true;
    for (std::size_t k = 0; k < i.operands.size(); ++k) {
      const Operand& operand = i.operands[k];
      if (!operand.isMemory || (copies && k == 0)) continue;
      const Origins address = of(operand);
      if ((address & kUnknown) != 0 || (address & (kParameter | kOwn)) == 0) return false;
    }
    return true;
  }

  const Function& function_;
  std::vector<Origins> origins_;  // by register
  bool isChanged_ = false;
};

bool callsOnlyAssert(const Module& module, const Function& function) {
  return std::all_of(function.calls.begin(), function.calls.end(), [&](const Call& call) {
    return call.callee.symbol == SymbolKind::function && module.functions[call.callee.index].name == "__assertfail" && !module.functions[call.callee.index].isDefined;
  });
}

}  // namespace

std::set<std::string, std::less<>> kernelsThatReachOnlyParameters(const Module& module) {
  std::set<std::string, std::less<>> names;
  for (const Function& function : module.functions)
    if (function.isKernel && function.isDefined && callsOnlyAssert(module, function) && Reach(function).isOfParameters()) names.emplace(function.name);
  return names;
}

}  // namespace rouse::ptx
