#include "server/device/ptx/lexer.h"

#include <bit>
#include <charconv>

#include "server/device/ptx/failure.h"

namespace rouse::ptx {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool beginsWord(char c) { return isLetter(c) || c == '_' || c == '$' || c == '%'; }
bool continuesWord(char c) { return isLetter(c) || isDigit(c) || c == '_' || c == '$'; }

int hexDigit(char c) {
  if (isDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::size_t kLongestNumber = 64;

}  // namespace

std::string describe(const Token& token) {
  switch (token.kind) {
    case Token::Kind::end:
      return "the end of the text";
    case Token::Kind::dotted:
      return "'." + std::string(token.text.substr(0, 80)) + "'";
    case Token::Kind::string:
      return "a string";
    default:
      return "'" + std::string(token.text.substr(0, 80)) + "'";
  }
}

void Lexer::skipBlanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '\0') {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '*') {
      const std::uint32_t opened = line_;
      const std::size_t close = text_.find("*/", at_ + 2);
      if (close == std::string_view::npos) failInvalid(opened, "comment without an end");
      for (; at_ < close + 2; ++at_) line_ += text_[at_] == '\n';
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skipBlanks();
  Token token;
  token.line = line_;
  token.begin = token.end = at_;
  if (at_ == text_.size()) return token;
  const char c = text_[at_];
  const auto finish = [&](Token::Kind kind, std::size_t from, std::size_t to) {
    token.kind = kind;
    token.text = text_.substr(from, to - from);
    token.end = at_;
    return token;
  };
  if (isDigit(c)) return number(token);
  if (beginsWord(c)) {
    ++at_;
    while (at_ < text_.size() && continuesWord(text_[at_])) ++at_;
    return finish(Token::Kind::word, token.begin, at_);
  }
  if (c == '.' && at_ + 1 < text_.size() && (continuesWord(text_[at_ + 1]))) {
    ++at_;
    while (at_ < text_.size()) {
      if (continuesWord(text_[at_])) {
        ++at_;
      } else if (text_[at_] == ':' && at_ + 2 < text_.size() && text_[at_ + 1] == ':' &&
                 continuesWord(text_[at_ + 2])) {
        at_ += 2;
      } else {
        break;
      }
    }
    return finish(Token::Kind::dotted, token.begin + 1, at_);
  }
  if (c == '"') {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size() || text_[at_] != '"') failInvalid(token.line, "string without an end");
    ++at_;
    return finish(Token::Kind::string, token.begin + 1, at_ - 1);
  }
  constexpr std::string_view kPunctuation = ",;:()[]{}<>+-*/%&|^!~=?@.";
  if (kPunctuation.find(c) == std::string_view::npos) {
    failInvalid(token.line, "unexpected character with code " + std::to_string(static_cast<unsigned char>(c)));
  }
  ++at_;
  return finish(Token::Kind::punct, token.begin, at_);
}

// Whether what stands behind a decimal point belongs to the number: its digits, an exponent, or nothing (`0.`, as inline assembly has it).
bool Lexer::endsWhole(std::size_t at) const {
  const auto next = [&](std::size_t distance) { return at + distance < text_.size() ? text_[at + distance] : '\0'; };
  if (isDigit(next(0)) || !continuesWord(next(0))) return true;
  return (next(0) == 'e' || next(0) == 'E') && (isDigit(next(1)) || next(1) == '+' || next(1) == '-');
}

// Integers: decimal, 0x, 0b, octal, each with an optional U. Floating point: 0f and 0d with all their hexadecimal
// digits, or decimal (PTX ISA, "Constants").
Token Lexer::number(Token token) {
  const auto bad = [&] {
    failInvalid(token.line, "malformed number at '" + std::string(text_.substr(token.begin, 24)) + "'");
  };
  const char second = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  const bool zero = text_[at_] == '0';
  if (zero && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
    const bool single = second == 'f' || second == 'F';
    at_ += 2;
    for (int digits = single ? 8 : 16; digits > 0; --digits, ++at_) {
      const int value = at_ < text_.size() ? hexDigit(text_[at_]) : -1;
      if (value < 0) bad();
      token.bits = token.bits << 4 | static_cast<std::uint64_t>(value);
    }
    token.kind = single ? Token::Kind::float32 : Token::Kind::float64;
  } else {
    std::uint64_t base = 10;
    if (zero && (second == 'x' || second == 'X')) base = 16;
    if (zero && (second == 'b' || second == 'B')) base = 2;
    if (base != 10) at_ += 2;
    const std::size_t first = at_;
    bool decimalPoint = false;
    while (at_ < text_.size() && at_ - first < kLongestNumber) {
      const char c = text_[at_];
      if (base == 16 ? hexDigit(c) >= 0 : isDigit(c)) {
        ++at_;
      } else if (base == 10 && c == '.' && !decimalPoint && endsWhole(at_ + 1)) {
        decimalPoint = true;
        ++at_;
      } else if (base == 10 && (c == 'e' || c == 'E')) {
        decimalPoint = true;
        ++at_;
        if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      } else {
        break;
      }
    }
    if (at_ == first) bad();
    if (decimalPoint) {
      double value = 0;
      const char* const last = text_.data() + at_;
      const auto [end, error] = std::from_chars(text_.data() + first, last, value);
      if (end != last || error == std::errc::invalid_argument) bad();
      token.bits = std::bit_cast<std::uint64_t>(value);
      token.kind = Token::Kind::float64;
    } else {
      if (base == 10 && zero && at_ - first > 1) base = 8;
      for (std::size_t i = first; i < at_; ++i) {
        const auto digit = static_cast<std::uint64_t>(hexDigit(text_[i]));
        if (digit >= base || token.bits > (~std::uint64_t{0} - digit) / base) bad();
        token.bits = token.bits * base + digit;
      }
      token.kind = Token::Kind::integer;
      if (at_ < text_.size() && text_[at_] == 'U') {
        token.isUnsigned = true;
        ++at_;
      }
    }
  }
  if (at_ < text_.size() && continuesWord(text_[at_])) bad();
  token.text = text_.substr(token.begin, at_ - token.begin);
  token.end = at_;
  return token;
}

}  // namespace rouse::ptx
