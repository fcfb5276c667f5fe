"""Where everything lies: beside these files in a bundle, in a build folder in a source tree. Both have one inner order."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/system"))  # daemon.py, in a bundle as well


# Sources by their place in the tree, wherever that was when they were built.
_SOURCE = re.compile(r"\S*/(test/\S+\.(?:cc|cu|h):)")


def by_place_in_tree(text):
    """Without the folders of the machine on which the tests were built."""
    return _SOURCE.sub(r"\1", text)


class Place:
    """Paths only; nothing is opened. `build` holds bin/, lib/ and test/."""

    def __init__(self, build=None):
        self.root = ROOT
        self.is_bundle = (ROOT / "bin/rouse-executor").exists()
        self.build = pathlib.Path(build).resolve() if build else ROOT if self.is_bundle else ROOT / "build/release"
        self.bin = self.build / "bin"
        self.conformance = self.build / "test/test-conformance"
        self.programs = self.build / "test/programs"
        self.run_programs = ROOT / "test/programs/run-programs"
        # The toolkit's own runtime, for native runs; C++ libraries for programs, used on machines that have none.
        self.native_runtime = self.build / "lib/native"
        self.program_libraries = self.build / "lib/programs"
        # Only a build tree has these: they need LLVM.
        self.double = self.build / "test/cuda-double/libcuda.so.1"
        self.cpu_backend = self.build / "lib/rouse-backends/librouse-device-cpu.so"

    @property
    def results(self):
        """Where results of real runs go."""
        return ROOT / "results" if self.is_bundle else ROOT / "bench/results"

    @property
    def dry_results(self):
        return ROOT / "dry-run-results" if self.is_bundle else ROOT / "build/gpu-check-dry-run"

    def missing(self):
        """What a check cannot do without and is not there."""
        needed = [self.bin / name for name in ("rouse", "roused", "rouse-executor", "rouse-bench", "rouse-probe")]
        needed += [self.build / "lib/rouse-backends/librouse-device-cuda.so", self.conformance, self.programs / "o3", self.run_programs]
        return [str(path) for path in needed if not path.exists()]
