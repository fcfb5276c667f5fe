#include <algorithm>

#include "server/device/ptx/failure.h"
#include "server/device/ptx/instruction_table.h"
#include "server/device/ptx/parser.h"

namespace rouse::ptx {
namespace {

using Role = OperandForm::Role;

bool matches(const InstructionForm& form, const Instruction& instruction) {
  if (form.types.size() != instruction.typeCount || !instruction.modifiers.within(form.allowed)) return false;
  for (std::size_t i = 0; i < form.types.size(); ++i) {
    if ((form.types[i] >> static_cast<unsigned>(instruction.types[i]) & 1) == 0) return false;
  }
  for (const ModifierGroup& group : form.groups) {
    const std::size_t chosen = group.choices.common(instruction.modifiers);
    if (chosen > 1 || (group.required && chosen == 0)) return false;
  }
  return true;
}

class OperandCheck {
 public:
  OperandCheck(const Module& module, const Function& function, const Instruction& instruction)
      : module_(module), function_(function), instruction_(instruction) {}

  // Empty: the operands are as the form wants them.
  std::string compare(const InstructionForm& form) const {
    std::size_t least = 0;
    for (const OperandForm& operand : form.operands) least += !operand.optional;
    const std::size_t given = instruction_.operands.size();
    if (given < least || given > form.operands.size()) {
      return std::to_string(form.operands.size()) + " operands, found " + std::to_string(given);
    }
    // Optional operands are left out one by one, the last first.
    std::size_t spare = given - least;
    std::size_t at = 0;
    for (const OperandForm& operandForm : form.operands) {
      if (operandForm.optional && spare == 0) continue;
      if (operandForm.optional) --spare;
      const Operand& operand = instruction_.operands[at++];
      const Type type = operandType(operandForm, instruction_.types);
      if (operand.part != Part::whole && !operandForm.part) return "a whole register as operand " + std::to_string(at);
      if (std::string wanted = check(operand, operandForm, type); !wanted.empty()) {
        return wanted + " as operand " + std::to_string(at);
      }
      if (operandForm.second != Type::none && at == 1) {
        if (instruction_.hasSecond && (instruction_.second.part != Part::whole || !isDestination(instruction_.second, operandForm.second, false))) {
          return registerOf(operandForm.second) + " as second destination";
        }
      }
    }
    const bool mayHaveSecond = !form.operands.empty() && form.operands[0].second != Type::none;
    if (instruction_.hasSecond && !mayHaveSecond) return "one destination";
    return {};
  }

 private:
  static std::string registerOf(Type type) { return "a register of ." + std::string(nameOf(type)); }

  bool isRegister(const Operand& operand, Type type, bool wider) const {
    if (operand.kind != Operand::Kind::reg || operand.isMemory || operand.index >= function_.registers.size())
      return false;
    const Type declared = function_.registers[operand.index];
    if ((declared == Type::pred) != (type == Type::pred)) return false;
    return wider ? bitsOf(declared) >= bitsOf(type) : bitsOf(declared) == bitsOf(type);
  }

  bool isDestination(const Operand& operand, Type type, bool wider) const {
    if (operand.negated) return false;
    return (operand.kind == Operand::Kind::sink && !operand.isMemory) || isRegister(operand, type, wider);
  }

  bool isSource(const Operand& operand, Type type, bool wider) const {
    if (operand.isMemory) return false;
    switch (operand.kind) {
      case Operand::Kind::reg:
        return (!operand.negated || type == Type::pred) && isRegister(operand, type, wider);
      case Operand::Kind::integer:
        return true;
      case Operand::Kind::float32:
      case Operand::Kind::float64:
        return bitsOf(type) >= 16 && bitsOf(type) <= 64;
      case Operand::Kind::special:
        return type != Type::pred ? bitsOf(type) >= 32 && bitsOf(type) <= 64
                                  : operand.special == SpecialRegister::is_explicit_cluster;
      default:
        return false;
    }
  }

  bool isAddress(const Operand& operand) const {
    switch (operand.kind) {
      case Operand::Kind::reg:
        return isRegister(operand, Type::b64, false) || isRegister(operand, Type::b32, false);
      case Operand::Kind::integer:
        return true;
      case Operand::Kind::symbol:
        return true;
      default:
        return false;
    }
  }

  std::uint32_t vectorLength() const {
    if (instruction_.has(Modifier::v2)) return 2;
    if (instruction_.has(Modifier::v4)) return 4;
    return instruction_.has(Modifier::v8) ? 8 : 1;
  }

