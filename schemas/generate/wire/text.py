"""Commands as text: describe() for logs, the recording mock for tests, commands.json for the reference."""
import json

from .description import HANDLES, Protocol
from .structs import BANNER


def describe_signature(command) -> str:
    payload = f", std::span<const {command.payload.cpp}> {command.payload.name}" if command.payload else ""
    return f"std::string describe(const {command.name}& command{payload})"


def describe_header(protocol: Protocol) -> str:
    declarations = "".join(describe_signature(c) + ";\n" for c in protocol.commands)
    return f"""{BANNER}//
// One line of text for a command: name, fields, size of the payload. For logs and tests.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "schemas/wire/commands.h"

namespace rouse::wire {{

{declarations}
}}  // namespace rouse::wire
"""


def describe(command) -> str:
    body = f'  Line line("{command.name}");\n'
    for f in command.fields:
        if f.name == "reserved":
            continue
        verb = "hex" if f.type == "address" else "add"
        body += f'  line.{verb}("{f.name}", command.{f.name});\n'
    if command.payload:
        body += f'  line.payload("{command.payload.name}", {command.payload.name}.size_bytes());\n'
    return f"{describe_signature(command)} {{\n{body}  return std::move(line).text();\n}}\n"


def describe_source(protocol: Protocol) -> str:
    functions = "\n".join(describe(c) for c in protocol.commands)
    return f"""{BANNER}#include "schemas/wire/describe.h"

#include <utility>

#include "schemas/wire/text_line.h"

namespace rouse::wire {{

{functions}
}}  // namespace rouse::wire
"""


def mock_header(protocol: Protocol) -> str:
    handlers = ""
    for c in protocol.commands:
        if c.payload:
            handlers += (f"  void on(const {c.name}& command, std::span<const {c.payload.cpp}> payload) {{\n"
                         f"    record(describe(command, payload), &command, sizeof(command), std::as_bytes(payload));\n  }}\n")
        else:
            handlers += (f"  void on(const {c.name}& command) "
                         f"{{ record(describe(command), &command, sizeof(command), {{}}); }}\n")
    return f"""{BANNER}//
// A handler that only remembers what it was given: for tests of whoever sends commands.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schemas/wire/commands.h"
#include "schemas/wire/describe.h"

namespace rouse::wire {{

class RecordingHandler {{
 public:
  struct Entry {{
    Opcode opcode;
    std::string text;              // describe()
    std::vector<std::byte> fixed;  // header and fields
    std::vector<std::byte> payload;

    // The command's struct; its type must be the one that `opcode` names.
    template <class Command>
    Command as() const {{
      Command command;
      if (opcode == Command::kOpcode) std::memcpy(&command, fixed.data(), sizeof(command));
      return command;
    }}
  }};

  const std::vector<Entry>& entries() const {{ return entries_; }}
  void clear() {{ entries_.clear(); }}

{handlers}
 private:
  void record(std::string text, const void* command, std::size_t bytes, std::span<const std::byte> payload) {{
    const auto* first = static_cast<const std::byte*>(command);
    CommandHeader header;
    std::memcpy(&header, command, sizeof(header));
    entries_.push_back({{static_cast<Opcode>(header.opcode), std::move(text), {{first, first + bytes}},
                        {{payload.begin(), payload.end()}}}});
  }}

  std::vector<Entry> entries_;
}};

}}  // namespace rouse::wire
"""


def reference(protocol: Protocol) -> str:
    def entry(c):
        out = {"name": c.name, "opcode": c.opcode, "doc": c.doc, "bytes": c.bytes, "fields": [
            {"name": f.name, "type": f.type, "handle": f.type in HANDLES, "offset": f.offset, "checks": f.checks, "doc": f.doc}
            for f in c.fields]}
        if c.payload:
            out["payload"] = vars(c.payload)
        return out

    return json.dumps({"version": protocol.version, "wireHash": f"{protocol.hash:016x}",
                       "commands": [entry(c) for c in protocol.commands]}, indent=2) + "\n"
