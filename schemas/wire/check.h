// What the generated decoder is made of: how a session is asked, the arithmetic on untrusted sizes, and one function
// for each kind of rejection (out of line: they are never hot).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "schemas/base/range.h"
#include "schemas/wire/commands.h"
#include "schemas/wire/rejection.h"

namespace rouse::wire {

enum class Access : std::uint8_t { read, write };
enum class Where : std::uint8_t { any, device, host };

// What the decoder asks of a session. Each answers from the server's own state and changes nothing; the handler makes
// and ends objects. new…(): layout.h's rule for a handle that its client has just chosen. Ranges are not empty and do
// not wrap; mapped means every byte of them.
template <class S>
concept CommandSession = requires(S& session, Handle handle, AddressRange range) {
  { session.streamLive(handle) } -> std::convertible_to<bool>;
  { session.newStream(handle) } -> std::convertible_to<bool>;
  { session.moduleLive(handle) } -> std::convertible_to<bool>;
  { session.newModule(handle) } -> std::convertible_to<bool>;
  { session.rangeMapped(range, Access::read, Where::any) } -> std::convertible_to<bool>;
};

// depth planes of height rows of width bytes; all at least 1. Pitches in bytes, between the beginnings of rows and
// planes; one that separates nothing is ignored.
struct Extent {
  std::uint64_t width, height, depth;
  std::uint64_t pitch, slicePitch;
};

// The whole range from an extent's first byte to its last, gaps included. Refuses rows that overlap (pitch below
// width), planes that overlap (slicePitch below pitch × height), and ranges that pass the end of the address space.
DecodeStatus extentRange(const char* field, std::uint64_t base, const Extent& extent, AddressRange& range);

inline bool productWithin(Dim3 value, std::uint64_t limit) {
  std::uint64_t product = std::uint64_t{value.x} * value.y;
  return !__builtin_mul_overflow(product, std::uint64_t{value.z}, &product) && product <= limit;
}

// A range may end with the last byte of the address space but not beyond.
inline bool wraps(AddressRange range) { return range.bytes != 0 && range.base > UINT64_MAX - (range.bytes - 1); }

// Opcode known, header as long as the bytes, command neither shorter nor longer than described, payload of whole
// elements.
DecodeStatus checkShape(std::span<const std::byte> command);

// Any integer field.
struct Number {
  std::uint64_t magnitude;
  bool negative;
  template <std::integral T>
  constexpr Number(T value)
      : magnitude(value < T{} ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value)),
        negative(value < T{}) {}
};

[[gnu::cold]] DecodeStatus rejectBelow(const char* field, Number value, Number limit);
[[gnu::cold]] DecodeStatus rejectAbove(const char* field, Number value, Number limit);
[[gnu::cold]] DecodeStatus rejectValue(const char* field, Number value, const char* allowed);
[[gnu::cold]] DecodeStatus rejectFlags(const char* field, std::uint64_t value, std::uint64_t allowed);
[[gnu::cold]] DecodeStatus rejectUnaligned(const char* field, std::uint64_t value, std::uint64_t alignment);
[[gnu::cold]] DecodeStatus rejectProduct(const char* field, Dim3 value, std::uint64_t limit);
[[gnu::cold]] DecodeStatus rejectOverflow(const char* field, const char* expression);
[[gnu::cold]] DecodeStatus rejectWrap(const char* field, AddressRange range);
[[gnu::cold]] DecodeStatus rejectNotLive(const char* field, const char* kind, Handle handle);
[[gnu::cold]] DecodeStatus rejectNotNew(const char* field, const char* kind, Handle handle);
[[gnu::cold]] DecodeStatus rejectUnmapped(const char* field, AddressRange range, Access access, Where where);

namespace detail {

template <class Handler, class... Arguments>
DecodeStatus deliver(Handler& handler, const Arguments&... arguments) {
  if constexpr (std::is_void_v<decltype(handler.on(arguments...))>) {
    handler.on(arguments...);
    return {};
  } else {
    return handler.on(arguments...);
  }
}

// The size is a multiple of T's (checkShape), the offset is aligned for it (the generator).
template <class T>
std::span<const T> payloadOf(std::span<const std::byte> command, std::size_t fixedBytes) {
  return {reinterpret_cast<const T*>(command.data() + fixedBytes), (command.size() - fixedBytes) / sizeof(T)};
}

}  // namespace detail

}  // namespace rouse::wire
