"""What a check consists of, in order: how each step is started, how long it may take, and how its output is read."""

import dataclasses
import json
import re
import subprocess
import sys
from typing import Callable, Optional

from . import place as places

HERE = places.ROOT / "tools/gpu_check"


CHECK_SECONDS = 480


class LeftOut(Exception):
    """A step cannot be done here, and why. Not a failure."""


@dataclasses.dataclass
class Reading:
    """What a step's output says. `data` is kept whatever the status."""
    status: str
    reason: Optional[str] = None
    data: Optional[dict] = None


@dataclasses.dataclass
class Context:
    place: places.Place
    dry_run: bool
    environment: dict
    gpu: dict = dataclasses.field(default_factory=dict)  # what step "gpu" found
    probe: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Step:
    name: str      # key in the result
    title: str
    seconds: float  # of a check of CHECK_SECONDS; what earlier steps left is added
    command: Callable  # (Context, limit) -> list of str; may raise LeftOut
    read: Callable     # (Context, Outcome) -> Reading; may raise ValueError, KeyError, TypeError for what it cannot read


def json_lines(text):
    """Objects, one a line. A last line that a kill cut short is left out; any other that is none is a ValueError."""
    lines, found = text.splitlines(), []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            if not isinstance(value, dict):
                raise ValueError
        except ValueError:
            if number == len(lines) and not text.endswith("\n"):
                break
            raise ValueError(f"line {number} is no JSON object: {line[:120]!r}") from None
        found.append(value)
    return found


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:400] if lines else "nothing on standard error"


def ended(outcome):
    """Why a command that did not end with 0 counts as failed, or None."""
    if outcome.timed_out:
        return "its time was over"
    if outcome.code < 0:
        return f"killed by signal {-outcome.code}: {last_line(outcome.stderr)}"
    return f"exit code {outcome.code}: {last_line(outcome.stderr)}" if outcome.code else None


# The GPU, and how much of its memory is free before anything of ours runs.

def gpu_command(context, limit):
    return [str(context.place.bin / "rouse-probe"), "--memory", "--json"]


DOUBLE = "Rouse CUDA double"  # what the double calls its device


def gpu_read(context, outcome):
    problem = ended(outcome)
    if problem:
        # Exit code 3 is what rouse-probe says in one line.
        return Reading("failed", re.sub("^rouse-probe: ", "", last_line(outcome.stderr)) if outcome.code == 3 else problem)
    device, memory = json_lines(outcome.stdout)
    if (device["name"] == DOUBLE) != context.dry_run:
        return Reading("failed", f"a dry run needs the double of the driver, and found {device['name']}" if context.dry_run else
                       "libcuda.so.1 is the double of test/cuda-double, which is no GPU; see LD_LIBRARY_PATH")
    context.gpu = device
    return Reading("passed", None, {"device": device, "memory": memory})


# (a)

def probe_command(context, limit):
    return [str(context.place.bin / "rouse-probe"), "--json", "--limit", f"{max(limit - 2, 1):.0f}"]


def probe_read(context, outcome):
    lines = json_lines(outcome.stdout)
    data = {"device": lines[0] if lines else None, "measurements": lines[1:]}
    context.probe = data
    failed = [m["name"] for m in data["measurements"] if "error" in m]
    problem = ended(outcome) or (f"not measured: {', '.join(failed)}" if failed else None)
    if problem is None and not data["measurements"]:
        problem = "it measured nothing"
    return Reading("failed" if problem else "passed", problem, data)


# (b)

def conformance_command(context, limit):
    return [sys.executable, str(HERE / "conformance.py"), "--build", str(context.place.build), "--limit", f"{limit - 3:.0f}"]


def conformance_read(context, outcome):
    from . import conformance
    data = conformance.summary(json_lines(outcome.stdout))
    problem = ended(outcome)
    if data["failed"]:
        name, why = next(iter(data["failed"].items()))
        problem = f"{len(data['failed'])} cases failed, the first: {name}: {why}"
    elif problem is None and data["not_run"]:
        problem = f"no time for {len(data['not_run'])} cases"
    elif problem is None and data["passed"] == 0:
        problem = "no case ran"
    return Reading("failed" if problem else "passed", problem, data)


# (c)

