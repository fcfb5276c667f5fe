"""Graphs that NVIDIA's cudnn-frontend builds, executed, and compared with what NumPy computes: for `rouse run -- python checks.py`.

The last line is "N passed, N failed"; exits 1 if any failed.
"""

import ctypes
import sys

import cudnn
import numpy

runtime = ctypes.CDLL("libcudart.so.13")
random = numpy.random.default_rng(1)
FLOAT = cudnn.data_type.FLOAT
TYPES = {numpy.float32: FLOAT, numpy.float16: cudnn.data_type.HALF}
TOLERANCE = 2e-4  # absolute: of sums of at most a hundred products of numbers around 1


def normal(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def upload(array):
    pointer = ctypes.c_void_p()
    if runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(array.nbytes)) != 0:
        raise RuntimeError("cudaMalloc")
    if runtime.cudaMemcpy(pointer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes), 1) != 0:
        raise RuntimeError("cudaMemcpy")
    return pointer.value


class Graph:
    """One graph; what it gives is told by run()."""

    def __init__(self):
        self.graph = cudnn.pygraph(io_data_type=FLOAT, intermediate_data_type=FLOAT, compute_data_type=FLOAT, handle=handle)
        self.bound, self.outputs, self.kept = {}, [], []

    def tensor(self, array):
        made = self.graph.tensor(name=f"t{len(self.bound)}", dim=list(array.shape), stride=[s // array.itemsize for s in array.strides], data_type=TYPES[array.dtype.type])
        self.bound[made] = upload(array)
        return made

    def value(self, number, rank):
        array = numpy.full([1] * rank, number, numpy.float32)
        self.kept.append(array)
        made = self.graph.tensor(name=f"t{len(self.bound)}", dim=[1] * rank, stride=[1] * rank, data_type=FLOAT, is_pass_by_value=True)
        self.bound[made] = array.ctypes.data
        return made

    def output(self, tensor, shape, kind=numpy.float32):
        tensor.set_output(True).set_data_type(TYPES[kind]).set_dim(list(shape))
        self.outputs.append((tensor, shape, kind))

    def run(self):
        self.graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        pointers = []
        for tensor, shape, kind in self.outputs:
            pointers.append(upload(numpy.full(shape, numpy.nan, kind)))
            self.bound[tensor] = pointers[-1]
        self.graph.execute(self.bound, upload(numpy.zeros(max(self.graph.get_workspace_size(), 16), numpy.uint8)), handle)
        results = []
        for (tensor, shape, kind), pointer in zip(self.outputs, pointers):
            flat = numpy.empty(int(numpy.prod(shape)), kind)
            if runtime.cudaMemcpy(flat.ctypes.data_as(ctypes.c_void_p), ctypes.c_void_p(pointer), ctypes.c_size_t(flat.nbytes), 2) != 0:
                raise RuntimeError("cudaMemcpy")
            results.append(numpy.lib.stride_tricks.as_strided(flat, shape, [flat.itemsize * s for s in tensor.get_stride()]))
        return results


def same(got, wanted, tolerance=TOLERANCE):
    difference = numpy.abs(got - wanted).max()
    if not difference <= tolerance:
        raise AssertionError(f"differs by {difference}")


def padded(x):
    return numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))


ONES = {"padding": [1, 1], "stride": [1, 1], "dilation": [1, 1]}


def convolution_bias_relu():
    x, w, b = normal(2, 8, 9, 9), normal(16, 8, 3, 3), normal(1, 16, 1, 1)
    g = Graph()
    y = g.graph.conv_fprop(g.tensor(x), g.tensor(w), **ONES)
    y = g.graph.relu(name="relu", input=g.graph.bias(name="bias", input=y, bias=g.tensor(b)))
    g.output(y, (2, 16, 9, 9))
    wanted = sum(numpy.einsum("nchw,kc->nkhw", padded(x)[:, :, i:i + 9, j:j + 9], w[:, :, i, j]) for i in range(3) for j in range(3))
    same(g.run()[0], numpy.maximum(wanted + b, 0))


