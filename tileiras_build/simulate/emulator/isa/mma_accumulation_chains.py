"""Chains of MMAs with the same accumulator (``mma``, and ``wgmma`` with f32 accumulators), executed as one matmul.

The accumulator is not read between two steps along k. The emitter therefore defers an MMA (``PendingMmaChains.add``) until an
instruction reads or writes one of its registers, or the function ends. Then it emits all steps as one matmul, with the
rounding of each step unchanged. ``mma`` instructions that share rows of A or columns of B are combined into one larger
matrix. The operands (registers, shared memory) are read at the original instruction.

Registers of D contain columns 2 t + e of row r in lane 4 r + t. With the columns of B in the order (e, t), four lanes of a
register are four adjacent elements of a row: 16 bytes that are copied together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ..matmul import fp8_accumulation, gemm
from ..matmul.matmul import BLAS_ORDER, accumulate_in_slices, multiply, native_error_bounds
from ..matmul.operand_value_ranges import MatmulOperand
from ..ptx.ast import Register
from ..simt.broadcasting import are_all, is_any
from .handler_registry import helper
from .mma_register_operands import LANE_QUAD, join_rows

COLUMNS = 8  # columns of D in four registers, or two
GROUP_WARPS = 4  # per warpgroup
# Padding between registers, in quads of lanes: a stride of a power of two would map to few cache sets.
MAX_LINES_BETWEEN = 20


# -- emission ----------------------------------------------------------------------------------------
@dataclass
class MmaChain:
    """MMAs with accumulator ``targets``; ``steps`` are variables of A and B, for ``wgmma`` also of scale-d."""

    family: str
    shape: tuple
    targets: list[Register]
    start: list[str]  # variables of the initial accumulator
    steps: list[tuple[str, ...]] = field(default_factory=list)


class PendingMmaChains:
    """The deferred MMAs of one function; ``slots``: their accumulator registers."""

    def __init__(self) -> None:
        self.chains: list[MmaChain] = []
        self.slots: dict[int, MmaChain] = {}

    def add(self, e, family: str, shape: tuple, targets: list[Register], olds: list, step: tuple[str, ...]) -> None:
        """Defer an MMA with operand C ``olds`` and result D ``targets``."""
        chain = self.chain_to_extend(e, family, shape, targets, olds)
        if chain is None:
            start = [e.use(old, "f32") for old in olds]
            if targets is not olds:
                start = [e.temp(variable) for variable in start]  # a later instruction may overwrite the registers
            if any(target.index in self.slots for target in targets):
                self.emit(e)
            chain = MmaChain(family, shape, targets, start)
            self.chains.append(chain)
        for old in chain.targets:
            self.slots.pop(old.index, None)
        chain.targets = targets
        chain.steps.append(step)
        self.slots.update({target.index: chain for target in targets})

    def chain_to_extend(self, e, family: str, shape: tuple, targets: list[Register], olds: list) -> MmaChain | None:
        """The chain with results ``olds``, if there is no other reader."""
        chain = self.slots.get(olds[0].index) if isinstance(olds[0], Register) else None
        if chain is None or (chain.family, chain.shape) != (family, shape) or chain.targets != olds:
            return None
        if targets == olds:
            return chain
        live = e.program.lives.at(e.pc + 1) if e.pc + 1 < len(e.program.code) else 0
        read_later = any(live >> old.index & 1 for old in olds if old not in targets)
        taken = any(self.slots.get(target.index, chain) is not chain for target in targets)
        return None if read_later or taken else chain

    def emit(self, e) -> None:
        """Emit all deferred MMAs."""
        chains, self.chains = self.chains, []
        self.slots.clear()
        predicate, e.predicate = e.predicate, None  # of the instruction that needs the results
        for tile in output_tiles(chains):
            EMITTERS[tile[0].family](e, tile)
        e.predicate = predicate


def is_deferrable(e, targets: list) -> bool:
    """Whether an MMA may be deferred: all threads execute it, and its results are distinct registers."""
    named = [target.index for target in targets if isinstance(target, Register)]
    return e.predicate is None and len(set(named)) == len(targets)


def output_tiles(chains: list[MmaChain]) -> list[list[MmaChain]]:
    """Group chains into matrices: all combinations of some rows of A and some columns of B, in row-major order."""
    rows: dict[tuple, dict[tuple, MmaChain]] = {}
    alone = []
    for chain in chains:
        lefts, rights = (tuple(step[side] for step in chain.steps) for side in (0, 1))
        row = rows.setdefault((chain.family, chain.shape, lefts), {})
        if chain.family == "wgmma" or rights in row:
            alone.append([chain])
        else:
            row[rights] = chain
    tiles: dict[tuple, list[MmaChain]] = {}
    for (family, shape, lefts), row in rows.items():
        if row:
            order = sorted(row)
            tiles.setdefault((family, shape, len(lefts), tuple(order)), []).extend(row[key] for key in order)
    return [*tiles.values(), *alone]


def emit_warp_tile(e, tile: list[MmaChain]) -> None:
    """Emit a matrix of ``mma`` chains."""
    steps = range(len(tile[0].steps))
    columns = sum(_operand_a_source(chain) == _operand_a_source(tile[0]) for chain in tile)
    rights = [[chain.steps[step][1] for chain in tile[:columns]] for step in steps]
    lefts = [[tile[row].steps[step][0] for row in range(0, len(tile), columns)] for step in steps]
    start = [variable for chain in tile for variable in chain.start]
    out = e.temp(f"accumulate_warp_tile(g, {_text(lefts)}, {_text(rights)}, [{', '.join(start)}])")
    _spread(e, tile, out)


def _operand_a_source(chain: MmaChain) -> list[str]:
    return [step[0] for step in chain.steps]


def _text(variables: list[list[str]]) -> str:
    return "[" + ", ".join(f"[{', '.join(names)}]" for names in variables) + "]"


def emit_warpgroup_chain(e, tile: list[MmaChain]) -> None:
    """Emit a chain of ``wgmma``."""
    (chain,) = tile
    steps = ", ".join(f"({', '.join(step)})" for step in chain.steps)
    out = e.temp(f"accumulate_warpgroup_mma(g, [{steps}], [{', '.join(chain.start)}])")
    _spread(e, tile, out)


def _spread(e, tile: list[MmaChain], out: str) -> None:
    for i, target in enumerate(target for chain in tile for target in chain.targets):
        e.set(target, "f32", f"{out}[{i}]")


EMITTERS = {"mma": emit_warp_tile, "wgmma": emit_warpgroup_chain}


# -- execution ------------------------------------------------------------------------------------
@helper
def accumulate_warp_tile(
    group, lefts: list[list[MatmulOperand]], rights: list[list[MatmulOperand]], start: Sequence[np.ndarray]
):
    """The accumulator registers of a matrix of (m x 8) tiles, in row-major order, from rows of A and columns of B per step.

    ``start``: the initial accumulator registers, in the same order.
    """
    if group.options.matmul_rounding == BLAS_ORDER:
        return accumulate_warp_tile_in_order(group, lefts, rights, list(start))
    rows, columns, warps = len(lefts[0]), len(rights[0]), group.warps
    steps = [(join_rows(left), join_rows(right)) for left, right in zip(lefts, rights)]
    halves = steps[0][0].shape[1] // rows // 8
    fresh = is_zero(start)
    if (errors := native_error_bounds(steps, warps)) is not None:
        old = [] if fresh else registers_of(group, start)
        layout = warp_register_layout(warps, rows, halves, columns)
        return accumulate_in_registers(group, (rows * columns * halves * 2, warps * 8), old, layout, steps, errors)
    total = np.empty((warps, rows * halves * 8, columns * COLUMNS), np.float32)
    inside = total.view(LANE_QUAD).reshape(warps, rows, halves, 8, columns, 2).transpose(1, 4, 2, 5, 0, 3)
    if not fresh:
        inside[...] = lane_quads(group, start).reshape(inside.shape)
    accumulate_in_slices(total, [(left, right.even_columns_first) for left, right in steps], fresh=fresh)
    return from_lane_quads(group, inside)


@helper
def accumulate_warpgroup_mma(group, steps: list[tuple], start: Sequence[np.ndarray]):
    """The registers of D (64 x n) after MMAs of A (stack, 64, k) and B (stack or one per CTA, n, k); ``steps`` include scale-d."""
    if group.options.matmul_rounding == BLAS_ORDER:
        return accumulate_warpgroup_mma_in_order(group, steps, list(start))
    uniform = [_uniform(keep) for _, _, keep in steps]
    if None in uniform:
        for left, right, keep in steps:
            olds = [np.where(keep, old, np.float32(0)) for old in start]
            added, alone = (accumulate_warpgroup_mma(group, [(left, right, np.bool_(k))], olds) for k in (True, False))
            start = [np.where(keep, one, other) for one, other in zip(added, alone)]
        return start
    first = max((i for i, keep in enumerate(uniform) if not keep), default=0)
    count, columns = steps[0][0].shape[0], steps[0][1].shape[1]
    fresh = not uniform[first] or is_zero(start)
    matrices = max(right.shape[0] for _, right, _ in steps[first:])  # of which some are for all CTAs
    pairs = [(left.stacked_rows(matrices), right) for left, right, _ in steps[first:]]
    stack, is_short = pairs[0][0].shape[0], steps[0][0].kind in fp8_accumulation.KINDS
    if not is_short and (errors := native_error_bounds(pairs, stack)) is not None:
        old = [] if fresh else registers_of(group, start)
        layout = warpgroup_register_layout(stack, count // stack, columns)
        return accumulate_in_registers(group, (columns * 2, count * 32), old, layout, pairs, errors)
    pairs = [(left, right.even_columns_first) for left, right in pairs]
    total = np.empty((stack, count * 64 // stack, columns), np.float32)
    inside = total.view(LANE_QUAD).reshape(count, 4, 2, 8, columns // COLUMNS, 2).transpose(4, 2, 5, 0, 1, 3)
    if not fresh:
        inside[...] = lane_quads(group, start).reshape(inside.shape)
    if is_short:
        accumulate_fp8(total, pairs, fresh=fresh)
    else:
        accumulate_in_slices(total, pairs, fresh=fresh)
    return from_lane_quads(group, inside)


def accumulate_fp8(total: np.ndarray, pairs: list[tuple[MatmulOperand, MatmulOperand]], *, fresh: bool) -> None:
    """Accumulate fp8 MMAs into ``total``, in order; ``fresh``: ``total`` is uninitialized."""
    if fresh:
        total[...] = 0
    for left, right in pairs:
        fp8_accumulation.accumulate_fp8(total, left, right, "f32")


def _uniform(accumulate) -> bool | None:
    """Whether all threads keep their accumulators (True) or none does (False); None if they differ."""
    if np.ndim(accumulate) == 0:
        return bool(accumulate)
    return True if are_all(accumulate) else None if is_any(accumulate) else False


def is_zero(start: Sequence[np.ndarray]) -> bool:
    """Whether all values are uniform positive zeros."""
    return all(np.ndim(value) == 0 and value == 0 and not np.signbit(value) for value in start)


def lane_quads(group, values: Sequence[np.ndarray]) -> np.ndarray:
    """Registers as quads of lanes, (…, warps, 8)."""
    whole = np.empty((len(values), group.warps, 32), np.float32)
    for out, value in zip(whole, values):
        out[...] = group.to_warps(value)
    return whole.view(LANE_QUAD)


def registers_of(group, values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Registers (warps, 32) or (CTAs, threads), each contiguous."""
    return [
        value if group.dense and value.shape == group.shape and value.flags.c_contiguous else
        np.ascontiguousarray(group.to_warps(value)) for value in values
    ]  # fmt: skip


