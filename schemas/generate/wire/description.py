"""The command description, read and checked: what the emitters work from."""
import hashlib
import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HEADER_BYTES = 8
MAX_COMMAND_BYTES = 64 << 10

# name: (bytes, alignment, C++ type)
TYPES = {
    "u32": (4, 4, "std::uint32_t"),
    "u64": (8, 8, "std::uint64_t"),
    "i32": (4, 4, "std::int32_t"),
    "slot": (4, 4, "std::uint32_t"),
    "address": (8, 8, "std::uint64_t"),
    "stream": (8, 4, "Handle"),
    "module": (8, 4, "Handle"),
    "dim3": (12, 4, "Dim3"),
}
HANDLES = {"stream", "module"}
BOUNDS = {"u32": (0, (1 << 32) - 1), "u64": (0, (1 << 64) - 1), "i32": (-(1 << 31), (1 << 31) - 1)}
UNSIGNED = {"u32", "u64"}
ELEMENTS = {"byte": (1, "std::byte"), "u32": (4, "std::uint32_t"), "u64": (8, "std::uint64_t")}

# Which checks a field of a type may carry.
KEYS = {
    "u32": {"min", "max", "values", "flags", "align"},
    "u64": {"min", "max", "values", "flags", "align"},
    "i32": {"min", "max", "values"},
    "slot": set(),
    "address": {"bytes", "extent", "access", "in", "align"},
    "stream": {"new"},
    "module": {"new"},
    "dim3": {"min", "max", "product"},
}


class DescriptionError(Exception):
    pass


@dataclass
class Field:
    name: str
    type: str
    offset: int
    checks: dict
    doc: str

    @property
    def bytes(self):
        return TYPES[self.type][0]

    @property
    def cpp(self):
        return TYPES[self.type][2]


@dataclass
class Payload:
    name: str
    min: int
    max: int
    element: str

    @property
    def element_bytes(self):
        return ELEMENTS[self.element][0]

    @property
    def cpp(self):
        return ELEMENTS[self.element][1]


@dataclass
class Command:
    name: str
    opcode: int
    doc: str
    fields: list = field(default_factory=list)
    payload: Payload | None = None

    @property
    def bytes(self):
        return HEADER_BYTES + sum(f.bytes for f in self.fields)

    @property
    def addresses(self):
        return [f for f in self.fields if f.type == "address"]

    def field(self, name):
        return next((f for f in self.fields if f.name == name), None)


@dataclass
class Protocol:
    version: int
    commands: list
    hash: int


def require(condition, where, message):
    if not condition:
        raise DescriptionError(f"{where}: {message}")


def load(source: Path, layouts: list[Path]) -> Protocol:
    raw = tomllib.loads(source.read_text())
    require(set(raw) == {"version", "command"}, "top level", f"keys are version and command, not {sorted(raw)}")
    commands = [parse_command(entry, opcode) for opcode, entry in enumerate(raw["command"], start=1)]
    names = [c.name for c in commands]
    for name in names:
        require(names.count(name) == 1, name, "described twice")
    require(len(commands) < 1 << 16, "top level", "more commands than opcodes")
    return Protocol(raw["version"], commands, digest(raw, "\0".join(layout.read_text() for layout in layouts)))


def digest(raw, layout) -> int:
    """Documentation and comments do not change the hash: they do not change what travels."""
    def meaning(value):
        if isinstance(value, dict):
            return {k: meaning(v) for k, v in value.items() if k != "doc"}
        return [meaning(v) for v in value] if isinstance(value, list) else value

    layout = re.sub(r"//[^\n]*", "", layout)
    layout = re.sub(r"\s+", " ", layout)
    canonical = json.dumps(meaning(raw), sort_keys=True, separators=(",", ":")) + "\0" + layout
    return int.from_bytes(hashlib.sha256(canonical.encode()).digest()[:8], "big")


def parse_command(entry, opcode) -> Command:
    name = entry.get("name", f"command {opcode}")
    require(re.fullmatch(r"[A-Z][A-Za-z0-9]*", name), name, "a command's name is CamelCase")
    unknown = set(entry) - {"name", "doc", "fields", "payload"}
    require(not unknown, name, f"unknown keys {sorted(unknown)}")
    command = Command(name, opcode, entry.get("doc", ""))
    require(command.doc, name, "no doc")
    offset = HEADER_BYTES
    for raw in entry.get("fields", []):
        command.fields.append(parse_field(name, raw, offset))
        offset += command.fields[-1].bytes
    check_layout(command, offset)
    if "payload" in entry:
        command.payload = parse_payload(command, entry["payload"])
    for f in command.addresses:
        check_address(command, f)
    return command


