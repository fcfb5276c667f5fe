"""What the names of cuBLAS's functions and parameters say: operand types, batching, and which field of blas::Call each parameter is."""

import re

from .description import DescriptionError

LETTERS = {"S": "f32", "D": "f64", "C": "c32", "Z": "c64", "H": "f16", "T": "bf16"}
REAL = {"c32": "f32", "c64": "f64", "f32": "f32", "f64": "f64", "f16": "f16"}
TYPES = ("a", "b", "c", "x", "y", "scale", "beta", "result")

# parameter: (field, kind)
FIELDS = {
    "m": ("m", "number"), "n": ("n", "number"), "k": ("k", "number"), "batchCount": ("batch", "number"), "batchSize": ("batch", "number"),
    "transa": ("transa", "enum"), "transb": ("transb", "enum"), "trans": ("transa", "enum"), "uplo": ("uplo", "enum"),
    "side": ("side", "enum"), "mode": ("side", "enum"), "diag": ("diag", "enum"),
    "lda": ("a.spacing", "number"), "ldb": ("b.spacing", "number"), "ldc": ("c.spacing", "number"),
    "incx": ("x.spacing", "number"), "incy": ("y.spacing", "number"),
    "strideA": ("a.stride", "number"), "strideB": ("b.stride", "number"), "strideC": ("c.stride", "number"),
    "stridex": ("x.stride", "number"), "stridey": ("y.stride", "number"),
    "A": ("a.address", "address"), "B": ("b.address", "address"), "C": ("c.address", "address"), "x": ("x.address", "address"),
    "y": ("y.address", "address"), "AP": ("a.address", "address"), "Aarray": ("a.address", "address"), "Barray": ("b.address", "address"),
    "Carray": ("c.address", "address"), "xarray": ("x.address", "address"), "yarray": ("y.address", "address"),
    "Atype": ("aType", "enum"), "Btype": ("bType", "enum"), "Ctype": ("cType", "enum"), "xType": ("xType", "enum"), "yType": ("yType", "enum"),
    "alphaType": ("scaleType", "enum"), "csType": ("scaleType", "enum"), "resultType": ("resultType", "enum"),
    "executionType": ("executionType", "enum"), "executiontype": ("executionType", "enum"),
    "computeType": ("computeType", "plain"), "algo": ("algorithm", "plain"),
    "alpha": ("alpha", "scalar"), "beta": ("beta", "scalar"), "c": ("alpha", "scalar"), "s": ("beta", "scalar"), "result": ("result", "result"),
}
# ...where a verb's parameters mean something else; the host's `info` is the program's own memory.
OF_VERB = {
    "gbmv": {"kl": ("k", "number"), "ku": ("ku", "number")},
    "tpttr": {"AP": ("b.address", "address")}, "trttp": {"AP": ("b.address", "address")},
    "getrf": {"P": ("pivots", "address"), "info": ("infos", "address")},
    "getrs": {"nrhs": ("k", "number"), "devIpiv": ("pivots", "address"), "info": ("info", "info")},
    "getri": {"P": ("pivots", "address"), "info": ("infos", "address")},
    "matinv": {"Ainv": ("c.address", "address"), "lda_inv": ("c.spacing", "number"), "info": ("infos", "address")},
    "geqrf": {"TauArray": ("x.address", "address"), "info": ("info", "info")},
    "gels": {"nrhs": ("k", "number"), "devInfoArray": ("infos", "address"), "info": ("info", "info")},
    "rotm": {"param": ("rotation[0]", "parameters"), "paramType": ("scaleType", "enum")},
    "rotg": {"a": ("rotation[0]", "rotation"), "b": ("rotation[1]", "rotation"), "c": ("rotation[2]", "rotation"), "s": ("rotation[3]", "rotation"),
             "abType": ("xType", "enum")},
    "rotmg": {"d1": ("rotation[0]", "rotation"), "d2": ("rotation[1]", "rotation"), "x1": ("rotation[2]", "rotation"), "y1": ("rotation[3]", "rotation"),
              "param": ("rotation[4]", "rotation"), "d1Type": ("aType", "enum"), "d2Type": ("bType", "enum"), "x1Type": ("xType", "enum"),
              "y1Type": ("yType", "enum"), "paramType": ("scaleType", "enum")},
}
# Fields that no parameter says.
IMPLIED = {"geqrf": ["call.x.spacing = 1;"]}
CPP = {"transa": "Transpose", "transb": "Transpose", "uplo": "Triangle", "side": "Side", "diag": "Diagonal"}


