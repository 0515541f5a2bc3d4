"""The aligned variant of a case: a second kernel beside it, for launches whose arrays keep the usual promises.

``Array("float16", 3)`` promises no strides, so its kernel has no TMA and few wide accesses, though the strides of nearly
every array are multiples of 16 bytes. The bytecode of its case therefore has two kernels: ``k``, and ``k__aligned`` with
more assumptions. Both take the same parameters. A launcher finds the assumptions of each in the launch manifest.

The usual promises are a base at a multiple of 16 bytes, stride 1 along the last axis (or the axis of ``unit_stride``), and
multiples of 16 bytes for the other strides and the length of that axis, which contiguous arrays keep together. A vector has
no other stride; its length is promised only if all arrays are vectors, as the other arrays' variant is not to depend on it.
Elements of lists promise nothing more: launchers do not see them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import lcm

from .kernel_case import Argument, Array

SUFFIX = "__aligned"
ALIGNMENT = 16  # bytes: the widest access of a thread, and what TMA requires of addresses and strides


def aligned_arguments(arguments: Sequence[Argument]) -> tuple[Argument, ...] | None:
    """The arguments with the usual promises; None if they have them, apart from the lengths of matrices."""
    only_vectors = all(array.ndim == 1 for array in _arrays(arguments))
    if not any(_lacks(array, _aligned(array, only_vectors)) for array in _arrays(arguments)):
        return None
    return tuple(_with_promises(argument, only_vectors) for argument in arguments)


def _arrays(arguments: Sequence[Argument]) -> Iterator[Array]:
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from _arrays(argument)
        elif isinstance(argument, Array):
            yield argument


def _with_promises(argument: Argument, only_vectors: bool) -> Argument:
    if isinstance(argument, tuple):
        return tuple(_with_promises(part, only_vectors) for part in argument)
    return _aligned(argument, only_vectors) if isinstance(argument, Array) else argument


def _lacks(array: Array, aligned: Array) -> bool:
    """Whether an array lacks a promise that is worth a second kernel."""
    promises = lambda one: (one.alignment, one.known_strides, one.stride_factors, one.shape_factors[: one.ndim == 1])
    return promises(array) != promises(aligned)


def _aligned(array: Array, only_vectors: bool) -> Array:
    unit = (-1 if array.unit_stride is None else array.unit_stride) % array.ndim if array.ndim else None
    elements = ALIGNMENT * 8 // _bits(array.dtype)
    has_length = array.ndim > 1 or only_vectors
    return replace(
        array,
        alignment=lcm(array.alignment, ALIGNMENT),
        unit_stride=unit,
        stride_divisible_by=tuple(
            factor if axis == unit else lcm(factor, elements) for axis, factor in enumerate(array.stride_factors)
        ),
        shape_divisible_by=tuple(
            lcm(factor, elements) if axis == unit and has_length else factor
            for axis, factor in enumerate(array.shape_factors)
        ),
    )


def _bits(dtype: str) -> int:
    """The bits of an element: "float4_e2m1fn" has 4, "bool_" a byte."""
    digits = re.search(r"\d+", dtype)
    return int(digits[0]) if digits else 8
