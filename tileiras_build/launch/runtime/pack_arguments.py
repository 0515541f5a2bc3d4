"""From launch arguments to the bytes of a kernel's parameters, checked against what the kernel was built for.

An n-dimensional array fills 1 + 2n parameters: its address, its n lengths and its n strides in elements (cuTile's
calling convention); a plain pointer or a number fills one. ``Address(array)`` passes an array's address alone: its lengths
and strides follow as numbers. Every check that a kernel needs is a row made once (``plan``), so that a launch costs little.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, NoReturn, SupportsFloat, SupportsIndex, TypeGuard, TypeVar

from ...core.errors import InvalidInput, asked, class_name, kind_of
from ...manifest.manifest_constants import POINTER, READ, READ_WRITE, WRITE
from ...target.element_types import ELEMENT_TYPES as ROWS
from ...target.element_types import FNV8
from .bind_stub import AcceptedTypes, PackedParameters, make_bind_stub, places_of

if TYPE_CHECKING:
    import numpy as np

    from ...manifest.launch_manifest import Argument, Launch, Parameter

_INTEGER_BITS = {f"i{bits}": bits for bits in (8, 16, 32, 64)}
_FLOATS = [row for row in ROWS.values() if row.format is not None and row.per_byte == 1]
_FLOAT_CODES = {row.name: f"<{row.struct}" for row in _FLOATS if row.struct is not None}
# Floats that struct does not know, and the names of their NumPy types in ml_dtypes, which lacks one.
_SMALL_FLOATS = {row.name: row.numpy for row in _FLOATS if row.struct is None and row.numpy is not None}
_UNSIGNED_FLOAT = "fnv8E5M3FNU"
_MAX_SHOWN = 200  # characters of what others say
_BYTE = ("uint8", "int8", "bool")
# The NumPy types that may hold each element: its own, and its bits where few libraries have a name for it.
ELEMENT_TYPES: dict[str, tuple[str, ...]] = {
    "i1": ("bool", "uint8", "int8"), "i8": ("int8", "uint8", "bool"),
    **{f"i{bits}": (f"int{bits}", f"uint{bits}") for bits in (16, 32, 64)},
    **{row.name: (row.numpy,) for row in _FLOATS if row.numpy is not None and row.struct is not None},
    "bf16": ("bfloat16", "uint16", "int16", "void16"),
    **{row.name: (*filter(None, (row.numpy,)), *_BYTE, "void8") for row in _FLOATS if row.bits == 8},
}  # fmt: skip
# Elements smaller than a byte travel in bytes.
_PACKED_TYPES = (*_BYTE, "void8", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")


class ArrayView(NamedTuple):
    """An array in memory: its address, lengths, strides in elements, and its device's ordinal (None: host memory).

    ``dtype`` is its NumPy type, None where it has none that this process knows.
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
    """Whether ``value`` offers DLPack or the CUDA array interface; numbers, NumPy's too, offer neither of the two."""
    try:
        return hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__")
    except Exception:  # it has a property that raises: who looks into it learns why
        return True


def exception_text(error: BaseException) -> str:
    """What an exception of other people's code says, in one line that can be written anywhere."""
    return short_repr(error, _exception_words) or kind_of(error)


def _exception_words(error: BaseException) -> str:
    """A KeyError shows its key by ``repr``; a sentence in place of one is meant to be read."""
    is_key = type(error).__str__ is KeyError.__str__ and len(error.args) == 1
    is_sentence = is_key and isinstance(error.args[0], str) and " " in error.args[0]
    return error.args[0] if is_sentence else str(error)


def short_repr(value: Shown, form: Callable[[Shown], str] = repr) -> str:
    """An object of other people's code in one line, where it can be shown at all."""
    words = asked(lambda: str.split(form(value)))
    if words is None:
        return f"a {class_name(type(value))}"
    text = " ".join(words)
    text = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def is_number(value: object) -> TypeGuard[Number]:
    """Whether ``value`` is a number of Python or NumPy."""
    return isinstance(value, (int, float)) or isinstance(value, (SupportsIndex, SupportsFloat)) and not is_array(value)


