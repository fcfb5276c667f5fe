#!/usr/bin/env python3
"""Three small networks with random weights, in PyTorch, on whatever GPU this process sees. Prints one JSON object a line: what
the process runs on, then each network's output hash and median latency. Knows nothing of pools."""

import hashlib
import json
import pathlib
import statistics
import sys
import time

import torch
from torch import nn

WARM, RUNS = 3, 20


def convolutional():
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1),
                        nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 100))
    return net, (torch.randn(8, 3, 64, 64),), lambda net, x: net(x)


def transformer():
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), (torch.randn(4, 64, 128),), lambda net, x: net(x)


class Decoder(nn.Module):
    """One attention layer with a cache that grows by a token a step: state that kernels write and read again."""

    def __init__(self, words=1000, width=128):
        super().__init__()
        self.embed, self.qkv, self.out = nn.Embedding(words, width), nn.Linear(width, 3 * width), nn.Linear(width, words)
        self.width = width

    def forward(self, token, steps):
        keys, values, produced = [], [], []
        for _ in range(steps):
            q, k, v = self.qkv(self.embed(token)).split(self.width, dim=-1)
            keys.append(k)
            values.append(v)
            weights = torch.softmax((q.unsqueeze(1) @ torch.stack(keys, 1).transpose(1, 2)) / self.width**0.5, dim=-1)
            logits = self.out((weights @ torch.stack(values, 1)).squeeze(1))
            token = logits.argmax(dim=-1)
            produced.append(logits)
        return torch.stack(produced)


def autoregressive():
    return Decoder(), (torch.tensor([1, 2, 3, 4]),), lambda net, token: net(token, 32)


NETWORKS = {"convolutional": convolutional, "transformer": transformer, "autoregressive decode": autoregressive}


def measure(build):
    torch.manual_seed(7)
    net, inputs, call = build()
    net = net.eval().cuda()
    inputs = [x.cuda() for x in inputs]
    hashes, seconds, values = set(), [], None
    with torch.no_grad():
        for number in range(WARM + RUNS):
            torch.cuda.synchronize()
            began = time.perf_counter()
            output = call(net, *inputs)
            torch.cuda.synchronize()
            if number >= WARM:
                seconds.append(time.perf_counter() - began)
            values = output.float().cpu().contiguous()
            hashes.add(hashlib.sha256(values.numpy().tobytes() if _has_numpy() else bytes(values.view(torch.uint8).flatten().tolist())).hexdigest())
    if not bool(torch.isfinite(values).all()):
        raise ValueError("the output has values that are not finite")
    return {"hashes": sorted(hashes), "ms_p50": round(statistics.median(seconds) * 1e3, 4),
            "sample": [round(v, 5) for v in values.flatten()[:8].tolist()], "magnitude": float(values.abs().max()),
            "sum": float(values.double().sum()), "count": values.numel()}


def _has_numpy():
    try:
        import numpy  # noqa: F401
        return True
    except ImportError:
        return False


def libraries():
    """The CUDA libraries this process has: through which runtime it went, and which of them go to the driver on their own."""
    names = ("libcudart", "libcuda.so", "libcublas", "libcudnn", "libcufft", "libcurand", "libcusparse",
             "libcusolver.so")
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return sorted({line.split()[-1] for line in lines if "/" in line and any(name in line.rsplit("/", 1)[-1] for name in names)})


def main():
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.backends.cuda.matmul.allow_tf32 = False
    print(json.dumps({"torch": torch.__version__, "cuda": torch.version.cuda}), flush=True)
    for name, build in NETWORKS.items():
        line = {"name": name}
        try:
            line.update(measure(build))
        except Exception as error:  # the next one may work
            line["error"] = f"{type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else ''}"
        print(json.dumps(line), flush=True)
    print(json.dumps({"libraries": libraries()}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
