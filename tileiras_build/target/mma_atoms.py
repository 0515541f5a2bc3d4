"""The matrix instructions of all GPUs, one row each: ``mma.sync``, ``wgmma.mma_async`` and ``tcgen05.mma``.

Element types have MLIR's names, operand values LLVM's. Each row names the capability that it needs; look-ups by element
types are methods of ``targets.Target``. Rows are validated on creation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Protocol

from .capabilities import CAPABILITIES
from .element_types import OPERAND_TYPES
from .sm_limits import WARP

# Bits of one element of an operand, by MLIR name; tf32 has 32-bit registers, floats below 8 bits use a byte.
ELEMENT_BITS = {name: row.load_bits for name, row in OPERAND_TYPES.items()}
# Bits of one operand value of an instruction, by LLVM name.
VALUE_BITS = {"i32": 32, "float": 32, "double": 64, "<2 x half>": 32}
# PTX name of a dtype in an mma mnemonic; that of 8-bit integers depends on their signedness.
PTX_TYPE = {name: row.ptx for name, row in OPERAND_TYPES.items() if row.ptx is not None and name != "i8"}


class MmaRow(Protocol):
    """What the rows of all families have: types, elements along k of one instruction, and what a GPU needs for it.

    ``family`` is the folder of ``pipeline/mma`` that compiles dots to such instructions.
    """

    family: ClassVar[str]

    @property
    def name(self) -> str: ...
    @property
    def k(self) -> int: ...
    @property
    def a_type(self) -> str: ...
    @property
    def b_type(self) -> str: ...
    @property
    def accumulator_type(self) -> str: ...
    @property
    def capability(self) -> str: ...
    @property
    def scale_type(self) -> str | None: ...
    @property
    def scale_block(self) -> int: ...


# ---------------------------------------------------------------------------------------------- mma.sync rows


@dataclass(frozen=True)
class MmaAtom:
    """One warp-wide ``mma.sync`` instruction: D(m,n) = A(m,k) * B(k,n) + C(m,n), row.col.

    ``*_type`` are MLIR dtypes. ``*_registers`` counts the operand values per lane and ``*_value`` is the LLVM type of
    one of them; D has C's. ``intrinsic`` and ``ptx`` may hold ``{signs}`` / ``{a}`` / ``{b}``: the signedness of i8
    operands, which the operation selects (``intrinsic_name`` and ``ptx_name`` fill them in). Block-scaled rows carry
    ``scale_type`` and ``scale_block`` (elements of k that share a scale; pairs of fp4 are one element);
    their call takes six more arguments, see PTX ISA 9.0, 9.7.14.3.
    """

    family: ClassVar[str] = "mma_sync"
    name: str
    m: int
    n: int
    k: int
    a_type: str
    b_type: str
    accumulator_type: str
    a_registers: int
    b_registers: int
    c_registers: int
    a_value: str
    b_value: str
    c_value: str
    intrinsic: str
    ptx: str
    capability: str
    scale_type: str | None = None
    scale_block: int = 0
    storage_bits: int = 0  # bits of an element in the register, if different from ELEMENT_BITS (fp4 in mxf4)

    def __post_init__(self) -> None:
        operands = (
            (self.m * self.k, self.a_type, self.a_registers, self.a_value, self.storage_bits),
            (self.k * self.n, self.b_type, self.b_registers, self.b_value, self.storage_bits),
            (self.m * self.n, self.accumulator_type, self.c_registers, self.c_value, 0),
        )
        for elements, dtype, registers, value, packed in operands:
            if elements * (packed or ELEMENT_BITS[dtype]) != WARP * registers * VALUE_BITS[value]:
                raise ValueError(f"{self.name}: {elements} x {dtype} do not fill {registers} x {value} per lane")
        if self.capability not in CAPABILITIES:
            raise ValueError(f"{self.name}: unknown capability {self.capability}")

    @property
    def shape(self) -> tuple[int, int, int]:
        """(m, n, k) in elements."""
        return self.m, self.n, self.k

    def intrinsic_name(self, a_signed: bool = True, b_signed: bool = True) -> str:
        """Name of the LLVM intrinsic; the flags matter for i8 operands only."""
        a, b = _sign(a_signed), _sign(b_signed)
        return self.intrinsic.format(signs=a if a == b else f"{a}.{b}")

    def ptx_name(self, a_signed: bool = True, b_signed: bool = True) -> str:
        """The PTX mnemonic; the flags matter for i8 operands only."""
        return self.ptx.format(a=_sign(a_signed), b=_sign(b_signed))


def _sign(signed: bool) -> str:
    return "s8" if signed else "u8"


def _mma(
    shape: tuple[int, int, int], a_type: str, b_type: str, accumulator_type: str,
    registers: tuple[int, int, int], values: tuple[str, str, str], intrinsic: str, capability: str = "mma_sync",
) -> MmaAtom:  # fmt: skip
    """One row; ``registers`` and ``values`` are (a, b, c), ``intrinsic`` is the part after the shape."""
    m, n, k = shape
    size = f"m{m}n{n}k{k}"
    a, b, c = (PTX_TYPE.get(t) for t in (a_type, b_type, accumulator_type))
    ptx = f"mma.sync.aligned.{size}.row.col.{c}.{a or '{a}'}.{b or '{b}'}.{c}"
    return MmaAtom(
        f"mma_{size}_{a_type}_{b_type}_{accumulator_type}",
        m, n, k, a_type, b_type, accumulator_type, *registers, *values,
        intrinsic=f"llvm.nvvm.mma.{size}.row.col.{intrinsic}", ptx=ptx, capability=capability,
    )  # fmt: skip


_HALF, _FLOAT, _REGISTER = "<2 x half>", "float", "i32"
_F8 = ("f8E4M3FN", "f8E5M2")
_F864 = (*_F8, "f6E2M3FN", "f6E3M2FN", "f4E2M1FN")


def _mma_fp8() -> list[MmaAtom]:
    """fp8 MMAs of all four operand pairs, k = 32 then 16, f32 and f16 accumulators."""
    shapes = (((16, 8, 32), 4, 2), ((16, 8, 16), 2, 1))
    accumulators = (("f32", 4, _FLOAT), ("f16", 2, _HALF))
    return [
        _mma(
            shape, a, b, acc, (ra, rb, rc), (_REGISTER, _REGISTER, value),
            f"{acc}.{PTX_TYPE[a]}.{PTX_TYPE[b]}.{acc}", "mma_fp8",
        )
        for a in _F8 for b in _F8 for shape, ra, rb in shapes for acc, rc, value in accumulators
    ]  # fmt: skip


def _mma_f8f6f4() -> list[MmaAtom]:
    """Mixed fp8/fp6/fp4 MMAs; every element has its own byte (PTX ISA 9.0, 9.7.14.5.12)."""
    rows = (
        _mma(
            (16, 8, 32), a, b, "f32", (4, 2, 4), (_REGISTER, _REGISTER, _FLOAT),
            f"kind.f8f6f4.f32.{PTX_TYPE[a]}.{PTX_TYPE[b]}.f32", "mma_f8f6f4",
        )
        for a in _F864 for b in _F864 if not (a in _F8 and b in _F8)
    )  # fmt: skip
    return [replace(row, ptx=row.ptx.replace(".row.col.", ".row.col.kind::f8f6f4.")) for row in rows]


def _mma_scaled(shape, kind, scale_count, a, b, scale, block, packed) -> MmaAtom:
    """One block-scaled row: ``block`` elements of k share one scale of dtype ``scale``."""
    m, n, k = shape
    size, types = f"m{m}n{n}k{k}", f"f32.{PTX_TYPE[a]}.{PTX_TYPE[b]}.f32"
    scale_name = PTX_TYPE[scale] if scale != "f8E4M3FN" else "ue4m3"
    return MmaAtom(
        f"mma_{kind}_{size}_{a}_{b}_f32_{scale_name}", m, n, k, a, b, "f32", 4, 2, 4, _REGISTER, _REGISTER, _FLOAT,
        intrinsic=f"llvm.nvvm.mma.block.scale.{size}.row.col.{kind}.scale.{scale_count}x.{types}.{scale_name}",
        ptx=f"mma.sync.aligned.{size}.row.col.kind::{kind}.block_scale.scale_vec::{scale_count}X.{types}.{scale_name}",
        capability="mma_block_scale", scale_type=scale, scale_block=block, storage_bits=packed,
    )  # fmt: skip


def _packed_fp4(row: MmaAtom) -> MmaAtom:
    """The same instruction for operands that are bytes of two fp4 each: its k counts bytes."""
    pair = f"{row.a_type}x2"
    return replace(
        row, name=f"{row.name}_pairs", k=row.k // 2, a_type=pair, b_type=pair, scale_block=row.scale_block // 2, storage_bits=0
    )  # fmt: skip


def _mma_block_scaled() -> list[MmaAtom]:
    fp4, e8m0 = "f4E2M1FN", "f8E8M0FNU"
    nvf4 = _mma_scaled((16, 8, 64), "mxf4nvf4", 4, fp4, fp4, "f8E4M3FN", 16, 4)
    mxf4 = _mma_scaled((16, 8, 64), "mxf4", 2, fp4, fp4, e8m0, 32, 4)
    return [
        nvf4,
        mxf4,
        _packed_fp4(nvf4),
        _packed_fp4(mxf4),
        *(_mma_scaled((16, 8, 32), "mxf8f6f4", 1, a, b, e8m0, 32, 0) for a in _F864 for b in _F864),
    ]


# ------------------------------------------------------------------------------------------------ wgmma rows


@dataclass(frozen=True)
class WgmmaAtom:
    """One ``wgmma.mma_async`` family: D(64,n) = A(64,k) * B(k,n) + D for a warpgroup, n a multiple of 8 up to 256.

    ``k`` elements are 32 bytes. ``transposable``: the operands may be MN-major in shared memory (16-bit types only).
    ``ptx`` holds ``{n}`` and, for i8, ``{a}`` / ``{b}``: the signedness of the operands. PTX ISA 9.0, 9.7.15.5.
    ``promotion_interval``: elements along k that the tensor core accumulates before promotion to an f32 accumulator; 0: no
    promotion.
    """

    family: ClassVar[str] = "wgmma"
    name: str
    k: int
    a_type: str
    b_type: str
    accumulator_type: str
    ptx: str
    transposable: bool
    promotion_interval: int = 0
    capability: str = "wgmma"
    scale_type: str | None = None
    scale_block: int = 0

    def __post_init__(self) -> None:
        if self.promotion_interval % self.k:
            raise ValueError(f"{self.name}: {self.promotion_interval} elements along k are not whole instructions")
        if self.k * ELEMENT_BITS[self.a_type] != 256 or self.capability not in CAPABILITIES:
            raise ValueError(f"{self.name}: k = {self.k} of {self.a_type} are not 32 bytes")

    @property
    def mn_major(self) -> tuple[str, ...]:
        """The swizzles in which the operands may be MN-major in shared memory."""
        return _MN_MAJOR[16] if self.transposable else ()

    def ptx_name(self, n: int, a_signed: bool = True, b_signed: bool = True) -> str:
        """The PTX mnemonic for n columns; the flags matter for i8 operands only."""
        return self.ptx.format(n=n, a=_sign(a_signed), b=_sign(b_signed))


# The tensor cores of sm_90 accumulate fp8 MMAs with 13 bits of fraction (DeepSeek-V3 Technical Report, arXiv 2412.19437,
# section 3.5.2; MMA-Sim, arXiv 2511.10909). Relative error of a dot of 4096 random elements by this model: 6e-5 with
# promotion to f32 after each instruction, 1.1e-4 after two, 1.8e-4 after four (as in CUTLASS), 4e-3 without (normally
# distributed operands; all positive: 5e-5, 1.7e-4, 6e-4, 7e-2). f16 accumulators have fewer bits anyway.
_PROMOTION_INTERVALS = {("f8E4M3FN", "f32"): 32, ("f8E5M2", "f32"): 32}


def _wgmma(a_type: str, b_type: str, accumulator_type: str) -> WgmmaAtom:
    k = 256 // ELEMENT_BITS[a_type]
    a, b, d = (PTX_TYPE.get(t) for t in (a_type, b_type, accumulator_type))
    ptx = f"wgmma.mma_async.sync.aligned.m64n{{n}}k{k}.{d}.{a or '{a}'}.{b or '{b}'}"
    name = f"wgmma_m64k{k}_{a_type}_{b_type}_{accumulator_type}"
    promotion_interval = _PROMOTION_INTERVALS.get((a_type, accumulator_type), 0)
    return WgmmaAtom(name, k, a_type, b_type, accumulator_type, ptx, ELEMENT_BITS[a_type] == 16, promotion_interval)


# ---------------------------------------------------------------------------------------------- tcgen05 rows

# Types of scales, and fp4 in the kinds that read pairs, as encoded in instruction descriptors (Tables 43 and 44).
_SCALE_FORMATS = {"f8E4M3FN": 0, "f8E8M0FNU": 1}
_PACKED_FP4_FORMAT = 1


@dataclass(frozen=True)
class Tcgen05Atom:
    """One ``tcgen05.mma`` family: D(m,n) = A(m,k) * B(k,n) + D with D in tensor memory, m 128 or 64, n up to 256.

    ``k`` elements are 32 bytes. ``kind`` is the instruction's kind as LLVM encodes it; ``formats`` are the fields of the
    instruction descriptor for D, A and B (PTX ISA 9.0, 9.7.16.4, "Instruction descriptor"); those of i8 operands depend
    on their signedness. ``mn_major``: the swizzles in which the operands may be MN-major in shared memory (Table 52).
    Block-scaled rows have ``scale_type``, ``scale_block`` (elements of k that share a scale; pairs of fp4 are one
    element) and ``scaled_kind``, their kind in the name of the LLVM intrinsic.
    """

    family: ClassVar[str] = "tcgen05"
    name: str
    k: int
    a_type: str
    b_type: str
    accumulator_type: str
    kind: int
    formats: tuple[int, int, int]
    mn_major: tuple[str, ...]
    capability: str = "tcgen05"
    scale_type: str | None = None
    scale_block: int = 0
    scaled_kind: str = ""

    def __post_init__(self) -> None:
        if self.k * ELEMENT_BITS[self.a_type] != 256 or self.capability not in CAPABILITIES:
            raise ValueError(f"{self.name}: k = {self.k} of {self.a_type} are not 32 bytes")

    def descriptor(self, m: int, n: int, a_mn_major: bool, b_mn_major: bool, signs: tuple[bool, bool]) -> int:
        """The instruction descriptor; ``signs`` (A and B are signed) matter for i8 only."""
        accumulator, a, b = self.formats
        if self.a_type == "i8":
            a, b = signs
        return (
            accumulator << 4
            | int(a) << 7
            | int(b) << 10
            | a_mn_major << 15
            | b_mn_major << 16
            | n >> 3 << 17
            | m >> 4 << 24
        )

    def scaled_descriptor(self, m: int, n: int, a_mn_major: bool, b_mn_major: bool, first_byte: int) -> int:
        """The instruction descriptor of a block-scaled row (Tables 43 and 44); the scales start at byte ``first_byte``
        of their registers.
        """
        _, a, b = self.formats
        assert self.scale_type is not None, f"{self.name} is not block-scaled"
        scale = _SCALE_FORMATS[self.scale_type]
        orders = a_mn_major << 15 | b_mn_major << 16
        return (
            first_byte << 4 | a << 7 | b << 10 | orders | n >> 3 << 17 | scale << 23 | m >> 7 << 27 | first_byte << 29
        )


def _tcgen05_scaled(a_type: str, b_type: str) -> Tcgen05Atom:
    """Kind mxf8f6f4: power-of-two scales for blocks of 32 elements."""
    formats = 1, _TCGEN05_FORMATS[a_type], _TCGEN05_FORMATS[b_type]
    name = f"tcgen05_mxf8f6f4_k32_{a_type}_{b_type}_f32_ue8m0"
    scales = "f8E8M0FNU", 32, "mxf8f6f4.block_scale"
    return Tcgen05Atom(name, 32, a_type, b_type, "f32", 0, formats, _MN_MAJOR[8], "tcgen05", *scales)


def _tcgen05_packed_fp4(kind: str, scale_type: str, block: int) -> Tcgen05Atom:
    """Kinds mxf4 and mxf4nvf4: 64 fp4 are 32 bytes of pairs, with one scale for each ``block`` of the 64."""
    pair, scale = "f4E2M1FNx2", "ue4m3" if scale_type == "f8E4M3FN" else "ue8m0"
    name = f"tcgen05_{kind}_k64_f4E2M1FN_f32_{scale}_block{block}"
    scales = scale_type, block // 2, f"{kind}.block_scale.block{block}"
    return Tcgen05Atom(
        name, 32, pair, pair, "f32", 0, (1, _PACKED_FP4_FORMAT, _PACKED_FP4_FORMAT), (), "tcgen05", *scales
    )


_TCGEN05_FORMATS = {"f16": 0, "bf16": 1, "tf32": 2, "f8E4M3FN": 0, "f8E5M2": 1, "i8": 0}
_TCGEN05_KINDS = {"f16": 0, "bf16": 0, "tf32": 1, "f8E4M3FN": 2, "f8E5M2": 2, "i8": 3}
_TCGEN05_ACCUMULATORS = {"f16": 0, "f32": 1, "i32": 2}
# Bits of an element -> swizzles of MN-major operands.
_MN_MAJOR = {**dict.fromkeys((8, 16), ("128B", "64B", "32B", "none")), 32: ("128B_ATOM_32B",)}


def _tcgen05(a_type: str, b_type: str, accumulator_type: str, capability: str = "tcgen05") -> Tcgen05Atom:
    bits = ELEMENT_BITS[a_type]
    formats = _TCGEN05_ACCUMULATORS[accumulator_type], _TCGEN05_FORMATS[a_type], _TCGEN05_FORMATS[b_type]
    name = f"tcgen05_k{256 // bits}_{a_type}_{b_type}_{accumulator_type}"
    kind, mn_major = _TCGEN05_KINDS[a_type], _MN_MAJOR[bits]
    return Tcgen05Atom(name, 256 // bits, a_type, b_type, accumulator_type, kind, formats, mn_major, capability)


# ---------------------------------------------------------------------------------------------- tables

# Rows in order of preference within one (a, b, accumulator) combination.
MMA_ATOMS: tuple[MmaAtom, ...] = (
    _mma((16, 8, 16), "f16", "f16", "f32", (4, 2, 4), (_HALF, _HALF, _FLOAT), "f32.f32"),
    _mma((16, 8, 8), "f16", "f16", "f32", (2, 1, 4), (_HALF, _HALF, _FLOAT), "f32.f32"),
    _mma((16, 8, 16), "f16", "f16", "f16", (4, 2, 2), (_HALF, _HALF, _HALF), "f16.f16"),
    _mma((16, 8, 8), "f16", "f16", "f16", (2, 1, 2), (_HALF, _HALF, _HALF), "f16.f16"),
    _mma((16, 8, 16), "bf16", "bf16", "f32", (4, 2, 4), (_REGISTER, _REGISTER, _FLOAT), "bf16"),
    _mma((16, 8, 8), "bf16", "bf16", "f32", (2, 1, 4), (_REGISTER, _REGISTER, _FLOAT), "bf16"),
    _mma((16, 8, 8), "tf32", "tf32", "f32", (4, 2, 4), (_REGISTER, _REGISTER, _FLOAT), "tf32"),
    _mma((16, 8, 4), "tf32", "tf32", "f32", (2, 1, 4), (_REGISTER, _REGISTER, _FLOAT), "tf32"),
    _mma((16, 8, 16), "f64", "f64", "f64", (8, 4, 4), ("double",) * 3, "f64", "f64_mma_large_native"),
    _mma((8, 8, 4), "f64", "f64", "f64", (1, 1, 2), ("double",) * 3, "f64"),
    _mma((16, 8, 16), "f64", "f64", "f64", (8, 4, 4), ("double",) * 3, "f64", "f64_mma_large"),
    _mma((16, 8, 32), "i8", "i8", "i32", (4, 2, 4), (_REGISTER,) * 3, "{signs}"),
    _mma((16, 8, 16), "i8", "i8", "i32", (2, 1, 4), (_REGISTER,) * 3, "{signs}"),
    *_mma_fp8(),
    *_mma_f8f6f4(),
    *_mma_block_scaled(),
)

# Integer MMAs that the compiler does not select, but hand-written IR may use: LLVM's names without "llvm.nvvm.".
OTHER_MMA_INTRINSICS = (
    "mma.m8n8k16.row.col.s8", "mma.m8n8k32.row.col.s4", "mma.m16n8k32.row.col.s4", "mma.m16n8k64.row.col.s4",
)  # fmt: skip

WGMMA_ATOMS: tuple[WgmmaAtom, ...] = (
    _wgmma("f16", "f16", "f32"),
    _wgmma("f16", "f16", "f16"),
    _wgmma("bf16", "bf16", "f32"),
    _wgmma("tf32", "tf32", "f32"),
    _wgmma("i8", "i8", "i32"),
    *(_wgmma(a, b, acc) for a in _F8 for b in _F8 for acc in ("f32", "f16")),
)

TCGEN05_ATOMS: tuple[Tcgen05Atom, ...] = (
    _tcgen05("f16", "f16", "f32"),
    _tcgen05("f16", "f16", "f16"),
    _tcgen05("bf16", "bf16", "f32"),
    _tcgen05("tf32", "tf32", "f32"),
    _tcgen05("i8", "i8", "i32", "tcgen05_i8"),
    *(_tcgen05(a, b, acc) for a in _F8 for b in _F8 for acc in ("f32", "f16")),
    *(_tcgen05_scaled(a, b) for a in _F8 for b in _F8),
    _tcgen05_packed_fp4("mxf4", "f8E8M0FNU", 32),
    _tcgen05_packed_fp4("mxf4nvf4", "f8E8M0FNU", 16),
    _tcgen05_packed_fp4("mxf4nvf4", "f8E4M3FN", 16),
)

# The rows of all families, those of the fastest family first.
MMA_ROWS: tuple[MmaRow, ...] = (*TCGEN05_ATOMS, *WGMMA_ATOMS, *MMA_ATOMS)
# Their families, then that of dots whose types have no row: threads multiply and add.
FALLBACK_FAMILY = "fma"
MMA_FAMILIES = (*dict.fromkeys(row.family for row in MMA_ROWS), FALLBACK_FAMILY)
ASYNC_FAMILIES = frozenset(row.family for row in MMA_ROWS if isinstance(row, WgmmaAtom | Tcgen05Atom))
"""Of asynchronous instructions, which read operands in shared memory."""


@cache
def mma_row(name: str) -> MmaRow:
    """The row of a name; KeyError where there is none."""
    row = next((row for row in MMA_ROWS if row.name == name), None)
    if row is None:
        raise KeyError(name)
    return row
