#include "server/device/ptx/types.h"

#include <array>
#include <unordered_map>

namespace rouse::ptx {
namespace {

struct Row {
  std::string_view name;
  std::uint8_t bits;
};

// In the order of the enumeration.
constexpr std::array<Row, static_cast<std::size_t>(Type::count)> kTypes{{
    {"", 0},       {"pred", 1},    {"b8", 8},     {"u8", 8},      {"s8", 8},      {"b16", 16}, {"u16", 16},
    {"s16", 16},   {"f16", 16},    {"bf16", 16},  {"b32", 32},    {"u32", 32},    {"s32", 32}, {"f32", 32},
    {"f16x2", 32}, {"bf16x2", 32}, {"u16x2", 32}, {"s16x2", 32},  {"tf32", 32},   {"b64", 64}, {"u64", 64},
    {"s64", 64},   {"f64", 64},    {"b128", 128}, {"e4m3x2", 16}, {"e5m2x2", 16}, {"e4m3", 8},
    {"e5m2", 8},   {"s4", 4},      {"u4", 4},     {"b1", 1},     {"s2", 2},     {"u2", 2},
}};

}  // namespace

std::optional<Type> typeNamed(std::string_view word) {
  static const auto* names = [] {
    auto* map = new std::unordered_map<std::string_view, Type>;
    for (std::size_t i = 1; i < kTypes.size(); ++i) map->emplace(kTypes[i].name, static_cast<Type>(i));
    return map;
  }();
  const auto found = names->find(word);
  if (found == names->end()) return std::nullopt;
  return found->second;
}

std::string_view nameOf(Type type) { return kTypes[static_cast<std::size_t>(type)].name; }

std::uint32_t bitsOf(Type type) { return kTypes[static_cast<std::size_t>(type)].bits; }

bool isSigned(Type type) { return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64; }

bool isFloat(Type type) { return type == Type::f16 || type == Type::bf16 || type == Type::f32 || type == Type::f64; }

bool isMatrixElement(Type type) {
  return type == Type::s4 || type == Type::u4 || type == Type::b1 || type == Type::e4m3 || type == Type::e5m2 || type == Type::s2 || type == Type::u2;
}

}  // namespace rouse::ptx
