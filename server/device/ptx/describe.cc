#include "server/device/ptx/describe.h"

#include <algorithm>

#include "server/device/ptx/failure.h"

namespace rouse::ptx {
namespace {

// The CPU has no register file to divide between threads: what a GPU would give most kernels.
constexpr std::uint32_t kRegisters = 32;

memory::KernelDescription describeKernel(const Module& module, const CallGraph& graph, std::uint32_t index) {
  const Function& function = module.functions[index];
  memory::KernelDescription kernel;
  kernel.name = std::string(function.name);
  for (const Parameter& parameter : function.parameters) {
    if (parameter.role == Parameter::Role::input) kernel.parameters.push_back({parameter.offset, parameter.bytes});
  }
  kernel.parameterBytes = function.parameterBytes;
  kernel.staticSharedBytes = sharedLayout(module, graph, index).bytes;
  kernel.localBytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(localBytes(module, graph, index), kNone));
  std::uint64_t constant = 0;
  for (const Variable& variable : module.variables) {
    if (variable.space == Space::constant) constant += variable.bytes;
  }
  kernel.constantBytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(constant, kNone));
  if (function.maxThreads != 0) kernel.maxThreadsPerBlock = function.maxThreads;
  kernel.cluster = function.cluster;
  kernel.clusterMustBeSet = function.explicitCluster && function.cluster.none();
  kernel.registers = kRegisters;
  kernel.ptxVersion = module.target;
  kernel.binaryVersion = module.target;
  return kernel;
}

// Whole addresses become relocations; the eight bytes of an address that is spelt with masks become one.
InitialValue initialValueOf(const Module& module, const Variable& variable) {
  InitialValue value;
  value.bytes = variable.initial;
  const auto add = [&](const AddressValue& address) {
    Relocation relocation;
    relocation.offset = address.offset;
    relocation.target = address.isFunction ? Relocation::Target::function : Relocation::Target::variable;
    relocation.index = address.isFunction ? resolveAlias(module, address.index) : address.index;
    relocation.addend = address.addend;
    value.relocations.push_back(relocation);
  };
  const std::vector<AddressValue>& addresses = variable.addresses;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i].mask == ~std::uint64_t{0}) {
      add(addresses[i]);
      continue;
    }
    for (std::size_t byte = 0; byte < 8; ++byte) {
      const std::size_t at = i + byte;
      if (at >= addresses.size() || addresses[at].mask != std::uint64_t{0xff} << (8 * byte) ||
          addresses[at].offset != addresses[i].offset + byte || addresses[at].index != addresses[i].index ||
          addresses[at].isFunction != addresses[i].isFunction || addresses[at].addend != addresses[i].addend) {
        failUnsupported(variable.line,
                        "part of an address in the initial value of '" + std::string(variable.name) + "'");
      }
    }
    add(addresses[i]);
    i += 7;
  }
  return value;
}

}  // namespace

Description describe(const Module& module, const CallGraph& graph) {
  Description description;
  for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
    if (!module.functions[i].isKernel || !module.functions[i].isDefined) continue;
    description.module.kernels.push_back(describeKernel(module, graph, i));
    description.functions.push_back(i);
  }
  for (const Variable& variable : module.variables) {
    memory::VariableDescription made;
    made.name = std::string(variable.name);
    made.bytes = variable.bytes;
    made.alignment = variable.alignment;
    made.space = variable.space == Space::constant ? memory::VariableSpace::constant
                 : variable.isManaged              ? memory::VariableSpace::managed
                                                   : memory::VariableSpace::global;
    description.module.variables.push_back(std::move(made));
    description.initialValues.push_back(initialValueOf(module, variable));
  }
  return description;
}

}  // namespace rouse::ptx
