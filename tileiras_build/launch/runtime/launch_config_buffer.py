"""The memory of one launch: the input of ``cuLaunchKernelEx``, in one buffer that one ``struct.pack_into`` fills.

    0    CUlaunchConfig: grid, block, bytes of dynamic shared memory, stream, address and number of attributes
    64   the kernel's parameters, the grid's extents if it has them as parameters, and its tensor maps at multiples of 64 bytes
    …    a CUlaunchAttribute, and the addresses of the parameters: both are written once

The driver copies all of it before it returns, so the next launch can reuse the buffer. Sources: cuda.h (``CUlaunchConfig``,
``CUlaunchAttribute``), PTX ISA on the alignment of parameters.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...manifest.manifest_constants import POINTER
from ...target.element_types import ELEMENT_TYPES
from .encode_tensor_maps import ALIGNMENT, SIZE

if TYPE_CHECKING:
    from ...manifest.launch_manifest import Launch, Parameter

# The ``struct`` code of each kind of parameter; a value of another kind is its bytes.
_ELEMENTS = {name: row.struct for name, row in ELEMENT_TYPES.items() if row.struct is not None}
STRUCT_CODES = _ELEMENTS | {POINTER: "Q", "i1": "?"}

_HEAD = "<7I4xQQI4x8x"  # the parameters follow
_PARAMETERS = struct.calcsize(_HEAD)
_ATTRIBUTE = struct.Struct("<I4xI60x")
_PROGRAMMATIC = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION


class LaunchConfigBuffer(NamedTuple):
    """One launch's part of ``buffer``, from ``offset`` on; the other fields are addresses."""

    buffer: ctypes.Array
    offset: int
    address: int
    pointers: int
    attribute: int


class LaunchConfigLayout:
    """The layout of a kernel's launch buffers."""

    def __init__(self, launch: Launch):
        self._codes = [_code(param) for param in launch.caller_parameters]
        own, end = _format((*launch.caller_parameters, *launch.extents))
        maps = len(launch.tensor_maps)
        self.sizes = [param.size for param in (*launch.caller_parameters, *launch.extents)] + [SIZE] * maps
        """Of the parameters, extents and maps, in their order."""
        self._offsets = [param.offset for param in (*launch.caller_parameters, *launch.extents)]
        if maps:
            start = _up(end, ALIGNMENT)
            own += "x" * (start - end) + f"{SIZE}s" * maps
            self._offsets += [start + SIZE * index for index in range(maps)]
            end = start + SIZE * maps
        whole = struct.Struct(_HEAD + own)
        self.pack_into: Callable[..., None] = whole.pack_into
        """(buffer, offset, grid x 3, block x 3, shared, stream, attributes, their number, parameters …, extents …,
        maps …)"""
        self._attribute = _up(_PARAMETERS + end, 8)
        self._pointers = self._attribute + _ATTRIBUTE.size
        self._size = self._pointers + 8 * max(len(self._offsets), 1)

    def new(self) -> LaunchConfigBuffer:
        """A new buffer whose constant parts are written."""
        buffer = ctypes.create_string_buffer(self._size + ALIGNMENT)
        base = ctypes.addressof(buffer)
        address = _up(base, ALIGNMENT)
        offset = address - base
        _ATTRIBUTE.pack_into(buffer, offset + self._attribute, _PROGRAMMATIC, 1)
        pointers = [address + _PARAMETERS + place for place in self._offsets]
        struct.pack_into(f"<{len(pointers)}Q", buffer, offset + self._pointers, *pointers)
        return LaunchConfigBuffer(buffer, offset, address, address + self._pointers, address + self._attribute)

    def read(self, block: LaunchConfigBuffer) -> tuple[tuple[int, int, int], list[bytes]]:
        """The grid of a launch, and the bytes of each parameter, extent and map."""
        x, y, z = struct.unpack("<3I", ctypes.string_at(block.address, 12))
        places = (ctypes.c_uint64 * len(self.sizes)).from_address(block.pointers)
        return (x, y, z), [ctypes.string_at(place, size) for place, size in zip(places, self.sizes, strict=True)]

    def unpack(self, parameters: Sequence[bytes]) -> list[object]:
        """The values of the parameters, from the bytes of each."""
        return [struct.unpack(f"<{code}", part)[0] for code, part in zip(self._codes, parameters, strict=True)]


def _format(params: Sequence[Parameter]) -> tuple[str, int]:
    """The format characters of the parameters, and the offset of their end."""
    made, end = "", 0
    for param in params:
        made += "x" * (param.offset - end) + _code(param)
        end = param.offset + param.size
    return made, end


def _code(param: Parameter) -> str:
    return STRUCT_CODES.get(param.kind, f"{param.size}s")


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
