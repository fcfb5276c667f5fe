#!/usr/bin/env python3
"""`rouse coverage` says what the descriptions say: coverage_test.py ROUSE."""

import json
import pathlib
import re
import subprocess
import sys
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUSE = sys.argv.pop(1)


def rouse(*arguments):
    return subprocess.run([ROUSE, "coverage", *arguments], capture_output=True, text=True, timeout=30)


def described(file):
    """Exported names, and those of them that are served."""
    tables = tomllib.loads((ROOT / "schemas/api" / file).read_text())
    exported, served = set(), set()
    for kind in ("group", "unsupported"):
        for group in tables.get(kind, []):
            names = set(group.get("names", []))
            for function in group.get("functions", []):
                name = re.search(r"(\w+)\(", function["c"])[1]
                names.add(name)
                names |= {f"{name}_{function['variant']}"} if "variant" in function else set()
                names |= {f"{name}_64"} if function.get("wide") else set()
            exported |= names
            served |= names if kind == "group" else set()
    return exported, served


class Coverage(unittest.TestCase):
    def test_json_is_what_the_descriptions_say(self):
        report = json.loads(rouse("--json").stdout)
        self.assertEqual(report["schema"], 1)
        tested = set((ROOT / "schemas/api/tested.txt").read_text().splitlines()[1:])
        files = {"libcudart.so.13": "cudart.toml", "libcublas.so.13": "cublas.toml", "libcublasLt.so.13": "cublaslt.toml",
                 "libcudnn.so.9": "cudnn.toml", "libcufft.so.12": "cufft.toml",
                 "libcurand.so.10": "curand.toml", "libcusparse.so.12": "cusparse.toml", "libcusolver.so.12": "cusolver.toml", "libnvidia-ml.so.1": "nvml.toml", "libcuda.so.1": "cuda.toml"}
        self.assertEqual([library["library"] for library in report["libraries"]], list(files))
        for library in report["libraries"]:
            exported, served = described(files[library["library"]])
            self.assertEqual({n["name"] for n in library["names"]}, exported)
            self.assertEqual({n["name"] for n in library["names"] if n["implemented"]}, served)
            self.assertEqual({n["name"] for n in library["names"] if n["tested"]}, served & tested)
            self.assertEqual((library["exported"], library["implemented"], library["tested"]), (len(exported), len(served), len(served & tested)))

    def test_markdown(self):
        lines = rouse().stdout.splitlines()
        self.assertEqual(lines[0], "| library | exported | implemented | tested |")
        self.assertEqual(len(lines), 2 + len(json.loads(rouse("--json").stdout)["libraries"]))
        names = rouse("--names", "libcublas.so.13").stdout
        self.assertIn("| `cublasSgemm_v2` | yes | yes |", names)
        self.assertIn("| `cublasXtCgemm` | no | no |", names)
        self.assertNotIn("cudaMalloc", names)

    def test_a_library_that_is_none(self):
        answer = rouse("libcutensor.so.2")
        self.assertEqual(answer.returncode, 2)
        self.assertIn("libcublasLt.so.13", answer.stderr)


if __name__ == "__main__":
    unittest.main()
