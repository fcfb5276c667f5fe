#!/usr/bin/env python3
"""Step (c): every program of test/programs natively and through a pool, outputs compared, times as ratios.

First the programs that are mostly launches are compared and timed, while nothing else runs; then all others are compared, several at once,
those built with -O3 first; those built with -G run natively only where they failed through the pool, to tell whose failure it is: natively they take most of
the time; then, one process at a time, native and pool in turn, they are timed for as long as there is time. Prints one JSON object a line, so that what was done is kept if this is killed.
In a dry run, without a GPU, the CPU device's pool stands in for native runs."""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import ctypes
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import statistics
import sys
import time

if __package__ in (None, ""):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from gpu_check import place as places  # noqa: E402
from daemon import Daemon  # noqa: E402

# Time goes to launches, not to kernels or copies: these must come close to native.
LAUNCH_HEAVY = ("many_launches", "mixed_work", "pipeline", "sort_bitonic")
POOL_ALONE = ("g",)  # variants
TIMED_RUNS = 5
GPU_JOBS = 2  # a native run took 0.27 s by itself and 2.3 s eight at a time (bench/results): the driver begins and ends processes one after the other
CORES = os.cpu_count() or 1
OWN_POOL_BYTES = 2 << 30  # of a program that takes its GPU down; several at once
FAULTS_PATIENCE = 3  # each fault takes the GPU down, which starts again in seconds, longer while others run
DRY_PATIENCE = 5  # the double is slow, and its times say nothing: longer limits, no repetitions


def load_expectations(path):
    """test/programs/run-programs as a module: what a program must print is written down there and nowhere else."""
    loader = importlib.machinery.SourceFileLoader("run_programs", str(path))
    spec = importlib.util.spec_from_loader("run_programs", loader)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def median(values):
    return round(statistics.median(values), 4)


def ratio(timed):
    return round(statistics.median(timed["pool_s"]) / max(statistics.median(timed["native_s"]), 1e-6), 3)


def summary(lines):
    """What goes into the result, from the lines printed so far."""
    data = {"reference": None, "runs": 0, "passed": 0, "failed": [], "compared": 0, "known_gaps": [], "not_run": [], "left_out": {}, "launch_heavy": list(LAUNCH_HEAVY),
            "programs": {}}
    for line in lines:
        kind = line["line"]
        if kind == "begin":
            data["reference"] = line["reference"]
            data["not_run"] = list(line["work"])
            continue
        if kind == "left_out":
            data["left_out"][line["program"]] = line["why"]
            continue
        if kind == "end":
            data["unsupported_calls"] = line["unsupported_calls"]
            continue
        name = line["program"]
        entry = data["programs"].setdefault(name, {})
        if kind == "compared":
            data["runs"] += 1
            data["compared"] += line["same_output"] is not None
            data["not_run"].remove(name)
            entry.update({key: line[key] for key in ("native", "pool", "same_output", "first_native_s", "first_pool_s")})
            if line.get("difference") is not None and line["native"] is None and line["pool"] is None:
                entry["difference"] = line["difference"]
            good = line["native"] is None and line["pool"] is None and line["same_output"] is not False
            if line["gap"] is not None:
                entry["known_gap"] = line["gap"]
            if good:
                data["passed"] += 1
            elif line["gap"] is not None and line["native"] is None:
                data["known_gaps"].append(name)
            else:
                data["failed"].append(name)
        elif kind == "timed":
            entry.update(native_s=median(line["native_s"]), pool_s=median(line["pool_s"]), ratio=ratio(line), timed_runs=len(line["pool_s"]))
        elif kind == "untimed":  # passed before, and now not: that is a failure
            entry["when_timed"] = line["problems"]
            if name not in data["failed"]:
                data["failed"].append(name)
                data["passed"] -= 1
    return data


def has_cxx_library():
    try:
        ctypes.CDLL("libstdc++.so.6")
        return True
    except OSError:
        return False


# What test/programs/check.h prints of what is not so; other programs' lines say what they did.
COMPLAINT = re.compile(r"\.(?:cu|h):\d+: |\bshould (?:be|have) ")


def said(out, err):
    """Of a program that failed, what tells why: three lines of its output, those that complain first, and the first of its standard error."""
    lines = [line.strip()[:300] for line in places.by_place_in_tree(out).splitlines() if line.strip()]
    told = ([line for line in lines if COMPLAINT.search(line)] or lines)[:3]
    errors = places.by_place_in_tree(err).strip().splitlines()
    return "".join([f": {' | '.join(told)}" if told else "", f" ({errors[0][:200]})" if errors else ""])


