"""torch.linalg on the CPU device (test/pytorch/run starts it): what PyTorch calls of cuSOLVER and cuBLAS for it, with PyTorch's own kernels done by the processor
(host_kernels.py) where the build has none for the device.

linear_algebra.py --report FILE [--ptx]

Results are compared with the processor's where there is one result (inverses, solutions, singular values, eigenvalues), else by what must be true of them: products are the
matrix, vectors are orthonormal.
"""

import argparse
import json
import pathlib
import sys
import warnings

import torch

import host_kernels

TYPES = (torch.float, torch.double, torch.cfloat, torch.cdouble)
checks = {}


def check(name, body):
    try:
        body()
        checks[name] = "passed"
    except Exception as error:  # noqa: BLE001
        checks[name] = "failed"
        print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", flush=True)
    print(f"{checks[name]:>10}  {name}", flush=True)


def close(got, wanted, loose=1):
    got, wanted = got.cpu(), torch.as_tensor(wanted).cpu()
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, f"{got.dtype} {tuple(got.shape)}, not {wanted.dtype} {tuple(wanted.shape)}"
    allowed = loose * 400 * torch.finfo(wanted.dtype).eps * max(1.0, wanted.abs().max().item())
    apart = (got - wanted).abs().max().item()
    assert apart <= allowed, f"apart by {apart:g}, at most {allowed:g}"


def orthonormal(q):
    q = q.cpu()
    close(q.mH @ q, torch.eye(q.shape[-1], dtype=q.dtype).expand(q.shape[:-2] + (q.shape[-1],) * 2))


def random(*shape, dtype):
    return torch.randn(*shape, dtype=dtype)


def positive(*shape, dtype):
    a = random(*shape, dtype=dtype)
    return a @ a.mH + shape[-1] * torch.eye(shape[-1], dtype=dtype)


def both(name, operation, *tensors, loose=1):
    """On the device what it is on the processor."""
    check(name, lambda: close(operation(*(t.cuda() for t in tensors)), operation(*tensors), loose))


def systems(kind, dtype, shape):
    a, right = positive(*shape, dtype=dtype) + random(*shape, dtype=dtype), random(*shape[:-1], 3, dtype=dtype)
    symmetric = positive(*shape, dtype=dtype)
    both(f"solve {kind}", torch.linalg.solve, a, right)
    both(f"inv {kind}", torch.linalg.inv, a)
    both(f"det {kind}", torch.linalg.det, a / shape[-1], loose=10)
    both(f"slogdet {kind}", lambda t: torch.linalg.slogdet(t)[1], a)
    both(f"cholesky {kind}", torch.linalg.cholesky, symmetric)
    both(f"cholesky of the upper triangle {kind}", lambda t: torch.linalg.cholesky(t, upper=True), symmetric)

    def lu():
        packed, pivots = torch.linalg.lu_factor(a.cuda())
        p, lower, upper = torch.lu_unpack(packed.cpu(), pivots.cpu())
        close(p @ lower @ upper, a)
        close(a @ torch.linalg.lu_solve(packed, pivots, right.cuda()).cpu(), right)

    check(f"lu_factor {kind}", lu)


def single(kind, dtype):
    """What PyTorch does of single matrices by cuSOLVER, and of batches by other libraries."""
    n = 12
    symmetric, right = positive(n, n, dtype=dtype), random(n, 2, dtype=dtype)
    factor = torch.linalg.cholesky(symmetric)
    both(f"cholesky_solve {kind}", torch.cholesky_solve, right, factor)
    both(f"cholesky_inverse {kind}", torch.cholesky_inverse, factor)
    indefinite = random(n, n, dtype=dtype)
    indefinite = indefinite + indefinite.mT

    def ldl():
        packed, pivots = torch.linalg.ldl_factor(indefinite.cuda())
        close(indefinite @ torch.linalg.ldl_solve(packed, pivots, right.cuda()).cpu(), right, 100)

    check(f"ldl_factor {kind}", ldl)
    tall, wide = random(20, n, dtype=dtype), random(n, 20, dtype=dtype)
    both(f"lstsq {kind}", lambda p, q: torch.linalg.lstsq(p, q).solution, tall, random(20, 3, dtype=dtype), loose=10)
    both(f"pinv {kind}", torch.linalg.pinv, tall, loose=10)
    both(f"pinv of a wide matrix {kind}", torch.linalg.pinv, wide, loose=10)
    check(f"matrix_rank {kind}", lambda: close(torch.linalg.matrix_rank(tall[:, :5].cuda() @ wide[:5].cuda()).double(), 5.0 * torch.ones((), dtype=torch.double)))
    both(f"cond {kind}", torch.linalg.cond, symmetric, loose=10)
    sides = random(20, 4, dtype=dtype)
    reflections, tau = torch.geqrf(tall)
    both(f"householder_product {kind}", torch.linalg.householder_product, reflections, tau)
    both(f"ormqr {kind}", lambda p, q, r: torch.ormqr(p, q, r, transpose=True), reflections, tau, sides)


