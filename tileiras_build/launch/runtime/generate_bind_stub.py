"""Generates a function for each kernel that checks valid arguments and reads their values: the fast path of a launch.

``make_bind_stub`` generates one condition with all checks of a kernel, instead of a loop over tables at each launch. For two vectors and a scalar the text is

    def bind(arguments, view, device):
        try:
            x0, x1, x2 = arguments
        except ValueError:
            return None
        if type(x0) not in kinds0 or type(x1) not in kinds1 or type(x2) is not int:
            return None
        v0 = view(x0)
        v1 = view(x1)
        try:
            p0_0, (p0_1,), (p0_2,), h0, t0, r0 = v0
            ...
            if h0 != device or t0 not in types0 or p0_0 % 16 or p0_2 != 1 or ...:
                return None
            return (p0_0, p0_1, p0_2, p1_0, p1_1, p1_2, x2), True
        except ValueError:
            return None

The second result is whether the arguments satisfy what the kernel's variant assumes beyond that: a second condition, such as
``not (p0_1 & 7 or p1_1 & 7)``. If the function returns None, ``pack_arguments.py`` takes the slow path: it checks each
argument, and packs it or reports the error. ``launch_config_buffer.py`` packs the values. The generated text contains only
integers and names of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...manifest.manifest_constants import POINTER, READ_WRITE, WRITE
from ...manifest.variant_assumptions import Conditions
from ...target.element_types import ELEMENT_TYPES

if TYPE_CHECKING:
    from ...manifest.launch_manifest import Parameter

# For each kind of scalar: the Python type that is packed without conversion.
_SCALAR_TYPES = {
    name: "int" if row.format is None else "float" for name, row in ELEMENT_TYPES.items() if row.struct is not None
}
Bound = tuple[Sequence[Any], bool]
"""The values of the parameters that a caller passes, and whether they satisfy what the kernel's variant assumes."""
BindStub = Callable[[Sequence[object], Callable, int], Bound | None]


@dataclass
class AcceptedTypes:
    """The types that the slow path has accepted for one argument: array classes, and dtypes (None: unknown)."""

    kinds: set[type] = field(default_factory=set)
    types: set[object] = field(default_factory=lambda: {None})


def make_bind_stub(arguments: Sequence[tuple[Sequence[Parameter], AcceptedTypes]], wanted: Conditions = ()) -> BindStub:
    """The stub for arguments with their parameters and accepted types, and the conditions of the kernel's variant."""
    params = [param for own, _ in arguments for param in own]
    if any(param.kind not in (*_SCALAR_TYPES, POINTER) for param in params):
        return lambda arguments, view, device: None
    names: dict[str, object] = {}
    for index, (_, known) in enumerate(arguments):
        names |= {f"kinds{index}": known.kinds, f"types{index}": known.types}
    exec(_text([own for own, _ in arguments], wanted), names)  # the text has only integers and names of this module
    return names["bind"]  # type: ignore[return-value]


def _text(arguments: Sequence[Sequence[Parameter]], wanted: Conditions) -> str:
    arrays = [index for index, own in enumerate(arguments) if own[0].kind == POINTER]
    kinds = [
        f"type(x{index}) not in kinds{index}"
        if own[0].kind == POINTER
        else f"type(x{index}) is not {_SCALAR_TYPES[own[0].kind]}"
        for index, own in enumerate(arguments)
    ]
    lines = [
        "def bind(arguments, view, device):",
        " try:",
        f"  {tuple_code(f'x{i}' for i in range(len(arguments)))} = arguments",
    ]
    lines += [" except ValueError:", "  return None", f" if {' or '.join(kinds) or 'False'}:", "  return None"]
    lines += [f" v{index} = view(x{index})" for index in arrays]
    lines += [" try:"] + [f"  {_unpacked(index, len(arguments[index]) // 2)} = v{index}" for index in arrays]
    checks = [check for index, own in enumerate(arguments) for check in _checks(index, own)]
    lines += [f"  if {' or '.join(checks)}:", "   return None"] if checks else []
    values = [_value(index, place, own) for index, own in enumerate(arguments) for place in range(len(own))]
    stricter = [check for place, param in wanted for check in _assumption_checks(values[place], param)]
    fits = f"not ({' or '.join(stricter)})" if stricter else "True"
    lines += [f"  return {tuple_code(values)}, {fits}", " except ValueError:", "  return None"]
    return "\n".join(lines)


def _unpacked(index: int, rank: int) -> str:
    """The unpacking of an array's view; a plain pointer ignores lengths and strides."""
    if not rank:
        return f"p{index}_0, _, _, h{index}, t{index}, r{index}"
    shape = tuple_code(f"p{index}_{1 + axis}" for axis in range(rank))
    strides = tuple_code(f"p{index}_{1 + rank + axis}" for axis in range(rank))
    return f"p{index}_0, {shape}, {strides}, h{index}, t{index}, r{index}"


def tuple_code(names: Iterable[str]) -> str:
    """A tuple of names in the generated code: "(x0, x1,)"."""
    return "(" + "".join(f"{name}, " for name in names).rstrip() + ")"


def _value(index: int, place: int, own: Sequence[Parameter]) -> str:
    return f"p{index}_{place}" if own[0].kind == POINTER else f"x{index}"


def _checks(index: int, own: Sequence[Parameter]) -> Iterator[str]:
    """The conditions under which an argument is invalid."""
    if own[0].kind == POINTER:
        yield f"h{index} != device"
        yield f"t{index} not in types{index}"
        if own[0].access in (WRITE, READ_WRITE):
            yield f"r{index}"
    for place, param in enumerate(own):
        yield from _assumption_checks(_value(index, place, own), param)


def _assumption_checks(value: str, param: Parameter) -> Iterator[str]:
    if param.value is not None:
        yield f"{value} != {param.value:d}"
        return
    if param.divisible_by & (param.divisible_by - 1) == 0 and param.divisible_by > 1:
        yield f"{value} & {param.divisible_by - 1:d}"
    elif param.divisible_by > 1:
        yield f"{value} % {param.divisible_by:d}"
    # A length is never negative.
    if param.minimum is not None and (param.role != "shape" or param.minimum > 0):
        yield f"{value} < {param.minimum:d}"
    if param.maximum is not None:
        yield f"{value} > {param.maximum:d}"