  std::string check(const Operand& operand, const OperandForm& form, Type type) const {
    switch (form.role) {
      case Role::destination:
      case Role::wideDestination:
        return isDestination(operand, type, form.role == Role::wideDestination) ? "" : registerOf(type);
      case Role::source:
      case Role::wideSource:
        return isSource(operand, type, form.role == Role::wideSource) ? "" : registerOf(type) + " or a constant";
      case Role::loaded:
      case Role::stored:
        return checkTransfer(operand, type, form.role == Role::loaded);
      case Role::address:
        return !operand.isMemory && isAddress(operand) ? "" : "a register or variable that holds an address";
      case Role::memory: {
        if (!operand.isMemory || !operand.elements.empty()) return "an address in brackets";
        if (operand.kind == Operand::Kind::symbol) return checkVariable(operand);
        Operand base = operand;
        base.isMemory = false;
        return isAddress(base) ? "" : "an address of 32 or 64 bits";
      }
      case Role::texture:
        return checkTexture(operand);
      case Role::tensor:
        return checkTensor(operand);
      case Role::constant:
        return operand.kind == Operand::Kind::integer && !operand.isMemory ? "" : "an integer constant";
      case Role::fragmentDestination:
      case Role::fragmentSource:
        return checkFragment(operand, form, type);
      case Role::label:
        return operand.kind == Operand::Kind::label ? "" : "a label";
      case Role::targets:
        return operand.kind == Operand::Kind::list ? "" : "a list of branch targets";
    }
    return "another operand";
  }

  std::string checkTransfer(const Operand& operand, Type type, bool loaded) const {
    const auto fits = [&](const Operand& element) {
      return loaded ? isDestination(element, type, true) : isSource(element, type, true);
    };
    const std::uint32_t length = vectorLength();
    if (length * bitsOf(type) > 256) return "a vector of at most 256 bits";
    if (length == 1) return fits(operand) ? "" : registerOf(type);
    if (operand.kind != Operand::Kind::vector || operand.elements.size() != length) {
      return "a vector of " + std::to_string(length);
    }
    for (const Operand& element : operand.elements) {
      if (!fits(element)) return "a vector of registers of ." + std::string(nameOf(type));
    }
    return {};
  }

  std::string checkFragment(const Operand& operand, const OperandForm& form, Type type) const {
    const auto fits = [&](const Operand& element) {
      return form.role == Role::fragmentDestination ? isDestination(element, type, form.wide)
                                                    : isSource(element, type, form.wide);
    };
    const std::uint32_t count = form.byColumns ? instruction_.columns / form.count : form.count;
    if (operand.isMemory) return "a fragment of " + std::to_string(count) + " registers";
    if (count == 1 && operand.kind != Operand::Kind::vector) return fits(operand) ? "" : registerOf(type);
    if (operand.kind != Operand::Kind::vector || operand.elements.size() != count ||
        !std::ranges::all_of(operand.elements, fits))
      return "a fragment of " + std::to_string(count) + " registers of ." + std::string(nameOf(type));
    return {};
  }

  std::string checkTexture(const Operand& operand) const {
    std::uint32_t coordinates = 4;
    if (instruction_.has(Modifier::geometry_1d)) coordinates = 1;
    if (instruction_.has(Modifier::geometry_2d) || instruction_.has(Modifier::geometry_a1d)) coordinates = 2;
    Operand base = operand;
    base.isMemory = false;
    if (!operand.isMemory || operand.value != 0 || !isRegister(base, Type::b64, false))
      return "a texture or surface object in a register of 64 bits, in brackets";
    const auto fits = [&](const Operand& element) { return isSource(element, Type::b32, false); };
    if (operand.elements.size() != coordinates || !std::ranges::all_of(operand.elements, fits))
      return std::to_string(coordinates) + " coordinates of 32 bits";
    return {};
  }

  std::string checkTensor(const Operand& operand) const {
    std::uint32_t coordinates = 1;
    for (const Modifier dimensions : {Modifier::geometry_1d, Modifier::geometry_2d, Modifier::geometry_3d, Modifier::geometry_4d}) {
      if (instruction_.has(dimensions)) break;
      ++coordinates;
    }
    Operand base = operand;
    base.isMemory = false;
    if (!operand.isMemory || operand.value != 0 || !isRegister(base, Type::b64, false)) return "the address of a tensor map in a register of 64 bits, in brackets";
    if (operand.elements.size() != coordinates || !std::ranges::all_of(operand.elements, [&](const Operand& element) { return isSource(element, Type::b32, false); }))
      return std::to_string(coordinates) + " coordinates of 32 bits";
    return {};
  }

