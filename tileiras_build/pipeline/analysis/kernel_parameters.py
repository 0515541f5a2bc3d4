"""Properties of a kernel's parameters for the launcher, derived from the kernel's code.

In:    a kernel function of nv_tileaa or nv_tileas operations with its body; ``signature``, if the front end recorded
       the names of the source's arguments.
Out:   ``Parameters``: a row per parameter (name, role, argument, axis, element, access, divisor, bounds, value), the
       arguments that they form, and the grid axes that the kernel reads. The IR is not changed.
After: every pass that moves memory accesses. Before: bodies are emitted, which consumes them.
Sound: assumptions at the top of the kernel, and the types of memory references, are the only facts about a parameter
       that the code relies on. An access counts for every parameter that its address may be derived from. A parameter
       whose address escapes (as an integer, or stored) has unknown access, which excludes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from math import lcm
from typing import Any

from xdsl.ir import Attribute, Operation, SSAValue

from ...frontend.argument_names_in_producer import Argument, Programs, Signature, parse
from ...ir.casting import int_array_attr, int_attr, str_attr, unwrap
from ...ir.dialects.cuda_tile.attrs import BoundedAttr, DivByAttr
from ...ir.dialects.fast_xdsl import item, operands_of, walk
from ...ir.dialects.nv_tileaa.types import MemRefType, PointerType
from ...ir.dialects.nv_tileas.types import TmaDescType
from ...ir.dialects.op_traits import OP_TRAITS, MemoryEffect
from ...manifest.manifest_constants import AXES, GRID, READ, READ_WRITE, UNUSED, WRITE
from ..common.llvm_element_types import element_of
from .pointer_origins import PointerOrigins, is_address

# Accesses of a kernel through an address, as one word.
ACCESSES = {frozenset(): UNUSED, frozenset("r"): READ, frozenset("w"): WRITE, frozenset("rw"): READ_WRITE}
_ESCAPED = "?"
_ASSUME, _CAST = ("nv_tileaa.assume", "nv_tileas.assume"), "builtin.unrealized_conversion_cast"
_MEMREF = ("nv_tileaa.make_memref", "nv_tileas.make_memref")
_WIDENED = ("arith.extsi", "arith.extui", "arith.index_cast")
_GRID = ("get_program_id", "get_num_programs")
# Operations by which a kernel that runs several tile programs reads axes; the grid's extents are its parameters.
PERSISTENT = "persistent_axes"
SIGNATURE = "signature"
# Operations that forward a parameter unchanged.
_SAME = frozenset((*_ASSUME, _CAST, *_WIDENED))
_TO_INTEGER = ("nv_tileaa.ptr_to_int", "nv_tileas.ptr_to_int", "nv_tileaa.bitcast", "nv_tileas.bitcast")


@dataclass
class ParameterInfo:
    """One parameter. ``divisor`` of a pointer is in bytes; ``value``: the only value for which the code is valid."""

    name: str
    role: str
    argument: int | None = None
    axis: int | None = None
    element: str | None = None
    access: str | None = None
    divisor: int = 1
    minimum: int | None = None
    maximum: int | None = None
    value: int | None = None

    def row(self) -> dict[str, int | str]:
        """The parameter's fields in the manifest besides name and position; unknown ones are left out."""
        optional = {"axis": self.axis, "element": self.element, "access": self.access, "minimum": self.minimum,
                    "maximum": self.maximum, "value": self.value}  # fmt: skip
        known = {name: found for name, found in optional.items() if found is not None}
        divisor = {"divisible_by": self.divisor} if self.divisor > 1 else {}
        argument = {} if self.argument is None else {"argument": self.argument}
        return {"role": self.role} | argument | known | divisor


@dataclass
class ViewInfo:
    """The memory that a kernel accesses through a pointer: integers are static sizes, None is dynamic."""

    extents: list[int | None]
    strides: list[int | None]