# ---- the checks of one kernel ----------------------------------------------------------------------
class ArgumentPacker:
    """How the arguments of one kernel become parameters; ``bind`` does it."""

    def __init__(self, entry: str, launch: Launch):
        self.entry, self.params = entry, launch.caller_parameters
        self.arguments = tuple(launch.arguments)
        self.places = places_of(self.params)
        self.checkers = [_argument_checker(entry, argument, launch) for argument in launch.arguments]
        self._fast = make_bind_stub([(row.params, row.known) for row in self.checkers])

    def bind(self, arguments: Sequence[object], view: View, device: int) -> PackedParameters:
        """The ordinary parameters.

        ``view`` looks into an array, ``device`` is where the kernel runs. Raises InvalidInput, naming the parameter.
        """
        if (data := self._fast(arguments, view, device)) is not None:
            return PackedParameters(data, self.places)
        return PackedParameters.of(self._one_by_one(arguments, view, device), self.places)

    def _one_by_one(self, arguments: Sequence[object], view: View, device: int) -> list[bytes]:
        """Arguments of all kinds: an array's place may be taken by its address, lengths and strides."""
        packed: list[bytes] = []
        given, whole = list(arguments), len(arguments) == len(self.checkers)
        for row in self.checkers:
            count = 1 if whole or given and is_array(given[0]) else row.parameters
            if len(given) < count:
                self._refuse_count(arguments)
            if isinstance(row, _Array) and count < row.parameters and not is_array(given[0]):
                row.refuse_partial_array(given[0])
            for part, argument in enumerate(given[:count]):
                row.add(argument, part, view, device, packed)
            del given[:count]
        if given:
            self._refuse_count(arguments)
        return packed

    def _refuse_count(self, arguments: Sequence[object]) -> NoReturn:
        names = ", ".join(_described(argument) for argument in self.arguments)
        message = f"kernel {self.entry} takes {len(self.checkers)} arguments ({names}), not {len(arguments)}"
        remedy = "an array may be given as Address(array), its lengths and its strides in elements"
        raise InvalidInput("launch-arguments", message, remedy=remedy)


def _described(argument: Argument) -> str:
    return argument.name if argument.kind != "array" else f"{argument.name}: {argument.rank}-d array"


class _Scalar:
    """An argument that is one parameter: a number, or an address."""

    parameters = 1

    def __init__(self, entry: str, name: str, params: Sequence[Parameter]):
        self.entry, self.name, self.params = entry, name, params
        self.known = AcceptedTypes()

    def add(self, argument: object, position: int, view: View, device: int, packed: list[bytes]) -> None:
        """Parameter ``part`` of the argument."""
        param = self.params[position]
        whole = not isinstance(argument, Address)
        argument = argument.array if isinstance(argument, Address) else argument
        if whole and is_array(argument) and (position or param.kind != POINTER):
            self._refuse("launch-argument", f"{param.name} is {_kind(param)}, not an array")
        if is_array(argument):
            packed.append(self.address(view(argument), device, param))
            if whole:
                self.known.kinds.add(type(argument))
            return
        if not is_number(argument):
            message = f"{param.name} is {_kind(param)}, not {_article(argument)}"
            self._refuse("launch-argument", message, "pass arrays (DLPack) and numbers")
        packed.append(self._number(param, argument))

    def address(self, array: ArrayView, device: int, param: Parameter) -> bytes:
        """The address of an array; raises InvalidInput where the kernel cannot use the memory."""
        if param.kind != POINTER:
            self._refuse("launch-argument", f"{param.name} is {_kind(param)}, not an address")
        if array.dtype is not None:
            self.check_element(array.dtype, param)
            self.known.types.add(array.dtype)
        self.check_memory(array, device, param)
        return array.address.to_bytes(8, "little")

    def check_memory(self, array: ArrayView, device: int, param: Parameter) -> None:
        """Refuse what no kernel, or not this one, may reach through the address."""
        if array.device != device:
            where = "in host memory" if array.device is None else f"on GPU {array.device}"
            remedy = "copy it to that GPU, or make its GPU the current one"
            self._refuse("launch-device", f"{self.name} is {where}, the kernel runs on GPU {device}", remedy)
        if array.address % param.divisible_by:
            self._refuse_address(array.address, param)
        if array.readonly and param.access in (WRITE, READ_WRITE):
            self._refuse(
                "launch-read-only", f"{self.name} is read-only, and the kernel writes it", "pass an array to write"
            )

    def check_element(self, dtype: np.dtype, param: Parameter) -> None:
        """Refuse an array of other numbers than the kernel reads or writes."""
        name = f"void{8 * dtype.itemsize}" if dtype.kind == "V" and dtype.name.startswith("void") else dtype.name
        element = param.element
        if element is None or name in ELEMENT_TYPES.get(element, _PACKED_TYPES):
            return
        wanted = ELEMENT_TYPES.get(element, (element,))[0]
        message = f"{self.name} holds {dtype.name}, the kernel was built for {wanted}"
        self._refuse("launch-element", message, f"convert it to {wanted}, or launch a kernel built for {dtype.name}")

    def _refuse_address(self, address: int, param: Parameter) -> NoReturn:
        message = f"the address {address:#x} of {self.name} is not a multiple of {param.divisible_by} bytes"
        self._refuse("launch-alignment", message, "pass an array that begins there, or a copy")

    def _number(self, param: Parameter, number: Number) -> bytes:
        try:
            data, problem = pack_number(param.kind, number), _broken_promise(param, number)
        except Exception as error:  # a number may be an object of anybody's
            self._refuse(
                "launch-argument",
                f"{param.name} ({param.kind}) cannot be {short_repr(number)}: {exception_text(error)}",
            )
        if data is None:
            self._refuse("launch-argument", f"{param.name} is of kind {param.kind}, which no argument can be")
        if problem:
            if param.kind == POINTER:
                self._refuse_address(_whole(number), param)
            self._refuse("launch-value", f"{param.name} is {short_repr(number)}{problem}")
        return data

    def _refuse(self, id: str, message: str, remedy: str | None = None) -> NoReturn:
        raise InvalidInput(id, f"kernel {self.entry}: {message}", remedy=remedy)


