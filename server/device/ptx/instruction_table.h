// The instructions that are covered, with the types, modifiers and operands that each form takes. An instruction that
// matches a row is one that codegen/ lowers; everything else is refused when the module is translated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/device/ptx/modifiers.h"
#include "server/device/ptx/opcodes.h"
#include "server/device/ptx/types.h"

namespace rouse::ptx {

using TypeSet = std::uint64_t;  // bit per Type
static_assert(static_cast<unsigned>(Type::count) <= 64);

// One of these modifiers; at most one, and at least one if required.
struct ModifierGroup {
  ModifierSet choices;
  bool required = false;
};

struct OperandForm {
  enum class Role : std::uint8_t {
    destination,      // register as wide as the type, or _
    wideDestination,  // register at least as wide as the type
    source,           // register as wide as the type, constant, special register
    wideSource,       // register at least as wide as the type, constant, special register
    loaded,           // wideDestination, or a vector of them with .v2/.v4/.v8
    stored,           // wideSource, or a vector
    address,          // 64-bit register or the address of a variable
    memory,           // [address]
    constant,         // integer constant
    label,
    targets,              // list of labels
    fragmentDestination,  // vector of `count` registers as wide as the type, or a register where that is 1
    fragmentSource,       // the same, constants too
    texture,              // [object, {coordinates}], as many as the geometry has
    tensor,               // [map, {coordinates}], as many as there are dimensions
  };
  Role role = Role::source;
  // What type the operand has: of the instruction's types, or fixed, or twice as wide as the first.
  std::int8_t typeIndex = 0;  // -1: fixed; -2: twice the first
  Type fixed = Type::none;
  bool optional = false;
  Type second = Type::none;  // type of an optional second destination, d|p
  std::uint8_t count = 0;    // of registers in a fragment
  bool byColumns = false;    // count is that of columns a register, of a warpgroup's accumulators
  bool wide = false;         // which may be wider than the type
  bool part = false;         // a byte or a half of the register may be named
};

struct InstructionForm {
  Opcode opcode;
  std::vector<TypeSet> types;
  std::vector<ModifierGroup> groups;
  ModifierSet allowed;
  std::vector<OperandForm> operands;
};

// All forms, in the table's order.
const std::vector<InstructionForm>& instructionForms();

// The forms of one opcode.
const std::vector<const InstructionForm*>& formsOf(Opcode);

// The type of an operand of an instruction with these types.
Type operandType(const OperandForm&, const Type* types);

}  // namespace rouse::ptx
