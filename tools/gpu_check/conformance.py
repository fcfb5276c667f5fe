#!/usr/bin/env python3
"""Step (b): the device conformance suite on CUDA, each case in a process of its own. A kernel that faults takes its process's CUDA context with it,
and a case that hangs would take the others' time. Prints one JSON object a line."""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

if __package__ in (None, ""):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from gpu_check import place as places  # noqa: E402

CASE_SECONDS = 20.0
# Processes that begin and end hold each other up in the driver: on a machine of 16 cores with an H100 a case took 1 s by itself, 4.7 s with three others, and 8 at a time did half as many a
# second as one.
LEFT_OUT = re.compile(r"left out: .*")


def emit(**line):
    print(json.dumps(line) + "\n", end="", flush=True)  # in one piece: several threads


def summary(lines):
    data = {"passed": 0, "failed": {}, "left_out": [], "not_run": []}
    for line in lines:
        if line["line"] == "begin":
            data["not_run"] = list(line["cases"])
            continue
        data["not_run"].remove(line["case"])
        if line["result"] == "passed":
            data["passed"] += 1
        elif line["result"] == "left out":
            data["left_out"].append(line["case"])
        else:
            data["failed"][line["case"]] = line["reason"]
    return data


def why(output, code):
    """The first lines of a report that say what was wrong."""
    output = places.by_place_in_tree(output)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if "FAILED" in line or line.startswith("terminate") or "violation" in line:
            return " ".join(lines[number:number + 4])[:400]
    return f"exit code {code}: {lines[-1][:300] if lines else 'nothing printed'}"


def run_case(program, case, environment, limit):
    # A comma, a bracket and an asterisk mean something in the name of a case.
    pattern = re.sub(r"([\\,\[*\"])", r"\\\1", case)
    try:
        done = subprocess.run([str(program), pattern, "-w", "NoTests"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=limit, env=environment, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "failed", f"still running after {limit:.0f} s"
    if done.returncode != 0 or "No test cases matched" in done.stdout:
        return "failed", why(done.stdout, done.returncode)
    absent = LEFT_OUT.search(done.stdout)
    return ("left out", absent.group(0)) if absent else ("passed", None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--limit", type=float, required=True, help="seconds")
    parser.add_argument("--device", default="cuda", help="kind of device")
    parser.add_argument("--jobs", type=int, default=2, help="cases at once")
    options = parser.parse_args()
    deadline = time.monotonic() + options.limit
    program = places.Place(options.build).conformance
    environment = {**os.environ, "ROUSE_CONFORMANCE": options.device}
    listed = subprocess.run([str(program), "--list-test-names-only"], stdout=subprocess.PIPE, text=True, env=environment, timeout=options.limit)
    # From the end: that is where those stand that no time was left for before.
    cases = [line for line in listed.stdout.splitlines() if line.strip()][::-1]  # the exit code is their number
    emit(line="begin", cases=cases)

    def run(case):
        left = deadline - time.monotonic()
        if left < 1:
            return
        result, reason = run_case(program, case, environment, min(left, CASE_SECONDS))
        if result == "failed" and time.monotonic() >= deadline:
            return  # cut short by this step's time: it says nothing
        emit(line="case", case=case, result=result, reason=reason)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as threads:
        list(threads.map(run, cases))
    return 0


if __name__ == "__main__":
    sys.exit(main())