def convolution_gradients():
    x, w, dy = normal(2, 4, 6, 6), normal(8, 4, 3, 3), normal(2, 8, 6, 6)
    g = Graph()
    g.output(g.graph.conv_dgrad(name="data", loss=g.tensor(dy), filter=g.tensor(w), **ONES), x.shape)
    wanted = numpy.zeros((2, 4, 8, 8))
    for i in range(3):
        for j in range(3):
            wanted[:, :, i:i + 6, j:j + 6] += numpy.einsum("nkhw,kc->nchw", dy, w[:, :, i, j])
    same(g.run()[0], wanted[:, :, 1:7, 1:7])
    g = Graph()
    g.output(g.graph.conv_wgrad(name="filter", image=g.tensor(x), loss=g.tensor(dy), **ONES), w.shape)
    same(g.run()[0], numpy.stack([numpy.stack([numpy.einsum("nchw,nkhw->kc", padded(x)[:, :, i:i + 6, j:j + 6], dy) for j in range(3)], -1) for i in range(3)], -2))


def product_relu():
    a, b = normal(3, 16, 24), normal(3, 24, 8)
    g = Graph()
    g.output(g.graph.relu(name="relu", input=g.graph.matmul(name="product", A=g.tensor(a), B=g.tensor(b), compute_data_type=FLOAT)), (3, 16, 8))
    same(g.run()[0], numpy.maximum(a @ b, 0))


def layer_norm():
    x, s, b, dy = normal(6, 32, 1, 1), normal(1, 32, 1, 1), normal(1, 32, 1, 1), normal(6, 32, 1, 1)
    mean, inverse = x.mean(1, keepdims=True), 1 / numpy.sqrt(x.var(1, keepdims=True) + 1e-3)
    for phase in (cudnn.norm_forward_phase.TRAINING, cudnn.norm_forward_phase.INFERENCE):
        g = Graph()
        y, m, i = g.graph.layernorm(name="norm", norm_forward_phase=phase, input=g.tensor(x), scale=g.tensor(s), bias=g.tensor(b), epsilon=g.value(1e-3, 4))
        g.output(y, x.shape)
        if phase == cudnn.norm_forward_phase.TRAINING:
            g.output(m, mean.shape)
            g.output(i, mean.shape)
        for got, wanted in zip(g.run(), ((x - mean) * inverse * s + b, mean, inverse)):
            same(got, wanted)
    g = Graph()
    dx, ds, db = g.graph.layernorm_backward(name="gradient", grad=g.tensor(dy), input=g.tensor(x), scale=g.tensor(s), mean=g.tensor(mean), inv_variance=g.tensor(inverse))
    for each, shape in ((dx, x.shape), (ds, s.shape), (db, s.shape)):
        g.output(each, shape)
    hat, own = (x - mean) * inverse, dy * s
    wanted = inverse * (own - own.mean(1, keepdims=True) - hat * (own * hat).mean(1, keepdims=True))
    for got, w in zip(g.run(), (wanted, (dy * hat).sum(0, keepdims=True), dy.sum(0, keepdims=True))):
        same(got, w)


def rms_norm():
    x, s = normal(6, 32, 1, 1), normal(1, 32, 1, 1)
    g = Graph()
    y, i = g.graph.rmsnorm(name="norm", norm_forward_phase=cudnn.norm_forward_phase.TRAINING, input=g.tensor(x), scale=g.tensor(s), epsilon=g.value(1e-3, 4))
    g.output(y, x.shape)
    g.output(i, (6, 1, 1, 1))
    inverse = 1 / numpy.sqrt((x * x).mean(1, keepdims=True) + 1e-3)
    for got, wanted in zip(g.run(), (x * inverse * s, inverse)):
        same(got, wanted)


