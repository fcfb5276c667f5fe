"""Runs a command for a limited time in a process group of its own, keeps what it printed, and ends all that it started.

What a command starts may begin sessions of its own, so a process group is not enough: this process becomes the one that orphans fall to
(PR_SET_CHILD_SUBREAPER), and whatever is below it once a command is over is ended. A process that uses this may therefore have no other
children meanwhile. Linux only.
"""

import contextlib
import ctypes
import dataclasses
import os
import selectors
import signal
import subprocess
import time

from . import place  # noqa: F401, for the path of daemon
from daemon import children

KEPT_BYTES = 16 << 20  # of each output; what comes after is read and dropped
GRACE_SECONDS = 3.0    # between SIGTERM and SIGKILL: a daemon stops its executors meanwhile

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)


@dataclasses.dataclass
class Outcome:
    code: int = 0            # as subprocess gives it: negative for a signal
    seconds: float = 0.0
    timed_out: bool = False
    stdout: str = ""
    stderr: str = ""
    left_behind: int = 0     # processes still there when the command had ended


def adopt_orphans():
    """From now on orphans below this process become its children. Raises OSError where the kernel cannot."""
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def _below():
    # Looked for again before it is believed that there are none: /proc is read process by process, and one whose parent dies meanwhile is
    # seen under neither its old parent nor its new one.
    for _ in range(3):
        found = [pid for pid, _ in children(os.getpid())]
        if found:
            break
    return found


def _send(number):
    for pid in _below():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _reap():
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def end_everything(grace=GRACE_SECONDS):
    """Ends every process below this one; returns how many there were."""
    count = len(_below())
    if count:
        _send(signal.SIGTERM)
        deadline = time.monotonic() + grace
        while _below() and time.monotonic() < deadline:
            time.sleep(0.02)
        # New ones may be born while others die.
        for _ in range(200):
            if not _below():
                break
            _send(signal.SIGKILL)
            time.sleep(0.02)
    return count


def _prepare_child():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def run(command, limit, environment=None):
    """Never raises for what the command does; OSError when it cannot be started."""
    outcome = Outcome()
    began = time.monotonic()
    process, kept = None, {}
    try:
        # In here: a signal that interrupts us between fork and return leaves a child that nobody has a name for.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment, start_new_session=True, preexec_fn=_prepare_child)
        kept = {process.stdout: bytearray(), process.stderr: bytearray()}
        with selectors.DefaultSelector() as selector:
            for pipe in kept:
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map() and process.poll() is None:
                if time.monotonic() - began > limit:
                    outcome.timed_out = True
                    break
                _read(selector, kept, 0.1)
            # Both pipes may be closed by a process that goes on.
            while process.poll() is None and not outcome.timed_out:
                if time.monotonic() - began > limit:
                    outcome.timed_out = True
                time.sleep(0.02)
            outcome.seconds = time.monotonic() - began
            ended = end_everything()
            outcome.left_behind = 0 if outcome.timed_out else ended
            # What was still in the pipes; nobody writes any more.
            while selector.get_map() and _read(selector, kept, 0):
                pass
    finally:
        end_everything()  # also when a signal interrupts us
        if process is not None:
            outcome.code = process.wait()
        for pipe in kept:
            pipe.close()
        _reap()
    outcome.stdout, outcome.stderr = (kept[pipe].decode(errors="replace") for pipe in (process.stdout, process.stderr))
    return outcome


def _read(selector, kept, wait):
    """True if anything happened on the pipes."""
    ready = selector.select(wait)
    for key, _ in ready:
        data = key.fileobj.read(1 << 16)
        if data == b"":
            selector.unregister(key.fileobj)
        elif data and len(kept[key.fileobj]) < KEPT_BYTES:
            kept[key.fileobj] += data
    return bool(ready)
