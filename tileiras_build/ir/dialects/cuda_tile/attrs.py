"""Attributes of the cuda_tile dialect other than enumerations: constants, assumptions, hints."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import FloatTF32Type, IntegerAttr, IntegerType, StringAttr, i1, i8, i16, i32, i64
from xdsl.ir import Attribute, Data
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ....target.element_types import ELEMENT_TYPES
from ..checked_mlir_parser import escape, identifier
from .data_attribute_constructor import record_attribute
from .element_types import (
    BITS,
    BY_NAME,
    F32,
    F64,
    FloatNV8E5M3FNUType,
)
from .types import PointerType, TensorViewType, TileType

if TYPE_CHECKING:
    import numpy as np

# Element type -> NumPy or ml_dtypes type of its values; tf32 values are float32.
DTYPE_NAMES: dict[Attribute, str] = {
    type: name for row, type in BY_NAME.items() if (name := ELEMENT_TYPES[row].numpy) is not None
}
TF32_UNUSED_BITS = 13  # tf32 is the upper 19 bits of float32
_WHOLE_BYTES = (i8, i16, i32, i64)
# Formats of struct, for the types whose NaNs it preserves.
_FORMATS: dict[Attribute, str] = {F32: "<f", F64: "<d"}


@cache
def dtype_of(type: Attribute) -> np.dtype:
    """The NumPy type of the values of an element type. Kernels with splat constants need no NumPy."""
    import ml_dtypes
    import numpy as np

    name = DTYPE_NAMES[type]
    return np.dtype(getattr(ml_dtypes, name, name))


@cache
def _fnv8_values() -> np.ndarray:
    """The 256 values of f8E5M3FNU as float32: no sign, exponent bias 15, subnormals, one NaN (its last pattern)."""
    import numpy as np

    patterns = np.arange(256)
    exponent, fraction = np.maximum(patterns >> 3, 1), (patterns & 7) / 8 + (patterns >= 8)
    values = np.ldexp(fraction, exponent - 15).astype(np.float32)
    values[255] = np.nan
    return values


def storage_bytes(element_type: Attribute) -> int:
    """Bytes of one element in a constant: whole bytes (i1 apart, whose non-splat constants are bit-packed)."""
    return (BITS[element_type] + 7) // 8


def _as_splat(type: TileType, raw: bytes) -> bytes:
    """The one element that ``raw`` repeats, if it does; else ``raw``."""
    if not isinstance(type, TileType) or type.element_type not in BITS or type.num_elements == 1:
        return raw
    count = type.num_elements
    if type.element_type == i1:
        return _as_boolean_splat(raw, count)
    size = storage_bytes(type.element_type)
    return raw[:size] if len(raw) == size * count and raw == raw[:size] * count else raw


def _as_boolean_splat(raw: bytes, count: int) -> bytes:
    if len(raw) != (count + 7) // 8:
        return raw
    return {_packed_ones(count): b"\xff", bytes(len(raw)): b"\x00"}.get(raw, raw)


def _packed_ones(count: int) -> bytes:
    return ((1 << count) - 1).to_bytes((count + 7) // 8, "little")


@record_attribute
class DenseConstantAttr(Data[tuple[TileType, bytes]]):
    """The value of a constant tile: its type and its little-endian bytes, as in bytecode.

    A splat (all elements equal) has one element only, also if it was created from all elements. A constant of i1 that
    is not a splat holds one bit per element, lowest bit first; a splat of i1 is the byte 0x00 or 0xff.
    """

    name = "cuda_tile.dense"

    def __init__(self, type: TileType, raw: bytes):
        super().__init__((type, _as_splat(type, bytes(raw))))

    @classmethod
    def from_array(cls, type: TileType, values) -> DenseConstantAttr:
        """A constant from NumPy values (any shape that broadcasts to the tile); a scalar is a splat."""
        import numpy as np

        element_type = type.element_type
        if isinstance(element_type, FloatNV8E5M3FNUType):
            values = np.searchsorted(_fnv8_values()[:255], np.asarray(values, np.float32))
        array = np.asarray(values).astype(dtype_of(element_type) if element_type in DTYPE_NAMES else np.uint8)
        if array.ndim:
            array = np.broadcast_to(array, type.shape)
        if element_type == i1:
            packed = np.packbits(array.reshape(-1), bitorder="little").tobytes()
            return cls(type, packed if array.ndim else (b"\xff" if array else b"\x00"))
        if isinstance(element_type, FloatTF32Type):
            words = (array.reshape(-1).view(np.uint32) >> TF32_UNUSED_BITS).view(np.uint8).reshape(-1, 4)
            return cls(type, words[:, :3].tobytes())
        return cls(type, np.ascontiguousarray(array).tobytes())

    @property
    def type(self) -> TileType:
        return self.data[0]

    @property
    def raw(self) -> bytes:
        return self.data[1]

    @property
    def is_splat(self) -> bool:
        """Whether one value is stored for all elements (a one-element tile is one too)."""
        tile_type, raw = self.data
        if tile_type.element_type == i1:
            return len(raw) == 1 and (raw in (b"\x00", b"\xff") or tile_type.num_elements == 1)
        return len(raw) == storage_bytes(tile_type.element_type)

    def _values(self) -> np.ndarray:
        import numpy as np

        tile_type, raw = self.data
        element_type, count = tile_type.element_type, tile_type.num_elements
        if element_type == i1:
            if self.is_splat:
                return np.array([bool(raw[0] & 1)])
            return np.unpackbits(np.frombuffer(raw, np.uint8), count=count, bitorder="little").astype(np.bool_)
        if isinstance(element_type, FloatTF32Type):
            words = np.zeros((len(raw) // 3, 4), np.uint8)
            words[:, :3] = np.frombuffer(raw, np.uint8).reshape(-1, 3)
            return (words.view(np.uint32).reshape(-1) << TF32_UNUSED_BITS).view(np.float32)
        if isinstance(element_type, FloatNV8E5M3FNUType):
            return _fnv8_values()[np.frombuffer(raw, np.uint8)]
        return np.frombuffer(raw, dtype_of(element_type))

    def splat_value(self):
        """The NumPy scalar of a splat; ValueError if the constant is not one."""
        if not self.is_splat:
            raise ValueError("the constant is not a splat")
        return self._values()[0]

    def splat_scalar(self) -> int | float:
        """The value of a splat as a Python scalar; ValueError if the constant is not one."""
        if not self.is_splat:
            raise ValueError("the constant is not a splat")
        element_type, raw = self.type.element_type, self.raw
        if element_type == i1:
            return raw[0] & 1
        if element_type in _WHOLE_BYTES:
            return int.from_bytes(raw, "little", signed=True)
        if (format := _FORMATS.get(element_type)) is not None:
            return struct.unpack(format, raw)[0]
        number = self._values()[0]
        return int(number) if isinstance(element_type, IntegerType) else float(number)

    def as_array(self) -> np.ndarray:
        """All values, read-only, in the shape of the tile; a splat is a stride-0 view and is not expanded."""
        import numpy as np

        values = self._values()
        if self.is_splat:
            return np.broadcast_to(values.reshape((1,) * len(self.type.shape)), self.type.shape)
        values = values.reshape(self.type.shape)
        values.flags.writeable = False
        return values

    def verify(self) -> None:
        tile_type, raw = self.data
        if not isinstance(tile_type, TileType) or tile_type.element_type not in BITS:
            raise VerifyException(f"a constant must be a numeric tile, got {tile_type}")
        if self.is_splat:
            return
        count = tile_type.num_elements
        expected = (count + 7) // 8 if tile_type.element_type == i1 else count * storage_bytes(tile_type.element_type)
        if len(raw) != expected:
            raise VerifyException(f"a constant of type {tile_type} needs {expected} bytes, got {len(raw)}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        with parser.in_angle_brackets():
            raw = bytes.fromhex(parser.parse_str_literal())
            parser.parse_punctuation(":")
            return parser.parse_type(), raw

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f'"{self.raw.hex()}" : ')
            printer.print_attribute(self.type)


def _optional(parser: AttrParser) -> int | None:
    return None if parser.parse_optional_punctuation("?") else parser.parse_integer()


@record_attribute
class DivByAttr(Data[tuple[int, int | None, int | None]]):
    """Assumption: the first of every ``every`` values along dimension ``along`` is divisible by ``divisor``.

    Without ``every`` and ``along`` all values are. Values within a group rise by one (by the pointee's
    bytes for pointers).
    """

    name = "cuda_tile.div_by"

    def __init__(self, divisor: int, every: int | None = None, along: int | None = None):
        super().__init__((divisor, every, along))

    @property
    def divisor(self) -> int:
        return self.data[0]

    @property
    def every(self) -> int | None:
        return self.data[1]

    @property
    def along(self) -> int | None:
        return self.data[2]

    def verify_with(self, type: Attribute) -> None:
        """Raise VerifyException unless the assumption applies to a value of this type."""
        divisor, every, along = self.data
        if divisor <= 0 or divisor & (divisor - 1):
            raise VerifyException(f"div_by: the divisor must be a power of two, got {divisor}")
        if divisor > 1 << 62:
            raise VerifyException(f"div_by: the divisor must be at most 2^62, got {divisor}")
        if (every is None) != (along is None):
            raise VerifyException("div_by: 'every' and 'along' must be used together")
        if isinstance(type, TensorViewType):
            if every is not None:
                raise VerifyException("div_by: 'every' and 'along' cannot be used on a tensor_view")
            return
        if not isinstance(type, TileType) or not (
            isinstance(type.element_type, PointerType) or type.element_type in (i1, i8, i16, i32, i64)
        ):
            raise VerifyException(f"div_by: expected a tile of integers or pointers or a tensor_view, got {type}")
        if every is None or along is None:
            return
        if not type.shape:
            raise VerifyException("div_by: 'every' and 'along' cannot be used on a scalar tile")
        if not 0 <= along < type.rank:
            raise VerifyException(f"div_by: 'along' must name a dimension of {type}, got {along}")
        if every <= 0 or every > type.shape[along]:
            raise VerifyException(f"div_by: 'every' must be in [1, {type.shape[along]}], got {every}")

    def text(self) -> str:
        divisor, every, along = self.data
        return f"div_by<{divisor}{'' if every is None else f', every {every} along {along}'}>"

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        with parser.in_angle_brackets():
            divisor = parser.parse_integer()
            if parser.parse_optional_punctuation(",") is None:
                return divisor, None, None
            parser.parse_keyword("every")
            every = parser.parse_integer()
            parser.parse_keyword("along")
            return divisor, every, parser.parse_integer()

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.text().removeprefix("div_by"))


@record_attribute
class SameElementsAttr(Data[tuple[int, ...]]):
    """Assumption: along each dimension, groups of ``values[d]`` neighbors are equal."""

    name = "cuda_tile.same_elements"

    def __init__(self, values):
        super().__init__(tuple(values))

    @property
    def values(self) -> tuple[int, ...]:
        return self.data

    def verify_with(self, type: Attribute) -> None:
        if not isinstance(type, TileType) or not (
            isinstance(type.element_type, PointerType) or type.element_type in (i1, i8, i16, i32, i64)
        ):
            raise VerifyException(f"same_elements: expected a tile of integers or pointers, got {type}")
        if len(self.data) != type.rank:
            raise VerifyException(f"same_elements: expected {type.rank} values, got {len(self.data)}")
        for value, dim in zip(self.data, type.shape):
            if not 0 < value <= dim:
                raise VerifyException(f"same_elements: expected a value in [1, {dim}], got {value}")

    def text(self) -> str:
        return f"same_elements<[{', '.join(map(str, self.data))}]>"

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        with parser.in_angle_brackets():
            return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.text().removeprefix("same_elements"))


@record_attribute
class BoundedAttr(Data[tuple[int | None, int | None]]):
    """Assumption: all elements, as signed integers, are in [``lb``, ``ub``]; None is no bound."""

    name = "cuda_tile.bounded"

    def __init__(self, lb: int | None, ub: int | None):
        super().__init__((lb, ub))

    @property
    def lb(self) -> int | None:
        return self.data[0]

    @property
    def ub(self) -> int | None:
        return self.data[1]

    def verify_with(self, type: Attribute) -> None:
        if not isinstance(type, TileType) or type.element_type not in (i1, i8, i16, i32, i64):
            raise VerifyException(f"bounded: expected a tile of integers, got {type}")
        lb, ub = self.data
        half = 1 << (BITS[type.element_type] - 1)
        for bound in self.data:
            if bound is not None and not -half <= bound < half:
                raise VerifyException(f"bounded: the bound {bound} does not fit in {type.element_type}")
        if lb is not None and ub is not None and lb > ub:
            raise VerifyException(f"bounded: the lower bound {lb} is greater than the upper bound {ub}")

    def text(self) -> str:
        return "bounded<" + ", ".join("?" if bound is None else str(bound) for bound in self.data) + ">"

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        with parser.in_angle_brackets():
            lb = _optional(parser)
            parser.parse_punctuation(",")
            return lb, _optional(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.text().removeprefix("bounded"))


ASSUMPTIONS = (DivByAttr, SameElementsAttr, BoundedAttr)

HintValue = int | bool | str | Attribute  # no known hint has an Attribute
DEFAULT_TARGET = "default"


def hint_value(value: Attribute) -> HintValue:
    """The Python value of a hint; other attributes unchanged."""
    if isinstance(value, StringAttr):
        return value.data
    if isinstance(value, IntegerAttr):
        return bool(value.value.data) if value.type == i1 else value.value.data
    return value


@record_attribute
class OptimizationHintsAttr(Data[tuple[tuple[str, tuple[tuple[str, HintValue], ...]], ...]]):
    """Optimization hints per target ("sm_90", "default"): num_cta_in_cga, occupancy, latency, allow_tma, ..."""

    name = "cuda_tile.optimization_hints"

    def __init__(self, hints: Mapping[str, Mapping[str, HintValue]]):
        super().__init__(tuple((target, tuple(sorted(values.items()))) for target, values in sorted(hints.items())))

    def as_dict(self) -> dict[str, dict[str, HintValue]]:
        return {target: dict(values) for target, values in self.data}

    def for_target(self, target: str) -> dict[str, HintValue]:
        """The hints that hold for a target such as "sm_90": its own over the default ones."""
        hints = self.as_dict()
        return hints.get(DEFAULT_TARGET, {}) | hints.get(target, {})

    def text(self) -> str:
        def show(value: HintValue) -> str:
            if isinstance(value, bool):
                return str(value).lower()
            return escape(value) if isinstance(value, str) else str(value)

        entries = (
            f"{identifier(target)} = {{{', '.join(f'{identifier(key)} = {show(value)}' for key, value in values)}}}"
            for target, values in self.data
        )
        return f"<{', '.join(entries)}>"

    @classmethod
    def parse_parameter(cls, parser: AttrParser):
        def pair(inner):
            key = parser.parse_optional_str_literal() or parser.parse_identifier()
            parser.parse_punctuation("=")
            return key, inner()

        def sorted_pairs(delimiter, inner):
            pairs = parser.parse_comma_separated_list(delimiter, lambda: pair(inner))
            found = dict(pairs)
            if len(found) != len(pairs):
                parser.raise_error("a hint occurs twice")
            return tuple(sorted(found.items()))

        def values():
            return sorted_pairs(parser.Delimiter.BRACES, lambda: hint_value(parser.parse_attribute()))

        return sorted_pairs(parser.Delimiter.ANGLE, values)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.text())


ATTRS = (DenseConstantAttr, *ASSUMPTIONS, OptimizationHintsAttr)
