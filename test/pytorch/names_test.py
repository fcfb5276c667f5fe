#!/usr/bin/env python3
"""What PyTorch's wheels import from CUDA's libraries (names/*.txt, tools/imported-names) is exported by the pool's, at the same version nodes:
names_test.py NM LIBRARY_FOLDER.

Wheels of CUDA 12 ask for other libraries (libcudart.so.12), which the pool does not have; their names are compared all the same."""

import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
NM, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
# CUDA 13's names for what CUDA 12 exported twice.
RENAMED = {"cudaGetDeviceProperties_v2": "cudaGetDeviceProperties", "cudaStreamGetCaptureInfo_v2": "cudaStreamGetCaptureInfo"}
NEWER = {"libcudart.so.12": "libcudart.so.13", "libcublas.so.12": "libcublas.so.13", "libcublasLt.so.12": "libcublasLt.so.13"}
LIBRARIES = {"libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcuda.so.1", "libcudnn.so.9", "libcufft.so.12", "libcurand.so.10",
             "libcusparse.so.12",
             "libcusolver.so.12"}


def exports(library):
    listing = subprocess.run([NM, "-D", "--defined-only", "--with-symbol-versions", str(library)], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listing.splitlines()}


class Names(unittest.TestCase):
    def test_every_imported_name_is_exported(self):
        lists = sorted((HERE / "names").glob("*.txt"))
        self.assertGreaterEqual(len(lists), 3)
        exported = {name: exports(FOLDER / name) for name in LIBRARIES}
        compared = 0
        for file in lists:
            for line in file.read_text().splitlines()[1:]:
                library, name = line.split()
                name, library = RENAMED.get(name, name) if library in NEWER else name, NEWER.get(library, library)
                self.assertIn(library, LIBRARIES, file.name)
                compared += 1
                symbol = name if library == "libcuda.so.1" else f"{name}@@{library}"
                self.assertIn(symbol, exported[library], f"torch {file.stem} imports it")
        self.assertGreater(compared, 1100)

    def test_lists_are_in_order(self):
        for file in (HERE / "names").glob("*.txt"):
            head, *lines = file.read_text().splitlines()
            self.assertIn(f"torch {file.stem} ", head)
            self.assertEqual(lines, sorted(set(lines)), file.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
