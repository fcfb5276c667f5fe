// The parser's own header: one class, its parts in parse_*.cc. Others call parse().
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/device/ptx/lexer.h"
#include "server/device/ptx/module.h"

namespace rouse::ptx {

// Parses, resolves and checks a module. Throws Failure: for what is malformed always, for what is not covered if it is outside functions or that fails.
Module parse(std::string_view text, Uncovered = Uncovered::fails);

// Checks one instruction against the instruction table. Throws Failure.
void checkInstruction(const Module&, const Function&, const Instruction&);

class Parser {
 public:
  Parser(Module& module, Uncovered uncovered) : module_(module), uncovered_(uncovered), lexer_(module.text) { advance(); }
  void run();

  // Of an expression: .s64 or .u64.
  struct Constant {
    std::uint64_t bits = 0;
    bool isUnsigned = false;
  };

 private:
  static constexpr std::string_view kWarpSizeName = "WARP_SZ";  // the one constant that has a name

  struct Symbol {
    enum class Kind : std::uint8_t { reg, registers, vector, variable, shared, local, parameter, function, prototype, targets };
    Kind kind;
    std::uint32_t index = 0;
    Type type = Type::none;   // registers
    std::uint32_t count = 0;  // registers: %r<count>; vector: its elements, one register behind the other
  };
  using Names = std::unordered_map<std::string_view, Symbol>;
  struct LabelScope {
    std::uint32_t parent = kNone;
    std::unordered_map<std::string_view, std::uint32_t> labels;
  };
  struct LabelUse {
    std::string_view name;
    std::uint32_t scope, line;
    std::uint32_t instruction;  // kNone: of a target list
    std::uint32_t list = 0, element = 0;
  };
  struct VariableHead {  // what stands before a variable's name
    Type type = Type::none;
    std::uint32_t alignment = 0, vector = 1;
    bool isManaged = false;
  };

  // Tokens (parse_module.cc)
  void advance();
  const Token& peek();
  bool accept(char);
  bool acceptDotted(std::string_view);
  void expect(char, std::string_view where);
  std::string_view expectWord(std::string_view what);
  std::uint64_t expectInteger(std::string_view what);
  // Constant expressions (parse_constant.cc)
  std::int64_t constantExpression(std::string_view what);
  Constant constant(std::string_view what);
  Constant choiceOfConstants(std::string_view what, unsigned depth);
  Constant operation(std::string_view what, unsigned precedence, unsigned depth);
  Constant factor(std::string_view what, unsigned depth);
  [[noreturn]] void unexpected(std::string_view expected);

  // Module level (parse_module.cc)
  void unit();
  void header();
  Linkage linkageDirectives();
  void moduleStatement();
  void skipSection();
  void skipLocation();
  void skipParenthesised();
  void skipBraces(std::string_view what);

  // Names of units (link.cc)
  const Symbol* known(std::string_view name, Linkage, std::uint32_t line);
  const Symbol* inScope(std::string_view name) const;
  void declareInUnit(std::string_view name, Symbol, Linkage);
  bool keepsVariable(Variable& old, Variable& found) const;
  bool keepsFunction(const Function& old, const Function& found) const;

  // Declarations (parse_declarations.cc)
  VariableHead variableHead(bool typeRequired);
  void moduleVariable(Space, Linkage);
  Variable variable(const VariableHead&, Space, Linkage, std::vector<std::uint64_t>& dimensions);
  void declareVariable(Variable, Function*);
  void registers(Function&);
  Parameter parameter(Parameter::Role);
  void parameterVariable(Function&);
  std::vector<Parameter> parameterList(Parameter::Role);

  // Initial values (parse_initial_value.cc)
  void initialValue(Variable&, std::vector<std::uint64_t>& dimensions);
  void initialList(Variable&, const std::vector<std::uint64_t>& dimensions, std::size_t depth, std::uint64_t base,
                   std::uint64_t& reached);
  void initialElement(Variable&, std::uint64_t element);
  void initialAddress(Variable&, std::uint64_t offset, std::uint64_t mask);

  // Functions (parse_function.cc)
  void function(bool isKernel, Linkage);
  void functionDirectives(Function&, Signature&);
  void prepareBody(Function&, const Signature&);
  void body(Function&);
  void coveredBody(Function&);
  void statement(Function&);
  void bodyDirective(Function&);
  void labelled(Function&);
  void resolveLabels(Function&);
  Signature prototype();
  void aliasDirective();

  // Instructions (parse_instruction.cc)
  void instruction(Function&);
  void callOperands(Function&, Instruction&);
  Operand operand(Function&, Instruction&);
  Operand memoryOperand(Function&);
  std::int64_t elementOffset(Function&, const Operand& named);
  Operand vectorOperand(Function&);
  Operand wordOperand(Function&);
  Operand constantOperand();
  bool beginsConstant() const { return token_.kind != Token::Kind::word || token_.isWord(kWarpSizeName); }
  Operand vectorRegister(const Symbol&);
  std::uint32_t registerNamed(Function&, std::string_view name);  // kNone: none
  const Symbol* find(std::string_view name) const;
  void declare(std::string_view name, Symbol);
  std::string quoteFrom(const Token&) const;

  Module& module_;
  const Uncovered uncovered_;
  Lexer lexer_;
  Token token_;
  Token ahead_;
  bool hasAhead_ = false;
  std::size_t instructionCount_ = 0;
  std::size_t declaredVariables_ = 0;
  std::vector<Names> scopes_{1};                                     // innermost last, the unit's first
  Names linked_;                                                     // what units can know of each other
  std::unordered_map<std::uint64_t, std::uint32_t> rangeRegisters_;  // range and number → register
  std::uint32_t rangeCount_ = 0;
  std::vector<LabelScope> labelScopes_;  // of the function at hand
  std::uint32_t labelScope_ = kNone;
  std::vector<LabelUse> labelUses_;
};

}  // namespace rouse::ptx
