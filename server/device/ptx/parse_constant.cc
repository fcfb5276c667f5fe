// Constant expressions of integers: C's operators with C's precedence, in 64 bits, signed or not (PTX ISA, "Constant Expressions" and "Summary of Constant
// Expression Evaluation Rules"). A remainder's % must stand apart from what follows: `%3` is a name.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "server/device/ptx/failure.h"
#include "server/device/ptx/parser.h"

namespace rouse::ptx {
namespace {

using Constant = Parser::Constant;

constexpr unsigned kDeepest = 64;
constexpr std::uint64_t kWarpSize = 32;

struct Operator {
  char first = 0, second = 0;  // second: 0 where it is one character
  unsigned precedence = 0;     // the higher binds first
};
// Those of two characters before those of one that they begin with.
constexpr Operator kOperators[] = {{'|', '|', 1}, {'&', '&', 2}, {'|', 0, 3}, {'^', 0, 4}, {'&', 0, 5}, {'=', '=', 6}, {'!', '=', 6}, {'<', '<', 8}, {'>', '>', 8},
                                   {'<', '=', 7}, {'>', '=', 7}, {'<', 0, 7}, {'>', 0, 7}, {'+', 0, 9}, {'-', 0, 9}, {'*', 0, 10}, {'/', 0, 10}, {'%', 0, 10}};

std::int64_t asSigned(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }

std::uint64_t quotient(Constant a, Constant b, bool isUnsigned) {
  if (isUnsigned) return a.bits / b.bits;
  if (asSigned(b.bits) == -1) return -a.bits;
  return static_cast<std::uint64_t>(asSigned(a.bits) / asSigned(b.bits));
}

bool less(Constant a, Constant b) {
  return a.isUnsigned || b.isUnsigned ? a.bits < b.bits : asSigned(a.bits) < asSigned(b.bits);
}

std::uint64_t shifted(Constant a, std::uint64_t by, bool left) {
  if (left) return by > 63 ? 0 : a.bits << by;
  if (a.isUnsigned) return by > 63 ? 0 : a.bits >> by;
  return static_cast<std::uint64_t>(asSigned(a.bits) >> std::min<std::uint64_t>(by, 63));
}

// The divisor is not zero.
Constant evaluate(const Operator& op, Constant a, Constant b) {
  const bool isUnsigned = a.isUnsigned || b.isUnsigned;
  const auto truth = [](bool is) { return Constant{is ? 1u : 0u, false}; };
  switch (op.first) {
    case '+':
      return {a.bits + b.bits, isUnsigned};
    case '-':
      return {a.bits - b.bits, isUnsigned};
    case '*':
      return {a.bits * b.bits, isUnsigned};
    case '/':
      return {quotient(a, b, isUnsigned), isUnsigned};
    case '%':
      return {a.bits - quotient(a, b, isUnsigned) * b.bits, isUnsigned};
    case '=':
      return truth(a.bits == b.bits);
    case '!':
      return truth(a.bits != b.bits);
    case '^':
      return {a.bits ^ b.bits, true};
    case '&':
      return op.second != 0 ? truth(a.bits != 0 && b.bits != 0) : Constant{a.bits & b.bits, true};
    case '|':
      return op.second != 0 ? truth(a.bits != 0 || b.bits != 0) : Constant{a.bits | b.bits, true};
    case '<':
      if (op.second == '<') return {shifted(a, b.bits, true), a.isUnsigned};
      return truth(op.second == '=' ? !less(b, a) : less(a, b));
    default:
      if (op.second == '>') return {shifted(a, b.bits, false), a.isUnsigned};
      return truth(op.second == '=' ? !less(a, b) : less(b, a));
  }
}

bool mayBeOperator(const Token& token) {
  return token.isWord("%") || (token.kind == Token::Kind::punct && std::string_view("|&^=!<>+-*/%").find(token.text[0]) != std::string_view::npos);
}

// The operator that begins with this token.
std::optional<Operator> operatorAt(const Token& token, const Token& next) {
  if (token.isWord("%")) return Operator{'%', 0, 10};
  for (const Operator& op : kOperators)
    if (token.is(op.first) && (op.second == 0 || (next.is(op.second) && next.begin == token.end))) return op;
  return std::nullopt;
}

}  // namespace

std::int64_t Parser::constantExpression(std::string_view what) { return asSigned(constant(what).bits); }

Parser::Constant Parser::constant(std::string_view what) { return choiceOfConstants(what, 0); }

Parser::Constant Parser::choiceOfConstants(std::string_view what, unsigned depth) {
  if (depth > kDeepest) failUnsupported(token_.line, "a constant expression deeper than " + std::to_string(kDeepest));
  const Constant condition = operation(what, 1, depth);
  if (!accept('?')) return condition;
  const Constant chosen = choiceOfConstants(what, depth + 1);
  expect(':', "in a constant expression");
  const Constant other = choiceOfConstants(what, depth + 1);
  return {condition.bits != 0 ? chosen.bits : other.bits, chosen.isUnsigned || other.isUnsigned};
}

// What binds at least as strongly as `precedence`.
Parser::Constant Parser::operation(std::string_view what, unsigned precedence, unsigned depth) {
  Constant value = factor(what, depth);
  while (mayBeOperator(token_)) {
    const auto op = operatorAt(token_, peek());
    if (!op || op->precedence < precedence) break;
    const std::uint32_t line = token_.line;
    advance();
    if (op->second != 0) advance();
    const Constant right = operation(what, op->precedence + 1, depth + 1);
    if ((op->first == '/' || op->first == '%') && right.bits == 0) failInvalid(line, "a division by zero in a constant expression");
    value = evaluate(*op, value, right);
  }
  return value;
}

Parser::Constant Parser::factor(std::string_view what, unsigned depth) {
  if (depth > kDeepest) failUnsupported(token_.line, "a constant expression deeper than " + std::to_string(kDeepest));
  if (accept('+')) return factor(what, depth + 1);
  if (accept('-')) {
    const Constant value = factor(what, depth + 1);
    return {-value.bits, value.isUnsigned};
  }
  if (accept('!')) return {factor(what, depth + 1).bits == 0 ? 1u : 0u, false};
  if (accept('~')) return {~factor(what, depth + 1).bits, true};
  if (accept('(')) {
    if (token_.isDotted("s64") || token_.isDotted("u64")) {
      const bool isUnsigned = token_.text == "u64";
      advance();
      expect(')', "after a type");
      return {factor(what, depth + 1).bits, isUnsigned};
    }
    const Constant value = choiceOfConstants(what, depth + 1);
    expect(')', "in a constant expression");
    return value;
  }
  if (token_.isWord(kWarpSizeName)) {
    advance();
    return {kWarpSize, false};
  }
  // "signed unless the value cannot be represented" so, or marked
  const bool isUnsigned = token_.isUnsigned || token_.bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return {expectInteger(what), isUnsigned};
}

}  // namespace rouse::ptx
