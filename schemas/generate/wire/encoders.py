"""encode.h: one overload of encode() a command."""
from .description import Protocol
from .structs import BANNER


def encoder(command) -> str:
    name, payload = command.name, command.payload
    if not payload:
        return f"""[[gnu::always_inline]] inline std::size_t encode(std::byte* at, {name} command) {{
  command.header = {{static_cast<std::uint16_t>(Opcode::{name}), 0, sizeof(command)}};
  std::memcpy(at, &command, sizeof(command));
  return sizeof(command);
}}
constexpr std::size_t encodedBytes(const {name}&) {{ return sizeof({name}); }}
"""
    span = f"std::span<const {payload.cpp}>"
    return f"""[[gnu::always_inline]] inline std::size_t encode(std::byte* at, {name} command, {span} {payload.name}) {{
  const std::size_t bytes = sizeof(command) + {payload.name}.size_bytes();
  command.header = {{static_cast<std::uint16_t>(Opcode::{name}), 0, static_cast<std::uint32_t>(bytes)}};
  std::memcpy(at, &command, sizeof(command));
  if (!{payload.name}.empty()) std::memcpy(at + sizeof(command), {payload.name}.data(), {payload.name}.size_bytes());
  return bytes;
}}
constexpr std::size_t encodedBytes(const {name}&, {span} {payload.name}) {{
  return sizeof({name}) + {payload.name}.size_bytes();
}}
"""


def header(protocol: Protocol) -> str:
    encoders = "\n".join(encoder(c) for c in protocol.commands)
    return f"""{BANNER}//
// encode() writes one command, header included, at `at`: ring memory aligned to kCommandAlign with room for
// encodedBytes(). Returns the bytes written, before padding. It checks nothing: the caller keeps to the limits that
// commands.toml gives, the server checks them. The header that the caller passes is ignored.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "schemas/wire/commands.h"

namespace rouse::wire {{

{encoders}
}}  // namespace rouse::wire
"""
