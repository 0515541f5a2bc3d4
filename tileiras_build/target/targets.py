"""TARGETS: one frozen, self-checking row per GPU generation, from sm_80 to sm_121.

This is the only module that compares SM numbers. Everything else asks a row: ``target.has("tma")``,
``target.mma_atoms("f16", "f16", "f32")``, ``target.tier``. A capability names an instruction family that both
LLVM's NVPTX back end and ptxas accept for the row's ``arch``; ``_native`` marks those the hardware does not emulate.

Sources: PTX ISA 9.0 (target notes of each instruction), CUDA C++ Programming Guide ("Technical Specifications per
Compute Capability"), and what LLVM 22 and ptxas 13.5 accept (tests/target/test_targets.py assembles every row).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

from ..core.errors import InvalidInput, nearest
from .element_types import OPERAND_TYPES

WARP = 32
# Bytes of shared memory that every kernel may take, static or dynamic; what is above is dynamic, and its launcher asks
# for it (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and "Shared Memory").
COMMON_SHARED_MEMORY = 48 * 1024
# Bytes of a multiprocessor's shared memory that the system keeps for each CTA (the same table's notes).
RESERVED_SHARED_MEMORY = 1024
# Bytes that the parameters of a kernel may take (PTX ISA 9.0, section 11.2.1, ".entry").
PARAMETER_MEMORY = 32_764

# Bits of one element of an operand, by MLIR spelling; tf32 travels in 32-bit registers, floats below 8 bits in bytes.
ELEMENT_BITS = {name: row.load_bits for name, row in OPERAND_TYPES.items()}
# Bits of one operand value of an instruction, by LLVM spelling.
VALUE_BITS = {"i32": 32, "float": 32, "double": 64, "<2 x half>": 32}
# PTX spelling of a dtype inside an mma mnemonic; 8-bit integers are spelled by their signedness instead.
PTX_TYPE = {name: row.ptx for name, row in OPERAND_TYPES.items() if row.ptx is not None and name != "i8"}


# ---------------------------------------------------------------------------------------------- mma.sync rows


@dataclass(frozen=True)
class MmaAtom:
    """One warp-wide ``mma.sync`` instruction: D(m,n) = A(m,k) * B(k,n) + C(m,n), row.col.

    ``*_type`` are MLIR dtypes. ``*_registers`` counts the operand values per lane and ``*_value`` is the LLVM type of
    one of them; D has C's. ``intrinsic`` and ``ptx`` may hold ``{signs}`` / ``{a}`` / ``{b}``: the signedness of i8
    operands, chosen at the operation (``intrinsic_name`` and ``ptx_name`` fill them in). Block-scaled rows carry
    ``scale_type`` and ``scale_block`` (elements of k that share a scale; pairs of fp4 are one element); their call takes six more arguments, see
    reference PTX ISA 9.0, 9.7.14.3.
    """

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
    storage_bits: int = 0  # bits of an element in the register, where it differs from ELEMENT_BITS (fp4 in mxf4)

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
    """fp8 products of all four operand pairs, k = 32 then 16, f32 and f16 accumulators."""
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
    """Mixed fp8/fp6/fp4 products; every element sits in its own byte (PTX ISA 9.0, 9.7.14.5.12)."""
    rows = (
        _mma(
            (16, 8, 32), a, b, "f32", (4, 2, 4), (_REGISTER, _REGISTER, _FLOAT),
            f"kind.f8f6f4.f32.{PTX_TYPE[a]}.{PTX_TYPE[b]}.f32", "mma_f8f6f4",
        )
        for a in _F864 for b in _F864 if not (a in _F8 and b in _F8)
    )  # fmt: skip
    return [replace(row, ptx=row.ptx.replace(".row.col.", ".row.col.kind::f8f6f4.")) for row in rows]


def _scaled(shape, kind, scale_count, a, b, scale, block, packed) -> MmaAtom:
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
    nvf4 = _scaled((16, 8, 64), "mxf4nvf4", 4, fp4, fp4, "f8E4M3FN", 16, 4)
    mxf4 = _scaled((16, 8, 64), "mxf4", 2, fp4, fp4, e8m0, 32, 4)
    return [
        nvf4,
        mxf4,
        _packed_fp4(nvf4),
        _packed_fp4(mxf4),
        *(_scaled((16, 8, 32), "mxf8f6f4", 1, a, b, e8m0, 32, 0) for a in _F864 for b in _F864),
    ]


# ------------------------------------------------------------------------------------------------ wgmma rows


@dataclass(frozen=True)
class WgmmaAtom:
    """One ``wgmma.mma_async`` family: D(64,n) = A(64,k) * B(k,n) + D for a warpgroup, n a multiple of 8 up to 256.

    ``k`` elements are 32 bytes. ``transposable``: the operands may be MN-major in shared memory (16-bit types only).
    ``ptx`` holds ``{n}`` and, for i8, ``{a}`` / ``{b}``: the signedness of the operands. PTX ISA 9.0, 9.7.15.5.
    ``partial_k``: elements along k whose products the tensor core may sum before that goes to a sum in f32; 0 for any number.
    """

    name: str
    k: int
    a_type: str
    b_type: str
    accumulator_type: str
    ptx: str
    transposable: bool
    promotion_interval: int = 0
    capability: str = "wgmma"

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


# The tensor cores of sm_90 keep 13 bits of fraction of a sum of fp8 products (DeepSeek-V3 Technical Report, arXiv 2412.19437,
# section 3.5.2; MMA-Sim, arXiv 2511.10909). By that, sums of 4096 random products are off by 6e-5 of the largest where each
# instruction's are added in f32, by 1.1e-4 where those of two are, by 1.8e-4 with four, as in CUTLASS, and by 4e-3 with one
# sum (normally distributed factors; all positive: 5e-5, 1.7e-4, 6e-4, 7e-2). Sums of f16 have fewer bits themselves.
_PROMOTION_INTERVALS = {("f8E4M3FN", "f32"): 32, ("f8E5M2", "f32"): 32}


def _wgmma(a_type: str, b_type: str, accumulator_type: str) -> WgmmaAtom:
    k = 256 // ELEMENT_BITS[a_type]
    a, b, d = (PTX_TYPE.get(t) for t in (a_type, b_type, accumulator_type))
    ptx = f"wgmma.mma_async.sync.aligned.m64n{{n}}k{k}.{d}.{a or '{a}'}.{b or '{b}'}"
    name = f"wgmma_m64k{k}_{a_type}_{b_type}_{accumulator_type}"
    partial_k = _PROMOTION_INTERVALS.get((a_type, accumulator_type), 0)
    return WgmmaAtom(name, k, a_type, b_type, accumulator_type, ptx, ELEMENT_BITS[a_type] == 16, partial_k)


# ---------------------------------------------------------------------------------------------- tcgen05 rows

# Types of scales, and fp4 in the kinds that read pairs, as instruction descriptors number them (Tables 43 and 44).
_SCALE_FORMATS = {"f8E4M3FN": 0, "f8E8M0FNU": 1}
_PAIR_FORMAT = 1


@dataclass(frozen=True)
class Tcgen05Atom:
    """One ``tcgen05.mma`` family: D(m,n) = A(m,k) * B(k,n) + D with D in tensor memory, m 128 or 64, n up to 256.

    ``k`` elements are 32 bytes. ``kind`` is the instruction's kind as LLVM numbers it; ``formats`` are the fields of the
    instruction descriptor for D, A and B (PTX ISA 9.0, 9.7.16.4, "Instruction descriptor"); i8 operands have theirs
    from their signedness. ``mn_major``: the swizzles in which the operands may be MN-major in shared memory (Table 52).
    Block-scaled rows carry ``scale_type``, ``scale_block`` (elements of k that share a scale; pairs of fp4 are one element)
    and ``scaled_kind``, their kind in the name of the LLVM intrinsic.
    """

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

    def scaled_descriptor(self, m: int, n: int, a_mn_major: bool, b_mn_major: bool, number: int) -> int:
        """The instruction descriptor of a block-scaled row (Tables 43 and 44) that takes the scales from byte ``number`` of
        their words on."""
        _, a, b = self.formats
        assert self.scale_type is not None, f"{self.name} is not block-scaled"
        scale = _SCALE_FORMATS[self.scale_type]
        orders = a_mn_major << 15 | b_mn_major << 16
        return number << 4 | a << 7 | b << 10 | orders | n >> 3 << 17 | scale << 23 | m >> 7 << 27 | number << 29


def _tcgen05_scaled(a_type: str, b_type: str) -> Tcgen05Atom:
    """Kind mxf8f6f4, whose instruction names itself: powers of two scale blocks of 32 elements."""
    formats = 1, _TENSOR_FORMATS[a_type], _TENSOR_FORMATS[b_type]
    name = f"tcgen05_mxf8f6f4_k32_{a_type}_{b_type}_f32_ue8m0"
    scales = "f8E8M0FNU", 32, "mxf8f6f4.block_scale"
    return Tcgen05Atom(name, 32, a_type, b_type, "f32", 0, formats, _MN_MAJOR[8], "tcgen05", *scales)


def _tcgen05_packed_fp4(kind: str, scale_type: str, block: int) -> Tcgen05Atom:
    """Kinds mxf4 and mxf4nvf4: 64 fp4 are 32 bytes of two, a scale for ``block`` of the 64."""
    pair, scale = "f4E2M1FNx2", "ue4m3" if scale_type == "f8E4M3FN" else "ue8m0"
    name = f"tcgen05_{kind}_k64_f4E2M1FN_f32_{scale}_block{block}"
    scales = scale_type, block // 2, f"{kind}.block_scale.block{block}"
    return Tcgen05Atom(name, 32, pair, pair, "f32", 0, (1, _PAIR_FORMAT, _PAIR_FORMAT), (), "tcgen05", *scales)


_TENSOR_FORMATS = {"f16": 0, "bf16": 1, "tf32": 2, "f8E4M3FN": 0, "f8E5M2": 1, "i8": 0}
_TENSOR_KINDS = {"f16": 0, "bf16": 0, "tf32": 1, "f8E4M3FN": 2, "f8E5M2": 2, "i8": 3}
_TENSOR_ACCUMULATORS = {"f32": 1, "i32": 2}
# Bits of an element -> swizzles of MN-major operands.
_MN_MAJOR = {**dict.fromkeys((8, 16), ("128B", "64B", "32B")), 32: ("128B_ATOM_32B",)}


def _tcgen05(a_type: str, b_type: str, accumulator_type: str, capability: str = "tcgen05") -> Tcgen05Atom:
    bits = ELEMENT_BITS[a_type]
    formats = _TENSOR_ACCUMULATORS[accumulator_type], _TENSOR_FORMATS[a_type], _TENSOR_FORMATS[b_type]
    name = f"tcgen05_k{256 // bits}_{a_type}_{b_type}_{accumulator_type}"
    kind, mn_major = _TENSOR_KINDS[a_type], _MN_MAJOR[bits]
    return Tcgen05Atom(name, 256 // bits, a_type, b_type, accumulator_type, kind, formats, mn_major, capability)


# ------------------------------------------------------------------------------------------------ copy rows


@dataclass(frozen=True)
class CopyAtom:
    """One copy instruction family.

    ``source`` and ``destination`` are "registers", "shared" or "global"; ``widths`` are the bytes one lane (or, for
    matrix copies, one 8x8 matrix row; for TMA 0 = the tensor map says) can move; ``counts`` the matrices or, for TMA,
    the tensor ranks. ``intrinsic`` holds ``{count}``, ``{width}`` or ``{cache}`` fields.
    """

    name: str
    source: str
    destination: str
    widths: tuple[int, ...]
    counts: tuple[int, ...]
    intrinsic: str
    capability: str

    def __post_init__(self) -> None:
        spaces = {"registers", "shared", "global"}
        if {self.source, self.destination} - spaces or self.source == self.destination:
            raise ValueError(f"{self.name}: bad copy from {self.source} to {self.destination}")
        if self.capability not in CAPABILITIES:
            raise ValueError(f"{self.name}: unknown capability {self.capability}")


# ------------------------------------------------------------------------------------------- capabilities

SM_NUMBERS = (80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)
_DATACENTER = (100, 103, 107, 110)
_CONSUMER = (120, 121)


def _from(first: int) -> frozenset[int]:
    return frozenset(number for number in SM_NUMBERS if number >= first)


def _only(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


# What each capability stands for is one line; which rows have it is the set.
CAPABILITIES: dict[str, frozenset[int]] = {
    # sm_80 baseline
    "cp_async": _from(80),  # cp.async 4/8/16 bytes, zero fill, groups
    "ldmatrix": _from(80),  # m8n8 b16, with and without .trans
    "movmatrix": _from(80),
    "mma_sync": _from(80),  # f16, bf16, tf32, i8, f64 m8n8k4
    "mbarrier": _from(80),  # init, arrive, test_wait on shared::cta
    "redux_i32": _from(80),
    "l2_policy": _from(80),  # createpolicy, .L2::cache_hint
    "atomic_add_f16x2": _from(80),
    # At half the rate of f32, elsewhere at a 32nd or 64th (CUDA C++ Programming Guide, throughput of arithmetic instructions).
    "f64_native": _only(80, 90, 100),
    "xorsign_abs": _from(86),
    # sm_89
    "mma_fp8": _from(89),  # accepted; emulated by f16 products unless mma_fp8_native
    "mma_fp8_native": _only(89, *_CONSUMER),
    "cvt_fp8": _from(89),  # f32/f16 pairs <-> e4m3/e5m2
    # sm_90
    "stmatrix": _from(90),
    "cluster": _from(90),  # cluster launch, shared::cluster, barrier.cluster, mapa
    "tma": _from(90),  # cp.async.bulk[.tensor], proxy fences
    "mbarrier_try_wait": _from(90),  # and expect_tx, scopes
    "elect_sync": _from(90),
    "griddepcontrol": _from(90),
    "bf16_native": _from(90),  # add/mul/max of bf16; on older ones through fma with 1.0 / -0.0
    "bf16_atomic_add": _from(90),  # atom/red.add.noftz.bf16[x2]
    "atomic_vector": _from(90),  # red.global.v2/v4/v8
    "atomic_b128": _from(90),
    "ex2_bf16": _from(90),
    "tanh_bf16": _from(90),
    "cvt_tf32_rn": _from(90),
    "f64_mma_large": _from(90),  # m16n8k{4,8,16}; native on 90 only
    "f64_mma_large_native": _only(90),
    "setmaxnreg": _from(90),
    "multimem": _from(90),
    "tensormap_replace": _from(90),
    "wgmma": _only(90),
    # sm_100 and later
    "f32x2": _from(100),  # add/mul/fma.f32x2 accepted
    "f32x2_native": _only(100, 103, 107),
    "max3": _from(100),  # three-input min/max
    "mixed_float": _from(100),  # add/sub/fma of f32 with f16 or bf16
    "bulk_store": _from(100),  # st.bulk
    "ldst_256": _from(100),  # 32-byte vector loads and stores
    "cluster_launch_control": _from(100),
    "ldmatrix_b8": _from(100),  # m16n16 b8 and fp4/fp6 unpacking, stmatrix m16n8 b8
    "cvt_fp4": _from(100),  # fp4, fp6, ue8m0 conversions
    "tma_im2col_w": _from(100),
    "tma_im2col_w_cluster": _only(*_DATACENTER),  # into the shared memory of a cluster
    "tma_gather4_cta": _from(100),
    "tma_gather4": _only(*_DATACENTER),
    "tma_multicast": _only(90, *_DATACENTER),  # into the shared memory of several CTAs, at full speed
    "tma_cta_group": _only(*_DATACENTER),
    "tcgen05": _only(*_DATACENTER),
    "tcgen05_i8": _only(100, 110),
    "tcgen05_shift": _only(*_DATACENTER),
    "tcgen05_ld_red": _only(103, 107, 110),
    "redux_f32": _only(100, 103, 107),
    "cvt_stochastic": _only(100, 103, 107),  # cvt.rs
    "mma_f8f6f4": _only(*_CONSUMER),
    "mma_block_scale": _only(*_CONSUMER),
    "embedded": _only(87, 88, 110),  # a system on chip: no cubins shared with others (88: in no table, the safe guess)
    "shared_reserved": _from(90),  # the system keeps 1 KB of every CTA's shared memory
}

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

# Integer products that no tile is made of, but IR that is written by hand: LLVM's names without "llvm.nvvm.".
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
    _tcgen05("bf16", "bf16", "f32"),
    _tcgen05("tf32", "tf32", "f32"),
    _tcgen05("i8", "i8", "i32", "tcgen05_i8"),
    *(_tcgen05(a, b, "f32") for a in _F8 for b in _F8),
    *(_tcgen05_scaled(a, b) for a in _F8 for b in _F8),
    _tcgen05_packed_fp4("mxf4", "f8E8M0FNU", 32),
    _tcgen05_packed_fp4("mxf4nvf4", "f8E8M0FNU", 16),
    _tcgen05_packed_fp4("mxf4nvf4", "f8E4M3FN", 16),
)

_LDMATRIX = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}"
_STMATRIX = "llvm.nvvm.stmatrix.sync.aligned.m8n8.x{count}"
COPY_ATOMS: tuple[CopyAtom, ...] = (
    CopyAtom("ldmatrix", "shared", "registers", (16,), (4, 2, 1), f"{_LDMATRIX}.b16.p3", "ldmatrix"),
    CopyAtom("ldmatrix_trans", "shared", "registers", (16,), (4, 2, 1), f"{_LDMATRIX}.trans.b16.p3", "ldmatrix"),
    CopyAtom("stmatrix", "registers", "shared", (16,), (4, 2, 1), f"{_STMATRIX}.b16.p3", "stmatrix"),
    CopyAtom("stmatrix_trans", "registers", "shared", (16,), (4, 2, 1), f"{_STMATRIX}.trans.b16.p3", "stmatrix"),
    CopyAtom("cp_async", "global", "shared", (16, 8, 4), (1,),
             "llvm.nvvm.cp.async.{cache}.shared.global.{width}", "cp_async"),
    CopyAtom("tma_load", "global", "shared", (0,), (1, 2, 3, 4, 5),
             "llvm.nvvm.cp.async.bulk.tensor.g2s.tile.{count}d", "tma"),
    CopyAtom("tma_store", "shared", "global", (0,), (1, 2, 3, 4, 5),
             "llvm.nvvm.cp.async.bulk.tensor.s2g.tile.{count}d", "tma"),
    CopyAtom("bulk_load", "global", "shared", (0,), (1,),
             "llvm.nvvm.cp.async.bulk.global.to.shared.cluster", "tma"),
    CopyAtom("bulk_store", "shared", "global", (0,), (1,),
             "llvm.nvvm.cp.async.bulk.shared.cta.to.global", "tma"),
)  # fmt: skip


# ------------------------------------------------------------------------------------------------ targets


@dataclass(frozen=True)
class Tier:
    """Which fast path a generation takes: its matrix product, its copies and its schedule."""

    name: str
    mma_family: str  # "mma_sync", "wgmma", "tcgen05"
    copy_family: str  # "cp_async", "tma"
    warp_specialized: bool

    def __post_init__(self) -> None:
        if self.mma_family not in CAPABILITIES or self.copy_family not in CAPABILITIES:
            raise ValueError(f"tier {self.name}: {self.mma_family} / {self.copy_family} are not capabilities")


TIERS = {
    tier.name: tier
    for tier in (
        Tier("ampere", "mma_sync", "cp_async", False),
        Tier("ada", "mma_sync", "cp_async", False),
        Tier("hopper", "wgmma", "tma", True),
        Tier("blackwell", "tcgen05", "tma", True),
        Tier("blackwell_consumer", "mma_sync", "tma", True),
    )
}


@dataclass(frozen=True)
class SmLimits:
    """What the CTAs that run together on one multiprocessor share; ``shared_memory`` in bytes.

    A thread has a multiple of ``register_unit`` registers: a warp gets them 256 at a time, of one of the ``partitions`` that
    have equal parts of them (NVIDIA A100 and H100 whitepapers: four processing blocks of 64 KiB each).
    """

    threads: int
    ctas: int
    shared_memory: int
    registers: int = 65536
    register_unit: int = 8
    partitions: int = 4
    # So many CTAs keep DRAM busy where each one loads a row, waits for itself, and stores: while some compute, others load.
    memory_bound_ctas_per_sm: int = 2

    def __post_init__(self) -> None:
        if self.threads % WARP or self.shared_memory % 1024:
            raise ValueError(f"{self.threads} threads, {self.shared_memory} bytes of shared memory")

    def registers_of(self, warps: int) -> int:
        """Registers that each thread of so many warps can have: what the fullest partition leaves each of its own."""
        fullest = -(-warps // self.partitions)
        return self.registers // self.partitions // (WARP * fullest) // self.register_unit * self.register_unit


@dataclass(frozen=True)
class Target:
    """One GPU generation.

    ``name`` is what users say ("sm_90"), ``arch`` what ptxas and the PTX ``.target`` line get ("sm_90a"),
    ``llvm_cpu`` and ``llvm_features`` what LLVM gets, ``ptx_version`` the (major, minor) that is printed.
    ``max_shared_memory`` is what a CTA gets, in bytes, with the dynamic part opted in.
    """

    number: int
    arch: str
    tier_name: str
    max_shared_memory: int
    llvm_cpu: str
    ptx_version: tuple[int, int] = (9, 0)
    llvm_features: str = "+ptx90"
    max_registers: int = 255
    max_threads: int = 1024

    def __post_init__(self) -> None:
        if self.number not in SM_NUMBERS:
            raise ValueError(f"{self.name}: not one of {SM_NUMBERS}")
        if self.arch.rstrip("a") != self.name:
            raise ValueError(f"{self.name}: arch {self.arch} is another GPU")
        if not self.has(self.tier.mma_family) or not self.has(self.tier.copy_family):
            raise ValueError(f"{self.name}: tier {self.tier_name} needs capabilities it lacks")
        if not COMMON_SHARED_MEMORY < self.max_shared_memory <= 227 * 1024 or self.max_shared_memory % 1024:
            raise ValueError(f"{self.name}: {self.max_shared_memory} bytes of shared memory")
        if self.ptx_version < (9, 0) or not self.llvm_features.startswith("+ptx"):
            raise ValueError(f"{self.name}: PTX version {self.ptx_version}, features {self.llvm_features}")

    @property
    def name(self) -> str:
        """What users say, e.g. "sm_90"."""
        return f"sm_{self.number}"

    @cached_property
    def capabilities(self) -> frozenset[str]:
        """Names in CAPABILITIES that this GPU has."""
        return frozenset(name for name, numbers in CAPABILITIES.items() if self.number in numbers)

    @property
    def tier(self) -> Tier:
        return TIERS[self.tier_name]

    @property
    def mma_family(self) -> str:
        """The matrix instruction of the fast path: "mma_sync", "wgmma" or "tcgen05"."""
        return self.tier.mma_family

    @property
    def copy_family(self) -> str:
        """The asynchronous copy of the fast path: "cp_async" or "tma"."""
        return self.tier.copy_family

    def shared_memory_of(self, ctas: int) -> int:
        """Bytes of shared memory for each of so many CTAs that run together on a multiprocessor."""
        share = self.sm_limits.shared_memory // ctas - RESERVED_SHARED_MEMORY
        return max(0, min(self.max_shared_memory, share))

    @property
    def sm_limits(self) -> SmLimits:
        """What its multiprocessors hold."""
        return SM_LIMITS[self.number]

    @property
    def portable(self) -> bool:
        """Whether code for this GPU also runs on later ones: arch-specific code ("sm_90a") does not."""
        return self.arch == self.name

    def has(self, capability: str) -> bool:
        """Whether this GPU has a capability; KeyError for a name that no row knows."""
        return self.number in CAPABILITIES[capability]

    @cached_property
    def all_mma_atoms(self) -> tuple[MmaAtom, ...]:
        """Every mma.sync row that this GPU accepts, in order of preference, without duplicates."""
        rows: dict[str, MmaAtom] = {}
        for atom in MMA_ATOMS:
            if self.has(atom.capability):
                rows.setdefault(atom.name, atom)
        return tuple(rows.values())

    def mma_atoms(
        self, a_type: str, b_type: str, accumulator_type: str, scale_type: str | None = None
    ) -> list[MmaAtom]:
        """mma.sync rows for the MLIR dtypes, best first; empty where the GPU has none.

        ``scale_type`` selects block-scaled rows ("f8E8M0FNU" or "f8E4M3FN").
        """
        wanted = (a_type, b_type, accumulator_type, scale_type)
        return [
            atom
            for atom in self.all_mma_atoms
            if (atom.a_type, atom.b_type, atom.accumulator_type, atom.scale_type) == wanted
        ]

    def wgmma_atom(self, a_type: str, b_type: str, accumulator_type: str) -> WgmmaAtom | None:
        """The wgmma row for the MLIR dtypes; None where the GPU has none."""
        return self._row(WGMMA_ATOMS, (a_type, b_type, accumulator_type))

    def tcgen05_atom(
        self, a_type: str, b_type: str, accumulator_type: str, scale_type: str | None = None, scale_block: int = 0
    ) -> Tcgen05Atom | None:
        """The tcgen05 row for the MLIR dtypes; None where the GPU has none. ``scale_type`` and ``scale_block`` (elements of
        k that share a scale) select block-scaled rows.
        """
        wanted = scale_type, scale_block
        rows = tuple(atom for atom in TCGEN05_ATOMS if (atom.scale_type, atom.scale_block) == wanted)
        return self._row(rows, (a_type, b_type, accumulator_type))

    def _row(self, rows: tuple, wanted: tuple[str, str, str]):
        able = (atom for atom in rows if self.has(atom.capability))
        return next((atom for atom in able if (atom.a_type, atom.b_type, atom.accumulator_type) == wanted), None)

    @cached_property
    def copy_atoms(self) -> dict[str, CopyAtom]:
        """Copy rows that this GPU has, by name."""
        return {atom.name: atom for atom in COPY_ATOMS if self.has(atom.capability)}

    def __getstate__(self) -> dict:
        # Targets travel to worker processes: leave the derived tables behind.
        return {field.name: getattr(self, field.name) for field in fields(self)}


_KIB = 1024
# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; cuda_occupancy.h of CUDA 13.5. What
# neither says of 88 and 107 is taken from their neighbors 86 and 103.
SM_LIMITS = {
    80: SmLimits(2048, 32, 164 * _KIB),
    86: SmLimits(1536, 16, 100 * _KIB, memory_bound_ctas_per_sm=1),
    87: SmLimits(1536, 16, 164 * _KIB),
    88: SmLimits(1536, 16, 100 * _KIB, memory_bound_ctas_per_sm=1),
    89: SmLimits(1536, 24, 100 * _KIB, memory_bound_ctas_per_sm=1),
    90: SmLimits(2048, 32, 228 * _KIB),
    100: SmLimits(2048, 32, 228 * _KIB, memory_bound_ctas_per_sm=3),
    103: SmLimits(2048, 32, 228 * _KIB, memory_bound_ctas_per_sm=3),
    107: SmLimits(2048, 16, 328 * _KIB, memory_bound_ctas_per_sm=3),
    110: SmLimits(1536, 24, 228 * _KIB),
    120: SmLimits(1536, 24, 100 * _KIB, memory_bound_ctas_per_sm=1),
    121: SmLimits(1536, 24, 100 * _KIB, memory_bound_ctas_per_sm=1),
}
# ``ctas_worth_spilling_for``: by the model of `tileiras-build estimate`, whose DRAM gives a multiprocessor of sm_100 28 bytes a clock, of sm_80 and
# sm_90 10 and 14, and of sm_120 four.
# sm_88 is in no published table; it gets the smaller limit of its neighbors 86 and 89.
# LLVM 22 does not know sm_107: it compiles as sm_103a and the PTX header is rewritten (pipeline/ll_to_ptx).
_ROWS = (
    Target(80, "sm_80", "ampere", 163 * _KIB, "sm_80"),
    Target(86, "sm_86", "ampere", 99 * _KIB, "sm_86"),
    Target(87, "sm_87", "ampere", 163 * _KIB, "sm_87"),
    Target(88, "sm_88", "ampere", 99 * _KIB, "sm_88"),
    Target(89, "sm_89", "ada", 99 * _KIB, "sm_89"),
    Target(90, "sm_90a", "hopper", 227 * _KIB, "sm_90a"),
    Target(100, "sm_100a", "blackwell", 227 * _KIB, "sm_100a"),
    Target(103, "sm_103a", "blackwell", 227 * _KIB, "sm_103a"),
    Target(107, "sm_107a", "blackwell", 227 * _KIB, "sm_103a", ptx_version=(9, 4)),
    Target(110, "sm_110a", "blackwell", 227 * _KIB, "sm_110a"),
    Target(120, "sm_120a", "blackwell_consumer", 99 * _KIB, "sm_120a"),
    Target(121, "sm_121a", "blackwell_consumer", 99 * _KIB, "sm_121a"),
)
TARGETS: dict[str, Target] = {row.name: row for row in _ROWS}
_SPELLINGS = {
    spelling: row for row in _ROWS for full in (row.name, row.arch) for spelling in (full, full.removeprefix("sm_"))
}


def find_target(text: str) -> Target:
    """The row that "90", "sm_90", "90a" or "sm_90a" means.

    Raises InvalidInput[unknown-target] naming the valid values.
    """
    row = _SPELLINGS.get(str(text).strip().lower())
    if row is None:
        raise InvalidInput("unknown-target", f"unknown target sm={text}", remedy=_valid_values(str(text)))
    return row


def name_of(text: str) -> str:
    """The name of the row that any spelling means, for people; of no row the text itself."""
    row = _SPELLINGS.get(text)
    return text if row is None else row.name


def target_of_options(sm: str | None, capability: str | None) -> Target:
    """The row that ``--sm``, or instead ``--compute-capability`` (major * 10 + minor), names.

    Raises InvalidInput[unknown-target], InvalidInput[capability-option] where neither is given or the latter is no number
    of a row.
    """
    if capability is None and sm is not None:
        return find_target(sm)
    if (target := TARGETS.get(f"sm_{capability}")) is None:
        numbers = ", ".join(str(row.number) for row in TARGETS.values())
        raise InvalidInput(
            "capability-option",
            "invalid or missing --compute-capability option",
            remedy=f"use one of {numbers}, here or as --sm",
        )
    return target


def parse_targets(text: str) -> list[Target]:
    """The rows of a comma-separated list, in its order and without repeats; "all" means every row.

    Raises InvalidInput[unknown-target] for an unknown or missing value.
    """
    words = [word for word in str(text).replace(" ", "").split(",") if word]
    if not words:
        raise InvalidInput("unknown-target", "no target is named in sm=", remedy=_valid_values())
    rows = [row for word in words for row in (_ROWS if word.lower() == "all" else (find_target(word),))]
    return list(dict.fromkeys(rows))


def _valid_values(spelling: str = "") -> str:
    near = nearest(spelling, _SPELLINGS)
    meant = "" if near is None else f"did you mean {_SPELLINGS[near].name}? "
    return f"{meant}use one or more of {', '.join(TARGETS)} (also written 90, 90a or sm_90a), or all"
