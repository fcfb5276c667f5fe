#!/usr/bin/env python3
"""Makes the mechanical part of libcudart from schemas/api/cudart.toml.

    cudart.py DESCRIPTION OUTPUT_ROOT

schemas/api/api_ids.h                   a number for each exported name: counters, status output; no CUDA headers
schemas/api/coverage.json, .md          which name is served how
client-shim/cudart/implementations.h    what client-shim/cudart/*.cc implements
client-shim/cudart/entry_points.cc      the exported functions: checks, attachment, latched and last errors, exceptions
client-shim/cudart/unsupported.cc       the exported functions that refuse
client-shim/cudart/exports.map          the linker's version script
"""

import json
import pathlib
import sys

from api import description as api_description

NOTICE = "// Generated from schemas/api/cudart.toml by schemas/generate/cudart.py.\n"


def parameter_list(function, extra=()):
    return ", ".join([f"{p.type}{'' if p.type.endswith('*') else ' '}{p.name}" for p in function.parameters] + list(extra))


def api_ids(description):
    names = description.names
    unsupported = {n for f in description.functions if f.served == "unsupported" for n in f.names}
    ids = "".join(f"  {name},\n" for name in names)
    table = "".join(f'    "{name}",\n' for name in names)
    flags = "".join(f"    {'false' if name in unsupported else 'true'},  // {name}\n" for name in names)
    return f"""{NOTICE}// Numbers for the exported names of {description.library}, in alphabetical order. Both sides must have the same
// (control.capnp, Attach.apiNames); SessionHeader::unsupportedCalls is indexed by them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rouse::api {{

enum class ApiId : std::uint32_t {{
{ids}}};

inline constexpr std::size_t kApiNameCount = {len(names)};

inline constexpr std::array<std::string_view, kApiNameCount> kApiNames = {{
{table}}};

inline constexpr std::array<bool, kApiNameCount> kApiSupported = {{
{flags}}};

constexpr std::string_view apiName(ApiId id) {{ return kApiNames[static_cast<std::size_t>(id)]; }}

}}  // namespace rouse::api
"""


def implementations(description):
    lines = []
    concern = None
    for function in description.functions:
        if function.served == "unsupported":
            continue
        if function.concern != concern:
            concern = function.concern
            lines.append(f"\n// {concern}.cc\n")
        extra = ["cudaStream_t defaultStream"] if function.takes_default_stream else []
        separator = "" if function.returns.endswith("*") else " "
        lines.append(f"{function.returns}{separator}{function.name}({parameter_list(function, extra)});\n")
    return f"""{NOTICE}// What the entry points call once they have checked what the description says. Errors are returned, never recorded here.
#pragma once

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

namespace rouse::cudart::impl {{
{''.join(lines)}
}}  // namespace rouse::cudart::impl
"""


def entry_point(function, name):
    per_thread = name != function.name
    body = []
    if function.required:
        body.append(f"    if ({' || '.join(f'{r} == nullptr' for r in function.required)}) return cudaErrorInvalidValue;\n")
    arguments = []
    for p in function.parameters:
        if per_thread and p.type == "cudaStream_t":
            arguments.append(f"rouse::cudart::perThreadIfNull({p.name})")
        else:
            arguments.append(p.name)
    if function.takes_default_stream:
        arguments.append("cudaStreamPerThread" if per_thread else "cudaStreamLegacy")
    body.append(f"    return rouse::cudart::impl::{function.name}({', '.join(arguments)});\n")
    if function.returns == "cudaError_t":
        flags = [n for n, on in (("device", function.reaches_device), ("session", function.session),
                                       ("latched", function.latched), ("records", function.records), ("unsafe", function.unsafe)) if on]
        call = f"call<{' | '.join('Entry::' + f for f in flags) or 'Entry::none'}>"
        result = " -> cudaError_t"
    else:
        call = f"callPlain<{function.returns}>"
        result = f" -> {function.returns}"
    separator = "" if function.returns.endswith("*") else " "
    return (f"ROUSE_EXPORT {function.returns}{separator}{name}({parameter_list(function)}) {{\n"
            f"  return {call}([&](){result} {{\n{''.join(body)}  }});\n}}\n")


def entry_points(description):
    functions = [entry_point(f, name) for f in description.functions if f.served != "unsupported" for name in f.names]
    return f"""{NOTICE}#include "client-shim/cudart/entry.h"
#include "client-shim/cudart/implementations.h"

using rouse::cudart::call;
using rouse::cudart::callPlain;
namespace Entry = rouse::cudart::Entry;

extern "C" {{

{chr(10).join(functions)}
}}  // extern "C"
"""


def unsupported(description):
    """No parameters: the x86-64 and AArch64 C calling conventions leave their clean-up to the caller."""
    functions = []
    for function in description.functions:
        if function.served != "unsupported":
            continue
        for name in function.names:
            if function.returns == "void":
                functions.append(f"ROUSE_EXPORT void {name}(void) {{ refuse(ApiId::{name}); }}\n")
            elif function.returns == "cudaError_t":
                functions.append(f"ROUSE_EXPORT int {name}(void) {{ return refuse(ApiId::{name}); }}\n")
            else:
                raise api_description.DescriptionError(f"{name}: '{function.returns}' cannot say that it is unsupported")
    return f"""{NOTICE}#include "client-shim/cudart/export.h"
#include "client-shim/cudart/refuse.h"

using rouse::api::ApiId;
using rouse::cudart::refuse;

extern "C" {{

{''.join(functions)}
}}  // extern "C"
"""


def exports(description):
    names = "".join(f"    {name};\n" for name in description.names)
    return f"{description.library} {{\n  global:\n{names}  local:\n    *;\n}};\n"


def coverage(description):
    return [{"name": name, "served": f.served, "concern": f.concern}
            for f in description.functions for name in f.names]


def coverage_markdown(description):
    rows = coverage(description)
    counts = {s: sum(r["served"] == s for r in rows) for s in (*api_description.SERVED, "unsupported")}
    summary = ", ".join(f"{n} {s}" for s, n in counts.items())
    table = "".join(f"| `{r['name']}` | {r['served']} | {r['concern']} |\n" for r in sorted(rows, key=lambda r: r["name"]))
    return f"# {description.library}: {len(rows)} names\n\n{summary}\n\n| name | served | concern |\n|---|---|---|\n{table}"


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        description = api_description.read(arguments[0])
        outputs = {
            "schemas/api/api_ids.h": api_ids(description),
            "client-shim/cudart/implementations.h": implementations(description),
            "client-shim/cudart/entry_points.cc": entry_points(description),
            "client-shim/cudart/unsupported.cc": unsupported(description),
            "client-shim/cudart/exports.map": exports(description),
            "schemas/api/coverage.json": json.dumps({"library": description.library, "names": coverage(description)}, indent=1) + "\n",
            "schemas/api/coverage.md": coverage_markdown(description),
        }
    except (api_description.DescriptionError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for name, content in outputs.items():
        file = pathlib.Path(arguments[1]) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
