"""Triton programs for a kernel's problem: the fastest of several configurations, compiled by the installed Triton.

A program is data of the plan: the kernel of ``triton_kernels.py``, its arguments (scalars, or arrays of the problem), which of
them are tensor descriptors and of what box, its constants, its grid, and the warps and stages to try.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module

TUNING_SECONDS = 20.0  # after which no other program is tried
_TRIES = 3


class NoProgram(Exception):
    """None of the programs compiles and runs."""


Made = Callable[..., None]


def launches(
    kernels, programs: Sequence[dict], tensors: Sequence, most: int
) -> Iterator[tuple[Callable[[], Made], str]]:
    """Each program with each pair of warps and stages: what makes its launch on ``most`` SMs, and its name."""
    for program in programs:
        for warps, stages in program["configurations"]:
            options = {"num_warps": warps, "num_stages": stages}
            make = partial(_make, getattr(kernels, program["kernel"], None), program, tensors, most, options)
            yield make, _name(program, warps, stages)


def _make(kernel, program: dict, tensors: Sequence, most: int, options: dict) -> Made:
    words = dict(_arguments(program, tensors)) | program["constants"] | options
    x, y, z = program["grid"]
    grid = (min(x, most) if program["is_persistent"] else x, y, z)

    def launch(compile_only: bool = False) -> None:
        if compile_only:
            kernel.warmup(grid=grid, **words)
        else:
            kernel[grid](**words)

    return launch


def _name(program: dict, warps: int, stages: int) -> str:
    tile = "x".join(str(program["constants"][name]) for name in ("M", "N", "K") if name in program["constants"])
    return f"{program['kernel']} {tile} warps {warps} stages {stages}".replace("  ", " ")


def _arguments(program: dict, tensors: Sequence) -> Iterator[tuple[str, object]]:
    for name, value in program["arguments"].items():
        if not isinstance(value, dict):
            yield name, value
            continue
        tensor, box = tensors[value["array"]].reshape(value["shape"]), program["boxes"].get(name)
        yield name, tensor if box is None else _descriptor(tensor, list(box))


def _descriptor(tensor, box: list[int]):
    return import_module("triton.tools.tensor_descriptor").TensorDescriptor.from_tensor(tensor, box)


def fastest(
    kernels, programs: Sequence[dict], tensors: Sequence, most: int, stopwatch: Callable[[Callable[[], None]], float]
) -> tuple[Callable[[], None], str]:
    """The launch that took least, and its name. Raises NoProgram."""
    best, why, end = (math.inf, None, ""), "", time.monotonic() + TUNING_SECONDS
    for make, name in launches(kernels, programs, tensors, most):
        if best[1] and time.monotonic() > end:
            break
        try:
            launch = make()
            launch()
            took = min(stopwatch(launch) for _ in range(_TRIES))
        except Exception as error:  # of any kind: Triton's passes, LLVM, ptxas, a launch that asks for too much
            why = f"{type(error).__name__}: {error}"
            continue
        if took < best[0]:
            best = (took, launch, name)
    if best[1] is None:
        raise NoProgram(why or "there is no program")
    return best[1], best[2]


def compile_all(torch, kernels, row: dict, programs: Sequence[dict]) -> int:
    """Fill Triton's cache; how many compiled."""
    names = [_TORCH.get(dtype, dtype) for dtype in row["dtypes"]]
    shapes = {value["array"]: value["shape"] for program in programs for value in _arrays_of(program)}
    tensors = [torch.empty(shapes[at], dtype=getattr(torch, names[at]), device="cuda") for at in sorted(shapes)]
    compiled = 0
    for make, _ in launches(kernels, programs, tensors, 1):
        try:
            make()(compile_only=True)
            compiled += 1
        except Exception:  # as above; it is reported where it is timed
            continue
    return compiled


def _arrays_of(program: dict) -> list[dict]:
    return [value for value in program["arguments"].values() if isinstance(value, dict)]


_TORCH = {"float8_e8m0fnu": "uint8", "scale_e4m3": "float8_e4m3fn"}
