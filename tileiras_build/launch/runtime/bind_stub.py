"""Arguments that are right become parameters in one straight function, written for each kernel.

``make_launch_stub`` puts every check of a kernel into one condition and every parameter into one ``struct.pack``: what a loop over
tables would ask again at each launch is asked once. For two vectors and a number the text is

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
            return pack(p0_0, p0_1, p0_2, p1_0, p1_1, p1_2, x2)
        except (ValueError, error):
            return None

Whatever it answers None for is looked at one by one (``arguments.py``), which says what is wrong, or packs what is right all
the same. Only numbers and names of its own are written into the text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...manifest.manifest_constants import POINTER, READ_WRITE, WRITE
from ...target.element_types import ELEMENT_TYPES

if TYPE_CHECKING:
    from ...manifest.launch_manifest import Parameter

# Of each kind of parameter the code of ``struct``, and what a number must be to be packed as it is.
STRUCT_CODES = {name: row.struct for name, row in ELEMENT_TYPES.items() if row.struct is not None} | {POINTER: "Q"}
_NUMBERS = {
    name: "int" if row.format is None else "float" for name, row in ELEMENT_TYPES.items() if row.struct is not None
}
ALIGNMENT = 64  # of tensor maps, which may follow
_EXTENT = struct.Struct("<i")
ParameterPlaces = tuple[tuple[int, int], ...]
BindStub = Callable[[Sequence[object], Callable, int], "bytes | None"]


@dataclass
class AcceptedTypes:
    """What was found right for one argument: classes of arrays, and what they hold (None: what cannot be told)."""

    kinds: set[type] = field(default_factory=set)
    types: set[object] = field(default_factory=lambda: {None})


class PackedParameters:
    """Parameters in one block of memory: ``places`` are the offset and size of each."""

    __slots__ = ("data", "places")

    def __init__(self, data: bytes, places: ParameterPlaces):
        self.data, self.places = data, places

    @classmethod
    def of(cls, pieces: Sequence[bytes], places: ParameterPlaces) -> PackedParameters:
        """Parameters that were packed one by one."""
        end = places[-1][0] + places[-1][1] if places else 0
        block = bytearray(end)
        for part, (offset, size) in zip(pieces, places, strict=True):
            block[offset : offset + size] = part
        return cls(bytes(block), places)

    def with_extents(self, grid: tuple[int, int, int]) -> PackedParameters:
        """The extents of the grid behind them, of a persistent kernel."""
        data = self.data.ljust(-(-len(self.data) // _EXTENT.size) * _EXTENT.size, b"\0")
        places = tuple((len(data) + _EXTENT.size * axis, _EXTENT.size) for axis in range(len(grid)))
        return PackedParameters(data + b"".join(map(_EXTENT.pack, grid)), (*self.places, *places))

    def with_maps(self, maps: Sequence[bytes]) -> PackedParameters:
        """Tensor maps behind them, where the driver takes them: at multiples of 64 bytes."""
        data, places = self.data, self.places
        for made in maps:
            data = data.ljust(-(-len(data) // ALIGNMENT) * ALIGNMENT, b"\0")
            places = (*places, (len(data), len(made)))
            data += made
        return PackedParameters(data, places)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> bytes:
        offset, size = self.places[index]
        return self.data[offset : offset + size]


def places_of(params: Sequence[Parameter]) -> ParameterPlaces:
    """Where each parameter lies in the block: as in the kernel's own."""
    return tuple((param.offset, param.size) for param in params)


def make_bind_stub(arguments: Sequence[tuple[Sequence[Parameter], AcceptedTypes]]) -> BindStub:
    """The function for these arguments: the parameters of each, and what is known right of it."""
    params = [param for own, _ in arguments for param in own]
    if any(param.kind not in STRUCT_CODES for param in params):
        return lambda arguments, view, device: None
    names: dict[str, object] = {"pack": struct.Struct(_format(params)).pack, "error": struct.error}
    for index, (_, known) in enumerate(arguments):
        names |= {f"kinds{index}": known.kinds, f"types{index}": known.types}
    exec(_text([own for own, _ in arguments]), names)  # the text holds nothing but what this file writes
    return names["bind"]  # type: ignore[return-value]


def _format(params: Sequence[Parameter]) -> str:
    made, end = "<", 0
    for param in params:
        made += "x" * (param.offset - end) + STRUCT_CODES[param.kind]
        end = param.offset + param.size
    return made


def _text(arguments: Sequence[Sequence[Parameter]]) -> str:
    arrays = [index for index, own in enumerate(arguments) if own[0].kind == POINTER]
    kinds = [
        f"type(x{index}) not in kinds{index}"
        if own[0].kind == POINTER
        else f"type(x{index}) is not {_NUMBERS[own[0].kind]}"
        for index, own in enumerate(arguments)
    ]
    lines = [
        "def bind(arguments, view, device):",
        " try:",
        f"  {_tuple(f'x{i}' for i in range(len(arguments)))} = arguments",
    ]
    lines += [" except ValueError:", "  return None", f" if {' or '.join(kinds) or 'False'}:", "  return None"]
    lines += [f" v{index} = view(x{index})" for index in arrays]
    lines += [" try:"] + [f"  {_unpacked(index, len(arguments[index]) // 2)} = v{index}" for index in arrays]
    checks = [check for index, own in enumerate(arguments) for check in _checks(index, own)]
    lines += [f"  if {' or '.join(checks)}:", "   return None"] if checks else []
    values = [_value(index, place, own) for index, own in enumerate(arguments) for place in range(len(own))]
    return "\n".join([*lines, f"  return pack({', '.join(values)})", " except (ValueError, error):", "  return None"])


def _unpacked(index: int, rank: int) -> str:
    """An array's view; a plain pointer's lengths and strides are nobody's."""
    if not rank:
        return f"p{index}_0, _, _, h{index}, t{index}, r{index}"
    shape = _tuple(f"p{index}_{1 + axis}" for axis in range(rank))
    strides = _tuple(f"p{index}_{1 + rank + axis}" for axis in range(rank))
    return f"p{index}_0, {shape}, {strides}, h{index}, t{index}, r{index}"


def _tuple(names: Iterator[str]) -> str:
    return "(" + "".join(f"{name}, " for name in names).rstrip() + ")"


def _value(index: int, place: int, own: Sequence[Parameter]) -> str:
    return f"p{index}_{place}" if own[0].kind == POINTER else f"x{index}"


def _checks(index: int, own: Sequence[Parameter]) -> Iterator[str]:
    """What is wrong with an argument, as conditions."""
    if own[0].kind == POINTER:
        yield f"h{index} != device"
        yield f"t{index} not in types{index}"
        if own[0].access in (WRITE, READ_WRITE):
            yield f"r{index}"
    for place, param in enumerate(own):
        yield from _promises(_value(index, place, own), param)


def _promises(value: str, param: Parameter) -> Iterator[str]:
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
