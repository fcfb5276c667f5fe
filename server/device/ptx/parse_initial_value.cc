#include <bit>
#include <cstring>

#include "server/device/ptx/failure.h"
#include "server/device/ptx/parser.h"

namespace rouse::ptx {
namespace {

constexpr std::size_t kMostInitialBytes = std::size_t{256} << 20;

}  // namespace

void Parser::initialValue(Variable& variable, std::vector<std::uint64_t>& dimensions) {
  if (!token_.is('{')) {
    if (variable.isArray) unexpected("'{' before an array's elements");
    return initialElement(variable, 0);
  }
  if (dimensions.empty()) unexpected("one value");
  std::uint64_t reached = 0;
  initialList(variable, dimensions, 0, 0, reached);
  if (dimensions[0] == 0) variable.bytes = reached * bytesOf(variable.type);
}

// One brace level covers one dimension; missing elements are zero. `base` and `reached` count elements.
void Parser::initialList(Variable& variable, const std::vector<std::uint64_t>& dimensions, std::size_t depth,
                         std::uint64_t base, std::uint64_t& reached) {
  expect('{', "before elements");
  std::uint64_t stride = 1;
  for (std::size_t i = depth + 1; i < dimensions.size(); ++i) stride *= dimensions[i];
  const bool unbounded = dimensions[depth] == 0 && depth == 0;
  std::uint64_t position = 0;  // elements of this level, in units of one element
  while (!token_.is('}')) {
    if (!unbounded && position >= dimensions[depth] * stride) {
      failInvalid(token_.line, "more than " + std::to_string(dimensions[depth] * stride) + " elements for '" +
                                   std::string(variable.name) + "'");
    }
    if (token_.is('{')) {
      if (depth + 1 >= dimensions.size()) unexpected("one element");
      initialList(variable, dimensions, depth + 1, base + position, reached);
      position += stride;
    } else {
      initialElement(variable, base + position);
      ++position;
    }
    reached = std::max(reached, base + position);
    if (!accept(',')) break;
  }
  expect('}', "after elements");
}

void Parser::initialElement(Variable& variable, std::uint64_t element) {
  const std::size_t size = bytesOf(variable.type);
  const std::uint64_t offset = element * size;
  if (offset + size > kMostInitialBytes) {
    failUnsupported(token_.line, "more than " + std::to_string(kMostInitialBytes) + " bytes of initial values");
  }
  if (token_.kind == Token::Kind::word) return initialAddress(variable, offset, ~std::uint64_t{0});
  if (token_.kind == Token::Kind::integer && peek().is('(')) {
    const std::uint64_t mask = token_.bits;
    if (size != 1) failUnsupported(token_.line, "a masked address in anything but bytes");
    advance();
    expect('(', "after a mask");
    initialAddress(variable, offset, mask);
    return expect(')', "after a masked address");
  }
  std::uint64_t bits = 0;
  const bool negative = token_.is('-') && peek().isFloat();
  if (negative) advance();
  if (token_.isFloat()) {
    double value = token_.kind == Token::Kind::float32
                       ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(token_.bits)))
                       : std::bit_cast<double>(token_.bits);
    if (negative) value = -value;
    if (variable.type == Type::f64) {
      bits = std::bit_cast<std::uint64_t>(value);
    } else if (variable.type == Type::f32) {
      const auto single = static_cast<std::uint32_t>(token_.bits);
      bits = token_.kind == Token::Kind::float32 ? single ^ (negative ? 0x80000000u : 0u)
                                                 : std::bit_cast<std::uint32_t>(static_cast<float>(value));
    } else {
      unexpected("an integer");
    }
    advance();
  } else {
    const Constant value = constant("an initial value");
    bits = value.bits;
    if (variable.type == Type::f32 || variable.type == Type::f64) {
      const double number = value.isUnsigned ? static_cast<double>(value.bits) : static_cast<double>(static_cast<std::int64_t>(value.bits));
      bits = variable.type == Type::f64 ? std::bit_cast<std::uint64_t>(number) : std::bit_cast<std::uint32_t>(static_cast<float>(number));
    }
  }
  if (bits == 0) return;  // memory is zero to begin with
  if (variable.initial.size() < offset + size) variable.initial.resize(offset + size);
  std::memcpy(variable.initial.data() + offset, &bits, std::min<std::size_t>(size, sizeof bits));
}

// name, generic(name), each with an optional +n.
void Parser::initialAddress(Variable& variable, std::uint64_t offset, std::uint64_t mask) {
  AddressValue value;
  value.offset = offset;
  value.mask = mask;
  const bool whole = mask == ~std::uint64_t{0};
  if (whole && bytesOf(variable.type) != 8)
    failUnsupported(token_.line, "an address in a variable of other than 64-bit elements");
  bool generic = false;
  if (token_.isWord("generic")) {
    advance();
    expect('(', "after 'generic'");
    generic = true;
  }
  const std::uint32_t line = token_.line;
  const std::string_view name = expectWord("a variable or function");
  const Symbol* symbol = find(name);
  if (symbol == nullptr) failInvalid(line, "'" + std::string(name) + "' is not declared");
  if (symbol->kind == Symbol::Kind::function) {
    value.isFunction = true;
  } else if (symbol->kind != Symbol::Kind::variable) {
    failUnsupported(line, "the address of '" + std::string(name) + "' as an initial value");
  }
  value.index = symbol->index;
  if (token_.is('+') || token_.is('-')) value.addend = constantExpression("an offset");
  if (generic) expect(')', "after a generic address");
  if (token_.is('+') || token_.is('-')) value.addend += constantExpression("an offset");
  variable.addresses.push_back(value);
}

}  // namespace rouse::ptx
