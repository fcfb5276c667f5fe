"""PyTorch with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (test/pytorch/run starts it): its allocator reserves more addresses than the GPU has memory, for
each stream and size of blocks, and maps memory there as it needs it (cuMemAddressReserve, cuMemCreate, cuMemMap, cuMemSetAccess, cuMemUnmap)."""

import sys

import torch

MIB = 1 << 20


def segments():
    return [segment for segment in torch.cuda.memory_snapshot() if segment["is_expandable"]]


def random(mib):
    return torch.randint(-(1 << 30), 1 << 30, (mib * MIB // 4,), dtype=torch.int32)


def main():
    kept = {}
    # Growing: blocks of more than a piece of 20 MiB, one behind the other in one segment, each right while the others come and go.
    for step, mib in enumerate((3, 30, 50, 70, 1, 45)):
        host = random(mib)
        kept[step] = (host, host.cuda())
        if step % 2:
            host, device = kept.pop(step - 1)
            assert torch.equal(device.cpu(), host), f"block {step - 1}"
            del device
    assert segments(), "no segment of the allocator's is expandable"
    for step, (host, device) in kept.items():
        assert torch.equal(device.cpu(), host), f"block {step}"
        assert torch.equal(device.clone().cpu(), host), f"copy of block {step} on the device"
    held = torch.cuda.memory_reserved()
    free = torch.cuda.mem_get_info()[0]

    # What is given up is free, and what is left is whole.
    host, device = kept.pop(next(iter(kept)))
    del device
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() < held and torch.cuda.mem_get_info()[0] > free, "nothing was given back"
    for step, (host, device) in kept.items():
        assert torch.equal(device.cpu(), host), f"block {step} after empty_cache()"

    # Products, also on a stream with segments of its own.
    p, q = torch.randn(700, 900), torch.randn(900, 600)
    wanted = p @ q
    side = torch.cuda.Stream()
    for stream in (torch.cuda.current_stream(), side):
        with torch.cuda.stream(stream):
            product = (p.cuda() @ q.cuda()).cpu()
        assert torch.allclose(product, wanted, rtol=1e-3, atol=1e-2), "a product"

    # As much as there is, and then again.
    for _ in range(2):
        total, blocks = torch.cuda.mem_get_info()[1], []
        try:
            while True:
                blocks.append(torch.empty(100 * MIB, dtype=torch.uint8, device="cuda"))
        except torch.cuda.OutOfMemoryError:
            pass
        assert len(blocks) >= total // (100 * MIB) * 3 // 4, f"out of memory after {len(blocks)} blocks of 100 MiB of {total // MIB} MiB"
        del blocks
        torch.cuda.empty_cache()
    for step, (host, device) in kept.items():
        assert torch.equal(device.cpu(), host), f"block {step} at the end"
    return 0


if __name__ == "__main__":
    sys.exit(main())
