"""Pack launch arguments into the bytes of a kernel's parameters, checked against the kernel's assumptions.

An n-dimensional array fills 1 + 2n parameters: its address, its n lengths and its n strides in elements (cuTile's
calling convention); a plain pointer or a scalar fills one. ``Address(array)`` passes the address of an array only; its
lengths and strides follow as integers. The checks of a kernel are prepared once (``ArgumentPacker``), so that a launch is
cheap.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, SupportsFloat, SupportsIndex, TypeGuard, TypeVar

from ...core.errors import InvalidInput, class_name, kind_of, safe_query
from ...manifest.manifest_constants import POINTER, READ, READ_WRITE, WRITE
from ...manifest.parameter_bounds import bounds
from ...target.element_types import ELEMENT_TYPES as ROWS
from ...target.element_types import FNV8
from .launch_config_buffer import LaunchConfigLayout

if TYPE_CHECKING:
    import numpy as np

    from ...manifest.launch_manifest import Argument, Launch, Parameter

_INTEGER_BITS = {f"i{bits}": bits for bits in (8, 16, 32, 64)}
_FLOATS = [row for row in ROWS.values() if row.format is not None and row.per_byte == 1]
_FLOAT_CODES = {row.name: f"<{row.struct}" for row in _FLOATS if row.struct is not None}
# Float types without a struct code, and their NumPy types in ml_dtypes (which lacks one of them).
_SMALL_FLOATS = {row.name: row.numpy for row in _FLOATS if row.struct is None and row.numpy is not None}
_UNSIGNED_FLOAT = "fnv8E5M3FNU"
_MAX_SHOWN = 200  # characters of foreign text in a message
_BYTE = ("uint8", "int8", "bool")
# The NumPy types accepted for each element type: its own, and types of the same bits if few libraries support it.
ELEMENT_TYPES: dict[str, tuple[str, ...]] = {
    "i1": ("bool", "uint8", "int8"), "i8": ("int8", "uint8", "bool"),
    **{f"i{bits}": (f"int{bits}", f"uint{bits}") for bits in (16, 32, 64)},
    **{row.name: (row.numpy,) for row in _FLOATS if row.numpy is not None and row.struct is not None},
    "bf16": ("bfloat16", "uint16", "int16", "void16"),
    **{row.name: (*filter(None, (row.numpy,)), *_BYTE, "void8") for row in _FLOATS if row.bits == 8},
}  # fmt: skip
# Sub-byte elements are passed in byte arrays.
_PACKED_TYPES = (*_BYTE, "void8", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")


class ArrayView(NamedTuple):
    """An array in memory: its address, lengths, strides in elements, and its device's ordinal (None: host memory).

    ``dtype`` is its NumPy type, None if unknown.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: int | None
    dtype: np.dtype | None = None
    readonly: bool = False


@dataclass(frozen=True)
class Address:
    """Passes the address of ``array`` without its lengths and strides."""

    array: object


View = Callable[[object], ArrayView]
Number = SupportsIndex | SupportsFloat
Shown = TypeVar("Shown")


def is_array(value: object) -> bool:
    """Whether ``value`` supports DLPack or the CUDA array interface, which scalars (also of NumPy) do not."""
    try:
        return hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__")
    except Exception:  # a property raises; reading the array reports it
        return True


def exception_text(error: BaseException) -> str:
    """The message of a foreign exception as one printable line."""
    return short_repr(error, _exception_words) or kind_of(error)


def _exception_words(error: BaseException) -> str:
    """The message; a KeyError's is its key's ``repr``, except if the key is a sentence."""
    is_key = type(error).__str__ is KeyError.__str__ and len(error.args) == 1
    is_sentence = is_key and isinstance(error.args[0], str) and " " in error.args[0]
    return error.args[0] if is_sentence else str(error)


def short_repr(value: Shown, form: Callable[[Shown], str] = repr) -> str:
    """The ``repr`` of a foreign object as one printable line, or its type if ``repr`` fails."""
    words = safe_query(lambda: str.split(form(value)))
    if words is None:
        return f"a {class_name(type(value))}"
    text = " ".join(words)
    text = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def is_number(value: object) -> TypeGuard[Number]:
    """Whether ``value`` is a scalar of Python or NumPy."""
    return isinstance(value, (int, float)) or isinstance(value, (SupportsIndex, SupportsFloat)) and not is_array(value)