def place(function, parameter):
    fields = FIELDS | OF_VERB.get(function.verb, {})
    if parameter.name not in fields:
        raise DescriptionError(f"{function.name}: nothing is known of a parameter called '{parameter.name}'")
    return fields[parameter.name]


def plain(function):
    return re.sub(r"(_v2)?(_64)?$", "", function.name.removeprefix("cublas"))


def batching(function):
    name = plain(function)
    return "strided" if "StridedBatched" in name else "arrays" if "Batched" in name else "single"


def conjugates(function):
    return bool(re.search(r"dotc|Dotc|gerc", plain(function)))


def types(function):
    """Of each operand and scalar: a Type's name, or `any` where the caller says it."""
    name = plain(function)
    if mixed := re.match(r"([HT])S([HST])gemv", name):
        first, last = LETTERS[mixed[1]], LETTERS[mixed[2]]
        return dict(a=first, b="any", c="any", x=first, y=last, scale="f32", beta="f32", result="any")
    if re.fullmatch(r"[SC]gemmEx|Cgemm3mEx", name):
        scale = LETTERS[name[0]]
        return dict.fromkeys(TYPES, "any") | dict(scale=scale, beta=scale)
    if re.fullmatch(r"Csyrk(3m)?Ex|Cherk(3m)?Ex", name):
        scale = "f32" if "herk" in name else "c32"
        return dict.fromkeys(TYPES, "any") | dict(scale=scale, beta=scale)
    if re.match(r"[A-Z]\w*Ex$", name):
        fixed = dict.fromkeys(TYPES, "any")
        return fixed | dict(result="i32") if function.verb in ("iamax", "iamin") else fixed
    if mixed := re.match(r"(Cs|Zd)(?=rot|scal)", name):
        data = LETTERS[name[0]]
        return dict.fromkeys(TYPES, data) | dict(scale=REAL[data], beta=REAL[data])
    if mixed := re.match(r"(Sc|Dz)(?=nrm2|asum)", name):
        return dict.fromkeys(TYPES, LETTERS[mixed[1][1].upper()]) | dict(result=LETTERS[name[0]])
    if mixed := re.match(r"I([sdcz])", name):
        return dict.fromkeys(TYPES, LETTERS[mixed[1].upper()]) | dict(result="i32")
    data = LETTERS[name[0]]
    fixed = dict.fromkeys(TYPES, data)
    if function.verb in ("her", "hpr", "herk"):
        fixed |= dict(scale=REAL[data], beta=REAL[data])
    if function.verb in ("her2k", "herkx"):
        fixed |= dict(beta=REAL[data])
    if function.verb in ("rot", "rotg"):  # the cosine is real
        fixed |= dict(scale=REAL[data])
    return fixed


def fills(function):
    """The statements that put the parameters into `call`, and the initialisers of what is the program's own memory, or may be."""
    statements, host, rotation = list(IMPLIED.get(function.verb, [])), [], []
    for p in function.parameters:
        if p.name == "handle":
            continue
        field, kind = place(function, p)
        if kind == "number":
            statements.append(f"call.{field} = {p.name};")
        elif kind == "enum":
            statements.append(f"call.{field} = narrow<{CPP.get(field, 'Type')}>({p.name});")
        elif kind == "plain":
            statements.append(f"call.{field} = static_cast<decltype(call.{field})>({p.name});")
        elif kind == "address":
            statements.append(f"call.{field} = reinterpret_cast<std::uint64_t>({p.name});")
        elif kind == "rotation":
            rotation.append(f"const_cast<void*>(static_cast<const void*>({p.name}))" if p.type.startswith("const") else p.name)
        else:
            host.append(f".{'parameters' if kind == 'parameters' else field} = {p.name}")
    if rotation:
        host.append(f".rotation = {{{', '.join(rotation)}}}")
    order = ("alpha", "beta", "result", "parameters", "info", "rotation")
    host.sort(key=lambda item: order.index(item[1:].split(" ")[0]))
    return statements, host


def unfills(function):
    """The arguments of the real function, from `call`, and from `memory`: where its scalars and results are."""
    arguments = []
    for p in function.parameters:
        if p.name == "handle":
            arguments.append("handle")
            continue
        field, kind = place(function, p)
        if kind in ("scalar", "result", "info", "parameters"):
            arguments.append(f"({p.cast})memory.{'parameters' if kind == 'parameters' else field}")
        else:
            arguments.append(f"({p.cast})call.{field}")
    return arguments