def parse_field(command, raw, offset) -> Field:
    where = f"{command}.{raw.get('name', '?')}"
    require(re.fullmatch(r"[a-z][A-Za-z0-9]*", raw.get("name", "")), where, "a field's name is camelCase")
    require(raw["name"] != "header", where, "the name is taken by the command's header")
    require(raw.get("type") in TYPES, where, f"type {raw.get('type')!r} is not one of {sorted(TYPES)}")
    checks = {k: v for k, v in raw.items() if k not in ("name", "type", "doc")}
    unknown = set(checks) - KEYS[raw["type"]]
    require(not unknown, where, f"a {raw['type']} has no checks {sorted(unknown)}")
    if raw["type"] == "dim3":
        for key in ("min", "max"):
            value = checks.get(key)
            require(value is None or isinstance(value, int) or len(value) == 3, where, f"{key} is one number or three")
    if "align" in checks:
        align = checks["align"]
        require(align > 0 and align & (align - 1) == 0, where, f"align = {align} is not a power of two")
    check_bounds(where, raw["type"], checks)
    return Field(raw["name"], raw["type"], offset, checks, raw.get("doc", ""))


def check_bounds(where, type_, checks):
    """Bounds that a field cannot exceed anyway, or that leave no value, are mistakes in the description."""
    low, high = BOUNDS.get(type_, (0, (1 << 32) - 1))
    for key in ("min", "max", "values", "flags"):
        value = checks.get(key, [])
        for bound in value if isinstance(value, list) else [value]:
            require(isinstance(bound, int) and low <= bound <= high, where, f"{key} = {bound} is outside what a {type_} holds")
    smallest, largest = checks.get("min"), checks.get("max")
    if isinstance(smallest, int) and isinstance(largest, int):
        require(smallest <= largest, where, f"min = {smallest} is above max = {largest}")


def check_layout(command, end):
    """No padding: bytes that nobody writes would carry the client's stack to the server."""
    alignment = 4
    for f in command.fields:
        need = TYPES[f.type][1]
        alignment = max(alignment, need)
        require(f.offset % need == 0, f"{command.name}.{f.name}",
                f"at offset {f.offset}, not a multiple of {need}: there would be a padding hole before it")
    require(end % alignment == 0, command.name, f"{end} bytes, not a multiple of {alignment}: there would be a hole at the end")
    names = [f.name for f in command.fields]
    for name in names:
        require(names.count(name) == 1, f"{command.name}.{name}", "described twice")


def parse_payload(command, raw) -> Payload:
    where = f"{command.name}.{raw.get('name', 'payload')}"
    unknown = set(raw) - {"name", "min", "max", "element", "doc"}
    require(not unknown, where, f"unknown keys {sorted(unknown)}")
    require(command.field(raw["name"]) is None, where, "a field has this name")
    element = raw.get("element", "byte")
    require(element in ELEMENTS, where, f"element {element!r} is not one of {sorted(ELEMENTS)}")
    payload = Payload(raw["name"], raw["min"], raw["max"], element)
    require(payload.min <= payload.max, where, f"min = {payload.min} is above max = {payload.max}")
    require(payload.min % payload.element_bytes == 0 and payload.max % payload.element_bytes == 0, where,
            f"min and max are whole elements of {payload.element_bytes} bytes")
    require(command.bytes % payload.element_bytes == 0, where, f"begins at offset {command.bytes}, not aligned for {element}")
    require(command.bytes + payload.max <= MAX_COMMAND_BYTES, where,
            f"max = {payload.max} makes a command longer than {MAX_COMMAND_BYTES} bytes")
    return payload


def check_address(command, f):
    where = f"{command.name}.{f.name}"
    require(f.checks.get("access") in ("read", "write"), where, 'access is "read" or "write"')
    require(f.checks.get("in", "any") in ("any", "device", "host"), where, 'in is "device", "host" or "any"')
    require(("bytes" in f.checks) != ("extent" in f.checks), where, "an address has either bytes or extent")
    if "extent" in f.checks:
        prefix = f.checks["extent"]
        for name in (f"{prefix}Pitch", f"{prefix}SlicePitch", "width", "height", "depth"):
            other = command.field(name)
            require(other and other.type == "u64", where, f"extent needs the u64 field {name}")
        for name in ("width", "height", "depth"):
            require(command.field(name).checks.get("min", 0) >= 1, where, f"extent needs {name} with min = 1")
    else:
        for name in factors(f):
            if name == "payload":
                require(command.payload, where, "the command has no payload")
            else:
                other = command.field(name)
                require(other and other.type in UNSIGNED, where, f"bytes: {name!r} is no unsigned field")


def factors(f):
    """The operands of an address field's `bytes`: a product of fields, or the payload's size."""
    return [part.strip() for part in f.checks["bytes"].split("*")]
