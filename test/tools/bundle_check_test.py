#!/usr/bin/env python3
"""What keeps a file from running on another machine is seen: by its text, and in files compiled here."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/packaging"))
import elf_needs  # noqa: E402

DYNAMIC = """
 0x0000000000000001 (NEEDED)             Shared library: [libcudart.so.13]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000001d (RUNPATH)            Library runpath: [$ORIGIN/../lib/rouse:/opt/llvm/lib]
"""
VERSIONS = """
Version symbols section '.gnu.version' contains 2 entries:
 Addr: 0x0000000000000400  Offset: 0x000400  Link: 6 (.dynsym)
  000:   0 (*local*)       2 (GLIBC_2.99)

Version needs section '.gnu.version_r' contains 1 entry:
  000000: Version: 1  File: libc.so.6  Cnt: 2
  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 3
  0x0020:   Name: GLIBC_2.34  Flags: none  Version: 2
  0x0030:   Name: GLIBCXX_3.4.30  Flags: none  Version: 4
"""


class Text(unittest.TestCase):
    def setUp(self):
        self.need = elf_needs.parse(DYNAMIC, VERSIONS)

    def test_what_is_read(self):
        self.assertEqual(self.need.libraries, ["libcudart.so.13", "libc.so.6"])
        self.assertEqual(self.need.search, ["$ORIGIN/../lib/rouse", "/opt/llvm/lib"])
        # By number, not by letter; only what is needed, and only the C library's.
        self.assertEqual(self.need.glibc, (2, 34))

    def test_a_library_of_the_machine_is_a_complaint(self):
        found = {"bin/x": elf_needs.Needs(["libc.so.6", "libLLVM.so.19.1"], [], (2, 34))}
        self.assertEqual(len(elf_needs.complaints(found, set())), 1)
        self.assertIn("libLLVM.so.19.1", elf_needs.complaints(found, set())[0])
        self.assertEqual(elf_needs.complaints(found, {"libLLVM.so.19.1"}), [])

    def test_a_path_of_the_machine_is_a_complaint(self):
        problems = elf_needs.complaints({"bin/x": self.need}, {"libcudart.so.13"})
        self.assertEqual(len(problems), 1)
        self.assertIn("/opt/llvm/lib", problems[0])

    def test_the_newest_of_several(self):
        found = {"a": elf_needs.Needs([], [], (2, 9)), "b": elf_needs.Needs([], [], (2, 34)), "c": elf_needs.Needs([], [], ())}
        self.assertEqual(elf_needs.newest(found), ((2, 34), "b"))
        self.assertEqual(elf_needs.newest({}), ((), None))


@unittest.skipUnless(shutil.which("c++") and shutil.which("readelf"), "needs a compiler and readelf")
class Files(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rouse-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "x.cc").write_text("#include <iostream>\nint main() { std::cout << 1; }\n")

    def compile(self, name, *flags):
        subprocess.run(["c++", str(self.folder / "x.cc"), "-o", str(self.folder / name), *flags], check=True)
        return {name: elf_needs.needs(self.folder / name)}

    def test_a_program_as_it_comes_needs_the_cxx_library(self):
        problems = elf_needs.complaints(self.compile("plain"), set())
        self.assertTrue(any("libstdc++.so.6" in problem for problem in problems), problems)

    def test_a_static_cxx_library_needs_nothing(self):
        found = self.compile("static", "-static-libstdc++", "-static-libgcc")
        self.assertEqual(elf_needs.complaints(found, set()), [])
        self.assertGreaterEqual(elf_needs.newest(found)[0], (2, 2))

    def test_a_path_in_a_file(self):
        found = self.compile("path", "-static-libstdc++", "-static-libgcc", f"-Wl,-rpath,{self.folder}")
        self.assertEqual(len(elf_needs.complaints(found, set())), 1)

    def test_which_files_are_looked_at(self):
        self.compile("plain")
        (self.folder / "link").symlink_to("plain")
        self.assertEqual([path.name for path in elf_needs.elf_files(self.folder)], ["plain"])


if __name__ == "__main__":
    unittest.main()