def _kind(param: Parameter) -> str:
    return "an address" if param.kind == POINTER else f"a number ({param.kind})"


class _Array(_Scalar):
    """An argument that is an array, or in its place an address, lengths and strides."""

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
        given = self._checked((*array.shape, *array.strides))
        packed += [self._number(param, number) for param, number in zip(self.params[1:], given)]
        self.known.kinds.add(type(argument))

    def refuse_partial_array(self, argument: object) -> NoReturn:
        """Refuse what stands in an array's place alone."""
        message = f"{self.name} is an array of {_dimensions(self.rank)}, not {_article(argument)}"
        self._refuse("launch-argument", message, "pass it, or Address(array), its lengths and its strides in elements")

    def _refuse_rank(self, found: int) -> NoReturn:
        message = f"{self.name} has {_dimensions(found)}, the kernel was built for {self.rank}"
        self._refuse("launch-rank", message, f"reshape it to {_dimensions(self.rank)}")

    def _checked(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Lengths and strides that the kernel was built for; along one element at most, a stride is any."""
        shape = sizes[: self.rank]
        made = list(sizes)
        for place, (number, param) in enumerate(zip(sizes, self.params[1:])):
            problem = _broken_promise(param, number) or _too_large(param, number)
            if problem is None:
                continue
            if param.role == "stride" and shape[place - self.rank] <= 1:
                made[place] = _harmless(param)
                continue
            unit = f" element{'s' * (abs(number) != 1)}" if param.role == "stride" else ""
            message = f"the {_what(param)} of axis {param.axis} of {self.name} is {number}{unit}{problem}"
            self._refuse(f"launch-{param.role}", message, _REMEDIES[param.role])
        return tuple(made)


_REMEDIES = {
    "stride": "pass a contiguous copy, or build the kernel without that promise",
    "shape": "pad it, or build the kernel without that promise",
}


def _what(param: Parameter) -> str:
    return "length" if param.role == "shape" else "stride"


def _article(value: object) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def _dimensions(count: int) -> str:
    return f"{count} dimension" + "s" * (count != 1)


def _harmless(param: Parameter) -> int:
    """A stride that keeps the promises: nothing is ever that far away."""
    if param.value is not None:
        return param.value
    return -(-(param.minimum or 0) // param.divisible_by) * param.divisible_by


def _broken_promise(param: Parameter, number: Number) -> str | None:
    """How a sentence about ``number`` goes on where the kernel is not right for it."""
    if param.value is param.minimum is param.maximum is None and param.divisible_by == 1:
        return None
    whole = _whole(number)
    if param.value is not None and whole != param.value:
        return f", the kernel was built for {param.value}"
    if whole % param.divisible_by:
        return f", not a multiple of {param.divisible_by}"
    if param.minimum is not None and whole < param.minimum:
        return f", less than {param.minimum}"
    if param.maximum is not None and whole > param.maximum:
        return f", more than {param.maximum}"
    return None


def _too_large(param: Parameter, number: int) -> str | None:
    half = 1 << (_INTEGER_BITS[param.kind] - 1)
    return None if -half <= number < half else f", more than {param.kind} holds"


def _argument_checker(entry: str, argument: Argument, launch: Launch) -> _Scalar:
    params = launch.params[argument.param : argument.param + argument.parameters]
    return (_Array if argument.kind == "array" else _Scalar)(entry, argument.name, params)


# ---- numbers ---------------------------------------------------------------------------------------
def pack_number(kind: str, number: Number) -> bytes | None:
    """The little-endian bytes of a number; None where ``kind`` is no number's. Raises OverflowError or ValueError."""
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
    """An integer's bytes; a length beyond a signed index is refused, what NumPy calls unsigned is taken as it is."""
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
        raise ValueError("it is no whole number")
    return int(fraction)


def describe_argument(argument: Argument, parameters: Sequence[Parameter]) -> str:
    """What an argument must be, for people who call the kernel."""
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