@dataclass
class Parameters:
    """Parameters in order; ``arguments`` are those of the caller; ``views`` by the index of a pointer that is not an
    array. ``variant_of``: the kernel whose variant this one is, for some grids, ``programs``, only. ``tuning`` and
    ``split_k``: the signature's.
    """

    rows: list[ParameterInfo]
    arguments: list[Argument]
    axes: list[int]
    grid: tuple[str, ...] = ()
    views: dict[int, ViewInfo] = field(default_factory=dict)
    variant_of: str | None = None
    programs: tuple[Programs, ...] = ()
    split_k: tuple[tuple[int, tuple[Programs, ...]], ...] = ()
    tuning: Mapping[str, Any] | None = None

    @property
    def extents(self) -> int:
        """The number of parameters after those of the program: the grid extents."""
        return sum(row.role == GRID for row in self.rows)

    def argument_of(self, parameter: int) -> Argument:
        """The argument that a parameter belongs to."""
        return self.arguments[unwrap(self.rows[parameter].argument)]

    def argument_rows(self) -> list[dict[str, Any]]:
        """The arguments as rows of the manifest."""
        parameters, index = [], 0
        for argument in self.arguments:
            kind = self.rows[index].role if argument.rank is None else "array"
            more: dict[str, Any] = {} if argument.rank is None else {"rank": argument.rank}
            more |= {"view": asdict(self.views[index])} if index in self.views else {}
            parameters.append({"name": argument.name, "kind": kind, "param": index} | more)
            index += argument.parameters
        return parameters


def variant_of(function: Operation) -> str | None:
    """The kernel whose variant a function is."""
    found = signature_of(function)
    return None if found is None else found.variant_of


def is_grid_variant(function: Operation) -> bool:
    """Whether a function is the variant of a kernel for some grids: those that its clusters divide, or of some numbers of tile programs."""
    found = signature_of(function)
    if found is None or found.variant_of is None:
        return False
    return "grid_cluster" in function.attributes or bool(found.programs)


def signature_of(function: Operation) -> Signature | None:
    """The source's signature, if the front end has stated it."""
    return parse(str_attr(function, SIGNATURE)) if SIGNATURE in function.attributes else None


def describe(function: Operation, entry: str) -> Parameters:
    """Describe the parameters of kernel ``entry``."""
    body = _KernelBody(function)
    found = signature_of(function)
    if found is not None and found.arguments is not None and not _agrees(found, body):
        found = None
    named = None if found is None else found.arguments
    arguments = _inferred_parameters(body, entry) if named is None else list(named)
    rows = [*_rows(arguments, body), *(ParameterInfo(f"grid_{axis}", GRID, axis=axis) for axis in range(body.extents))]
    _add_assumptions(rows, body)
    parameters = Parameters(rows, arguments, body.axes)
    if found is not None:
        parameters.grid, parameters.variant_of, parameters.tuning = found.grid, found.variant_of, found.tuning
        parameters.programs, parameters.split_k = found.programs, found.split_k
    _add_views(parameters, body)
    return parameters


# ---- the body --------------------------------------------------------------------------------------
class _KernelBody:
    """A kernel's body: the values that are parameters, and the memory accesses through them."""

    def __init__(self, function: Operation):
        self.function, self.block = function, function.regions[0].blocks[0]
        self.extents = AXES if PERSISTENT in function.attributes else 0
        self.inner = [op for op in walk(function) if op is not function]
        own = self.block.args[: len(self.block.args) - self.extents]
        self.origin: dict[SSAValue, int] = {argument: index for index, argument in enumerate(own)}
        self.types = [argument.type for argument in own]
        for op in self.inner:
            self._visit(op)

    def _visit(self, op: Operation) -> None:
        """Visit an operation: casts and assumptions forward a parameter."""
        if op.name in _SAME and len(operands_of(op)) == 1 and item(operands_of(op), 0) in self.origin:
            [result] = op.results
            self.origin[result] = index = self.origin[item(operands_of(op), 0)]
            if op.name == _CAST:
                self.types[index] = result.type

    @property
    def pointers(self) -> list[int]:
        return [index for index, type in enumerate(self.types) if isinstance(type, PointerType)]

    @cached_property
    def memrefs(self) -> list[Operation]:
        """Memory references that start at the pointer of a parameter."""
        return [op for op in self.inner if op.name in _MEMREF and op.operands[0] in self.origin]

    @cached_property
    def used(self) -> set[int]:
        """Parameters with other uses than assumptions."""
        return {
            self.origin[value]
            for op in self.inner
            if op.name not in (*_ASSUME, _CAST)
            for value in op.operands
            if value in self.origin
        }

    @property
    def axes(self) -> list[int]:
        """The grid axes whose index or extent the kernel reads."""
        if self.extents:
            return list(int_array_attr(self.function, PERSISTENT))
        return sorted({int_attr(op, "axis") for op in self.inner if op.name.partition(".")[2] in _GRID})

    @cached_property
    def accesses(self) -> dict[int, set[str]]:
        return _accesses(self)


