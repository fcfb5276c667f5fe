#include "schemas/base/range.h"
#include "server/device/ptx/failure.h"
#include "server/device/ptx/parser.h"

namespace rouse::ptx {
namespace {

constexpr std::size_t kDeepestBlock = 64;
constexpr std::size_t kMostFunctions = std::size_t{1} << 18;
constexpr std::uint64_t kMostThreads = 1024;
constexpr std::string_view kBodyOrEnd = "';' or a body";

bool agree(const std::vector<Parameter>& a, const std::vector<Parameter>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].bytes != b[i].bytes || a[i].isRegister != b[i].isRegister) return false;
  }
  return true;
}

}  // namespace

// After .entry or .func: [(results)] name [(inputs)] directives, then ; or a body.
void Parser::function(bool isKernel, Linkage linkage) {
  Function made;
  Signature& signature = made.signature;
  made.isKernel = isKernel;
  // The host finds kernels by their names, whatever is said of them.
  made.linkage = isKernel && linkage == Linkage::internal ? Linkage::visible : linkage;
  while (token_.isDotted("attribute")) {
    advance();
    skipParenthesised();
  }
  if (!isKernel && token_.is('(')) signature.results = parameterList(Parameter::Role::result);
  made.line = token_.line;
  made.name = expectWord("a function's name");
  if (token_.is('(')) signature.inputs = parameterList(Parameter::Role::input);
  functionDirectives(made, signature);

  std::uint32_t index = static_cast<std::uint32_t>(module_.functions.size());
  if (const Symbol* symbol = known(made.name, made.linkage, made.line)) {
    index = symbol->index;
    if (symbol->kind != Symbol::Kind::function) failInvalid(made.line, "'" + std::string(made.name) + "' is declared twice");
    Function& old = module_.functions[index];
    if (old.isKernel != isKernel || !agree(old.signature.results, signature.results) ||
        !agree(old.signature.inputs, signature.inputs)) {
      failInvalid(made.line, "'" + std::string(made.name) + "' is declared with different parameters");
    }
    if (token_.is(';')) return advance();
    if (!token_.is('{')) unexpected(kBodyOrEnd);
    if (keepsFunction(old, made)) return skipBraces("function '" + std::string(made.name) + "'");
    old = std::move(made);
  } else {
    if (module_.functions.size() >= kMostFunctions)
      failUnsupported(made.line, "more than " + std::to_string(kMostFunctions) + " functions");
    declareInUnit(made.name, {Symbol::Kind::function, index}, made.linkage);
    module_.functions.push_back(std::move(made));
    if (accept(';')) return;
    if (!token_.is('{')) unexpected(kBodyOrEnd);
  }
  module_.functions[index].isDefined = true;
  body(module_.functions[index]);
}

void Parser::functionDirectives(Function& function, Signature& signature) {
  while (token_.kind == Token::Kind::dotted) {
    const std::uint32_t line = token_.line;
    const bool exact = token_.text == "reqntid";
    if (token_.text == "maxntid" || exact) {
      advance();
      std::uint64_t threads = 1;
      do {
        const std::uint64_t size = expectInteger("a number of threads");
        if (size == 0 || size > kMostThreads) failInvalid(line, "a block size of " + std::to_string(size));
        threads *= size;
      } while (accept(','));
      function.maxThreads = static_cast<std::uint32_t>(std::min(threads, kMostThreads));
    } else if (token_.text == "minnctapersm" || token_.text == "maxnctapersm" || token_.text == "maxnreg" ||
               token_.text == "maxclusterrank") {
      advance();
      expectInteger("a number");
    } else if (acceptDotted("noreturn")) {
      signature.noReturn = true;
    } else if (acceptDotted("pragma")) {
      while (token_.kind == Token::Kind::string || token_.is(',')) advance();
      expect(';', "after a pragma");
    } else if (acceptDotted("attribute")) {
      skipParenthesised();
    } else if (acceptDotted("explicitcluster")) {
      function.explicitCluster = true;  // how large is said when the kernel is launched, or by the following
    } else if (acceptDotted("reqnctapercluster")) {
      const auto size = [&] { return static_cast<std::uint32_t>(std::min<std::uint64_t>(expectInteger("a number of blocks"), kMostClusterBlocks + 1)); };
      ClusterShape& cluster = function.cluster;
      cluster = {size(), 1, 1};
      if (accept(',')) cluster.y = size();
      if (accept(',')) cluster.z = size();
      if (cluster.none() || !cluster.valid()) failInvalid(line, "a cluster of no blocks, or of more than " + std::to_string(kMostClusterBlocks));
    } else {
      failUnsupported(line, "directive '." + std::string(token_.text) + "'");
    }
  }
}

