"""What is checked of PyTorch in the pool (test/pytorch/run starts it): each result against PyTorch's own on the processor.

checks.py --library-folder FOLDER --report FILE [--ptx]

--ptx: the build has PTX of its kernels. The builds on PyPI have none, and machine code for GPUs is nothing that the CPU device can run: there an
operation that is a kernel of PyTorch's own has to end with CUDA's error for that, and those that are not have to work.
"""

import argparse
import ctypes
import json
import pathlib
import sys
import time
import traceback

BEGIN = time.monotonic()
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

IMPORTED = time.monotonic() - BEGIN
NO_KERNEL = "no kernel image is available"
checks, figures = {}, {"import_inside_s": round(IMPORTED, 2)}
options = None


def note(name, result, why=""):
    checks[name] = result
    print(f"{result:>10}  {name}" + (f": {why}" if why else ""), flush=True)


def check(name, body):
    """`body` returns true, or raises."""
    try:
        right = body()
    except Exception as error:  # noqa: BLE001
        note(name, "failed", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        return
    note(name, "passed" if right else "failed", "" if right else "a wrong result")


def agree(got, expected):
    if got.device.type == "cuda":
        got = got.cpu()
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return False
    tolerance = 1e-2 if expected.dtype in (torch.half, torch.bfloat16) else 1e-4
    if expected.is_complex():
        got, expected = torch.view_as_real(got), torch.view_as_real(expected)
    got, expected = got.double(), expected.double()
    if torch.allclose(got, expected, rtol=tolerance, atol=tolerance * expected.abs().max().item()):
        return True
    difference = (got - expected).abs()
    raise ValueError(f"{int((difference > tolerance).sum())} of {difference.numel()} elements differ, by up to {difference.max().item():g} (largest: "
                     f"{expected.abs().max().item():g})")


def same(name, operation, *tensors):
    """The operation on the device gives what it gives on the processor."""
    check(name, lambda: agree(operation(*(t.cuda() for t in tensors)), operation(*tensors)))


def kernel(name, operation, *tensors, compiled=False):
    """An operation that launches kernels of PyTorch's own (in some versions: `zeros` is one in 2.11, and a fill of memory in 2.15): right, or refused
    where there is no PTX. `compiled`: at run time, always to machine code."""
    try:
        right = agree(operation(*(t.cuda() for t in tensors)), operation(*tensors))
    except (RuntimeError, ValueError) as error:
        refused = NO_KERNEL in str(error) and (compiled or not options.ptx)
        note(name, "refused" if refused else "failed", "" if refused else str(error).splitlines()[0])
        return
    note(name, "passed" if right else "failed", "" if right else "a wrong result")


def scaled(p, q, scale_p, scale_q, out):
    """8-bit floats: p by q's transpose."""
    got = torch._scaled_mm(p.cuda(), q.cuda().T, scale_a=scale_p.cuda(), scale_b=scale_q.cuda(), out_dtype=out).cpu()
    wanted = (p.float() * scale_p) @ (q.float().T * scale_q)
    if out == torch.float8_e4m3fn:  # half of a last place, or of the smallest number
        return bool(((got.float() - wanted).abs() <= 0.0626 * wanted.abs() + 0.001).all())
    return agree(got, wanted.to(out))


def devices():
    check("is_available", torch.cuda.is_available)
    check("device_count", lambda: torch.cuda.device_count() == 1)
    check("get_device_properties", lambda: torch.cuda.get_device_properties(0).total_memory == 2 << 30)
    check("get_device_capability", lambda: torch.cuda.get_device_capability() == (9, 0))
    check("get_device_name", lambda: torch.cuda.get_device_name() == "Rouse CPU Device")
    check("mem_get_info", lambda: 0 < torch.cuda.mem_get_info()[0] <= torch.cuda.mem_get_info()[1] == 2 << 30)
    check("libraries are the pool's", libraries)


def libraries():
    """Nothing of NVIDIA's that the pool replaces is in the process."""
    folder = str(pathlib.Path(options.library_folder).resolve())
    loaded = {line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines() if "/libcu" in line}
    replaced = {path.name for path in pathlib.Path(folder).glob("libcu*")}
    mine = [path for path in loaded if pathlib.Path(path).name in replaced]
    return len(mine) >= 3 and all(path.startswith(folder) for path in mine)


def memory():
    begin = time.monotonic()
    torch.empty(4, 4, device="cuda")
    torch.cuda.synchronize()
    figures["first_allocation_ms"] = round((time.monotonic() - begin) * 1e3, 1)
    x = torch.randn(333, 77)
    big = torch.randint(0, 255, (64 << 20,), dtype=torch.uint8)
    check("copy there and back", lambda: torch.equal(x.cuda().cpu(), x))
    check("copy of 64 MiB", lambda: torch.equal(big.cuda().cpu(), big))
    check("pinned, non_blocking", lambda: torch.equal(x.pin_memory().cuda(non_blocking=True).cpu(), x))
    check("tensor of numbers", lambda: torch.tensor([1.5, -2.0], device="cuda").cpu().tolist() == [1.5, -2.0])
    check("clone", lambda: torch.equal(x.cuda().clone().cpu(), x))
    check("copy_ on the device", lambda: torch.equal(torch.empty(333, 77, device="cuda").copy_(x.cuda()).cpu(), x))
    check("views and slices", lambda: torch.equal(x.cuda()[10:20].cpu(), x[10:20]))
    check("item", lambda: x.cuda()[3, 5].item() == x[3, 5].item())
    check("state_dict", state_dict)
    check("out of memory", out_of_memory)
    check("memory_allocated", lambda: torch.cuda.max_memory_allocated() >= 64 << 20)
    check("empty_cache", lambda: torch.cuda.empty_cache() is None)


def state_dict():
    model = torch.nn.Linear(16, 8)
    there = torch.nn.Linear(16, 8, device="meta").to_empty(device="cuda")
    there.load_state_dict(model.state_dict())
    return all(torch.equal(v.cpu(), model.state_dict()[k]) for k, v in there.state_dict().items())


def out_of_memory():
    try:
        torch.empty(4 << 30, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        return torch.empty(1 << 20, device="cuda").numel() == 1 << 20
    return False


def products():
    a, b, v = torch.randn(128, 96), torch.randn(96, 160), torch.randn(96)
    begin = time.monotonic()
    (a.cuda() @ b.cuda()).cpu()
    figures["first_product_ms"] = round((time.monotonic() - begin) * 1e3, 1)
    for dtype in (torch.float, torch.double, torch.half, torch.bfloat16, torch.complex64):
        same(f"matmul {str(dtype)[6:]}", torch.matmul, a.to(dtype), b.to(dtype))
    same("matmul transposed", lambda p, q: p.T @ q.T, b, a)
    same("matrix times vector", torch.mv, a, v)
    same("dot", torch.dot, v, v.flip(0))
    same("bmm", torch.bmm, a.view(4, 32, 96), b.view(4, 96, 40))
    same("addmm", torch.addmm, torch.randn(128, 160), a, b)
    same("baddbmm", torch.baddbmm, torch.randn(4, 32, 40), a.view(4, 32, 96), b.view(4, 96, 40))
    bias = torch.randn(160)
    for dtype in (torch.float, torch.half, torch.bfloat16):
        same(f"linear with bias {str(dtype)[6:]}", F.linear, a.to(dtype), b.T.contiguous().to(dtype), bias.to(dtype))
    # On GPUs this is cuBLASLt's GELU, by tanh.
    check("linear with bias and GELU", lambda: agree(torch._addmm_activation(bias.cuda(), a.cuda(), b.cuda(), use_gelu=True),
                                                     F.gelu(torch.addmm(bias, a, b), approximate="tanh")))
    check("linear with bias and ReLU", lambda: agree(torch._addmm_activation(bias.cuda(), a.cuda(), b.cuda()), torch.relu(torch.addmm(bias, a, b))))
    for one, other, out in ((torch.float8_e4m3fn, torch.float8_e4m3fn, torch.bfloat16), (torch.float8_e5m2, torch.float8_e4m3fn, torch.half),
                            (torch.float8_e4m3fn, torch.float8_e5m2, torch.float), (torch.float8_e4m3fn, torch.float8_e4m3fn, torch.float8_e4m3fn)):
        check(f"scaled product {str(one)[13:]} by {str(other)[13:]} to {str(out)[6:]}", lambda: scaled(a.to(one), b.T.contiguous().to(other), torch.tensor(1.5), torch.tensor(0.75), out))
    check("scaled product, scales of rows", lambda: scaled(a.to(torch.float8_e4m3fn), b.T.contiguous().to(torch.float8_e4m3fn), torch.rand(128, 1) + 0.5,
                                                          torch.rand(1, 160) + 0.5, torch.bfloat16))
    gradient = torch.randn(128, 160)
    for which in (0, 1):
        same(f"gradient of matmul by operand {which + 1}", lambda p, q, g: gradients(torch.matmul, p, q, g)[which], a, b, gradient)
    big = torch.randn(1024, 1024)
    there = big.cuda()
    begin = time.monotonic()
    result = there @ there
    torch.cuda.synchronize()
    figures["product_1024_ms"] = round((time.monotonic() - begin) * 1e3, 1)
    check("matmul of 1024", lambda: agree(result, big @ big))
    check("streams and events", lambda: streams(a, b))
    check("a kernel of one's own", own_kernel)
    check("a factorisation of a batch by PyTorch's handle of cuBLAS", factorised)


def streams(a, b):
    stream, first, last = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        p, q = a.cuda(), b.cuda()
        first.record()
        result = p @ q
        last.record()
    torch.cuda.current_stream().wait_stream(stream)
    last.synchronize()
    return agree(result, a @ b) and first.elapsed_time(last) >= 0


PTX = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 data, .param .u32 n, .param .f64 factor)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .f64 %fd<2>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [n];
  ld.param.f64 %fd1, [factor];
  cvt.rn.f32.f64 %f1, %fd1;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.u32 %rd2, %r5, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.f32 %f2, [%rd3];
  mul.f32 %f3, %f2, %f1;
  st.global.f32 [%rd3], %f3;
done:
  ret;
}
"""


def own_kernel():
    """A kernel that the program brings as PTX, on PyTorch's tensors and streams: modules and launches of the driver API."""
    from torch.cuda import _utils
    x = torch.randn(1000)
    there, stream = x.cuda(), torch.cuda.Stream()
    scale = _utils._cuda_load_module(PTX.encode(), ["scale"])["scale"]
    stream.wait_stream(torch.cuda.current_stream())
    scale(grid=(8, 1, 1), block=(128, 1, 1), args=[there, 1000, 2.5], stream=stream)
    stream.synchronize()
    return torch.equal(there.cpu(), x * 2.5)


