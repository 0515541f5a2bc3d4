"""Add variants of a kernel for some grids: those that clusters of tile programs divide, and those of few tile programs.

In:    nv_tileas without layouts; kernels whose signature allows variants, and that have no schedule file.
Out:   before each kernel of which clusters of neighbouring tile programs take less time (``schedule/candidates.py``), a copy that
       requests ``grid_cluster``; with ``variants=2``, before it copies that request ``split_k`` if the loop along k can be divided, those
       of more CTAs first. Their names end in CLUSTERED, or SPLIT and the number of CTAs, and their signatures name the kernel whose
       variant they are. A kernel that has an aligned variant gets none, but that variant does. A copy with ``split_k`` has
       ``most_programs``; where the trips of the loop follow from a parameter, it assumes of it the least value for which it takes less time.
After: request_schedule, pack_fp4 (operands of dots are final). Before: split_k, plan_cta_cluster, cluster_grid, which carry them out.
Sound: the manifest records the cluster (``grid.cluster``), the most tile programs and the assumption. A launcher takes a copy only for
       grids and arguments that satisfy them, and the kernel for all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xdsl.dialects.builtin import IntegerType, ModuleOp, StringAttr
from xdsl.ir import BlockArgument, SSAValue

from ...frontend.argument_names_in_producer import note_of
from ...ir.casting import as_op, parent_block, unwrap
from ...ir.dialects.cuda_tile.attrs import BoundedAttr
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ..analysis.integer_ranges import IntegerRanges, trips_of
from ..analysis.kernel_parameters import SIGNATURE, signature_of, variant_of
from ..analysis.op_queries import has_dots
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.candidates import NEIGHBOURS, Candidates
from ..schedule.cost import default_gpu
from ..schedule.schedule_attribute import schedule_of, set_knobs
from .divided_k_loop import split

AssumeOp = COUNTERPARTS["nv_tileaa.assume"]
CLUSTERED, SPLIT = f"__cluster{NEIGHBOURS}", "__split"
PARTS = (4, 2)  # CTAs of a tile program
SPLIT_LEVEL = 2  # of the option ``variants``
# Of the parameter that the trips follow from: an extent along k.
EXTENTS = tuple(1 << exponent for exponent in range(6, 16))


class AddGridVariants(EdgePass):
    """Kernels for some grids."""

    name = "tileas-add-grid-variants"

    def run(self, module: ModuleOp, job: Job) -> None:
        if job.schedule or not job.target.has("cluster"):
            return
        for func in list(_most_specific(module)):
            if (found := Candidates.of(func, job)) is not None:
                _add_split(func, found, job)
                _add_clustered(func, found, job)


def _most_specific(module: ModuleOp) -> Iterator[TableOp]:
    """The kernels that may have variants, but none so far except for some grids."""
    kernels = [op for op in module.body.block.ops if is_function(op) and not schedule_of(op).grid_cluster]
    general = set(map(variant_of, kernels))
    for func in kernels:
        signature = signature_of(func)
        if signature is not None and signature.variants and as_op(func).sym_name not in general:
            yield as_op(func)


def _variant(func: TableOp, suffix: str, most_programs: int | None = None) -> TableOp:
    """A copy of a kernel whose signature names the kernel, or the one that this is a variant of. ``most_programs``: ``Parameters``."""
    copy, signature = as_op(func.clone()), unwrap(signature_of(func))
    copy.sym_name = func.sym_name + suffix
    general, most = signature.variant_of or func.sym_name, most_programs or signature.most_programs
    copy.attributes[SIGNATURE] = StringAttr(note_of(replace(signature, variant_of=general, most_programs=most)))
    return copy


# ---- clusters of neighbours ------------------------------------------------------------------------
def _add_clustered(func: TableOp, found: Candidates, job: Job) -> None:
    """Add the variant whose tile programs form clusters, if it takes less time."""
    if job.target.has("tma_multicast") and found.best_neighbours() is not None:
        copy = _variant(func, CLUSTERED)
        set_knobs(copy, grid_cluster=NEIGHBOURS)
        parent_block(func).insert_op_before(copy, func)


# ---- parts of the loop along k ---------------------------------------------------------------------
def _add_split(func: TableOp, found: Candidates, job: Job) -> None:
    """Add a variant for each number of parts that the loop can be divided into, and that takes less time for some trips."""
    gpu = default_gpu(job.target)
    for parts in PARTS if job.variants >= SPLIT_LEVEL and gpu is not None else ():
        if split(as_op(func.clone()), parts, job) is None:
            _add_parts(func, found, parts, unwrap(gpu).sm_count // parts)


def _add_parts(func: TableOp, found: Candidates, parts: int, most: int) -> None:
    """Add the variant of so many parts, if there are trips enough for it, or may be."""
    loop = next(as_op(op) for op in func.regions[0].blocks[0].ops if has_dots(op))
    if (trips := _trips(loop, {})) is not None:
        if found.gains_by_split(parts, trips):
            _insert(func, parts, most)
    elif (source := _parameter(func, loop)) is not None:
        by_extent = ((extent, unwrap(_trips(loop, {source: (extent, extent)}))) for extent in EXTENTS)
        least = next((extent for extent, trips in by_extent if found.gains_by_split(parts, trips)), None)
        if least is not None:
            _assume(_insert(func, parts, most), source.index, least)


def _insert(func: TableOp, parts: int, most: int) -> TableOp:
    copy = _variant(func, f"{SPLIT}{parts}", most_programs=most)
    set_knobs(copy, split_k=parts)
    parent_block(func).insert_op_before(copy, func)
    return copy


def _assume(copy: TableOp, index: int, extent: int) -> None:
    """Let a parameter be at least so large."""
    block = copy.regions[0].blocks[0]
    parameter = block.args[index]
    op = AssumeOp.make([parameter], [parameter.type], {"predicate": BoundedAttr(extent, None)})
    parameter.replace_uses_with_if(op.results[0], lambda use: use.operation is not op)
    block.insert_op_before(op, unwrap(block.first_op))


# ---- trips -----------------------------------------------------------------------------------------
def _parameter(func: TableOp, loop: TableOp) -> BlockArgument | None:
    """The parameter that alone determines the trips of a loop."""
    integers = (one for one in func.regions[0].blocks[0].args if isinstance(one.type, IntegerType))
    return next((one for one in integers if _trips(loop, {one: (EXTENTS[-1], EXTENTS[-1])}) is not None), None)


def _trips(loop: TableOp, known: dict[SSAValue, tuple[int, int]]) -> int | None:
    """The trips of a counted loop; None where ``known`` ranges leave more than one number."""
    ranges = IntegerRanges()
    ranges.known |= known

    def number(value: SSAValue) -> int | None:
        least, most = ranges(value)
        return least if least == most else None

    return trips_of(loop, number)
