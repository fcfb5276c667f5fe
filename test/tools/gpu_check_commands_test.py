#!/usr/bin/env python3
"""What gpu-check asks of rouse-bench is what that takes: a GPU is too rare to learn there that an option is not known."""

import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from gpu_check import steps  # noqa: E402
from gpu_check.place import Place  # noqa: E402

BENCH = pathlib.Path(sys.argv.pop(1))


class Results:
    data = {"steps": {}}


class Commands(unittest.TestCase):
    def test_options_are_known(self):
        context = steps.Context(Place(BENCH.parents[1]), True, {})
        seen = set()
        for step in steps.all_steps(Results()):
            if not step.title.startswith("rouse-bench "):
                continue
            command = step.command(context, 60)
            self.assertEqual(command[0], str(BENCH))
            asked = [word for word in command if word.startswith("--")]
            known = subprocess.run([*command[:2], "--help"], capture_output=True, text=True, timeout=20, check=True).stdout.split()
            known = {word.split(",")[-1] for word in known}
            self.assertEqual([option for option in asked if option not in known], [], step.title)
            seen.add(command[1])
        self.assertEqual(seen, {"remoting", "swap", "serve"})


if __name__ == "__main__":
    unittest.main()
