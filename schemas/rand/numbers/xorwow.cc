#include "schemas/rand/numbers/xorwow.h"

#include <memory>

namespace rouse::rand {
namespace {

using Vector = std::array<std::uint32_t, 5>;
constexpr std::uint32_t kBits = 160, kNibble = 4, kTables = kBits / kNibble, kEntries = 1u << kNibble;
constexpr std::uint32_t kSubsequence = 67;  // a subsequence has 2 to the power of this

Vector sum(Vector a, const Vector& b) {
  for (int i = 0; i < 5; ++i) a[i] ^= b[i];
  return a;
}

// A linear map of states over GF(2): what each four bits of a state become.
class Map {
 public:
  // `image(bit)`: what a state of that bit alone becomes.
  template <class Image>
  explicit Map(Image&& image) {
    for (std::uint32_t table = 0; table < kTables; ++table) {
      tables_[table][0] = {};
      for (std::uint32_t entry = 1; entry < kEntries; ++entry) {
        const std::uint32_t lowest = entry & -entry;
        const auto bit = table * kNibble + static_cast<std::uint32_t>(__builtin_ctz(lowest));
        tables_[table][entry] = entry == lowest ? image(bit) : sum(tables_[table][entry ^ lowest], tables_[table][lowest]);
      }
    }
  }

  Vector operator()(const Vector& v) const {
    Vector result{};
    for (std::uint32_t table = 0; table < kTables; ++table)
      result = sum(result, tables_[table][(v[table / 8] >> (table % 8 * kNibble)) % kEntries]);
    return result;
  }

 private:
  std::array<std::array<Vector, kEntries>, kTables> tables_;
};

Vector unit(std::uint32_t bit) {
  Vector v{};
  v[bit / 32] = 1u << bit % 32;
  return v;
}

// The map of one draw, and each the former's square: up to 64 of draws, and of subsequences as many as lanes are counted by.
constexpr std::uint32_t kPowers = kSubsequence + 16;
struct Powers {
  Powers() {
    each[0] = std::make_unique<Map>([](std::uint32_t bit) {
      XorwowState state{unit(bit), 0};
      next(state);
      return state.v;
    });
    for (std::uint32_t i = 1; i < kPowers; ++i)
      each[i] = std::make_unique<Map>([&map = *each[i - 1]](std::uint32_t bit) { return map(map(unit(bit))); });
  }
  std::array<std::unique_ptr<const Map>, kPowers> each;
};
const Powers& powers() {
  static const Powers* const the = new Powers;
  return *the;
}

}  // namespace

XorwowState xorwowSeeded(std::uint64_t seed) {
  const std::uint32_t t0 = 1099087573u * (static_cast<std::uint32_t>(seed) ^ 0xaad26b49u);
  const std::uint32_t t1 = 2591861531u * (static_cast<std::uint32_t>(seed >> 32) ^ 0xf7dcefddu);
  // Marsaglia's state, changed by the seed.
  return {{123456789u + t0, 362436069u ^ t0, 521288629u + t1, 88675123u ^ t1, 5783321u + t0}, 6615241u + t1 + t0};
}

void skip(XorwowState& state, std::uint64_t draws) {
  state.d += kWeyl * static_cast<std::uint32_t>(draws);
  for (std::uint32_t i = 0; draws != 0; ++i, draws >>= 1)
    if ((draws & 1) != 0) state.v = (*powers().each[i])(state.v);
}

void skipSubsequences(XorwowState& state, std::uint64_t count) {
  // The other part of the state comes back to what it was: its period is 2^32.
  for (std::uint32_t i = kSubsequence; count != 0 && i < kPowers; ++i, count >>= 1)
    if ((count & 1) != 0) state.v = (*powers().each[i])(state.v);
}

}  // namespace rouse::rand