def accumulate_in_registers(
    group,
    shape: tuple[int, int],
    old: list[np.ndarray],
    layout: gemm.AccumulatorLayout,
    steps: list[tuple[MatmulOperand, MatmulOperand]],
    errors: np.ndarray,
) -> np.ndarray | list[np.ndarray]:
    """The accumulator registers, (registers, quads of lanes), after MMAs onto the ``old`` ones."""
    registers, count = shape
    whole = np.empty((registers, count + MAX_LINES_BETWEEN), LANE_QUAD)
    gemm.accumulate(whole, old, layout, steps, errors)
    return group_values(group, whole[:, :count])


@lru_cache(maxsize=64)
def warpgroup_register_layout(stack: int, each: int, columns: int) -> gemm.AccumulatorLayout:
    """The layout of wgmma accumulators in registers (columns / 8, half, e, warp, row, t); ``each`` warpgroups form one matrix."""
    register = stack * each * GROUP_WARPS * 32 + 4 * MAX_LINES_BETWEEN
    matrix, warpgroup, warp, half, four = np.ogrid[:stack, :each, :GROUP_WARPS, :2, :2]
    rows = ((matrix * each + warpgroup) * GROUP_WARPS + warp) * 32 + half * 2 * register + four * 16
    return gemm.AccumulatorLayout(
        rows.reshape(stack, -1), np.arange(columns // COLUMNS) * 4 * register, 4, register, True, register
    )


@lru_cache(maxsize=64)
def warp_register_layout(warps: int, rows: int, halves: int, columns: int) -> gemm.AccumulatorLayout:
    """The layout of mma accumulators, a matrix per warp: registers (rows, columns, half, e, warp, row, t)."""
    register = warps * 32 + 4 * MAX_LINES_BETWEEN
    warp, row, half, four = np.ogrid[:warps, :rows, :halves, :2]
    places = warp * 32 + (row * columns * halves + half) * 2 * register + four * 16
    columns_at = np.arange(columns) * halves * 2 * register
    return gemm.AccumulatorLayout(places.reshape(warps, -1), columns_at, 4, register, True, register)


def from_lane_quads(group, inside: np.ndarray) -> np.ndarray | list[np.ndarray]:
    """Registers as quads of lanes (…, 8) converted to values of the group."""
    fours = np.empty(inside.shape, LANE_QUAD)
    fours[...] = inside
    return group_values(group, fours)


def group_values(group, fours: np.ndarray) -> np.ndarray | list[np.ndarray]:
    """As ``from_lane_quads``, of an array that nobody else has."""
    registers = fours.view(np.float32).reshape(-1, *((group.shape) if group.dense else (group.warps, 32)))
    return registers if group.dense else [group.from_warps(register) for register in registers]


# -- in the order of the BLAS, which depends on the sizes of matrices: those of the instructions ---------
def accumulate_warp_tile_in_order(
    group, lefts: list[list[MatmulOperand]], rights: list[list[MatmulOperand]], accumulators: list[np.ndarray]
) -> list[np.ndarray]:
    """As ``accumulate_warp_tile``."""
    for left, right in zip(lefts, rights):
        done = 0
        for a in left:
            for b in right:
                parts = warp_accumulator_registers(group, multiply(a, b, BLAS_ORDER))
                accumulators[done : done + len(parts)] = [part + old for part, old in zip(parts, accumulators[done:])]
                done += len(parts)
    return accumulators


def accumulate_warpgroup_mma_in_order(group, steps: list[tuple], accumulators: list[np.ndarray]) -> list[np.ndarray]:
    """As ``accumulate_warpgroup_mma``."""
    for left, right, keep in steps:
        each = len(left.values) // len(right.values)
        parts = warpgroup_accumulator_registers(
            group, multiply(left, MatmulOperand(np.repeat(right.values, each, axis=0), right.kind), BLAS_ORDER)
        )
        accumulators = [np.where(keep, part + old, part) for part, old in zip(parts, accumulators)]
    return accumulators


def warp_accumulator_registers(group, accumulator):
    """A matrix (warps, m, 8) as one value per accumulator element, in register order."""
    w, m, _ = accumulator.shape
    parts = np.ascontiguousarray(accumulator.reshape(w, m // 8, 32, 2).transpose(1, 3, 0, 2))
    return [group.from_warps(parts[h, e]) for h in range(m // 8) for e in (0, 1)]


def warpgroup_accumulator_registers(group, accumulator):
    """A matrix D (n, 64, columns) as one value per register, or half of one, in order."""
    parts = accumulator.reshape(-1, 4, 2, 8, accumulator.shape[2] // 8, 4, 2)  # (n, warp, half, row, columns / 8, t, e)
    parts = np.ascontiguousarray(parts.transpose(4, 2, 6, 0, 1, 3, 5))
    return parts.reshape(-1, *group.shape)
