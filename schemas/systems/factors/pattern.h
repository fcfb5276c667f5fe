// Where a matrix has elements, by rows, in memory of our own. What it comes from may be anything, and may change while it is read: each index is read once, then
// checked, then used.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "schemas/systems/call.h"
#include "schemas/systems/factors/room.h"

namespace rouse::systems {

using Indices = std::vector<std::int32_t>;

struct Pattern {
  std::int32_t rows = 0, cols = 0;
  Indices offsets{0};  // of each row's first element, and the end
  Indices columns;     // of a row in the order in which they are stored; several may be of one place
  std::int32_t elements() const { return offsets.back(); }
};

// An index that is none.
struct Wrong {
  const char* what = "";  // literal
  std::int64_t number = 0, value = 0, limit = 0;
};

// Offsets that go back or behind the elements and columns that are none are wrong. `ends`: where rows end, if that is not where the next begins.
std::optional<Wrong> read(const Matrix& from, Pattern& to, Room& room, const std::int32_t* ends = nullptr);

// The numbers of a matrix of any type, as double or complex double. Number `entry` of a batch.
template <class N>
std::vector<N> readNumbers(Type type, std::uint64_t address, std::int64_t count, Room& room);
template <class N>
void writeNumbers(Type type, std::uint64_t address, const std::vector<N>& numbers);
// A matrix's values. They lie where the elements are that the pattern was read from.
template <class N>
std::vector<N> readValues(const Matrix& from, const Pattern& pattern, std::int64_t entry, Room& room);

// Elements where the matrix or its transpose has some, none on the diagonal, each once, in order.
Pattern symmetric(const Pattern& of, Room& room);
// By columns instead: places[k] is which element of `of` that one is.
Pattern transposed(const Pattern& of, std::vector<std::int32_t>& places, Room& room);

// Of an order (new: old) what is where (old: new).
Indices inverse(const Indices& order);

}  // namespace rouse::systems
