// Lines by pocketfft, several at once in the lanes of the processor's registers. Included by one file for each set of instructions, with all names their
// own (ROUSE_LINES): what a file defines for others, too, the linker takes from any of them.
#pragma once

#define POCKETFFT_NO_MULTITHREADING
#define pocketfft ROUSE_LINES
#include <pocketfft_hdronly.h>

#include <algorithm>
#include <cstring>

#include "server/library/cpu/convert.h"
#include "server/library/cpu/fft/lines.h"

namespace rouse::library::cpu {
namespace {

namespace pocket = ::ROUSE_LINES::detail;

struct HalfBits {
  std::uint16_t bits;
};
struct BfloatBits {
  std::uint16_t bits;
};

template <class T>
inline __attribute__((always_inline)) T load(const T& element) {
  return element;
}
inline __attribute__((always_inline)) float load(const HalfBits& element) { return halfToFloat(element.bits); }
inline __attribute__((always_inline)) float load(const BfloatBits& element) {
  const std::uint32_t bits = static_cast<std::uint32_t>(element.bits) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
inline __attribute__((always_inline)) void store(T& element, T value) {
  element = value;
}
inline __attribute__((always_inline)) void store(HalfBits& element, float value) { element.bits = floatToHalf(value); }
inline __attribute__((always_inline)) void store(BfloatBits& element, float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  element.bits = (bits & 0x7fff'ffff) > 0x7f80'0000 ? 0x7fff : static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// A lane of a register, or the number itself.
template <class V>
struct Lanes {
  using Element = V;
  static constexpr std::size_t count = 1;
};
template <>
struct Lanes<pocket::vtype_t<float>> {
  using Element = float;
  static constexpr std::size_t count = pocket::VLEN<float>::val;
};
template <>
struct Lanes<pocket::vtype_t<double>> {
  using Element = double;
  static constexpr std::size_t count = pocket::VLEN<double>::val;
};
template <class V, class T>
inline __attribute__((always_inline)) void setLane(V& value, std::size_t lane, T element) {
  if constexpr (Lanes<V>::count == 1) value = element;
  else value[lane] = element;
}
template <class V>
inline __attribute__((always_inline)) auto laneOf(const V& value, std::size_t lane) {
  if constexpr (Lanes<V>::count == 1) return value;
  else return value[lane];
}

// As many lines of one side as V has lanes. `parts`: numbers of an element, 2 of complex ones.
template <class R, class V>
struct Group {
  static constexpr std::int64_t kBlock = 16;
  R* lines[Lanes<V>::count];
  std::int64_t step;  // numbers
  bool adjacent;      // lanes are neighbours in memory

  Group(LineArray array, const std::int64_t* begins, std::int64_t parts) : step(array.step * parts), adjacent(true) {
    for (std::size_t lane = 0; lane < Lanes<V>::count; ++lane) {
      lines[lane] = reinterpret_cast<R*>(array.base) + begins[lane] * parts;
      adjacent = adjacent && lines[lane] == lines[0] + static_cast<std::int64_t>(lane) * parts;
    }
  }

  // visit(element, lane, address of its first number), of elements from `first` on.
  template <class Visit>
  void each(std::int64_t first, std::int64_t end, std::int64_t parts, Visit&& visit) const {
    if (adjacent) {
      for (std::int64_t i = first; i < end; ++i)
        for (std::size_t lane = 0; lane < Lanes<V>::count; ++lane) visit(i, lane, lines[0] + i * step + static_cast<std::int64_t>(lane) * parts);
    } else {
      // A few elements of each line at a time: lines of a length that is a power of two share their places in the caches.
      for (std::int64_t block = first; block < end; block += kBlock)
        for (std::size_t lane = 0; lane < Lanes<V>::count; ++lane)
          for (std::int64_t i = block; i < std::min(block + kBlock, end); ++i) visit(i, lane, lines[lane] + i * step);
    }
  }
};

// visit(number) with what a type's parts are in memory, where they are computed as float.
template <class Visit>
void withStored(fft::Type type, Visit&& visit) {
  switch (type) {
    case fft::Type::f16:
    case fft::Type::c16:
      return visit(HalfBits{});
    case fft::Type::bf16:
    case fft::Type::cbf16:
      return visit(BfloatBits{});
    default:
      return visit(float{});
  }
}

template <class T, LineKind kind>
class Lines final : public LineTransform {
 public:
  Lines(std::size_t length, std::uint64_t most) : length_(static_cast<std::int64_t>(length)), plan_(length) {
    together = most != 0 && pocket::VLEN<T>::val > 1 && length * pocket::VLEN<T>::val * kNumbers * sizeof(T) <= most ? pocket::VLEN<T>::val : 1;
  }

  void run(LineArray in, LineArray out, const std::int64_t* from, const std::int64_t* to, std::size_t count, bool forward) const override {
    if constexpr (sizeof(T) == 8) {
      transform<T, T>(in, out, from, to, count, forward);
    } else {
      withStored(in.type, [&]<class I>(I) { withStored(out.type, [&]<class O>(O) { transform<I, O>(in, out, from, to, count, forward); }); });
    }
  }

 private:
  static constexpr bool kIsComplex = kind == LineKind::complex;
  static constexpr std::size_t kNumbers = kIsComplex ? 2 : 1;  // of an element as it is computed

  template <class I, class O>
  void transform(LineArray in, LineArray out, const std::int64_t* from, const std::int64_t* to, std::size_t count, bool forward) const {
    using V = pocket::vtype_t<T>;
    std::size_t at = 0;
    if (together > 1 && count >= together) {
      pocket::arr<V> memory(static_cast<std::size_t>(length_) * kNumbers);
      for (; at + together <= count; at += together) one<I, O>(in, out, from + at, to + at, memory.data(), forward);
    }
    if (at == count) return;
    pocket::arr<T> memory(static_cast<std::size_t>(length_) * kNumbers);
    for (; at < count; ++at) one<I, O>(in, out, from + at, to + at, memory.data(), forward);
  }

  template <class I, class O, class V>
  void one(LineArray in, LineArray out, const std::int64_t* from, const std::int64_t* to, V* memory, bool forward) const {
    const Group<I, V> input(in, from, kind == LineKind::realToComplex ? 1 : 2);
    const Group<O, V> output(out, to, kind == LineKind::complexToReal ? 1 : 2);
    const std::int64_t pairs = (length_ - 1) / 2;  // of a real signal's spectrum, what has two parts
    if constexpr (kIsComplex) {
      auto* const numbers = reinterpret_cast<pocket::cmplx<V>*>(memory);
      input.each(0, length_, 2, [&](std::int64_t i, std::size_t lane, const I* at) {
        setLane(numbers[i].r, lane, load(at[0]));
        setLane(numbers[i].i, lane, load(at[1]));
      });
      plan_.exec(numbers, T(1), forward);
      output.each(0, length_, 2, [&](std::int64_t i, std::size_t lane, O* at) {
        store(at[0], laneOf(numbers[i].r, lane));
        store(at[1], laneOf(numbers[i].i, lane));
      });
    } else if constexpr (kind == LineKind::realToComplex) {
      input.each(0, length_, 1, [&](std::int64_t i, std::size_t lane, const I* at) { setLane(memory[i], lane, load(at[0])); });
      plan_.exec(memory, T(1), true);
      const auto put = [&](std::int64_t i, std::int64_t real) {
        output.each(i, i + 1, 2, [&](std::int64_t, std::size_t lane, O* at) {
          store(at[0], laneOf(memory[real], lane));
          store(at[1], T(0));
        });
      };
      put(0, 0);
      output.each(1, 1 + pairs, 2, [&](std::int64_t i, std::size_t lane, O* at) {
        store(at[0], laneOf(memory[2 * i - 1], lane));
        store(at[1], laneOf(memory[2 * i], lane));
      });
      if (length_ % 2 == 0) put(length_ / 2, length_ - 1);
    } else {
      const auto take = [&](std::int64_t i, std::int64_t real) {
        input.each(i, i + 1, 2, [&](std::int64_t, std::size_t lane, const I* at) { setLane(memory[real], lane, load(at[0])); });
      };
      take(0, 0);
      input.each(1, 1 + pairs, 2, [&](std::int64_t i, std::size_t lane, const I* at) {
        setLane(memory[2 * i - 1], lane, load(at[0]));
        setLane(memory[2 * i], lane, load(at[1]));
      });
      if (length_ % 2 == 0) take(length_ / 2, length_ - 1);
      plan_.exec(memory, T(1), false);
      output.each(0, length_, 1, [&](std::int64_t i, std::size_t lane, O* at) { store(at[0], laneOf(memory[i], lane)); });
    }
  }

  const std::int64_t length_;
  std::conditional_t<kIsComplex, pocket::pocketfft_c<T>, pocket::pocketfft_r<T>> plan_;
};

template <class T>
class Copies final : public LineTransform {
 public:
  explicit Copies(std::size_t length) : length_(static_cast<std::int64_t>(length)) {}
  void run(LineArray in, LineArray out, const std::int64_t* from, const std::int64_t* to, std::size_t count, bool) const override {
    if constexpr (sizeof(T) == 8) {
      copy<T, T>(in, out, from, to, count);
    } else {
      withStored(in.type, [&]<class I>(I) { withStored(out.type, [&]<class O>(O) { copy<I, O>(in, out, from, to, count); }); });
    }
  }

 private:
  template <class I, class O>
  void copy(LineArray in, LineArray out, const std::int64_t* from, const std::int64_t* to, std::size_t count) const {
    for (std::size_t line = 0; line < count; ++line) {
      const I* read = reinterpret_cast<const I*>(in.base) + from[line] * 2;
      O* written = reinterpret_cast<O*>(out.base) + to[line] * 2;
      for (std::int64_t i = 0; i < length_; ++i, read += in.step * 2, written += out.step * 2) {
        store(written[0], load(read[0]));
        store(written[1], load(read[1]));
      }
    }
  }
  const std::int64_t length_;
};

template <class T>
LineTransform* makeOf(LineKind kind, std::size_t length, std::uint64_t most) {
  switch (kind) {
    case LineKind::complex:
      return new Lines<T, LineKind::complex>(length, most);
    case LineKind::realToComplex:
      return new Lines<T, LineKind::realToComplex>(length, most);
    case LineKind::complexToReal:
      return new Lines<T, LineKind::complexToReal>(length, most);
    case LineKind::copy:
      return new Copies<T>(length);
  }
  return nullptr;
}

LineTransform* makeLines(LineKind kind, bool isDouble, std::size_t length, std::uint64_t most) {
  return isDouble ? makeOf<double>(kind, length, most) : makeOf<float>(kind, length, most);
}

}  // namespace
}  // namespace rouse::library::cpu