void Parser::prepareBody(Function& function, const Signature& signature) {
  std::uint64_t offset = 0;
  for (const std::vector<Parameter>* list : {&signature.inputs, &signature.results}) {
    for (Parameter parameter : *list) {
      Symbol symbol{Symbol::Kind::parameter, static_cast<std::uint32_t>(function.parameters.size())};
      if (parameter.isRegister) {
        symbol = {Symbol::Kind::reg, static_cast<std::uint32_t>(function.registers.size()), parameter.type, 0};
        parameter.registerIndex = symbol.index;
        function.registers.push_back(parameter.type);
      }
      if (function.isKernel) {
        if (parameter.isRegister) failInvalid(function.line, "a kernel's parameter in a register");
        offset = roundUp(offset, parameter.alignment);
        parameter.offset = static_cast<std::uint32_t>(offset);
        offset += parameter.bytes;
      }
      if (parameter.name != "_") declare(parameter.name, symbol);
      function.parameters.push_back(parameter);
    }
  }
  function.parameterBytes = static_cast<std::uint32_t>(offset);
}

// A body that is left out ends where its braces do: what it says is read once more from the beginning, since it was left anywhere.
void Parser::body(Function& function) {
  const Lexer lexer = lexer_;
  const Token token = token_, ahead = ahead_;
  const bool hasAhead = hasAhead_;
  const std::size_t scopes = scopes_.size();
  const bool covered = isCovered(function, uncovered_, [&] { coveredBody(function); });
  if (!function.notCovered.empty()) leaveOut(function, {});
  if (covered) return;
  scopes_.resize(scopes);
  lexer_ = lexer;
  token_ = token;
  ahead_ = ahead;
  hasAhead_ = hasAhead;
  skipBraces("function '" + std::string(function.name) + "'");
}

void Parser::coveredBody(Function& function) {
  rangeRegisters_.clear();
  labelScopes_.assign(1, {});
  labelScope_ = 0;
  labelUses_.clear();
  scopes_.emplace_back();
  prepareBody(function, function.signature);
  const std::uint32_t line = token_.line;
  expect('{', "before a function's body");
  std::size_t depth = 1;
  while (depth > 0) {
    if (accept('{')) {
      if (++depth > kDeepestBlock)
        failInvalid(token_.line, "blocks nested deeper than " + std::to_string(kDeepestBlock));
      scopes_.emplace_back();
      labelScopes_.push_back({labelScope_, {}});
      labelScope_ = static_cast<std::uint32_t>(labelScopes_.size() - 1);
    } else if (accept('}')) {
      --depth;
      scopes_.pop_back();
      labelScope_ = labelScopes_[labelScope_].parent;
    } else if (token_.kind == Token::Kind::end) {
      failInvalid(line, "function '" + std::string(function.name) + "' has no end");
    } else {
      statement(function);
    }
  }
  resolveLabels(function);
}

void Parser::statement(Function& function) {
  if (accept(';')) return;
  if (token_.kind == Token::Kind::dotted) return bodyDirective(function);
  if (token_.kind == Token::Kind::word && peek().is(':')) return labelled(function);
  instruction(function);
}

void Parser::bodyDirective(Function& function) {
  if (token_.text == "loc" || token_.text == "file") return skipLocation();
  if (acceptDotted("reg")) return registers(function);
  if (token_.text == "param") return parameterVariable(function);
  if (acceptDotted("pragma")) {
    while (token_.kind == Token::Kind::string || token_.is(',')) advance();
    return expect(';', "after a pragma");
  }
  const Linkage linkage = acceptDotted("extern") ? Linkage::external : Linkage::internal;
  if (acceptDotted("local")) {
    const VariableHead head = variableHead(true);
    do {
      std::vector<std::uint64_t> dimensions;
      Variable made = variable(head, Space::local, Linkage::internal, dimensions);
      if (token_.is('=')) failUnsupported(token_.line, "initial values of local variables");
      declareVariable(made, &function);
    } while (accept(','));
    return expect(';', "after a variable");
  }
  if (acceptDotted("shared")) return moduleVariable(Space::shared, linkage);
  if (acceptDotted("global")) return moduleVariable(Space::global, linkage);
  if (acceptDotted("const")) return moduleVariable(Space::constant, linkage);
  unexpected("a statement");
}