def factorised():
    """cuBLAS's factorisation of a batch, by the handle that PyTorch has: torch.linalg makes the arrays of addresses by kernels of its own."""
    blas = ctypes.CDLL("libcublas.so.13")
    count, n = 50, 8
    batch = torch.randn(count, n, n)
    there = batch.cuda()
    addresses = torch.tensor([there[i].data_ptr() for i in range(count)]).cuda()
    pivots, infos = torch.empty(count, n, dtype=torch.int32, device="cuda"), torch.empty(count, dtype=torch.int32, device="cuda")
    pointer = [ctypes.c_void_p(p) for p in (torch.cuda.current_blas_handle(), addresses.data_ptr(), pivots.data_ptr(), infos.data_ptr())]
    if blas.cublasSgetrfBatched(pointer[0], n, pointer[1], n, pointer[2], pointer[3], count) != 0:
        return False
    wanted, exchanged = torch.linalg.lu_factor(batch.mT)  # by columns, as cuBLAS has them
    return agree(there.cpu().mT, wanted) and torch.equal(pivots.cpu(), exchanged) and not infos.cpu().any()


def convolutions():
    x, w, bias = torch.randn(2, 8, 20, 20), torch.randn(16, 8, 3, 3), torch.randn(16)
    check("cudnn.version", lambda: torch.backends.cudnn.version() >= 91900)
    for dtype in (torch.float, torch.double, torch.half, torch.bfloat16):
        same(f"conv2d {str(dtype)[6:]}", lambda p, q: F.conv2d(p, q, padding=1), x.to(dtype), w.to(dtype))
    same("conv2d strided, grouped", lambda p, q: F.conv2d(p, q, stride=2, groups=2), x, torch.randn(16, 4, 3, 3))
    same("conv2d dilated", lambda p, q: F.conv2d(p, q, dilation=2), x, w)
    same("conv2d channels last", F.conv2d, x.to(memory_format=torch.channels_last), w.to(memory_format=torch.channels_last))
    same("conv1d", F.conv1d, torch.randn(2, 8, 50), torch.randn(4, 8, 5))
    same("conv3d", F.conv3d, torch.randn(1, 2, 6, 7, 8), torch.randn(4, 2, 3, 3, 3))
    same("conv_transpose2d", lambda p, q: F.conv_transpose2d(p, q, stride=2), x, torch.randn(8, 4, 3, 3))
    same("convolution with bias and ReLU", convolution_relu, x, w, bias)
    mean, variance, scale, shift = torch.randn(8), torch.rand(8) + 0.5, torch.randn(8), torch.randn(8)
    same("batch_norm", F.batch_norm, x, mean, variance, scale, shift)
    same("batch_norm of a batch", lambda *tensors: F.batch_norm(*tensors, training=True), x, mean, variance, scale, shift)
    gradient = torch.randn(2, 16, 20, 20)
    for which, name in enumerate(("input", "weight")):
        same(f"gradient of conv2d by its {name}", lambda p, q, g: gradients(lambda a, b: F.conv2d(a, b, padding=1), p, q, g)[which], x, w, gradient)
    same("network", network, x, w, bias, torch.randn(16, 16, 3, 3), torch.randn(16), torch.rand(16), torch.randn(16), torch.rand(16) + 0.5,
         torch.randn(10, 16 * 81), torch.randn(10))
    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        same("conv2d, by measured algorithm", lambda p, q: F.conv2d(p, q, padding=1), x, w)


