#!/usr/bin/env python3
"""Generates the data plane's C++ from schemas/api/commands.toml into a folder of the build tree.

usage: commands.py COMMANDS_TOML OUTPUT_DIR LAYOUT_H...

LAYOUT_H: the headers that say by hand what else crosses the boundary; their content is part of the hash that both sides compare.
"""
import sys
from pathlib import Path

from wire import decoder, description, encoders, structs, text


def main() -> int:
    if len(sys.argv) < 4:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    source, output, *layouts = map(Path, sys.argv[1:])
    try:
        protocol = description.load(source, layouts)
    except description.DescriptionError as error:
        print(f"{source}: {error}", file=sys.stderr)
        return 1
    output.mkdir(parents=True, exist_ok=True)
    files = {
        "commands.h": structs.header(protocol),
        "encode.h": encoders.header(protocol),
        "decode.h": decoder.header(protocol),
        "decode.cc": decoder.source(protocol),
        "describe.h": text.describe_header(protocol),
        "describe.cc": text.describe_source(protocol),
        "mock.h": text.mock_header(protocol),
        "commands.json": text.reference(protocol),
    }
    for name, content in files.items():
        path = output / name
        # An unchanged file keeps its time, so that nothing that includes it is built again.
        if not path.exists() or path.read_text() != content:
            path.write_text(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
