// Calls of cuSPARSE with memory of their own, run as the CPU device runs them, and matrices that are what they are by definition.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <complex>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "schemas/sparse/check.h"
#include "server/library/cpu/convert.h"
#include "server/library/cpu/prepare.h"
#include "test/libraries/pieces.h"

namespace rouse::sparse {

using Number = std::complex<double>;
// Elements by row and column; several at one place are added.
using Matrix = std::map<std::pair<std::int64_t, std::int64_t>, Number>;

template <class T>
std::uint64_t addressOf(std::vector<T>& values) {
  return reinterpret_cast<std::uint64_t>(values.data());
}

// Numbers of any type, as bytes.
inline std::vector<std::byte> encode(Type type, const std::vector<Number>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * bytesOf(type) + 1);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::byte* const at = bytes.data() + i * bytesOf(type);
    const auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
    switch (type) {
      case Type::i8: put(static_cast<std::int8_t>(numbers[i].real())); break;
      case Type::i32: put(static_cast<std::int32_t>(numbers[i].real())); break;
      case Type::f16: put(library::cpu::floatToHalf(static_cast<float>(numbers[i].real()))); break;
      case Type::bf16: put(library::cpu::floatToBfloat(static_cast<float>(numbers[i].real()))); break;
      case Type::f32: put(static_cast<float>(numbers[i].real())); break;
      case Type::f64: put(numbers[i].real()); break;
      case Type::c32: put(std::complex<float>(numbers[i])); break;
      default: put(numbers[i]);
    }
  }
  return bytes;
}
inline Number decode(Type type, const std::byte* at) {
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case Type::i8: return static_cast<double>(as(std::int8_t{}));
    case Type::i32: return static_cast<double>(as(std::int32_t{}));
    case Type::f16: return static_cast<double>(library::cpu::halfToFloat(as(std::uint16_t{})));
    case Type::bf16: return static_cast<double>(library::cpu::bfloatToFloat(as(std::uint16_t{})));
    case Type::f32: return static_cast<double>(as(float{}));
    case Type::f64: return as(double{});
    case Type::c32: return Number(as(std::complex<float>{}));
    default: return as(Number{});
  }
}

// Whole numbers, so that each type has them as they are.
inline Number anyNumber(std::mt19937& random, Type type) {
  std::uniform_int_distribution<int> some(-4, 4);
  const double real = some(random);
  return isComplex(type) ? Number(real, some(random)) : Number(real);
}
inline Matrix anyMatrix(std::mt19937& random, std::int64_t rows, std::int64_t cols, double share, Type type) {
  Matrix matrix;
  std::uniform_real_distribution<double> chance(0, 1);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j)
      if (chance(random) < share) matrix[{i, j}] = anyNumber(random, type);
  return matrix;
}

// A matrix in one of the formats, with its memory.
struct Stored {
  Sparse what;
  std::vector<std::byte> offsets, indices, values;
  void write(std::vector<std::byte>& to, Index type, const std::vector<std::int64_t>& numbers) {
    to.resize(numbers.size() * bytesOf(type) + 1);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto narrow = static_cast<std::int32_t>(numbers[i]);
      if (type == Index::i32) std::memcpy(to.data() + i * 4, &narrow, 4);
      else std::memcpy(to.data() + i * 8, &numbers[i], 8);
    }
  }
  void place() {
    what.offsets = offsets.empty() ? 0 : addressOf(offsets);
    what.indices = addressOf(indices);
    what.values = addressOf(values);
  }
};

inline std::int64_t readIndex(Index type, const std::byte* at, std::int64_t i) {
  std::int32_t narrow;
  std::int64_t wide;
  std::memcpy(&narrow, at + i * bytesOf(type), 4);
  if (type == Index::i32) return narrow;
  std::memcpy(&wide, at + i * 8, 8);
  return wide;
}

struct Style {
  Format format = Format::csr;
  Index offsets = Index::i32, indices = Index::i32;
  int base = 0;
  Order order = Order::none;  // of blocks
  std::int64_t block = 2;     // rows of one; columns: one more
};