def attention():
    """By cuDNN, which PyTorch prefers for halves on newer GPUs; what of it the wheel's own kernels would do is left out."""
    for dtype in (torch.half, torch.bfloat16):
        q, k, v = (torch.randn(2, 4, length, 64).to(dtype) for length in (96, 128, 128))
        name = f"attention {str(dtype)[6:]}"
        same(name, attended, q, k, v)
        same(f"{name}, causal", lambda *t: attended(*t, is_causal=True), k, k, v)
        same(f"{name}, masked", lambda *t: attended(*t[:3], attn_mask=t[3]), q, k, v, torch.randn(96, 128).to(dtype))
        same(f"{name}, shared heads", lambda *t: attended(*t, is_causal=True, enable_gqa=True), k, k[:, :2].contiguous(), v[:, :2].contiguous())
        beside = [t.transpose(1, 2).contiguous() for t in (k, k, v)]
        same(f"{name}, heads beside each other", lambda *t: attended(*(each.transpose(1, 2) for each in t), is_causal=True), *beside)
    for causal in (False, True):
        for which, of in enumerate("qkv"):
            same(f"gradient of attention by {of}" + (", causal" if causal else ""), lambda *t: attention_gradients(*t, causal)[which],
                 *(torch.randn(2, 4, 128, 64).half() for _ in range(4)))


    check("attention with dropout: the gradient draws what was drawn", drops)


