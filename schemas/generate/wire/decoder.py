"""decode.h and decode.cc: structural checks as plain functions, then the session's checks and the dispatch as templates."""
from .description import HANDLES, Protocol, factors
from .structs import BANNER


def ranges_struct(command) -> str:
    if not command.addresses:
        return ""
    members = "".join(f"  AddressRange {f.name};\n" for f in command.addresses)
    return f"struct {command.name}Ranges {{\n{members}}};\n"


def signature(command) -> str:
    arguments = f"const {command.name}& command"
    if any("payload" in f.checks.get("bytes", "") for f in command.addresses):
        arguments += ", std::size_t payloadBytes"
    if command.addresses:
        arguments += f", {command.name}Ranges& ranges"
    return f"DecodeStatus check({arguments})"


def guard(condition, rejection) -> str:
    return f"  if ({condition}) [[unlikely]] return {rejection};\n"


def literal(value) -> str:
    return f"{value}ull" if value > 0x7FFFFFFF else f"{value}"


def integer_checks(command, f) -> str:
    where, value, out = f'"{command.name}.{f.name}"', f"command.{f.name}", ""
    checks = f.checks
    if checks.get("min", 0) != 0:
        out += guard(f"{value} < {literal(checks['min'])}", f"rejectBelow({where}, {value}, {literal(checks['min'])})")
    if "max" in checks:
        out += guard(f"{value} > {literal(checks['max'])}", f"rejectAbove({where}, {value}, {literal(checks['max'])})")
    if "values" in checks:
        condition = " && ".join(f"{value} != {literal(v)}" for v in checks["values"])
        listed = ", ".join(str(v) for v in checks["values"])
        out += guard(condition, f'rejectValue({where}, {value}, "{listed}")')
    if "flags" in checks:
        mask = f"{f.cpp}{{{literal(checks['flags'])}}}"
        out += guard(f"({value} & ~{mask}) != 0", f"rejectFlags({where}, {value}, {literal(checks['flags'])})")
    if "align" in checks:
        align = literal(checks["align"])
        out += guard(f"({value} & ({align} - 1)) != 0", f"rejectUnaligned({where}, {value}, {align})")
    return out


def dim3_checks(command, f) -> str:
    out = ""
    for i, axis in enumerate("xyz"):
        where, value = f'"{command.name}.{f.name}.{axis}"', f"command.{f.name}.{axis}"
        for key, operator, rejection in (("min", "<", "rejectBelow"), ("max", ">", "rejectAbove")):
            if key in f.checks:
                bound = f.checks[key] if isinstance(f.checks[key], int) else f.checks[key][i]
                out += guard(f"{value} {operator} {literal(bound)}", f"{rejection}({where}, {value}, {literal(bound)})")
    if "product" in f.checks:
        value, limit = f"command.{f.name}", literal(f.checks["product"])
        out += guard(f"!productWithin({value}, {limit})",
                     f'rejectProduct("{command.name}.{f.name}", {value}, {limit})')
    return out


def address_checks(command, f) -> str:
    where, base = f'"{command.name}.{f.name}"', f"command.{f.name}"
    target = f"ranges.{f.name}"
    out = ""
    if "align" in f.checks:
        out += integer_checks(command, f)
    if "extent" in f.checks:
        prefix = f.checks["extent"]
        return out + (
            f"  if (DecodeStatus status = extentRange({where}, {base},\n"
            f"                                        {{command.width, command.height, command.depth,\n"
            f"                                         command.{prefix}Pitch, command.{prefix}SlicePitch}}, {target});\n"
            f"      !status) [[unlikely]] {{\n    return status;\n  }}\n")
    parts = ["payloadBytes" if p == "payload" else f"command.{p}" for p in factors(f)]
    out += f"  {target} = {{{base}, {parts[0]}}};\n"
    for part in parts[1:]:
        out += guard(f"__builtin_mul_overflow({target}.bytes, std::uint64_t{{{part}}}, &{target}.bytes)",
                     f'rejectOverflow({where}, "{f.checks["bytes"]}")')
    return out + guard(f"wraps({target})", f"rejectWrap({where}, {target})")


