// PTX text to tokens, one at a time (PTX ISA, "Syntax").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rouse::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    end,
    word,     // identifier, register, opcode
    dotted,   // .word; `text` is without the dot
    integer,  // `bits`; isUnsigned with the suffix U
    float32,  // 0f... ; `bits`
    float64,  // 0d... or decimal; `bits`
    string,   // without the quotes
    punct,    // one character: `text`
  };
  Kind kind = Kind::end;
  bool isUnsigned = false;
  std::uint32_t line = 1;
  std::uint64_t bits = 0;
  std::string_view text;  // as written
  std::size_t begin = 0;  // in the module's text
  std::size_t end = 0;

  bool is(char c) const { return kind == Kind::punct && text[0] == c; }
  bool isWord(std::string_view word) const { return kind == Kind::word && text == word; }
  bool isFloat() const { return kind == Kind::float32 || kind == Kind::float64; }
  bool isDotted(std::string_view word) const { return kind == Kind::dotted && text == word; }
};

// What a message calls the token.
std::string describe(const Token&);

class Lexer {
 public:
  // The text must outlive the tokens.
  explicit Lexer(std::string_view text) : text_(text) {}

  // Throws Failure for a character or number that PTX does not know. After the end: the end again.
  Token next();

 private:
  void skipBlanks();
  Token number(Token token);
  bool endsWhole(std::size_t at) const;

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace rouse::ptx
