"""What functions of functions.d answer (test/programs/http_function.cu), worked out once more, and how they are asked."""

import http.client
import socket

MASK = (1 << 64) - 1
WORDS = 4096
# What README.md and server/router/README.md say a client can be told of a well-formed request. 500: the function's own, when its GPU has gone.
DOCUMENTED = {200, 500, 502, 503, 504}


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


class Expected:
    """sum of w[i] * (x + i) is linear in x."""

    def __init__(self, seed):
        weights = [mix(seed + i) & 0xFFFFFFFF for i in range(WORDS)]
        self.a, self.b = sum(weights), sum(w * i for i, w in enumerate(weights))

    def of(self, x):
        return (self.a * x + self.b) & MASK


class Client(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)
