#include "server/library/cpu/fft/lines.h"

#include <algorithm>
#include <list>
#include <mutex>

namespace rouse::library::cpu {
namespace {

// Lines whose group takes more are not transformed side by side: they would not fit the caches.
constexpr std::uint64_t kMostGroupBytes = std::uint64_t{1} << 20;

// Kept: so many transforms, of lines so long; together a few megabytes. Roots of unity, which are the same whoever asks.
constexpr std::size_t kMostKept = 64;
constexpr std::int64_t kLongestKept = 16384;

MakeLines makeLinesHere() {
#if defined(__x86_64__)
  static const MakeLines found = __builtin_cpu_supports("avx512f")                                    ? kLines512
                                 : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? kLines256
                                                                                                      : kLinesAny;
  return found;
#else
  return kLinesAny;
#endif
}

std::int64_t largestPrime(std::int64_t number) {
  std::int64_t largest = 1;
  for (std::int64_t factor = 2; factor * factor <= number; ++factor) {
    while (number % factor == 0) {
      largest = factor;
      number /= factor;
    }
  }
  return std::max(largest, number);
}

std::shared_ptr<const LineTransform> make(LineKind kind, bool isDouble, std::int64_t length) {
  return std::shared_ptr<const LineTransform>(makeLinesHere()(kind, isDouble, static_cast<std::size_t>(length), kMostGroupBytes));
}

class Kept {
 public:
  std::shared_ptr<const LineTransform> get(LineKind kind, bool isDouble, std::int64_t length) {
    const auto take = [&]() -> std::shared_ptr<const LineTransform> {
      const auto found = std::ranges::find_if(all_, [&](const Entry& each) { return each.length == length && each.kind == kind && each.isDouble == isDouble; });
      if (found == all_.end()) return nullptr;
      all_.splice(all_.begin(), all_, found);
      return found->transform;
    };
    {
      const std::lock_guard lock(mutex_);
      if (auto transform = take()) return transform;
    }
    auto made = make(kind, isDouble, length);
    const std::lock_guard lock(mutex_);
    if (auto transform = take()) return transform;  // another's, meanwhile
    all_.push_front({kind, isDouble, length, made});
    if (all_.size() > kMostKept) all_.pop_back();
    return made;
  }

 private:
  struct Entry {
    LineKind kind;
    bool isDouble;
    std::int64_t length;
    std::shared_ptr<const LineTransform> transform;
  };
  std::mutex mutex_;
  std::list<Entry> all_;  // the one used last first
};

}  // namespace

LineTransform::~LineTransform() = default;

LineCosts costsOf(LineKind kind, bool isDouble, std::int64_t length) {
  if (kind == LineKind::copy) return {};
  const std::uint64_t n = static_cast<std::uint64_t>(length), part = isDouble ? 8 : 4, complex = 2 * part;
  const std::uint64_t element = kind == LineKind::complex ? complex : part;
  const std::int64_t prime = length < 50 ? 0 : largestPrime(length);
  // The roots of unity, the line, and one as long.
  if (prime <= length / std::max<std::int64_t>(prime, 1)) return {n * complex, 2 * n * element};
  // By way of a longer line (Bluestein), for which there are lengths enough below 2.2 times this one's.
  const std::uint64_t longer = 2 * n + n / 5 + 32;
  return {(2 * longer + n) * complex + longer * complex / 2, n * element + n * complex + 2 * longer * complex};
}

std::shared_ptr<const LineTransform> lineTransform(LineKind kind, bool isDouble, std::int64_t length) {
  static Kept* const kept = new Kept;
  return length <= kLongestKept ? kept->get(kind, isDouble, length) : make(kind, isDouble, length);
}

}  // namespace rouse::library::cpu
