"""What the command generator refuses, and what changes the wire hash."""
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "schemas" / "generate"))
sys.dont_write_bytecode = True
from wire import decoder, description, encoders, structs, text  # noqa: E402

LAYOUT = ROOT / "schemas" / "wire" / "layout.h"


def load(toml, layout=None):
    with tempfile.TemporaryDirectory() as folder:
        source, header = Path(folder, "commands.toml"), Path(folder, "layout.h")
        source.write_text(toml)
        header.write_text(layout or LAYOUT.read_text())
        return description.load(source, [header])


def command(fields, more=""):
    return f'version = 1\n[[command]]\nname = "Test"\ndoc = "d"\nfields = [{fields}]\n{more}\n'


class Refusals(unittest.TestCase):
    def refused(self, toml, message):
        with self.assertRaises(description.DescriptionError) as caught:
            load(toml)
        self.assertIn(message, str(caught.exception))

    def test_padding_holes(self):
        self.refused(command('{name = "a", type = "u32"}, {name = "b", type = "u64"}'), "padding hole before it")
        self.refused(command('{name = "a", type = "u64"}, {name = "b", type = "u32"}'), "hole at the end")
        self.refused(command('{name = "a", type = "dim3"}, {name = "b", type = "address", bytes = "a"}'), "padding hole")

    def test_names(self):
        self.refused(command('{name = "A", type = "u32"}'), "camelCase")
        self.refused(command('{name = "header", type = "u32"}'), "taken by the command's header")
        self.refused(command('{name = "a", type = "u32"}, {name = "a", type = "u32"}'), "described twice")
        self.refused(command("") + '[[command]]\nname = "Test"\ndoc = "d"\n', "described twice")

    def test_types_and_checks(self):
        self.refused(command('{name = "a", type = "u16"}'), "'u16' is not one of")
        self.refused(command('{name = "a", type = "u32", maximum = 3}'), "no checks ['maximum']")
        self.refused(command('{name = "a", type = "stream", max = 3}'), "no checks ['max']")
        self.refused(command('{name = "a", type = "u64", align = 3}'), "not a power of two")
        self.refused(command('{name = "a", type = "u32", max = 4294967296}'), "outside what a u32 holds")
        self.refused(command('{name = "a", type = "u32", min = 5, max = 4}'), "min = 5 is above max = 4")
        self.refused(command('{name = "a", type = "dim3", max = [1, 2]}'), "one number or three")
        self.refused(command("", 'sync = "yes"'), "unknown keys ['sync']")
        self.refused('version = 1\n[[command]]\nname = "Test"\n', "no doc")

    def test_addresses(self):
        def address(checks, others=""):
            return command(f'{{name = "at", type = "address", {checks}}}, {{name = "n", type = "u64"}}{others}')

        self.refused(address('bytes = "n"'), "access is")
        self.refused(address('access = "read"'), "either bytes or extent")
        self.refused(address('access = "read", bytes = "m"'), "'m' is no unsigned field")
        self.refused(address('access = "read", bytes = "payload"'), "no payload")
        self.refused(address('access = "read", bytes = "n", in = "cloud"'), "in is")
        self.refused(address('access = "read", extent = "at"'), "needs the u64 field atPitch")
        fields = ", ".join(f'{{name = "{n}", type = "u64"}}' for n in ("atPitch", "atSlicePitch", "width", "height", "depth"))
        self.refused(address('access = "read", extent = "at"', ", " + fields), "needs width with min = 1")

    def test_payloads(self):
        def payload(text):
            return command('{name = "a", type = "u32"}, {name = "b", type = "u32"}', f"payload = {{{text}}}")

        self.refused(payload('name = "p", min = 0, max = 65536'), "longer than 65536 bytes")
        self.refused(payload('name = "a", min = 0, max = 16'), "a field has this name")
        self.refused(payload('name = "p", min = 0, max = 16, element = "u16"'), "'u16' is not one of")
        self.refused(payload('name = "p", min = 0, max = 16, unit = "u64"'), "unknown keys ['unit']")
        self.refused(payload('name = "p", min = 9, max = 8'), "min = 9 is above max = 8")
        self.refused(payload('name = "p", min = 0, max = 9, element = "u64"'), "whole elements")
        self.refused(command('{name = "a", type = "u32"}, {name = "b", type = "dim3"}, {name = "c", type = "u32"}, '
                             '{name = "d", type = "u32"}, {name = "e", type = "u32"}',
                             'payload = {name = "p", min = 0, max = 16, element = "u64"}'), "not aligned for u64")


class Hash(unittest.TestCase):
    BASE = command('{name = "a", type = "u64", max = 5}')

    def test_what_travels_changes_it(self):
        base = load(self.BASE).hash
        for other in (command('{name = "a", type = "u64", max = 6}'), command('{name = "b", type = "u64", max = 5}'),
                      self.BASE.replace("version = 1", "version = 2"), self.BASE.replace("Test", "Other")):
            self.assertNotEqual(base, load(other).hash)
        layout = LAYOUT.read_text()
        self.assertNotEqual(base, load(self.BASE, layout.replace("kRingBytes = std::size_t{1}", "kRingBytes = std::size_t{2}")).hash)

    def test_words_do_not(self):
        base = load(self.BASE).hash
        self.assertEqual(base, load(self.BASE.replace('doc = "d"', 'doc = "other words"') + "# comment\n").hash)
        self.assertEqual(base, load(self.BASE, LAYOUT.read_text() + "\n// another comment\n").hash)

    def test_fits_64_bits(self):
        self.assertLess(load(self.BASE).hash, 1 << 64)


class Output(unittest.TestCase):
    def test_every_command_and_field_is_in_every_file(self):
        protocol = description.load(ROOT / "schemas" / "api" / "commands.toml", [LAYOUT])
        self.assertGreaterEqual(len(protocol.commands), 21)
        for file in (structs.header(protocol), encoders.header(protocol), decoder.header(protocol), decoder.source(protocol),
                     text.describe_source(protocol), text.mock_header(protocol), text.reference(protocol)):
            for c in protocol.commands:
                self.assertIn(c.name, file)
        reference = text.reference(protocol)
        for c in protocol.commands:
            for f in c.fields:
                self.assertIn(f'"name": "{f.name}"', reference)

    def test_same_input_same_output(self):
        protocols = [description.load(ROOT / "schemas" / "api" / "commands.toml", [LAYOUT]) for _ in range(2)]
        self.assertEqual(*[structs.header(p) + decoder.source(p) for p in protocols])


if __name__ == "__main__":
    unittest.main()
