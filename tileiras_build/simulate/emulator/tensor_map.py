"""Tensor maps (TMA descriptors): the parameters of cuTensorMapEncodeTiled, in the emulator's own encoding of 128 bytes.

The hardware's encoding is opaque, so the emulator's encoding only stores the fields; 128 zero bytes are a map of rank 1, the
initial value of ``tensormap.replace``. Element codes are those of ``tensormap.replace.elemtype`` (PTX ISA 9.0, section
9.7.9.28, table of .elemtype).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from .errors import EmulatorError

SIZE = 128
CHUNK = 16  # bytes; the unit of swizzles
PADDED = 128  # padded elements of a row of a box
GATHER_ROWS = 4  # rows of .tile::gather4 and .tile::scatter4
_MAGIC = 0x50414D54  # "TMAP"
_FORMAT = struct.Struct("<I8B5H5BQ5I4Q")
_COLUMNS = struct.Struct("<6h2HB")
_COLUMNS_AT = SIZE - _COLUMNS.size


@dataclass(frozen=True)
class Element:
    """An element type: its code, size, type of reductions, and bit pattern of the NaN fill.

    Elements of less than 8 ``bits`` lie close together in global memory; a map's shape and box then count bytes there,
    coordinates of a copy elements. ``packed`` bytes of them fill a chunk of 16 bytes of shared memory, with padding after
    them (section 5.5.1.1).
    """

    code: int
    bytes: int
    reduction: str | None
    nan: int | None = None
    bits: int = 8
    packed: int = 16


ELEMENTS = {
    "u8": Element(0, 1, None), "u16": Element(1, 2, None), "u32": Element(2, 4, "u32"), "i32": Element(3, 4, "s32"),
    "u64": Element(4, 8, "u64"), "i64": Element(5, 8, "s64"), "f16": Element(6, 2, "f16", 0x7FFF),
    "f32": Element(7, 4, "f32", 0x7FFFFFFF), "f64": Element(9, 8, "f64", 0x7FFFFFFFFFFFFFFF),
    "bf16": Element(10, 2, "bf16", 0x7FFF), "tf32": Element(11, 4, "f32", 0x7FFFFFFF),
    "b4x16": Element(13, 1, None, bits=4), "b4x16_p64": Element(14, 1, None, bits=4, packed=8),
    "b6x16_p32": Element(15, 1, None, bits=6, packed=12),
}  # fmt: skip
# b6x16_p32 and b6p2x16 have one code: the first is for loads, the second for stores (section 5.5.1.1).
_ALIASES = {"b6p2x16": "b6x16_p32", "i8": "u8", "i16": "u16", "s8": "u8", "s16": "u16", "s32": "i32", "s64": "i64"}
_NAME_OF = {element.code: name for name, element in ELEMENTS.items()}
# Name -> the codes of .swizzle_mode and .swizzle_atomicity.
SWIZZLES = {"none": (0, 0), "32B": (1, 0), "64B": (2, 0), "128B": (3, 0), "128B_ATOM_32B": (3, 1)}
_SWIZZLE_OF = {codes: name for name, codes in SWIZZLES.items()}
FILLS = {"zero": 0, "nan": 1}
_PROMOTIONS = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
# Bytes of a row of the swizzle's pattern.
SPAN = {"none": None, "32B": 32, "64B": 64, "128B": 128, "128B_ATOM_32B": 128}
# Swizzle -> which bits of the number of a 128-byte row are XORed into the number of a 16-byte chunk, and where
# (section 5.5.6, swizzling modes): 32-byte chunks move in pairs of them.
CHUNK_XOR = {"none": (0, 0), "32B": (1, 0), "64B": (3, 0), "128B": (7, 0), "128B_ATOM_32B": (3, 1)}


@dataclass(frozen=True)
class Im2colParameters:
    """The parameters of cuTensorMapEncodeIm2col: a copy transfers ``pixels`` consecutive pixels, with ``channels`` each.

    The pixels are those of a bounding box in the dimensions W, H, D, in this order: from ``lower`` to ``upper``, the latter
    relative to the tensor's last pixel. ``wide``: the load mode of maps of cuTensorMapEncodeIm2colWide ("im2col::w" or
    "im2col::w::128"): the box has W alone, H and D are those of the copy.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int
    wide: str = ""

    @property
    def mode(self) -> str:
        """The load mode of copies with this map."""
        return self.wide or "im2col"


# Rank -> bits of an element of lower and upper (CUDA driver API, cuTensorMapEncodeIm2col).
_CORNER_BITS = {3: 16, 4: 8, 5: 5}
WIDE_MODES = ("", "im2col::w", "im2col::w::128")
_WIDE_CORNER_BITS = 16
WIDE_PIXELS = 128  # pixels of im2col::w::128, independent of the map
MAX_IM2COL_CHANNELS, MAX_IM2COL_PIXELS = 256, 1024


