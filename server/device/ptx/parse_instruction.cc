#include "server/device/ptx/failure.h"
#include "server/device/ptx/parser.h"

namespace rouse::ptx {
namespace {

constexpr std::size_t kMostInstructions = std::size_t{2} << 20;
constexpr std::size_t kMostOperands = 16;
constexpr std::size_t kMostElements = 128;  // of a vector: a warpgroup's accumulators
constexpr std::size_t kMostArguments = 4096;

Part partNamed(std::string_view text) {
  constexpr std::string_view kNames[] = {"b0", "b1", "b2", "b3", "h0", "h1"};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == text) return static_cast<Part>(i + 1);
  }
  return Part::whole;
}

// A vector of one, as Triton writes what loads and stores move: what is in it (PTX ISA has vectors of two and more; ptxas takes one for a value).
void unwrapOne(Instruction& made) {
  if (made.opcode != Opcode::ld && made.opcode != Opcode::ldu && made.opcode != Opcode::st) return;
  for (Operand& operand : made.operands) {
    if (operand.kind != Operand::Kind::vector || operand.elements.size() != 1 || operand.elements[0].kind == Operand::Kind::sink) continue;
    const Operand only = operand.elements[0];
    operand = only;
  }
}

}  // namespace

// From the token to the next semicolon.
std::string Parser::quoteFrom(const Token& token) const {
  Instruction whole;
  whole.begin = static_cast<std::uint32_t>(token.begin);
  whole.end = static_cast<std::uint32_t>(std::min(module_.text.find(';', token.begin), module_.text.size()));
  return "'" + module_.textOf(whole) + "'";
}

void Parser::instruction(Function& function) {
  const Token first = token_;
  if (++instructionCount_ > kMostInstructions) {
    failUnsupported(first.line, "more than " + std::to_string(kMostInstructions) + " instructions");
  }
  Instruction made;
  made.line = first.line;
  made.begin = static_cast<std::uint32_t>(first.begin);
  if (accept('@')) {
    made.hasGuard = true;
    made.guardNegated = accept('!');
    const std::uint32_t line = token_.line;
    const std::string_view name = expectWord("a predicate");
    made.guard = registerNamed(function, name);
    if (made.guard == kNone || function.registers[made.guard] != Type::pred) {
      failInvalid(line, "'" + std::string(name) + "' is no predicate register");
    }
  }
  const std::string_view word = token_.text;
  if (token_.kind != Token::Kind::word) unexpected("an instruction");
  const auto opcode = opcodeNamed(word);
  if (!opcode) failUnsupported(first.line, "instruction " + quoteFrom(first) + " is not supported");
  made.opcode = *opcode;
  advance();
  while (token_.kind == Token::Kind::dotted) {
    if (const auto type = typeNamed(token_.text)) {
      if (made.typeCount == std::size(made.types)) failInvalid(first.line, "too many types in " + quoteFrom(first));
      made.types[made.typeCount++] = *type;
    } else if (const auto modifier = modifierNamed(token_.text)) {
      made.modifiers.insert(inOrder(*modifier, made.modifiers));
    } else if (const auto shape = warpgroupShapeNamed(token_.text)) {
      made.modifiers.insert(shape->shape);
      made.columns = shape->columns;
    } else {
      failUnsupported(first.line,
                      "'." + std::string(token_.text) + "' of instruction " + quoteFrom(first) + " is not supported");
    }
    advance();
  }
  if (made.opcode == Opcode::call) {
    callOperands(function, made);
  } else if (!token_.is(';')) {
    do {
      if (made.operands.size() == kMostOperands) failInvalid(first.line, "too many operands in " + quoteFrom(first));
      made.operands.push_back(operand(function, made));
      if (made.operands.size() == 1 && accept('|')) {
        made.second = operand(function, made);
        made.hasSecond = true;
      }
    } while (accept(','));
  }
  if (!token_.is(';')) unexpected("',' or ';' in " + quoteFrom(first));
  made.end = static_cast<std::uint32_t>(token_.begin);
  advance();
  unwrapOne(made);
  checkInstruction(module_, function, made);
  function.instructions.push_back(std::move(made));
}

