"""PyTorch tensors in host memory that report a CUDA device.

A call that requests "cuda" returns a ``DeviceTensor``, and so do operations on such tensors. The mode ``AsksForCuda`` redirects
the requests to the CPU; PyTorch keeps modes per thread. While a PyTorch function runs, its tensors report the CPU, so that
its parts work.
"""

from __future__ import annotations

import copy
import gc
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.attention
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors

from . import mark_uninitialized

Function = Callable[..., Any]
CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)


class _Inside(threading.local):
    depth = 0


_inside = _Inside()


class Defaults(threading.local):
    """Whether this thread creates tensors on the device by default (torch.set_default_device)."""

    cuda = False


defaults = Defaults()


@contextmanager
def _within(depth: int) -> Iterator[None]:
    before, _inside.depth = _inside.depth, depth
    try:
        yield
    finally:
        _inside.depth = before


class DeviceTensor(torch.Tensor):
    """A tensor that reports CUDA device 0."""

    @classmethod
    def __torch_function__(cls, func: Function, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The result of ``func`` for plain tensors, as device tensors."""
        with torch._C.DisableTorchFunctionSubclass(), _within(_inside.depth + 1):
            result = func(*args, **(kwargs or {}))
        if func in TO_HOST:
            return result
        return on_device(result)

    @property
    def device(self) -> torch.device:
        """The reported device."""
        return CPU if _inside.depth else CUDA

    @property
    def is_cuda(self) -> bool:
        """Whether it reports a CUDA device."""
        return not _inside.depth

    @property
    def is_cpu(self) -> bool:
        """Whether it reports host memory."""
        return bool(_inside.depth)

    def get_device(self) -> int:
        """The index of the device."""
        return -1 if _inside.depth else 0

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle as a CPU tensor, which any process can read."""
        plain = on_host(self.detach())
        if getattr(self, "_is_param", False):
            return torch._utils._rebuild_parameter, (plain, self.requires_grad, OrderedDict())
        return plain.requires_grad_(self.requires_grad).__reduce_ex__(protocol)

    def __deepcopy__(self, memo: dict[int, Any]) -> DeviceTensor:
        """Copy a leaf with its gradient. Raises RuntimeError for other tensors, as PyTorch does."""
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol"
            )
        if id(self) not in memo:
            made = on_device(copy.deepcopy(on_host(self.detach()), memo)).requires_grad_(self.requires_grad)
            made._is_param, made.grad = getattr(self, "_is_param", False), copy.deepcopy(self.grad, memo)
            memo[id(self)] = made
        return memo[id(self)]

    def __format__(self, spec: str) -> str:
        return format(on_host(self), spec)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        """PyTorch's representation of GPU tensors."""
        text = repr(on_host(self.detach())).removesuffix(")")
        values_text, comma, dtype = text.partition(", dtype=")
        graph = f", grad_fn=<{self.grad_fn.name()}>" if self.grad_fn else ", requires_grad=True" * self.requires_grad
        title = "Parameter containing:\n" if getattr(self, "_is_param", False) else ""
        return f"{title}{values_text}, device='{CUDA}'{comma}{dtype}{graph})"


# Messages that name a tensor's class, such as cuTile's errors, name PyTorch's.
DeviceTensor.__module__, DeviceTensor.__qualname__, DeviceTensor.__name__ = "torch", "Tensor", "Tensor"
TO_HOST = {torch.Tensor.cpu, torch.Tensor.numpy, torch.Tensor.tolist, torch.Tensor.item, torch.Tensor.__array__}


def living() -> list[torch.Tensor]:
    """The tensors that kernel pointers may point into: device tensors, and plain ones, such as gradients that PyTorch passes to
    a function of the script.
    """
    with torch._C.DisableTorchFunction():
        return [one for one in gc.get_objects() if type(one) is DeviceTensor or _is_plain(one)]


def _is_plain(one: Any) -> bool:
    return type(one) is torch.Tensor and one.device == CPU and one.layout == torch.strided


