"""Flattens the arguments of a launch to kernel parameters: walks the constraints and the arguments in parallel.

cuTile's calling convention: constants are not passed; a tuple or a dataclass is passed as its items; an array as its address,
lengths and strides; a list as the address of a table in device memory (a row of 8-byte words for each array: address,
lengths, strides) and its length.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.errors import InvalidInput, Unsupported
from ..frontend.argument_names_in_producer import Argument
from ..launch.runtime.pack_arguments import ArrayView
from ..manifest.manifest_constants import READ_WRITE, WRITE

if TYPE_CHECKING:
    from ..manifest.launch_manifest import Parameter

View = Callable[[object], ArrayView]
Number = bool | int | float


@dataclass(frozen=True)
class Array:
    """An array: its name in the source ("x", "pair_0"), and its view."""

    name: str
    view: ArrayView


@dataclass(frozen=True)
class ArrayTable:
    """A list of arrays of one kind."""

    name: str
    views: tuple[ArrayView, ...]

    def table_rows(self) -> list[int]:
        """The table: address, lengths, strides of each array."""
        return [number for view in self.views for number in (view.address, *view.shape, *view.strides)]


@dataclass(frozen=True)
class Scalar:
    """A scalar."""

    name: str
    value: Number


Value = Array | ArrayTable | Scalar


def flatten(names: Sequence[str], signature: Any, arguments: Sequence[object], view: View) -> list[Value]:
    """The passed values, in order. Raises Unsupported[cutile-argument] for an unsupported kind."""
    made: list[Value] = []
    for name, constraint, argument in zip(names, signature.parameters, arguments, strict=True):
        made += _values(name, constraint, argument, view)
    return made


def _values(name: str, constraint: Any, argument: Any, view: View) -> Iterator[Value]:
    kind = type(constraint).__name__
    if kind == "ArrayConstraint":
        with parameter_prefix(name):
            yield Array(name, view(argument))
    elif kind == "ScalarConstraint":
        yield Scalar(name, argument)
    elif kind == "ListConstraint":
        with parameter_prefix(name):
            yield ArrayTable(name, tuple(view(one) for one in argument))
    else:
        for part_name, part, inner in aggregate_members(name, constraint, argument):
            yield from _values(part_name, part, inner, view)


def aggregate_members(name: str, constraint: Any, argument: Any) -> Iterator[tuple[str, Any, Any]]:
    """(name, constraint, value) of the items of an aggregate; nothing for a constant."""
    kind = type(constraint).__name__
    if kind == "ConstantConstraint":
        return
    if kind == "TupleConstraint":
        for index, (part, inner) in enumerate(zip(constraint.items, argument, strict=True)):
            yield f"{name}_{index}", part, inner
    elif kind == "DataclassConstraint":
        for field, part in zip(dataclasses.fields(constraint.cls), constraint.fields, strict=True):
            yield f"{name}_{field.name}", part, getattr(argument, field.name)
    else:
        message = f"argument {name}: unsupported kind {kind}"
        raise Unsupported(
            "cutile-argument", message, remedy="pass arrays, scalars, lists of arrays, tuples or constants"
        )


def argument_signature(names: Sequence[str], signature: Any) -> tuple[Argument, ...]:
    """The arguments by name, as bytecode records them (``frontend/argument_names_in_producer.py``)."""
    return tuple(
        one
        for name, constraint in zip(names, signature.parameters, strict=True)
        for one in _signature_of(name, constraint)
    )


def _signature_of(name: str, constraint: Any) -> Iterator[Argument]:
    kind = type(constraint).__name__
    if kind == "ArrayConstraint":
        unit = next((axis for axis, stride in enumerate(constraint.stride_constant) if stride == 1), None)
        yield Argument(name, constraint.ndim, unit)
    elif kind == "ScalarConstraint":
        yield Argument(name)
    elif kind == "ListConstraint":
        yield from (Argument(name), Argument(f"{name}_length"))
    elif kind == "TupleConstraint":
        for index, part in enumerate(constraint.items):
            yield from _signature_of(f"{name}_{index}", part)
    elif kind == "DataclassConstraint":
        for field, part in zip(dataclasses.fields(constraint.cls), constraint.fields, strict=True):
            yield from _signature_of(f"{name}_{field.name}", part)


def parameter_values(values: Sequence[Value], place: Callable[[ArrayTable], int]) -> Iterator[Number]:
    """The values of the parameters in order; ``place`` copies a list's table to device memory, and returns its address."""
    for value in values:
        if isinstance(value, Scalar):
            yield value.value
        elif isinstance(value, Array):
            yield from (value.view.address, *value.view.shape, *value.view.strides)
        else:
            yield from (place(value), len(value.views))


def numbers_of(values: Sequence[Value]) -> list[Number]:
    """The values of the parameters, for what depends on no list's address."""
    return list(parameter_values(values, lambda table: 0))


@contextmanager
def parameter_prefix(name: str | None) -> Iterator[None]:
    """Add the parameter's name to the error of an invalid argument."""
    try:
        yield
    except InvalidInput as error:
        if error.id != "launch-argument":
            raise
        raise InvalidInput(error.id, f"argument {name}: {error.message}", remedy=error.remedy) from None


def refuse_read_only(kernel: str, parameters: Sequence[Parameter], values: Sequence[Value]) -> None:
    """Raise InvalidInput[launch-read-only] for a read-only array that the kernel writes."""
    place = 0
    for value in values:
        if isinstance(value, Array):
            if value.view.readonly and parameters[place].access in (WRITE, READ_WRITE):
                message = f"kernel {kernel} writes to read-only array {value.name}"
                raise InvalidInput("launch-read-only", message, remedy="pass a writable array")
            place += 1 + 2 * len(value.view.shape)
        else:
            place += 2 if isinstance(value, ArrayTable) else 1


_HOST = 1  # kDLCPU


def host_array(names: Sequence[str], arguments: Sequence[object]) -> str | None:
    """The name of the first argument that is an array in host memory, according to DLPack; items are numbered."""
    for name, argument in zip(names, arguments):
        if isinstance(argument, (tuple, list)):
            if (found := host_array([f"{name}[{index}]" for index in range(len(argument))], argument)) is not None:
                return found
        elif hasattr(argument, "__dlpack_device__") and argument.__dlpack_device__()[0] == _HOST:
            return name
    return None


def unknown_elements(
    names: Sequence[str], arguments: Sequence[object], known: Collection[str]
) -> tuple[str, str] | None:
    """The name of the first array whose element type is not in ``known``, and that type's name."""
    for name, argument in zip(names, arguments):
        if isinstance(argument, (tuple, list)):
            numbered = [f"{name}[{index}]" for index in range(len(argument))]
            if (found := unknown_elements(numbered, argument, known)) is not None:
                return found
        elif hasattr(argument, "__dlpack__") and hasattr(argument, "dtype"):
            kind = str(argument.dtype).removeprefix("torch.")
            if kind not in known:
                return name, kind
    return None
