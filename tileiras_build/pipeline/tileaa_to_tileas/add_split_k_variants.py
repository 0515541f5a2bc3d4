"""Add split-K variants of a kernel: one more kernel for grids of at most so many tile programs, where these would leave SMs without work.

In:    nv_tileas without layouts; kernels whose signature allows variants, and that have no schedule file; ``variants=2``.
Out:   before each kernel whose loop along k can be divided, and its cluster variant, copies that request ``split_k``, those of more CTAs
       first. Their names end in SUFFIX and the number of CTAs; their signatures have ``most_programs``, and name the kernel. Where the
       trips of the loop follow from a parameter, an assumption on it is the least one for which a copy takes less time.
After: request_schedule, add_cluster_variants. Before: split_k, which divides the loops.
Sound: a divided loop gives the same result for each grid and each number of trips. The assumption is in the launch manifest, and
       launchers check it as any other.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import BlockArgument, SSAValue

from ...ir.casting import as_op, parent_block, unwrap
from ...ir.dialects.cuda_tile.attrs import BoundedAttr
from ...ir.dialects.nv_tileas.ops import COUNTERPARTS
from ...ir.dialects.op_definition import TableOp
from ..analysis.integer_ranges import IntegerRanges, trips_of
from ..analysis.op_queries import has_dots
from ..job import Job
from ..pass_manager import EdgePass
from ..schedule.candidates import Candidates
from ..schedule.cost import default_gpu
from ..schedule.schedule_attribute import set_knobs
from .add_cluster_variants import SUFFIX as CLUSTERED
from .add_cluster_variants import most_specific, variant_of_kernel
from .divided_k_loop import split

AssumeOp = COUNTERPARTS["nv_tileaa.assume"]
SUFFIX = "__split"
PARTS = (4, 2)  # CTAs of a tile program
LEVEL = 2  # of the option ``variants``
# Of the parameter that the trips follow from: an extent along k.
EXTENTS = tuple(1 << exponent for exponent in range(6, 16))


class AddSplitKVariants(EdgePass):
    """Kernels for grids of few tile programs."""

    name = "tileas-add-split-k-variants"

    def run(self, module: ModuleOp, job: Job) -> None:
        gpu = default_gpu(job.target)
        if job.schedule or job.variants < LEVEL or gpu is None or not job.target.has("cluster"):
            return
        for func in list(most_specific(module)):
            found = Candidates.of(func, job)
            for parts in PARTS if found is not None else ():
                if split(as_op(func.clone()), parts, job) is None:
                    _add(func, unwrap(found), parts, gpu.sm_count // parts)


def _add(func: TableOp, found: Candidates, parts: int, most: int) -> None:
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
    copy = variant_of_kernel(func, f"{SUFFIX}{parts}", most_programs=most)
    set_knobs(copy, split_k=parts)
    clustered, before = func.sym_name + CLUSTERED, func.prev_op
    parent_block(func).insert_op_before(
        copy, before if before is not None and as_op(before).sym_name == clustered else func
    )
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
