"""Reads a library's description (schemas/api/cublas.toml, cublaslt.toml, cudnn.toml, cufft.toml, curand.toml, cusparse.toml, cusolver.toml, nvml.toml, cuda.toml): parses, checks, and says what is wrong with it."""

import re
import tomllib
from dataclasses import dataclass, field

RETURNS = ("cublasStatus_t", "cudnnStatus_t", "cufftResult", "curandStatus_t",
           "cusparseStatus_t", "cusparseDiagType_t", "cusparseFillMode_t", "cusparseIndexBase_t", "cusparseMatrixType_t",
           "CUresult",
           "cusolverStatus_t", "nvmlReturn_t",
           "size_t", "const char*", "const char *", "void", "unsigned", "int", "float", "double", "cuComplex",
           "cuDoubleComplex")
# What a refused call of a name without a status can return.
REFUSALS = {"cublasStatus_t": "int", "cudnnStatus_t": "int", "cufftResult": "int", "curandStatus_t": "int",
            "cusparseStatus_t": "int",
            "CUresult": "int", "void": "void", "float": "float", "double": "double", "int": "int",
            "cusolverStatus_t": "int", "nvmlReturn_t": "int",
            "cuComplex": "cuComplex", "cuDoubleComplex": "cuDoubleComplex"}
# ...NOT_SUPPORTED of the statuses; the libraries' headers cannot be included where their functions are declared without parameters. cuRAND has
# none: its CURAND_STATUS_ARCH_MISMATCH says that a GPU does not have what is asked for.
NOT_SUPPORTED = {"cublasStatus_t": 15, "cudnnStatus_t": 3000, "cufftResult": 16,
                 "cusparseStatus_t": 10,
                 "curandStatus_t": 204, "CUresult": 801,
                 "cusolverStatus_t": 9, "nvmlReturn_t": 3}

# What an entry point of the driver makes sure of first.
NEEDS = ("nothing", "driver", "context")
# Of names that are exported again for programs with per-thread default streams.
VARIANTS = ("ptsz", "ptds")

_PROTOTYPE = re.compile(r"(?P<returns>[A-Za-z_][\w ]*?[ *]+)(?P<name>(?:cublas|cudnn|cufft|curand|cusparse|cusolver|nvml|cu[A-Z])\w+)\((?P<parameters>.*)\)")
_PARAMETER = re.compile(r"(?P<type>.*?[\s*])(?P<name>\w+)(?P<array>\[\])?")


class DescriptionError(Exception):
    pass


@dataclass
class Parameter:
    type: str
    name: str
    array: bool = False  # `const T* const name[]`

    @property
    def declaration(self):
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}{'[]' if self.array else ''}"

    @property
    def cast(self):
        return self.type + ("*" if self.array else "")


@dataclass
class Function:
    name: str
    returns: str
    parameters: list
    group: str
    verb: str | None = None
    wide: bool = False
    variant: str | None = None
    needs: str | None = None
    since: int | None = None
    header: str | None = None  # of its group, if that is not the library's
    calls: str | None = None

    @property
    def exports(self):
        """The name and its variant's."""
        return [self.name] + ([f"{self.name}_{self.variant}"] if self.variant else [])

    @property
    def takes_stream(self):
        return any(p.type == "CUstream" for p in self.parameters)

    def widened(self):
        parameters = [Parameter(re.sub(r"\bint\b(?! int)", "int64_t", p.type) if "long long" not in p.type else p.type, p.name, p.array)
                      for p in self.parameters]
        return Function(self.name + "_64", self.returns, parameters, self.group, self.verb)


@dataclass
class Refusal:
    name: str
    returns: str
    what: str
    status: int | None = None  # instead of ...NOT_SUPPORTED
    found: int | None = None  # the version from which cuGetProcAddress finds it all the same


@dataclass
class Library:
    library: str
    header: str
    versioned: bool = True  # its names have a version node, called like the library
    own_refusals: bool = False  # they are client-shim/<folder>/refuse.h's to answer
    functions: list = field(default_factory=list)
    refusals: list = field(default_factory=list)
    splits: dict = field(default_factory=dict)  # library: its names

    @property
    def entries(self):
        """Every function with an entry point, wide ones as their own."""
        return [e for f in self.functions for e in ([f, f.widened()] if f.wide else [f])]

    @property
    def names(self):
        return sorted([name for e in self.entries for name in e.exports] + [r.name for r in self.refusals])


def _parameters(name, text):
    if text.strip() in ("", "void"):
        return []
    parameters = []
    for part in text.split(","):
        match = _PARAMETER.fullmatch(part.strip())
        if not match:
            raise DescriptionError(f"{name}: parameter '{part.strip()}' is not 'type name'")
        parameters.append(Parameter(match["type"].strip(), match["name"], match["array"] is not None))
    return parameters


def _function(path, entry, group, verb, header):
    unknown = entry.keys() - {"c", "wide", "variant", "needs", "since", "calls"}
    match = _PROTOTYPE.fullmatch(entry.get("c", ""))
    if unknown or not match:
        raise DescriptionError(f"{path}: {group}: {entry}: " + (f"unknown keys {sorted(unknown)}" if unknown else "no C prototype"))
    returns = match["returns"].strip()
    if returns not in RETURNS:
        raise DescriptionError(f"{path}: {match['name']}: return type '{returns}' is not one of {', '.join(RETURNS)}")
    for key, known in (("needs", NEEDS), ("variant", VARIANTS)):
        if key in entry and entry[key] not in known:
            raise DescriptionError(f"{path}: {match['name']}: {key} = '{entry[key]}' is not one of {', '.join(known)}")
    return Function(match["name"], returns, _parameters(match["name"], match["parameters"]), group, verb, entry.get("wide", False),
                    entry.get("variant"), entry.get("needs", "context" if returns == "CUresult" else None), entry.get("since"), header, entry.get("calls"))


def read(path):
    with open(path, "rb") as file:
        tables = tomllib.load(file)
    if tables.get("version") != 1:
        raise DescriptionError(f"{path}: version = {tables.get('version')!r}, this generator reads 1")
    unknown = tables.keys() - {"version", "library", "header", "versioned", "own_refusals", "group", "unsupported", "split"}
    if unknown:
        raise DescriptionError(f"{path}: unknown keys {sorted(unknown)}")
    library = Library(tables["library"], tables["header"], tables.get("versioned", True), tables.get("own_refusals", False))
    for group in tables.get("group", []):
        for entry in group["functions"]:
            library.functions.append(_function(path, entry, group["name"], group.get("verb"), group.get("header")))
    for group in tables.get("unsupported", []):
        if group["returns"] not in REFUSALS:
            raise DescriptionError(f"{path}: unsupported '{group['what']}': returns '{group['returns']}' is not one of {', '.join(REFUSALS)}")
        library.refusals += [Refusal(name, group["returns"], group["what"], group.get("status"), group.get("found")) for name in group["names"]]
    names = library.names
    for one, next_ in zip(names, names[1:]):
        if one == next_:
            raise DescriptionError(f"{path}: '{one}' is described twice")
    for function in library.functions:
        if function.calls is not None and function.calls not in {f.name for f in library.functions}:
            raise DescriptionError(f"{path}: {function.name} calls '{function.calls}', which is none of the library's")
    for split in tables.get("split", []):
        for name in split["names"]:
            if name not in names:
                raise DescriptionError(f"{path}: {split['library']}: '{name}' is not one of {library.library}'s names")
        library.splits[split["library"]] = split["names"]
    return library
