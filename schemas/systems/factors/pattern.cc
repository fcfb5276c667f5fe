#include "schemas/systems/factors/pattern.h"

#include <algorithm>
#include <type_traits>

#include "schemas/systems/check.h"

namespace rouse::systems {
namespace {

std::int32_t indexAt(std::uint64_t address, std::int64_t place) {
  std::int32_t index;
  std::memcpy(&index, reinterpret_cast<const std::byte*>(address) + place * 4, sizeof index);
  return index;
}

// visit(T{}) with what stores the type. The type has been checked.
template <class Visit>
void withStored(Type type, Visit&& visit) {
  switch (type) {
    case Type::f32: return visit(float{});
    case Type::f64: return visit(double{});
    case Type::c32: return visit(std::complex<float>{});
    default: return visit(std::complex<double>{});
  }
}
template <class T>
inline constexpr bool kIsComplex = !std::is_floating_point_v<T>;

}  // namespace

std::optional<Wrong> read(const Matrix& from, Pattern& to, Room& room, const std::int32_t* ends) {
  room.take((static_cast<std::uint64_t>(from.rows) + 1 + static_cast<std::uint64_t>(from.elements)) * 4);
  to.rows = from.rows;
  to.cols = from.cols;
  to.offsets.assign(1, 0);
  to.offsets.reserve(static_cast<std::size_t>(from.rows) + 1);
  to.columns.clear();
  to.columns.reserve(static_cast<std::size_t>(from.elements));
  std::int64_t last = 0;
  for (std::int64_t row = 0; row < from.rows; ++row) {
    const std::int64_t begin = row == 0 || ends != nullptr ? std::int64_t{indexAt(from.offsets, row)} - from.base : last;
    const std::int64_t end = (ends != nullptr ? std::int64_t{ends[row]} : std::int64_t{indexAt(from.offsets, row + 1)}) - from.base;
    if (row == 0 && ends == nullptr && begin != 0) return Wrong{"a row's offset", 0, begin, 1};
    if (begin < 0 || end < begin || end > from.elements) return Wrong{"a row's offset", row + 1, end < begin ? end : std::max(begin, end), from.elements};
    if (end - begin > from.elements - static_cast<std::int64_t>(to.columns.size())) return Wrong{"a row's offset", row + 1, end, from.elements};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t column = std::int64_t{indexAt(from.indices, i)} - from.base;
      if (column < 0 || column >= from.cols) return Wrong{"a column", i, column, from.cols};
      to.columns.push_back(static_cast<std::int32_t>(column));
    }
    to.offsets.push_back(static_cast<std::int32_t>(to.columns.size()));
    last = end;
  }
  return std::nullopt;
}

template <class N>
std::vector<N> readNumbers(Type type, std::uint64_t address, std::int64_t count, Room& room) {
  room.take(static_cast<std::uint64_t>(count) * sizeof(N));
  std::vector<N> out(static_cast<std::size_t>(count));
  withStored(type, [&]<class T>(T value) {
    if constexpr (kIsComplex<T> == kIsComplex<N>)
      for (std::size_t i = 0; i < out.size(); ++i) {
        std::memcpy(&value, reinterpret_cast<const std::byte*>(address) + i * sizeof value, sizeof value);
        out[i] = N(value);
      }
  });
  return out;
}
template <class N>
void writeNumbers(Type type, std::uint64_t address, const std::vector<N>& numbers) {
  withStored(type, [&]<class T>(T value) {
    if constexpr (kIsComplex<T> == kIsComplex<N>)
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        value = T(numbers[i]);
        std::memcpy(reinterpret_cast<std::byte*>(address) + i * sizeof value, &value, sizeof value);
      }
  });
}
template <class N>
std::vector<N> readValues(const Matrix& from, const Pattern& pattern, std::int64_t entry, Room& room) {
  const std::uint64_t first = from.values + static_cast<std::uint64_t>(entry) * static_cast<std::uint64_t>(from.elements) * bytesOf(from.type);
  return readNumbers<N>(from.type, first, pattern.elements(), room);
}
template std::vector<double> readNumbers(Type, std::uint64_t, std::int64_t, Room&);
template std::vector<std::complex<double>> readNumbers(Type, std::uint64_t, std::int64_t, Room&);
template void writeNumbers(Type, std::uint64_t, const std::vector<double>&);
template void writeNumbers(Type, std::uint64_t, const std::vector<std::complex<double>>&);
template std::vector<double> readValues(const Matrix&, const Pattern&, std::int64_t, Room&);
template std::vector<std::complex<double>> readValues(const Matrix&, const Pattern&, std::int64_t, Room&);

Pattern transposed(const Pattern& of, std::vector<std::int32_t>& places, Room& room) {
  room.take((2 * static_cast<std::uint64_t>(of.elements()) + 2 * static_cast<std::uint64_t>(of.cols)) * 4);
  Pattern out;
  out.rows = of.cols;
  out.cols = of.rows;
  out.offsets.assign(static_cast<std::size_t>(of.cols) + 1, 0);
  for (const std::int32_t column : of.columns) ++out.offsets[static_cast<std::size_t>(column) + 1];
  for (std::size_t i = 0; i < static_cast<std::size_t>(of.cols); ++i) out.offsets[i + 1] += out.offsets[i];
  out.columns.resize(of.columns.size());
  places.resize(of.columns.size());
  Indices next(out.offsets.begin(), out.offsets.end() - 1);
  for (std::int32_t row = 0; row < of.rows; ++row)
    for (std::int32_t i = of.offsets[static_cast<std::size_t>(row)]; i < of.offsets[static_cast<std::size_t>(row) + 1]; ++i) {
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(of.columns[static_cast<std::size_t>(i)])]++);
      out.columns[to] = row;
      places[to] = i;
    }
  return out;
}

Pattern symmetric(const Pattern& of, Room& room) {
  std::vector<std::int32_t> places;
  const Pattern other = transposed(of, places, room);
  if (2 * static_cast<std::uint64_t>(of.elements()) > 0x7fff'ffff) throw TooLarge();
  room.take((2 * static_cast<std::uint64_t>(of.elements()) + 2 * static_cast<std::uint64_t>(of.rows)) * 4);
  Pattern out;
  out.rows = out.cols = of.rows;
  out.offsets.reserve(static_cast<std::size_t>(of.rows) + 1);
  Indices seen(static_cast<std::size_t>(of.rows), -1);
  for (std::int32_t row = 0; row < of.rows; ++row) {
    const std::size_t first = out.columns.size();
    for (const Pattern* each : {&of, &other})
      for (std::int32_t i = each->offsets[static_cast<std::size_t>(row)]; i < each->offsets[static_cast<std::size_t>(row) + 1]; ++i) {
        const std::int32_t column = each->columns[static_cast<std::size_t>(i)];
        if (column == row || seen[static_cast<std::size_t>(column)] == row) continue;
        seen[static_cast<std::size_t>(column)] = row;
        out.columns.push_back(column);
      }
    std::sort(out.columns.begin() + static_cast<std::ptrdiff_t>(first), out.columns.end());
    out.offsets.push_back(static_cast<std::int32_t>(out.columns.size()));
  }
  return out;
}

Indices inverse(const Indices& order) {
  Indices where(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) where[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  return where;
}

}  // namespace rouse::systems