// [(results),] callee [, (arguments)] [, prototype]
void Parser::callOperands(Function& function, Instruction& made) {
  Call call;
  const auto list = [&](std::vector<Operand>& operands) {
    expect('(', "");
    if (!token_.is(')')) {
      do {
        if (operands.size() == kMostArguments) failInvalid(token_.line, "too many arguments of a call");
        operands.push_back(operand(function, made));
      } while (accept(','));
    }
    expect(')', "after arguments");
  };
  if (token_.is('(')) {
    list(call.results);
    expect(',', "after a call's results");
  }
  call.callee = operand(function, made);
  if (accept(',')) {
    if (token_.is('(')) {
      list(call.arguments);
      if (accept(',')) {
        const std::uint32_t line = token_.line;
        const std::string_view name = expectWord("a prototype");
        const Symbol* symbol = find(name);
        if (symbol == nullptr || symbol->kind != Symbol::Kind::prototype)
          failInvalid(line, "'" + std::string(name) + "' is no prototype");
        call.prototype = symbol->index;
      }
    } else {
      const std::uint32_t line = token_.line;
      const Symbol* symbol = find(expectWord("a prototype"));
      if (symbol == nullptr || symbol->kind != Symbol::Kind::prototype) failInvalid(line, "expected a prototype");
      call.prototype = symbol->index;
    }
  }
  made.call = static_cast<std::uint32_t>(function.calls.size());
  function.calls.push_back(std::move(call));
}

Operand Parser::operand(Function& function, Instruction& made) {
  if (token_.is('[')) return memoryOperand(function);
  if (token_.is('{')) return vectorOperand(function);
  if (token_.is('!') && peek().kind == Token::Kind::word) {
    advance();
    Operand made = wordOperand(function);
    if (made.kind != Operand::Kind::reg) unexpected("a predicate after '!'");
    made.negated = true;
    return made;
  }
  if (beginsConstant()) return constantOperand();
  // Only branches name labels, and those may come later.
  if (made.opcode == Opcode::bra) {
    labelUses_.push_back(
        {token_.text, labelScope_, token_.line, static_cast<std::uint32_t>(function.instructions.size())});
    Operand label;
    label.kind = Operand::Kind::label;
    advance();
    return label;
  }
  Operand named = wordOperand(function);
  if (named.kind == Operand::Kind::symbol && token_.is('[')) {
    named.value = static_cast<std::uint64_t>(elementOffset(function, named));
    named.isMemory = made.opcode == Opcode::ld || made.opcode == Opcode::ldu || made.opcode == Opcode::st;
  }
  if (named.kind == Operand::Kind::reg && made.opcode != Opcode::call && token_.kind == Token::Kind::dotted) {
    named.part = partNamed(token_.text);
    if (named.part != Part::whole) advance();
  }
  return named;
}

// An array's element, name[index]: its address, or what is there (PTX ISA, "Arrays as Operands"). Elements are the declared type's, also of arrays of vectors and of
// several dimensions.
std::int64_t Parser::elementOffset(Function& function, const Operand& named) {
  const auto arrayOf = [&]() -> const Variable* {
    switch (named.symbol) {
      case SymbolKind::variable:
        return &module_.variables[named.index];
      case SymbolKind::shared:
        return &module_.shared[named.index];
      case SymbolKind::local:
        return &function.locals[named.index];
      default:
        return nullptr;
    }
  };
  const std::uint32_t line = token_.line;
  const Variable* const array = arrayOf();
  if (array == nullptr || !array->isArray) failInvalid(line, "what is indexed is no array");
  expect('[', "");
  if (token_.kind == Token::Kind::word && registerNamed(function, token_.text) != kNone) failUnsupported(line, "an array's element by a register");
  const std::int64_t index = constantExpression("an index");
  expect(']', "after an index");
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(index) * (bitsOf(array->type) / 8));
}

Operand Parser::memoryOperand(Function& function) {
  expect('[', "");
  Operand made;
  if (token_.kind == Token::Kind::word) {
    made = wordOperand(function);
    if (made.kind == Operand::Kind::reg && (token_.is('+') || token_.is('-'))) {
      made.value = static_cast<std::uint64_t>(constantExpression("an offset"));
    }
    if (made.kind != Operand::Kind::reg && made.kind != Operand::Kind::symbol) unexpected("an address");
  } else {
    made.kind = Operand::Kind::integer;
    made.value = static_cast<std::uint64_t>(constantExpression("an address"));
  }
  made.isMemory = true;
  if (accept(',')) made.elements = vectorOperand(function).elements;  // of a texture: its coordinates
  expect(']', "after an address");
  return made;
}

