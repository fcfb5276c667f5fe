#include <bit>

#include "schemas/base/range.h"
#include "server/device/ptx/failure.h"
#include "server/device/ptx/parser.h"

namespace rouse::ptx {
namespace {

// More than any device has, so that sums of sizes cannot wrap.
constexpr std::uint64_t kLargestVariable = std::uint64_t{1} << 40;
constexpr std::uint64_t kLargestShared = std::uint64_t{227}
                                         << 10;                    // CUDA C++ Programming Guide, compute capability 9.0
constexpr std::uint64_t kLargestLocal = std::uint64_t{512} << 10;  // likewise, per thread
constexpr std::uint32_t kLargestParameter = 32764;                 // PTX ISA, "Kernel Function Parameters"
constexpr std::uint32_t kLargestAlignment = 1u << 20;
constexpr std::size_t kMostDimensions = 16;
constexpr std::size_t kMostVariables = std::size_t{1} << 20;

bool isStorable(Type type) {
  return type != Type::none && type != Type::pred && type != Type::tf32 && type != Type::e4m3x2 &&
         type != Type::e5m2x2 && type != Type::u16x2 && type != Type::s16x2 && !isMatrixElement(type);
}

}  // namespace

// [.attribute(...)] [.align n] [.v2|.v4] .type, in any order; `.ptr .space` of kernel parameters.
Parser::VariableHead Parser::variableHead(bool typeRequired) {
  VariableHead head;
  while (token_.kind == Token::Kind::dotted) {
    const std::uint32_t line = token_.line;
    if (acceptDotted("align")) {
      const std::uint64_t alignment = expectInteger("an alignment");
      if (!std::has_single_bit(alignment) || alignment > kLargestAlignment) {
        failInvalid(line, "alignment " + std::to_string(alignment) + " is no power of two up to " +
                              std::to_string(kLargestAlignment));
      }
      head.alignment = static_cast<std::uint32_t>(alignment);
    } else if (acceptDotted("attribute")) {
      expect('(', "after '.attribute'");
      do {
        if (acceptDotted("managed")) {
          head.isManaged = true;
        } else if (acceptDotted("unified")) {
          skipParenthesised();
        } else {
          unexpected("'.managed' or '.unified'");
        }
      } while (accept(','));
      expect(')', "after the attributes");
    } else if (acceptDotted("v2")) {
      head.vector = 2;
    } else if (acceptDotted("v4")) {
      head.vector = 4;
    } else if (acceptDotted("ptr")) {
      if (!acceptDotted("global") && !acceptDotted("const") && !acceptDotted("local")) acceptDotted("shared");
      if (acceptDotted("align")) expectInteger("an alignment");  // of what it points to
    } else if (const auto type = typeNamed(token_.text); type && head.type == Type::none) {
      head.type = *type;
      advance();
    } else if (token_.text == "texref" || token_.text == "samplerref" || token_.text == "surfref") {
      failUnsupported(line, "'." + std::string(token_.text) + "' variables");
    } else {
      unexpected("a type");
    }
  }
  if (typeRequired && !isStorable(head.type)) unexpected("a type that memory can hold");
  return head;
}

// name[dimensions] after the head.
Variable Parser::variable(const VariableHead& head, Space space, Linkage linkage,
                          std::vector<std::uint64_t>& dimensions) {
  Variable variable;
  variable.line = token_.line;
  variable.name = expectWord("a variable's name");
  variable.space = space;
  variable.type = head.type;
  variable.linkage = linkage;
  variable.isManaged = head.isManaged;
  const std::uint64_t elementBytes = std::uint64_t{bytesOf(head.type)} * head.vector;
  variable.alignment = head.alignment ? head.alignment : static_cast<std::uint32_t>(elementBytes);
  std::uint64_t bytes = elementBytes;
  if (head.vector > 1) dimensions.push_back(head.vector);
  std::size_t at = 0;
  while (accept('[')) {
    variable.isArray = true;
    std::uint64_t size = 0;
    if (!token_.is(']'))
      size = static_cast<std::uint64_t>(constantExpression("an array size"));
    else if (at != 0)
      unexpected("an array size");
    expect(']', "after an array size");
    if (size != 0 && bytes > kLargestVariable / size) {
      failInvalid(variable.line, "variable '" + std::string(variable.name) + "' has more than " +
                                     std::to_string(kLargestVariable) + " bytes");
    }
    bytes *= size;
    dimensions.insert(dimensions.begin() + static_cast<std::ptrdiff_t>(at++), size);
    if (at > kMostDimensions)
      failInvalid(variable.line, "more than " + std::to_string(kMostDimensions) + " dimensions");
  }
  variable.bytes = bytes;
  return variable;
}

void Parser::moduleVariable(Space space, Linkage linkage) {
  if (space == Space::constant && token_.is('[')) failUnsupported(token_.line, "constant banks");
  const VariableHead head = variableHead(true);
  do {
    std::vector<std::uint64_t> dimensions;
    Variable made = variable(head, space, linkage, dimensions);
    if (accept('=')) initialValue(made, dimensions);
    declareVariable(std::move(made), nullptr);
  } while (accept(','));
  expect(';', "after a variable");
}

void Parser::declareVariable(Variable variable, Function* function) {
  if (++declaredVariables_ > kMostVariables)
    failUnsupported(variable.line, "more than " + std::to_string(kMostVariables) + " variables");
  const auto tooLarge = [&](std::uint64_t limit) {
    failInvalid(variable.line, "variable '" + std::string(variable.name) + "' has " + std::to_string(variable.bytes) +
                                   " bytes; at most " + std::to_string(limit));
  };
  const std::uint32_t line = variable.line;
  std::vector<Variable>* list = &module_.variables;
  Symbol symbol{Symbol::Kind::variable};
  if (variable.space == Space::shared) {
    if (variable.bytes > kLargestShared) tooLarge(kLargestShared);
    if (!variable.initial.empty() || !variable.addresses.empty())
      failInvalid(line, "shared variables have no initial value");
    list = &module_.shared;
    symbol.kind = Symbol::Kind::shared;
  } else if (variable.space == Space::local) {
    if (variable.bytes > kLargestLocal) tooLarge(kLargestLocal);
    list = &function->locals;
    symbol.kind = Symbol::Kind::local;
  } else if (variable.isArray && variable.bytes == 0 && variable.linkage != Linkage::external) {
    failInvalid(line, "variable '" + std::string(variable.name) + "' has no size");
  }
  symbol.index = static_cast<std::uint32_t>(list->size());
  // Variables of functions are theirs alone; others may have been declared before, here or in another unit.
  const bool ofUnit = scopes_.size() == 1;
  const Symbol* old = ofUnit ? known(variable.name, variable.linkage, line) : inScope(variable.name);
  if (old != nullptr) {
    if (old->kind != symbol.kind) failInvalid(line, "'" + std::string(variable.name) + "' is declared twice");
    Variable& before = (*list)[old->index];
    if (before.space != variable.space)
      failInvalid(line, "'" + std::string(variable.name) + "' is declared in another state space, first in line " + std::to_string(before.line));
    if (!keepsVariable(before, variable)) before = std::move(variable);
    return;
  }
  declareInUnit(variable.name, symbol, ofUnit ? variable.linkage : Linkage::internal);
  list->push_back(std::move(variable));
}

void Parser::declare(std::string_view name, Symbol symbol) {
  if (!scopes_.back().emplace(name, symbol).second)
    failInvalid(token_.line, "'" + std::string(name) + "' is declared twice");
}

const Parser::Symbol* Parser::find(std::string_view name) const {
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    if (const auto found = scopes_[i].find(name); found != scopes_[i].end()) return &found->second;
  }
  return nullptr;
}