@dataclass(frozen=True)
class TensorMap:
    """A tensor, fastest dimension first, tiled or (``columns``) of pixels. ``strides`` are bytes between neighbors of dimension 1, 2, …"""

    element: str
    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: str = "none"
    fill: str = "zero"
    interleave: int = 0
    columns: Im2colParameters | None = None
    gathers: bool = False  # the rows of a box have independent coordinates in dimension 1

    def gathering(self) -> TensorMap:
        """The map for .tile::gather4 and .tile::scatter4: four rows form a box. Raises ValueError for other maps.

        PTX ISA 9.0, section 5.5.4: the tensor has rank 2; its box is one row (CUDA driver API, "Tensor Map Object
        Management").
        """
        if self.columns is not None or self.rank != 2 or self.box[1] != 1:
            raise ValueError(
                f"a box of {'x'.join(map(str, self.box))} cannot be gathered: it must be one row of a matrix"
            )
        return replace(self, box=(self.box[0], GATHER_ROWS), element_strides=(self.element_strides[0], 1), gathers=True)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def kind(self) -> Element:
        return ELEMENTS[self.element]

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Elements of a box per dimension, without the stride of dimension 0. For im2col: (elements of a row, rows)."""
        if self.columns is not None:
            return self.columns.channels, WIDE_PIXELS if self.columns.wide == WIDE_MODES[2] else self.columns.pixels
        return (self.box[0], *(-(-b // s) for b, s in zip(self.box[1:], self.element_strides[1:])))

    @cached_property
    def data_bytes(self) -> int:
        """Bytes of a row of a box in global memory."""
        return self.counts[0] * self.kind.bytes

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of a row of a box in shared memory."""
        return self.data_bytes * CHUNK // self.kind.packed

    @property
    def pitch(self) -> int:
        """Bytes between rows of a box in shared memory: a swizzled row occupies the whole span."""
        return SPAN[self.swizzle] or self.row_bytes

    @cached_property
    def rows(self) -> int:
        return int(np.prod(self.counts[1:], dtype=np.int64))

    @cached_property
    def box_bytes(self) -> int:
        """The bytes that a copy of a box completes on its mbarrier, without padding."""
        return self.rows * self.data_bytes

    @cached_property
    def is_plain(self) -> bool:
        """Whether boxes are rows of whole chunks, copied unchanged or rounded, at positions given by corner and counts."""
        tiled = self.columns is None and not self.gathers
        unchanged = self.kind.bits == 8 and self.kind.packed == CHUNK
        return tiled and unchanged and self.row_bytes % CHUNK == 0

    @cached_property
    def extents(self) -> np.ndarray:
        """The extent of a box in the tensor per dimension, without the stride of dimension 0."""
        counts, steps = self.counts, self.element_strides
        return np.array([counts[0], *((count - 1) * step + 1 for count, step in zip(counts[1:], steps[1:]))])

    @cached_property
    def layout(self) -> tuple:
        """A key of the shared memory layout of boxes, and of the form of their coordinates."""
        kinds = self.element, self.swizzle, self.fill, self.interleave, self.columns, self.gathers
        return self.rank, self.box, self.element_strides, *kinds

    @cached_property
    def last(self) -> np.ndarray:
        """The last start per dimension of a box that is inside the tensor."""
        return np.array(self.shape, np.int64) - self.extents

    @cached_property
    def is_larger_than_box(self) -> bool:
        return bool((self.last >= 0).all())

    @cached_property
    def steps(self) -> np.ndarray:
        """Bytes between adjacent elements per dimension."""
        return np.array((self.kind.bytes, *self.strides), np.int64)

    @cached_property
    def expected_tx_bytes(self) -> np.ndarray:
        """The change of an mbarrier's pending bytes by a completed box."""
        return np.array([-self.box_bytes], np.int64)

    @lru_cache(maxsize=256)  # noqa: B019 - every launch uses the same maps
    def problem(self) -> str | None:
        """The reason why cuTensorMapEncodeTiled would reject the map, or None (CUDA driver API, "Tensor Map Object Management")."""
        return next((why for bad, why in self.checks() if bad), None)

    def checks(self):
        span = SPAN[self.swizzle]
        yield not 1 <= self.rank <= 5, f"rank {self.rank} is not 1 to 5"
        yield self.base % 16 != 0, f"base {self.base:#x} is not a multiple of 16"
        lengths = {len(self.box), len(self.element_strides), len(self.strides) + 1}
        yield lengths != {self.rank}, f"shape, strides, box and element_strides do not all have rank {self.rank}"
        yield from ((not 1 <= n <= 1 << 32, f"shape {n} is not 1 to 2^32") for n in self.shape)
        # A stride of 0 is valid: it repeats a tensor (libcu++, cuda::make_tma_descriptor: "0 or greater than or equal to ...").
        yield from (
            (s % 16 != 0 or not 0 <= s < 1 << 40, f"stride {s} is not a multiple of 16 below 2^40")
            for s in self.strides
        )
        yield from ((not 1 <= n <= 256, f"box dimension {n} is not 1 to 256") for n in self.box)
        yield from ((not 1 <= n <= 8, f"element stride {n} is not 1 to 8") for n in self.element_strides)
        yield self.row_bytes % 16 != 0, f"the box's rows have {self.row_bytes} bytes, not a multiple of 16"
        wide = span is not None and self.row_bytes > span
        yield wide, f"the box's rows have {self.row_bytes} bytes, more than the swizzle of {span}"
        yield from self.padding_checks() if self.kind.packed < CHUNK else ()
        yield from self.im2col_checks() if self.columns is not None else ()
        yield self.interleave != 0, "interleaved layouts are not supported"
        yield self.fill == "nan" and self.kind.nan is None, f"{self.element} has no NaN to fill with"

    def padding_checks(self):
        """CUDA driver API, cuTensorMapEncodeTiled: CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B and 16U6_ALIGN16B."""
        whole = PADDED * self.kind.bits // 8
        yield (
            any(n % 32 for n in (self.base, *self.strides)),
            "base and strides of padded elements are not multiples of 32",
        )
        yield self.shape[0] % whole != 0, f"rows of padded elements are not a multiple of {PADDED}"
        yield self.counts[0] != whole, f"the box of padded elements is not {PADDED} wide"

    def im2col_checks(self):
        corners, wide = (*self.columns.lower, *self.columns.upper), self.columns.wide
        yield self.rank not in _CORNER_BITS, f"rank {self.rank} of a tensor of pixels is not 3 to 5"
        bits, sides = (_WIDE_CORNER_BITS, 1) if wide else (_CORNER_BITS[self.rank], self.rank - 2)
        yield len(corners) != 2 * sides, f"the bounding box does not have {sides} dimensions"
        yield wide and self.swizzle == "none", f"a map for {wide} needs a swizzling mode"
        yield from (
            (not -(1 << bits - 1) <= n < 1 << bits - 1, f"corner {n} has more than {bits} bits") for n in corners
        )
        yield (
            not 1 <= self.columns.channels <= MAX_IM2COL_CHANNELS,
            f"{self.columns.channels} channels are not 1 to {MAX_IM2COL_CHANNELS}",
        )
        yield (
            not 1 <= self.columns.pixels <= MAX_IM2COL_PIXELS,
            f"{self.columns.pixels} pixels are not 1 to {MAX_IM2COL_PIXELS}",
        )

    @lru_cache(maxsize=256)  # noqa: B019
    def encode(self) -> bytes:
        five = lambda values, fill: (*values, *[fill] * (5 - len(values)))
        return _FORMAT.pack(
            _MAGIC, self.rank - 1, self.kind.code, self.interleave, SWIZZLES[self.swizzle][0], FILLS[self.fill], 0,
            SWIZZLES[self.swizzle][1], 0, *five(self.box, 0), *five(self.element_strides, 0), self.base,
            *five(tuple(n - 1 for n in self.shape), 0), *five(self.strides, 0)[:4],
        ).ljust(_COLUMNS_AT, b"\0") + encode_im2col(self.columns)  # fmt: skip


