"""Parses launch arguments of the command line: ``f32:64x64:7``, ``weights.npy``, ``3``.

An array is passed as cuTile passes it: its pointer, and if the integer parameters follow, its sizes and strides (in
elements). A number takes the type of its parameter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from xdsl.ir import Attribute, Operation

from ...core.errors import InvalidInput
from ...ir.dialects.cuda_tile.types import PointerType
from .derive_inputs import Buffer, Inputs, aligned, copies_of, pack_scalar, random_elements
from .element_types import STORAGE_DTYPES, element_of, is_integer, storage_bits, to_bit_patterns
from .tile_block_interpreter import find_entry, pad_to_3d

# As Tile IR spells them: its own type has no prefix.
TYPE_NAMES: dict[str, Attribute] = {
    str(element_type).removeprefix("!cuda_tile."): element_type for element_type in STORAGE_DTYPES
}
ARRAY = re.compile(r"(?P<type>[A-Za-z]\w*):(?P<shape>\d+(?:x\d+)*)(?::(?P<seed>\d+))?")


def _refuse(text: str, reason: str) -> InvalidInput:
    forms = "use DTYPE:SHAPE[:SEED] (f32:64x64:7), a .npy file, or a scalar"
    return InvalidInput("launch-argument", f"argument {text!r} {reason}", remedy=forms)


def _array(text: str, element_type: Attribute) -> tuple[tuple[int, ...], np.ndarray]:
    """The shape and the words of an array argument of a given element type."""
    size = storage_bits(element_type) // 8
    if text.endswith(".npy"):
        values = _load(text)
        if values.dtype.itemsize != size:
            raise _refuse(text, f"has dtype {values.dtype}, expected {element_type}")
        return values.shape, np.ascontiguousarray(values)
    match = ARRAY.fullmatch(text)
    if match is None:
        raise _refuse(text, f"is not an array, but the parameter is a pointer to {element_type}")
    if TYPE_NAMES.get(match["type"]) != element_type:
        raise _refuse(text, f"does not have the parameter's element type {element_type}")
    if size == 0:
        raise _refuse(text, "has sub-byte elements: omit all arguments to derive them")
    shape = tuple(map(int, match["shape"].split("x")))
    random = np.random.default_rng(int(match["seed"] or 0))
    return shape, to_bit_patterns(random_elements(random, element_type, int(np.prod(shape))), element_type)


def _load(text: str) -> np.ndarray:
    """The array in a .npy file, in this machine's byte order."""
    try:
        values = np.load(text)
    except Exception as problem:
        # NumPy evaluates the header as a Python expression: a damaged one may raise any exception of the parser.
        lines = str(problem).splitlines() or [type(problem).__name__]
        raise _refuse(text, f"cannot be read: {lines[0]}") from None
    if not isinstance(values, np.ndarray):
        raise _refuse(text, "contains several arrays")
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _row_major(shape: tuple[int, ...]) -> list[int]:
    strides = [1] * len(shape)
    for dim in reversed(range(len(shape) - 1)):
        strides[dim] = strides[dim + 1] * shape[dim + 1]
    return strides


def bind_arguments(module: Operation, entry: str, texts: Sequence[str], grid: tuple[int, int, int]) -> Inputs:
    """The launch for the texts; raises InvalidInput for a text that does not fit its parameter."""
    parameters = [element_of(argument) for argument in find_entry(module, entry).body.block.args]
    inputs, waiting = Inputs(grid, [], [], {}), list(texts)
    while waiting and len(inputs.params) < len(parameters):
        text, element_type = waiting.pop(0), parameters[len(inputs.params)]
        if isinstance(element_type, PointerType):
            _add_array(inputs, parameters, text, element_type)
        else:
            _add_number(inputs, text, element_type)
    if waiting or len(inputs.params) != len(parameters):
        raise InvalidInput(
            "launch-arguments",
            f"{entry} takes {len(parameters)} parameters; arguments supply "
            f"{len(inputs.params)}, {len(waiting)} left over",
            remedy=f"the parameters are {', '.join(map(_plain, parameters))}",
        )
    return inputs


def _plain(type: Attribute) -> str:
    return str(type).removeprefix("!cuda_tile.")


def _add_array(inputs: Inputs, parameters: list[Attribute], text: str, pointer: PointerType) -> None:
    """Add an array; a multicast object gets copies with the same content."""
    copies = copies_of(pointer)
    shape, values = _array(text, pointer.pointee_type)
    content = np.tile(np.ascontiguousarray(values).reshape(-1).view(np.uint8), copies)
    place = aligned(content.size)
    place[:] = content
    first = len(inputs.params)
    inputs.buffers.append(Buffer(first, pointer.pointee_type, place, copies))
    inputs.params.append(inputs.buffers[-1].address.to_bytes(8, "little"))
    following = parameters[first + 1 : first + 1 + 2 * len(shape)]
    if len(following) == 2 * len(shape) and all(map(is_integer, following)):
        for number, type in zip([*shape, *_row_major(shape)], following):
            inputs.params.append(pack_scalar(number, type))


def _add_number(inputs: Inputs, text: str, element_type: Attribute) -> None:
    try:
        number = int(text, 0) if is_integer(element_type) else float(text)
    except ValueError:
        raise _refuse(text, f"is not a scalar of type {element_type}") from None
    inputs.scalars[len(inputs.params)] = number
    inputs.params.append(pack_scalar(number, element_type))


def parse_grid(text: str) -> tuple[int, int, int]:
    """``4`` or ``4,2`` or ``4,2,1``."""
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*){0,2}", text):
        raise InvalidInput(
            "launch-grid", f"invalid grid {text!r}: expected one to three positive integers separated by commas"
        )
    return pad_to_3d([*map(int, text.split(","))])


def save_buffers(inputs: Inputs, folder: Path) -> list[Path]:
    """Write the current content of every buffer to ``argN.npy``; N is the parameter's index."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for buffer in inputs.buffers:
        paths.append(folder / f"arg{buffer.parameter}.npy")
        dtype = STORAGE_DTYPES[buffer.element_type]
        plain = dtype if dtype.kind in "biuf" and storage_bits(buffer.element_type) >= 8 else np.dtype(np.uint8)
        np.save(paths[-1], buffer.bytes.view(plain))
    return paths
