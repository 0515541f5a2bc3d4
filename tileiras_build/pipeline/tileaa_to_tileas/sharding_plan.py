"""How a kernel's tiles are divided: from each tile that is written to all that it follows from."""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.casting import given, owner, row
from ...ir.dialects.fast_xdsl import walk
from ...ir.dialects.op_definition import TableOperation
from ...ir.dialects.op_traits import is_exchange, is_leave, is_store, is_structured
from ..analysis.memory_order import is_unordered, semantic_of
from ..analysis.op_queries import is_tile
from ..analysis.sharding_propagation import VIEW_ACCESSES, Division, Undivided, is_remakable, part_type, shape_of
from ..analysis.token_ordered_accesses import ordered_pairs
from ..job import Job
from .rewriter import insert_before

ONCE = ("nv_tileas.print", "nv_tileas.alloca", "nv_tileas.fence_alias")
# Rows and columns from which on a product has the instruction of a kind (by the targets' names of the kinds), then
# those from which on it runs at full speed: tcgen05 takes as long for 64 rows as for 128.
STEPS = {"wgmma": ((64, 8),), "tcgen05": ((64, 16), (128, 16))}
FRAGMENTS = ((16, 8),)


def separate(func: Operation) -> None:
    """Each place where control flow takes a tile that is cheap to compute gets a tile of its own."""
    for op in walk(func):
        if is_structured(op) or is_leave(op):
            for index, operand in enumerate(op.operands):
                if is_tile(operand) and is_remakable(operand):
                    op.operands[index] = insert_before(owner(operand).clone(), op)


def best_division(func: Operation, job: Job, most: int) -> Division:
    """A division over as many CTAs as possible, at most ``most``; raises Undivided for the reason that most fails."""
    reason: Undivided | None = None
    while most > 1:
        try:
            return division_of(func, job, most)
        except Undivided as failed:
            reason, most = reason or failed, most // 2
    raise given(reason)


def _check_once(func: Operation) -> None:
    """Nothing that must happen once may stand where every CTA does it."""
    for op in walk(func):
        if op.name in ONCE:
            raise Undivided(f"{op.name} would happen in each CTA")
        if not is_unordered(op):
            raise Undivided(f"{op.name} is {semantic_of(op)}, not weak")


def division_of(func: Operation, job: Job, ctas: int) -> Division:
    """From each tile that is written to all that it follows from; raises Undivided where that is not all that is costly."""
    _check_once(func)
    division = Division(ctas)
    for op in walk(func):
        if (is_store(op) or is_exchange(op)) and is_tile(row(op).value) and op not in division.operations:
            division = _extended(division, op, job) or division
    for op in walk(func):
        if is_exchange(op) and op not in division.operations:
            raise Undivided(f"{op.name} would happen in each CTA")
        if op.name == "nv_tileas.dot":
            _check_product(row(op), division, job)
    if not division.operations:
        raise Undivided("no tile that the kernel writes has equal parts that can be computed apart")
    _check_order(func, division)
    return division


def _check_product(op: TableOperation, division: Division, job: Job) -> None:
    if op not in division.operations:
        raise Undivided("a product would be computed by each CTA")
    if _speed(_part_shape(op, division), job) < _speed(shape_of(op.result), job):
        raise Undivided(f"parts of a product are too small for {job.target.tier.matrix_product}")


def _extended(division: Division, op: TableOperation, job: Job) -> Division | None:
    """The division with what ``op`` writes divided along the best of its dimensions; None where none can be."""
    found = []
    for dim in range(len(shape_of(op.value))):
        attempt = division.copy()
        try:
            attempt.divide(op, op.value, dim)
        except Undivided:
            continue
        found.append((_fitness(attempt, job), shape_of(op.value)[dim], -dim, attempt))
    return max(found, key=lambda row: row[:3])[3] if found else None


def _fitness(division: Division, job: Job) -> tuple[int, int]:
    """How many products are divided, and how well the target's best instruction still fits them."""
    products = [row(op) for op in division.operations if op.name == "nv_tileas.dot"]
    return len(products), sum(_speed(_part_shape(op, division), job) for op in products)


def _part_shape(op: TableOperation, division: Division) -> tuple[int, ...]:
    return tuple(part_type(op.result.type, division.dims[op.result], division.ctas).get_shape())


def _speed(shape: tuple[int, ...], job: Job) -> int:
    """How many of the steps of the target's kind of product a tile of a result has passed."""
    steps = STEPS.get(job.target.tier.matrix_product, FRAGMENTS)
    return sum(shape[-2] % rows == 0 and shape[-1] % columns == 0 for rows, columns in steps)


def _check_order(func: Operation, division: Division) -> None:
    for first, second in ordered_pairs(func):
        if not _same_part(first, second, division):
            raise Undivided(f"{second.name} comes after {first.name}, whose bytes another CTA may have")


def _same_part(first: TableOperation, second: TableOperation, division: Division) -> bool:
    """Whether whatever bytes two accesses share, one CTA accesses in both."""
    if any(op.name not in VIEW_ACCESSES or op not in division.operations for op in (first, second)):
        return False
    types, dims = [op.view.type for op in (first, second)], [divided_dim(op, division) for op in (first, second)]
    key = [(type.kind.data, type.tile, type.dim_map, type.steps, dim) for type, dim in zip(types, dims)]
    apart = types[0].kind.data != "gather" and types[0].steps[dims[0]] >= types[0].tile[dims[0]]
    return apart and key[0] == key[1] and first.view.owner.operands[0] is second.view.owner.operands[0]


def divided_dim(op: TableOperation, division: Division) -> int:
    """The dimension along which the tile of a view access is divided."""
    if op.value in division.dims:
        return division.dims[op.value]
    return next(dim for (user, index), dim in division.remade.items() if user is op and op.operands[index] is op.value)