def difference(native, pool):
    """The first line that is not the same in both."""
    for number in range(max(len(native), len(pool))):
        here, there = (lines[number][:200] if number < len(lines) else None for lines in (native, pool))
        if here != there:
            return {"line": number + 1, "native": here, "pool": there}
    return None


class Runner:
    """Runs one program one way. `problem` is None when the program did what it must."""

    def __init__(self, rules, place, gpus, pool, reference, own_pool):
        self._rules, self._place, self._gpus = rules, place, gpus
        self._own_pool = own_pool  # arguments of `rouse run` for a program that takes its GPU down
        self._pool, self._reference = pool, reference  # sockets; reference is None for native runs
        self._carried = [] if has_cxx_library() else [place.program_libraries]

    def _environment(self, *first):
        folders = [str(f) for f in (*first, *self._carried) if f.exists()]
        if os.environ.get("LD_LIBRARY_PATH"):
            folders.append(os.environ["LD_LIBRARY_PATH"])  # the driver may be found by it
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(folders)}

    def run(self, program, variant, where, limit):
        binary = self._place.programs / variant / program.name
        if not binary.exists():
            return "not built", "", 0.0
        if where == "native" and self._reference is None:
            command, environment = [str(binary)], self._environment(self._place.native_runtime)
        else:
            pool = ["--socket", str(self._pool if where == "pool" else self._reference)]
            if where == "pool" and program.faults:
                pool = self._own_pool
            command = [str(self._place.bin / "rouse"), "run", *pool, "--gpus", str(min(program.gpus, self._gpus)), "--", str(binary)]
            environment = self._environment()
        problem, code, out, err, seconds = self._rules.execute(command, limit, environment)
        problem = problem or self._rules.complaint(program, code, out, err)
        return problem and problem + said(out, err), out, seconds


def emit(**line):
    print(json.dumps(line) + "\n", end="", flush=True)  # in one piece: several threads


def of_program(output):
    """Without what NVIDIA's cuBLAS prints of calls that it refuses: Rouse's answers with the status only."""
    return [line for line in output.splitlines() if not line.startswith(" ** On entry to ")]


def compare(runner, program, variant, deadline, patience):
    """Runs it both ways, but in a variant of POOL_ALONE natively only if it failed through the pool. True: both are right, as far as they ran. Its output
    is compared by whoever reads these lines only where there are two."""
    began = time.monotonic()
    if deadline - began < 1:
        return False
    if program.faults:
        patience *= FAULTS_PATIENCE
    results = {}
    for where in ("pool", "native") if variant in POOL_ALONE else ("native", "pool"):
        if where == "native" and variant in POOL_ALONE and results["pool"][0] is None:
            continue
        left = deadline - time.monotonic()
        if left < 0.5:
            return False
        results[where] = runner.run(program, variant, where, min(program.timeout * patience, left))
    if time.monotonic() >= deadline and time.monotonic() - began < program.timeout * patience:
        return False  # cut short by this step's time, not by its own: it says nothing
    pool, pool_out, pool_s = results["pool"]
    native, native_out, native_s = results.get("native", (None, None, None))
    different = None if native_out is None else difference(of_program(native_out), of_program(pool_out))
    emit(line="compared", program=f"{variant}/{program.name}", native=native, pool=pool, same_output=None if native_out is None else different is None,
         difference=different, first_native_s=None if native_s is None else round(native_s, 4), first_pool_s=round(pool_s, 4),
         gap=program.gap or program.cuda_gap)
    return native is None and pool is None


def time_programs(runner, programs, deadline, most, patience):
    """Rounds over all programs while there is time. What is known is printed after every program."""
    times = {program: ([], []) for program in sorted(programs, key=lambda p: p.name)}
    for _ in range(most):
        for program, (native, pool) in list(times.items()):
            last = sum(x[-1] if x else 1.0 for x in (native, pool))
            if time.monotonic() + 2 * last > deadline:
                return
            limit = min(program.timeout * patience, deadline - time.monotonic())
            results = [runner.run(program, "o3", where, limit) for where in ("native", "pool")]
            if any(problem for problem, _, _ in results):
                emit(line="untimed", program=f"o3/{program.name}", problems=[problem for problem, _, _ in results])
                del times[program]
                continue
            native.append(round(results[0][2], 4))
            pool.append(round(results[1][2], 4))
            emit(line="timed", program=f"o3/{program.name}", native_s=native, pool_s=pool)