def batch_norm():
    x, s, b, dy = normal(4, 8, 5, 5), normal(1, 8, 1, 1), normal(1, 8, 1, 1), normal(4, 8, 5, 5)
    running, spread = normal(1, 8, 1, 1), numpy.abs(normal(1, 8, 1, 1))
    over = {"axis": (0, 2, 3), "keepdims": True}
    mean, variance = x.mean(**over), x.var(**over)
    inverse = 1 / numpy.sqrt(variance + 1e-3)
    g = Graph()
    results = g.graph.batchnorm(name="norm", input=g.tensor(x), scale=g.tensor(s), bias=g.tensor(b), in_running_mean=g.tensor(running), in_running_var=g.tensor(spread),
                                epsilon=g.value(1e-3, 4), momentum=g.value(0.25, 4))
    for each, shape in zip(results, (x.shape, s.shape, s.shape, s.shape, s.shape)):
        g.output(each, shape)
    wanted = ((x - mean) * inverse * s + b, mean, inverse, 0.75 * running + 0.25 * mean, 0.75 * spread + 0.25 * variance * 100 / 99)
    for got, w in zip(g.run(), wanted):
        same(got, w)
    g = Graph()
    dx, ds, db = g.graph.batchnorm_backward(name="gradient", grad=g.tensor(dy), input=g.tensor(x), scale=g.tensor(s), mean=g.tensor(mean), inv_variance=g.tensor(inverse))
    for each, shape in ((dx, x.shape), (ds, s.shape), (db, s.shape)):
        g.output(each, shape)
    hat = (x - mean) * inverse
    dot, total = (dy * hat).sum(**over), dy.sum(**over)
    for got, w in zip(g.run(), (s * inverse * (dy - total / 100 - hat * dot / 100), dot, total)):
        same(got, w)
    g = Graph()
    y = g.graph.batchnorm_inference(name="inference", input=g.tensor(x), mean=g.tensor(mean), inv_variance=g.tensor(inverse), scale=g.tensor(s), bias=g.tensor(b))
    g.output(y, x.shape)
    same(g.run()[0], (x - mean) * inverse * s + b)


def reduction():
    x, b = normal(1, 16, 32), normal(1, 1, 32)
    g = Graph()
    difference = g.graph.sub(name="difference", a=g.tensor(x), b=g.tensor(b))
    y = g.graph.reduction(g.graph.mul(name="square", a=difference, b=difference), mode=cudnn.reduction_mode.ADD)
    g.output(y, (1, 16, 1))
    same(g.run()[0], ((x - b) ** 2).sum(2, keepdims=True))


