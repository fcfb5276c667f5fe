#!/usr/bin/env python3
"""Test vectors from commands.toml: for each command valid ones, and one for each check that breaks it and nothing else.

Bytes, ranges and messages are worked out here, from the description alone, so that they agree with the generated C++ only
if both understood it alike.

usage: vectors.py COMMANDS_TOML LAYOUT_H vectors.h
       vectors.py COMMANDS_TOML LAYOUT_H --corpus FOLDER
"""
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "schemas" / "generate"))
from wire import description  # noqa: E402

SLOT_COUNT = 1 << 20
DEVICE_BASE, DEVICE_BYTES = 0x10_0000_0000, 1 << 28
LIVE = {"stream": (4, 2), "module": (6, 1)}
NEW = {"stream": (5, 0), "module": (7, 3)}
TOP = (1 << 64) - 1
LIMITS = {"u32": (0, (1 << 32) - 1), "u64": (0, TOP), "i32": (-(1 << 31), (1 << 31) - 1)}
PACK = {"u32": "<I", "u64": "<Q", "i32": "<i", "slot": "<I", "address": "<Q", "stream": "<II", "module": "<II", "dim3": "<III"}


def valid_value(command, f):
    checks = f.checks
    if f.type in LIVE:
        return (NEW if checks.get("new") else LIVE)[f.type]
    if f.type == "dim3":
        return (4, 2, 3)
    if f.type == "slot":
        return SLOT_COUNT - 1
    if f.type == "address":
        return DEVICE_BASE + 0x100_0000 * (1 + f.offset // 8)
    if f.name in ("width", "height", "depth"):
        return {"width": 100, "height": 3, "depth": 2}[f.name]
    if f.name.endswith("SlicePitch"):
        return 1000
    if f.name.endswith("Pitch"):
        return 128
    if "values" in checks:
        return checks["values"][-1]
    if "flags" in checks:
        return checks["flags"]
    if f.type == "i32":
        return -7
    value = 0x1234 + f.offset
    if "align" in checks:
        value = 3 * checks["align"]
    return min(max(value, checks.get("min", 0)), checks.get("max", TOP))


def pack(command, values, payload=0, **header):
    total = command.bytes + payload
    out = struct.pack("<HHI", header.get("opcode", command.opcode), header.get("reserved", 0), header.get("bytes", total))
    for f in command.fields:
        value = values[f.name]
        out += struct.pack(PACK[f.type], *(value if isinstance(value, tuple) else (value,)))
    return out


def extent_of(f, values):
    prefix = f.checks["extent"]
    return (values["width"], values["height"], values["depth"], values[f"{prefix}Pitch"], values[f"{prefix}SlicePitch"])


def range_bytes(f, values, payload):
    if "extent" in f.checks:
        width, height, depth, pitch, slice_pitch = extent_of(f, values)
        return (depth - 1) * slice_pitch + (height - 1) * pitch + width
    product = 1
    for name in description.factors(f):
        product *= payload if name == "payload" else values[name]
    return product


def queries(command, values, payload):
    """What the session is asked, in order."""
    out = []
    for f in command.fields:
        if f.type in LIVE:
            out.append(f"{'new' if f.checks.get('new') else 'live'} {f.type} {values[f.name][0]}/{values[f.name][1]}")
    for f in command.addresses:
        out.append(f"{f.checks['access']} {f.checks.get('in', 'any')} {values[f.name]:#x}+{range_bytes(f, values, payload)}")
    return "; ".join(out)


def described(command, values, payload):
    out = command.name
    for f in command.fields:
        value = values[f.name]
        if f.name == "reserved":
            continue
        if f.type == "dim3":
            value = "x".join(map(str, value))
        elif f.type in LIVE:
            value = f"{value[0]}/{value[1]}"
        elif f.type == "address":
            value = hex(value)
        out += f" {f.name}={value}"
    return out + (f" {command.payload.name}=[{payload}]" if command.payload else "")


class Vectors:
    def __init__(self):
        self.valid, self.refused = [], []

    def accept(self, name, command, values, payload):
        self.valid.append((f"{command.name}: {name}", pack(command, values), payload, command.bytes + payload,
                           described(command, values, payload), queries(command, values, payload)))

    def refuse(self, command, values, payload, message, **header):
        self.refused.append((message, pack(command, values, payload, **header), payload, message))


def edges(out, command, base, payload):
    """The limits themselves are allowed."""
    sized = {name for f in command.addresses if "bytes" in f.checks for name in description.factors(f)}
    if any("extent" in f.checks for f in command.addresses):
        sized |= {f.name for f in command.fields if f.type == "u64"}
    for f in command.fields:
        low, high = LIMITS.get(f.type, (None, None))
        if low is not None and f.name not in sized and not {"values", "flags"} & set(f.checks):
            align = f.checks.get("align", 1)
            for bound in (f.checks.get("min", low), f.checks.get("max", high) // align * align):
                out.accept(f"{f.name} = {bound}", command, base | {f.name: bound}, payload)
        for value in f.checks.get("values", []):
            out.accept(f"{f.name} = {value}", command, base | {f.name: value}, payload)
        if f.type == "dim3":
            for axis, bound in enumerate(f.checks["max"]):
                value = tuple(bound if i == axis else 1 for i in range(3))
                out.accept(f"{f.name} = {value}", command, base | {f.name: value}, payload)
        if f.type == "slot":
            out.accept(f"{f.name} = 0", command, base | {f.name: 0}, payload)
        if "extent" in f.checks:
            flat = {n: 0 for n in base if n.endswith("Pitch")}
            out.accept("one row", command, base | flat | {"width": 64, "height": 1, "depth": 1}, payload)
            tight = {n: 64 * (4 if n.endswith("SlicePitch") else 1) for n in flat}
            out.accept("no gaps", command, base | tight | {"width": 64, "height": 4, "depth": 5}, payload)
            planes = {n: 64 if n.endswith("SlicePitch") else 0 for n in flat}
            out.accept("planes of one row", command, base | planes | {"width": 64, "height": 1, "depth": 7}, payload)
    if command.payload:
        out.accept("shortest payload", command, base, command.payload.min)
        out.accept("longest payload", command, base, command.payload.max)


def break_integer(out, command, base, payload, f):
    where, checks = f"{command.name}.{f.name}", f.checks
    low, high = LIMITS[f.type]

    def refuse(value, message):
        out.refuse(command, base | {f.name: value}, payload, message)

    if checks.get("min", low) > low:
        refuse(checks["min"] - 1, f"{where} = {checks['min'] - 1}: below the least allowed, {checks['min']}")
    if checks.get("max", high) < high:
        refuse(checks["max"] + 1, f"{where} = {checks['max'] + 1}: above the limit {checks['max']}")
        refuse(high, f"{where} = {high}: above the limit {checks['max']}")
    if "values" in checks:
        bad = max(checks["values"]) + 1
        refuse(bad, f"{where} = {bad}: not one of {', '.join(map(str, checks['values']))}")
    if "flags" in checks:
        for bit in range(high.bit_length()):
            if not checks["flags"] >> bit & 1:
                refuse(1 << bit, f"{where} = {1 << bit:#x}: bits outside {checks['flags']:#x} are set")
    if "align" in checks:
        for extra in (1, checks["align"] // 2):
            bad = 4 * checks["align"] + extra
            refuse(bad, f"{where} = {bad:#x}: not a multiple of {checks['align']}")


def break_dim3(out, command, base, payload, f):
    where = f"{command.name}.{f.name}"
    for axis, bound in enumerate(f.checks["max"]):
        for bad, message in ((0, f"below the least allowed, {f.checks['min']}"), (bound + 1, f"above the limit {bound}"),
                             ((1 << 32) - 1, f"above the limit {bound}")):
            value = tuple(bad if i == axis else 1 for i in range(3))
            out.refuse(command, base | {f.name: value}, payload, f"{where}.{'xyz'[axis]} = {bad}: {message}")
    if "product" in f.checks:
        x = f.checks["max"][0]
        limit = f.checks["product"]
        for value in ((x, 2, 1), tuple(f.checks["max"]), (limit // 2 + 1, 1, 2)):
            text = " x ".join(map(str, value))
            out.refuse(command, base | {f.name: value}, payload, f"{where} = {text}: product above the limit {limit}")


def break_address(out, command, base, payload, f):
    where = f"{command.name}.{f.name}"
    size = range_bytes(f, base, payload)
    verb = f.checks["access"]
    for bad in (0, DEVICE_BASE - 1, DEVICE_BASE + DEVICE_BYTES - size + 1, DEVICE_BASE + DEVICE_BYTES):
        out.refuse(command, base | {f.name: bad}, payload,
                   f"{where} = {bad:#x}: {size} bytes from there are not all mapped for this session to {verb}")
    # The last byte of the address space may be named (but is not mapped); one further is not an address.
    last = TOP - size + 1
    out.refuse(command, base | {f.name: last}, payload,
               f"{where} = {last:#x}: {size} bytes from there are not all mapped for this session to {verb}")
    if size > 1:
        out.refuse(command, base | {f.name: last + 1}, payload,
                   f"{where} = {last + 1:#x}: {size} bytes from there pass the end of the address space")
    if "extent" not in f.checks:
        return
    pitch, slice_pitch = f"{f.checks['extent']}Pitch", f"{f.checks['extent']}SlicePitch"
    width, height = base["width"], base["height"]
    out.refuse(command, base | {pitch: width - 1}, payload,
               f"{where}Pitch = {width - 1}: below the width {width}")
    plane = base[pitch] * height
    out.refuse(command, base | {slice_pitch: plane - 1}, payload,
               f"{where}SlicePitch = {plane - 1}: below the {plane} bytes of a plane")
    out.refuse(command, base | {"height": 1, slice_pitch: width - 1}, payload,
               f"{where}SlicePitch = {width - 1}: below the {width} bytes of a plane")
    out.refuse(command, base | {pitch: 1 << 63}, payload, f"{where}: pitch * height does not fit 64 bits")
    out.refuse(command, base | {"depth": 3, slice_pitch: 1 << 63}, payload, f"{where}: slicePitch * depth does not fit 64 bits")
    out.refuse(command, base | {slice_pitch: TOP}, payload, f"{where}: slicePitch * depth does not fit 64 bits")


def break_shape(out, command, base, payload):
    total = command.bytes + payload
    for bit in range(16):
        out.refuse(command, base, payload, f"{command.name}.header.reserved = {1 << bit}: must be 0", reserved=1 << bit)
    for claimed in (0, total - 1, total + 1, (1 << 32) - 1):
        out.refuse(command, base, payload, f"{command.name}.header.bytes = {claimed}: the command has {total}", bytes=claimed)
    shape = command.payload or description.Payload("", 0, 0, "byte")
    for size in {shape.min - 1, shape.max + shape.element_bytes, shape.element_bytes - 1 if command.payload else 0}:
        if size < 0 or shape.min <= size <= shape.max and size % shape.element_bytes == 0:
            continue
        bound = (f"above the limit {shape.max}" if size > shape.max else f"below the least allowed, {shape.min}"
                 if size < shape.min else f"not a multiple of its {shape.element_bytes}-byte elements")
        out.refuse(command, base, size, f"{command.name}: payload of {size} bytes: {bound}")


def build(protocol):
    out = Vectors()
    for command in protocol.commands:
        base = {f.name: valid_value(command, f) for f in command.fields}
        if command.field("elementBytes"):
            base["elementBytes"] = 4
        payload = 0
        if command.payload:
            payload = max(command.payload.min, 48)
        out.accept("typical", command, base, payload)
        edges(out, command, base, payload)
        break_shape(out, command, base, payload)
        for f in command.fields:
            where = f"{command.name}.{f.name}"
            if f.type in LIMITS:
                break_integer(out, command, base, payload, f)
            elif f.type == "dim3":
                break_dim3(out, command, base, payload, f)
            elif f.type == "slot":
                out.refuse(command, base | {f.name: SLOT_COUNT}, payload,
                           f"{where} = {SLOT_COUNT}: above the limit {SLOT_COUNT - 1}")
            elif f.type == "address":
                break_address(out, command, base, payload, f)
            else:
                index, generation = base[f.name]
                text = (f"not a new {f.type}: an index is at most one past the highest used, and is used again only when "
                        "free and with a greater generation") if f.checks.get("new") else f"no live {f.type} of this session"
                out.refuse(command, base | {f.name: (index, generation + 1)}, payload,
                           f"{where} = {index} generation {generation + 1}: {text}")
    return out


def literal(data):
    return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'


def header(protocol, vectors):
    def rows(entries, text):
        return "".join(f"    {{{text(e)}}},\n" for e in entries)

    accepted = rows(vectors.valid, lambda e: f'"{e[0]}", {{{literal(e[1])}, {len(e[1])}}}, {e[2]}, "{e[4]}", "{e[5]}"')
    refused = rows(vectors.refused, lambda e: f'{{{literal(e[1])}, {len(e[1])}}}, {e[2]}, "{e[3]}"')
    return f"""// Generated by test/wire/vectors.py. Do not edit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schemas/wire/layout.h"

namespace rouse::wire::vectors {{

inline constexpr std::size_t kCommands = {len(protocol.commands)};
inline constexpr std::uint64_t kDeviceBase = {DEVICE_BASE:#x};
inline constexpr std::uint64_t kDeviceBytes = {DEVICE_BYTES};
inline constexpr Handle kLiveStream{{{LIVE['stream'][0]}, {LIVE['stream'][1]}}}, kNewStream{{{NEW['stream'][0]}, {NEW['stream'][1]}}};
inline constexpr Handle kLiveModule{{{LIVE['module'][0]}, {LIVE['module'][1]}}}, kNewModule{{{NEW['module'][0]}, {NEW['module'][1]}}};

struct Accepted {{
  const char* name;
  std::string_view fixed;  // header and fields
  std::size_t payloadBytes;
  const char* text;
  const char* queries;
}};

struct Refused {{
  std::string_view fixed;
  std::size_t payloadBytes;
  const char* message;
}};

inline constexpr Accepted kAccepted[] = {{
{accepted}}};

inline constexpr Refused kRefused[] = {{
{refused}}};

}}  // namespace rouse::wire::vectors
"""


def write_corpus(protocol, folder):
    """Where the fuzzer begins: for each command a ring that ends with it, all accepted by test/wire/model_session.h."""
    by_name = {c.name: c for c in protocol.commands}
    handles = {"stream": ((1, 1), (2, 1)), "module": ((0, 1), (1, 1))}  # live, new

    def record(name, payload=0, **fixed):
        command = by_name[name]
        values = {f.name: valid_value(command, f) for f in command.fields}
        for f in command.fields:
            if f.type in handles:
                values[f.name] = handles[f.type][1 if f.checks.get("new") else 0]
        if command.payload:
            payload = payload or max(command.payload.min, 48)
        data = pack(command, values | fixed, payload) + bytes(i * 7 + 3 & 0xFF for i in range(payload))
        return data + bytes(-len(data) % 16)

    memory = {"base": DEVICE_BASE, "bytes": DEVICE_BYTES}
    host = {"base": 0x20_0000_0000, "bytes": 1 << 20}
    begin = (record("MemMap", **memory) + record("HostMap", **host) + record("StreamCreate", stream=(1, 1)) +
             record("ModuleBind", module=(0, 1)))
    fixed = {"MemMap": memory | {"base": DEVICE_BASE + DEVICE_BYTES}, "MemUnmap": memory, "HostMap": host, "HostUnmap": host}
    folder.mkdir(parents=True, exist_ok=True)
    everything = begin
    for name in by_name:
        last = record(name, **fixed.get(name, {}))
        (folder / name).write_bytes(begin + last)
        if name not in ("StreamDestroy", "MemUnmap", "ModuleUnbind", "Reset"):
            everything += last
    everything += record("Reset")  # whose end is that of everything
    (folder / "everything").write_bytes(everything)


def main():
    if len(sys.argv) not in (4, 5):
        print(__doc__, file=sys.stderr)
        return 2
    protocol = description.load(Path(sys.argv[1]), [Path(sys.argv[2])])
    if sys.argv[3] == "--corpus":
        write_corpus(protocol, Path(sys.argv[4]))
    else:
        path = Path(sys.argv[3])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(header(protocol, build(protocol)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
