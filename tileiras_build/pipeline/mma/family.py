"""``MmaFamily``: what the compiler asks of a kind of matrix instruction, whichever it is.

Each family is a folder beside this file, named by the ``family`` of its rows in ``target/mma_atoms.py``:

    family.py     ``FAMILY``: its rows, operands, layouts and resources, as attributes and methods of ``MmaFamily``
    emission.py   ``HANDLERS``: its operations as the code of one thread

Other modules of a folder are used inside it, and by tests: verifiers of its layouts, for example. No code outside names a
family: passes ask ``family_of`` a dot, or ``families_of`` a target. What an asynchronous operation does (issue, commit, wait)
is its role (``op_traits.MmaRole``). Both modules are imported by name: families use analyses, and analyses ask families.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from enum import Flag, auto
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from ...ir.dialects.op_definition import TableOp
from ...ir.layouts import LinearLayout
from ...target.mma_atoms import FALLBACK_FAMILY, MmaRow
from ...target.targets import Target
from ..job import Job
from .dots import FP4, element_types, row_of

if TYPE_CHECKING:
    from ...target.gpu_rates import SmRates
    from ..analysis.tma_operands import TmaOperand
    from ..schedule.kernel import Dot

Row = TypeVar("Row", bound=MmaRow)


class Storage(Flag):
    """Where an instruction reads an operand, or accumulates."""

    REGISTERS = auto()
    SHARED = auto()  # stages that copies fill
    SCRATCH = auto()  # shared memory of the operation's own, which threads fill
    TENSOR = auto()


class DotLayouts(NamedTuple):
    """The register layouts of a dot's operands and accumulator; None where registers never hold the operand.

    ``fixed``: the accumulator keeps its registers from one instruction to the next, so it has this layout exactly.
    """

    a: LinearLayout | None
    b: LinearLayout | None
    c: LinearLayout
    scales: tuple[LinearLayout, ...] = ()
    fixed: bool = False


class RegisterMmaOps(NamedTuple):
    """The operations of instructions that complete later, with accumulators in registers: ``wait`` waits for these."""

    issue: type[TableOp]
    wait: type[TableOp]


class TmemMmaOps(NamedTuple):
    """The same with accumulators in tensor memory: ``acquire`` waits until one may be overwritten, ``commit`` tells others when
    it is complete, ``release`` gives a stage back when all that was issued before has read it.
    """

    issue: type[TableOp]
    acquire: type[TableOp]
    commit: type[TableOp]
    release: type[TableOp]


class MmaFamily(ABC, Generic[Row]):
    """One kind of matrix instruction. Facts are attributes; what depends on a dot is a method."""

    name: str
    rows: tuple[Row, ...] = ()
    # Where A and B may be read from, and where D is.
    a_storage: Storage = Storage.REGISTERS
    b_storage: Storage = Storage.REGISTERS
    accumulator: Storage = Storage.REGISTERS
    # Rows and columns that a result tile needs for an instruction, then those from which on it runs at full speed.
    tile_steps: tuple[tuple[int, int], ...] = ((16, 8),)
    # Rows of which so many warps hold the result of one instruction together, where they are several.
    group: tuple[int, int] | None = None
    # The most columns of one instruction.
    max_columns: int = 8
    # The most rows that chained dots may have, where a thread holds a whole row of the first one's result.
    max_chained_rows: int | None = None

    # How partitions issue the instructions; None where threads just execute them.
    async_ops: RegisterMmaOps | TmemMmaOps | None = None

    # The same family where it selects a dot that has no space beside others, and moves what they hold; None where it has none.
    freeing_columns: MmaFamily[Row] | None = None

    # ---- rows ------------------------------------------------------------------------------------
    @abstractmethod
    def row_for(self, op: TableOp, target: Target, *, packed_fp4: bool = False) -> Row | None:
        """The instruction for the types of a dot, its length along k, and its scales if it has any; None where there is none.

        ``packed_fp4``: as if its fp4 elements were read two to a byte.
        """

    def row_of(self, op: TableOp) -> Row:
        """The instruction of a dot that has one of this family."""
        return cast(Row, row_of(op))

    # ---- selection -------------------------------------------------------------------------------
    def select(
        self, op: TableOp, loaded: Mapping[int, TmaOperand], job: Job, warps: int, stored: Collection[int] | None = None
    ) -> Mapping[int, TmaOperand] | None:
        """Take a dot whose operands ``loaded`` TMA can load, by index: set its attributes, and return the operands with the
        placements that the instruction reads. None, and the dot as it was, where it cannot.

        ``stored``: threads compute the other operands, and write these to shared memory; None where they write none.
        """
        return None

    def reads(self, op: TableOp, loaded: Mapping[int, TmaOperand], target: Target) -> Mapping[int, TmaOperand] | None:
        """The loaded operands of a dot with the placements that its instruction reads; None where there is none for their types,
        shapes and places.
        """
        return None

    def mn_major(self, row: Row) -> tuple[str, ...]:
        """The swizzles in which an instruction reads operands that are contiguous along m or n."""
        return ()

    def partial_registers(self, dot: TableOp, job: Job) -> int:
        """Registers of a thread, at least, for partial accumulators beside the result of a dot."""
        return 0

    def adds_partial_sums(self, row: Row) -> bool:
        """Whether threads add accumulators of parts of k, which take registers of their own."""
        return False

    def prefers_swapped(self, op: TableOp, job: Job, warps: int) -> bool:
        """Whether the transpose of a dot, B' A' for A B, has operands that a faster instruction reads."""
        return False

    def gains_by_pairs_of_rows(self, op: TableOp, ctas: int, job: Job) -> bool:
        """Whether pairs of so many CTAs that divide the rows of a dot compute one instruction of their rows."""
        return False

    def stages_fit(self, op: TableOp, ctas: int, job: Job) -> bool:
        """Whether the stages of a dot's loop fit in the shared memory of each of so many CTAs, beside a left operand that stays
        there.
        """
        return True

    def lhs_stays_in_smem(self, op: TableOp, job: Job) -> bool:
        """Whether the left operand of a dot is loaded before its loop, and stays in shared memory."""
        return False

    def keep_lhs_in_smem(self, op: TableOp, job: Job) -> None:
        """Mark such an operand of a dot that was selected, and its load."""

    def choose_row_sharing(self, op: TableOp, warps: int) -> None:
        """Mark a dot whose results several threads are to share by row, once all dots of its kernel are selected."""

    def share_sm(self, func: TableOp, job: Job, warps: int) -> None:
        """Keep operands of a kernel, all of whose dots are of this family, where more CTAs share an SM."""

    # ---- layouts ---------------------------------------------------------------------------------
    def divide(self, op: TableOp, target: Target, num_warps: int, *, rows_only: bool) -> None:
        """Set the row of a dot whose operands are in registers (``mma``), and how warps divide its tile (``warps``) where several do;
        ``rows_only``: by rows as far as it has them, since the result feeds another dot.
        """
        row = self.row_for(op, target)
        op.mma = None if row is None else row.name

    @abstractmethod
    def layouts(self, op: TableOp, num_warps: int) -> DotLayouts | None:
        """The layouts of a dot; None where any layout of the accumulator will do."""

    # ---- cost ------------------------------------------------------------------------------------
    pipe: str = "tensor"  # of an SM, which multiplies

    def clocks(self, dot: Dot, rates: SmRates) -> float:
        """The cycles that the pipe takes for a dot's tile."""
        return dot.multiply_adds / rates.multiply_adds(dot.a_type)

    @abstractmethod
    def shared_bytes(self, dot: Dot, warps: int) -> float:
        """The bytes of shared memory that a dot's instructions, or the copies to their operands, access."""

    def instructions(self, dot: Dot, warps: int) -> float:
        """The instructions that all warps issue for a dot's tile, where they are many."""
        return 0.0

    def replication(self, dot: Dot, warps: int) -> tuple[int, int]:
        """How many warps hold each element of A, and of B, and convert it."""
        return 1, 1

    # ---- reports ---------------------------------------------------------------------------------
    @abstractmethod
    def description(self, op: TableOp) -> tuple[str, dict[str, Any]]:
        """The PTX instruction of a dot, and what else a remark says of it."""


