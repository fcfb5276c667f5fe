"""What the names of cuSOLVER's dense functions and their parameters say: the type, and which field of solver::Call each parameter is."""

import re

from .description import DescriptionError

LETTERS = {"S": "f32", "D": "f64", "C": "c32", "Z": "c64", "X": "any"}
BYTES = {"S": 4, "D": 8, "C": 8, "Z": 16, "X": 1}
SIZE = "_bufferSize"

# parameter: (field, kind)
FIELDS = {
    "m": ("m", "number"), "n": ("n", "number"), "k": ("k", "number"), "nrhs": ("k", "number"), "rank": ("k", "number"), "batchSize": ("batch", "number"),
    "uplo": ("uplo", "enum"), "diag": ("diagonal", "enum"), "trans": ("transpose", "enum"), "side": ("side", "enum"),
    "jobz": ("job", "plain"), "jobu": ("job", "plain"), "jobvt": ("otherJob", "plain"), "jobvl": ("job", "plain"), "jobvr": ("otherJob", "plain"),
    "econ": ("economy", "flag"), "itype": ("problem", "plain"), "range": ("selection", "range"),
    "il": ("first", "number"), "iu": ("last", "number"), "k1": ("first", "number"), "k2": ("last", "number"), "incx": ("increment", "number"),
    "vl": ("low", "scalar"), "vu": ("high", "scalar"),
    "A": ("a.address", "address"), "Aarray": ("a.address", "address"), "d_A": ("a.address", "address"), "lda": ("a.spacing", "number"), "strideA": ("a.stride", "number"),
    "B": ("b.address", "address"), "ldb": ("b.spacing", "number"),
    "C": ("c.address", "address"), "ldc": ("c.spacing", "number"),
    "U": ("b.address", "address"), "d_U": ("b.address", "address"), "ldu": ("b.spacing", "number"), "strideU": ("b.stride", "number"),
    "V": ("c.address", "address"), "d_V": ("c.address", "address"), "ldv": ("c.spacing", "number"), "strideV": ("c.stride", "number"),
    "VT": ("c.address", "address"), "ldvt": ("c.spacing", "number"),
    "VL": ("b.address", "address"), "ldvl": ("b.spacing", "number"), "VR": ("c.address", "address"), "ldvr": ("c.spacing", "number"),
    "W": ("values", "address"), "S": ("values", "address"), "d_S": ("values", "address"), "D": ("values", "address"), "d": ("values", "address"),
    "strideS": ("valuesStride", "number"), "E": ("offDiagonal", "address"), "e": ("offDiagonal", "address"),
    "tau": ("tau", "address"), "TAU": ("tau", "address"), "TAUQ": ("tau", "address"), "TAUP": ("otherTau", "address"),
    "ipiv": ("pivots", "address"), "devIpiv": ("pivots", "address"), "rwork": ("rest", "address"),
    "info": ("info", "address"), "devInfo": ("info", "address"), "d_info": ("info", "address"), "infoArray": ("info", "address"),
    "dataTypeA": ("aType", "enum"), "dataTypeB": ("bType", "enum"), "dataTypeU": ("bType", "enum"), "dataTypeVL": ("bType", "enum"),
    "dataTypeVT": ("cType", "enum"), "dataTypeV": ("cType", "enum"), "dataTypeVR": ("cType", "enum"), "dataTypeW": ("valuesType", "enum"),
    "dataTypeS": ("valuesType", "enum"), "dataTypeTau": ("tauType", "enum"), "computeType": ("computeType", "enum"),
    "Workspace": ("work", "work"), "Work": ("work", "work"), "work": ("work", "work"), "d_work": ("work", "work"), "bufferOnDevice": ("work", "work"),
    "Lwork": ("workBytes", "length"), "lwork": ("workBytes", "length"), "workspaceInBytesOnDevice": ("workBytes", "length"),
    "bufferOnHost": ("hostWork", "hostWork"), "workspaceInBytesOnHost": ("hostWorkBytes", "hostLength"),
    "meig": ("answer", "answer"), "meig64": ("answer", "answer"), "h_meig": ("answer", "answer"), "h_R_nrmF": ("answer", "answer"), "h_err_sigma": ("answer", "answer"),
    "params": ("params", "params"),
}
CPP = {"uplo": "Triangle", "diagonal": "Diagonal", "transpose": "Transpose", "side": "Side"}
PARAMETERS = {"cusolverDnParams_t": "parameters", "syevjInfo_t": "syevj", "gesvdjInfo_t": "gesvdj"}


