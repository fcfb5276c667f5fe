#include "server/library/cpu/lt_matmul.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "server/library/cpu/tile.h"

namespace rouse::library::cpu {
namespace {

// What is read from memory before the call begins. Of 8-bit floats alpha and beta have A's, B's and C's scales in them.
struct Scaled {
  Number alpha, beta;
  float d = 1;
};

float floatAt(std::uint64_t address, std::int64_t index = 0) {
  float value;
  std::memcpy(&value, reinterpret_cast<const void*>(address + static_cast<std::uint64_t>(index) * sizeof value), sizeof value);
  return value;
}

std::uint64_t entryOf(std::uint64_t address, std::int64_t stride, std::uint64_t entry, blas::Type type) {
  return address + entry * static_cast<std::uint64_t>(stride) * blas::bytesOf(type);
}

// By rows is the transpose by columns.
Factor factorOf(const blas::LtMatrix& m, blas::Transpose transpose, std::uint64_t entry) {
  const bool straight = (transpose == blas::Transpose::none) != (m.order == blas::Order::rows);
  return {entryOf(m.address, m.stride, entry, m.type), m.spacing, m.type, straight};
}

template <class Wide>
Wide read(blas::Type type, std::uint64_t address) {
  return as<Wide>(readNumber(type, reinterpret_cast<const void*>(address)));
}

template <class Wide>
void write(blas::Type type, std::uint64_t address, Wide value) {
  switch (type) {
    case blas::Type::f64:
      *reinterpret_cast<double*>(address) = static_cast<double>(value);
      return;
    case blas::Type::f16:
      put(*reinterpret_cast<Half*>(address), static_cast<float>(value));
      return;
    case blas::Type::bf16:
      put(*reinterpret_cast<Bfloat*>(address), static_cast<float>(value));
      return;
    case blas::Type::i32:
      *reinterpret_cast<std::int32_t*>(address) = static_cast<std::int32_t>(static_cast<std::int64_t>(value));
      return;
    default:
      *reinterpret_cast<float*>(address) = static_cast<float>(value);
  }
}

// An element's address.
std::uint64_t place(const blas::LtMatrix& m, std::uint64_t base, std::int64_t i, std::int64_t j) {
  const std::int64_t element = m.order == blas::Order::rows ? i * m.spacing + j : i + j * m.spacing;
  return base + static_cast<std::uint64_t>(element) * blas::bytesOf(m.type);
}

// A part of a column, as it is computed with. What lies together is converted together.
template <class Wide>
void readColumn(const blas::LtMatrix& m, std::uint64_t base, std::int64_t row, std::int64_t column, std::int64_t rows, Wide* to) {
  const bool converts = std::is_same_v<Wide, float> ? m.type == blas::Type::f32 || m.type == blas::Type::f16 || m.type == blas::Type::bf16
                                                    : m.type == blas::Type::f64;
  if (m.order == blas::Order::columns && converts) return widen(m.type, reinterpret_cast<const void*>(place(m, base, row, column)), to, rows);
  for (std::int64_t i = 0; i < rows; ++i) to[i] = read<Wide>(m.type, place(m, base, row + i, column));
}

template <class Wide>
void writeColumn(const blas::LtMatrix& m, std::uint64_t base, std::int64_t row, std::int64_t column, std::int64_t rows, const Wide* from) {
  const std::uint64_t first = place(m, base, row, column);
  const auto count = static_cast<std::size_t>(rows);
  if (m.order == blas::Order::columns) {
    if constexpr (std::is_same_v<Wide, float>) {
      if (m.type == blas::Type::f16) return floatsToHalves(from, reinterpret_cast<std::uint16_t*>(first), count);
      if (m.type == blas::Type::bf16) return floatsToBfloats(from, reinterpret_cast<std::uint16_t*>(first), count);
      if (m.type == blas::Type::e4m3) return floatsToE4m3s(from, reinterpret_cast<std::uint8_t*>(first), count);
      if (m.type == blas::Type::e5m2) return floatsToE5m2s(from, reinterpret_cast<std::uint8_t*>(first), count);
    }
    if (m.type == (std::is_same_v<Wide, float> ? blas::Type::f32 : blas::Type::f64)) {
      std::memcpy(reinterpret_cast<void*>(first), from, count * sizeof(Wide));
      return;
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) write(m.type, place(m, base, row + i, column), from[i]);
}

// By hyperbolic tangent, as cuBLASLt has it.
template <class Wide>
Wide gelu(Wide x) {
  const Wide inner = static_cast<Wide>(0.7978845608028654) * (x + static_cast<Wide>(0.044715) * x * x * x);
  return static_cast<Wide>(0.5) * x * (1 + std::tanh(inner));
}

// The largest absolute value of what D is before its scale; a NaN is larger than any number. As bits, which are ordered as the numbers are.
using Largest = std::atomic<std::uint32_t>;

void note(Largest& largest, const float* values, std::int64_t count) {
  std::uint32_t most = 0;
  for (std::int64_t i = 0; i < count; ++i) most = std::max(most, std::bit_cast<std::uint32_t>(values[i]) & 0x7fff'ffff);
  for (std::uint32_t now = largest.load(); now < most && !largest.compare_exchange_weak(now, most);) {
  }
}

template <class Wide>
void multiply(const blas::LtMatmul& call, const Scaled& scalars, Largest& largest, std::uint64_t entry, Tile tile) {
  std::vector<Wide> sums;
  const std::int64_t depth = call.transa == blas::Transpose::none ? call.a.columns : call.a.rows;
  sumTile<Wide>(factorOf(call.a, call.transa, entry), factorOf(call.b, call.transb, entry), depth, tile, sums);
  const Wide alpha = as<Wide>(scalars.alpha), beta = as<Wide>(scalars.beta);
  const std::uint64_t c = entryOf(call.c.address, call.c.stride, entry, call.c.type), d = entryOf(call.d.address, call.d.stride, entry, call.d.type),
                      bias = entryOf(call.bias, call.biasStride, entry, call.biasType), aux = entryOf(call.aux, call.auxStride, entry, call.auxType);
  const bool adds = (call.epilogue & blas::kEpilogueBias) != 0, keeps = (call.epilogue & blas::kEpilogueAux) != 0;
  const bool relu = (call.epilogue & blas::kEpilogueRelu) != 0, gelus = (call.epilogue & blas::kEpilogueGelu) != 0;
  std::vector<Wide> biases(adds ? static_cast<std::size_t>(tile.rows) : 0);
  for (std::size_t i = 0; i < biases.size(); ++i)
    biases[i] = read<Wide>(call.biasType, bias + (static_cast<std::uint64_t>(tile.row) + i) * blas::bytesOf(call.biasType));
  blas::LtMatrix kept = call.d;  // the auxiliary matrix: of the same shape
  kept.spacing = call.auxSpacing;
  kept.type = call.auxType;
  kept.order = blas::Order::columns;
  std::vector<Wide> before(beta != 0 ? static_cast<std::size_t>(tile.rows) : 0);
  for (std::int64_t j = 0; j < tile.columns; ++j) {
    Wide* values = sums.data() + j * tile.rows;
    const std::int64_t column = tile.column + j;
    for (std::int64_t i = 0; i < tile.rows; ++i) values[i] *= alpha;
    if (call.aScaling == blas::ScaleMode::outerVector) {
      const float scale = floatAt(call.bScale, column);
      for (std::int64_t i = 0; i < tile.rows; ++i) values[i] *= static_cast<Wide>(floatAt(call.aScale, tile.row + i) * scale);
    }
    if (beta != 0) {
      readColumn(call.c, c, tile.row, column, tile.rows, before.data());
      for (std::int64_t i = 0; i < tile.rows; ++i) values[i] += beta * before[static_cast<std::size_t>(i)];
    }
    if (adds)
      for (std::int64_t i = 0; i < tile.rows; ++i) values[i] += biases[static_cast<std::size_t>(i)];
    if (keeps) writeColumn(kept, aux, tile.row, column, tile.rows, values);
    if (relu)
      for (std::int64_t i = 0; i < tile.rows; ++i) values[i] = values[i] > 0 || std::isnan(values[i]) ? values[i] : Wide{0};
    if (gelus)
      for (std::int64_t i = 0; i < tile.rows; ++i) values[i] = gelu(values[i]);
    if constexpr (std::is_same_v<Wide, float>) {
      if (call.amax != 0) note(largest, values, tile.rows);
      if (scalars.d != 1)
        for (std::int64_t i = 0; i < tile.rows; ++i) values[i] *= scalars.d;
    }
    writeColumn(call.d, d, tile.row, column, tile.rows, values);
  }
}

// Complex numbers: by columns, no epilogue.
template <class T>
void multiplyComplex(const blas::LtMatmul& call, const Scaled& scalars, std::uint64_t entry, Tile tile) {
  const auto* a = reinterpret_cast<const T*>(entryOf(call.a.address, call.a.stride, entry, call.a.type));
  const auto* b = reinterpret_cast<const T*>(entryOf(call.b.address, call.b.stride, entry, call.b.type));
  const auto* c = reinterpret_cast<const T*>(entryOf(call.c.address, call.c.stride, entry, call.c.type));
  auto* d = reinterpret_cast<T*>(entryOf(call.d.address, call.d.stride, entry, call.d.type));
  const auto turned = [](const blas::LtMatrix& m, blas::Transpose transpose) {
    if (m.order == blas::Order::columns) return transpose;
    return transpose == blas::Transpose::none ? blas::Transpose::transposed : blas::Transpose::none;
  };
  const blas::Transpose ta = turned(call.a, call.transa), tb = turned(call.b, call.transb);
  const std::int64_t depth = call.transa == blas::Transpose::none ? call.a.columns : call.a.rows;
  std::vector<T> sums(static_cast<std::size_t>(tile.rows * tile.columns));
  gemm(toCblas(ta), toCblas(tb), toInt(tile.rows), toInt(tile.columns), toInt(depth), T{1},
       ta == blas::Transpose::none ? a + tile.row : a + tile.row * call.a.spacing, toInt(call.a.spacing),
       tb == blas::Transpose::none ? b + tile.column * call.b.spacing : b + tile.column, toInt(call.b.spacing), T{0}, sums.data(), toInt(tile.rows));
  const T alpha = as<T>(scalars.alpha), beta = as<T>(scalars.beta);
  for (std::int64_t j = 0; j < tile.columns; ++j) {
    for (std::int64_t i = 0; i < tile.rows; ++i) {
      T value = alpha * sums[static_cast<std::size_t>(i + j * tile.rows)];
      if (beta != T{0}) value += beta * c[tile.row + i + (tile.column + j) * call.c.spacing];
      d[tile.row + i + (tile.column + j) * call.d.spacing] = value;
    }
  }
}

class LtProduct final : public Job {
 public:
  LtProduct(const blas::LtMatmul& call, const Scaled& scalars) : call_(call), scalars_(scalars), tiles_(tilesOf(call.d.rows, call.d.columns)) {}
  std::uint64_t pieces() const override { return tiles_ * static_cast<std::uint64_t>(call_.batch); }
  void run(std::uint64_t piece) override {
    const std::uint64_t entry = piece / tiles_;
    const Tile tile = tileOf(call_.d.rows, call_.d.columns, piece % tiles_);
    switch (call_.a.type) {
      case blas::Type::c32:
        return multiplyComplex<c32>(call_, scalars_, entry, tile);
      case blas::Type::c64:
        return multiplyComplex<c64>(call_, scalars_, entry, tile);
      case blas::Type::f64:
      case blas::Type::i8:
        return multiply<double>(call_, scalars_, largest_, entry, tile);
      default:
        return multiply<float>(call_, scalars_, largest_, entry, tile);
    }
  }
  bool advance() override {
    const std::uint32_t largest = largest_.load();
    if (call_.amax != 0) std::memcpy(reinterpret_cast<void*>(call_.amax), &largest, sizeof largest);
    return false;
  }

 private:
  const blas::LtMatmul call_;
  const Scaled scalars_;
  const std::uint64_t tiles_;
  Largest largest_{0};
};

}  // namespace

std::unique_ptr<Job> makeLtMatmul(const blas::LtMatmul& call) {
  const auto scalar = [&](const blas::Scalar& from) {
    const bool inMemory = call.scalars == blas::Scalars::inMemory;
    return readNumber(call.scaleType, inMemory ? reinterpret_cast<const void*>(from.words[0]) : static_cast<const void*>(&from));
  };
  Scaled scalars{scalar(call.alpha), scalar(call.beta)};
  const auto scale = [](std::uint64_t address) { return address != 0 ? floatAt(address) : 1.0f; };
  if (blas::isEightBitFloat(call.a.type)) {
    if (call.aScaling == blas::ScaleMode::scalar) scalars.alpha = as<float>(scalars.alpha) * (scale(call.aScale) * scale(call.bScale));
    // Of a C that is not read the scale does not matter.
    if (scalars.beta != Number{}) scalars.beta = as<float>(scalars.beta) * scale(call.cScale);
    scalars.d = scale(call.dScale);
  }
  return std::make_unique<LtProduct>(call, scalars);
}

}  // namespace rouse::library::cpu
