"""The launch stubs of ``ct.launch``: cuTile's constraints as checks (``launch/runtime/generate_launch_stub.py``).

cuTile compiles a kernel for the constraints that it finds on the arguments (the type, a stride of 1, an address at a multiple
of 16, …). A stub checks each assumption of a constraint, and each condition under which cuTile would have found a stronger
constraint, unless the example satisfies that condition.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, repeat
from typing import Any

from ...launch.runtime.array_unpackers import Names, Wanted
from ...launch.runtime.generate_launch_stub import MORE_AXES, LaunchStub, StubWriter, make_launch_stub
from ...launch.runtime.pack_arguments import ArrayView
from ...manifest.launch_manifest import Parameter
from ...manifest.parameter_bounds import bounds_of
from ...manifest.variant_assumptions import Choice
from ..flatten_arguments import aggregate_members
from .cutile_kernel import CutileKernel

_SPECIALIZED_RANK = 5  # cuTile derives nothing from the lengths and strides of further axes
_SPECIALIZED_BYTES = 16


def cutile_stub(
    loaded: CutileKernel,
    signature: Any,
    arguments: tuple[object, ...],
    view: Callable[[object, object], ArrayView],
    handle_of: Callable[[object], int],
    choice: Choice,
    others: Sequence[Choice] = (),
) -> LaunchStub | None:
    """The stub for arguments like these; None if one is a list, whose table each launch allocates.

    ``view`` returns the view of an array for a stream, ``handle_of`` a stream's handle. ``loaded`` is ``choice`` of the kernel and
    its variants; ``others`` come before it.
    """
    writer = _ConstraintWriter(loaded.launch.caller_parameters, view)
    writer.wanted, writer.others = choice.wanted, others
    try:
        for index, (constraint, argument) in enumerate(zip(signature.parameters, arguments, strict=True)):
            writer.add(f"x{index}", constraint, argument)
    except _HasList:
        return None
    device, programmatic = loaded.driver.current_device(), loaded.may_be_programmatic
    return make_launch_stub(loaded, writer, len(arguments), device, view, handle_of, programmatic=programmatic)


class _HasList(Exception):
    """An argument is a list."""


class _ConstraintWriter(StubWriter):
    """Adds arguments by their constraints."""

    def __init__(self, params: tuple[Parameter, ...], view: Callable[[object, object], ArrayView]):
        super().__init__()
        self._params, self._view = iter(params), view
        self.names["more_axes"] = ((1, 1, 1), *MORE_AXES)

    def add(self, name: str, constraint: Any, argument: Any) -> None:
        """Add an argument, or a part of one; ``name`` is its name in the code."""
        kind = type(constraint).__name__
        if kind == "ListConstraint":
            raise _HasList
        if kind == "ArrayConstraint":
            self._add_constrained(name, constraint, argument)
        elif kind == "ScalarConstraint":
            self.add_scalar(name, next(self._params).kind, argument)
        elif kind == "ConstantConstraint":
            self._add_constant(name, argument)
        else:
            self._add_aggregate(name, constraint, argument)

    def _add_aggregate(self, name: str, constraint: Any, argument: Any) -> None:
        parts = list(aggregate_members(name, constraint, argument))
        own = [f"{name}_{index}" for index in range(len(parts))]
        self.check_type(name, argument)
        self.check_kinds()  # its items can be read after that
        if isinstance(argument, tuple):
            self.lines.append(f"({''.join(f'{one}, ' for one in own)}) = {name}")
        else:
            fields = [part.removeprefix(f"{name}_") for part, _, _ in parts]
            self.lines += [f"{one} = {name}.{field}" for one, field in zip(own, fields)]
        for one, (_, part, inner) in zip(own, parts):
            self.add(one, part, inner)

    def _add_constant(self, name: str, value: object) -> None:
        self.check_type(name, value)
        if type(value) in (int, str):
            self.names[f"{name}_is"] = value
            self.kinds.append(f"{name} != {name}_is")
        elif type(value) is float:
            self.names |= {f"{name}_is": struct.pack("<d", value), "bits": struct.Struct("<d").pack}
            self.kinds.append(f"bits({name}) != {name}_is")
        else:
            self.names[f"{name}_is"] = value
            self.kinds.append(f"{name} is not {name}_is")

    def _add_constrained(self, name: str, constraint: Any, argument: Any) -> None:
        seen = self._view(argument, 0)
        names = self.add_array(name, argument, seen, constraint.ndim, Wanted())
        self.guards += [*_assumption_guards(names, constraint), *_extra_guards(names, constraint, seen)]
        if not constraint.may_alias_internally:
            self.guards += _disjoint(names, constraint, seen)
        for _ in range(1 + 2 * constraint.ndim):
            next(self._params)


# ---- the negated constraints of an array -----------------------------------------------------------------------------
def _assumption_guards(names: Names, constraint: Any) -> Iterator[str]:
    facts: list[tuple[str, int | None, int, int | None]]
    facts = [(names.address, None, constraint.base_addr_divisible_by, None)]
    no_minimum: Iterator[int | None] = repeat(None)
    facts += zip(names.shape, _shape_constants(constraint), constraint.shape_divisible_by, no_minimum)
    lowest = constraint.stride_lower_bound_incl
    facts += zip(names.strides, constraint.stride_constant, constraint.stride_divisible_by, lowest)
    for value, constant, divisor, minimum in facts:
        yield from (bound.code(value) for bound in bounds_of(constant, divisor, minimum))


def _shape_constants(constraint: Any) -> tuple[int | None, ...]:
    """None before 1.5, which has no shape constants."""
    return getattr(constraint, "shape_constant", (None,) * constraint.ndim)


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