# ---- the checks of one kernel ----------------------------------------------------------------------
class ArgumentPacker:
    """The parameters of one kernel from its arguments (``bind``)."""

    def __init__(self, entry: str, launch: Launch):
        self.entry, self.params = entry, launch.caller_parameters
        self.arguments = tuple(launch.arguments)
        self._layout = LaunchConfigLayout(launch)
        self.checkers = [_argument_checker(entry, argument, launch) for argument in launch.arguments]

    def bind(self, arguments: Sequence[object], view: View, device: int) -> Sequence[Any]:
        """The values of the parameters.

        ``view`` describes an array; the kernel runs on ``device``. Raises InvalidInput, naming the parameter.
        """
        return self._layout.unpack(self._one_by_one(arguments, view, device))

    def _one_by_one(self, arguments: Sequence[object], view: View, device: int) -> list[bytes]:
        """Pack all kinds of arguments: an array may be passed as its address, lengths and strides."""
        packed: list[bytes] = []
        remaining, whole = list(arguments), len(arguments) == len(self.checkers)
        for row in self.checkers:
            count = 1 if whole or remaining and is_array(remaining[0]) else row.parameters
            if len(remaining) < count:
                self._refuse_count(arguments)
            if isinstance(row, _Array) and count < row.parameters and not is_array(remaining[0]):
                row.refuse_partial_array(remaining[0])
            for part, argument in enumerate(remaining[:count]):
                row.add(argument, part, view, device, packed)
            del remaining[:count]
        if remaining:
            self._refuse_count(arguments)
        return packed

    def _refuse_count(self, arguments: Sequence[object]) -> NoReturn:
        names = ", ".join(_described(argument) for argument in self.arguments)
        message = f"kernel {self.entry} takes {len(self.checkers)} arguments ({names}), got {len(arguments)}"
        remedy = "an array may also be passed as Address(array), its lengths and its strides in elements"
        raise InvalidInput("launch-arguments", message, remedy=remedy)


def _described(argument: Argument) -> str:
    return argument.name if argument.kind != "array" else f"{argument.name}: {argument.rank}-d array"


class _Scalar:
    """An argument that fills one parameter: a scalar, or an address."""

    parameters = 1

    def __init__(self, entry: str, name: str, params: Sequence[Parameter]):
        self.entry, self.name, self.params = entry, name, params

    def add(self, argument: object, position: int, view: View, device: int, packed: list[bytes]) -> None:
        """Pack parameter ``position`` of the argument."""
        param = self.params[position]
        whole = not isinstance(argument, Address)
        argument = argument.array if isinstance(argument, Address) else argument
        if whole and is_array(argument) and (position or param.kind != POINTER):
            self._refuse("launch-argument", f"{param.name} must be {_kind(param)}, got an array")
        if is_array(argument):
            packed.append(self.address(view(argument), device, param))
            return
        if not is_number(argument):
            message = f"{param.name} must be {_kind(param)}, got {_article(argument)}"
            self._refuse("launch-argument", message, "pass arrays (DLPack) and scalars")
        packed.append(self._number(param, argument))

    def address(self, array: ArrayView, device: int, param: Parameter) -> bytes:
        """The address of an array; raises InvalidInput if the kernel cannot use the memory."""
        if param.kind != POINTER:
            self._refuse("launch-argument", f"{param.name} must be {_kind(param)}, got an address")
        if array.dtype is not None:
            self.check_element(array.dtype, param)
        self.check_memory(array, device, param)
        return array.address.to_bytes(8, "little")

    def check_memory(self, array: ArrayView, device: int, param: Parameter) -> None:
        """Refuse memory of another device, misaligned memory, and read-only memory that the kernel writes."""
        if array.device != device:
            where = "in host memory" if array.device is None else f"on GPU {array.device}"
            remedy = f"copy it to GPU {device} or switch the current device"
            self._refuse("launch-device", f"{self.name} is {where}, the kernel runs on GPU {device}", remedy)
        if array.address % param.divisible_by:
            self._refuse_address(array.address, param)
        if array.readonly and param.access in (WRITE, READ_WRITE):
            self._refuse("launch-read-only", f"kernel writes to read-only array {self.name}", "pass a writable array")

    def check_element(self, dtype: np.dtype, param: Parameter) -> None:
        """Refuse an array of another element type than the kernel's."""
        name = f"void{8 * dtype.itemsize}" if dtype.kind == "V" and dtype.name.startswith("void") else dtype.name
        element = param.element
        if element is None or name in ELEMENT_TYPES.get(element, _PACKED_TYPES):
            return
        wanted = ELEMENT_TYPES.get(element, (element,))[0]
        message = f"{self.name} has dtype {dtype.name}, expected {wanted}"
        self._refuse("launch-element", message, f"convert it to {wanted}, or launch a kernel built for {dtype.name}")

    def _refuse_address(self, address: int, param: Parameter) -> NoReturn:
        message = f"the address {address:#x} of {self.name} is not a multiple of {param.divisible_by} bytes"
        self._refuse("launch-alignment", message, "pass an aligned array or a copy")

    def _number(self, param: Parameter, number: Number) -> bytes:
        try:
            data, problem = pack_number(param.kind, number), _violated_assumption(param, number)
        except Exception as error:  # a scalar may be any object
            self._refuse(
                "launch-argument",
                f"invalid value {short_repr(number)} for {param.name} ({param.kind}): {exception_text(error)}",
            )
        if data is None:
            self._refuse("launch-argument", f"unsupported parameter kind {param.kind} of {param.name}")
        if problem:
            if param.kind == POINTER:
                self._refuse_address(_whole(number), param)
            self._refuse("launch-value", f"{param.name} is {short_repr(number)}{problem}")
        return data

    def _refuse(self, id: str, message: str, remedy: str | None = None) -> NoReturn:
        raise InvalidInput(id, f"kernel {self.entry}: {message}", remedy=remedy)


