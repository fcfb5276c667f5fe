#include "server/device/ptx/check_module.h"

#include "server/device/ptx/call_graph.h"
#include "server/device/ptx/failure.h"

namespace rouse::ptx {
namespace {

// Bytes of each input and of the result, as the CUDA headers declare these functions.
struct RuntimeSignature {
  std::string_view name;
  RuntimeFunction function;
  std::vector<std::uint32_t> inputs, results;
};

const std::vector<RuntimeSignature>& runtimeSignatures() {
  static const auto* signatures = new std::vector<RuntimeSignature>{
      {"vprintf", RuntimeFunction::vprintf, {8, 8}, {4}},
      {"__assertfail", RuntimeFunction::assertFail, {8, 8, 4, 8, 8}, {}},
      {"malloc", RuntimeFunction::malloc, {8}, {8}},
      {"free", RuntimeFunction::free, {8}, {}},
  };
  return *signatures;
}

bool sizesAre(const std::vector<Parameter>& parameters, const std::vector<std::uint32_t>& sizes) {
  if (parameters.size() != sizes.size()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (parameters[i].bytes != sizes[i] || parameters[i].isRegister) return false;
  }
  return true;
}

// Arguments are .param variables of the same size, or registers and constants for scalars.
void checkArguments(const Module& module, const Function& caller, const Instruction& instruction,
                    const std::vector<Operand>& given, const std::vector<Parameter>& wanted, std::string_view what) {
  const auto fail = [&](const std::string& message) {
    failInvalid(instruction.line, "'" + module.textOf(instruction) + "': " + message);
  };
  if (given.size() != wanted.size()) {
    fail("expected " + std::to_string(wanted.size()) + " " + std::string(what) + ", found " +
         std::to_string(given.size()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Operand& operand = given[i];
    const std::string position = std::string(what) + " " + std::to_string(i + 1);
    if (operand.isMemory || operand.negated) fail("expected a parameter as one of the " + position);
    if (operand.kind == Operand::Kind::symbol && operand.symbol == SymbolKind::parameter) {
      const Parameter& parameter = caller.parameters[operand.index];
      if (parameter.bytes != wanted[i].bytes || operand.value != 0) {
        fail("expected " + std::to_string(wanted[i].bytes) + " bytes as one of the " + position + ", found " +
             std::to_string(parameter.bytes));
      }
    } else if (operand.kind == Operand::Kind::reg) {
      const Type type = caller.registers[operand.index];
      if (type == Type::pred || bytesOf(type) != wanted[i].bytes || wanted[i].isArray)
        fail("a register does not fit as " + position);
    } else if (operand.kind != Operand::Kind::integer || what == "results" || wanted[i].isArray ||
               wanted[i].bytes > 8) {
      fail("expected a parameter as one of the " + position);
    }
  }
}

void checkCall(const Module& module, const Function& caller, const Instruction& instruction) {
  const Call& call = caller.calls[instruction.call];
  const std::string quote = "'" + module.textOf(instruction) + "'";
  if (call.callee.kind == Operand::Kind::symbol && call.callee.symbol == SymbolKind::function &&
      !call.callee.isMemory) {
    const Function& callee = module.functions[resolveAlias(module, call.callee.index)];
    if (callee.isKernel) failUnsupported(instruction.line, quote + ": a kernel called as a function");
    if (!callee.isDefined) {
      const auto known = runtimeFunctionNamed(callee.name);
      if (!known)
        failUnsupported(instruction.line,
                        quote + ": function '" + std::string(callee.name) + "' is not defined in the module");
      for (const RuntimeSignature& signature : runtimeSignatures()) {
        // A declaration may leave the result out, as Taichi's of vprintf does.
        if (signature.function == *known && (!sizesAre(callee.signature.inputs, signature.inputs) ||
                                             !(callee.signature.results.empty() || sizesAre(callee.signature.results, signature.results)))) {
          failInvalid(instruction.line,
                      "'" + std::string(callee.name) + "' is declared with other parameters than CUDA's");
        }
      }
    }
  } else if (call.callee.kind != Operand::Kind::reg || call.callee.isMemory ||
             bitsOf(caller.registers[call.callee.index]) != 64) {
    failInvalid(instruction.line, quote + ": expected a function or a 64-bit register");
  } else if (call.prototype == kNone) {
    failInvalid(instruction.line, quote + ": expected a prototype of the indirect call");
  }
  const Signature& signature = signatureOf(module, caller, call);
  checkArguments(module, caller, instruction, call.results, signature.results, "results");
  checkArguments(module, caller, instruction, call.arguments, signature.inputs, "arguments");
}

}  // namespace

std::optional<RuntimeFunction> runtimeFunctionNamed(std::string_view name) {
  for (const RuntimeSignature& signature : runtimeSignatures()) {
    if (signature.name == name) return signature.function;
  }
  return std::nullopt;
}

const Signature& signatureOf(const Module& module, const Function& caller, const Call& call) {
  if (call.callee.kind == Operand::Kind::symbol)
    return module.functions[resolveAlias(module, call.callee.index)].signature;
  return caller.prototypes[call.prototype];
}

void checkModule(Module& module, Uncovered uncovered) {
  for (const Variable& variable : module.variables) {
    if (variable.linkage == Linkage::external)
      failUnsupported(variable.line,
                      "extern variable '" + std::string(variable.name) + "' is not defined in the module");
  }
  for (const Variable& variable : module.shared) {
    if (variable.bytes == 0 && variable.linkage != Linkage::external)
      failInvalid(variable.line, "shared variable '" + std::string(variable.name) + "' has no size");
  }
  const auto checkAddress = [&](std::uint32_t index, std::uint32_t line) {
    const Function& function = module.functions[resolveAlias(module, index)];
    const std::string name = "'" + std::string(function.name) + "'";
    if (function.isKernel) failUnsupported(line, "the address of kernel " + name + ": kernels that launch kernels (dynamic parallelism)");
    if (!function.isDefined) failUnsupported(line, "the address of " + name + ", which is not defined in the module");
  };
  for (const Variable& variable : module.variables) {
    for (const AddressValue& address : variable.addresses) {
      if (address.isFunction) checkAddress(address.index, variable.line);
    }
  }
  const auto checkFunction = [&](const Function& function) {
    for (const Instruction& instruction : function.instructions) {
      if (instruction.opcode == Opcode::call) {
        checkCall(module, function, instruction);
        continue;
      }
      for (const Operand& operand : instruction.operands) {
        if (operand.kind == Operand::Kind::symbol && operand.symbol == SymbolKind::function) {
          checkAddress(operand.index, instruction.line);
        }
      }
    }
  };
  for (Function& function : module.functions) (void)isCovered(function, uncovered, [&] { checkFunction(function); });
}

}  // namespace rouse::ptx
