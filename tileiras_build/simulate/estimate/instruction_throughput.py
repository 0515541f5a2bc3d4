"""The pipe and throughput of each SASS opcode. Architectures differ in their rates only.

The pipes are those of Nsight Compute ("Kernel Profiling Guide", section "Metrics Decoder", "Pipelines"): FMA executes f32 and,
in its heavy half, integer multiplies; ALU integer and logical instructions; XU special functions and conversions; then FP64,
the tensor pipe, LSU and the uniform datapath. An opcode without a row takes only an issue slot.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ...target.gpu_rates import SM_PARTITIONS, SmRates
from ...target.sm_limits import WARP
from .sass_parser import Instruction

FMA, FMA_HEAVY, ALU, XU, FP64, SHUFFLE, UNIFORM, TENSOR = (
    "FMA",
    "FMA heavy",
    "ALU",
    "XU",
    "FP64",
    "shuffle",
    "uniform",
    "tensor",
)

# Results per clock of each pipe.
PIPE_RATES: dict[str, Callable[[SmRates], float]] = {
    FMA: lambda rates: rates.float32,
    FMA_HEAVY: lambda rates: rates.integer_multiply,
    ALU: lambda rates: rates.alu,
    XU: lambda rates: rates.special,
    FP64: lambda rates: rates.float64,
    SHUFFLE: lambda rates: rates.shuffle,
    UNIFORM: lambda _: WARP * SM_PARTITIONS / 2,
}


@dataclass(frozen=True)
class InstructionClass:
    """The pipe of an instruction, and its results per lane."""

    pipe: str
    weight: float = 1.0


_ALU = (
    "IADD3 IADD VIADD LOP3 SHF ISETP SEL FSEL FSETP FMNMX FMNMX3 IMNMX VIMNMX VIMNMX3 VIADDMNMX PRMT LEA SGXT BMSK IABS PLOP3 "
    "FCHK P2R R2P VABSDIFF I2FP F2FP F2IP I2IP MOV CS2R FADD32I HMNMX2 LOP32I ISCADD MOVM FSWZADD"
)
_FMA = "FADD FMUL FFMA FMUL32I FFMA32I FADD32I FRND"
INSTRUCTION_CLASSES: dict[str, InstructionClass] = {
    **dict.fromkeys(_ALU.split(), InstructionClass(ALU)),
    **dict.fromkeys(_FMA.split(), InstructionClass(FMA)),
    **dict.fromkeys(("FADD2", "FMUL2", "FFMA2"), InstructionClass(FMA, 2)),
    **dict.fromkeys(("IMAD", "IMUL", "IDP", "XMAD"), InstructionClass(FMA_HEAVY)),
    **dict.fromkeys(("MUFU", "FLO", "POPC", "BREV", "I2F", "F2I", "F2F", "FRND"), InstructionClass(XU)),
    **dict.fromkeys(("DADD", "DMUL", "DFMA", "DSETP"), InstructionClass(FP64)),
    **dict.fromkeys(("SHFL", "REDUX", "CREDUX", "VOTE", "MATCH"), InstructionClass(SHUFFLE)),
}
# FHADD (f32 + f16) has no published rate; it replaces HADD2.F32 and is assumed to have its rate.
_PACKED_HALF = ("HADD2", "HMUL2", "HFMA2", "HSETP2", "FHADD")


def pipe_clocks(one: Instruction, rates: SmRates) -> tuple[str, float] | None:
    """The pipe of an instruction and the SM cycles that it takes; None if it uses no pipe."""
    if one.opcode in _PACKED_HALF:
        return FMA, WARP / rates.half2
    if one.opcode == "MUFU" and "EX2" in one.modifiers:
        return XU, WARP / rates.exponential
    if one.opcode == "F2FP" or (one.opcode == "IMAD" and _is_move(one)):
        return ALU if one.opcode == "F2FP" else FMA, WARP / rates.float32 * (2 if one.opcode == "F2FP" else 1)
    row = INSTRUCTION_CLASSES.get(one.opcode)
    if row is None:
        is_uniform = one.opcode.startswith("U") and one.opcode[1:] in INSTRUCTION_CLASSES
        return (UNIFORM, WARP / PIPE_RATES[UNIFORM](rates)) if is_uniform else None
    return row.pipe, row.weight * WARP / PIPE_RATES[row.pipe](rates)


def _is_move(one: Instruction) -> bool:
    """Whether an IMAD is a move, which any half of the pipe can make."""
    return one.modifiers[:1] == ("MOV",)


# ---- MMA ---------------------------------------------------------------------------------------------------------------
_WARP_SHAPE = re.compile(r"\.(?:SF\.|SP\.)*(\d{3,6})\.")
_WARPGROUP_SHAPE = re.compile(r"\.64x(\d+)x(\d+)")
# The m, n, k suffixes that nvdisasm prints.
_SHAPES = {
    "884": (8, 8, 4), "1688": (16, 8, 8), "16816": (16, 8, 16), "16832": (16, 8, 32), "16864": (16, 8, 64),
    "8816": (8, 8, 16), "8832": (8, 8, 32), "1684": (16, 8, 4), "168128": (16, 8, 128), "168256": (16, 8, 256),
}  # fmt: skip
_OPERAND_TYPES = {
    "HMMA": "f16", "HGMMA": "f16", "UTCHMMA": "f16", "IMMA": "i8", "IGMMA": "i8", "UTCIMMA": "i8", "DMMA": "f64", "QMMA": "f8",
    "QGMMA": "f8", "UTCQMMA": "f8", "OMMA": "f4", "UTCOMMA": "f4", "BMMA": "i8", "BGMMA": "i8",
}  # fmt: skip
_TENSOR_MEMORY_K = {"f16": 16, "tf32": 8, "i8": 32, "f8": 32, "f4": 64}  # K of 32 bytes [PTX ISA 9.0, 9.7.16.2]
WARPS_PER_WARPGROUP = 4


@dataclass(frozen=True)
class MmaShape:
    """The shape and operand type of one MMA of a warp, a warpgroup, or ``ctas`` CTAs."""

    m: int
    n: int
    k: int
    operand_type: str
    is_per_warp: bool
    a_in_shared: bool = False
    b_in_shared: bool = False
    ctas: int = 1
    has_f32_accumulator: bool = False

    @property
    def multiply_adds(self) -> int:
        """The number of multiply-adds."""
        return self.m * self.n * self.k

    def clocks(self, rates: SmRates) -> float:
        """Cycles of the whole tensor pipe of each participating SM: the SMs of a CTA pair compute half of the rows each [PTX
        ISA 9.0, 9.7.16.5; SemiAnalysis, "Dissecting Nvidia Blackwell", 2026, measured twice the rate of one]."""
        rate = rates.tensor.get(self.operand_type, rates.tensor["f16"]) or rates.float64
        share = (rates.warp_tensor if self.is_per_warp else 1.0) * (
            rates.f32_accumulate if self.has_f32_accumulator else 1.0
        )
        return self.multiply_adds / (rate * self.ctas * share)

    @property
    def shared_bytes(self) -> float:
        """Bytes of operands read from shared memory."""
        size = {"f16": 2, "tf32": 4, "i8": 1, "f8": 1, "f4": 0.5, "f64": 8}[self.operand_type]
        return size * self.k * (self.m * self.a_in_shared + self.n * self.b_in_shared)


def is_mma(one: Instruction) -> bool:
    """Whether the tensor pipe executes it."""
    return one.opcode in _OPERAND_TYPES


def mma_shape(one: Instruction, descriptor: int | None = None) -> MmaShape | None:
    """The MMA shape of an instruction; ``descriptor`` is the instruction descriptor of tcgen05.mma (PTX ISA 9.0, 9.7.16.4).

    For wgmma it is the share of one of the four warps, as each of them executes the instruction. None if unknown.
    """
    operand_type = _OPERAND_TYPES[one.opcode]
    if operand_type == "f16" and "TF32" in one.modifiers:
        operand_type = "tf32"
    if one.opcode.startswith("UTC"):
        return _tcgen05_shape(one, operand_type, descriptor)
    if found := _WARPGROUP_SHAPE.search(one.mnemonic):
        left = len([operand for operand in one.operands if operand.text == "gdesc"]) == 1 and not _a_in_registers(one)
        return MmaShape(64 // WARPS_PER_WARPGROUP, int(found[1]), int(found[2]), operand_type, False, left, True)
    shape = _WARP_SHAPE.search(one.mnemonic + ".")
    if shape is None or shape[1] not in _SHAPES:
        return None
    # Block-scaled MMAs ("SF") keep their rate where those with f32 accumulators have half of it.
    has_f32_accumulator = "F32" in one.modifiers and "SF" not in one.modifiers and operand_type in ("f16", "tf32", "f8")
    return MmaShape(*_SHAPES[shape[1]], operand_type, True, has_f32_accumulator=has_f32_accumulator)


def _a_in_registers(one: Instruction) -> bool:
    """Whether the left operand is in registers, as in ``HGMMA R24, R176, gdesc[UR8], R24``."""
    return one.operands[1].is_register


def _tcgen05_shape(one: Instruction, operand_type: str, descriptor: int | None) -> MmaShape | None:
    if descriptor is None:
        return None
    n, m = (descriptor >> 17 & 63) * 8, (descriptor >> 24 & 31) * 16
    k = _TENSOR_MEMORY_K[operand_type]
    # The descriptor of a 2-CTA MMA has the rows of both CTAs.
    return MmaShape(
        m, n, k, operand_type, False, one.operands[0].text == "gdesc", True, 2 if "2CTA" in one.modifiers else 1
    )