def decompositions(kind, dtype, shape):
    m, n = shape[-2:]
    a = random(*shape, dtype=dtype)

    for mode in ("reduced", "complete"):
        def qr():
            q, r = torch.linalg.qr(a.cuda(), mode=mode)
            orthonormal(q)
            close(q.cpu() @ r.cpu(), a)

        check(f"qr {mode} {kind}", qr)

    for driver in (None, "gesvd", "gesvdj", "gesvda"):
        for full in (False, True) if driver != "gesvda" else (False,):  # which has so many vectors as there are values
            def svd():
                u, s, vh = torch.linalg.svd(a.cuda(), full_matrices=full, driver=driver)
                orthonormal(u)
                orthonormal(vh.mH)
                least = min(m, n)
                close((u.cpu()[..., :least] * s.cpu().unsqueeze(-2)) @ vh.cpu()[..., :least, :], a)
                close(s, torch.linalg.svdvals(a))

            check(f"svd by {driver or 'what PyTorch chooses'}{', full' if full else ''} {kind}", svd)
    both(f"svdvals {kind}", torch.linalg.svdvals, a)


def eigenvalues(kind, dtype, shape):
    a = random(*shape, dtype=dtype)
    symmetric = a + a.mH

    for half in ("L", "U"):
        def eigh():
            values, vectors = torch.linalg.eigh(symmetric.cuda(), UPLO=half)
            orthonormal(vectors)
            close(symmetric @ vectors.cpu(), vectors.cpu() * values.cpu().unsqueeze(-2))
            close(values, torch.linalg.eigvalsh(symmetric))

        check(f"eigh {half} {kind}", eigh)
    both(f"eigvalsh {kind}", torch.linalg.eigvalsh, symmetric)

    # Real matrices' vectors are put together by a kernel that no operation of the dispatcher is.
    def eig():
        if dtype.is_complex:
            values, vectors = torch.linalg.eig(a.cuda())
            close(a @ vectors.cpu(), vectors.cpu() * values.cpu().unsqueeze(-2))
        values = torch.linalg.eigvals(a.cuda()).cpu()
        powers = [(values ** power).sum(-1) for power in (1, 2)]
        for power, matrix in zip(powers, (a, a @ a)):
            close(power, torch.diagonal(matrix, dim1=-2, dim2=-1).sum(-1).to(values.dtype), 10)

    check(f"eig {kind}", eig)


def ours():
    """It is the pool's cuSOLVER that has done it."""
    loaded = {line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if "/libcusolver.so" in line}
    assert loaded and all((pathlib.Path(path).parent / "librouse-redirect.so").exists() for path in loaded), loaded


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", type=pathlib.Path, required=True)
    parser.add_argument("--ptx", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    if not options.ptx:
        host_kernels.install()
    for dtype in TYPES:
        name = str(dtype)[6:]
        single(name, dtype)
        for kind, batch in ((name, ()), (f"{name}, a batch", (5,))):
            systems(kind, dtype, (*batch, 14, 14))
            decompositions(kind, dtype, (*batch, 17, 9))
            decompositions(f"{kind}, wide", dtype, (*batch, 8, 13))
            eigenvalues(kind, dtype, (*batch, 11, 11))
    check("torch.linalg's cuSOLVER is the pool's", ours)
    options.report.write_text(json.dumps(checks))
    return 0


if __name__ == "__main__":
    sys.exit(main())
