"""A function that keeps state on its GPU and checks its own answers (test/programs/function_server.cu), started as a user starts it."""

import select
import subprocess

PATIENCE = 60


class Function:
    """`mib`: its state. Ready to be asked when it has been made. `options`: of rouse run."""

    def __init__(self, daemon, rouse, program, name, kind, mib, seed=7, options=()):
        self.name, self.kind = name, kind
        self.process = subprocess.Popen([rouse, "run", *options, "--name", name, "--", program, "serve", kind, str(mib), str(seed)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1, env=daemon.environment)
        self.requests = 0
        self.expect("ready")

    def expect(self, line):
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            raise RuntimeError(f"{self.name}: no '{line}' within {PATIENCE} s")
        got = self.process.stdout.readline().rstrip("\n")
        if got != line:
            raise RuntimeError(f"{self.name}: '{got}', not '{line}'")

    def begin(self):
        self.requests += 1
        self.process.stdin.write(f"{self.requests}\n")
        self.process.stdin.flush()

    def finishes(self, seconds):
        """Whether the answer to what was begun comes in time; it is not read."""
        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def finish(self):
        self.expect(f"{self.requests} ok")

    def ask(self):
        self.begin()
        self.finish()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
