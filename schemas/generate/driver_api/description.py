"""Reads functions.toml and the prototypes it names from cuda.h; says file and line of whatever is wrong."""

import re
import tomllib
from dataclasses import dataclass

NEEDS = ("nothing", "driver", "context")

_DEFINE = re.compile(r"^#define\s+(cu[A-Z]\w*)\s+(?:__CUDA_API_PT[SD]Z?S?\(\s*)?(cu\w+)\s*\)?\s*$", re.M)
_PROTOTYPE = re.compile(r"^CUresult CUDAAPI (cu\w+)\(([^;]*)\);", re.M)
_PARAMETER = re.compile(r"(?P<type>[A-Za-z_][\w ]*?(?:[ *]|\bconst\b)+)(?P<name>\w+)")


class DescriptionError(Exception):
    """The message begins with file:line."""


@dataclass
class Parameter:
    type: str
    name: str

    @property
    def is_pointer(self):
        return self.type.endswith("*")


@dataclass
class Function:
    exported: str
    name: str  # as cuda.h declares it
    group: str
    needs: str
    required: list
    parameters: list

    @property
    def parameters_text(self):
        return ", ".join(f"{p.type}{'' if p.is_pointer else ' '}{p.name}" for p in self.parameters)


@dataclass
class Description:
    library: str
    minimum_driver: int
    functions: list


class _Header:
    """Prototypes of the current versions, and which exported name each stands for."""

    def __init__(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        # Behind this line the header declares the versions of old.
        current = text.split("\n#if defined(__CUDA_API_VERSION_INTERNAL)\n")[0]
        current = re.sub(r"/\*.*?\*/", " ", current, flags=re.S)
        self.exported = {name: export for name, export in _DEFINE.findall(current)}
        self.prototypes = {name: " ".join(text.split()) for name, text in _PROTOTYPE.findall(current)}
        self.declared = {self.exported.get(name, name): name for name in self.prototypes}


def _parameters(error, text):
    if text == "void":
        return []
    parameters = []
    for part in text.split(","):
        match = _PARAMETER.fullmatch(part.strip())
        if not match:
            raise error(f"parameter '{part.strip()}' in cuda.h is not 'type name'")
        parameters.append(Parameter(match["type"].strip(), match["name"]))
    return parameters


def _function(error, header, group, entry):
    for key in entry.keys() - {"name", "needs", "required"}:
        raise error(f"unknown key '{key}'")
    exported = entry["name"]
    name = header.declared.get(exported)
    if name is None:
        base = re.sub(r"_v\d+$", "", exported)
        known = header.exported.get(base)
        hint = f"cuda.h exports it as '{known}'" if known else "cuda.h does not declare it"
        raise error(f"'{exported}': {hint}")
    needs = entry.get("needs", "context")
    if needs not in NEEDS:
        raise error(f"needs = {needs!r} is not one of {', '.join(NEEDS)}")
    parameters = _parameters(error, header.prototypes[name])
    pointers = {p.name for p in parameters if p.is_pointer}
    for required in entry.get("required", []):
        if required not in pointers:
            raise error(f"required = '{required}' is not a pointer parameter of {name}: {', '.join(sorted(pointers))}")
    return Function(exported, name, group, needs, entry.get("required", []), parameters)


def read(path, header_path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    lines = text.splitlines()
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise DescriptionError(f"{path}:{line[1] if line else len(lines)}: {error}") from None

    def error_at(needle):
        line = next((n for n, l in enumerate(lines, 1) if needle in l and not l.lstrip().startswith("#")), 1)
        return lambda message: DescriptionError(f"{path}:{line}: {message}")

    if tables.get("version") != 1:
        raise error_at("version")(f"version = {tables.get('version')!r}, this generator reads 1")
    for key in tables.keys() - {"version", "library", "minimum_driver", "group"}:
        raise error_at(key)(f"unknown key '{key}'")
    header = _Header(header_path)
    functions = []
    for group in tables.get("group", []):
        if not re.fullmatch(r"[a-z0-9_]+", group.get("name", "")):
            raise error_at("[[group]]")(f"group name {group.get('name')!r} is not a file name")
        for entry in group.get("functions", []):
            if not isinstance(entry.get("name"), str):
                raise error_at(f'name = "{group["name"]}"')(f"a function of '{group['name']}' has no name")
            functions.append(_function(error_at(f'"{entry["name"]}"'), header, group["name"], entry))
    seen = set()
    for function in functions:
        if function.exported in seen:
            raise error_at(f'"{function.exported}"')(f"'{function.exported}' is listed twice")
        seen.add(function.exported)
    if not functions:
        raise error_at("")("no functions")
    return Description(tables["library"], tables["minimum_driver"], functions)