def check(command) -> str:
    body = ""
    # Plain fields first: an address's size is computed from fields that are within their limits.
    for f in command.fields:
        if f.type in ("u32", "u64", "i32"):
            body += integer_checks(command, f)
        elif f.type == "dim3":
            body += dim3_checks(command, f)
        elif f.type == "slot":
            body += guard(f"command.{f.name} >= kSlotCount",
                          f'rejectAbove("{command.name}.{f.name}", command.{f.name}, kSlotCount - 1)')
    for f in command.addresses:
        body += address_checks(command, f)
    return f"{signature(command)} {{\n{body}  return {{}};\n}}\n"


def step(command) -> str:
    name = command.name
    arguments = "command"
    if any("payload" in f.checks.get("bytes", "") for f in command.addresses):
        arguments += ", bytes.size() - sizeof(command)"
    body = f"  const auto& command = *reinterpret_cast<const {name}*>(bytes.data());\n"
    if command.addresses:
        body += f"  {name}Ranges ranges;\n"
        arguments += ", ranges"
    body += f"  if (DecodeStatus status = check({arguments}); !status) [[unlikely]] return status;\n"
    for f in command.fields:
        where = f'"{name}.{f.name}"'
        if f.type in HANDLES:
            kind = f.type.capitalize()
            if f.checks.get("new"):
                body += guard(f"!session.new{kind}(command.{f.name})",
                              f'rejectNotNew({where}, "{f.type}", command.{f.name})')
            else:
                body += guard(f"!session.{f.type}Live(command.{f.name})",
                              f'rejectNotLive({where}, "{f.type}", command.{f.name})')
    for f in command.addresses:
        access, place = f"Access::{f.checks['access']}", f"Where::{f.checks.get('in', 'any')}"
        body += guard(f"!session.rangeMapped(ranges.{f.name}, {access}, {place})",
                      f'rejectUnmapped("{name}.{f.name}", ranges.{f.name}, {access}, {place})')
    if command.payload:
        body += f"  return deliver(handler, command, payloadOf<{command.payload.cpp}>(bytes, sizeof(command)));\n"
    else:
        body += "  return deliver(handler, command);\n"
    session = "Session& session" if "session." in body else "Session&"
    return (f"template <class Session, class Handler>\n"
            f"DecodeStatus decode{name}(std::span<const std::byte> bytes, {session}, Handler& handler) {{\n{body}}}\n")


def header(protocol: Protocol) -> str:
    declarations = "".join(f"{ranges_struct(c)}{signature(c)};\n" for c in protocol.commands)
    steps = "\n".join(step(c) for c in protocol.commands)
    table = "".join(f"      detail::decode{c.name}<Session, Handler>,\n" for c in protocol.commands)
    return f"""{BANNER}//
// decodeAndDispatch() takes one command from untrusted bytes to the handler:
//   1. structure: opcode, sizes, every limit that commands.toml gives;
//   2. the session: handles live or new, ranges mapped;
//   3. handler.on(command[, payload]), which returns nothing, or a DecodeStatus for what only it can check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/wire/check.h"
#include "schemas/wire/commands.h"

namespace rouse::wire {{

// Structural checks of one command each; its sizes have been checked before (checkShape).
{declarations}
namespace detail {{

{steps}
}}  // namespace detail

// `bytes` is exactly one command, in memory that its sender cannot change, aligned to kCommandAlign. The references that
// the handler gets point into it. Not ok: nothing was delivered, or the handler refused; the connection has to end.
template <CommandSession Session, class Handler>
DecodeStatus decodeAndDispatch(std::span<const std::byte> bytes, Session& session, Handler& handler) {{
  using Step = DecodeStatus (*)(std::span<const std::byte>, Session&, Handler&);
  static constexpr Step kSteps[] = {{
{table}  }};
  if (DecodeStatus status = checkShape(bytes); !status) [[unlikely]] return status;
  return kSteps[reinterpret_cast<const CommandHeader*>(bytes.data())->opcode - 1](bytes, session, handler);
}}

}}  // namespace rouse::wire
"""


def source(protocol: Protocol) -> str:
    checks = "\n".join(check(c) for c in protocol.commands)
    return f"""{BANNER}#include "schemas/wire/decode.h"

namespace rouse::wire {{

{checks}
}}  // namespace rouse::wire
"""
