"""Launch stubs: a function generated for each kernel and each kind of arguments, without loops.

cuTile compiles a kernel for the constraints that it finds on the arguments (the type, a stride of 1, an address at a multiple
of 16, …). A stub checks that the constraints of an earlier launch hold again; then it writes the values where the driver reads
them. For two vectors and a constant the code is

    def launch(grid, arguments, stream, programmatic):
        try:
            x0, x1, x2 = arguments
            if type(x0) is not k0 or type(x1) is not k1 or type(x2) is not int or x2 != 128:
                return False
            x0_p = x0.data_ptr()
            (x0_n0,) = x0.shape
            ...
            if x0.dtype is not x0_dtype or x0_p & 15 or x0_s0 != 1 or x0_n0 & 15 or ...:
                return False
            ...
            pack_into(buffer, offset, gx, gy, gz, 128, 1, 1, 0, handle, attribute, programmatic, x0_p, x0_n0, x0_s0, ...)
        except (...):
            return False
        ...

The slow path handles arguments for which it returns False. A superfluous check costs time, a missing one correctness: the stub
checks each assumption of a constraint, and each condition under which cuTile would have found a stronger constraint, unless
the example satisfies that condition. The generated code contains only integers and names of its own.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...launch.runtime.pack_arguments import ArrayView
from ...manifest.launch_manifest import Parameter
from ...manifest.manifest_constants import MAX_TILE_PROGRAMS
from ..flatten_arguments import aggregate_members
from ..validate_launch import MAX_GRID
from .array_unpackers import Names, unpack_code
from .cutile_kernel import CutileKernel

if TYPE_CHECKING:
    from . import LaunchStub

_SPECIALIZED_RANK = 5  # cuTile derives nothing from the lengths and strides of further axes
_SPECIALIZED_BYTES = 16
_TYPES = {"i1": "bool", "i32": "int", "i64": "int", "f32": "float", "f64": "float"}
_MAX_AXES = (MAX_GRID, 65535, 65535)


def make_launch_stub(
    loaded: CutileKernel,
    signature: Any,
    arguments: tuple[object, ...],
    view: Callable[[object, object], ArrayView],
    handle_of: Callable[[object], int],
    here: threading.local,
) -> LaunchStub | None:
    """The stub for arguments like these; None if one is a list, whose table each launch allocates.

    ``view`` returns the view of an array for a stream, ``handle_of`` a stream's handle; ``here.ready`` exists if the
    thread has a context.
    """
    writer = _StubWriter(loaded.launch.caller_parameters, view)
    names = [f"x{index}" for index in range(len(arguments))]
    try:
        for name, constraint, argument in zip(names, signature.parameters, arguments, strict=True):
            writer.add(name, constraint, argument)
    except _HasList:
        return None
    text = _text(loaded, writer, names)
    scope = writer.names | {
        "view": view, "handle_of": handle_of, "here": here, "pack_into": loaded.layout.pack_into, "pool": loaded.pool,
        "new": loaded.layout.new, "call": loaded.call, "failed": loaded.failed, "maps": loaded.maps, "encode": loaded.encode,
        "errors": (AttributeError, KeyError, OverflowError, RuntimeError, TypeError, ValueError, struct.error),
    }  # fmt: skip
    exec(text, scope)  # the code is only what this file and array_unpackers.py generate
    return scope["launch"]  # type: ignore[return-value]


class _HasList(Exception):
    """An argument is a list."""


class _StubWriter:
    """Collects the lines that check the arguments, and the expressions of the parameters."""

    def __init__(self, params: tuple[Parameter, ...], view: Callable[[object, object], ArrayView]):
        self._params, self._view = iter(params), view
        self.kinds: list[str] = []
        self.lines: list[str] = []
        self.guards: list[str] = []
        self.values: list[str] = []
        self.names: dict[str, object] = {}

    def add(self, name: str, constraint: Any, argument: Any) -> None:
        """Add an argument, or a part of one; ``name`` is its name in the code."""
        kind = type(constraint).__name__
        if kind == "ListConstraint":
            raise _HasList
        if kind == "ArrayConstraint":
            self._add_array(name, constraint, argument)
        elif kind == "ScalarConstraint":
            self._add_scalar(name)
        elif kind == "ConstantConstraint":
            self._add_constant(name, argument)
        else:
            self._add_aggregate(name, constraint, argument)

    def _add_aggregate(self, name: str, constraint: Any, argument: Any) -> None:
        parts = list(aggregate_members(name, constraint, argument))
        own = [f"{name}_{index}" for index in range(len(parts))]
        self._is_of_type(name, argument)
        # Its items can be checked after its type.
        self.lines += [f"if {' or '.join(self.kinds)}:", " return False"]
        self.kinds = []
        if isinstance(argument, tuple):
            self.lines.append(f"({''.join(f'{one}, ' for one in own)}) = {name}")
        else:
            fields = [part.removeprefix(f"{name}_") for part, _, _ in parts]
            self.lines += [f"{one} = {name}.{field}" for one, field in zip(own, fields)]
        for one, (_, part, inner) in zip(own, parts):
            self.add(one, part, inner)

    def _is_of_type(self, name: str, argument: object) -> None:
        self.names[f"{name}_kind"] = type(argument)
        self.kinds.append(f"type({name}) is not {name}_kind")

    def _add_scalar(self, name: str) -> None:
        self.kinds.append(f"type({name}) is not {_TYPES[next(self._params).kind]}")
        self.values.append(name)

    def _add_constant(self, name: str, value: object) -> None:
        self._is_of_type(name, value)
        if type(value) in (int, str):
            self.names[f"{name}_is"] = value
            self.kinds.append(f"{name} != {name}_is")
        elif type(value) is float:
            self.names |= {f"{name}_is": struct.pack("<d", value), "bits": struct.Struct("<d").pack}
            self.kinds.append(f"bits({name}) != {name}_is")
        else:
            self.names[f"{name}_is"] = value
            self.kinds.append(f"{name} is not {name}_is")

    def _add_array(self, name: str, constraint: Any, argument: Any) -> None:
        rank, bits = constraint.ndim, constraint.dtype.bitwidth
        shape = tuple(f"{name}_n{axis}" for axis in range(rank))
        strides = tuple(f"{name}_s{axis}" for axis in range(rank))
        names, seen = Names(name, f"{name}_p", shape, strides), self._view(argument, 0)
        reading = unpack_code(argument, seen, names, max(bits // 8, 1))
        self._is_of_type(name, argument)
        self.names |= reading.names
        self.lines += [f"if {' or '.join(self.kinds)}:", " return False", *reading.lines]
        self.kinds = []
        self.guards += [
            *reading.guards,
            *_assumption_guards(names, constraint),
            *_extra_guards(names, constraint, seen),
        ]
        if not constraint.may_alias_internally:
            self.guards += _disjoint(names, constraint, seen)
        self.values += [names.address, *shape, *strides]
        for _ in range(1 + 2 * rank):
            next(self._params)


# ---- the negated constraints of an array -----------------------------------------------------------------------------
def _assumption_guards(names: Names, constraint: Any) -> Iterator[str]:
    if constraint.base_addr_divisible_by > 1:
        yield _indivisible(names.address, constraint.base_addr_divisible_by)
    for axis, (length, stride) in enumerate(zip(names.shape, names.strides)):
        yield from _of_number(length, _shape_constants(constraint)[axis], constraint.shape_divisible_by[axis])
        yield from _of_number(stride, constraint.stride_constant[axis], constraint.stride_divisible_by[axis])
        lowest = constraint.stride_lower_bound_incl[axis]
        if lowest is not None:
            yield f"{stride} < {lowest:d}"


def _shape_constants(constraint: Any) -> tuple[int | None, ...]:
    """None before 1.5, which has no shape constants."""
    return getattr(constraint, "shape_constant", (None,) * constraint.ndim)


def _of_number(name: str, value: int | None, divisor: int) -> Iterator[str]:
    if value is not None:
        yield f"{name} != {value:d}"
    elif divisor > 1:
        yield _indivisible(name, divisor)


def _indivisible(name: str, divisor: int) -> str:
    return f"{name} & {divisor - 1:d}" if divisor & (divisor - 1) == 0 else f"{name} % {divisor:d}"


def _extra_guards(names: Names, constraint: Any, seen: ArrayView) -> Iterator[str]:
    """Conditions under which cuTile would have found a stronger constraint; the example violates none of them."""
    if constraint.base_addr_divisible_by == 1 and seen.address % _SPECIALIZED_BYTES:
        yield f"not {names.address} & {_SPECIALIZED_BYTES - 1}"
    if constraint.ndim > _SPECIALIZED_RANK:
        return
    unit = 8 * _SPECIALIZED_BYTES // constraint.dtype.bitwidth
    for axis, (length, stride) in enumerate(zip(seen.shape, seen.strides)):
        if _shape_constants(constraint)[axis] is None:
            yield from _extra_guards_of(names.shape[axis], length, constraint.shape_divisible_by[axis], 16)
        if constraint.stride_constant[axis] is None:
            yield from _extra_guards_of(names.strides[axis], stride, constraint.stride_divisible_by[axis], unit)


def _extra_guards_of(name: str, value: int, found: int, divisor: int) -> Iterator[str]:
    if value != 1 and found % divisor:
        yield f"{name} == 1"
    if found == 1 and divisor > 1 and value % divisor:
        yield f"not {name} & {divisor - 1:d}"


def _disjoint(names: Names, constraint: Any, seen: ArrayView) -> Iterator[str]:
    """Axes by increasing stride that do not overlap, as in the example."""
    order = sorted(range(constraint.ndim), key=lambda axis: (seen.strides[axis], seen.shape[axis]))
    for axis in order:
        if constraint.stride_constant[axis] is None:
            yield f"{names.strides[axis]} <= 0"
    for inner, outer in pairwise(order):
        yield f"{names.strides[outer]} < {names.strides[inner]} * {names.shape[inner]}"


# ---- the code ------------------------------------------------------------------------------------------------------
def _text(loaded: CutileKernel, writer: _StubWriter, names: list[str]) -> str:
    launch = loaded.launch
    limits = [limit // size for limit, size in zip(_MAX_AXES, launch.cluster)]
    body = [f"{''.join(f'{name}, ' for name in names)} = arguments" if names else "() = arguments", *writer.lines]
    if conditions := [*writer.kinds, *writer.guards]:
        body += [f"if {' or '.join(conditions)}:", " return False"]
    body += [
        "if type(grid) is not tuple:",
        " return False",
        "gx, gy, gz = grid if len(grid) == 3 else (*grid, 1, 1, 1)[:max(3, len(grid))]",
        f"if not (0 < gx <= {limits[0]} and 0 < gy <= {limits[1]} and 0 < gz <= {limits[2]}):",
        " return False",
        *_blocks(loaded),
        "handle = stream if type(stream) is int else handle_of(stream)",
        "here.ready",
        *_maps(loaded, writer.values),
        "try:",
        " block = pool.pop()",
        "except IndexError:",
        " block = new()",
        "buffer, offset, address, pointers, attribute = block",
        f"pack_into({_packed(loaded, writer.values)})",
    ]
    lines = ["def launch(grid, arguments, stream, programmatic):", " try:", *[f"  {line}" for line in body]]
    lines += [" except errors:", "  return False"]
    lines += [f" status = call(address, {loaded.kernel:d}, pointers, None)", " pool.append(block)"]
    return "\n".join([*lines, " if status:", "  failed(status)", " return True"])


def _blocks(loaded: CutileKernel) -> list[str]:
    """The launched blocks of a persistent kernel; other kernels are launched on the caller's grid."""
    if not loaded.launch.grid.persistent:
        return []
    (most, _, _) = loaded.launch.blocks((MAX_TILE_PROGRAMS, 1, 1), loaded.sm_count)
    return [
        "programs = gx * gy * gz",
        f"if programs > {MAX_TILE_PROGRAMS:d}:",
        " return False",
        f"blocks = min(programs, {most:d})",
    ]


def _maps(loaded: CutileKernel, values: list[str]) -> list[str]:
    if not loaded.mapped:
        return []
    key = "".join(f"{values[index]}, " for index in loaded.mapped)
    found = "".join(f"m{index}, " for index in range(len(loaded.launch.tensor_maps)))
    every = "".join(f"{value}, " for value in values)
    return [f"key = ({key})", f"{found} = maps.get(key) or encode(key, ({every}))"]


def _packed(loaded: CutileKernel, values: list[str]) -> str:
    launch = loaded.launch
    grid = ["gx", "gy", "gz"]
    blocks, extents = (["blocks", "1", "1"], grid) if launch.grid.persistent else (grid, [])
    head = ["buffer", "offset", *blocks, f"{launch.threads_per_cta:d}", "1", "1"]
    head += [f"{launch.shared_memory.dynamic:d}", "handle", "attribute"]
    head.append("programmatic" if loaded.may_be_programmatic else "0")
    return ", ".join([*head, *values, *extents, *(f"m{index}" for index in range(len(launch.tensor_maps)))])
