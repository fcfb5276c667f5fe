// Matrices from one order and type to another, added up in the scale type. Cut into squares of C, so that what is read across comes from few lines.
#include "server/library/cpu/lt_transform.h"

#include <algorithm>
#include <cmath>

#include "server/library/cpu/batch.h"

namespace rouse::library::cpu {
namespace {

constexpr std::int64_t kTransformSquare = 256;

template <class Scale>
Scale loadAs(blas::Type type, const std::byte* at) {
  if constexpr (std::is_same_v<Scale, float>) {
    switch (type) {
      case blas::Type::i8: return static_cast<float>(*reinterpret_cast<const std::int8_t*>(at));
      case blas::Type::f16: return get(*reinterpret_cast<const Half*>(at));
      case blas::Type::bf16: return get(*reinterpret_cast<const Bfloat*>(at));
      default: break;
    }
  }
  if constexpr (std::is_same_v<Scale, std::uint32_t>) {
    if (type == blas::Type::i8) return static_cast<std::uint32_t>(std::int32_t{*reinterpret_cast<const std::int8_t*>(at)});
  }
  Scale value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Bytes are rounded to the nearest, and are the outermost where they do not reach; of a NaN 0.
std::int8_t toByte(float value) { return std::isnan(value) ? std::int8_t{0} : static_cast<std::int8_t>(std::nearbyint(std::clamp(value, -128.0f, 127.0f))); }
std::int8_t toByte(std::uint32_t value) { return static_cast<std::int8_t>(std::clamp(static_cast<std::int32_t>(value), -128, 127)); }

template <class Scale>
void storeAs(blas::Type type, std::byte* at, Scale value) {
  if constexpr (std::is_same_v<Scale, float>) {
    if (type == blas::Type::f16) return put(*reinterpret_cast<Half*>(at), value);
    if (type == blas::Type::bf16) return put(*reinterpret_cast<Bfloat*>(at), value);
  }
  if constexpr (std::is_same_v<Scale, float> || std::is_same_v<Scale, std::uint32_t>) {
    if (type == blas::Type::i8) {
      *reinterpret_cast<std::int8_t*>(at) = toByte(value);
      return;
    }
  }
  std::memcpy(at, &value, sizeof value);
}

// A matrix of the batch, by rows and columns of C.
class Source {
 public:
  Source(const blas::LtMatrix& m, std::uint64_t entry, blas::Transpose transpose)
      : matrix_(m), base_(reinterpret_cast<std::byte*>(m.address + entry * static_cast<std::uint64_t>(m.stride) * blas::bytesOf(m.type))),
        element_(blas::bytesOf(m.type)), byRows_((m.order == blas::Order::rows) != (transpose != blas::Transpose::none)) {}
  std::byte* at(std::int64_t row, std::int64_t column) const {
    return base_ + static_cast<std::uint64_t>(byRows_ ? row * matrix_.spacing + column : row + column * matrix_.spacing) * element_;
  }
  blas::Type type() const { return matrix_.type; }
  bool there() const { return matrix_.address != 0; }

 private:
  const blas::LtMatrix& matrix_;
  std::byte* base_;
  std::uint32_t element_;
  bool byRows_;
};

template <class Scale>
void transform(const blas::LtTransform& call, Scale alpha, Scale beta, std::uint64_t entry, std::int64_t row, std::int64_t column) {
  const Source a(call.a, entry, call.transa), b(call.b, entry, call.transb), c(call.c, entry, blas::Transpose::none);
  const std::int64_t rows = std::min(kTransformSquare, call.c.rows - row), columns = std::min(kTransformSquare, call.c.columns - column);
  const auto term = [](const Source& source, blas::Transpose transpose, Scale factor, std::int64_t i, std::int64_t j) {
    if (!source.there() || factor == Scale{}) return Scale{};  // a factor of 0 reads nothing
    const Scale value = loadAs<Scale>(source.type(), source.at(i, j));
    return factor * (transpose == blas::Transpose::conjugated ? conjugate(value) : value);
  };
  for (std::int64_t outer = 0; outer < (call.c.order == blas::Order::rows ? rows : columns); ++outer) {
    for (std::int64_t inner = 0; inner < (call.c.order == blas::Order::rows ? columns : rows); ++inner) {
      const std::int64_t i = row + (call.c.order == blas::Order::rows ? outer : inner), j = column + (call.c.order == blas::Order::rows ? inner : outer);
      storeAs<Scale>(c.type(), c.at(i, j), term(a, call.transa, alpha, i, j) + term(b, call.transb, beta, i, j));
    }
  }
}

}  // namespace

std::unique_ptr<Job> makeLtTransform(const blas::LtTransform& call) {
  const bool inMemory = call.scalars == blas::Scalars::inMemory;
  const auto number = [&](const blas::LtMatrix& of, const blas::Scalar& scalar) {
    return of.address != 0 ? readNumber(call.scaleType, inMemory ? reinterpret_cast<const void*>(scalar.words[0]) : &scalar) : Number{};
  };
  const Number alpha = number(call.a, call.alpha), beta = number(call.b, call.beta);
  const auto down = static_cast<std::uint64_t>(blocksOf(call.c.rows, kTransformSquare)), across = static_cast<std::uint64_t>(blocksOf(call.c.columns, kTransformSquare));
  return makePieces(down * across * static_cast<std::uint64_t>(call.batch), [=](std::uint64_t piece) {
    const std::uint64_t entry = piece / (down * across), square = piece % (down * across);
    const auto row = static_cast<std::int64_t>(square % down) * kTransformSquare, column = static_cast<std::int64_t>(square / down) * kTransformSquare;
    if (withBasic(call.scaleType, [&]<class T>(T) { transform<T>(call, as<T>(alpha), as<T>(beta), entry, row, column); })) return;
    // Whole numbers wrap, as unsigned ones do.
    const auto whole = [](Number value) { return static_cast<std::uint32_t>(static_cast<std::int32_t>(value.real())); };
    transform<std::uint32_t>(call, whole(alpha), whole(beta), entry, row, column);
  });
}

}  // namespace rouse::library::cpu