def _kind(param: Parameter) -> str:
    return "an address" if param.kind == POINTER else f"a scalar ({param.kind})"


class _Array(_Scalar):
    """An argument that is an array, or an address with lengths and strides."""

    def __init__(self, entry: str, name: str, params: Sequence[Parameter]):
        super().__init__(entry, name, params)
        self.parameters = len(params)
        self.rank = len(params) // 2

    def add(self, argument: object, position: int, view: View, device: int, packed: list[bytes]) -> None:
        if position or isinstance(argument, Address) or not is_array(argument):
            super().add(argument, position, view, device, packed)
            return
        array = view(argument)
        if len(array.shape) != self.rank:
            self._refuse_rank(len(array.shape))
        packed.append(self.address(array, device, self.params[0]))
        sizes = self._checked((*array.shape, *array.strides))
        packed += [self._number(param, number) for param, number in zip(self.params[1:], sizes)]

    def refuse_partial_array(self, argument: object) -> NoReturn:
        """Refuse a single argument that is not an array."""
        message = f"{self.name} must be an array of {_dimensions(self.rank)}, got {_article(argument)}"
        self._refuse(
            "launch-argument", message, "pass an array, or Address(array), its lengths and its strides in elements"
        )

    def _refuse_rank(self, found: int) -> NoReturn:
        message = f"{self.name} has {_dimensions(found)}, expected {self.rank}"
        self._refuse("launch-rank", message, f"reshape it to {_dimensions(self.rank)}")

    def _checked(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Check lengths and strides against the kernel's assumptions; the stride of an axis of length 0 or 1 may be anything."""
        shape = sizes[: self.rank]
        made = list(sizes)
        for place, (number, param) in enumerate(zip(sizes, self.params[1:])):
            problem = _violated_assumption(param, number) or _too_large(param, number)
            if problem is None:
                continue
            if param.role == "stride" and shape[place - self.rank] <= 1:
                made[place] = _valid_stride(param)
                continue
            unit = f" element{'s' * (abs(number) != 1)}" if param.role == "stride" else ""
            message = f"the {_what(param)} of axis {param.axis} of {self.name} is {number}{unit}{problem}"
            self._refuse(f"launch-{param.role}", message, _REMEDIES[param.role])
        return tuple(made)


_REMEDIES = {
    "stride": "pass a contiguous copy, or rebuild the kernel without that assumption",
    "shape": "pad it, or rebuild the kernel without that assumption",
}


def _what(param: Parameter) -> str:
    return "length" if param.role == "shape" else "stride"


def _article(value: object) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def _dimensions(count: int) -> str:
    return f"{count} dimension" + "s" * (count != 1)


def _valid_stride(param: Parameter) -> int:
    """A stride that satisfies the kernel's assumptions; it is never used for an address."""
    if param.value is not None:
        return param.value
    return -(-(param.minimum or 0) // param.divisible_by) * param.divisible_by


def _violated_assumption(param: Parameter, number: Number) -> str | None:
    """The end of a message about a value that violates the parameter's assumptions; None if it satisfies them."""
    assumed = list(bounds(param))
    whole = _whole(number) if assumed else 0
    return next((bound.problem for bound in assumed if bound.excludes(whole)), None)


def _too_large(param: Parameter, number: int) -> str | None:
    half = 1 << (_INTEGER_BITS[param.kind] - 1)
    return None if -half <= number < half else f", more than {param.kind} holds"


def _argument_checker(entry: str, argument: Argument, launch: Launch) -> _Scalar:
    params = launch.params[argument.param : argument.param + argument.parameters]
    return (_Array if argument.kind == "array" else _Scalar)(entry, argument.name, params)


# ---- scalars ---------------------------------------------------------------------------------------
def pack_number(kind: str, number: Number) -> bytes | None:
    """The little-endian bytes of a scalar; None if ``kind`` is unsupported. Raises OverflowError or ValueError."""
    if kind in _INTEGER_BITS:
        return _integer(number, _INTEGER_BITS[kind], unsigned=_is_unsigned(number))
    if kind in _FLOAT_CODES:
        return struct.pack(_FLOAT_CODES[kind], number)
    if kind == POINTER:
        return _integer(number, 64, unsigned=True)
    if kind == "i1":
        return bytes([bool(number)])
    if kind == _UNSIGNED_FLOAT:
        return bytes([FNV8.nearest(float(number))])
    if kind in _SMALL_FLOATS:
        numpy, small = import_module("numpy"), import_module("ml_dtypes")
        return numpy.asarray(number).astype(getattr(small, _SMALL_FLOATS[kind])).tobytes()
    return None


def _is_unsigned(number: Number) -> bool:
    return getattr(getattr(number, "dtype", None), "kind", None) == "u"


def _integer(number: Number, bits: int, *, unsigned: bool) -> bytes:
    """An integer's bytes; signed unless ``unsigned``, as for NumPy's unsigned types."""
    whole = _whole(number)
    lowest, end = (0, 1 << bits) if unsigned else (-(1 << bits - 1), 1 << bits - 1)
    if not lowest <= whole < end:
        raise OverflowError(f"it does not fit {bits} bits")
    return (whole % (1 << bits)).to_bytes(bits // 8, "little")


def _whole(number: Number) -> int:
    if isinstance(number, SupportsIndex):
        return number.__index__()
    fraction = float(number)
    if not math.isfinite(fraction) or fraction != int(fraction):
        raise ValueError("not an integer")
    return int(fraction)


def describe_argument(argument: Argument, parameters: Sequence[Parameter]) -> str:
    """The requirements on an argument, for callers of the kernel."""
    return ", ".join(_describe(argument, parameters[argument.param : argument.param + argument.parameters]))


def _describe(argument: Argument, params: Sequence[Parameter]) -> Iterator[str]:
    first = params[0]
    if argument.kind == "scalar":
        yield first.kind
    else:
        rank = f"array of {argument.rank} dimensions" if argument.rank != 1 else "array of 1 dimension"
        yield f"{first.element} {rank if argument.kind == 'array' else 'address'}"
    if first.access is not None:
        yield {READ: "read", WRITE: "written", READ_WRITE: "read and written"}.get(first.access, first.access)
    if first.divisible_by > 1:
        yield (
            f"at a multiple of {first.divisible_by} bytes"
            if first.kind == POINTER
            else f"a multiple of {first.divisible_by}"
        )
    for param in params[1:]:
        if param.value == 1 and param.role == "stride":
            yield f"contiguous along axis {param.axis}"
        elif param.value is not None:
            yield f"{_what(param)} of axis {param.axis} {param.value}"
        elif param.divisible_by > 1:
            yield f"{_what(param)} of axis {param.axis} a multiple of {param.divisible_by}"
