"""The figures a GPU must show, from one result. Nothing here is judged in a dry run."""

from .programs import LAUNCH_HEAVY


def promises(data):
    """List of {name, bound, value (None: not measured), met}."""
    steps = data["steps"]
    found = []
    programs = (steps.get("programs", {}).get("data") or {}).get("programs", {})
    for name in LAUNCH_HEAVY:
        value = programs.get(f"o3/{name}", {}).get("ratio")
        found.append({"name": f"{name} through the pool, wall time / native", "bound": "≤ 1.05", "value": value,
                      "met": value is not None and value <= 1.05})
    found.append(_host_to_device(steps))
    return found


def _host_to_device(steps):
    remoting = (steps.get("remoting", {}).get("data") or {}).get("h2d_pinned_gb_per_s")
    probe = next((m["gb_per_s"] for m in (steps.get("probe", {}).get("data") or {}).get("measurements", [])
                  if m["name"] == "copy host to device" and m.get("bytes") == 64 << 20 and "gb_per_s" in m), None)
    value = round(remoting / probe, 3) if remoting and probe else None
    return {"name": "host to device, pinned, 64 MiB, pool / probe", "bound": "≥ 0.95", "value": value, "met": value is not None and value >= 0.95}
