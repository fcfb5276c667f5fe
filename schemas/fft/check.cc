#include "schemas/fft/check.h"

#include <limits>

namespace rouse::fft {
namespace {

// As wide as products of two counts are; what is larger than any memory stays so.
__extension__ using Wide = __int128;
constexpr Wide kTooMany = Wide{1} << 60;

Wide times(Wide a, Wide b) { return a == 0 || b == 0 ? 0 : a >= kTooMany / b ? kTooMany : a * b; }

bool isKnown(Type type) { return bytesOf(type) != 0; }
bool isSmall(Type type) { return bytesOf(realOf(type)) == 2; }
bool isPowerOfTwo(std::int64_t number) { return (number & (number - 1)) == 0; }

// Bytes from the first element's first to the last element's last. Of sizes, strides and distances that are not negative.
Wide reachOf(const Transform& transform, bool output) {
  const Layout layout = layoutOf(transform, output);
  Wide last = times(transform.batch - 1, layout.distance), stride = layout.stride;
  for (std::uint32_t axis = transform.rank; axis-- > 0;) {
    last += times(sizeOf(transform, output, axis) - 1, stride);
    if (axis != 0) stride = times(stride, layout.embed[axis]);
  }
  return times(last + 1, bytesOf(output ? transform.outType : transform.inType));
}

// What is read may be read again for another element; results have places of their own, as far as that is seen at once.
Check checkLayout(const Transform& transform, bool output) {
  const Layout& layout = output ? transform.out : transform.in;
  const char* const what = output ? "the output's layout" : "the input's layout";
  bool several = false;  // rows along this axis
  for (std::uint32_t axis = 0; axis < transform.rank; ++axis) {
    const std::int64_t size = sizeOf(transform, output, axis);
    if (axis != 0 && layout.embed[axis] < (output && several ? size : 1)) return {Verdict::invalidSize, what};
    several = several || size > 1;
  }
  if (layout.stride < 1 || (transform.batch > 1 && layout.distance < (output ? 1 : 0))) return {Verdict::invalidValue, what};
  return {};
}

bool isNothing(const Layout& layout) {
  for (const std::int64_t embed : layout.embed)
    if (embed != 0) return false;
  return layout.stride == 0 && layout.distance == 0;
}

}  // namespace

std::uint32_t bytesOf(Type type) {
  switch (type) {
    case Type::f16:
    case Type::bf16:
      return 2;
    case Type::f32:
    case Type::c16:
    case Type::cbf16:
      return 4;
    case Type::f64:
    case Type::c32:
      return 8;
    case Type::c64:
      return 16;
  }
  return 0;
}

bool isComplex(Type type) { return realOf(type) != type; }

Type realOf(Type type) {
  switch (type) {
    case Type::c32:
      return Type::f32;
    case Type::c64:
      return Type::f64;
    case Type::c16:
      return Type::f16;
    case Type::cbf16:
      return Type::bf16;
    default:
      return type;
  }
}

Check check(const Transform& transform) {
  if (transform.rank < 1 || transform.rank > kMostRank) return {Verdict::invalidValue, "the rank"};
  if (!isKnown(transform.inType) || !isKnown(transform.outType) || !isKnown(transform.executionType)) return {Verdict::invalidType, "a type"};
  if (!isComplex(transform.executionType) || realOf(transform.inType) != realOf(transform.executionType) ||
      realOf(transform.outType) != realOf(transform.executionType))
    return {Verdict::invalidType, "types of different precision"};
  const bool realIn = !isComplex(transform.inType), realOut = !isComplex(transform.outType);
  if (realIn && realOut) return {Verdict::invalidType, "real numbers on both sides"};
  if (transform.direction != Direction::forward && transform.direction != Direction::inverse) return {Verdict::invalidValue, "the direction"};
  if ((realIn && transform.direction != Direction::forward) || (realOut && transform.direction != Direction::inverse))
    return {Verdict::invalidValue, "the direction of a real transform"};
  if (transform.packed > 1 || transform.padding[0] != 0 || transform.padding[1] != 0) return {Verdict::invalidValue, "a field that is not 0"};
  for (std::uint32_t axis = 0; axis < kMostRank; ++axis) {
    if (axis >= transform.rank && transform.dims[axis] != 0) return {Verdict::invalidValue, "a dimension behind the rank"};
    if (axis < transform.rank && transform.dims[axis] < 1) return {Verdict::invalidSize, "a dimension"};
  }
  if (transform.batch < 1) return {Verdict::invalidSize, "the batch"};
  if (transform.packed != 0) {
    if (!isNothing(transform.in) || !isNothing(transform.out)) return {Verdict::invalidValue, "a layout of what is packed"};
  } else {
    for (std::uint32_t axis = transform.rank; axis < kMostRank; ++axis)
      if (transform.in.embed[axis] != 0 || transform.out.embed[axis] != 0) return {Verdict::invalidValue, "an embed behind the rank"};
    if (const Check in = checkLayout(transform, false); in.verdict != Verdict::runs) return in;
    if (const Check out = checkLayout(transform, true); out.verdict != Verdict::runs) return out;
  }
  // How much there is to compute, too, is bounded by what there is of memory: an input may lie in less than it has elements.
  Wide elements = transform.batch;
  for (std::uint32_t axis = 0; axis < transform.rank; ++axis) elements = times(elements, transform.dims[axis]);
  if (times(elements, bytesOf(transform.executionType)) > kMostBytes) return {Verdict::invalidSize, "more elements than memory can hold"};
  if (reachOf(transform, false) > kMostBytes) return {Verdict::invalidSize, "an input longer than memory"};
  if (reachOf(transform, true) > kMostBytes) return {Verdict::invalidSize, "an output longer than memory"};
  // What cuFFT does not do of 16-bit types ("Half-precision cuFFT Transforms").
  if (isSmall(transform.executionType)) {
    for (std::uint32_t axis = 0; axis < transform.rank; ++axis)
      if (!isPowerOfTwo(transform.dims[axis])) return {Verdict::unsupported, "a dimension that is no power of two, in 16-bit numbers"};
    if ((realIn && layoutOf(transform, false).stride != 1) || (realOut && layoutOf(transform, true).stride != 1))
      return {Verdict::unsupported, "a stride of 16-bit real numbers"};
  }
  return {};
}

bool ranges(const Transform& transform, Ranges& found) {
  found = {};
  const auto add = [&](const char* operand, std::uint64_t address, std::uint64_t bytes, std::uint32_t alignment, bool written) {
    if (address % alignment != 0 || bytes > std::numeric_limits<std::uint64_t>::max() - address) return false;
    found.ranges[found.count++] = {operand, address, bytes, written};
    return true;
  };
  const bool worksInInput = isComplex(transform.inType) && !isComplex(transform.outType);
  return add("input", transform.input, static_cast<std::uint64_t>(reachOf(transform, false)), bytesOf(realOf(transform.inType)), worksInInput) &&
         add("output", transform.output, static_cast<std::uint64_t>(reachOf(transform, true)), bytesOf(realOf(transform.outType)), true) &&
         (transform.workBytes == 0 || add("work area", transform.workArea, transform.workBytes, 1, true));
}

std::int64_t sizeOf(const Transform& transform, bool output, std::uint32_t axis) {
  const std::int64_t whole = transform.dims[axis];
  const bool halves = isComplex(output ? transform.outType : transform.inType) && !isComplex(output ? transform.inType : transform.outType);
  return halves && axis + 1 == transform.rank ? whole / 2 + 1 : whole;
}

Layout layoutOf(const Transform& transform, bool output) {
  if (transform.packed == 0) return output ? transform.out : transform.in;
  Layout layout;
  layout.stride = 1;
  Wide distance = 1;
  const bool isReal = !isComplex(output ? transform.outType : transform.inType);
  for (std::uint32_t axis = 0; axis < transform.rank; ++axis) {
    layout.embed[axis] = sizeOf(transform, output, axis);
    if (isReal && isInPlace(transform) && axis + 1 == transform.rank) layout.embed[axis] = 2 * (layout.embed[axis] / 2 + 1);
    distance = times(distance, layout.embed[axis]);
  }
  layout.distance = static_cast<std::int64_t>(distance);
  return layout;
}

std::uint64_t workBytesOf(const Transform& transform) {
  Wide elements = transform.batch;
  bool smooth = true;
  for (std::uint32_t axis = 0; axis < transform.rank; ++axis) {
    const bool halves = axis + 1 == transform.rank && (!isComplex(transform.inType) || !isComplex(transform.outType));
    elements = times(elements, halves ? transform.dims[axis] / 2 + 1 : transform.dims[axis]);
    std::int64_t left = transform.dims[axis];
    for (std::int64_t factor = 2; factor <= kMostRadix; ++factor)
      while (left % factor == 0) left /= factor;
    smooth = smooth && left == 1;
  }
  return static_cast<std::uint64_t>(times(elements, (smooth ? 1 : 4) * bytesOf(transform.executionType)));
}

std::int64_t strideOf(const Layout& layout, std::uint32_t rank, std::uint32_t axis) {
  Wide stride = layout.stride;
  for (std::uint32_t inner = axis + 1; inner < rank; ++inner) stride = times(stride, layout.embed[inner]);
  return static_cast<std::int64_t>(stride < kTooMany ? stride : kTooMany);
}

}  // namespace rouse::fft
