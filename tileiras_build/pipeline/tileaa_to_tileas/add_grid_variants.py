"""Add variants of a kernel for some grids: those that clusters of tile programs divide, and those that leave SMs without work.

In:    nv_tileas without layouts; kernels whose signature allows variants, and that have no schedule file.
Out:   before each kernel of which clusters of neighbouring tile programs take less time (``schedule/candidates.py``), a copy that
       requests ``grid_cluster``; with ``variants=2``, before it copies that request ``split_k`` if the loop along k can be divided, those
       of more CTAs first. Their names end in CLUSTERED, or in the number of parts, and their signatures name the kernel whose
       variant they are. A kernel that has an aligned variant gets none, but that variant does. A copy with ``split_k`` has the grids for
       which it takes less time (``schedule/split_k_grids.py``); where the trips of the loop follow from a parameter, each has its least value.
       With ``variants=1``, where the launcher has such copies compiled later, the kernel's signature has their grids; or the kernel becomes one.
       Before kernels whose CTAs compute tiles of two query tiles by halves, so that another CTA of the SM computes meanwhile, a copy that
       requests both at once (``query_tiles``), for grids with an SM for each tile program.
After: request_schedule, pack_fp4 (operands of dots are final). Before: split_k, plan_cta_cluster, cluster_grid, which carry them out.
Sound: the manifest records the cluster (``grid.cluster``), and a launcher takes its copy only for grids that it divides. A divided loop has
       the same result for each grid and each number of trips.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from xdsl.dialects.builtin import IntegerType, ModuleOp, StringAttr
from xdsl.ir import BlockArgument, SSAValue

from ...frontend.argument_names_in_producer import Programs, note_of
from ...ir.casting import as_op, parent_block, unwrap
from ...ir.dialects.op_definition import TableOp
from ...ir.dialects.op_traits import is_function
from ...manifest.manifest_constants import split_name
from ..analysis.integer_ranges import IntegerRanges, trips_of
from ..analysis.kernel_parameters import SIGNATURE, signature_of, variant_of
from ..analysis.op_queries import has_dots
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.candidates import NEIGHBOURS, Candidates
from ..schedule.cost import default_gpu
from ..schedule.schedule_attribute import schedule_of, set_knobs
from ..schedule.split_k_grids import PARTS, split_grids
from ..schedule.tmem_chains import TILES, may_have_query_tiles
from .divided_k_loop import split

CLUSTERED = f"__cluster{NEIGHBOURS}"
AT_ONCE = f"__query_tiles{TILES}"
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
            if (found := Candidates.of(func, job)) is None:
                _add_query_tiles(func, job)
            elif (parts := unwrap(signature_of(func)).later) > 1:
                _become_split(func, found, parts, job)
            else:
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


def _variant(func: TableOp, name: str, programs: tuple[Programs, ...] = ()) -> TableOp:
    """A copy of a kernel for some grids, whose signature names the kernel, or the one that this is a variant of."""
    copy, signature = as_op(func.clone()), unwrap(signature_of(func))
    copy.sym_name = name
    general = signature.variant_of or func.sym_name
    changed = replace(signature, variant_of=general, programs=programs, split_k=())
    copy.attributes[SIGNATURE] = StringAttr(note_of(changed))
    return copy


# ---- clusters of neighbours ------------------------------------------------------------------------
def _add_clustered(func: TableOp, found: Candidates, job: Job) -> None:
    """Add the variant whose tile programs form clusters, if it takes less time."""
    if job.target.has("tma_multicast") and found.best_neighbours() is not None:
        copy = _variant(func, func.sym_name + CLUSTERED)
        set_knobs(copy, grid_cluster=NEIGHBOURS)
        parent_block(func).insert_op_before(copy, func)


# ---- query tiles -----------------------------------------------------------------------------------
def _add_query_tiles(func: TableOp, job: Job) -> None:
    """Add the variant that computes both halves of its tiles at once, if the kernel computes one after the other."""
    gpu = default_gpu(job.target)
    if gpu is not None and may_have_query_tiles(func, job):
        copy = _variant(func, func.sym_name + AT_ONCE, (Programs(1, gpu.sm_count),))
        set_knobs(copy, query_tiles=TILES)
        parent_block(func).insert_op_before(copy, func)


# ---- parts of the loop along k ---------------------------------------------------------------------
def _add_split(func: TableOp, found: Candidates, job: Job) -> None:
    """Add, or state, a variant for each number of parts that the loop can be divided into, and that takes less time for some grids."""
    signature, is_later = unwrap(signature_of(func)), job.variants < SPLIT_LEVEL
    if (is_later and not signature.later) or default_gpu(job.target) is None:
        return
    grids = _grids(func, found, job)
    if is_later:
        func.attributes[SIGNATURE] = StringAttr(note_of(replace(signature, split_k=tuple(grids.items()))))
        return
    for parts, programs in grids.items():
        copy = _variant(func, split_name(func.sym_name, parts), programs)
        set_knobs(copy, split_k=parts)
        parent_block(func).insert_op_before(copy, func)


def _become_split(func: TableOp, found: Candidates, parts: int, job: Job) -> None:
    """Make the kernel the variant of so many parts, one of those that it was compiled with before."""
    programs, signature = _grids(func, found, job)[parts], unwrap(signature_of(func))
    func.sym_name = split_name(func.sym_name, parts)
    func.attributes[SIGNATURE] = StringAttr(note_of(replace(signature, programs=programs)))
    set_knobs(func, split_k=parts)


def _grids(func: TableOp, found: Candidates, job: Job) -> dict[int, tuple[Programs, ...]]:
    """The grids for which so many parts take less time, by parts."""
    possible = [parts for parts in PARTS if split(as_op(func.clone()), parts, job) is None]
    if not possible:
        return {}
    index, by_extent = _trips_by_extent(func)
    grids = split_grids(found, by_extent, index)
    return {parts: tuple(rows) for parts, rows in grids.items() if parts in possible}


# ---- trips -----------------------------------------------------------------------------------------
def _trips_by_extent(func: TableOp) -> tuple[int | None, dict[int, int]]:
    """The index of the parameter that determines the trips of the loop of dots, None where they are constant; and trips by its value."""
    loop = next(as_op(op) for op in func.regions[0].blocks[0].ops if has_dots(op))
    if (trips := _trips(loop, {})) is not None:
        return None, {0: trips}
    if (source := _parameter(func, loop)) is None:
        return None, {}
    return source.index, {extent: unwrap(_trips(loop, {source: (extent, extent)})) for extent in EXTENTS}


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
