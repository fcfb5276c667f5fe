"""Reads schemas/api/cudart.toml: parses, checks, and says file and line of whatever is wrong with it."""

import re
import tomllib
from dataclasses import dataclass, field

MAX_NAMES = 4096  # wire::kMaxApiNames: counters in the session segment
SERVED = ("local", "command", "blocking")
VARIANTS = ("ptsz", "ptds")
# Types that the generated code can return when a call is refused or an exception is stopped.
RETURNS = ("cudaError_t", "void", "char", "unsigned int", "void *", "void **", "const char *", "cudaChannelFormatDesc")

_PROTOTYPE = re.compile(r"(?P<returns>[A-Za-z_][\w ]*?[ *]+)(?P<name>\w+)\((?P<parameters>[^()]*)\)")
_PARAMETER = re.compile(r"(?P<type>[A-Za-z_][\w ]*?(?:[ *]|\bconst\b)+)(?P<name>\w+)")
_FUNCTION_KEYS = {"c", "served", "variant", "required", "session", "latched", "records", "unsafe"}


class DescriptionError(Exception):
    """The message begins with file:line."""


@dataclass
class Parameter:
    type: str
    name: str

    @property
    def is_pointer(self):
        return self.type.endswith("*") or self.type.endswith("*const")


@dataclass
class Function:
    name: str
    returns: str
    parameters: list
    served: str  # one of SERVED, or "unsupported"
    concern: str  # group name, or what is unsupported
    variant: str | None = None
    required: list = field(default_factory=list)
    session: bool = True
    latched: bool = False
    records: bool = True
    unsafe: bool = False

    @property
    def names(self):
        return [self.name] + ([f"{self.name}_{self.variant}"] if self.variant else [])

    @property
    def reaches_device(self):
        return self.served in ("command", "blocking")

    @property
    def streams(self):
        return [p.name for p in self.parameters if p.type == "cudaStream_t"]

    @property
    def takes_default_stream(self):
        """The implementation is told which stream is the default one, since no parameter says so."""
        return self.variant is not None and not self.streams


class _Source:
    def __init__(self, path, text):
        self.path = path
        self.lines = text.splitlines()

    def error(self, needle, message):
        line = next((n for n, l in enumerate(self.lines, 1) if needle in l and not l.lstrip().startswith("#")), 1)
        return DescriptionError(f"{self.path}:{line}: {message}")


def _parameters(source, prototype, text):
    if text == "void":
        return []
    parameters = []
    for part in text.split(","):
        match = _PARAMETER.fullmatch(part.strip())
        if not match:
            raise source.error(prototype, f"parameter '{part.strip()}' is not 'type name'")
        parameters.append(Parameter(match["type"].strip(), match["name"]))
    names = [p.name for p in parameters]
    for name in names:
        if names.count(name) > 1:
            raise source.error(prototype, f"two parameters are called '{name}'")
    return parameters


def _function(source, entry, served, concern):
    prototype = entry.get("c")
    if not isinstance(prototype, str):
        raise source.error(concern, f"a function of '{concern}' has no prototype 'c'")
    for key in entry.keys() - _FUNCTION_KEYS:
        raise source.error(prototype, f"unknown key '{key}'")
    match = _PROTOTYPE.fullmatch(prototype)
    if not match:
        raise source.error(prototype, f"'{prototype}' is not a C prototype")
    returns = match["returns"].strip()
    if returns not in RETURNS:
        raise source.error(prototype, f"return type '{returns}' is not one of {', '.join(RETURNS)}")
    if served is None:
        served = entry.get("served")
        if served not in SERVED:
            raise source.error(prototype, f"served = {served!r} is not one of {', '.join(SERVED)}")
    elif entry.keys() - {"c", "variant"}:
        raise source.error(prototype, "an unsupported function has no keys but 'c' and 'variant'")

    function = Function(match["name"], returns, _parameters(source, prototype, match["parameters"]), served, concern)
    function.variant = entry.get("variant")
    if function.variant is not None and function.variant not in VARIANTS:
        raise source.error(prototype, f"variant = {function.variant!r} is not one of {', '.join(VARIANTS)}")
    function.latched = served in ("command", "blocking")
    for key in ("session", "latched", "records", "unsafe"):
        value = entry.get(key, getattr(function, key))
        if not isinstance(value, bool):
            raise source.error(prototype, f"{key} is not true or false")
        setattr(function, key, value)
    if returns != "cudaError_t":
        function.records = False
        function.latched = False
    if function.latched and not function.session:
        raise source.error(prototype, "latched errors are known only with a session")
    pointers = {p.name for p in function.parameters if p.is_pointer}
    for name in entry.get("required", []):
        if name not in pointers:
            raise source.error(prototype, f"required = '{name}' is not a pointer parameter")
        function.required.append(name)
    if function.required and returns != "cudaError_t":
        raise source.error(prototype, "a required pointer needs the return type cudaError_t")
    return function


@dataclass
class Description:
    library: str
    functions: list

    @property
    def names(self):
        """Every exported name, sorted: the position is the name's ApiId."""
        return sorted(name for function in self.functions for name in function.names)


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    source = _Source(path, text)
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise DescriptionError(f"{path}:{line[1] if line else len(source.lines)}: {error}") from None
    if tables.get("version") != 1:
        raise source.error("version", f"version = {tables.get('version')!r}, this generator reads 1")
    for key in tables.keys() - {"version", "library", "group", "unsupported"}:
        raise source.error(key, f"unknown key '{key}'")
    if not isinstance(tables.get("library"), str):
        raise source.error("library", "library names no shared object")

    functions = []
    for group in tables.get("group", []):
        if not re.fullmatch(r"[a-z0-9_]+", group.get("name", "")):
            raise source.error("[[group]]", f"group name {group.get('name')!r} is not a file name")
        for entry in group.get("functions", []):
            functions.append(_function(source, entry, None, group["name"]))
    for group in tables.get("unsupported", []):
        if not isinstance(group.get("what"), str):
            raise source.error("[[unsupported]]", "an unsupported group does not say what it is")
        for entry in group.get("functions", []):
            functions.append(_function(source, entry, "unsupported", group["what"]))

    seen = set()
    for function in functions:
        for name in function.names:
            if name in seen:
                raise source.error(f"{function.name}(", f"'{name}' is described twice")
            seen.add(name)
    if not functions:
        raise source.error("", "no functions")
    if len(seen) > MAX_NAMES:
        raise source.error("", f"{len(seen)} names, at most {MAX_NAMES}")
    return Description(tables["library"], functions)
