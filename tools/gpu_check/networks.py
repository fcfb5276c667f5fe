#!/usr/bin/env python3
"""Step (e): the networks of network_models.py natively and through a pool; outputs compared, latencies as ratios, and what was not
supported. The last line it prints is all that was found until then."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

if __package__ in (None, ""):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from gpu_check import place as places, programs  # noqa: E402
from daemon import Daemon  # noqa: E402

MODELS = pathlib.Path(__file__).resolve().parent / "network_models.py"
# Where two native runs differ in bytes, so may these; relative to the largest output.
TOLERANCE = 1e-3


def run(command, environment, limit):
    """(lines by network, libraries, versions, why it ended early or None)"""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment)
        out, why = done.stdout, None
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            why = f"exit code {done.returncode}: {lines[-1][:300] if lines else 'nothing on standard error'}"
    except subprocess.TimeoutExpired as late:
        out, why = (late.stdout or b"").decode(errors="replace"), f"still running after {limit:.0f} s"
    networks, libraries, versions = {}, [], {}
    for text in out.splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue  # a library's own words
        if "name" in line:
            networks[line["name"]] = line
        elif "libraries" in line:
            libraries = line["libraries"]
        elif "torch" in line:
            versions = line
    return networks, libraries, versions, why


def compare(name, native, pool, native_why, pool_why):
    entry = {"name": name, "outputs": "not compared", "reason": None}
    if native is None or "error" in native:
        entry["reason"] = f"natively: {native['error'] if native else native_why or 'not run'}"
        return entry
    entry["native_ms_p50"] = native["ms_p50"]
    if pool is None or "error" in pool:
        entry["reason"] = f"through the pool: {pool['error'] if pool else pool_why or 'not run'}"
        return entry
    entry.update(pool_ms_p50=pool["ms_p50"], ratio=round(pool["ms_p50"] / native["ms_p50"], 3))
    if len(native["hashes"]) == 1:
        entry["outputs"] = "same" if pool["hashes"] == native["hashes"] else "different"
        return entry
    # Not reproducible natively: close is all that can be asked.
    close = native["count"] == pool["count"] and all(
        abs(a - b) <= TOLERANCE * native["magnitude"] for a, b in zip(native["sample"], pool["sample"]))
    entry.update(outputs="same" if close else "different", reason="natively not reproducible in bytes: compared with a tolerance")
    return entry


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--limit", type=float, required=True, help="seconds")
    parser.add_argument("--device", default="cuda", help="kind of device of the pool")
    options = parser.parse_args()
    deadline = time.monotonic() + options.limit
    place = places.Place(options.build)
    result = {"torch": None, "networks": [], "unsupported_calls": None, "native_libraries": [], "pool_libraries": []}

    # As functions of the pool are started (allocations are cheap there); natively the same, so that like is compared with like.
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    native, result["native_libraries"], result["torch"], native_why = run([sys.executable, str(MODELS)], environment, options.limit * 0.45)
    result["native_libraries"] = sorted({pathlib.Path(path).name for path in result["native_libraries"]})
    names = list(native) or ["convolutional", "transformer", "autoregressive decode"]
    result["networks"] = [compare(n, native.get(n), None, native_why, "not run yet") for n in names]
    print(json.dumps(result), flush=True)

    with Daemon(place.build, gpus=1, gpu_memory=str(8 << 30), device=options.device) as daemon:
        command = [str(place.bin / "rouse"), "run", "--socket", str(daemon.socket), "--", sys.executable, str(MODELS)]
        pool, result["pool_libraries"], _, pool_why = run(command, environment, max(deadline - time.monotonic() - 3, 1))
        # A PyTorch that brings a runtime of another name or its own path never came to us: what it did is native, and no result.
        ours = str(place.build / "lib/rouse")
        runtimes = [path for path in result["pool_libraries"] if "libcudart" in path]
        if pool and not any(path.startswith(ours) for path in runtimes):
            pool, pool_why = {}, f"it did not go through the pool: its runtime is {', '.join(runtimes) or 'unknown'}"
        result["networks"] = [compare(n, native.get(n), pool.get(n), native_why, pool_why) for n in names]
        # What they are, not where this machine has them.
        result["pool_libraries"] = sorted({("rouse: " if path.startswith(ours) else "") + pathlib.Path(path).name for path in result["pool_libraries"]})
        result["unsupported_calls"] = programs.unsupported(place, daemon.socket)
    print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
