"""Make kernels persistent: each CTA runs several tile programs in a loop, as the option ``persistent`` requests.

In:    nv_tileaa operations; kernels whose body is one tile program; ``persistent`` = 1.
Out:   a loop over linear tile program ids, from the CTA's own id to the number of programs, in steps of the launched
       CTAs. Its body is the program; program ids and grid extents are computed from the induction variable and from
       three parameters after the kernel's own. ``persistent_axes`` on the kernel has the grid axes that its program
       reads; or ``persistent_declined`` the reason why it is unchanged. Uniform scalars, views and tokens are hoisted.
After: swizzle-grid (program ids are computed in each iteration), skip-full-tile-masks. Before: all passes that match
       loops over tiles.
Sound: linear ids follow the order in which the hardware starts CTAs, axis 0 first. Of n CTAs along axis 0, CTA p runs
       p, p + n, p + 2n, …: each id runs once, on one CTA (or one cluster), in ascending order. A program that waits for
       one with a lower id finds it complete or in flight. Hoisted operations are pure. A program has no state of the
       previous one: tokens start anew (Tile IR does not order programs), and a kernel with storage of its own is
       declined. A return ends a program, thus an iteration: the operations after it move to the other arm of its
       branch. Ids stay below 2^31, steps included: the launcher rejects larger grids
       (``launch/runtime/kernel_library.py``).
Source: CUTLASS, "Persistent tile schedulers"; Triton's tutorial on persistent matrix multiplication.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.casting import as_op, int_attr, parent_block, parent_op
from ...ir.dialects.cuda_tile.attrs import BoundedAttr
from ...ir.dialects.fast_xdsl import append, block_operations, replace_uses, walk
from ...ir.dialects.nv_tileaa.ops import (
    AllocaOp,
    AssumeOp,
    ContinueOp,
    ForOp,
    GetNumProgramsOp,
    GetProgramIdOp,
    ReturnOp,
    YieldOp,
)
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_if
from ...manifest.manifest_constants import AXES
from ..analysis.op_queries import may_divide_by_zero, may_end
from ..common.cse import is_pure
from ..common.nest_early_returns import nest_early_returns
from ..job import Job
from ..pass_manager import EdgePass
from ..rewriting.arith_builder import ArithBuilder


class MakePersistent(EdgePass):
    """Add loops over tile programs."""

    name = "tileaa-make-persistent"

    def run_on_function(self, func: TableOp, job: Job) -> None:
        if job.persistent:
            _loop(func)


def _loop(func: Operation) -> None:
    reason = _obstacle(func)
    if reason is not None:
        as_op(func).persistent_declined = reason
        return
    queries = [op for op in walk(func) if isinstance(op, GetProgramIdOp | GetNumProgramsOp)]
    func.attributes["persistent_axes"] = DenseArrayBase.from_list(i32, sorted({int_attr(op, "axis") for op in queries}))
    block, body = func.regions[0].blocks[0], Block(arg_types=[i32])
    nest_early_returns(block, YieldOp)
    program = block_operations(block)
    extents: list[SSAValue] = [block.insert_arg(i32, len(block.args)) for _ in range(AXES)]
    for op in program:
        op.detach()
    loop = _TileLoop(block, extents)
    places = {
        axis: loop.place(axis, body)
        for axis in {int_attr(op, "axis") for op in queries if isinstance(op, GetProgramIdOp)}
    }
    _fill_loop_body(loop, program, body)
    _replace_program_ids(queries, places, loop.extents)
    _end_iterations(body)
    loop.close(body)


def _obstacle(func: Operation) -> str | None:
    """Why a kernel cannot become persistent; None if it can."""
    for op in walk(func):
        if isinstance(op, AllocaOp):
            return "the kernel has storage with the lifetime of a tile program"
        if isinstance(op, ReturnOp) and not _is_iteration_end(op, func):
            return "the kernel returns from within a loop"
    return None


def _is_iteration_end(op: Operation, func: Operation) -> bool:
    """Whether only branches enclose a return."""
    around = parent_op(op)
    while is_if(around):
        around = parent_op(around)
    return around is func


class _TileLoop:
    """The loop over the tile programs of a grid, whose extents are parameters, at the end of ``block``."""

    def __init__(self, block: Block, extents: list[SSAValue]):
        self.block, self.b = block, ArithBuilder.at_end(block)
        b = self.b
        self.extents = [b.insert(_max_with_one(extent)) for extent in extents]
        self.plane = b.binary("mul", self.extents[0], self.extents[1])
        self.programs = b.binary("mul", self.plane, self.extents[2])
        self.first = b.insert(GetProgramIdOp.make([], [i32], axis=0))
        self.step = b.insert(GetNumProgramsOp.make([], [i32], axis=0))

    def place(self, axis: int, body: Block) -> SSAValue:
        """The program id along an axis, computed in the loop body."""
        b, number = ArithBuilder.at_end(body), body.args[0]
        if axis == 0:
            return b.binary("urem", number, self.extents[0])
        if axis == 1:
            return b.binary("urem", b.binary("udiv", number, self.extents[0]), self.extents[1])
        return b.binary("udiv", number, self.plane)

    def close(self, body: Block) -> None:
        """Emit the loop itself, and the end of the kernel."""
        self.b.insert(ForOp.make([self.first, self.programs, self.step, []], [], regions=[Region(body)]))
        self.b.insert(ReturnOp.make([[]], []))


def _max_with_one(extent: SSAValue) -> Operation:
    return AssumeOp.make([extent], [i32], predicate=BoundedAttr(1, None))


def _fill_loop_body(loop: _TileLoop, program: list[Operation], body: Block) -> None:
    """Move the operations of a program to the body, or before the loop if they are uniform over programs."""
    inside: set[SSAValue] = set()
    ends = any(map(may_end, program[:-1]))
    for op in program:
        alike = _is_program_independent(op) and not inside & set(op.operands) and not (ends and may_divide_by_zero(op))
        append(loop.block if alike else body, op)
        if not alike:
            inside.update(op.results)


def _replace_program_ids(queries: Sequence[Operation], places: dict[int, SSAValue], extents: list[SSAValue]) -> None:
    for op in queries:
        axis = int_attr(op, "axis")
        replace_uses(op.results[0], places[axis] if isinstance(op, GetProgramIdOp) else extents[axis])
        parent_block(op).erase_op(op)


def _is_program_independent(op: Operation) -> bool:
    """Whether hoisting an operation keeps no registers live for long: tiles are not hoisted."""
    return (
        is_pure(op)
        and not isinstance(op, GetProgramIdOp)
        and not any(isinstance(result.type, TensorType) for result in op.results)
    )


def _end_iterations(body: Block) -> None:
    for op in walk(body):
        if isinstance(op, ReturnOp):
            block = parent_block(op)
            block.erase_op(op)
            append(block, ContinueOp.make([[]], []))