def on_device(value: Any) -> Any:
    """``value`` with its tensors as device tensors, which share their memory."""
    if isinstance(value, torch.Tensor):
        return value if isinstance(value, DeviceTensor) else _claimed(value)
    if isinstance(value, tuple | list):
        parts = [on_device(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else _rebuilt(value, parts)
    return value


def _claimed(tensor: torch.Tensor) -> DeviceTensor:
    """An alias that is differentiable; for a leaf, which accumulates its gradient itself, another leaf."""
    if tensor.requires_grad and tensor.is_leaf:
        return torch.Tensor._make_subclass(DeviceTensor, tensor.detach(), True)
    return tensor.as_subclass(DeviceTensor)


def _rebuilt(value: tuple | list, parts: list) -> tuple | list:
    if all(new is old for new, old in zip(parts, value, strict=True)):
        return value
    return type(value)(parts)


def on_host(value: torch.Tensor) -> torch.Tensor:
    """An ordinary tensor with the same memory."""
    with torch._C.DisableTorchFunctionSubclass():
        return value.as_subclass(torch.Tensor)


def is_cuda(device: object) -> bool:
    """Whether a device (name, index or object) is the fake one; RuntimeError for another index."""
    if isinstance(device, int) and not isinstance(device, bool):
        device = f"cuda:{device}"
    if isinstance(device, str):
        if not device.startswith("cuda"):
            return False
        device = torch.device(device)
    if not isinstance(device, torch.device) or device.type != "cuda":
        return False
    if device.index:
        raise RuntimeError(f"CUDA error: invalid device ordinal: {device} (there is 1 device)")
    return True


class AsksForCuda(TorchFunctionMode):
    """Redirects requests for a CUDA device to tensors in host memory; requests for the CPU return ordinary tensors."""

    def __torch_function__(self, func: Function, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run ``func`` on the CPU; its results are on the requested device."""
        special = SPECIAL.get(func)
        kwargs = dict(kwargs or {})
        if special is not None:
            return special(self, func, args, kwargs)
        if defaults.cuda and func in _device_constructors() and kwargs.get("device") is None:
            kwargs["device"] = CUDA
        wanted = None
        if kwargs.get("device") is not None:
            wanted = is_cuda(kwargs["device"])
            kwargs["device"] = CPU if wanted else kwargs["device"]
        kwargs.pop("pin_memory", None)
        result = self.run(func, args, kwargs)
        if wanted is not None:
            result = on_device(result) if wanted else _moved_to_host(result)
        if func in EMPTY and isinstance(result, DeviceTensor):
            _mark(result)
        return result

    @staticmethod
    def run(func: Function, args: Any, kwargs: dict[str, Any]) -> Any:
        """Call ``func`` unchanged."""
        with _within(_inside.depth + 1):
            return func(*args, **kwargs)


def outside(function: Function) -> Function:
    """``function`` as called by a script: PyTorch calls functions of the script from within its own."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._EnableTorchFunction(), AsksForCuda(), _within(0):
            return function(*args, **kwargs)

    return run


def _mark(tensor: torch.Tensor) -> None:
    storage = on_host(tensor).untyped_storage()
    mark_uninitialized.allocated(storage.data_ptr(), storage.nbytes())


def _moved_to_host(value: Any) -> Any:
    return on_host(value) if isinstance(value, DeviceTensor) else value


def _cuda(mode: AsksForCuda, func: Function, args: Any, kwargs: dict[str, Any]) -> torch.Tensor:
    tensor = args[0]
    if torch.nn.parameter.is_lazy(tensor):  # it has no memory yet
        return tensor
    return tensor if isinstance(tensor, DeviceTensor) else on_device(mode.run(torch.Tensor.clone, (tensor,), {}))


def _cpu(mode: AsksForCuda, func: Function, args: Any, kwargs: dict[str, Any]) -> torch.Tensor:
    tensor = args[0]
    return on_host(mode.run(torch.Tensor.clone, (tensor,), {})) if isinstance(tensor, DeviceTensor) else tensor


def _to(mode: AsksForCuda, func: Function, args: Any, kwargs: dict[str, Any]) -> torch.Tensor:
    """Tensor.to, whose device may be any of its arguments, or another tensor's."""
    tensor, *rest = args
    places = [arg for arg in (*rest, kwargs.get("device"), kwargs.get("other")) if arg is not None]
    wanted = next((cuda for arg in places if (cuda := _place(arg)) is not None), None)
    if wanted is None or wanted == isinstance(tensor, DeviceTensor):
        moved = tensor
    else:
        moved = (_cuda if wanted else _cpu)(mode, func, (tensor,), {})
    rest = [CPU if _place(arg) is not None and not isinstance(arg, torch.Tensor) else arg for arg in rest]
    if kwargs.get("device") is not None:
        kwargs["device"] = CPU
    return mode.run(func, (moved, *rest), kwargs)


def _place(argument: object) -> bool | None:
    """Whether an argument of ``to`` names the fake device (True) or another device (False); None if it names none."""
    if isinstance(argument, torch.Tensor):
        return isinstance(argument, DeviceTensor)
    if isinstance(argument, str | torch.device) or (isinstance(argument, int) and not isinstance(argument, bool)):
        return is_cuda(argument)
    return None


def _same(mode: AsksForCuda, func: Function, args: Any, kwargs: dict[str, Any]) -> torch.Tensor:
    return args[0]


def _pinned(mode: AsksForCuda, func: Function, args: Any, kwargs: dict[str, Any]) -> bool:
    return True


def _multiply(mode: AsksForCuda, func: Function, args: Any, kwargs: dict[str, Any]) -> Any:
    """Multiply in single precision and round, like GPUs, which accumulate half precision in single precision.

    PyTorch's CPU functions accumulate some half precision results in half precision. They do not support ``out_dtype``.
    """
    wanted = kwargs.pop("out_dtype", None)
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    small = next((tensor.dtype for tensor in tensors if tensor.dtype in (torch.float16, torch.bfloat16)), None)
    if (small is None and wanted is None) or kwargs.get("out") is not None:
        return mode.run(func, args, kwargs)
    wide = lambda value: mode.run(torch.Tensor.float, (value,), {}) if _is_small(value) else value
    made = mode.run(func, tuple(map(wide, args)), {name: wide(value) for name, value in kwargs.items()})
    return mode.run(torch.Tensor.to, (made, wanted or small), {})


def _matmul(mode: AsksForCuda, func: Function, args: Any, kwargs: dict[str, Any]) -> Any:
    """A matmul by tensor cores, accumulated as in the emulator: exactly over ``_depth`` elements of k, then in f32.

    A library on a GPU and a kernel differ at most by the order of such steps, and tests tolerate only that.
    """
    depth = 0 if kwargs or len(args) != 2 else _depth(*args)
    if not depth or any(arg.requires_grad or arg.dim() < 2 for arg in args):
        return _multiply(mode, func, args, kwargs)
    with torch._C.DisableTorchFunctionSubclass(), _within(_inside.depth + 1):
        left, right = (_as_operand(on_host(arg)) for arg in args)
        total = torch.zeros(())
        for first in range(0, left.shape[-1], depth):
            part = slice(first, first + depth)
            total = total + func(left[..., part], right[..., part, :]).float()
        made = total.to(args[0].dtype)
    return on_device(made) if any(isinstance(arg, DeviceTensor) for arg in args) else made


def _depth(left: object, right: object) -> int:
    """The elements of k that a tensor core accumulates at once for two tensors; 0 if there is no such instruction."""
    if _is_small(left) and _is_small(right):
        return 16
    both = all(isinstance(one, torch.Tensor) and one.dtype == torch.float32 for one in (left, right))
    return 8 if both and torch.get_float32_matmul_precision() != "highest" else 0


def _as_operand(tensor: torch.Tensor) -> torch.Tensor:
    """The operand in double precision as a tensor core reads it: f32 is rounded to tf32, to nearest, ties to even."""
    if tensor.dtype != torch.float32:
        return tensor.double()
    bits = tensor.contiguous().view(torch.int32)
    return (bits + 0xFFF + (bits >> 13 & 1) & ~0x1FFF).view(torch.float32).double()


def _is_small(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16)


def _attention(mode: AsksForCuda, func: Function, args: Any, kwargs: dict[str, Any]) -> torch.Tensor:
    """Attention with the math backend: a script may have selected a GPU-only backend."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return _multiply(mode, func, args, kwargs)


def _histogram(mode: AsksForCuda, func: Function, args: Any, kwargs: dict[str, Any]) -> torch.Tensor:
    """A histogram of integers, which PyTorch supports on GPUs only: computed in double precision, which is exact."""
    tensor, *rest = args
    if not isinstance(tensor, DeviceTensor) or tensor.is_floating_point():
        return mode.run(func, args, kwargs)
    counted = mode.run(func, (mode.run(torch.Tensor.double, (tensor,), {}), *rest), kwargs)
    return mode.run(torch.Tensor.to, (counted, tensor.dtype), {})


EMPTY = {
    torch.empty, torch.empty_like, torch.empty_strided, torch.empty_permuted, torch.Tensor.new_empty,
    torch.Tensor.new_empty_strided,
}  # fmt: skip
REDUCTIONS = (
    torch.addmm, torch.baddbmm, torch.einsum, torch.nn.functional.linear, torch.nn.functional.layer_norm,
    torch.nn.functional.rms_norm,
)  # fmt: skip
MATMULS = (
    torch.mm, torch.bmm, torch.matmul, torch.Tensor.mm, torch.Tensor.bmm, torch.Tensor.matmul, torch.Tensor.__matmul__,
)  # fmt: skip
# PyTorch functions that need more than a changed device.
SPECIAL: dict[Function, Callable[[AsksForCuda, Function, Any, dict[str, Any]], Any]] = {
    torch.Tensor.cuda: _cuda,
    torch.Tensor.cpu: _cpu,
    torch.Tensor.to: _to,
    torch.Tensor.pin_memory: _same,
    torch.Tensor.is_pinned: _pinned,
    torch.nn.functional.scaled_dot_product_attention: _attention,
    **dict.fromkeys((torch.histc, torch.Tensor.histc), _histogram),
    **dict.fromkeys(REDUCTIONS, _multiply),
    **dict.fromkeys(MATMULS, _matmul),
}
