"""A roused of one's own for a test: starts it on a private socket, watches its processes, ends it."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

# Where daemon and executors are built with a sanitizer, its first report ends them, and so fails the test.
SANITIZER_OPTIONS = {"TSAN_OPTIONS": "halt_on_error=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
ROOT = pathlib.Path(__file__).resolve().parents[2]


def children(pid):
    """All processes below pid, as (pid, command) pairs."""
    below, parents = [], {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = pathlib.Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            name, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
            parents.setdefault(int(rest[1]), []).append((int(entry), name, rest[0]))
    queue = [pid]
    while queue:
        for child, name, state in parents.get(queue.pop(), []):
            queue.append(child)
            if state != "Z":
                below.append((child, name))
    return below


def alive(pid):
    """One that has ended and waits to be waited for is not."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rindex(")") + 2] != "Z"


def descriptors(pid):
    """What each open descriptor of a process refers to."""
    folder, found = f"/proc/{pid}/fd", []
    for fd in os.listdir(folder):
        try:
            found.append(os.readlink(f"{folder}/{fd}"))
        except OSError:
            pass
    return found


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def mappings(pid, what):
    """Number of mappings of a process whose name contains `what`."""
    return sum(what in line for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines())


def nvlinked(gpus, link=3.0, nvlink=6.0):
    """A topology: GPUs with an NVLink between any two, each way; GB/s. So that which bytes come over which can be told, not to be like any machine."""
    text = f"name = \"test\"\n" + f"[[gpu]]\nlink_gb_per_s = {link}\n" * gpus
    return text + "".join(f"[[nvlink]]\ngpus = [{a}, {b}]\ngb_per_s = {nvlink}\n" for a in range(gpus) for b in range(a + 1, gpus))


class Daemon:
    """Use as a context manager. `environment` is what a client needs to find this daemon. `daemon_build`: daemon and executors
    come from there, one built with a sanitizer, say; client library, tools and programs from `build`. `topology`: the file's text."""

    def __init__(self, build, gpus=1, gpu_memory="512MiB", arguments=(), daemon_build=None, device="cpu", topology=None):
        self.build = pathlib.Path(build).resolve()
        daemon_build = pathlib.Path(daemon_build or build).resolve()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rouse-test-"))
        self.socket = self.folder / "rouse.sock"
        self.log = self.folder / "roused.log"
        # Temporary files of the daemon and its clients, apart from everybody else's.
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        configuration = self.folder / "rouse.toml"
        configuration.write_text(f'[daemon]\nclient_libraries = "{self.build / "lib/rouse"}"\n')
        self.command = [str(daemon_build / "bin/roused"), "--config", str(configuration), "--socket", str(self.socket), "--device", device,
                        "--gpus", str(gpus), "--gpu-memory", gpu_memory, *arguments]
        if topology:
            (self.folder / "topology.toml").write_text(topology)
            self.command += ["--topology", str(self.folder / "topology.toml")]
        self.process = None

    @property
    def environment(self):
        return {**os.environ, "TMPDIR": str(self.temporary), "ROUSE_SOCKET": str(self.socket), "LD_LIBRARY_PATH": str(self.build / "lib/rouse")}

    @property
    def pid(self):
        return self.process.pid

    def __enter__(self):
        self.start()
        return self

    def kill(self):
        """As a daemon that crashes: what it has started goes on."""
        self.process.kill()
        self.process.wait()

    def start(self):
        """Also again, after kill(); then another one takes its place. Returns when it takes connections."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env={**SANITIZER_OPTIONS, **os.environ, "TMPDIR": str(self.temporary)})
        deadline = time.monotonic() + 30
        # A socket that is there may be another daemon's, which was killed.
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                text = self.text()
                self.__exit__(None, None, None)
                raise RuntimeError(f"roused did not start: {' '.join(self.command)}\n{text}")
            time.sleep(0.02)

    def answers(self):
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(str(self.socket))
                return True
        except OSError:
            return False

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def alive(self):
        return self.process.poll() is None

    def executors(self):
        return [pid for pid, name in children(self.pid) if name.startswith("rouse-executo")]

    def text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""
