"""The result of one check: written after every step, so that nothing that comes later can lose it."""

import datetime
import json
import os
import pathlib
import platform
import re

from . import report

SCHEMA = 1


def machine():
    cpu = "unknown"
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return {"cpu": cpu, "cores": os.cpu_count(), "kernel": platform.release(), "libc": " ".join(platform.libc_ver()),
            "python": platform.python_version()}


def slug(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unknown"


class Results:
    """One result and its two files. The name comes from the GPU, so the files are made when that is known, or at the end.

    A dry run never writes where results of real runs lie: `folder` must then hold none of them (checked on construction,
    ValueError)."""

    def __init__(self, folder, dry_run, limit, revision):
        self.folder = pathlib.Path(folder)
        if dry_run:
            for path in sorted(self.folder.glob("*.json")):
                if not _is_dry(path):
                    raise ValueError(f"{self.folder} holds results of real runs ({path.name}): a dry run's do not belong there")
        now = datetime.datetime.now(datetime.timezone.utc)
        self._date = now.date().isoformat()
        self.data = {"schema": SCHEMA, "kind": "gpu-check", "dry_run": dry_run, "began": now.isoformat(timespec="seconds"),
                     "limit_s": limit, "rouse": revision, "machine": machine(), "gpu": {}, "steps": {}, "promises": [],
                     "verdict": "unfinished"}
        self._stem = None

    @property
    def path(self):
        return self.folder / f"{self._stem}.json" if self._stem else None

    def add(self, name, step):
        self.data["steps"][name] = step
        if step["status"] == "passed" and name == "gpu":
            self.data["gpu"] = step["data"]["device"]
        self.write()

    def finish(self, verdict):
        self.data["verdict"] = verdict
        self.write()

    def write(self):
        """Both files, each whole at any time."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._stem is None:
            self._stem = self._free_stem(("dry-run-" if self.data["dry_run"] else "") + slug(self.data["gpu"].get("name", "unknown")))
        _replace(self.path, json.dumps(self.data, indent=1, sort_keys=False) + "\n")
        _replace(self.path.with_suffix(".md"), report.markdown(self.data))

    def remove(self):
        """Without a GPU there is no result."""
        for path in (self.path, self.path.with_suffix(".md")):
            path.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _free_stem(self, gpu):
        for number in range(1, 1000):
            stem = f"{gpu}-{self._date}" + (f"-{number}" if number > 1 else "")
            if not (self.folder / f"{stem}.json").exists():
                return stem
        raise OSError(f"{self.folder} has a thousand results of this GPU and day")


def _is_dry(path):
    try:
        return json.loads(path.read_text()).get("dry_run") is True
    except (OSError, ValueError, AttributeError):
        return False


def _replace(path, text):
    beside = path.with_name(path.name + ".new")
    beside.write_text(text)
    os.replace(beside, path)
