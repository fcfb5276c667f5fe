"""Kernels of PyTorch's own done by the processor, where a wheel has none that the CPU device can run: so that what PyTorch calls of CUDA's libraries can be tried whole,
between operations that are not theirs. Each takes what its tensors' memory holds (cudaMemcpy of all of it), computes with PyTorch's operation on the processor, and puts it
back. Operations that are calls of libraries stay as they are. For tests: slow, and no graph can capture it."""

import ctypes

import torch

# By the names that the dispatcher has; all overloads that have kernels for GPUs.
OPERATIONS = """zero_ fill_ copy_ tril tril_ triu triu_ arange eye cat where index index_select gather nonzero masked_fill_ _index_put_impl_ _local_scalar_dense
abs neg sgn sgn_ sign pow pow_ sqrt rsqrt log log_ reciprocal conj_physical _conj_physical complex polar isfinite
add add_ sub sub_ mul mul_ div div_ fmod fmod_ maximum minimum clamp_min clamp clamp_
eq ne lt gt le ge logical_and logical_or logical_not bitwise_and bitwise_and_ __iand__ bitwise_or bitwise_not
any all sum prod cumprod max min amax amin aminmax linalg_vector_norm""".split()

runtime = ctypes.CDLL("libcudart.so.13")
library = torch.library.Library("aten", "IMPL")


def copied(to, source):
    """Bytes, whichever side they are on; behind all that the device has been given to do."""
    if source.numel() != 0 and runtime.cudaMemcpy(ctypes.c_void_p(to.data_ptr()), ctypes.c_void_p(source.data_ptr()), ctypes.c_size_t(source.numel()), 4) != 0:
        raise RuntimeError("cudaMemcpy failed")


class Twin:
    """A tensor on the device, and one on the processor that lies in a copy of its whole storage, in the same way."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.there = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
        self.here = torch.empty(self.there.numel(), dtype=torch.uint8)
        torch.cuda.synchronize()
        copied(self.here, self.there)
        view = torch.empty(0, dtype=tensor.dtype).set_(self.here.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())
        view = view.conj() if tensor.is_conj() else view
        self.view = torch._neg_view(view) if tensor.is_neg() else view

    def put_back(self):
        if self.view.untyped_storage().data_ptr() == self.here.untyped_storage().data_ptr() and self.view.size() == self.tensor.size():
            copied(self.there, self.here)
            return
        # The operation has made it as large as its result.
        self.tensor.resize_(self.view.size())
        fill(self.tensor, self.view)


def fill(tensor, values):
    if tensor.numel() != 0:
        twin = Twin(tensor)
        twin.view.copy_(values)
        copied(twin.there, twin.here)


def mapped(value, function):
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(each, function) for each in value) if not hasattr(value, "_fields") else tuple(mapped(each, function) for each in value)
    return function(value)


def hosted(operation):
    schema = operation._schema

    def run(*arguments, **options):
        twins, device = [], torch.device("cuda", torch.cuda.current_device())

        def twin(value):
            if isinstance(value, torch.Tensor) and value.device.type == "cuda":
                twins.append(Twin(value))
                return twins[-1].view
            return torch.device("cpu") if isinstance(value, torch.device) else value

        given = list(zip(schema.arguments, arguments)) + [(each, options[each.name]) for each in schema.arguments if each.name in options]
        written = [value for argument, value in given if argument.alias_info is not None and argument.alias_info.is_write]
        # A number in the place of a tensor, as PyTorch hands them on.
        numbers = [torch.tensor(value) if str(argument.type) == "Tensor" and isinstance(value, (int, float, bool)) else value
                   for argument, value in zip(schema.arguments, arguments)]
        result = operation(*[mapped(each, twin) for each in numbers], **{name: mapped(each, twin) for name, each in options.items()})
        for each in twins:
            if any(each.tensor is one for one in written):
                each.put_back()

        def back(value):
            if not isinstance(value, torch.Tensor):
                return value
            for each in twins:
                if value is each.view:
                    return each.tensor
            if any(value is one for one in written):
                return value
            made = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=device)
            fill(made, value)
            return made

        return mapped(result, back)

    return run


def has_kernel(name):
    try:
        return torch._C._dispatch_has_kernel_for_dispatch_key(name, "CUDA")
    except RuntimeError:  # a name that only scripts have
        return False


def install():
    torch.empty(1, device="cuda")
    for name in OPERATIONS:
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads():
            operation = getattr(packet, overload)
            # copy_ has one for all devices, which launches kernels for GPUs.
            if has_kernel(operation.name()) or operation.name() == "aten::copy_":
                library.impl(operation.name().removeprefix("aten::"), hosted(operation), "CUDA")