def drops():
    """What is kept is linear in v: its gradient has the same weights, so that both products with the other side are one."""
    q, k, v, gradient = (torch.randn(2, 4, 128, 64).half() for _ in range(4))
    inputs = [each.cuda().requires_grad_() for each in (q, k, v)]
    o = attended(*inputs, dropout_p=0.25)
    of_v = torch.autograd.grad(o, inputs[2], gradient.cuda())[0].cpu().double()
    o, whole = o.detach().cpu().double(), attended(q, k, v).double()
    left, right = (o * gradient.double()).sum().item(), (of_v * v.double()).sum().item()
    return abs(left - right) < 0.01 * o.abs().sum().item() ** 0.5 and 0.5 < torch.corrcoef(torch.stack([o.flatten(), whole.flatten()]))[0, 1].item() < 0.99


def attended(q, k, v, **options):
    if not q.is_cuda:
        options = {key: each.float() if key == "attn_mask" else each for key, each in options.items()}
        return F.scaled_dot_product_attention(q.float(), k.float(), v.float(), **options).to(q.dtype)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
        return F.scaled_dot_product_attention(q, k, v, **options)


def attention_gradients(q, k, v, gradient, causal):
    inputs = [each.detach().requires_grad_() for each in (q, k, v)]
    return torch.autograd.grad(attended(*inputs, is_causal=causal), inputs, gradient)


