"""Device-dependent parts of PyTorch around functions: mixed precision, and the gradients of a script's own functions.

PyTorch's C++ code sees CPU tensors, so "cuda" is passed to it as "cpu", and its results become device tensors again.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction, Function

from .torch_cuda_tensors_on_cpu import DeviceTensor, on_device

_WITHIN, _ON_DEVICE = "_tileiras_build_within", "_tileiras_build_on_device"
Call = Callable[..., Any]


def functions() -> tuple[tuple[Any, str, Callable[[Call], Any]], ...]:
    """The patches: owner of the attribute, its name, and the factory of the replacement."""
    return (
        (torch.amp.autocast_mode.autocast, "__enter__", _enter),
        (torch.amp.autocast_mode.autocast, "__exit__", _exit),
        (Function, "apply", _apply),
        (BackwardCFunction, "apply", _backward),
    )


def _enter(own: Call) -> Call:
    """``with torch.autocast("cuda"):`` applies to CPU tensors."""

    @functools.wraps(own)
    def __enter__(self: Any) -> Any:
        made = own(self)
        if self.device == "cuda":
            within = torch.amp.autocast_mode.autocast("cpu", self.fast_dtype, self._enabled, self._cache_enabled)
            own(within)
            vars(self).setdefault(_WITHIN, []).append(within)
        return made

    return __enter__


def _exit(own: Call) -> Call:
    @functools.wraps(own)
    def __exit__(self: Any, *exception: object) -> Any:
        if vars(self).get(_WITHIN):
            own(vars(self)[_WITHIN].pop(), *exception)
        return own(self, *exception)

    return __exit__


def _apply(own: Call) -> Any:
    """``Function.apply``: if an argument is a device tensor, the gradients are device tensors."""
    unbound = inspect.getattr_static(Function, own.__name__)  # a classmethod, or a method of C, which has no __func__

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        made = unbound.__get__(None, cls)(*args, **kwargs)
        if any(isinstance(one, DeviceTensor) for one in (*args, *kwargs.values())):
            for one in made if isinstance(made, tuple) else (made,):
                node = getattr(one, "grad_fn", None)
                if isinstance(node, BackwardCFunction):
                    setattr(node, _ON_DEVICE, True)
        return made

    return classmethod(apply)


def _backward(own: Call) -> Call:
    def apply(self: Any, *gradients: Any) -> Any:
        return own(self, *on_device(gradients) if getattr(self, _ON_DEVICE, False) else gradients)

    return apply
