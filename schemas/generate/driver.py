#!/usr/bin/env python3
"""Makes the table of driver functions, and the double's entry points, from server/device/cuda/driver/functions.toml.

    driver.py DESCRIPTION CUDA_H OUTPUT_ROOT

server/device/cuda/driver/driver_table.h       struct Driver: one pointer a function, typed by cuda.h
test/cuda-double/implementations.h             what test/cuda-double/*.cc implements
test/cuda-double/entry_points.cc               the exported functions: recorded, checked, then implemented
test/cuda-double/exports.map                   the linker's version script
"""

import pathlib
import sys

from driver_api import description as driver_description

NOTICE = "// Generated from server/device/cuda/driver/functions.toml and cuda.h by schemas/generate/driver.py.\n"


def table(description):
    # cuda.h's macros rename the members of the versioned functions; they do so for who calls them, too.
    members = "".join(f"  decltype(&::{f.name}) {f.name} = nullptr;\n" for f in description.functions)
    rows = "".join(f'  visit("{f.exported}", driver.{f.name});\n' for f in description.functions)
    return f"""{NOTICE}// The driver's functions, by the names that cuda.h gives them. Filled by loadDriver (load.h).
#pragma once

#include <cuda.h>

namespace rouse::cuda {{

inline constexpr const char* kDriverLibrary = "{description.library}";
// In CUDA's notation: 1000 * major + 10 * minor.
inline constexpr int kMinimumDriver = {description.minimum_driver};

struct Driver {{
{members}}};

// visit(exported name, pointer) for each.
template <class Visit>
void forEachFunction(Driver& driver, Visit&& visit) {{
{rows}}}

}}  // namespace rouse::cuda
"""


def prototype(function, parameters=None):
    return f"CUresult {function.name}({function.parameters_text if parameters is None else parameters})"


def implementations(description):
    lines = []
    group = None
    for function in description.functions:
        if function.group != group:
            group = function.group
            lines.append(f"\n// {group}.cc\n")
        lines.append(prototype(function) + ";\n")
    return f"""{NOTICE}// What the entry points call once they have recorded the call and checked what the description says.
#pragma once

#include <cuda.h>

namespace rouse::cuda_double::impl {{
{''.join(lines)}
}}  // namespace rouse::cuda_double::impl
"""


def entry_point(function):
    names = [p.name for p in function.parameters]
    required = "".join(f', Required{{"{r}", {r}}}' for r in function.required)
    arguments = "".join(f', Argument("{n}", {n})' for n in names)
    return (f"ROUSE_EXPORT {prototype(function)} {{\n"
            f"  Call call(\"{function.exported}\", Needs::{function.needs});\n"
            f"  call.arguments({{{arguments[2:]}}});\n"
            f"  call.required({{{required[2:]}}});\n"
            f"  return call.run([&] {{ return impl::{function.name}({', '.join(names)}); }});\n}}\n")


def entry_points(description):
    functions = "\n".join(entry_point(f) for f in description.functions)
    return f"""{NOTICE}#include "test/cuda-double/call.h"
#include "test/cuda-double/implementations.h"

using namespace rouse::cuda_double;

#define ROUSE_EXPORT __attribute__((visibility("default")))

extern "C" {{

{functions}
}}  // extern "C"
"""


def exports(description):
    names = "".join(f"    {f.exported};\n" for f in description.functions)
    return f"{{\n  global:\n{names}    rouse_double_*;\n  local:\n    *;\n}};\n"


def main(arguments):
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        description = driver_description.read(arguments[0], arguments[1])
    except (driver_description.DescriptionError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    outputs = {
        "server/device/cuda/driver/driver_table.h": table(description),
        "test/cuda-double/implementations.h": implementations(description),
        "test/cuda-double/entry_points.cc": entry_points(description),
        "test/cuda-double/exports.map": exports(description),
    }
    for name, content in outputs.items():
        file = pathlib.Path(arguments[2]) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