def unsupported(place, socket):
    import subprocess
    asked = subprocess.run([str(place.bin / "rouse"), "status", "--unsupported", "--json", "--socket", str(socket)], capture_output=True,
                           text=True, timeout=20)
    return json.loads(asked.stdout).get("unsupported_calls") if asked.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--limit", type=float, required=True, help="seconds")
    parser.add_argument("--gpus", type=int, default=1, help="GPUs of this machine")
    parser.add_argument("--gpu-memory", type=int, default=1 << 30, help="bytes the pool takes of each")
    parser.add_argument("--jobs", type=int, help=f"programs at once while comparing (default {GPU_JOBS}; dry run by cores)")
    parser.add_argument("--dry-run", action="store_true", help="the CPU device's pool in place of native runs")
    parser.add_argument("--device", default="cuda", help="kind of device of the pool")
    parser.add_argument("names", nargs="*", help="programs (default: all)")
    options = parser.parse_args()
    jobs = options.jobs or (min(8, max(min(4, CORES), CORES // 2)) if options.dry_run else GPU_JOBS)
    deadline = time.monotonic() + options.limit
    place = places.Place(options.build)
    rules = load_expectations(place.run_programs)
    programs = [rules.Program(source) for source in sorted(place.run_programs.parent.glob("*.cu"))]
    if options.names:
        programs = [p for p in programs if p.name in options.names]
    # What needs a library of NVIDIA's that the machine has not, or that the double of the driver cannot serve.
    for program in [p for p in programs if p.library and (options.dry_run or not rules.loads(p.library))]:
        programs.remove(program)
        why = "the double has none" if options.dry_run else "not where the loader looks"
        emit(line="left_out", program=program.name, why=f"needs NVIDIA's {program.library}: {why}")
    for program in [p for p in programs if options.dry_run and rules.lacking(p.needs)]:
        programs.remove(program)
        emit(line="left_out", program=program.name, why=f"needs a processor with {' '.join(rules.lacking(program.needs))}")
    variants = [v for v in ("o3", "g") if (place.programs / v).is_dir()]
    work = [(p, v) for v in variants for p in programs if v in p.variants]
    emit(line="begin", reference="CPU device" if options.dry_run else "native", work=[f"{v}/{p.name}" for p, v in work])
    gpus = max(1, min(options.gpus, max((p.gpus for p in programs), default=1)))
    with contextlib.ExitStack() as stack:
        memory = str(options.gpu_memory)
        pool = stack.enter_context(Daemon(place.build, gpus=gpus, gpu_memory=memory, device=options.device))
        reference = stack.enter_context(Daemon(place.build, gpus=gpus, gpu_memory=memory)).socket if options.dry_run else None
        own = ["--device", options.device, "--gpu-memory", str(min(options.gpu_memory, OWN_POOL_BYTES))]
        runner = Runner(rules, place, gpus, pool.socket, reference, own)
        good, patience, rounds = set(), DRY_PATIENCE if options.dry_run else 1, 1 if options.dry_run else TIMED_RUNS
        first = [p for p in programs if p.name in LAUNCH_HEAVY and "o3" in variants]
        passed = [p for p in first if compare(runner, p, "o3", deadline, patience)]
        time_programs(runner, passed, min(deadline, time.monotonic() + options.limit / 3), rounds, patience)
        # The rest, what takes longest first.
        work = sorted([(p, v) for p, v in work if v != "o3" or p not in first], key=lambda each: not each[0].faults)
        with concurrent.futures.ThreadPoolExecutor(jobs) as threads:
            # Whoever takes its GPU down has a pool of its own.
            together = {threads.submit(compare, runner, p, v, deadline, patience): (p, v) for p, v in work if not p.alone}
            for done in concurrent.futures.as_completed(together):
                if done.result():
                    good.add(together[done])
        for program, variant in work:
            if program.alone and compare(runner, program, variant, deadline, patience):
                good.add((program, variant))
        time_programs(runner, [p for p in programs if (p, "o3") in good and not p.faults], deadline, rounds, patience)
        emit(line="end", unsupported_calls=unsupported(place, pool.socket))
    return 0


if __name__ == "__main__":
    sys.exit(main())
