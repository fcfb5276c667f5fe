// A PTX module after parsing: names are resolved to indices, instructions are checked against the instruction table
// (instruction_table.h), nothing is generated yet. A text may hold several units, each with a .version of its own, as parts of a program
// that were compiled separately (nvcc -rdc=true): they are linked by their names while they are parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/cluster.h"
#include "server/device/ptx/modifiers.h"
#include "server/device/ptx/opcodes.h"
#include "server/device/ptx/special_registers.h"
#include "server/device/ptx/types.h"

namespace rouse::ptx {

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

enum class Space : std::uint8_t { generic, global, shared, local, constant, param };

// A word of an initial value that holds an address.
struct AddressValue {
  std::uint64_t offset = 0;  // bytes from the beginning of the variable
  bool isFunction = false;
  std::uint32_t index = 0;  // Module::variables or Module::functions
  std::int64_t addend = 0;
  std::uint64_t mask = ~std::uint64_t{0};  // of PTX's mask() operator: one byte of the address, stored as a byte
};

// Who else knows a name (PTX ISA, "Linking Directives"). All but `internal` are known to the other units of a module.
enum class Linkage : std::uint8_t { internal, visible, weak, common, external };

struct Variable {
  std::string_view name;  // names are parts of Module::text
  Space space = Space::global;
  Linkage linkage = Linkage::internal;
  Type type = Type::b8;
  bool isArray = false;
  bool isManaged = false;
  std::uint32_t alignment = 1;
  std::uint64_t bytes = 0;  // 0: extern array without a size (dynamic shared memory)
  std::vector<std::byte> initial;
  std::vector<AddressValue> addresses;
  std::uint32_t line = 0;
};

// A kernel's or function's formal parameter, a function's result, or a .param variable of a call sequence.
struct Parameter {
  enum class Role : std::uint8_t { input, result, temporary };
  std::string_view name;
  Role role = Role::input;
  Type type = Type::b8;
  bool isArray = false;
  bool isRegister = false;  // declared .reg (device functions only); `registerIndex` names it
  std::uint32_t registerIndex = kNone;
  std::uint32_t alignment = 1;
  std::uint32_t bytes = 0;
  std::uint32_t offset = 0;  // inputs of a kernel: in the parameter block
};

// What a caller and a callee have to agree about.
struct Signature {
  std::vector<Parameter> results;
  std::vector<Parameter> inputs;
  bool noReturn = false;
};

enum class SymbolKind : std::uint8_t { none, variable, shared, local, parameter, function };

// A byte or a half of a register, as operands of scalar video instructions name them: r.b0, r.h1.
enum class Part : std::uint8_t { whole, b0, b1, b2, b3, h0, h1 };

struct Operand {
  enum class Kind : std::uint8_t { reg, sink, integer, float32, float64, special, symbol, vector, label, list };
  Kind kind = Kind::sink;
  bool isMemory = false;  // in [ ]; kind reg, symbol or integer, plus `value`
  bool negated = false;   // !predicate
  SymbolKind symbol = SymbolKind::none;
  SpecialRegister special = SpecialRegister::tid;
  std::uint8_t component = 0;  // of a special register: 0 x to 3 w
  Part part = Part::whole;     // of a register
  // reg: Function::registers; symbol: where `symbol` says; label: Function::labels; list: Function::targetLists
  std::uint32_t index = 0;
  std::uint64_t value = 0;        // integer or floating-point bits; symbols and memory: offset in bytes
  std::vector<Operand> elements;  // vector
};

struct Call {
  std::vector<Operand> results;
  std::vector<Operand> arguments;
  Operand callee;                   // function symbol or register
  std::uint32_t prototype = kNone;  // Function::prototypes, of an indirect call
};

struct Instruction {
  Opcode opcode = Opcode::count;
  std::uint8_t typeCount = 0;
  Type types[4] = {Type::none, Type::none, Type::none, Type::none};
  ModifierSet modifiers;
  std::uint16_t columns = 0;  // N of a warpgroup's shape, m64nNk16 and the like; 0: it has none
  bool hasGuard = false;
  bool guardNegated = false;
  std::uint32_t guard = 0;     // register
  std::uint32_t call = kNone;  // Function::calls
  std::vector<Operand> operands;
  Operand second;  // the second destination of `d|p`
  bool hasSecond = false;
  std::uint32_t line = 0;
  std::uint32_t begin = 0, end = 0;  // in Module::text

  Type type(std::size_t i = 0) const { return types[i]; }
  bool has(Modifier modifier) const { return modifiers.has(modifier); }
};

// The state space that an instruction's modifiers name; generic without one.
Space spaceOf(const Instruction&);

struct Function {
  std::string_view name;
  bool isKernel = false;
  bool isDefined = false;
  Linkage linkage = Linkage::internal;
  std::uint32_t aliasOf = kNone;
  Signature signature;
  std::uint32_t parameterBytes = 0;  // kernels
  std::uint32_t maxThreads = 0;      // .maxntid or .reqntid; 0: not given
  ClusterShape cluster;              // .reqnctapercluster
  bool explicitCluster = false;
  std::vector<Type> registers;
  std::vector<Variable> locals;       // .local
  std::vector<Parameter> parameters;  // inputs, then results, then temporaries: what SymbolKind::parameter indexes
  std::vector<Instruction> instructions;
  std::vector<std::uint32_t> labels;                    // label → index of the instruction it stands before
  std::vector<std::vector<std::uint32_t>> targetLists;  // .branchtargets: labels
  std::vector<Signature> prototypes;
  std::vector<Call> calls;
  std::uint32_t line = 0;
  std::string notCovered;  // why it is left without a body (leaveOut()), though it is defined; empty: it is not
};

// What becomes of a function that needs what is not covered.
enum class Uncovered : std::uint8_t {
  fails,    // as all of its module does
  leftOut,  // it is left without a body, and only who wants to run it is refused
};
void leaveOut(Function&, std::string why);

struct Module {
  std::unique_ptr<const std::string> source;
  std::string_view text;            // of `source`
  std::uint32_t version = 0;        // major * 10 + minor; with several units the highest
  std::uint32_t target = 0;         // sm_80: 80; likewise
  std::vector<Variable> variables;  // .global and .const
  std::vector<Variable> shared;     // .shared, of the module and of its functions
  std::vector<Function> functions;
  bool usesReservedShared = false;  // names %reserved_smem_offset_*

  // An instruction as it stands in the text, blanks squeezed, for messages.
  std::string textOf(const Instruction&) const;
};

}  // namespace rouse::ptx
