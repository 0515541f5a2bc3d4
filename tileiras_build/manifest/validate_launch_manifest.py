"""Validates the values of a kernel's launch manifest, whose field types are right: ranges, offsets, references.

Each check is a generator of messages; ``launch_manifest.py:check_launch`` raises the first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from ..target.element_types import ELEMENT_TYPES, MAP_TYPES
from .manifest_constants import GRID, POINTER, TENSOR_MAP

if TYPE_CHECKING:
    from .launch_manifest import Argument, Launch, Parameter, TensorMapSpec, Value

# Limits of CUDA: threads and dynamic shared memory of a CTA, CTAs of an SM and of a cluster ("Technical
# Specifications per Compute Capability"); of the PTX ISA: bytes of all parameters (5.1.6.1).
MAX_THREADS, MAX_SHARED_MEMORY, MAX_CTAS_PER_SM, MAX_CLUSTER_CTAS = 1024, 1 << 20, 64, 64
MAX_PARAMETER_BYTES = 32764
_WIDE = 1 << 63
# Sizes of parameters by kind in bytes; other kinds (small floats) have 1 to 16.
SIZES = {POINTER: 8, TENSOR_MAP: 128}
SIZES |= {
    name: row.load_bits // 8 for name, row in ELEMENT_TYPES.items() if row.c is not None and row.c_type_class != "f8"
}
_LENGTHS = ("i8", "i16", "i32", "i64")  # kinds of an array's lengths and strides
# Enumerators of a tensor map (CUDA Driver API, "Tensor Map Object Management").
ENUM_VALUES = {
    "element": tuple(MAP_TYPES),
    "swizzle": ("none", "32B", "64B", "128B", "128B_ATOM_32B"),
    "interleave": ("none", "16B", "32B"),
    "fill": ("zero", "nan"),
    "l2_promotion": ("none", "64B", "128B", "256B"),
}
MAX_RANK = 5  # of a tensor map


def problems(launch: Launch) -> Iterator[str]:
    """The problems, one message each."""
    parts = (
        _block_problems(launch),
        _parameter_problems(launch.params, len(launch.tensor_maps)),
        _programs_problems(launch),
        _arguments_problems(launch),
    )
    return chain(*parts, *(_tensor_map_problems(launch, index, row) for index, row in enumerate(launch.tensor_maps)))


def _block_problems(launch: Launch) -> Iterator[str]:
    if not 1 <= launch.threads_per_cta <= MAX_THREADS:
        yield f"invalid threads_per_cta {launch.threads_per_cta} (1 to {MAX_THREADS})"
    for name in ("static", "dynamic"):
        size = getattr(launch.shared_memory, name)
        if not 0 <= size <= MAX_SHARED_MEMORY:
            yield f"invalid {name} shared memory of {size} bytes"
    if min(launch.cluster) < 1 or max(launch.cluster) > MAX_CLUSTER_CTAS:
        yield f"invalid cluster {launch.cluster}"
    grid = launch.grid
    if (
        not 0 <= grid.persistent <= MAX_CTAS_PER_SM
        or grid.group < 1
        or grid.cluster < 1
        or grid.most < 0
        or any(axis not in (0, 1, 2) for axis in grid.axes)
    ):
        yield f"invalid grid: axes {grid.axes}, group {grid.group}, persistent {grid.persistent}"


def _programs_problems(launch: Launch) -> Iterator[str]:
    integers = [index for index, param in enumerate(launch.caller_parameters) if param.kind in _LENGTHS]
    for one in (*launch.grid.programs, *(one for split in launch.split_k for one in split.programs)):
        if not 1 <= one.least <= one.most < _WIDE or not 0 <= one.minimum < _WIDE:
            yield f"invalid grid of {one.least} to {one.most} tile blocks, from {one.minimum}"
        if one.param is not None and one.param not in integers:
            yield f"a grid refers to parameter {one.param}, which is no integer of the caller"


def _parameter_problems(params: list[Parameter], maps: int) -> Iterator[str]:
    if maps != sum(param.kind == TENSOR_MAP for param in params):
        yield f"{maps} tensor maps do not match the parameters of kind {TENSOR_MAP!a}"
    end = 0
    for index, param in enumerate(params):
        if not 1 <= param.size <= SIZES.get(param.kind, 16) or param.size != SIZES.get(param.kind, param.size):
            yield f"parameter {index} of kind {param.kind!a} has invalid size {param.size}"
        if param.offset < end or param.offset + param.size > MAX_PARAMETER_BYTES:
            yield f"parameter {index} has invalid offset {param.offset}"
        if not 1 <= param.divisible_by < _WIDE:
            yield f"parameter {index} has invalid divisible_by {param.divisible_by}"
        if any(abs(bound or 0) > _WIDE for bound in (param.value, param.minimum, param.maximum)):
            yield f"parameter {index} has a bound of more than 64 bits"
        if param.role == GRID and param.kind != "i32":
            yield f"parameter {index} is a grid extent of invalid kind {param.kind!a}"
        end = param.offset + param.size


def _arguments_problems(launch: Launch) -> Iterator[str]:
    for argument in launch.arguments:
        if (argument.kind == "array") != (argument.rank is not None) or (argument.rank or 0) < 0:
            yield f"argument {argument.name} of kind {argument.kind} has invalid rank {argument.rank}"
        elif argument.param + argument.parameters > len(launch.params) or argument.param < 0:
            yield f"argument {argument.name} refers to missing parameters"
        else:
            yield from _argument_problems(
                argument, launch.params[argument.param : argument.param + argument.parameters]
            )


def _argument_problems(argument: Argument, params: list[Parameter]) -> Iterator[str]:
    first, *rest = params
    if argument.kind != "scalar" and first.kind != POINTER:
        yield f"argument {argument.name} must start with a pointer, got a parameter of kind {first.kind!a}"
    roles = ["shape"] * (argument.rank or 0) + ["stride"] * (argument.rank or 0)
    if [param.role for param in rest] != roles or any(param.kind not in _LENGTHS for param in rest):
        yield f"the lengths and strides of argument {argument.name} are incomplete or out of order"


def _tensor_map_problems(launch: Launch, index: int, tensor_map: TensorMapSpec) -> Iterator[str]:
    rank = len(tensor_map.shape)
    if (
        not 1 <= rank <= MAX_RANK
        or len(tensor_map.strides) != rank - 1
        or {len(tensor_map.box), len(tensor_map.element_strides)} != {rank}
    ):
        yield f"tensor map {index}: shape, strides and box have different ranks"
    for name, known in ENUM_VALUES.items():
        if getattr(tensor_map, name) not in known:
            yield f"tensor map {index} has invalid {name} {getattr(tensor_map, name)!a}"
    if not 0 <= tensor_map.param < len(launch.params):
        yield f"tensor map {index} refers to missing parameter {tensor_map.param}"
    values = [
        value for value in (tensor_map.base, *tensor_map.shape, *tensor_map.strides) if not isinstance(value, int)
    ]
    if not all(_is_known(launch, value) for value in values):
        yield f"tensor map {index} refers to missing parameters"


def _is_known(launch: Launch, value: Value) -> bool:
    ordinary = len(launch.caller_parameters) + len(launch.extents)
    return 0 <= value.param < ordinary and value.over != 0 and max(abs(value.times), abs(value.over)) < _WIDE
