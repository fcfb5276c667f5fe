// Transforms of one length along one axis, of many lines: all that any transform consists of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "schemas/fft/transform.h"

namespace rouse::library::cpu {

// Which way a line goes: complex numbers to complex numbers, or half of them and one on one side and real ones on the other; or as they are (complex).
enum class LineKind : std::uint8_t { complex, realToComplex, complexToReal, copy };

// An array of lines: elements of a line are `step` of its elements apart. What is in memory as 16-bit numbers is computed as float.
struct LineArray {
  std::byte* base = nullptr;
  fft::Type type{};
  std::int64_t step = 0;
};

class LineTransform {
 public:
  virtual ~LineTransform();

  // Each line is read before it is written. `from`, `to`: where lines begin, in elements. Any thread, several at a time.
  virtual void run(LineArray in, LineArray out, const std::int64_t* from, const std::int64_t* to, std::size_t count, bool forward) const = 0;

  std::size_t together = 1;  // lines that are transformed at once
};

// Of `length` elements on the real side, or the complex one where there is none. Short ones are kept and handed out again. Throws std::bad_alloc.
std::shared_ptr<const LineTransform> lineTransform(LineKind kind, bool isDouble, std::int64_t length);

// What it will have as long as it lives, and run() take for a line, before it is made. Lines that are transformed at once are short.
struct LineCosts {
  std::uint64_t bytes = 0, workBytes = 0;
};
LineCosts costsOf(LineKind kind, bool isDouble, std::int64_t length);

// One for each set of instructions. most: bytes of a group of lines, beyond which they are transformed one by one. The caller's to delete.
using MakeLines = LineTransform* (*)(LineKind kind, bool isDouble, std::size_t length, std::uint64_t most);
extern const MakeLines kLinesAny, kLines256, kLines512;

}  // namespace rouse::library::cpu
