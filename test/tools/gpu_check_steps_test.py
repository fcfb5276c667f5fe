#!/usr/bin/env python3
"""gpu-check with steps that hang, fail, print garbage or leave processes behind: the others' results are kept, nothing is left running."""

import contextlib
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from gpu_check import check, conformance, limits, networks, programs, promises, report, results, steps  # noqa: E402
from gpu_check.place import Place  # noqa: E402

limits.adopt_orphans()
GOOD = 'echo \'{"figure": 1}\''


def fake(name, script, seconds=10.0, read=None):
    def plain(context, outcome):
        problem = steps.ended(outcome)
        return steps.Reading("failed" if problem else "passed", problem, json.loads(outcome.stdout) if outcome.stdout else None)
    return steps.Step(name, f"Step {name}", seconds, lambda context, limit: ["bash", "-c", script], read or plain)


def running(mark):
    """Processes whose command line has `mark`, this test's own way of knowing its children."""
    return subprocess.run(["pgrep", "-f", mark], capture_output=True, text=True).stdout.split()


class Steps(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rouse-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.mark = f"31{os.getpid()}"  # as seconds of a sleep

    def run_steps(self, *list_of_steps, limit=30.0):
        result = results.Results(self.folder, True, limit, "test")
        check.check(list(list_of_steps), steps.Context(Place(), True, dict(os.environ)), result, limit, lambda text: None)
        written = json.loads(result.path.read_text())
        self.assertEqual(written, result.data)
        self.assertIn(written["verdict"], result.path.with_suffix(".md").read_text())
        return written

    def test_all_pass(self):
        written = self.run_steps(fake("a", GOOD), fake("b", GOOD))
        self.assertEqual(written["verdict"], "passed")
        self.assertEqual(written["steps"]["b"]["data"], {"figure": 1})

    def test_a_failing_step_fails_the_check_and_nothing_else(self):
        written = self.run_steps(fake("a", GOOD), fake("b", f"{GOOD}; echo broken >&2; exit 9"), fake("c", GOOD))
        self.assertEqual([s["status"] for s in written["steps"].values()], ["passed", "failed", "passed"])
        self.assertEqual(written["steps"]["b"]["reason"], "exit code 9: broken")
        self.assertEqual(written["steps"]["b"]["data"], {"figure": 1})
        self.assertEqual(written["verdict"], "failed")

    def test_garbage(self):
        written = self.run_steps(fake("a", "head -c 300000 /dev/urandom"), fake("b", "echo '[1,'"), fake("c", GOOD))
        for name in "ab":
            self.assertEqual(written["steps"][name]["status"], "failed")
            self.assertIn("not understood", written["steps"][name]["reason"])
        self.assertEqual(written["steps"]["c"]["status"], "passed")

    def test_endless_output_ends_and_is_not_kept(self):
        kept = limits.run(["bash", "-c", "yes rouse"], 1.5)
        self.assertTrue(kept.timed_out)
        self.assertLessEqual(len(kept.stdout), limits.KEPT_BYTES + (1 << 16))

    def test_a_hanging_step_is_ended_with_all_it_started(self):
        # A child in a session of its own, which ignores SIGTERM, as a daemon that hangs would.
        script = f"setsid bash -c 'trap \"\" TERM; while :; do sleep {self.mark}; done' & {GOOD}; sleep {self.mark}"
        began = time.monotonic()
        written = self.run_steps(fake("a", script, seconds=3), fake("b", GOOD, seconds=9), limit=12.0)
        self.assertLess(time.monotonic() - began, 12)
        self.assertEqual(written["steps"]["a"]["status"], "timed out")
        self.assertEqual(written["steps"]["a"]["data"], {"figure": 1})
        self.assertEqual(written["steps"]["b"]["status"], "passed")
        self.assertEqual(running(f"sleep {self.mark}"), [])

    def test_what_a_step_leaves_behind_is_ended_and_counted(self):
        written = self.run_steps(fake("a", f"setsid sleep {self.mark} >/dev/null 2>&1 & disown; {GOOD}"))
        self.assertEqual(written["steps"]["a"]["status"], "passed")
        self.assertEqual(written["steps"]["a"]["left_behind"], 1)
        self.assertEqual(running(f"sleep {self.mark}"), [])

    def test_a_step_killed_by_a_signal(self):
        written = self.run_steps(fake("a", "kill -SEGV $$"))
        self.assertIn("signal 11", written["steps"]["a"]["reason"])

    def test_a_command_that_is_not_there_and_a_bug_in_a_step(self):
        def bug(context, limit):
            raise ZeroDivisionError("oh")
        written = self.run_steps(steps.Step("a", "A", 5, lambda c, l: ["/nonexistent/command"], None),
                                 steps.Step("b", "B", 5, bug, None), fake("c", GOOD))
        self.assertEqual([s["status"] for s in written["steps"].values()], ["failed", "failed", "passed"])

    def test_left_out_is_no_failure_and_says_why(self):
        def absent(context, limit):
            raise steps.LeftOut("not here")
        written = self.run_steps(steps.Step("a", "A", 5, absent, None))
        self.assertEqual((written["verdict"], written["steps"]["a"]["status"], written["steps"]["a"]["reason"]), ("passed", "left out", "not here"))

    def test_time_that_one_step_leaves_goes_to_later_ones(self):
        written = self.run_steps(fake("a", GOOD, seconds=10), fake("b", "sleep 2.5; " + GOOD, seconds=1), limit=15.0)
        self.assertEqual(written["steps"]["b"]["status"], "passed")

    def test_the_steps_of_a_check_have_no_more_time_than_there_is(self):
        every = steps.all_steps(types.SimpleNamespace(data={"steps": {}}))
        self.assertLessEqual(sum(step.seconds for step in every), steps.CHECK_SECONDS - check.RESERVE_SECONDS)

    def test_some_steps_only(self):
        result = results.Results(self.folder, True, 30.0, "test")
        check.check([fake("z", GOOD), fake("a", "exit 1"), fake("b", GOOD)], steps.Context(Place(), True, dict(os.environ)), result, 30.0, lambda text: None, only=["z", "b"])
        self.assertEqual({name: step["status"] for name, step in result.data["steps"].items()}, {"a": "left out", "z": "passed", "b": "passed"})
        self.assertEqual(result.data["steps"]["a"]["reason"], "not asked for")
        self.assertEqual(result.data["verdict"], "incomplete")

    def test_no_gpu_ends_the_check(self):
        written = self.run_steps(fake("gpu", "echo 'rouse-probe: no CUDA driver' >&2; exit 3"), fake("b", GOOD))
        self.assertEqual(list(written["steps"]), ["gpu"])

    def test_sigterm_keeps_what_was_found(self):
        script = f"""
import os, sys
sys.path[:0] = [{str(ROOT / "tools")!r}, {str(ROOT / "test/tools")!r}]
from gpu_check import check, limits, results, steps
from gpu_check.place import Place
from gpu_check_steps_test import fake, GOOD
limits.adopt_orphans()
check.on_signals()
result = results.Results({str(self.folder)!r}, True, 60, "test")
context = steps.Context(Place(), True, dict(os.environ))
try:
    check.check([fake("a", GOOD), fake("b", "setsid sleep {self.mark} & sleep {self.mark}"), fake("c", GOOD)], context, result, 60, print)
except check.Interrupted as interruption:
    sys.exit(128 + interruption.number)
"""
        process = subprocess.Popen([sys.executable, "-u", "-c", script], stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            if line.startswith("Step b"):
                break
        deadline = time.monotonic() + 10
        while len(running(f"sleep {self.mark}")) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        process.stdout.close()
        self.assertEqual(process.wait(20), 128 + signal.SIGTERM)
        written = json.loads(next(self.folder.glob("*.json")).read_text())
        self.assertEqual([s["status"] for s in written["steps"].values()], ["passed", "interrupted", "not run"])
        self.assertEqual(written["verdict"], "failed")
        self.assertEqual(running(f"sleep {self.mark}"), [])


class Readings(unittest.TestCase):
    """How the real steps read what they may be given."""

    def context(self):
        return steps.Context(Place(), True, {})

    def outcome(self, stdout="", code=0, stderr="", timed_out=False):
        return limits.Outcome(code, 1.0, timed_out, stdout, stderr)

    def test_a_line_cut_short_by_a_kill(self):
        self.assertEqual(steps.json_lines('{"a": 1}\n{"b"'), [{"a": 1}])
        with self.assertRaises(ValueError):
            steps.json_lines('{"a": 1}\n{"b"\n')

    def test_probe(self):
        good = '{"name": "GPU"}\n{"name": "copy host to device", "bytes": 4096, "gb_per_s": 1.0, "samples": 3}\n'
        self.assertEqual(steps.probe_read(self.context(), self.outcome(good)).status, "passed")
        bad = steps.probe_read(self.context(), self.outcome(good + '{"name": "waits", "error": "lost"}\n', 1))
        self.assertEqual((bad.status, len(bad.data["measurements"])), ("failed", 2))
        self.assertEqual(steps.probe_read(self.context(), self.outcome('{"name": "GPU"}\n')).status, "failed")

    def conformance(self, *results, **how):
        lines = [{"line": "begin", "cases": ["one", "two"]}, *({"line": "case", "case": c, "result": r, "reason": "why"} for c, r in results)]
        return steps.conformance_read(self.context(), self.outcome("".join(json.dumps(line) + "\n" for line in lines), **how))

    def test_conformance(self):
        good = self.conformance(("one", "passed"), ("two", "left out"))
        self.assertEqual((good.status, good.data["passed"], good.data["left_out"]), ("passed", 1, ["two"]))
        bad = self.conformance(("one", "failed"), ("two", "passed"))
        self.assertEqual((bad.status, bad.data["failed"]), ("failed", {"one": "why"}))
        cut = self.conformance(("one", "passed"), code=-9, timed_out=True)
        self.assertEqual((cut.status, cut.data["passed"], cut.data["not_run"]), ("failed", 1, ["two"]))
        self.assertEqual(self.conformance(("one", "passed")).status, "failed")
        self.assertEqual(self.conformance(("one", "left out"), ("two", "left out")).status, "failed")
        self.assertEqual(steps.conformance_read(self.context(), self.outcome("")).status, "failed")

    def test_a_case_in_a_process_of_its_own(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rouse-test-"))
        self.addCleanup(shutil.rmtree, folder)
        program = folder / "suite"
        def case(script, name="a, b"):
            program.write_text(f"#!/bin/bash\n{script}\n")
            program.chmod(0o755)
            return conformance.run_case(program, name, dict(os.environ), 1.0)
        self.assertEqual(case('[ "$1" = "a\\\\, b" ] || exit 1')[0], "passed")
        self.assertEqual(case("echo 'x.cc:3: FAILED:'; echo CHECK; exit 1"), ("failed", "x.cc:3: FAILED: CHECK"))
        self.assertEqual(case("sleep 5")[0], "failed")
        self.assertEqual(case("kill -SEGV $$")[0], "failed")
        self.assertEqual(case("echo 'No test cases matched'")[0], "failed")
        self.assertEqual(case("echo 'warning: left out: no such back end'")[0], "left out")

    def programs(self, *compared):
        lines = [{"line": "begin", "reference": "native", "work": ["o3/a", "o3/b"]}, *compared]
        return steps.programs_read(self.context(), self.outcome("".join(json.dumps(line) + "\n" for line in lines)))

    def compared(self, name, **other):
        return {"line": "compared", "program": name, "native": None, "pool": None, "same_output": True, "first_native_s": 0.1,
                "first_pool_s": 0.1, "gap": None, **other}

    def test_programs(self):
        self.assertEqual(self.programs(self.compared("o3/a"), self.compared("o3/b")).status, "passed")
        for broken in ({"pool": "exit code 1"}, {"native": "exit code 1"}, {"same_output": False}):
            reading = self.programs(self.compared("o3/a"), self.compared("o3/b", **broken))
            self.assertEqual((reading.status, reading.data["failed"]), ("failed", ["o3/b"]))
        missing = self.programs(self.compared("o3/a"))
        self.assertEqual((missing.status, missing.data["not_run"]), ("failed", ["o3/b"]))
        gap = self.programs(self.compared("o3/a"), self.compared("o3/b", pool="exit code 1", gap="textures"))
        self.assertEqual((gap.status, gap.data["known_gaps"]), ("passed", ["o3/b"]))

    def test_a_variant_that_runs_natively_only_where_it_failed(self):
        class Runner:
            def __init__(self, **results):
                self.results, self.asked = results, []

            def run(self, program, variant, where, limit):
                self.asked.append(where)
                return self.results[where]

        program = types.SimpleNamespace(name="a", timeout=10, faults=False, gap=None, cuda_gap=None)

        def compared(variant, **results):
            runner, printed = Runner(**results), io.StringIO()
            with contextlib.redirect_stdout(printed):
                good = programs.compare(runner, program, variant, time.monotonic() + 20, 1)
            return good, runner.asked, json.loads(printed.getvalue())

        fine, broken = (None, "PASS\n", 0.5), ("exit code 1", "oh\n", 0.5)
        good, asked, line = compared("o3", native=fine, pool=fine)
        self.assertEqual((good, asked, line["same_output"], line["first_native_s"]), (True, ["native", "pool"], True, 0.5))
        good, asked, line = compared("g", native=fine, pool=fine)
        self.assertEqual((good, asked, line["same_output"], line["first_native_s"]), (True, ["pool"], None, None))
        reading = self.programs(self.compared("o3/a"), line | {"program": "o3/b"})
        self.assertEqual((reading.status, reading.data["passed"], reading.data["runs"], reading.data["compared"]), ("passed", 2, 2, 1))
        self.assertIn("2 of 2 passed; 1 compared with: native, 1 ran through the pool alone.", report._programs(reading.data | {"unsupported_calls": {}})[0])
        good, asked, line = compared("g", native=fine, pool=broken)
        self.assertEqual((good, asked, line["native"], line["pool"], line["same_output"]), (False, ["pool", "native"], None, "exit code 1", False))
        self.assertEqual(self.programs(self.compared("o3/a"), line | {"program": "o3/b"}).data["failed"], ["o3/b"])

    def test_why_a_program_failed(self):
        self.assertEqual(programs.said("one\n/home/x/rouse/test/programs/a.cu:9: not so: b\n2\nc[3] is 1, should be 2\n", ""),
                         ": test/programs/a.cu:9: not so: b | c[3] is 1, should be 2")
        self.assertEqual(programs.said("1\n\n2\n3\n4\n", "lost\nmore\n"), ": 1 | 2 | 3 (lost)")
        self.assertEqual(programs.said("", ""), "")

    def test_where_outputs_differ(self):
        self.assertIsNone(programs.difference(["a"], ["a"]))
        self.assertEqual(programs.difference(["a", "b"], ["a"]), {"line": 2, "native": "b", "pool": None})
        reading = self.programs(self.compared("o3/a"), self.compared("o3/b", same_output=False, difference=programs.difference(["5"], ["6"])))
        self.assertIn("- failed: o3/b: output differs from the native one in line 1: '6', natively '5'", report._programs(reading.data | {"unsupported_calls": {}}))

    def test_a_run_tells_what_the_program_printed(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rouse-test-"))
        self.addCleanup(shutil.rmtree, folder)
        place = Place(folder)
        (place.programs / "o3").mkdir(parents=True)
        source, binary = folder / "odd.cu", place.programs / "o3/odd"
        source.write_text("// expect-stdout: 7\n")
        binary.write_text("#!/bin/sh\necho /somewhere/test/programs/odd.cu:3: not so: x\necho oh >&2\nexit 1\n")
        binary.chmod(0o755)
        rules = programs.load_expectations(Place().run_programs)
        runner = programs.Runner(rules, place, 1, None, None, [])
        self.assertEqual(runner.run(rules.Program(source), "o3", "native", 10)[0], "exit code 1: test/programs/odd.cu:3: not so: x (oh)")
        binary.write_text("#!/bin/sh\necho 7\n")
        self.assertIsNone(runner.run(rules.Program(source), "o3", "native", 10)[0])

    def test_networks(self):
        native = {"name": "n", "hashes": ["aa"], "ms_p50": 2.0, "sample": [1.0], "magnitude": 1.0, "count": 1}
        def outputs(a, b):
            return networks.compare("n", a, b, None, None)["outputs"]
        self.assertEqual(outputs(native, {**native, "ms_p50": 3.0}), "same")
        self.assertEqual(outputs(native, {**native, "hashes": ["bb"]}), "different")
        self.assertEqual(outputs(native, {**native, "hashes": ["aa", "bb"]}), "different")
        self.assertEqual(outputs(native, {"name": "n", "error": "no"}), "not compared")
        self.assertEqual(outputs(native, None), "not compared")
        self.assertEqual(outputs(None, native), "not compared")
        unsteady = {**native, "hashes": ["aa", "bb"]}
        self.assertEqual((outputs(unsteady, {**native, "sample": [1.0005]}), outputs(unsteady, {**native, "sample": [1.1]})), ("same", "different"))
        line = {"networks": [networks.compare("n", native, None, None, None)], "unsupported_calls": {}}
        self.assertEqual(steps.networks_read(self.context(), self.outcome(json.dumps(line) + "\n")).status, "incomplete")

    def test_memory(self):
        line = '{{"name": "Rouse CUDA double"}}\n{{"free_bytes": {}}}\n'
        read = steps.memory_read_with(lambda: 10 << 30)
        self.assertEqual(read(self.context(), self.outcome(line.format(10 << 30))).status, "passed")
        self.assertEqual(read(self.context(), self.outcome(line.format(9 << 30))).status, "failed")
        self.assertEqual(steps.memory_read_with(lambda: None)(self.context(), self.outcome(line.format(1))).status, "failed")

    def test_which_gpu(self):
        def read(name, dry_run):
            lines = json.dumps({"name": name}) + '\n{"free_bytes": 5}\n'
            return steps.gpu_read(steps.Context(Place(), dry_run, {}), self.outcome(lines))
        self.assertEqual(read("NVIDIA H200", False).status, "passed")
        self.assertEqual(read("Rouse CUDA double", True).status, "passed")
        # Neither is taken for the other.
        self.assertEqual(read("Rouse CUDA double", False).status, "failed")
        self.assertEqual(read("NVIDIA H200", True).status, "failed")
        none = steps.gpu_read(self.context(), self.outcome("", 3, "rouse-probe: no CUDA driver: not found\n"))
        self.assertEqual(none.reason, "no CUDA driver: not found")

    def test_promises(self):
        data = {"steps": {"programs": {"data": {"launch_heavy": ["many_launches"], "programs": {"o3/many_launches": {"ratio": 1.2}}}},
                          "remoting": {"data": {"h2d_pinned_gb_per_s": 50.0}},
                          "probe": {"data": {"measurements": [{"name": "copy host to device", "bytes": 64 << 20, "gb_per_s": 51.0}]}}}}
        found = promises.promises(data)
        self.assertEqual([(p["value"], p["met"]) for p in (found[0], found[-1])], [(1.2, False), (0.98, True)])
        # What was not measured is not met.
        self.assertEqual({(p["value"], p["met"]) for p in promises.promises({"steps": {}})}, {(None, False)})


if __name__ == "__main__":
    unittest.main()