inline std::unique_ptr<Stored> store(const Matrix& matrix, std::int64_t rows, std::int64_t cols, Type type, const Style& style) {
  auto out = std::make_unique<Stored>();
  Sparse& m = out->what;
  m.format = style.format;
  m.rows = rows;
  m.cols = cols;
  m.type = type;
  m.base = static_cast<std::uint8_t>(style.base);
  m.batch = 1;
  m.indicesType = style.indices;
  m.offsetsType = style.format == Format::coo ? style.indices : style.offsets;
  std::vector<std::int64_t> offsets, indices;
  std::vector<Number> values;
  switch (style.format) {
    case Format::csr: case Format::csc: {
      const bool byRows = style.format == Format::csr;
      for (std::int64_t line = 0; line < (byRows ? rows : cols); ++line) {
        offsets.push_back(static_cast<std::int64_t>(indices.size()) + style.base);
        for (const auto& [place, value] : matrix)
          if ((byRows ? place.first : place.second) == line) {
            indices.push_back((byRows ? place.second : place.first) + style.base);
            values.push_back(value);
          }
      }
      offsets.push_back(static_cast<std::int64_t>(indices.size()) + style.base);
      m.nnz = static_cast<std::int64_t>(indices.size());
      break;
    }
    case Format::coo:
      for (const auto& [place, value] : matrix) {
        offsets.push_back(place.first + style.base);
        indices.push_back(place.second + style.base);
        values.push_back(value);
      }
      m.nnz = static_cast<std::int64_t>(indices.size());
      break;
    case Format::bsr: {
      m.blockRows = style.block;
      m.blockCols = cols % (style.block + 1) == 0 ? style.block + 1 : style.block;
      m.order = style.order == Order::none ? Order::row : style.order;
      for (std::int64_t line = 0; line < rows / m.blockRows; ++line) {
        offsets.push_back(static_cast<std::int64_t>(indices.size()) + style.base);
        for (std::int64_t column = 0; column < cols / m.blockCols; ++column) {
          std::vector<Number> block(static_cast<std::size_t>(m.blockRows * m.blockCols));
          bool any = false;
          for (const auto& [place, value] : matrix) {
            const std::int64_t i = place.first - line * m.blockRows, j = place.second - column * m.blockCols;
            if (i < 0 || j < 0 || i >= m.blockRows || j >= m.blockCols) continue;
            any = true;
            block[static_cast<std::size_t>(m.order == Order::row ? i * m.blockCols + j : j * m.blockRows + i)] = value;
          }
          if (!any) continue;
          indices.push_back(column + style.base);
          values.insert(values.end(), block.begin(), block.end());
        }
      }
      offsets.push_back(static_cast<std::int64_t>(indices.size()) + style.base);
      m.nnz = static_cast<std::int64_t>(indices.size());
      break;
    }
    default: {  // a sliced ELL
      m.width = style.block;
      for (std::int64_t first = 0; first < rows; first += m.width) {
        offsets.push_back(static_cast<std::int64_t>(indices.size()) + style.base);
        std::vector<std::vector<std::pair<std::int64_t, Number>>> lines(static_cast<std::size_t>(m.width));
        std::size_t longest = 0;
        for (const auto& [place, value] : matrix)
          if (place.first >= first && place.first < first + m.width) {
            auto& line = lines[static_cast<std::size_t>(place.first - first)];
            line.emplace_back(place.second + style.base, value);
            longest = std::max(longest, line.size());
          }
        for (std::size_t k = 0; k < longest; ++k)
          for (const auto& line : lines) {
            indices.push_back(k < line.size() ? line[k].first : -1);
            values.push_back(k < line.size() ? line[k].second : Number{});
          }
      }
      offsets.push_back(static_cast<std::int64_t>(indices.size()) + style.base);
      m.nnz = static_cast<std::int64_t>(matrix.size());
      m.stored = static_cast<std::int64_t>(indices.size());
    }
  }
  out->write(out->offsets, m.offsetsType, offsets);
  out->write(out->indices, m.indicesType, indices);
  out->values = encode(type, values);
  out->place();
  return out;
}

// What a stored matrix by rows, by columns or as elements says.
inline Matrix load(const Stored& stored) {
  const Sparse& m = stored.what;
  Matrix matrix;
  const auto value = [&](std::int64_t i) { return decode(m.type, stored.values.data() + i * bytesOf(m.type)); };
  const auto index = [&](std::int64_t i) { return readIndex(m.indicesType, stored.indices.data(), i) - m.base; };
  const auto offset = [&](std::int64_t i) { return readIndex(m.offsetsType, stored.offsets.data(), i) - m.base; };
  if (m.format == Format::coo) {
    for (std::int64_t i = 0; i < m.nnz; ++i) matrix[{offset(i), index(i)}] += value(i);
    return matrix;
  }
  const bool byRows = m.format == Format::csr;
  for (std::int64_t line = 0; line < (byRows ? m.rows : m.cols); ++line)
    for (std::int64_t i = offset(line); i < offset(line + 1); ++i) matrix[byRows ? std::pair(line, index(i)) : std::pair(index(i), line)] += value(i);
  return matrix;
}

