"""What ELF files need of the machine they run on: shared libraries, and versions of the C library's symbols. Reads what readelf prints."""

import dataclasses
import pathlib
import re
import subprocess

# The parts of glibc. Everything else must come along.
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libresolv.so.2", "ld-linux-x86-64.so.2"}

_NEEDED = re.compile(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]")
_SEARCH = re.compile(r"\((RPATH|RUNPATH)\)\s+Library r(?:un)?path: \[([^\]]*)\]")
_VERSION = re.compile(r"\bGLIBC_(\d+(?:\.\d+)+)\b")


@dataclasses.dataclass
class Needs:
    libraries: list
    search: list    # RPATH and RUNPATH entries
    glibc: tuple    # the newest version of a symbol it needs, (2, 34); () for none


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def parse(dynamic, versions):
    """From the text of `readelf -dW` and `readelf -VW`."""
    needed_section = versions[versions.find("Version needs section"):] if "Version needs section" in versions else ""
    found = [tuple(int(n) for n in v.split(".")) for v in _VERSION.findall(needed_section)]
    search = [entry for _, paths in _SEARCH.findall(dynamic) for entry in paths.split(":") if entry]
    return Needs(_NEEDED.findall(dynamic), search, max(found, default=()))


def needs(path):
    """Raises subprocess.CalledProcessError where readelf cannot read the file."""
    def readelf(what):
        return subprocess.run(["readelf", what, str(path)], check=True, capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout
    return parse(readelf("-dW"), readelf("-VW"))


def complaints(found, carried):
    """What keeps the files of `found` (name -> Needs) from running elsewhere. `carried`: names of shared libraries that come along."""
    problems = []
    for name, need in sorted(found.items()):
        for library in need.libraries:
            if library not in GLIBC and library not in carried:
                problems.append(f"{name} needs {library}, which is not the C library's and does not come along")
        for entry in need.search:
            if not entry.startswith("$ORIGIN"):
                problems.append(f"{name} looks for libraries in {entry}, a folder of this machine")
    return problems


def newest(found):
    """(version, name of a file that needs it); ((), None) when none needs any."""
    return max(((need.glibc, name) for name, need in found.items()), default=((), None), key=lambda pair: pair[0])


def elf_files(folder):
    """All ELF files below a folder, links left out."""
    return [path for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file() and not path.is_symlink() and is_elf(path)]
