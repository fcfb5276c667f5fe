"""The functions of cublas.h, of before there were handles, as calls of today's: what each of their parameters is there."""

from .description import DescriptionError

# A letter, by what today's parameter is.
LETTERS = {"cublasOperation_t": "operationOf", "cublasFillMode_t": "triangleOf", "cublasDiagType_t": "diagonalOf", "cublasSideMode_t": "sideOf"}


def call(function, current):
    """The statements of `function`, which calls `current`."""
    wanted = [p for p in current.parameters if p.name != "handle"]
    given = list(function.parameters)
    if current.name.endswith("trmm_v2"):  # in place; today's says where the result goes
        given += given[-2:]
    returns = function.returns != "void"
    if len(given) + returns != len(wanted):
        raise DescriptionError(f"{function.name}: {len(given)} parameters for {len(wanted)} of {current.name}")
    arguments = ["classicHandle()"]
    for mine, theirs in zip(given, wanted):
        if mine.type == "char":
            if theirs.type not in LETTERS:
                raise DescriptionError(f"{function.name}: '{mine.name}' is a letter, and a {theirs.type} in {current.name}")
            arguments.append(f"{LETTERS[theirs.type]}({mine.name})")
        else:
            arguments.append(f"&{mine.name}" if theirs.type.endswith("*") and not mine.type.endswith("*") else mine.name)
    if not returns:
        return [f"note({current.name}({', '.join(arguments)}));"]
    return [f"{function.returns} result{{}};", f"note({current.name}({', '.join([*arguments, '&result'])}));", "return result;"]
