"""What is wrong with a kernel's row of a launch manifest that has the right fields: numbers and names that no launcher can use.

Each check is a function over the row that yields sentences; ``launch_manifest.py:check_launch`` raises the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from ..target.element_types import ELEMENT_TYPES, MAP_TYPES
from .manifest_constants import GRID, POINTER, TENSOR_MAP

if TYPE_CHECKING:
    from .launch_manifest import Argument, Launch, Parameter, TensorMapRow, Value

# Limits of CUDA: threads and dynamic shared memory of a CTA, CTAs of a multiprocessor and of a cluster ("Technical
# Specifications per Compute Capability"); of the PTX ISA: bytes of all parameters (5.1.6.1).
MOST_THREADS, MOST_SHARED, MOST_CTAS, MOST_CLUSTER = 1024, 1 << 20, 64, 64
MOST_PARAMETERS = 32764
_WIDE = 1 << 63
# Bytes of a parameter by its kind; other kinds (small floats) have 1 to 16.
SIZES = {POINTER: 8, TENSOR_MAP: 128}
SIZES |= {name: row.moved_bits // 8 for name, row in ELEMENT_TYPES.items() if row.c is not None and row.c_kind != "f8"}
_LENGTHS = ("i8", "i16", "i32", "i64")  # kinds of an array's lengths and strides
# Words of a tensor map (CUDA Driver API, "Tensor Map Object Management").
WORDS = {
    "element": tuple(MAP_TYPES),
    "swizzle": ("none", "32B", "64B", "128B", "128B_ATOM_32B"),
    "interleave": ("none", "16B", "32B"),
    "fill": ("zero", "nan"),
    "l2_promotion": ("none", "64B", "128B", "256B"),
}
MOST_RANK = 5  # of a tensor map


def problems(launch: Launch) -> Iterator[str]:
    """What is wrong, in sentences."""
    parts = (_of_the_block(launch), _of_parameters(launch.params, len(launch.tensor_maps)), _of_arguments(launch))
    return chain(*parts, *(_of_map(launch, index, row) for index, row in enumerate(launch.tensor_maps)))


def _of_the_block(launch: Launch) -> Iterator[str]:
    if not 1 <= launch.threads_per_cta <= MOST_THREADS:
        yield f"it has {launch.threads_per_cta} threads a CTA, not 1 to {MOST_THREADS}"
    for name in ("static", "dynamic"):
        size = getattr(launch.shared_memory, name)
        if not 0 <= size <= MOST_SHARED:
            yield f"it has {size} bytes of {name} shared memory"
    if min(launch.cluster) < 1 or max(launch.cluster) > MOST_CLUSTER:
        yield f"its cluster is {launch.cluster}, not three positive numbers"
    grid = launch.grid
    if not 0 <= grid.persistent <= MOST_CTAS or grid.group < 1 or any(axis not in (0, 1, 2) for axis in grid.axes):
        yield f"its grid has axes {grid.axes}, groups of {grid.group} and {grid.persistent} persistent CTAs"


def _of_parameters(params: list[Parameter], maps: int) -> Iterator[str]:
    if maps != sum(param.kind == TENSOR_MAP for param in params):
        yield f"it has {maps} tensor maps, which is not what its parameters say"
    end = 0
    for index, param in enumerate(params):
        if not 1 <= param.size <= SIZES.get(param.kind, 16) or param.size != SIZES.get(param.kind, param.size):
            yield f"parameter {index} is of kind {param.kind!a} and has {param.size} bytes"
        if param.offset < end or param.offset + param.size > MOST_PARAMETERS:
            yield f"parameter {index} lies at byte {param.offset}, which is no place for it"
        if not 1 <= param.divisible_by < _WIDE:
            yield f"parameter {index} is a multiple of {param.divisible_by}"
        if any(abs(number or 0) > _WIDE for number in (param.value, param.minimum, param.maximum)):
            yield f"parameter {index} has a bound of more than 64 bits"
        if param.role == GRID and param.kind != "i32":
            yield f"parameter {index} is an extent of the grid and of kind {param.kind!a}"
        end = param.offset + param.size


def _of_arguments(launch: Launch) -> Iterator[str]:
    for argument in launch.arguments:
        if (argument.kind == "array") != (argument.rank is not None) or (argument.rank or 0) < 0:
            yield f"its argument {argument.name} is of kind {argument.kind} and rank {argument.rank}"
        elif argument.param + argument.parameters > len(launch.params) or argument.param < 0:
            yield f"its argument {argument.name} has parameters that it has not"
        else:
            yield from _of_argument(argument, launch.params[argument.param : argument.param + argument.parameters])


def _of_argument(argument: Argument, params: list[Parameter]) -> Iterator[str]:
    first, *rest = params
    if argument.kind != "scalar" and first.kind != POINTER:
        yield f"its argument {argument.name} begins with a parameter of kind {first.kind!a}, not with an address"
    roles = ["shape"] * (argument.rank or 0) + ["stride"] * (argument.rank or 0)
    if [param.role for param in rest] != roles or any(param.kind not in _LENGTHS for param in rest):
        yield f"the lengths and strides of its argument {argument.name} are not there in order"


def _of_map(launch: Launch, index: int, row: TensorMapRow) -> Iterator[str]:
    rank = len(row.shape)
    if not 1 <= rank <= MOST_RANK or len(row.strides) != rank - 1 or {len(row.box), len(row.element_strides)} != {rank}:
        yield f"tensor map {index} has a shape, strides and a box of different ranks"
    for name, known in WORDS.items():
        if getattr(row, name) not in known:
            yield f"tensor map {index} has the {name} {getattr(row, name)!a}"
    if not 0 <= row.param < len(launch.params):
        yield f"tensor map {index} is of parameter {row.param}, which it has not"
    numbers = [number for number in (row.base, *row.shape, *row.strides) if not isinstance(number, int)]
    if not all(_is_known(launch, number) for number in numbers):
        yield f"tensor map {index} has numbers of parameters that are not there"


def _is_known(launch: Launch, number: Value) -> bool:
    ordinary = len(launch.ordinary) + len(launch.extents)
    return 0 <= number.param < ordinary and number.over != 0 and max(abs(number.times), abs(number.over)) < _WIDE