def programs_command(context, limit):
    mode = ["--dry-run"] if context.dry_run else []
    memory = context.gpu.get("memory_bytes", 0)
    return [sys.executable, str(HERE / "programs.py"), "--build", str(context.place.build), "--limit", f"{limit - 6:.0f}",
            "--gpus", str(context.gpu.get("devices", 1)), "--gpu-memory", str(min(16 << 30, memory // 2) or (1 << 30)), *mode]


def programs_read(context, outcome):
    from . import programs
    lines = json_lines(outcome.stdout)
    data = programs.summary(lines)
    problem = ended(outcome)
    if problem is None and data["failed"]:
        problem = f"{len(data['failed'])} of {data['runs']} failed, the first: {data['failed'][0]}"
    if problem is None and data["not_run"]:
        problem = f"no time for {len(data['not_run'])} of {data['runs'] + len(data['not_run'])}"
    if problem is None and data["passed"] == 0:
        problem = "no program ran"
    return Reading("failed" if problem else "passed", problem, data)


# (d)

def bench_command(name, *more):
    def command(context, limit):
        listed = subprocess.run([str(context.place.bin / "rouse-bench"), "--help"], capture_output=True, text=True, timeout=20).stdout
        if not re.search(rf"^  {name}\b", listed, re.MULTILINE):
            raise LeftOut(f"this build has no rouse-bench {name}")
        return [str(context.place.bin / "rouse-bench"), name, "--json", "--device", "cuda", *more]
    return command


def bench_read(context, outcome):
    problem = ended(outcome)
    if problem:
        return Reading("failed", problem)
    data = json.loads(outcome.stdout)
    if not isinstance(data, dict):
        raise ValueError("no JSON object")
    return Reading("passed", None, data)


# (e)

def networks_command(context, limit):
    found = subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True,
                           timeout=min(60, limit))
    if found.returncode != 0:
        raise LeftOut(f"{sys.executable} has no PyTorch: {last_line(found.stderr)}")
    if context.dry_run:
        raise LeftOut("a dry run has no GPU to run networks on natively")
    return [sys.executable, str(HERE / "networks.py"), "--build", str(context.place.build), "--limit", f"{limit - 6:.0f}"]


def networks_read(context, outcome):
    lines = json_lines(outcome.stdout)
    data = lines[-1] if lines else None
    problem = ended(outcome)
    if problem or data is None:
        return Reading("failed", problem or "it printed nothing", data)
    different = [n["name"] for n in data["networks"] if n["outputs"] == "different"]
    missing = [n["name"] for n in data["networks"] if n["outputs"] == "not compared"]
    if different:
        return Reading("failed", f"other outputs through the pool: {', '.join(different)}", data)
    if missing or not data["networks"]:
        return Reading("incomplete", f"not compared: {', '.join(missing) or 'any network'}", data)
    return Reading("passed", None, data)


# The end: nothing of ours is left on the GPU.

TOLERANCE_BYTES = 32 << 20  # another process of the machine may come and go


def memory_read_with(before):
    def read(context, outcome):
        reading = gpu_read(context, outcome)
        if reading.status != "passed":
            return reading
        data = {"free_before_bytes": before(), "free_after_bytes": reading.data["memory"]["free_bytes"]}
        if data["free_before_bytes"] is None:
            return Reading("failed", "it is not known how much was free before", data)
        lost = data["free_before_bytes"] - data["free_after_bytes"]
        problem = f"{lost >> 20} MiB less free than before" if lost > TOLERANCE_BYTES else None
        return Reading("failed" if problem else "passed", problem, data)
    return read


def all_steps(results):
    """The steps of a check whose results go to `results`."""
    def free_before():
        data = results.data["steps"].get("gpu", {}).get("data") or {}
        return data.get("memory", {}).get("free_bytes")

    # An H100 took 10 s for the probe, 26 for remoting, 17 for swap, 9 for serve and 23 for the networks (bench/results, 2026-11-27); what the last ones leave nobody gets.
    return [
        Step("gpu", "GPU and driver", 10, gpu_command, gpu_read),
        Step("probe", "Probe: bandwidths and costs of the driver's calls", 30, probe_command, probe_read),
        Step("conformance", "Conformance of the CUDA device", 115, conformance_command, conformance_read),
        Step("programs", "Test programs, natively and through the pool", 200, programs_command, programs_read),
        Step("remoting", "rouse-bench remoting", 35, bench_command("remoting"), bench_read),
        Step("swap", "rouse-bench swap", 20, bench_command("swap", "--networks", "resnet152", "--scale", "0.25", "--repetitions", "2"), bench_read),
        Step("serve", "rouse-bench serve", 15, bench_command("serve", "--functions", "2", "--seconds", "3", "--requests", "1000"), bench_read),
        Step("networks", "Networks in PyTorch, natively and through the pool", 35, networks_command, networks_read),
        Step("memory", "Memory left on the GPU", 10, gpu_command, memory_read_with(free_before)),
    ]
