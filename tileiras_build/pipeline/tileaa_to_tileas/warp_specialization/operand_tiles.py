"""The tiles of a dot's operands in shared memory: those that TMA loads, and those that threads write."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import FloatTF32Type
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.casting import as_op, unwrap
from ....ir.dialects.cute import layout_of
from ....ir.dialects.op_definition import TableOp
from ....ir.layouts import SharedLayout
from ...analysis.axis_info import AxisAnalysis
from ...analysis.copied_operands import copied_placement
from ...analysis.enclosing_control_flow import enclosing_kernel
from ...analysis.stored_operands import is_invariant, is_stored, stored_placement
from ...analysis.tma_tensor_maps import TensorBox, tensor_box
from ...mma.family import family_of
from ...mma.tmem_tiles import staged_columns

tf32 = FloatTF32Type()


@dataclass(eq=False)
class TmaOperandLoad:
    """One operand of a dot: its load, the operations between, and the placement of its tiles. ``first``: the load of the same
    tile for an earlier dot, which fills the buffer of both.
    """

    index: int
    load: TableOp
    chain: list[Operation]
    box: TensorBox
    buffer: SSAValue | None = None
    descriptor: SSAValue | None = None
    first: TmaOperandLoad | None = None

    @classmethod
    def of(cls, index: int, load: TableOp, chain: list[Operation], analysis: AxisAnalysis) -> TmaOperandLoad:
        return cls(index, load, chain, unwrap(tensor_box(load, chain, analysis, for_threads=index < 0)))

    @property
    def element(self) -> Attribute:
        """The element type in shared memory."""
        return tf32 if self.box.rounds else self.load.value.type.element_type


@dataclass(eq=False)
class StoredOperand:
    """One operand that threads write to shared memory: in each iteration to the stage that they read tiles of, or once before
    the loop if it does not depend on it. ``first``: that of an earlier dot, or the other one of this dot, for which the same tile is
    written. One that cp.async copies (``copy_operands_ahead.py``) has more buffers: it is copied as many iterations ahead as there are
    more than stages. ``columns``: those of a stage in tensor memory, instead.
    """

    index: int
    placement: SharedLayout
    is_invariant: bool
    is_copied: bool
    buffer: SSAValue | None = None
    first: StoredOperand | None = None
    columns: int = 0

    @classmethod
    def of(cls, dot: TableOp, index: int) -> StoredOperand:
        warps = as_op(enclosing_kernel(dot)).num_warps
        family, layout = family_of(dot), layout_of(dot.operands[index])
        mn_major = family.mn_major(family.row_of(dot))
        if index in (dot.copied or ()):
            return cls(index, unwrap(copied_placement(dot, index, mn_major)), False, True)
        columns = 0 if is_stored(dot, index) else staged_columns(dot, warps)
        return cls(
            index, stored_placement(dot, index, mn_major, layout), is_invariant(dot, index), False, columns=columns
        )

    @property
    def bytes(self) -> int:
        return 0 if self.columns else self.placement.size_bytes
