"""Names of SSA values as MLIR prints them for cuda_tile: %cst_0_i32, %tview, %assume_3, %for#1.

MLIR names the values of a region first and those of nested regions after it, from the counters that the
region ended with; a name in use gets a suffix from a conflict counter.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, Region, SSAValue

from tileiras_build.ir.dialects.cuda_tile.attrs import DTYPE_NAMES
from tileiras_build.ir.dialects.cuda_tile.element_types import is_float
from tileiras_build.ir.dialects.cuda_tile.ops_atomic import AtomicCASTkoOp, AtomicRMWTkoOp
from tileiras_build.ir.dialects.cuda_tile.ops_control import ForOp, IfOp, LoopOp
from tileiras_build.ir.dialects.cuda_tile.ops_load_store import LoadPtrTkoOp, LoadViewTkoOp
from tileiras_build.ir.dialects.cuda_tile.ops_make_view import (
    MakeGatherScatterViewOp,
    MakePartitionViewOp,
    MakeStridedViewOp,
    MakeTensorViewOp,
)
from tileiras_build.ir.dialects.cuda_tile.ops_module import EntryOp, GetNumTileBlocksOp, GetTileBlockIdOp
from tileiras_build.ir.dialects.cuda_tile.ops_multimem import MultimemLoadReduceViewTkoOp
from tileiras_build.ir.dialects.cuda_tile.ops_reduce import ReduceOp, ScanOp
from tileiras_build.ir.dialects.cuda_tile.ops_shape import AssumeOp, BroadcastOp, ConstantOp, ReshapeOp

MAX_NAME = 200  # characters; the name of a chain of assumptions has one part per link

# Operation -> the names of its first results.
RESULT_NAMES: dict[type[Operation], tuple[str, ...]] = {
    AtomicCASTkoOp: ("result", "result_token"),
    AtomicRMWTkoOp: ("result", "result_token"),
    BroadcastOp: ("bcast",),
    ForOp: ("for",),
    GetNumTileBlocksOp: ("gridSize_x", "gridSize_y", "gridSize_z"),
    GetTileBlockIdOp: ("blockId_x", "blockId_y", "blockId_z"),
    LoadPtrTkoOp: ("result", "result_token"),
    LoadViewTkoOp: ("tile", "result_token"),
    MakeGatherScatterViewOp: ("gsview",),
    MakePartitionViewOp: ("pview",),
    MakeStridedViewOp: ("sview",),
    MakeTensorViewOp: ("tview",),
    MultimemLoadReduceViewTkoOp: ("reduced_values", "result_token"),
    ReduceOp: ("reduce",),
    ReshapeOp: ("reshape",),
}
# Operations that name only some results: an assumption on an unnamed one is "assume_".
PARTLY_NAMED = (ForOp, IfOp, LoopOp, ReduceOp, ScanOp)


def _constant_name(op: ConstantOp) -> str:
    value, element_type = op.value, op.value.type.element_type
    if element_type == i1:
        # A splat may have 2^24 elements.
        values = value.splat_value() if value.is_splat else value.as_array()
        return "true" if values.all() else "cst_i1" if values.any() else "false"
    number = ""
    if value.is_splat and element_type in DTYPE_NAMES:
        number = _float_number(float(value.splat_value())) if is_float(element_type) else f"_{int(value.splat_value())}"
    return f"cst{number}_{str(element_type).removeprefix('!cuda_tile.')}"


def _float_number(value: float) -> str:
    if math.isnan(value):
        return "_NaN"
    exact = 0 <= value < 2.0**64 and value == int(value) and math.copysign(1.0, value) > 0
    return f"_{int(value)}" if exact else ""


class Names:
    """The name of every value in one entry; ``names[value]`` is "%..." as used for an operand."""

    def __init__(self, entry: EntryOp):
        self.text: dict[SSAValue, str] = {}
        self.results: dict[Operation, str] = {}
        self.constants: dict[int, str] = {}  # by identity: many operations share one long constant
        self.hints: dict[SSAValue, str] = {}
        self._number_regions(entry)

    def __getitem__(self, value: SSAValue) -> str:
        return self.text[value]

    def of_results(self, op: Operation) -> str:
        """The text before the equals sign, "" for an operation without results."""
        return self.results.get(op, "")

    def _number_regions(self, entry: EntryOp) -> None:
        pending: list[tuple[Region, int, int, int, tuple[set[str], ...]]]
        pending = [(region, 0, 0, 0, ()) for region in entry.regions]
        while pending:
            region, self.values, self.arguments, self.conflicts, self.outer = pending.pop()
            self.used: set[str] = set()
            self._number_region(region)
            # The sets themselves: a copy for each region would make many loops quadratic.
            scopes = (*self.outer, self.used)
            for op in region.block.ops if region.blocks else ():
                for inner in op.regions:
                    pending.append((inner, self.values, self.arguments, self.conflicts, scopes))

    def _number_region(self, region: Region) -> None:
        parent = region.parent
        for block in region.blocks:
            for index, argument in enumerate(block.args):
                self.text[argument] = "%" + self._unique(self._argument_hint(parent, index, len(block.args)))
            for op in block.ops:
                if op.results:
                    self._number_results(op)

    def _argument_hint(self, parent: Operation | None, index: int, count: int) -> str:
        if isinstance(parent, ForOp):
            return f"iterArg{index - 1}" if index else "loopIdx"
        if isinstance(parent, ReduceOp):
            side = "reduce_rhs" if index % 2 else "reduce_lhs"
            return side + (str(index // 2) if count > 2 else "")
        self.arguments += 1
        return f"arg{self.arguments - 1}"

    def _unique(self, name: str) -> str:
        unique = name
        while unique in self.used or any(unique in scope for scope in self.outer):
            unique = f"{name}_{self.conflicts}"
            self.conflicts += 1
        self.used.add(unique)
        return unique

    def _hints(self, op: Operation) -> tuple[str, ...]:
        if isinstance(op, ConstantOp):
            if id(op.value) not in self.constants:
                self.constants[id(op.value)] = _constant_name(op)
            return (self.constants[id(op.value)],)
        if not isinstance(op, AssumeOp):
            return RESULT_NAMES.get(type(op), ())
        hint = self.hints.get(op.value)
        named = hint is not None and len(hint) < MAX_NAME
        return (f"assume_{hint}" if named else "assume",)

    def _number_results(self, op: Operation) -> None:
        hints, results = self._hints(op), op.results
        if isinstance(op, PARTLY_NAMED):
            self.hints.update(dict.fromkeys(results, ""))
        groups = []
        for index, result in enumerate(results):
            if index < len(hints):
                self.hints[result] = hints[index]
                groups.append((index, "%" + self._unique(hints[index])))
            elif index == 0:
                groups.append((0, f"%{self.values}"))
                self.values += 1
        self._write_groups(op, groups)

    def _write_groups(self, op: Operation, groups: list[tuple[int, str]]) -> None:
        left = []
        ends = [start for start, _ in groups[1:]] + [len(op.results)]
        for (start, name), end in zip(groups, ends):
            size = end - start
            left.append(name if size == 1 else f"{name}:{size}")
            for index in range(start, end):
                self.text[op.results[index]] = name if size == 1 else f"{name}#{index - start}"
        self.results[op] = ", ".join(left)