# ---- arguments -------------------------------------------------------------------------------------
def _agrees(signature: Signature, body: _KernelBody) -> bool:
    """Whether a signature matches this kernel: equal numbers of parameters, and pointers exactly at the start of
    arrays.
    """
    if signature.parameters != len(body.types):
        return False
    arrays: set[int] = set()
    others: set[int] = set()
    index = 0
    for argument in signature.arguments or ():
        (others if argument.rank is None else arrays).add(index)
        index += argument.parameters
    return arrays <= set(body.pointers) <= arrays | others


def _inferred_parameters(body: _KernelBody, entry: str) -> list[Argument]:
    """Without a signature: pointers that follow cuTile's calling convention are arrays, all others are scalars."""
    ranks = (
        {}
        if entry.startswith("_Z")
        else {int(body.origin[op.operands[0]]): len(_memref(op).shape) for op in body.memrefs}
    )
    found, index = [], 0
    while index < len(body.types):
        rank = ranks.get(index)
        grouped = rank is not None and _has_convention(body, index, rank)
        found.append(Argument(f"arg{index}", rank if grouped else None))
        index += found[-1].parameters
    return found


def _has_convention(body: _KernelBody, pointer: int, rank: int) -> bool:
    """Whether sizes, then strides follow the pointer, each used by the memory references in that role or not at all."""
    own = [op for op in body.memrefs if body.origin[op.operands[0]] == pointer]
    positions = set(range(pointer + 1, pointer + 1 + 2 * rank))
    if positions and max(positions) >= len(body.types) or positions & set(body.pointers):
        return False
    if any(len(_memref(op).shape) != rank for op in own):
        return False
    wanted = [(value, position) for op in own for value, position in _dynamic(op, pointer, rank)]
    if any(body.origin.get(value) != position for value, position in wanted):
        return False
    named = {position for _, position in wanted}
    return bool(named & positions) and not (positions - named) & body.used


def _dynamic(op: Operation, pointer: int, rank: int) -> Iterator[tuple[SSAValue, int]]:
    """Each dynamic operand of a memory reference, with its parameter by cuTile's calling convention."""
    type, operands = _memref(op), iter(op.operands[1:])
    for first, extents in ((pointer + 1, type.shape), (pointer + 1 + rank, type.strides)):
        for dim, extent in enumerate(extents):
            if extent is None:
                yield next(operands), first + dim


def _memref(op: Operation) -> MemRefType:
    [result] = op.results
    assert isinstance(result.type, MemRefType)
    return result.type


def _rows(arguments: Sequence[Argument], body: _KernelBody) -> Iterator[ParameterInfo]:
    index = 0
    for number, argument in enumerate(arguments):
        type = body.types[index]
        first = ParameterInfo(argument.name, "pointer" if isinstance(type, PointerType) else "scalar", number)
        if isinstance(type, PointerType):
            first.element = element_of(type.pointee).name
            first.access = _access(body.accesses[index])
        yield first
        for role in ("shape", "stride") if argument.rank else ():
            for axis in range(argument.rank or 0):
                value = 1 if role == "stride" and axis == argument.unit_axis else None
                yield ParameterInfo(f"{argument.name}_{role}_{axis}", role, number, axis, value=value)
        index += argument.parameters


def _access(found: set[str]) -> str | None:
    return None if _ESCAPED in found else ACCESSES[frozenset(found)]


# ---- assumptions ---------------------------------------------------------------------------------
def _add_assumptions(rows: list[ParameterInfo], body: _KernelBody) -> None:
    for op in body.block.ops:
        if op.name in _ASSUME and op.operands[0] in body.origin:
            _record_assumption(rows[body.origin[op.operands[0]]], op.attributes["predicate"])
    for op in body.memrefs:
        _add_static(rows, body, op)


