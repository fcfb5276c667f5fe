#include "server/device/ptx/call_graph.h"

#include <algorithm>
#include <bit>

#include "schemas/base/range.h"

namespace rouse::ptx {
namespace {

void insert(std::vector<std::uint32_t>& set, std::uint32_t element) {
  if (std::find(set.begin(), set.end(), element) == set.end()) set.push_back(element);
}

void noteOperand(const Module& module, FunctionFacts& facts, const Operand& operand) {
  if (operand.kind == Operand::Kind::symbol) {
    if (operand.symbol == SymbolKind::function) insert(facts.addresses, resolveAlias(module, operand.index));
    if (operand.symbol == SymbolKind::shared) insert(facts.shared, operand.index);
  }
  for (const Operand& element : operand.elements) noteOperand(module, facts, element);
}

bool isOfCluster(const Operand& operand) {
  using enum SpecialRegister;
  if (operand.kind == Operand::Kind::special) {
    switch (operand.special) {
      case clusterid:
      case nclusterid:
      case cluster_ctaid:
      case cluster_nctaid:
      case cluster_ctarank:
      case cluster_nctarank:
      case is_explicit_cluster:
        return true;
      default:
        return false;
    }
  }
  return std::ranges::any_of(operand.elements, [](const Operand& element) { return isOfCluster(element); });
}

// Not what only names the window of a cluster's shared memory (.shared::cluster): addresses in it that lead to another block come from these.
bool isOfCluster(const Instruction& instruction) {
  return instruction.opcode == Opcode::mapa || instruction.opcode == Opcode::getctarank ||
         (instruction.opcode == Opcode::barrier && instruction.has(Modifier::cluster)) ||
         (instruction.opcode == Opcode::isspacep && instruction.has(Modifier::shared_cluster)) ||
         std::ranges::any_of(instruction.operands, [](const Operand& operand) { return isOfCluster(operand); });
}

constexpr std::uint8_t kAxes = 3;

// Numbers of the block that registers hold, by themselves or together with others (`threadIdx.x | blockIdx.z` is 0 only where both are), as far as instructions in the order of the text show.
class BlockNumbers {
 public:
  explicit BlockNumbers(const Function& function) : held_(function.registers.size()) {}

  void note(const Instruction& instruction) {
    if (instruction.operands.empty() || instruction.operands[0].kind != Operand::Kind::reg || instruction.operands[0].index >= held_.size()) return;
    if (instruction.opcode != Opcode::mov && instruction.opcode != Opcode::cvt && instruction.opcode != Opcode::or_) return;
    std::uint8_t held = 0;
    for (std::size_t i = 1; i < instruction.operands.size(); ++i) held |= heldBy(instruction.operands[i]);
    held_[instruction.operands[0].index] = held;
  }

  // Which one it compares with 0, as a bit; none where there are several.
  std::uint8_t comparedWithZero(const Instruction& instruction) const {
    if (instruction.opcode != Opcode::setp || instruction.operands.size() < 3 || !(instruction.has(Modifier::eq) || instruction.has(Modifier::ne))) return 0;
    const Operand &a = instruction.operands[1], &b = instruction.operands[2];
    if (b.kind != Operand::Kind::integer || b.value != 0) return 0;
    const std::uint8_t held = heldBy(a);
    return (held & (held - 1)) == 0 ? held : 0;
  }

 private:
  std::uint8_t heldBy(const Operand& operand) const {
    if (operand.kind == Operand::Kind::special && operand.special == SpecialRegister::ctaid && operand.component < kAxes) return static_cast<std::uint8_t>(1u << operand.component);
    return operand.kind == Operand::Kind::reg && operand.index < held_.size() ? held_[operand.index] : 0;
  }

