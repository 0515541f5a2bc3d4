"""Which pipe an instruction goes through and for how long, by opcode: rows, on which generations differ by their rates only.

The pipes are those of Nsight Compute ("Kernel Profiling Guide", section "Metrics Decoder", "Pipelines"): FMA takes f32, and
integer products in its heavier half, ALU what is integer or logical, XU special functions and conversions, FP64, the tensor
pipe, LSU and the uniform datapath. What a row leaves open takes an issue slot and nothing else.
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

# How many results of a warp's instruction a pipe makes in a clock.
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
    """A pipe, and how many of its results for each lane an instruction is."""

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
# FHADD, of an f32 and a half, has no published rate: that of HADD2.F32, which it replaces.
_PACKED_HALF = ("HADD2", "HMUL2", "HFMA2", "HSETP2", "FHADD")


def pipe_clocks(one: Instruction, rates: SmRates) -> tuple[str, float] | None:
    """The pipe of an instruction and the clocks of the multiprocessor that it takes; None where it is of none of them."""
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


# ---- products ----------------------------------------------------------------------------------------------------------
_WARP_SHAPE = re.compile(r"\.(?:SF\.|SP\.)*(\d{3,6})\.")
_WARPGROUP_SHAPE = re.compile(r"\.64x(\d+)x(\d+)")
# What nvdisasm prints for m, n and k together.
_SHAPES = {
    "884": (8, 8, 4), "1688": (16, 8, 8), "16816": (16, 8, 16), "16832": (16, 8, 32), "16864": (16, 8, 64),
    "8816": (8, 8, 16), "8832": (8, 8, 32), "1684": (16, 8, 4), "168128": (16, 8, 128), "168256": (16, 8, 256),
}  # fmt: skip
_FACTORS = {
    "HMMA": "f16", "HGMMA": "f16", "UTCHMMA": "f16", "IMMA": "i8", "IGMMA": "i8", "UTCIMMA": "i8", "DMMA": "f64", "QMMA": "f8",
    "QGMMA": "f8", "UTCQMMA": "f8", "OMMA": "f4", "UTCOMMA": "f4", "BMMA": "i8", "BGMMA": "i8",
}  # fmt: skip
_TENSOR_MEMORY_K = {"f16": 16, "tf32": 8, "i8": 32, "f8": 32, "f4": 64}  # factors of 32 bytes [PTX ISA 9.0, 9.7.16.2]
WARPS_PER_WARPGROUP = 4  # warps


@dataclass(frozen=True)
class MmaShape:
    """One matrix product of a warp, a warpgroup, a CTA or ``ctas`` of them: its extents and what its factors are."""

    m: int
    n: int
    k: int
    operand_type: str
    is_per_warp: bool
    a_in_shared: bool = False
    b_in_shared: bool = False
    ctas: int = 1

    @property
    def multiply_adds(self) -> int:
        """How many there are."""
        return self.m * self.n * self.k

    def clocks(self, rates: SmRates) -> float:
        """Of the tensor pipe of each multiprocessor that takes part, all of it: those of a pair compute half the rows each [PTX
        ISA 9.0, 9.7.16.5; SemiAnalysis, "Dissecting Nvidia Blackwell", 2026, measured twice the rate of one]."""
        rate = rates.tensor.get(self.operand_type, rates.tensor["f16"]) or rates.float64
        return self.multiply_adds / (rate * self.ctas * (rates.warp_tensor if self.is_per_warp else 1.0))

    @property
    def shared_bytes(self) -> float:
        """What is read of shared memory for it."""
        size = {"f16": 2, "tf32": 4, "i8": 1, "f8": 1, "f4": 0.5, "f64": 8}[self.operand_type]
        return size * self.k * (self.m * self.a_in_shared + self.n * self.b_in_shared)


def is_mma(one: Instruction) -> bool:
    """Whether the tensor pipe executes it."""
    return one.opcode in _FACTORS


def mma_shape(one: Instruction, descriptor: int | None = None) -> MmaShape | None:
    """What an instruction multiplies; ``descriptor`` is the word that says so for tensor memory (PTX ISA 9.0, 9.7.16.4).

    A product of a warpgroup is spread over its four warps, each of which executes the instruction: this is one warp's part.
    None where the instruction does not say it.
    """
    factors = _FACTORS[one.opcode]
    if factors == "f16" and "TF32" in one.modifiers:
        factors = "tf32"
    if one.opcode.startswith("UTC"):
        return _of_tensor_memory(one, factors, descriptor)
    if found := _WARPGROUP_SHAPE.search(one.mnemonic):
        left = len([operand for operand in one.operands if operand.text == "gdesc"]) == 1 and not _a_in_registers(one)
        return MmaShape(64 // WARPS_PER_WARPGROUP, int(found[1]), int(found[2]), factors, False, left, True)
    shape = _WARP_SHAPE.search(one.mnemonic + ".")
    if shape is None or shape[1] not in _SHAPES:
        return None
    return MmaShape(*_SHAPES[shape[1]], factors, True)


def _a_in_registers(one: Instruction) -> bool:
    """``HGMMA R24, R176, gdesc[UR8], R24``: a register stands where else the descriptor is."""
    return one.operands[1].is_register


def _of_tensor_memory(one: Instruction, factors: str, descriptor: int | None) -> MmaShape | None:
    if descriptor is None:
        return None
    n, m = (descriptor >> 17 & 63) * 8, (descriptor >> 24 & 31) * 16
    k = _TENSOR_MEMORY_K[factors]
    # A pair of CTAs shares one product of twice the rows: the CTA that issues it is told of all of them.
    return MmaShape(m, n, k, factors, False, one.operands[0].text == "gdesc", True, 2 if "2CTA" in one.modifiers else 1)