# ---- look-ups --------------------------------------------------------------------------------------
@cache
def family_named(name: str) -> MmaFamily:
    """The family of a folder."""
    return import_module(f"{__package__}.{name}.family").FAMILY


def emission_of(name: str) -> Any:
    """The module of a family that has the ``HANDLERS`` of its operations."""
    return import_module(f"{__package__}.{name}.emission")


def family_of(op: TableOp) -> MmaFamily:
    """The family of a dot's instruction; of one without an instruction, the fallback."""
    row = row_of(op)
    return family_named(FALLBACK_FAMILY if row is None else row.family)


@cache
def families_of(target: Target) -> tuple[MmaFamily, ...]:
    """The families whose instructions a GPU has, the fastest first; last the fallback."""
    return tuple(map(family_named, dict.fromkeys((*(row.family for row in target.mma_rows), FALLBACK_FAMILY))))


def fastest_family(target: Target) -> MmaFamily:
    """The family of a GPU's fast path."""
    return families_of(target)[0]


def family_with_fragments(op: TableOp, target: Target) -> MmaFamily:
    """The first family of a GPU with an instruction that reads the operands of a dot in registers; else the fallback."""
    rest = (family for family in families_of(target) if Storage.REGISTERS in family.b_storage)
    return next((family for family in rest if family.row_for(op, target) is not None), family_named(FALLBACK_FAMILY))


def scales_in_instruction(op: TableOp, target: Target, *, packed_fp4: bool = False) -> bool:
    """Whether a GPU has an instruction that multiplies a dot's operands and scales them."""
    return any(family.row_for(op, target, packed_fp4=packed_fp4) is not None for family in families_of(target))


def may_scale_in_instruction(op: TableOp, target: Target) -> bool:
    """The same, before it is known how the operands are read."""
    packs = element_types(op)[0] == FP4
    return any(scales_in_instruction(op, target, packed_fp4=packed) for packed in {False, packs})


def register_mma_ops(op: TableOp) -> RegisterMmaOps:
    """The operations that issue the instruction of a dot, whose accumulators are in registers."""
    return cast(RegisterMmaOps, family_of(op).async_ops)


def tmem_mma_ops(op: TableOp) -> TmemMmaOps:
    """The operations that issue the instruction of a dot, whose accumulators are in tensor memory."""
    return cast(TmemMmaOps, family_of(op).async_ops)
