"""The readable page of a result, made from the JSON and from nothing else."""


def markdown(data):
    """Works for any result, also an unfinished one: what is missing is said to be missing."""
    gpu = data.get("gpu") or {}
    name = gpu.get("name", "GPU unknown")
    lines = [f"# {name}, {data['began'][:10]}: {data['verdict']}", ""]
    if data["dry_run"]:
        lines += ["**A dry run: no GPU was involved.** The driver is a double on the CPU device; no figure here says anything about a GPU.", ""]
    machine = data["machine"]
    lines += [f"Rouse {data['rouse']}; began {data['began']}, at most {data['limit_s']:.0f} s.",
              f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}, {machine['libc']}."]
    if gpu:
        lines += [f"{gpu.get('devices', '?')} × {name}, {_mib(gpu.get('memory_bytes'))}, compute {gpu.get('compute', '?')}, "
                  f"driver CUDA {gpu.get('driver_version', '?')}."]
    lines += ["", "| step | | time | why |", "|---|---|---|---|"]
    for step in data["steps"].values():
        lines.append(f"| {_cell(step['title'])} | {step['status']} | {step['seconds']:.1f} s | {_cell(step['reason'] or '')} |")
    lines += _promises(data["promises"])
    for key, section in (("probe", _probe), ("conformance", _conformance), ("programs", _programs), ("remoting", _figures), ("swap", _figures),
                         ("serve", _figures), ("networks", _networks), ("memory", _memory)):
        step = data["steps"].get(key)
        if step and step["data"]:
            lines += ["", f"## {step['title']}", ""]
            try:
                lines += section(step["data"])
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                lines += [f"The data of this step cannot be shown ({type(error).__name__}: {error}); see the JSON."]
    return "\n".join(lines) + "\n"


def _cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def _mib(count):
    return "?" if count is None else f"{count / (1 << 20):.0f} MiB"


def _size(count):
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << bits:
            return f"{count / (1 << bits):g} {unit}"
    return f"{count} B"


def _promises(promises):
    if not promises:
        return []
    lines = ["", "| promise | bound | measured | met |", "|---|---|---|---|"]
    for one in promises:
        value = "not measured" if one["value"] is None else f"{one['value']:.3f}"
        lines.append(f"| {_cell(one['name'])} | {_cell(one['bound'])} | {value} | {'yes' if one['met'] else 'no'} |")
    return lines


def _probe(data):
    lines = ["| measured | size | median | |", "|---|---|---|---|"]
    for one in data["measurements"]:
        size = _size(one["bytes"]) if "bytes" in one else ""
        if "mappings" in one:
            size = f"{one['mappings']} × {size}"
        if "error" in one or "skipped" in one:
            lines.append(f"| {_cell(one['name'])} | {size} | not measured | {_cell(one.get('error') or one['skipped'])} |")
            continue
        value = f"{one['gb_per_s']:.2f} GB/s" if "gb_per_s" in one else f"{one['us_p50']:.2f} µs"
        waited = f", the kernel was over after {one['waited']}" if one.get("waited") else ""
        lines.append(f"| {_cell(one['name'])} | {size} | {value} | {one['samples']} samples{waited} |")
    return lines


def _conformance(data):
    lines = [f"{data['passed']} cases passed, {len(data['failed'])} failed, {len(data['left_out'])} left out, {len(data['not_run'])} not run."]
    lines += [f"- failed: {_cell(case)}: {_cell(why)}" for case, why in data["failed"].items()]
    lines += [f"- left out: {_cell(case)}" for case in data["left_out"]]
    return lines + [f"- not run: {_cell(case)}" for case in data["not_run"]]


def _programs(data):
    compared = data.get("compared", data["runs"])  # results before 2026-11-28 compared all of them
    rest = f", {data['runs'] - compared} ran through the pool alone" if compared != data["runs"] else ""
    lines = [f"{data['passed']} of {data['runs']} passed; {compared} compared with: {data['reference']}{rest}. {len(data['known_gaps'])} known gaps, "
             f"{len(data['not_run'])} not run."]
    for name in data["failed"]:
        entry = data["programs"][name]
        why = "output differs from the native one"
        if "difference" in entry:
            one = entry["difference"]
            here, there = ("nothing" if one[side] is None else repr(one[side]) for side in ("native", "pool"))
            why += f" in line {one['line']}: {there}, natively {here}"
        for side in ("native", "pool"):
            why = f"{side}: {entry[side]}" if entry[side] else why
        if "when_timed" in entry:
            why = f"when run again: {next(p for p in entry['when_timed'] if p)}"
        lines.append(f"- failed: {name}: {_cell(why)}")
    lines += [f"- known gap: {name}: {_cell(data['programs'][name]['known_gap'])}" for name in data["known_gaps"]]
    lines += [f"- not run: {', '.join(data['not_run'])}"] if data["not_run"] else []
    lines += [f"- calls not supported: {_calls(data.get('unsupported_calls'))}"]
    timed = {name: entry for name, entry in data["programs"].items() if "ratio" in entry}
    if timed:
        lines += ["", "| program | native | pool | pool / native | runs |", "|---|---|---|---|---|"]
        for name, entry in sorted(timed.items(), key=lambda item: -item[1]["ratio"]):
            mark = " (launch-heavy)" if name.split("/")[-1] in data["launch_heavy"] else ""
            lines.append(f"| {name}{mark} | {entry['native_s']:.3f} s | {entry['pool_s']:.3f} s | {entry['ratio']:.2f} | {entry['timed_runs']} |")
    return lines


def _calls(calls):
    if calls is None:
        return "not known"
    return ", ".join(f"{name} ({count})" for name, count in sorted(calls.items())) or "none"


def _figures(data):
    lines = ["| figure | |", "|---|---|"]
    return lines + [f"| {_cell(key)} | {value:.6g} |" for key, value in data.items() if isinstance(value, (int, float)) and key != "schema"]


def _networks(data):
    lines = ["| network | outputs | native | pool | pool / native | |", "|---|---|---|---|---|---|"]
    for one in data["networks"]:
        native = f"{one['native_ms_p50']:.3f} ms" if "native_ms_p50" in one else ""
        pool, ratio = (f"{one['pool_ms_p50']:.3f} ms", f"{one['ratio']:.2f}") if "ratio" in one else ("", "")
        lines.append(f"| {one['name']} | {one['outputs']} | {native} | {pool} | {ratio} | {_cell(one['reason'] or '')} |")
    return lines + ["", f"Calls not supported: {_calls(data['unsupported_calls'])}."]


def _memory(data):
    if "free_after_bytes" not in data:
        return ["Not known."]
    return [f"Free before: {_mib(data['free_before_bytes'])}; free after the last daemon had stopped: {_mib(data['free_after_bytes'])}."]
