#include <algorithm>

#include "server/device/ptx/failure.h"
#include "server/device/ptx/parser.h"

namespace rouse::ptx {
namespace {

constexpr std::size_t kLargestText = std::size_t{256} << 20;
constexpr std::uint32_t kNewestVersion = 99;

}  // namespace

Module parse(std::string_view text, Uncovered uncovered) {
  if (text.size() > kLargestText) {
    failUnsupported(1, "text of " + std::to_string(text.size()) + " bytes; at most " + std::to_string(kLargestText));
  }
  Module module;
  module.source = std::make_unique<const std::string>(text.substr(0, text.find_last_not_of('\0') + 1));
  module.text = *module.source;
  Parser(module, uncovered).run();
  return module;
}

void Parser::advance() {
  if (hasAhead_) {
    token_ = ahead_;
    hasAhead_ = false;
  } else {
    token_ = lexer_.next();
  }
}

const Token& Parser::peek() {
  if (!hasAhead_) {
    ahead_ = lexer_.next();
    hasAhead_ = true;
  }
  return ahead_;
}

bool Parser::accept(char c) {
  if (!token_.is(c)) return false;
  advance();
  return true;
}

bool Parser::acceptDotted(std::string_view word) {
  if (!token_.isDotted(word)) return false;
  advance();
  return true;
}

void Parser::unexpected(std::string_view expected) {
  failInvalid(token_.line, "expected " + std::string(expected) + ", found " + describe(token_));
}

void Parser::expect(char c, std::string_view where) {
  if (!accept(c)) unexpected("'" + std::string(1, c) + "' " + std::string(where));
}

std::string_view Parser::expectWord(std::string_view what) {
  if (token_.kind != Token::Kind::word) unexpected(what);
  const std::string_view word = token_.text;
  advance();
  return word;
}

std::uint64_t Parser::expectInteger(std::string_view what) {
  if (token_.kind != Token::Kind::integer) unexpected(what);
  const std::uint64_t value = token_.bits;
  advance();
  return value;
}

void Parser::run() {
  do unit();
  while (token_.kind != Token::Kind::end);
}

void Parser::unit() {
  scopes_[0] = {};  // clear() takes as long as the largest unit before this one needed buckets
  header();
  while (token_.kind != Token::Kind::end && !token_.isDotted("version")) moduleStatement();
}

void Parser::header() {
  if (!acceptDotted("version")) unexpected("'.version'");
  const std::string_view version = token_.text;
  if (token_.kind != Token::Kind::float64 || version.size() != 3 || version[1] != '.') unexpected("a version as 9.0");
  const auto number = static_cast<std::uint32_t>((version[0] - '0') * 10 + (version[2] - '0'));
  if (number > kNewestVersion) failUnsupported(token_.line, "version " + std::string(version));
  module_.version = std::max(module_.version, number);
  advance();
  if (!acceptDotted("target")) unexpected("'.target'");
  do {
    const std::uint32_t line = token_.line;
    const std::string_view word = expectWord("a target");
    if (word.starts_with("sm_")) {
      std::uint32_t target = 0;
      for (const char c : word.substr(3)) {
        if (c < '0' || c > '9') break;  // the suffixes a and f
        target = target * 10 + static_cast<std::uint32_t>(c - '0');
        if (target > 999) failInvalid(line, "target '" + std::string(word) + "' is no architecture");
      }
      module_.target = std::max(module_.target, target);
    } else if (word != "debug" && word != "texmode_unified" && word != "texmode_independent" &&
               word != "map_f64_to_f32") {
      failUnsupported(line, "target '" + std::string(word) + "'");
    }
  } while (accept(','));
  if (acceptDotted("address_size")) {
    const std::uint32_t line = token_.line;
    if (expectInteger("64") != 64) failUnsupported(line, "addresses of other than 64 bits");
  }
}

Linkage Parser::linkageDirectives() {
  Linkage linkage = Linkage::internal;
  while (true) {
    if (acceptDotted("extern")) {
      linkage = Linkage::external;
    } else if (acceptDotted("visible")) {
      linkage = Linkage::visible;
    } else if (acceptDotted("weak")) {
      linkage = Linkage::weak;
    } else if (acceptDotted("common")) {
      linkage = Linkage::common;
    } else {
      return linkage;
    }
  }
}

void Parser::moduleStatement() {
  if (token_.kind != Token::Kind::dotted) {
    if (accept(';')) return;
    unexpected("a directive");
  }
  if (token_.text == "section") return skipSection();
  if (token_.text == "file" || token_.text == "loc") return skipLocation();
  if (token_.text == "alias") return aliasDirective();
  if (acceptDotted("pragma")) {
    while (token_.kind == Token::Kind::string || token_.is(',')) advance();
    return expect(';', "after a pragma");
  }
  const Linkage linkage = linkageDirectives();
  const std::uint32_t line = token_.line;
  if (acceptDotted("entry")) return function(true, linkage);
  if (acceptDotted("func")) return function(false, linkage);
  if (acceptDotted("global")) return moduleVariable(Space::global, linkage);
  if (acceptDotted("const")) return moduleVariable(Space::constant, linkage);
  if (acceptDotted("shared")) return moduleVariable(Space::shared, linkage);
  if (token_.isDotted("tex") || token_.isDotted("local") || token_.isDotted("param") || token_.isDotted("reg")) {
    failUnsupported(line, "module-level '." + std::string(token_.text) + "'");
  }
  unexpected("a function or variable");
}

// Debug information: `.section name { ... }`. Nothing in it is used.
void Parser::skipSection() {
  const std::uint32_t line = token_.line;
  advance();
  while (!token_.is('{')) {
    if (token_.kind == Token::Kind::end) failInvalid(line, "section without a body");
    advance();
  }
  skipBraces("section");
}

void Parser::skipBraces(std::string_view what) {
  const std::uint32_t line = token_.line;
  std::size_t depth = 0;
  do {
    if (token_.is('{')) ++depth;
    if (token_.is('}')) --depth;
    if (token_.kind == Token::Kind::end) failInvalid(line, std::string(what) + " without an end");
    advance();
  } while (depth > 0);
}

// `.file n "name"[, time, size]` and `.loc file line column[, function_name label[+n]][, inlined_at file line column]`.
void Parser::skipLocation() {
  const bool file = token_.text == "file";
  advance();
  expectInteger("a file number");
  if (file) {
    if (token_.kind != Token::Kind::string) unexpected("a file name");
    advance();
    while (accept(',')) expectInteger("a number");
    return;
  }
  expectInteger("a line number");
  expectInteger("a column number");
  while (token_.is(',')) {
    advance();
    if (token_.isWord("function_name")) {
      advance();
      expectWord("a label");
      if (accept('+')) expectInteger("an offset");
    } else if (token_.isWord("inlined_at")) {
      advance();
      for (int i = 0; i < 3; ++i) expectInteger("a number");
    } else {
      unexpected("'function_name' or 'inlined_at'");
    }
  }
}

void Parser::skipParenthesised() {
  const std::uint32_t line = token_.line;
  expect('(', "");
  std::size_t depth = 1;
  while (depth > 0) {
    if (token_.is('(')) ++depth;
    if (token_.is(')')) --depth;
    if (token_.kind == Token::Kind::end) failInvalid(line, "'(' without ')'");
    advance();
  }
}

}  // namespace rouse::ptx