// A dense matrix with gaps between its lines.
struct DenseStored {
  DenseStored(std::int64_t rows, std::int64_t cols, Type type, Order order = Order::column, std::int64_t gap = 1) {
    what.rows = rows;
    what.cols = cols;
    what.spacing = (order == Order::column ? rows : cols) + gap;
    what.type = type;
    what.order = order;
    what.batch = 1;
    values.resize(static_cast<std::size_t>(what.spacing * (order == Order::column ? cols : rows)) * bytesOf(type) + 1, std::byte{0});
    what.values = addressOf(values);
  }
  DenseStored(const DenseStored&) = delete;
  std::byte* at(std::int64_t i, std::int64_t j) {
    return values.data() + (what.order == Order::column ? j * what.spacing + i : i * what.spacing + j) * static_cast<std::int64_t>(bytesOf(what.type));
  }
  void set(std::int64_t i, std::int64_t j, Number value) { std::memcpy(at(i, j), encode(what.type, {value}).data(), bytesOf(what.type)); }
  Number get(std::int64_t i, std::int64_t j) { return decode(what.type, at(i, j)); }
  void fill(std::mt19937& random) {
    for (std::int64_t i = 0; i < what.rows; ++i)
      for (std::int64_t j = 0; j < what.cols; ++j) set(i, j, anyNumber(random, what.type));
  }
  Dense what;
  std::vector<std::byte> values;
};

inline void setScalar(Scalar& scalar, Type type, Number value) { std::memcpy(scalar.words, encode(type, {value}).data(), bytesOf(type)); }

class AllMemory final : public library::MappedMemory {
 public:
  explicit AllMemory(bool there = true) : there_(there) {}
  bool contains(AddressRange) const override { return there_; }

 private:
  const bool there_;
};

inline const AllMemory kAllMemory, kNoMemory(false);  // jobs ask them as long as they live
inline auto prepare(Function function, const Call& call, const library::MappedMemory& memory = kAllMemory) {
  return library::cpu::prepare(kLibrary, static_cast<std::uint32_t>(function), std::as_bytes(std::span(&call, 1)), memory);
}

// What is said of a call that does not run to its end; empty: it does.
inline std::string runAll(Function function, const Call& call, unsigned seed = 0) {
  if (const Check checked = check(function, call); checked.verdict != Verdict::runs) return std::string("refused: ") + checked.what;
  if (Ranges found; !ranges(function, call, found)) return "refused: an address";
  auto job = prepare(function, call);
  if (!job) return job.error().message;
  try {
    library::run(**job, seed);
  } catch (const library::Failure& failure) {
    return failure.what();
  }
  return {};
}

inline Number opOf(Operation op, Number value) { return op == Operation::conjugate ? std::conj(value) : value; }

inline constexpr Operation kOperations[] = {Operation::none, Operation::transpose, Operation::conjugate};
inline const Style kStyles[] = {{Format::csr},
                         {Format::csr, Index::i64, Index::i64, 1},
                         {Format::csr, Index::i64, Index::i32},
                         {Format::csr, Index::i32, Index::i64, 1},
                         {Format::csc, Index::i32, Index::i32, 1},
                         {Format::coo, Index::i64, Index::i64},
                         {Format::coo, Index::i32, Index::i32, 1},
                         {Format::bsr, Index::i32, Index::i32, 0, Order::row},
                         {Format::bsr, Index::i32, Index::i32, 1, Order::column, 3},
                         {Format::slicedEll, Index::i32, Index::i32, 0, Order::none, 4}};
inline Matrix turned(const Matrix& matrix, Operation op) {
  if (op == Operation::none) return matrix;
  Matrix out;
  for (const auto& [place, value] : matrix) out[{place.second, place.first}] = opOf(op, value);
  return out;
}

inline void near(Number got, Number wanted, double epsilon) {
  CAPTURE(got, wanted);
  CHECK(std::abs(got - wanted) <= epsilon * (1 + std::abs(wanted)));
}

}  // namespace rouse::sparse
