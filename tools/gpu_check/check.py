"""Goes through the steps: each within its time, none able to lose what the others found."""

import signal
import time

from . import limits, steps as all_of_them

RESERVE_SECONDS = 8.0  # for ending what a step started, and for writing


class Interrupted(BaseException):
    """SIGTERM, SIGINT or SIGHUP arrived."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


def on_signals():
    def raise_it(number, _):
        # Once: what cleans up must not be interrupted again.
        for other in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, raise_it)


def do(step, context, limit):
    """One step's entry in the result. Whatever the step does, this returns (unless interrupted)."""
    entry = {"title": step.title, "status": "failed", "reason": None, "seconds": 0.0, "limit_s": round(limit, 1), "data": None}
    began = time.monotonic()
    try:
        outcome = limits.run(step.command(context, limit), limit, context.environment)
        try:
            reading = step.read(context, outcome)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            why = all_of_them.ended(outcome)
            reading = all_of_them.Reading("failed", f"{why + '; ' if why else ''}output not understood: {type(error).__name__}: {error}",
                                          {"output": outcome.stdout[:2000]})
        if outcome.timed_out:
            reading.status = "timed out"
            reading.reason = f"ended after {limit:.0f} s"
        entry.update(status=reading.status, reason=reading.reason, data=reading.data)
        if entry["status"] not in ("passed", "left out"):
            entry["stderr_end"] = outcome.stderr[-2000:]
        if outcome.left_behind:
            entry["left_behind"] = outcome.left_behind
    except all_of_them.LeftOut as why:
        entry.update(status="left out", reason=str(why))
    except Exception as error:  # a step must not end the check
        entry.update(status="failed", reason=f"{type(error).__name__}: {error}")
    finally:
        entry["seconds"] = round(time.monotonic() - began, 2)
    return entry


def verdict(entries):
    statuses = [entry["status"] for entry in entries.values()]
    if any(status in ("failed", "timed out", "interrupted", "not run") for status in statuses):
        return "failed"
    return "incomplete" if "incomplete" in statuses else "passed"


def check(steps, context, results, limit, tell, stop_after_first_failure=("gpu",), only=None):
    """Runs all steps, or of them those named in `only`, and writes `results` after each. The verdict is in results.data; of a part it is "incomplete" at best. Raises
    Interrupted after everything that was started has been ended and written down."""
    every, steps = steps, [step for step in steps if only is None or step.name in only]
    partial = len(steps) < len(every)
    # All of them from the beginning, in their order.
    for step in every if partial else ():
        results.data["steps"][step.name] = {"title": step.title, "status": "left out" if step not in steps else "not run", "reason": "not asked for" if step not in steps else None,
                                            "seconds": 0.0, "limit_s": 0, "data": None}
    share = limit / sum(step.seconds for step in steps) if steps else 0
    reserve = min(RESERVE_SECONDS, limit / 10)
    deadline = time.monotonic() + limit - reserve
    planned = time.monotonic()
    for number, step in enumerate(steps):
        planned += step.seconds * share * (1 - reserve / limit)
        available = min(planned, deadline) - time.monotonic()
        tell(f"{step.title} (at most {max(available, 0):.0f} s) …")
        try:
            if available < 1:
                entry = {"title": step.title, "status": "not run", "reason": "no time was left", "seconds": 0.0, "limit_s": 0, "data": None}
            else:
                entry = do(step, context, available)
        except Interrupted as interruption:
            for later in steps[number:]:
                results.data["steps"][later.name] = {"title": later.title, "status": "interrupted" if later is step else "not run",
                                                     "reason": str(interruption), "seconds": 0.0, "limit_s": 0, "data": None}
            results.finish("failed")
            raise
        results.add(step.name, entry)
        tell(f"  {entry['status']}, {entry['seconds']:.1f} s" + (f": {entry['reason']}" if entry["reason"] else ""))
        if step.name in stop_after_first_failure and entry["status"] != "passed":
            break
    found = verdict(results.data["steps"])
    results.finish("incomplete" if partial and found == "passed" else found)