def transforms():
    """By cuFFT. Norms that divide are a kernel of PyTorch's own, and so are spectra of real signals with both halves."""
    z = torch.randn(6, 40, dtype=torch.cfloat)
    x = torch.randn(6, 40)
    for dtype in (torch.cfloat, torch.cdouble):
        same(f"fft {str(dtype)[6:]}", torch.fft.fft, z.to(dtype))
        same(f"ifft {str(dtype)[6:]}", lambda t: torch.fft.ifft(t, norm="forward"), z.to(dtype))
    for dtype in (torch.float, torch.double):
        same(f"rfft {str(dtype)[6:]}", torch.fft.rfft, x.to(dtype))
        same(f"irfft {str(dtype)[6:]}", lambda t: torch.fft.irfft(t, norm="forward"), torch.fft.rfft(x.to(dtype)))
    same("fft of a prime length", torch.fft.fft, torch.randn(3, 1009, dtype=torch.cfloat))
    same("fft along the first dimension", lambda t: torch.fft.fft(t, dim=0), z)
    same("fft2", torch.fft.fft2, torch.randn(4, 24, 30, dtype=torch.cfloat))
    same("fftn of three dimensions", torch.fft.fftn, torch.randn(8, 9, 10, dtype=torch.cfloat))
    same("fftn of four dimensions", torch.fft.fftn, torch.randn(4, 5, 6, 7, dtype=torch.cfloat))
    same("rfft2", torch.fft.rfft2, torch.randn(4, 24, 30))
    same("irfft2", lambda t: torch.fft.irfft2(t, norm="forward"), torch.fft.rfft2(torch.randn(4, 24, 30)))
    same("irfft of odd length", lambda t: torch.fft.irfft(t, n=39, norm="forward"), torch.fft.rfft(torch.randn(6, 39)))
    same("gradient of fft", gradient_of_fft, z, z.flip(0))
    same("stft", lambda t: torch.stft(t, n_fft=64, hop_length=16, center=False, return_complex=True), torch.randn(400))
    check("fft of halves", halves)
    kernel("ifft that divides", torch.fft.ifft, z)
    kernel("stft with a window", lambda t, w: torch.stft(t, n_fft=64, hop_length=16, window=w, return_complex=True), torch.randn(400), torch.hann_window(64))
    kernel("istft", lambda s, w: torch.istft(s, n_fft=64, hop_length=16, window=w), torch.stft(torch.randn(400), 64, 16, window=torch.hann_window(64), return_complex=True),
           torch.hann_window(64))