  // A variable named in brackets lies in the instruction's state space, or the instruction is generic.
  std::string checkVariable(const Operand& operand) const {
    Space space = Space::global;
    switch (operand.symbol) {
      case SymbolKind::variable:
        space = module_.variables[operand.index].space;
        break;
      case SymbolKind::shared:
        space = Space::shared;
        break;
      case SymbolKind::local:
        space = Space::local;
        break;
      case SymbolKind::parameter:
        space = Space::param;
        break;
      default:
        return "a variable";
    }
    const Space wanted = spaceOf(instruction_);
    const bool copies = instruction_.opcode == Opcode::cp;
    if (copies || wanted == space || wanted == Space::generic) return {};
    return "a variable of the instruction's state space";
  }

  const Module& module_;
  const Function& function_;
  const Instruction& instruction_;
};

// mov also packs and unpacks vectors: all elements are of one width, the type's bits divided by their number (PTX ISA,
// "mov" with vector operands). Literals may be packed, and what is unpacked may be dropped.
std::string checkMove(const Function& function, const Instruction& instruction) {
  const std::size_t bits = bitsOf(instruction.type());
  if (instruction.operands.size() != 2 || instruction.hasSecond) return "two operands";
  const Operand& to = instruction.operands[0];
  const Operand& from = instruction.operands[1];
  if (to.kind == Operand::Kind::vector && from.kind == Operand::Kind::vector) return "one vector";
  const auto fits = [&](const Operand& element, std::size_t width, Operand::Kind other) {
    if (element.isMemory || element.negated) return false;
    if (element.kind == other) return true;
    return element.kind == Operand::Kind::reg && function.registers[element.index] != Type::pred &&
           bitsOf(function.registers[element.index]) == width;
  };
  for (const Operand* operand : {&to, &from}) {
    if (operand->kind != Operand::Kind::vector) continue;
    const Operand::Kind other = operand == &to ? Operand::Kind::sink : Operand::Kind::integer;
    const std::size_t width = bits / operand->elements.size();
    const bool even = width * operand->elements.size() == bits;
    if (!even || !std::ranges::all_of(operand->elements, [&](const Operand& e) { return fits(e, width, other); })) {
      return "elements of " + std::to_string(bits) + " bits in all";
    }
  }
  return {};
}

}  // namespace

void checkInstruction(const Module& module, const Function& function, const Instruction& instruction) {
  const auto quote = [&] { return "'" + module.textOf(instruction) + "'"; };
  if (instruction.opcode == Opcode::mov && instruction.operands.size() == 2) {
    const Operand& to = instruction.operands[0];
    const Operand& from = instruction.operands[1];
    const bool isVector = to.kind == Operand::Kind::vector || from.kind == Operand::Kind::vector;
    const bool isAddress = from.kind == Operand::Kind::symbol;
    if (isVector || isAddress) {
      std::string wanted = checkMove(function, instruction);
      Instruction plain = instruction;
      const std::uint32_t bits = bitsOf(instruction.type());
      if (isAddress && (from.isMemory || (bits != 32 && bits != 64))) wanted = "a 32 or 64-bit type to hold an address";
      if (wanted.empty()) {
        // What is left of the instruction is checked as an ordinary move.
        Operand zero;
        zero.kind = Operand::Kind::integer;
        if (to.kind == Operand::Kind::vector) plain.operands[0] = Operand{};
        if (to.kind != Operand::Kind::vector || from.kind == Operand::Kind::vector) plain.operands[1] = zero;
        return checkInstruction(module, function, plain);
      }
      failInvalid(instruction.line, quote() + ": expected " + wanted);
    }
  }
  std::string wanted;
  for (const InstructionForm* form : formsOf(instruction.opcode)) {
    if (!matches(*form, instruction)) continue;
    wanted = OperandCheck(module, function, instruction).compare(*form);
    if (wanted.empty()) return;
  }
  if (!wanted.empty()) failInvalid(instruction.line, quote() + ": expected " + wanted);
  failUnsupported(instruction.line, "instruction " + quote() + " is not supported");
}

}  // namespace rouse::ptx