def _record_assumption(row: ParameterInfo, predicate: Attribute) -> None:
    if isinstance(predicate, DivByAttr) and predicate.every is None:
        row.divisor = lcm(row.divisor, predicate.divisor)
    elif isinstance(predicate, BoundedAttr):
        row.minimum = max((bound for bound in (row.minimum, predicate.lb) if bound is not None), default=None)
        row.maximum = min((bound for bound in (row.maximum, predicate.ub) if bound is not None), default=None)


def _add_static(rows: list[ParameterInfo], body: _KernelBody, op: Operation) -> None:
    """Add the static sizes and strides of a memory reference to a whole array."""
    type, pointer = _memref(op), body.origin[op.operands[0]]
    rank = len(type.shape)
    parts = [row for row in rows if row.argument == rows[pointer].argument and row.axis is not None]
    axes = _axes(op, body, pointer, rank)
    if len(parts) != 2 * rank or axes is None:
        return
    for role, extents in (("shape", type.shape), ("stride", type.strides)):
        for axis, extent in zip(axes, extents):
            if extent is not None:
                rows[pointer + 1 + axis + rank * (role == "stride")].value = extent


def _axes(op: Operation, body: _KernelBody, pointer: int, rank: int) -> list[int] | None:
    """The array axis of each dimension; None if the reference is not to the whole array."""
    type, operands = _memref(op), iter(op.operands[1:])
    axes: list[int | None] = []
    for extent in type.shape:
        position = None if extent is not None else body.origin.get(next(operands), -1) - pointer - 1
        if position is not None and not 0 <= position < rank:
            return None
        axes.append(position)
    for dim, stride in enumerate(type.strides):
        if stride is None:
            position = body.origin.get(next(operands), -1) - pointer - 1 - rank
            if not 0 <= position < rank or axes[dim] not in (None, position):
                return None
            axes[dim] = position
    missing = [axis for axis in range(rank) if axis not in axes]
    if len(missing) != axes.count(None):
        return None
    return [missing.pop(0) if axis is None else axis for axis in axes]


def _add_views(parameters: Parameters, body: _KernelBody) -> None:
    """Add the memory that the kernel accesses through plain pointers, if all accesses agree."""
    known: defaultdict[int, list[MemRefType]] = defaultdict(list)
    for op in body.memrefs:
        pointer = body.origin[op.operands[0]]
        if parameters.argument_of(pointer).rank is None and _memref(op) not in known[pointer]:
            known[pointer].append(_memref(op))
    for pointer, types in known.items():
        if len(types) == 1:
            parameters.views[pointer] = ViewInfo(list(types[0].shape), list(types[0].strides))


# ---- accesses --------------------------------------------------------------------------------------
def _accesses(body: _KernelBody) -> dict[int, set[str]]:
    """The accesses through each pointer: reads (r), writes (w), or unknown (?)."""
    roots = PointerOrigins(body.origin, body.inner)
    found: dict[int, set[str]] = {pointer: set() for pointer in body.pointers}
    for op in body.inner:
        for value, done in _accessed_operand(op):
            for pointer in roots.of(value):
                found[pointer] |= done
    return found


_NOTHING, _ESCAPES = frozenset[str](), frozenset((_ESCAPED,))


def _accessed_operand(op: Operation) -> Iterator[tuple[SSAValue, frozenset[str]]]:
    """The addresses through which an operation accesses memory, or that escape."""
    known = OP_TRAITS.get(op.name)  # operations without effects have no lowering, and later passes reject them by name
    done = _NOTHING if known is None else _access_kind(known.effect)
    if done:
        address, *others = operands_of(op)
        yield address, done
        yield from ((value, _ESCAPES) for value in others if _is_stored_address(value))
    elif op.name in _TO_INTEGER and is_address(op.operands[0].type):
        yield op.operands[0], _ESCAPES


@cache
def _access_kind(effect: MemoryEffect) -> frozenset[str]:
    """The access kind of an operation's effect."""
    if not effect & (MemoryEffect.READ | MemoryEffect.WRITE | MemoryEffect.COPY):
        return _NOTHING
    writes = bool(effect & MemoryEffect.WRITE)
    reads = bool(effect & MemoryEffect.READ) or not writes
    return frozenset(name for name, does in (("r", reads), ("w", writes)) if does)


def _is_stored_address(value: SSAValue) -> bool:
    return is_address(value.type) and not isinstance(value.type, TmaDescType)
