#!/usr/bin/env python3
"""The completion of rouse for bash offers what there is, and runs nothing of it."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/rouse/completion/rouse.bash"
# What anybody who may attach can call a function.
HOSTILE = "$(touch${IFS}$MARK)"
PS = f"""SESSION  NAME  PID
1  resnet  7
2  {HOSTILE}  8
3  `touch${{IFS}}$MARK`  9

FUNCTION  STATE
bert  ready
"""
STATUS = """roused 0.1.0

GPU  STATE
0    serving
1    serving

GPU  UUID
0    GPU-1
"""


class Completion(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.folder.name)
        self.mark = path / "mark"
        (path / "ps").write_text(PS)
        (path / "status").write_text(STATUS)
        rouse = path / "rouse"
        rouse.write_text(f'#!/bin/sh\ncat "{path}/$1"\n')
        rouse.chmod(0o755)

    def tearDown(self):
        self.folder.cleanup()

    def complete(self, *words):
        script = f'source "{SCRIPT}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rouse; printf "%s\\n" "${{COMPREPLY[@]}}"'
        environment = {**os.environ, "PATH": f"{self.folder.name}:{os.environ['PATH']}", "MARK": str(self.mark)}
        outcome = subprocess.run(["bash", "-c", script, "bash", "rouse", *words], capture_output=True, text=True, timeout=30, env=environment)
        self.assertEqual(outcome.stderr, "")
        self.assertFalse(self.mark.exists(), "a function's name was run")
        return [line for line in outcome.stdout.splitlines() if line]

    def test_names_are_offered_as_they_are(self):
        self.assertEqual(self.complete("load", ""), ["resnet", HOSTILE, "`touch${IFS}$MARK`"])
        self.assertEqual(self.complete("migrate", "re"), ["resnet"])
        self.assertEqual(self.complete("stop", ""), ["bert"])
        self.assertEqual(self.complete("migrate", "resnet", ""), ["0", "1"])

    def test_verbs_and_flags(self):
        self.assertEqual(self.complete("sta"), ["status", "start"])
        self.assertIn("--json", self.complete("status", "--"))


if __name__ == "__main__":
    unittest.main()
