"""One of several processes whose tensors do not fit on a GPU together (test/pytorch/run): turns.py SEED. Products with weights that stay on the device, each
compared with the same on the processor; at the end the weights themselves. Exits 1 if anything differs."""

import sys
import time

import torch

torch.manual_seed(int(sys.argv[1]))
weights = [torch.randn(2048, 2048) for _ in range(12)]  # 192 MiB
there = [w.cuda() for w in weights]
wrong = 0
for turn in range(10):
    x = torch.randn(64, 2048)
    got, expected = x.cuda(), x
    for w in there[turn % 4 :][:3]:
        got = got @ w
    for w in weights[turn % 4 :][:3]:
        expected = expected @ w
    wrong += not torch.allclose(got.cpu(), expected, rtol=1e-4, atol=1e-4 * expected.abs().max().item())
    time.sleep(0.2)  # long enough that somebody else may have the GPU
wrong += sum(not torch.equal(w.cpu(), v) for w, v in zip(there, weights))
sys.exit(1 if wrong else 0)