def sparse_matrices():
    """By cuSPARSE. Where a result is a tensor that PyTorch makes first, or is a sparse one's new pattern, kernels of PyTorch's own come before and behind it."""
    pattern = torch.rand(30, 20) < 0.3
    for dtype in (torch.float, torch.double, torch.cfloat, torch.cdouble):
        name = str(dtype)[6:]
        wide = (torch.randn(30, 20, dtype=dtype) * pattern).to_sparse_csr()
        rows, blocks = narrow(wide), narrow(wide.to_dense().to_sparse_bsr((5, 5)))
        x, dense = torch.randn(20, dtype=dtype), torch.randn(20, 7, dtype=dtype)
        triangle = torch.randn(20, 20, dtype=dtype).tril() + 5 * torch.eye(20, dtype=dtype)
        for indices, matrix in (("64-bit", wide), ("32-bit", rows)):
            same(f"CSR matrix times vector, {indices} indices, {name}", torch.mv, matrix, x)
            same(f"addmm of a CSR matrix, {indices} indices, {name}", torch.addmm, torch.randn(30, 7, dtype=dtype), matrix, dense)
        same(f"addmv of a CSR matrix {name}", torch.addmv, torch.randn(30, dtype=dtype), rows, x)
        same(f"addmv of a BSR matrix {name}", torch.addmv, torch.randn(30, dtype=dtype), blocks, x)
        same(f"sum of CSR matrices {name}", added, rows, narrow((torch.randn(30, 20, dtype=dtype) * pattern.flip(0)).to_sparse_csr()))
        same(f"sampled_addmm {name}", sampled, rows, torch.randn(30, 5, dtype=dtype), torch.randn(5, 20, dtype=dtype))
        same(f"triangular_solve, CSR, {name}", lambda a, b: torch.triangular_solve(b, a, upper=False).solution, narrow(triangle.to_sparse_csr()), dense)
        same(f"triangular_solve, CSR, transposed, unit diagonal, {name}", lambda a, b: torch.triangular_solve(b, a, upper=False, transpose=True, unitriangular=True).solution,
             narrow(triangle.to_sparse_csr()), dense)
        same(f"triangular_solve, CSR, upper, one right side, {name}", lambda a, b: torch.triangular_solve(b, a, upper=True).solution,
             narrow(triangle.T.contiguous().to_sparse_csr()), dense[:, :1].contiguous())
        same(f"triangular_solve, BSR, one right side, {name}", lambda a, b: torch.triangular_solve(b, a, upper=False).solution, narrow(triangle.to_sparse_bsr((5, 5))),
             dense[:, :1].contiguous())
    square = torch.randn(20, 20) * (torch.rand(20, 20) < 0.3)
    kernel("torch.sparse.mm, CSR by dense", torch.sparse.mm, square.to_sparse_csr(), torch.randn(20, 7))
    kernel("torch.sparse.mm, COO by dense", torch.sparse.mm, square.to_sparse_coo(), torch.randn(20, 7))
    kernel("COO matrix times vector", torch.mv, square.to_sparse_coo(), torch.randn(20))
    kernel("CSR by CSR", lambda a, b: (a @ b).to_dense(), square.to_sparse_csr(), square.T.to_sparse_csr())
    kernel("COO by COO", lambda a, b: torch.sparse.mm(a, b).to_dense(), square.to_sparse_coo(), square.T.to_sparse_coo())
    kernel("addmm of a BSR matrix", torch.addmm, torch.randn(20, 7), square.to_sparse_bsr((5, 5)), torch.randn(20, 7))
    kernel("dense to CSR", lambda t: t.to_sparse_csr().to_dense(), square)
    kernel("CSR to dense", lambda t: t.to_dense(), square.to_sparse_csr())


def narrow(matrix):
    """With 32-bit indices."""
    make = torch.sparse_bsr_tensor if matrix.layout == torch.sparse_bsr else torch.sparse_csr_tensor
    return make(matrix.crow_indices().int(), matrix.col_indices().int(), matrix.values(), matrix.shape)


def added(a, b):
    return torch.add(a, b, alpha=2).cpu().to_dense()


def sampled(pattern, a, b):
    result = torch.sparse_csr_tensor(pattern.crow_indices(), pattern.col_indices(), pattern.values().clone(), pattern.shape)
    return torch.sparse.sampled_addmm(pattern, a, b, beta=0.5, out=result).cpu().to_dense()


def linear_algebra():
    """What of torch.linalg is no kernel of PyTorch's own, and that the rest ends with CUDA's error; linear_algebra.py does all of it."""
    for dtype in (torch.float, torch.double, torch.cfloat, torch.cdouble):
        name, a = str(dtype)[6:], torch.randn(24, 24, dtype=dtype)
        by_columns = a.mT.contiguous().mT  # as cuSOLVER has it; what is not is copied by a kernel
        check(f"lu_factor_ex {name}", lambda: lu(by_columns))
        positive = a @ a.mH + 24 * torch.eye(24, dtype=dtype)
        kernel(f"cholesky {name}", torch.linalg.cholesky, positive)
        kernel(f"solve {name}", torch.linalg.solve, positive, a)
        kernel(f"svdvals {name}", torch.linalg.svdvals, a)
        kernel(f"eigvalsh {name}", torch.linalg.eigvalsh, positive)


