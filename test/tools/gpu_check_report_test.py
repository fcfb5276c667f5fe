#!/usr/bin/env python3
"""The readable page of results: whole ones, unfinished ones, broken ones; and where results are written."""

import copy
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from gpu_check import report, results  # noqa: E402

WHOLE = {
    "schema": 1, "kind": "gpu-check", "dry_run": False, "began": "2026-11-21T18:00:00+00:00", "limit_s": 480, "rouse": "abc1234",
    "machine": {"cpu": "Some CPU", "cores": 16, "kernel": "6.1", "libc": "glibc 2.36", "python": "3.11"},
    "gpu": {"name": "NVIDIA H200", "memory_bytes": 1 << 37, "compute": "9.0", "driver_version": "13.0", "devices": 1},
    "promises": [{"name": "host to device", "bound": "≥ 0.95", "value": 0.91, "met": False},
                 {"name": "launches", "bound": "≤ 1.05", "value": None, "met": False}],
    "verdict": "failed",
    "steps": {
        "probe": {"title": "Probe", "status": "failed", "reason": "not measured: waits", "seconds": 20.1, "limit_s": 60, "data": {
            "device": {}, "measurements": [{"name": "copy host to device", "bytes": 64 << 20, "gb_per_s": 51.25, "samples": 30},
                                           {"name": "launch, the call", "us_p50": 1.5, "us_p99": 3.0, "samples": 200},
                                           {"name": "a call", "us_p50": 20100.0, "us_p99": 20200.0, "samples": 5, "waited": 4},
                                           {"name": "cuMemCreate", "bytes": 1 << 30, "skipped": "too little"},
                                           {"name": "waits", "error": "lost | gone"}]}},
        "programs": {"title": "Programs", "status": "failed", "reason": "1 failed", "seconds": 100, "limit_s": 170, "data": {
            "reference": "native", "runs": 2, "passed": 1, "failed": ["g/b"], "known_gaps": [], "not_run": ["o3/c"], "launch_heavy": ["a"],
            "unsupported_calls": {"cudaCreateTexture": 3},
            "programs": {"o3/a": {"native": None, "pool": None, "native_s": 0.5, "pool_s": 0.4, "ratio": 0.8, "timed_runs": 5},
                         "g/b": {"native": None, "pool": "exit code 7", "same_output": False}}}},
        "networks": {"title": "Networks", "status": "left out", "reason": "no PyTorch", "seconds": 1, "limit_s": 60, "data": None},
        "memory": {"title": "Memory", "status": "passed", "reason": None, "seconds": 1, "limit_s": 10,
                   "data": {"free_before_bytes": 1 << 30, "free_after_bytes": 1 << 30}},
    },
}


class Page(unittest.TestCase):
    def test_a_whole_result(self):
        page = report.markdown(WHOLE)
        for text in ("# NVIDIA H200, 2026-11-21: failed", "| Networks | left out | 1.0 s | no PyTorch |", "51.25 GB/s", "1.50 µs | 200 samples |", "20100.00 µs | 5 samples, the kernel was over after 4 |", "lost \\| gone",
                     "| host to device | ≥ 0.95 | 0.910 | no |", "| launches | ≤ 1.05 | not measured | no |", "failed: g/b: pool: exit code 7",
                     "not run: o3/c", "| o3/a (launch-heavy) | 0.500 s | 0.400 s | 0.80 | 5 |", "cudaCreateTexture (3)", "Free before: 1024 MiB"):
            self.assertIn(text, page)
        self.assertNotIn("dry run", page)

    def test_a_dry_run_says_so_first(self):
        data = {**WHOLE, "dry_run": True}
        self.assertIn("**A dry run: no GPU was involved.**", "\n".join(report.markdown(data).splitlines()[:4]))

    def test_any_step_may_be_missing_or_without_data(self):
        for name in WHOLE["steps"]:
            data = copy.deepcopy(WHOLE)
            data["steps"][name]["data"] = None
            report.markdown(data)
            del data["steps"][name]
            report.markdown(data)
        report.markdown({**WHOLE, "steps": {}, "gpu": {}, "promises": []})

    def test_data_of_another_shape_spoils_its_own_section_only(self):
        data = copy.deepcopy(WHOLE)
        data["steps"]["probe"]["data"] = {"output": "garbage"}
        page = report.markdown(data)
        self.assertIn("cannot be shown", page)
        self.assertIn("failed: g/b", page)


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rouse-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def result(self, dry_run=False):
        made = results.Results(self.folder, dry_run, 480, "abc")
        made.data["gpu"] = {"name": "NVIDIA H200 (NVL)"}
        return made

    def test_names(self):
        first, second = self.result(), self.result()
        first.write()
        second.write()
        self.assertRegex(first.path.name, r"^nvidia-h200-nvl-\d{4}-\d\d-\d\d\.json$")
        self.assertRegex(second.path.name, r"-2\.json$")  # nothing is written over
        self.assertEqual(sorted(p.suffix for p in self.folder.iterdir()), [".json", ".json", ".md", ".md"])

    def test_a_dry_run_keeps_away_from_real_results(self):
        self.result().write()
        with self.assertRaises(ValueError):
            self.result(dry_run=True)

    def test_a_dry_run_beside_others_of_its_kind(self):
        self.result(dry_run=True).write()
        again = self.result(dry_run=True)
        again.write()
        self.assertTrue(again.path.name.startswith("dry-run-"))
        self.assertTrue(json.loads(again.path.read_text())["dry_run"])

    def test_no_gpu_no_result(self):
        made = self.result()
        made.write()
        made.remove()
        self.assertFalse(self.folder.exists())


if __name__ == "__main__":
    unittest.main()