def tells_size(function):
    return function.name.endswith(SIZE)


def letter(function):
    return function.name.removeprefix("cusolverDn")[0]


def type_of(function):
    """A Type's name; `any` where the caller says it."""
    return LETTERS[letter(function)]


def place(function, parameter):
    # What is a pointer in some, the whole batch's one array in others: `params` and `info` are told apart by their types.
    if parameter.type in PARAMETERS:
        return PARAMETERS[parameter.type], "params"
    if parameter.name not in FIELDS:
        raise DescriptionError(f"{function.name}: nothing is known of a parameter called '{parameter.name}'")
    return FIELDS[parameter.name]


def fills(function):
    """The statements that put the parameters into `call`, and into `host` what is the program's own memory; and where a _bufferSize tells its answer."""
    statements, told = [], []
    size = tells_size(function)
    for p in function.parameters:
        if p.name == "handle":
            continue
        field, kind = place(function, p)
        if kind == "number":
            statements.append(f"call.{field} = {p.name};")
        elif kind == "enum":
            statements.append(f"call.{field} = narrow<{CPP.get(field, 'Type')}>({p.name});")
        elif kind == "plain":
            statements.append(f"call.{field} = narrow<decltype(call.{field})>({p.name});")
        elif kind == "flag":
            statements.append(f"call.{field} = {p.name} != 0;")
        elif kind == "range":
            statements.append(f"call.{field} = static_cast<Selection>({p.name});")
        elif kind == "address" or kind == "work":
            if not size:
                statements.append(f"call.{field} = reinterpret_cast<std::uint64_t>({p.name});")
        elif kind == "scalar":
            if not p.type.endswith("*"):
                statements.append(f"call.{field} = {p.name};")
            elif not size:
                statements.append(f"host.{field} = {p.name};")
        elif kind == "params":
            statements.append(f"if (!take({p.name}, call)) return CUSOLVER_STATUS_INVALID_VALUE;")
        elif kind in ("length", "hostLength") and size:
            told.append(p.name)
        elif kind == "length":
            statements.append(f"call.{field} = workOf({p.name}, {BYTES[letter(function)]});")
        elif kind == "answer" and not size:
            statements.append(f"host.{field} = {p.name};")
    return statements, told


def unfills(function):
    """The arguments of the real function, from `call`, and from `memory`: what it works in, and where the host is told."""
    arguments = []
    size = tells_size(function)
    for p in function.parameters:
        if p.name == "handle":
            arguments.append("handle")
            continue
        field, kind = place(function, p)
        if kind == "params":
            arguments.append(f"memory.{field}")
        elif kind == "scalar" and p.type.endswith("*"):
            arguments.append(f"({p.cast})memory.{field}")
        elif kind == "work":
            arguments.append(f"({p.cast})memory.work")
        elif kind == "length":
            if size:
                arguments.append("&memory.workBytes" if "size_t" in p.type else "&memory.elements")
            else:
                arguments.append(f"({p.cast})(memory.workBytes / {BYTES[letter(function)]})")
        elif kind in ("hostWork", "answer"):
            arguments.append(f"({p.cast})memory.{field}")
        elif kind == "hostLength":
            arguments.append("&memory.hostWorkBytes" if size else "memory.hostWorkBytes")
        else:
            arguments.append(f"({p.cast})call.{field}")
    return arguments
