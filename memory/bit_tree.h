// A set of numbers below a fixed limit: a bitmap with summaries above it, each bit of which says that a word below has
// a bit. Every operation touches one word a level (two levels up to 4,096 members, three up to 262,144). Nothing is
// allocated after construction. Not thread-safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rouse::memory {

class BitTree {
 public:
  explicit BitTree(std::size_t limit = 0) {
    std::size_t words = limit;
    do {
      words = (words + 63) / 64;
      levels_.emplace_back(words == 0 ? 1 : words);
    } while (words > 1);
  }

  bool test(std::size_t i) const { return levels_[0][i / 64] >> (i % 64) & 1; }
  bool empty() const { return levels_.back()[0] == 0; }

  void set(std::size_t i) {
    for (auto& level : levels_) {
      std::uint64_t& word = level[i / 64];
      const bool known = word != 0;
      word |= std::uint64_t{1} << (i % 64);
      if (known) return;
      i /= 64;
    }
  }

  void clear(std::size_t i) {
    for (auto& level : levels_) {
      std::uint64_t& word = level[i / 64];
      word &= ~(std::uint64_t{1} << (i % 64));
      if (word != 0) return;
      i /= 64;
    }
  }

  // The smallest member; the set is not empty.
  std::size_t first() const { return descend(levels_.size(), 0); }

  // The smallest member that is at least `from`.
  std::optional<std::size_t> next(std::size_t from) const {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const std::size_t word = from / 64;
      if (word >= levels_[level].size()) return std::nullopt;
      const std::uint64_t rest = levels_[level][word] & (~std::uint64_t{0} << (from % 64));
      if (rest != 0) return descend(level, word * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
      from = word + 1;  // of the level above: what lies right of this word
    }
    return std::nullopt;
  }

 private:
  // From word `at` of the level below `level`, down to the smallest member under it.
  std::size_t descend(std::size_t level, std::size_t at) const {
    while (level-- > 0) at = at * 64 + static_cast<std::size_t>(std::countr_zero(levels_[level][at]));
    return at;
  }

  std::vector<std::vector<std::uint64_t>> levels_;  // [0]: the members
};

}  // namespace rouse::memory