// .reg .type name, %name<count>, ...;
void Parser::registers(Function& function) {
  const VariableHead head = variableHead(false);
  if (head.type == Type::none || isMatrixElement(head.type)) unexpected("a register's type");
  if (head.vector != 1 && head.type == Type::pred) failInvalid(token_.line, "a vector of predicates");
  do {
    const std::string_view name = expectWord("a register's name");
    if (head.vector != 1) {
      if (token_.is('<')) failUnsupported(token_.line, "a range of vector registers");
      declare(name, {Symbol::Kind::vector, static_cast<std::uint32_t>(function.registers.size()), head.type, head.vector});
      function.registers.insert(function.registers.end(), head.vector, head.type);
    } else if (accept('<')) {
      const std::uint32_t line = token_.line;
      const std::uint64_t count = expectInteger("a number of registers");
      if (count > ~std::uint32_t{0}) failInvalid(line, "more than 2^32 registers");
      expect('>', "after the number of registers");
      declare(name, {Symbol::Kind::registers, rangeCount_++, head.type, static_cast<std::uint32_t>(count)});
    } else {
      declare(name, {Symbol::Kind::reg, static_cast<std::uint32_t>(function.registers.size()), head.type, 0});
      function.registers.push_back(head.type);
    }
  } while (accept(','));
  expect(';', "after registers");
}