  std::vector<std::uint8_t> held_;
};

bool mayBeGlobal(const Instruction& instruction) {
  const Space space = spaceOf(instruction);
  return space == Space::global || space == Space::generic;
}

FunctionFacts factsOf(const Module& module, const Function& function) {
  FunctionFacts facts;
  BlockNumbers numbers(function);
  for (const Instruction& instruction : function.instructions) {
    for (const Operand& operand : instruction.operands) noteOperand(module, facts, operand);
    if (instruction.opcode == Opcode::exit) facts.exits = true;
    if (isOfCluster(instruction)) facts.usesClusters = true;
    if (instruction.opcode == Opcode::st && mayBeGlobal(instruction)) facts.storesGlobally = true;
    if ((instruction.opcode == Opcode::atom || instruction.opcode == Opcode::red) && mayBeGlobal(instruction)) facts.combinesGlobally = true;
    facts.asksForFirst |= numbers.comparedWithZero(instruction);
    numbers.note(instruction);
  }
  for (const Call& call : function.calls) {
    if (call.callee.kind == Operand::Kind::symbol) {
      insert(facts.callees, resolveAlias(module, call.callee.index));
    } else {
      facts.callsIndirectly = true;
    }
    for (const Operand& argument : call.arguments) noteOperand(module, facts, argument);
  }
  return facts;
}

std::vector<std::uint32_t> sharedOf(const CallGraph& graph, const std::vector<std::uint32_t>& functions) {
  std::vector<std::uint32_t> variables;
  for (const std::uint32_t function : functions) {
    const auto& shared = graph.facts(function).shared;
    variables.insert(variables.end(), shared.begin(), shared.end());
  }
  std::sort(variables.begin(), variables.end());
  variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
  return variables;
}

constexpr std::uint32_t kDynamicSharedAlignment = 16;

void place(const Module& module, const std::vector<std::uint32_t>& variables, SharedLayout& layout) {
  std::uint64_t end = layout.bytes;
  std::uint32_t dynamicAlignment = 0;
  for (const std::uint32_t index : variables) {
    const Variable& variable = module.shared[index];
    if (variable.bytes == 0) {
      dynamicAlignment = std::max({dynamicAlignment, variable.alignment, kDynamicSharedAlignment});
    } else if (layout.offsets[index] == kNone) {
      end = roundUp(end, variable.alignment);
      layout.offsets[index] = static_cast<std::uint32_t>(end);
      end += variable.bytes;
    }
    if (end >= kNone) end = kNone - kDynamicSharedAlignment;
  }
  if (dynamicAlignment != 0) end = roundUp(end, dynamicAlignment);
  layout.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(end, kNone));
}

}  // namespace

std::uint32_t resolveAlias(const Module& module, std::uint32_t function) {
  const std::uint32_t target = module.functions[function].aliasOf;
  return target == kNone ? function : target;
}

CallGraph::CallGraph(const Module& module) : module_(module) {
  facts_.reserve(module.functions.size());
  for (const Function& function : module.functions) facts_.push_back(factsOf(module, function));
  std::vector<bool> taken(module.functions.size());
  for (const FunctionFacts& facts : facts_) {
    for (const std::uint32_t function : facts.addresses) taken[function] = true;
  }
  for (const Variable& variable : module.variables) {
    for (const AddressValue& address : variable.addresses) {
      if (address.isFunction) taken[resolveAlias(module, address.index)] = true;
    }
  }
  for (std::uint32_t i = 0; i < taken.size(); ++i) {
    if (taken[i] && module.functions[i].isDefined && !module.functions[i].isKernel) addressTaken_.push_back(i);
  }
  addressTakenReachable_ = closure(addressTaken_);
}

std::vector<std::uint32_t> CallGraph::closure(std::vector<std::uint32_t> functions) const {
  std::vector<bool> seen(facts_.size());
  for (const std::uint32_t function : functions) seen[function] = true;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    for (const std::uint32_t callee : facts_[functions[i]].callees) {
      if (seen[callee] || !module_.functions[callee].isDefined) continue;
      seen[callee] = true;
      functions.push_back(callee);
    }
  }
  return functions;
}

std::vector<std::uint32_t> CallGraph::reachable(std::uint32_t function) const { return closure({function}); }

bool CallGraph::reachesIndirectCall(std::uint32_t function) const {
  for (const std::uint32_t reached : reachable(function)) {
    if (facts_[reached].callsIndirectly) return true;
  }
  return false;
}

bool CallGraph::usesClusters(std::uint32_t function) const {
  return std::ranges::any_of(reachable(function), [&](std::uint32_t reached) { return facts_[reached].usesClusters; });
}

std::optional<std::uint8_t> CallGraph::firstSetsAlong(std::uint32_t function) const {
  bool stores = false, combines = false;
  std::uint8_t asks = 0;
  for (const std::uint32_t reached : reachable(function)) {
    stores |= facts_[reached].storesGlobally;
    combines |= facts_[reached].combinesGlobally;
    asks |= facts_[reached].asksForFirst;
  }
  if (!stores || !combines || asks == 0) return std::nullopt;
  return static_cast<std::uint8_t>(std::bit_width(asks) - 1);
}

SharedLayout sharedLayoutOfPointers(const Module& module, const CallGraph& graph) {
  SharedLayout layout;
  layout.offsets.assign(module.shared.size(), kNone);
  place(module, sharedOf(graph, graph.addressTakenReachable()), layout);
  return layout;
}

SharedLayout sharedLayout(const Module& module, const CallGraph& graph, std::uint32_t kernel) {
  SharedLayout layout;
  layout.offsets.assign(module.shared.size(), kNone);
  if (graph.reachesIndirectCall(kernel)) layout = sharedLayoutOfPointers(module, graph);
  place(module, sharedOf(graph, graph.reachable(kernel)), layout);
  return layout;
}

std::uint64_t localBytes(const Module& module, const CallGraph& graph, std::uint32_t function) {
  // An upper bound that costs one visit a function: all that are reached, each once.
  std::uint64_t bytes = 0;
  for (const std::uint32_t reached : graph.reachable(function)) {
    for (const Variable& local : module.functions[reached].locals) bytes += roundUp(local.bytes, local.alignment);
  }
  return bytes;
}

}  // namespace rouse::ptx