def attended(q, k, v, scale, allowed=None, bias=None):
    """O and the statistics, in double; heads of k and v that are shared are repeated."""
    k, v = (numpy.repeat(each.astype(numpy.float64), q.shape[1] // each.shape[1], 1) for each in (k, v))
    scores = scale * q.astype(numpy.float64) @ k.swapaxes(2, 3)
    if bias is not None:
        scores = scores + bias
    if allowed is not None:
        scores = numpy.where(allowed, scores, -numpy.inf)
    highest = scores.max(3, keepdims=True)
    powers = numpy.exp(scores - highest)
    sums = powers.sum(3, keepdims=True)
    return powers / sums @ v, highest + numpy.log(sums)


def attention(statistics=False, heads_of_k=4, allowed=None, bias=None, beside=False, queries=96, keys=160, **options):
    """queries and keys; beside: heads lie beside each other for each query, as PyTorch's do that were one product."""
    half = cudnn.data_type.HALF

    def made(heads, length, depth):
        shape = (2, length, heads, depth) if beside else (2, heads, length, depth)
        array = normal(*shape).astype(numpy.float16)
        return array.transpose(0, 2, 1, 3) if beside else array

    q, k, v = made(4, queries, 64), made(heads_of_k, keys, 64), made(heads_of_k, keys, 32)
    g = Graph()
    g.graph = cudnn.pygraph(io_data_type=half, intermediate_data_type=FLOAT, compute_data_type=FLOAT, handle=handle)
    tensors = [g.tensor(each) for each in (q, k, v)]
    if bias is not None:
        options["bias"] = g.tensor(bias)
    o, stats = g.graph.sdpa(name="attention", q=tensors[0], k=tensors[1], v=tensors[2], attn_scale=0.125, generate_stats=statistics, **options)
    o.set_stride([queries * 128, 32, 128, 1] if beside else [queries * 128, queries * 32, 32, 1])
    g.output(o, (2, 4, queries, 32), numpy.float16)
    if statistics:
        stats.set_stride([4 * queries, queries, 1, 1])
        g.output(stats, (2, 4, queries, 1))
    if allowed is not None:
        allowed = allowed(numpy.arange(queries)[:, None], numpy.arange(keys)[None, :])
    for got, wanted in zip(g.run(), attended(q, k, v, 0.125, allowed, bias)):
        same(got.astype(numpy.float64), wanted, 4e-3)  # halves, and weights that may be rounded to halves


def attention_whole():
    attention()
    attention(heads_of_k=2, beside=True)


def attention_causal():
    for how in ({}, {"beside": True, "heads_of_k": 1}, {"queries": 64, "keys": 64}):
        attention(allowed=lambda row, column: column <= row, use_causal_mask=True, **how)


def attention_bottom_right():
    attention(allowed=lambda row, column: column <= row + 64, use_causal_mask_bottom_right=True)


def attention_window():
    attention(allowed=lambda row, column: (column <= row) & (column > row - 16), use_causal_mask=True, sliding_window_length=16)


def attention_bias():
    attention(bias=normal(1, 1, 96, 160).astype(numpy.float16))


def gradients(heads_of_k=4, queries=96, keys=160, allowed=None, **options):
    half = cudnn.data_type.HALF
    shared = 4 // heads_of_k
    q, k, v, do = (normal(2, heads, length, 64).astype(numpy.float16) for heads, length in ((4, queries), (heads_of_k, keys), (heads_of_k, keys), (4, queries)))
    if allowed is not None:
        allowed = allowed(numpy.arange(queries)[:, None], numpy.arange(keys)[None, :])
    o, stats = attended(q, k, v, 0.125, allowed)
    g = Graph()
    g.graph = cudnn.pygraph(io_data_type=half, intermediate_data_type=FLOAT, compute_data_type=FLOAT, handle=handle)
    names = ("q", "k", "v", "o", "dO", "stats")
    given = {name: g.tensor(each) for name, each in zip(names, (q, k, v, o.astype(numpy.float16), do, stats.astype(numpy.float32)))}
    for each, like in zip(g.graph.sdpa_backward(name="gradients", attn_scale=0.125, **given, **options), (q, k, v)):
        each.set_stride([stride // 2 for stride in like.strides])
        g.output(each, like.shape, numpy.float16)
    whole = [numpy.repeat(each.astype(numpy.float64), q.shape[1] // each.shape[1], 1) for each in (q, k, v, do)]
    scores = 0.125 * whole[0] @ whole[1].swapaxes(2, 3)
    weights = numpy.exp((scores if allowed is None else numpy.where(allowed, scores, -numpy.inf)) - stats)
    slopes = 0.125 * weights * (whole[3] @ whole[2].swapaxes(2, 3) - (whole[3] * o).sum(3, keepdims=True))
    dk, dv = slopes.swapaxes(2, 3) @ whole[0], weights.swapaxes(2, 3) @ whole[3]
    wanted = [slopes @ whole[1]] + [each.reshape(2, heads_of_k, shared, keys, 64).sum(2) for each in (dk, dv)]
    for got, w in zip(g.run(), wanted):
        same(got.astype(numpy.float64), w, 8e-3)


def attention_gradients():
    gradients()
    gradients(heads_of_k=2)
    gradients(queries=128, keys=128, allowed=lambda row, column: column <= row, use_causal_mask=True)


def attention_statistics():
    attention(statistics=True)
    attention(statistics=True, allowed=lambda row, column: column <= row, use_causal_mask=True)


handle = cudnn.create_handle()
passed = failed = 0
for check in (convolution_bias_relu, convolution_gradients, product_relu, layer_norm, rms_norm, batch_norm, reduction, attention_whole, attention_causal, attention_bottom_right,
              attention_window, attention_bias, attention_statistics, attention_gradients):
    try:
        check()
        passed += 1
    except Exception as error:
        failed += 1
        print(f"{check.__name__}: {type(error).__name__}: {error}")
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
