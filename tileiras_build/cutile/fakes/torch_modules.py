"""PyTorch modules that move to the device and back, and tensors that are loaded from files.

A parameter stays the same object, as on a GPU, because optimizers and other modules refer to it. Its memory is host memory,
so only its class changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .torch_cuda_tensors_on_cpu import DeviceTensor, is_cuda, on_device

Function = Callable[..., Any]


def in_place(own: Function) -> Function:
    """The replacement of ``Module._apply``, which moves modules."""

    @functools.wraps(own)
    def _apply(self: torch.nn.Module, function: Function, *more: Any, **named: Any) -> torch.nn.Module:
        held = [one for one in self._parameters.values() if one is not None]
        kept = {id(one) for one in (*held, *(one.grad for one in held)) if one is not None}

        def moved(tensor: torch.Tensor) -> torch.Tensor:
            made = function(tensor)
            if id(tensor) in kept and isinstance(made, DeviceTensor) != isinstance(tensor, DeviceTensor):
                _become(tensor, isinstance(made, DeviceTensor))
            return made

        return own(self, moved, *more, **named)

    return _apply


def _become(tensor: torch.Tensor, is_on_device: bool) -> None:
    """Make a tensor a device tensor, or an ordinary one."""
    is_parameter = isinstance(tensor, torch.nn.Parameter)
    if is_on_device:
        tensor.__class__ = DeviceTensor
        tensor._is_param = is_parameter  # besides their class, this distinguishes parameters
    else:
        tensor.__class__ = torch.nn.Parameter if is_parameter else torch.Tensor


def loaded(own: Function) -> Function:
    """The replacement of ``torch.load``: files are read on the CPU."""

    @functools.wraps(own)
    def load(f: Any, map_location: Any = None, *more: Any, **named: Any) -> Any:
        if isinstance(map_location, str | torch.device) and is_cuda(map_location):
            return _claimed(own(f, "cpu", *more, **named))
        return own(f, map_location, *more, **named)

    return load


def _claimed(value: Any) -> Any:
    """The tensors of a file's contents as device tensors."""
    if isinstance(value, torch.nn.Module):
        return value.to("cuda")
    if isinstance(value, dict):
        for name, part in value.items():
            value[name] = _claimed(part)
        return value
    if type(value) in (list, tuple):
        return type(value)(map(_claimed, value))
    return on_device(value)
