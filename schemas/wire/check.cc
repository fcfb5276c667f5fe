#include "schemas/wire/check.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace rouse::wire {
namespace {

[[gnu::format(printf, 1, 2)]] DecodeStatus reject(const char* format, ...) {
  char text[320];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return Rejection{text};
}

const char* sign(Number number) { return number.negative ? "-" : ""; }

}  // namespace

DecodeStatus checkShape(std::span<const std::byte> command) {
  if (command.size() < sizeof(CommandHeader)) [[unlikely]] {
    return reject("command of %zu bytes: shorter than its header, %zu", command.size(), sizeof(CommandHeader));
  }
  const auto& header = *reinterpret_cast<const CommandHeader*>(command.data());
  if (header.opcode == 0 || header.opcode > kHighestOpcode) [[unlikely]] {
    return reject("opcode %u: no such command; the highest is %u", header.opcode, kHighestOpcode);
  }
  const CommandShape& shape = kCommandShapes[header.opcode];
  if (header.reserved != 0) [[unlikely]] {
    return reject("%s.header.reserved = %u: must be 0", shape.name, header.reserved);
  }
  if (header.bytes != command.size()) [[unlikely]] {
    return reject("%s.header.bytes = %u: the command has %zu", shape.name, header.bytes, command.size());
  }
  if (header.bytes < shape.fixedBytes) [[unlikely]] {
    return reject("%s.header.bytes = %u: below the %u bytes of its fields", shape.name, header.bytes, shape.fixedBytes);
  }
  const std::uint32_t payload = header.bytes - shape.fixedBytes;
  if (payload > shape.maxPayload) [[unlikely]] {
    return reject("%s: payload of %u bytes: above the limit %u", shape.name, payload, shape.maxPayload);
  }
  if (payload < shape.minPayload) [[unlikely]] {
    return reject("%s: payload of %u bytes: below the least allowed, %u", shape.name, payload, shape.minPayload);
  }
  if ((payload & (shape.elementBytes - 1)) != 0) [[unlikely]] {
    return reject("%s: payload of %u bytes: not a multiple of its %u-byte elements", shape.name, payload,
                  shape.elementBytes);
  }
  return {};
}

DecodeStatus extentRange(const char* field, std::uint64_t base, const Extent& extent, AddressRange& range) {
  std::uint64_t plane = extent.width;  // from a plane's first byte to its last
  if (extent.height > 1) {
    if (extent.pitch < extent.width) [[unlikely]] {
      return reject("%sPitch = %" PRIu64 ": below the width %" PRIu64, field, extent.pitch, extent.width);
    }
    std::uint64_t rows;
    if (__builtin_mul_overflow(extent.pitch, extent.height, &rows)) [[unlikely]] {
      return rejectOverflow(field, "pitch * height");
    }
    // width ≤ pitch, so this cannot exceed rows.
    plane = rows - extent.pitch + extent.width;
  }
  range = {base, plane};
  if (extent.depth > 1) {
    const std::uint64_t least = extent.height > 1 ? plane + (extent.pitch - extent.width) : extent.width;
    if (extent.slicePitch < least) [[unlikely]] {
      return reject("%sSlicePitch = %" PRIu64 ": below the %" PRIu64 " bytes of a plane", field, extent.slicePitch,
                    least);
    }
    std::uint64_t before;
    if (__builtin_mul_overflow(extent.slicePitch, extent.depth - 1, &before) ||
        __builtin_add_overflow(before, plane, &range.bytes)) [[unlikely]] {
      return rejectOverflow(field, "slicePitch * depth");
    }
  }
  if (wraps(range)) [[unlikely]]
    return rejectWrap(field, range);
  return {};
}

DecodeStatus rejectBelow(const char* field, Number value, Number limit) {
  return reject("%s = %s%" PRIu64 ": below the least allowed, %s%" PRIu64, field, sign(value), value.magnitude,
                sign(limit), limit.magnitude);
}

DecodeStatus rejectAbove(const char* field, Number value, Number limit) {
  return reject("%s = %s%" PRIu64 ": above the limit %s%" PRIu64, field, sign(value), value.magnitude, sign(limit),
                limit.magnitude);
}

DecodeStatus rejectValue(const char* field, Number value, const char* allowed) {
  return reject("%s = %s%" PRIu64 ": not one of %s", field, sign(value), value.magnitude, allowed);
}

DecodeStatus rejectFlags(const char* field, std::uint64_t value, std::uint64_t allowed) {
  return reject("%s = 0x%" PRIx64 ": bits outside 0x%" PRIx64 " are set", field, value, allowed);
}

DecodeStatus rejectUnaligned(const char* field, std::uint64_t value, std::uint64_t alignment) {
  return reject("%s = 0x%" PRIx64 ": not a multiple of %" PRIu64, field, value, alignment);
}

DecodeStatus rejectProduct(const char* field, Dim3 value, std::uint64_t limit) {
  return reject("%s = %u x %u x %u: product above the limit %" PRIu64, field, value.x, value.y, value.z, limit);
}

DecodeStatus rejectOverflow(const char* field, const char* expression) {
  return reject("%s: %s does not fit 64 bits", field, expression);
}

DecodeStatus rejectWrap(const char* field, AddressRange range) {
  return reject("%s = 0x%" PRIx64 ": %" PRIu64 " bytes from there pass the end of the address space", field, range.base,
                range.bytes);
}

DecodeStatus rejectNotLive(const char* field, const char* kind, Handle handle) {
  return reject("%s = %u generation %u: no live %s of this session", field, handle.index, handle.generation, kind);
}

DecodeStatus rejectNotNew(const char* field, const char* kind, Handle handle) {
  return reject(
      "%s = %u generation %u: not a new %s: an index is at most one past the highest used, and is used again only when "
      "free and with a greater generation",
      field, handle.index, handle.generation, kind);
}

DecodeStatus rejectUnmapped(const char* field, AddressRange range, Access access, Where where) {
  const char* place = where == Where::device ? " in device memory"
                      : where == Where::host ? " in pinned host memory"
                                             : "";
  return reject("%s = 0x%" PRIx64 ": %" PRIu64 " bytes from there are not all mapped%s for this session to %s", field,
                range.base, range.bytes, place, access == Access::write ? "write" : "read");
}

}  // namespace rouse::wire