def encode_im2col(columns: Im2colParameters | None) -> bytes:
    """The end of an encoded map: zeros for one of tiles."""
    if columns is None:
        return bytes(SIZE - _COLUMNS_AT)
    three = lambda values: (*values, *[0] * (3 - len(values)))
    wide = WIDE_MODES.index(columns.wide)
    return _COLUMNS.pack(*three(columns.lower), *three(columns.upper), columns.channels, columns.pixels, wide)


def decode_im2col(data: bytes, rank: int) -> Im2colParameters | None:
    """The columns in an encoded map, or None."""
    *corners, channels, pixels, wide = _COLUMNS.unpack(data[_COLUMNS_AT:])
    sides = 1 if wide else rank - 2
    lower, upper = tuple(corners[:sides]), tuple(corners[3 : 3 + sides])
    return Im2colParameters(lower, upper, channels, pixels, WIDE_MODES[wide]) if pixels else None


def fields_of(data: bytes) -> list:
    """The fields of an encoded map as a flat list, in the order of ``_FORMAT``."""
    return list(_FORMAT.unpack(data[: _FORMAT.size]))


@lru_cache(maxsize=4096)
def decode(data: bytes) -> TensorMap:
    """Decode a map of 128 bytes. Raises ValueError for an invalid map."""
    fields = fields_of(data)
    magic, rank, code, interleave, swizzle, fill, _, atomicity, _ = fields[:9]
    if magic != _MAGIC:
        raise ValueError("these 128 bytes are not a tensor map")
    if code not in _NAME_OF or rank > 4:
        raise ValueError(f"a tensor map of element type {code} and rank {rank + 1} is not supported")
    if (swizzle, atomicity) not in _SWIZZLE_OF:
        raise ValueError(f"a tensor map of swizzle mode {swizzle} and atomicity {atomicity} is not supported")
    rank += 1
    out = TensorMap(
        _NAME_OF[code], fields[19], tuple(n + 1 for n in fields[20 : 20 + rank]), tuple(fields[25 : 24 + rank]),
        tuple(fields[9 : 9 + rank]), tuple(fields[14 : 14 + rank]), _SWIZZLE_OF[swizzle, atomicity],
        "nan" if fill else "zero", interleave, decode_im2col(data, rank),
    )  # fmt: skip
    if (why := out.problem()) is not None:
        raise ValueError(f"invalid tensor map: {why}")
    return out