Operand Parser::vectorOperand(Function& function) {
  expect('{', "");
  Operand made;
  made.kind = Operand::Kind::vector;
  do {
    if (made.elements.size() == kMostElements) unexpected("'}'");
    made.elements.push_back(beginsConstant() ? constantOperand() : wordOperand(function));
    if (made.elements.back().kind == Operand::Kind::vector) unexpected("no vector within a vector");
  } while (accept(','));
  expect('}', "after a vector");
  return made;
}

// All of a vector register, or the element named behind it (PTX ISA, "Vectors as Operands").
Operand Parser::vectorRegister(const Symbol& vector) {
  Operand element;
  element.kind = Operand::Kind::reg;
  if (token_.kind == Token::Kind::dotted) {
    const std::string_view names = "xyzwrgba";
    const std::size_t at = token_.text.size() == 1 ? names.find(token_.text) % 4 : std::string_view::npos;
    if (at >= vector.count || names.find(token_.text) == std::string_view::npos) unexpected("an element of the vector");
    element.index = vector.index + static_cast<std::uint32_t>(at);
    advance();
    return element;
  }
  Operand made;
  made.kind = Operand::Kind::vector;
  for (std::uint32_t at = 0; at < vector.count; ++at) {
    element.index = vector.index + at;
    made.elements.push_back(element);
  }
  return made;
}

Operand Parser::wordOperand(Function& function) {
  Operand made;
  const std::uint32_t line = token_.line;
  const std::string_view name = expectWord("an operand");
  if (name == "_") return made;
  if (const std::uint32_t reg = registerNamed(function, name); reg != kNone) {
    made.kind = Operand::Kind::reg;
    made.index = reg;
    return made;
  }
  if (const auto special = specialRegisterNamed(name)) {
    made.kind = Operand::Kind::special;
    made.special = special->id;
    if (name.starts_with("%reserved_smem_")) module_.usesReservedShared = true;
    if (special->hasComponent) {
      constexpr std::string_view kComponents = "xyzw";
      if (token_.kind != Token::Kind::dotted || token_.text.size() != 1 ||
          kComponents.find(token_.text) == std::string_view::npos) {
        failUnsupported(line, "'" + std::string(name) + "' without a component");
      }
      made.component = static_cast<std::uint8_t>(kComponents.find(token_.text));
      advance();
    }
    return made;
  }
  const Symbol* symbol = find(name);
  if (symbol == nullptr) failInvalid(line, "'" + std::string(name) + "' is not declared");
  if (symbol->kind == Symbol::Kind::vector) return vectorRegister(*symbol);
  made.kind = Operand::Kind::symbol;
  made.index = symbol->index;
  switch (symbol->kind) {
    case Symbol::Kind::variable:
      made.symbol = SymbolKind::variable;
      break;
    case Symbol::Kind::shared:
      made.symbol = SymbolKind::shared;
      break;
    case Symbol::Kind::local:
      made.symbol = SymbolKind::local;
      break;
    case Symbol::Kind::parameter:
      made.symbol = SymbolKind::parameter;
      break;
    case Symbol::Kind::function:
      made.symbol = SymbolKind::function;
      break;
    case Symbol::Kind::targets:
      made.kind = Operand::Kind::list;
      return made;
    default:
      failInvalid(line, "'" + std::string(name) + "' is no operand");
  }
  if (token_.is('+') || token_.is('-')) made.value = static_cast<std::uint64_t>(constantExpression("an offset"));
  return made;
}

Operand Parser::constantOperand() {
  Operand made;
  bool negative = false;
  if (token_.is('-') && peek().isFloat()) {
    negative = true;
    advance();
  }
  if (!token_.isFloat()) {
    made.kind = Operand::Kind::integer;
    made.value = constant("an operand").bits;
    return made;
  }
  const bool single = token_.kind == Token::Kind::float32;
  made.kind = single ? Operand::Kind::float32 : Operand::Kind::float64;
  made.value = token_.bits ^ (std::uint64_t{negative} << (single ? 31 : 63));
  advance();
  return made;
}

}  // namespace rouse::ptx