std::uint32_t Parser::registerNamed(Function& function, std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  // The innermost scope that has it: %f<11> in a block leaves %f11 and those behind it as they are outside.
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    const Names& names = scopes_[i];
    if (const auto found = names.find(name); found != names.end()) return found->second.kind == Symbol::Kind::reg ? found->second.index : kNone;
    if (digits == 0) continue;
    // Part of the digits may belong to the name: %r1<3> has %r10 to %r12.
    for (std::size_t at = digits; at < name.size(); ++at) {
      const std::string_view number = name.substr(at);
      if (number.size() > 10 || (number.size() > 1 && number[0] == '0')) continue;
      const auto found = names.find(name.substr(0, at));
      if (found == names.end() || found->second.kind != Symbol::Kind::registers) continue;
      const Symbol& range = found->second;
      std::uint64_t value = 0;
      for (const char c : number) value = value * 10 + static_cast<std::uint64_t>(c - '0');
      if (value >= range.count) continue;
      const auto [known, isNew] = rangeRegisters_.try_emplace(std::uint64_t{range.index} << 32 | value, static_cast<std::uint32_t>(function.registers.size()));
      if (isNew) function.registers.push_back(range.type);
      return known->second;
    }
  }
  return kNone;
}

// .param .type name[bytes] without what follows. Functions may also have .reg parameters.
Parameter Parser::parameter(Parameter::Role role) {
  Parameter made;
  made.role = role;
  if (acceptDotted("reg")) {
    made.isRegister = true;
  } else if (!acceptDotted("param")) {
    unexpected("'.param'");
  }
  const VariableHead head = variableHead(!made.isRegister);
  if (head.type == Type::none) unexpected("a parameter's type");
  const std::uint32_t line = token_.line;
  made.type = head.type;
  made.name = expectWord("a parameter's name");
  std::uint64_t bytes = std::uint64_t{bytesOf(head.type)} * head.vector;
  made.alignment = head.alignment ? head.alignment : static_cast<std::uint32_t>(bytes);
  if (accept('[')) {
    made.isArray = true;
    const std::uint64_t size = token_.is(']') ? 0 : expectInteger("an array size");
    expect(']', "after an array size");
    bytes = size > kLargestParameter ? size : bytes * size;
  }
  if (head.vector > 1) made.isArray = true;
  if (bytes > kLargestParameter || made.alignment > 256) {
    failInvalid(line, "parameter '" + std::string(made.name) + "' is larger than " + std::to_string(kLargestParameter) +
                          " bytes or aligned to more than 256");
  }
  made.bytes = static_cast<std::uint32_t>(bytes);
  return made;
}

std::vector<Parameter> Parser::parameterList(Parameter::Role role) {
  std::vector<Parameter> list;
  expect('(', "before parameters");
  std::uint64_t bytes = 0;
  if (!token_.is(')')) {
    do {
      list.push_back(parameter(role));
      bytes = roundUp(bytes, list.back().alignment) + list.back().bytes;
      if (bytes > kLargestParameter)
        failInvalid(token_.line, "more than " + std::to_string(kLargestParameter) + " bytes of parameters");
    } while (accept(','));
  }
  expect(')', "after parameters");
  return list;
}

// A .param variable of a call sequence.
void Parser::parameterVariable(Function& function) {
  do {
    const Parameter made = parameter(Parameter::Role::temporary);
    declare(made.name, {Symbol::Kind::parameter, static_cast<std::uint32_t>(function.parameters.size())});
    function.parameters.push_back(made);
  } while (accept(','));
  expect(';', "after a parameter");
}

}  // namespace rouse::ptx
