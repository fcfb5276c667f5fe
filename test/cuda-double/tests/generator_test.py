#!/usr/bin/env python3
"""A wrong functions.toml is refused with file, line and what is wrong; a good one gives what it should.

    generator_test.py CUDA_H
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

GENERATOR = pathlib.Path(__file__).parents[3] / "schemas/generate/driver.py"
CUDA_H = sys.argv.pop()
HEAD = 'version = 1\nlibrary = "libcuda.so.1"\nminimum_driver = 13000\n[[group]]\nname = "memory"\nfunctions = [\n'
GOOD = '  {name = "cuMemRelease", needs = "driver"},\n'


def generate(text):
    with tempfile.TemporaryDirectory() as folder:
        description = pathlib.Path(folder, "bad.toml")
        description.write_text(text, encoding="utf-8")
        run = subprocess.run([sys.executable, "-B", GENERATOR, description.name, CUDA_H, "out"], cwd=folder,
                             capture_output=True, text=True, check=False)
        written = {str(p.relative_to(folder)): p.read_text(encoding="utf-8")
                   for p in pathlib.Path(folder, "out").rglob("*") if p.is_file()}
        return run, written


class Generator(unittest.TestCase):
    def refuses(self, line, message, where=8):
        run, written = generate(HEAD + GOOD + line + "\n]\n")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertTrue(run.stderr.startswith(f"error: bad.toml:{where}: "), run.stderr)
        self.assertIn(message, run.stderr)
        self.assertEqual(written, {})

    def test_names_the_version_that_is_current(self):
        self.refuses('  {name = "cuMemHostRegister"},', "cuda.h exports it as 'cuMemHostRegister_v2'")
        self.refuses('  {name = "cuStreamWaitValue64"},', "cuda.h exports it as 'cuStreamWaitValue64_v2'")
        self.refuses('  {name = "cuEventElapsedTime"},', "cuda.h exports it as 'cuEventElapsedTime_v2'")

    def test_names_what_is_wrong(self):
        self.refuses('  {name = "cuMemNothing"},', "cuda.h does not declare it")
        self.refuses('  {name = "cuMemMap", needs = "luck"},', "needs = 'luck'")
        self.refuses('  {name = "cuMemMap", need = "driver"},', "unknown key 'need'")
        self.refuses('  {name = "cuMemMap", required = ["size"]},', "required = 'size'")
        self.refuses('  {name = "cuMemRelease"},', "listed twice", where=7)

    def test_names_the_group(self):
        run, _ = generate(HEAD.replace('"memory"', '"me mory"') + GOOD + "]\n")
        self.assertEqual(run.returncode, 1)
        self.assertIn("'me mory' is not a file name", run.stderr)

    def test_makes_table_and_entry_points(self):
        run, written = generate(HEAD + GOOD + '  {name = "cuMemGetInfo_v2", required = ["free"]},\n]\n')
        self.assertEqual(run.returncode, 0, run.stderr)
        table = written["out/server/device/cuda/driver/driver_table.h"]
        self.assertIn("decltype(&::cuMemGetInfo) cuMemGetInfo = nullptr;", table)
        self.assertIn('visit("cuMemGetInfo_v2", driver.cuMemGetInfo);', table)
        entries = written["out/test/cuda-double/entry_points.cc"]
        self.assertIn('Call call("cuMemGetInfo_v2", Needs::context);', entries)
        self.assertIn('call.required({Required{"free", free}});', entries)
        self.assertIn("    cuMemGetInfo_v2;\n", written["out/test/cuda-double/exports.map"])


if __name__ == "__main__":
    unittest.main()
