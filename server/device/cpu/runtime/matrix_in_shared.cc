#include "server/device/cpu/runtime/matrix_in_shared.h"

#include <cstring>

#include "server/device/cpu/runtime/matrix_tiling.h"

namespace rouse::cpu {
namespace {

constexpr std::uint32_t kUnit = 16, kEight = 8;
constexpr std::uint32_t kAddressBits = 18;  // of shared memory
constexpr std::uint32_t kLine = 7;          // bits of a line of 128 bytes

// Fields of 14 bits, in units of 16 bytes.
std::uint32_t bytesAt(std::uint64_t descriptor, std::uint32_t bit) { return static_cast<std::uint32_t>(descriptor >> bit & 0x3fff) * kUnit; }

std::uint64_t longOf(std::uint32_t low, std::uint32_t high) { return std::uint64_t{high} << 32 | low; }

// What changes the sign of each element of a word.
std::uint32_t signsOf(MatrixElement element) {
  switch (bitsOf(element)) {
    case 8:
      return 0x8080'8080;
    case 16:
      return 0x8000'8000;
    default:
      return 0x8000'0000;
  }
}

// A word of all lanes, from and to either kind of registers.
void take(const LaneRegisters& lanes, std::uint32_t word, std::uint32_t* to) {
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) to[lane] = lanes[lane] != nullptr ? lanes[lane][word] : 0;
}
void take(const WarpRegisters& warp, std::uint32_t word, std::uint32_t* to) { std::memcpy(to, warp.words + word * kLanes, sizeof(std::uint32_t) * kLanes); }

void put(const LaneRegisters& lanes, std::uint32_t word, const std::uint32_t* from) {
  for (std::uint32_t lane = 0; lane < kLanes; ++lane)
    if (lanes[lane] != nullptr) lanes[lane][word] = from[lane];
}
void put(const WarpRegisters& warp, std::uint32_t word, const std::uint32_t* from) { std::memcpy(warp.words + word * kLanes, from, sizeof(std::uint32_t) * kLanes); }

// What is the same for all lanes is taken from one that is there.
std::uint32_t wordOf(const LaneRegisters& lanes, std::uint32_t word) {
  for (const std::uint32_t* lane : lanes)
    if (lane != nullptr) return lane[word];
  return 0;
}
std::uint32_t wordOf(const WarpRegisters& warp, std::uint32_t word) { return warp.words[word * kLanes]; }

template <class Registers>
SharedMatrix matrixOf(const Registers& registers, std::uint32_t word) {
  const std::uint64_t shared = longOf(wordOf(registers, kSharedBase), wordOf(registers, kSharedBase + 1));
  return {longOf(wordOf(registers, word), wordOf(registers, word + 1)), reinterpret_cast<const std::byte*>(shared)};  // NOLINT(performance-no-int-to-ptr): a kernel's address
}

// Eight rows by 16 bytes along k, a word a lane.
void unitOf(const SharedMatrix& matrix, bool alongK, std::uint32_t eightRows, std::uint32_t unit, std::uint32_t* to) {
  for (std::uint32_t i = 0; i < kEight; ++i)
    std::memcpy(to + 4 * i, alongK ? matrix.alongK(kEight * eightRows + i, unit) : matrix.acrossK(eightRows, kEight * unit + i), kUnit);
  if (!alongK) transposeUnit(to, to);
}

template <class Registers>
void multiply(const MatrixOperation& operation, const Registers& registers) {
  const std::uint32_t along = (operation.sparse ? 2 : 1) * kSharedRowBytes / kUnit;
  alignas(64) std::uint32_t words[kMatrixWords * kLanes];
  const WarpRegisters part{words};
  const auto wordsAt = [&](std::uint32_t word) { return words + word * kLanes; };
  MatrixOperation product = operation;
  product.verb = MatrixVerb::multiply;
  product.n = kEight;
  product.aColumns = product.bColumns = product.aShared = product.negative = false;

  const std::uint32_t aWords = product.aWords();
  if (operation.aShared) {
    const SharedMatrix a = matrixOf(registers, kSharedA);
    const std::uint32_t first = wordOf(registers, kSharedFirstRow) / kEight;
    for (std::uint32_t word = 0; word < aWords; ++word) unitOf(a, !operation.aColumns, first + word % 2, word / 2, wordsAt(kMatrixA + word));
  } else {
    for (std::uint32_t word = 0; word < aWords; ++word) take(registers, kSharedA + word, wordsAt(kMatrixA + word));
  }
  // Products are exact, so it does not matter whose sign it is.
  for (std::uint32_t i = 0; operation.negative && i < aWords * kLanes; ++i) wordsAt(kMatrixA)[i] ^= signsOf(operation.a);

  if (operation.sparse) take(registers, kSharedSparsity, wordsAt(kMatrixSparsity));
  const SharedMatrix b = matrixOf(registers, kSharedB);
  const bool adds = wordOf(registers, kSharedAdds) != 0;
  const std::uint32_t sums = product.accumulatorWords(product.d);
  for (std::uint32_t column = 0; column < operation.n / kEight; ++column) {
    for (std::uint32_t unit = 0; unit < along; ++unit) unitOf(b, operation.bColumns, column, unit, wordsAt(kMatrixB + unit));
    for (std::uint32_t word = 0; word < sums; ++word)
      adds ? take(registers, column * sums + word, wordsAt(word)) : void(std::memset(wordsAt(word), 0, sizeof(std::uint32_t) * kLanes));
    runMatrixOperation(product, part);
    for (std::uint32_t word = 0; word < sums; ++word) put(registers, column * sums + word, wordsAt(word));
  }
}

}  // namespace

SharedMatrix::SharedMatrix(std::uint64_t descriptor, const std::byte* shared)
    : shared_(shared), start_(bytesAt(descriptor, 0)), leading_(bytesAt(descriptor, 16)), stride_(bytesAt(descriptor, 32)), base_(descriptor >> 49 & 7),
      bits_(-static_cast<std::uint32_t>(descriptor >> 62) & 3) {}

const std::byte* SharedMatrix::at(std::uint32_t offset) const {
  const std::uint32_t address = start_ + offset;
  const std::uint32_t exchanged = ((address >> kLine) - base_) & ((1U << bits_) - 1);
  return shared_ + ((address ^ exchanged * kUnit) & ((1U << kAddressBits) - 1));
}

const std::byte* SharedMatrix::alongK(std::uint32_t row, std::uint32_t unit) const {
  const std::uint32_t beside = unit & ((1U << bits_) - 1);
  return at(row % kEight * (kUnit << bits_) + row / kEight * stride_ + beside * kUnit + (unit >> bits_) * leading_);
}

const std::byte* SharedMatrix::acrossK(std::uint32_t eightRows, std::uint32_t k) const {
  const std::uint32_t line = k % kEight * (kUnit << bits_);
  if (bits_ == 0) return at(line + eightRows * stride_ + k / kEight * leading_);
  return at(line + (eightRows & ((1U << bits_) - 1)) * kUnit + (eightRows >> bits_) * leading_ + k / kEight * stride_);
}

void multiplyShared(const MatrixOperation& operation, const LaneRegisters& lanes) { multiply(operation, lanes); }
void multiplyShared(const MatrixOperation& operation, const WarpRegisters& warp) { multiply(operation, warp); }

}  // namespace rouse::cpu