_FIELD_AT = {"rank": 1, "elemtype": 2, "interleave_layout": 3, "swizzle_mode": 4, "fill_mode": 5, "swizzle_atomicity": 7,
             "global_address": 19}  # fmt: skip
_ARRAY_AT = {"box_dim": 9, "element_stride": 14, "global_dim": 20, "global_stride": 25}


def replaced(data: bytes, field: str, ordinal: int, value: int) -> bytes:
    """``tensormap.replace``: one field of an encoded map changed (section 9.7.9.28)."""
    fields = fields_of(data)
    fields[0] = _MAGIC
    at = _FIELD_AT[field] if field in _FIELD_AT else _ARRAY_AT[field] + ordinal
    fields[at] = value - 1 if field == "global_dim" else value
    return _FORMAT.pack(*fields) + data[_FORMAT.size :]


# -- from the launch manifest ------------------------------------------------------------------------
def from_manifest(description: dict, params: list[bytes]) -> TensorMap:
    """The map described by a manifest's entry and these kernel parameters. Raises ValueError with the reason."""

    def value(item) -> int:
        if isinstance(item, int):
            return item
        number = int.from_bytes(params[item["param"]], "little", signed=True)
        return number * item.get("times", 1) // item.get("over", 1)

    element = _ALIASES.get(description["element"], description["element"])
    if element not in ELEMENTS:
        raise ValueError(f"unknown element type {description['element']!r}")
    if description.get("swizzle", "none") not in SWIZZLES or description.get("fill", "zero") not in FILLS:
        raise ValueError(f"unknown swizzle {description.get('swizzle')!r} or fill {description.get('fill')!r}")
    if description.get("l2_promotion", "none") not in _PROMOTIONS:
        raise ValueError(f"unknown L2 promotion {description['l2_promotion']!r}")
    box = tuple(value(n) for n in description["box"])
    base = description["base"]
    out = TensorMap(
        element, value(base) & 0xFFFFFFFFFFFFFFFF if not isinstance(base, int) else base,
        tuple(value(n) or 1 for n in description["shape"]), tuple(value(n) for n in description["strides"]), box,
        tuple(value(n) for n in description.get("element_strides", [1] * len(box))), description.get("swizzle", "none"),
        description.get("fill", "zero"), 0 if description.get("interleave", "none") == "none" else 1,
    )  # fmt: skip
    if (why := out.problem()) is not None:
        raise ValueError(why)
    return out


def complete_parameters(entry: str, kernel: dict, params, count: int) -> list[bytes]:
    """The parameters of a launch; missing trailing tensor maps are encoded from the manifest."""
    params = [bytes(p) for p in params]
    maps = kernel.get("tensor_maps", [])
    if len(params) == count or len(params) + len(maps) != count:
        return params
    encoded = {}
    for description in maps:
        at = description["param"]
        try:
            encoded[at] = from_manifest(description, params).encode()
        except ValueError as error:
            name = kernel["params"][at].get("name", at) if at < len(kernel.get("params", [])) else at
            raise EmulatorError(f"kernel {entry}: tensor map {name} cannot be encoded: {error}") from None
    return [*params, *(encoded[at] for at in sorted(encoded))]