def lu(a):
    packed, pivots, info = torch.linalg.lu_factor_ex(a.cuda())
    p, lower, upper = torch.lu_unpack(packed.cpu(), pivots.cpu())
    return agree(p @ lower @ upper, a) and info.item() == 0


def gradient_of_fft(signal, gradient):
    signal = signal.detach().requires_grad_()
    return torch.autograd.grad(torch.fft.fft(signal), signal, gradient)[0]


def halves():
    """PyTorch has none of these on the processor."""
    parts = torch.randn(3, 64, 2).half()
    got = torch.view_as_real(torch.fft.fft(torch.view_as_complex(parts).cuda()))
    return agree(got, torch.view_as_real(torch.fft.fft(torch.view_as_complex(parts.float()))).half())


def convolution_relu(x, w, bias):
    if x.is_cuda:
        return torch.cudnn_convolution_relu(x, w, bias, (1, 1), (1, 1), (1, 1), 1)
    return F.relu(F.conv2d(x, w, bias, padding=1))


def network(x, w, bias, w2, bias2, scale, mean, variance, matrix, offsets):
    """Two convolutions with bias and ReLU, a strided one, a norm, a linear layer with ReLU: all that can be between them without a kernel of PyTorch's own."""
    y = convolution_relu(x, w, bias)
    y = convolution_relu(y, w2, bias2)
    y = F.batch_norm(F.conv2d(y, w2, stride=2), mean, variance, scale, bias2)
    return torch._addmm_activation(offsets, y.flatten(1), matrix.T)


def gradients(operation, p, q, gradient):
    p, q = p.detach().requires_grad_(), q.detach().requires_grad_()
    return torch.autograd.grad(operation(p, q), (p, q), gradient)


def kernels():
    a, b = torch.randn(64, 64), torch.randn(64, 64)
    kernel("add", torch.add, a, b)
    kernel("relu", torch.relu, a)
    kernel("exp", torch.exp, a)
    kernel("sum", torch.sum, a)
    kernel("softmax", lambda x: torch.softmax(x, 1), a)
    kernel("zeros", lambda x: torch.zeros(8, 8, device=x.device), a)
    kernel("ones", lambda x: torch.ones(8, 8, device=x.device), a)
    kernel("to half", lambda x: x.half(), a)
    kernel("contiguous", lambda x: x.T.contiguous(), a)
    kernel("cat", lambda x, y: torch.cat([x, y]), a, b)
    kernel("layer_norm", lambda x: F.layer_norm(x, (64,)), a)
    kernel("conv2d with bias", F.conv2d, torch.randn(1, 4, 8, 8), torch.randn(4, 4, 3, 3), torch.randn(4))
    kernel("max_pool2d", lambda x: F.max_pool2d(x, 2), torch.randn(1, 4, 8, 8))
    kernel("special.bessel_j0, by NVRTC", torch.special.bessel_j0, a, compiled=True)
    kernel("embedding", lambda i, x: F.embedding(i, x), torch.arange(8), a)


def resident(pid="self"):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024)
    return None


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--library-folder", required=True)
    parser.add_argument("--report", type=pathlib.Path, required=True)
    parser.add_argument("--ptx", action="store_true")
    options = parser.parse_args()
    figures["resident_after_import_mib"] = resident()
    torch.manual_seed(0)
    for part in (devices, memory, products, convolutions, transforms, sparse_matrices, linear_algebra, attention, kernels):
        try:
            part()
        except Exception:  # noqa: BLE001
            traceback.print_exc()
            note(part.__name__, "failed", "ended before its last check")
    figures["resident_mib"] = resident()
    options.report.write_text(json.dumps({"checks": checks, "figures": figures}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