// label:  or  label: .branchtargets ...;  or  label: .callprototype ...;  or  label: .calltargets ...;
void Parser::labelled(Function& function) {
  const std::string_view name = token_.text;
  const std::uint32_t line = token_.line;
  advance();
  expect(':', "after a label");
  if (acceptDotted("branchtargets")) {
    declare(name, {Symbol::Kind::targets, static_cast<std::uint32_t>(function.targetLists.size())});
    std::vector<std::uint32_t> list;
    do {
      labelUses_.push_back({token_.text, labelScope_, token_.line, kNone,
                            static_cast<std::uint32_t>(function.targetLists.size()),
                            static_cast<std::uint32_t>(list.size())});
      expectWord("a label");
      list.push_back(kNone);
    } while (accept(','));
    function.targetLists.push_back(std::move(list));
    return expect(';', "after branch targets");
  }
  if (acceptDotted("calltargets")) {
    // All possible callees have one signature: the first one's is the prototype.
    const std::uint32_t targetLine = token_.line;
    const Symbol* first = find(expectWord("a function"));
    if (first == nullptr || first->kind != Symbol::Kind::function)
      failInvalid(targetLine, "expected a declared function");
    while (accept(',')) expectWord("a function");
    declare(name, {Symbol::Kind::prototype, static_cast<std::uint32_t>(function.prototypes.size())});
    function.prototypes.push_back(module_.functions[first->index].signature);
    return expect(';', "after call targets");
  }
  if (acceptDotted("callprototype")) {
    declare(name, {Symbol::Kind::prototype, static_cast<std::uint32_t>(function.prototypes.size())});
    function.prototypes.push_back(prototype());
    return expect(';', "after a prototype");
  }
  const auto label = static_cast<std::uint32_t>(function.labels.size());
  if (!labelScopes_[labelScope_].labels.emplace(name, label).second) {
    failInvalid(line, "label '" + std::string(name) + "' is defined twice");
  }
  function.labels.push_back(static_cast<std::uint32_t>(function.instructions.size()));
}

Signature Parser::prototype() {
  Signature signature;
  if (token_.is('(')) signature.results = parameterList(Parameter::Role::result);
  expectWord("'_'");
  if (token_.is('(')) signature.inputs = parameterList(Parameter::Role::input);
  signature.noReturn = acceptDotted("noreturn");
  return signature;
}

void Parser::resolveLabels(Function& function) {
  for (const LabelUse& use : labelUses_) {
    std::uint32_t label = kNone;
    for (std::uint32_t scope = use.scope; scope != kNone && label == kNone; scope = labelScopes_[scope].parent) {
      const auto found = labelScopes_[scope].labels.find(use.name);
      if (found != labelScopes_[scope].labels.end()) label = found->second;
    }
    if (label == kNone) failInvalid(use.line, "label '" + std::string(use.name) + "' is not defined");
    if (use.instruction == kNone) {
      function.targetLists[use.list][use.element] = label;
    } else {
      function.instructions[use.instruction].operands[0].index = label;
    }
  }
}

// .alias name, aliasee;
void Parser::aliasDirective() {
  advance();
  const std::uint32_t line = token_.line;
  const Symbol* alias = find(expectWord("a function"));
  expect(',', "between the names of an alias");
  const Symbol* aliasee = find(expectWord("a function"));
  expect(';', "after an alias");
  if (alias == nullptr || aliasee == nullptr || alias->kind != Symbol::Kind::function ||
      aliasee->kind != Symbol::Kind::function || alias->index == aliasee->index) {
    failInvalid(line, "an alias needs two declared functions");
  }
  Function& function = module_.functions[alias->index];
  const Function& target = module_.functions[aliasee->index];
  if (function.isDefined || !target.isDefined || !agree(function.signature.inputs, target.signature.inputs) ||
      !agree(function.signature.results, target.signature.results)) {
    failInvalid(line, "'" + std::string(function.name) + "' cannot be an alias of '" + std::string(target.name) + "'");
  }
  function.aliasOf = aliasee->index;
}

}  // namespace rouse::ptx
