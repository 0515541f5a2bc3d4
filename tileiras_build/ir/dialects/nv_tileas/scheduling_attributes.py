"""Attributes of the operations of scheduled tile IR, in groups, and those that scheduling adds to operations of nv_tileaa."""

from __future__ import annotations

from ...layouts import LinearLayout, SharedLayout
from ..attribute_kinds import BOOLS, FLAG, I32, I32S, TEXT, Declared, data_kind
from ..cute.layout_attr import LayoutAttr
from ..cute.shared_layout_attr import SharedLayoutAttr
from ..nv_tileaa.ops import SIGNS

LAYOUT = data_kind("a layout", LayoutAttr, LinearLayout)
PLACEMENT = data_kind("a placement in shared memory", SharedLayoutAttr, SharedLayout)

# Scratch shared memory of an operation; ``sync_before``: a barrier first, because another operation's scratch may still be read.
SCRATCH: Declared = {"scratch_bytes": I32.optional(), "scratch_offset": I32.optional(), "sync_before": FLAG}
# The offset of storage with the kernel's lifetime.
LIFETIME_STORAGE: Declared = {"shared_offset": I32.optional()}
# Elements per access; ``has_boundary_tile``: single ones in the boundary tile; dimensions without a partial tile.
VECTOR_WIDTH: Declared = {"vector": I32.optional()}
# The contiguous dimension of a tile of pointers; default: the last.
POINTER_VECTOR: Declared = VECTOR_WIDTH | {"fastest": I32.optional()}
# The checks of each tile index (``analysis/integer_ranges.py:Check``); default: all.
BOUNDS_CHECKS: Declared = {"index_checks": I32S.optional()}
VIEW_ACCESS: Declared = VECTOR_WIDTH | BOUNDS_CHECKS | {"has_boundary_tile": FLAG, "in_bounds": BOOLS.optional()}
# The memory does not change while the kernel runs.
READ_ONLY: Declared = {"read_only": FLAG}
# A basic block ends behind the load: what is computed afterwards is not issued before it.
ENDS_BLOCK: Declared = {"ends_block": FLAG}
# The instruction of a copy through shared memory or of a reduction in memory; default: the plain one.
LDMATRIX, LD_SHARED, STMATRIX, ST_SHARED = "ldmatrix", "ld.shared", "stmatrix", "st.shared"
ATOM, ATOM_LOOP = "atom", "atom.cas"
COPY_ATOM: Declared = {"copy_atom": TEXT.optional()}
REDUCE_ATOM: Declared = {"reduce_atom": TEXT.optional()}
# Lowering of a dot: promotion of partial accumulators, a left operand in registers, two fp4 per byte.
MMA: Declared = SIGNS | {
    "fast_acc": FLAG,
    "packed": FLAG,
    "promotion": I32S.optional(),
    "a_via_registers": FLAG,
    # Loop iterations per tile of scales.
    "scale_steps": I32.optional(1),
}
# Its operands in shared memory.
OPERAND_PLACEMENTS: Declared = {"lhs_placement": PLACEMENT.optional(), "rhs_placement": PLACEMENT}

# Attributes that scheduling adds to operations of nv_tileaa.
SCHEDULING_ATTRIBUTES: dict[str, Declared] = {
    # ``steps``: consecutive loop iterations that load the same tile.
    # ``cache``: the cache hint in PTX's spelling. ``lazy``: each access is issued where its elements are used, while the
    # next one is in flight. ``full_tile_version``: a second version of the code, without bounds checks, for tiles inside the tensor.
    "tiled_load": VIEW_ACCESS
    | {"cache": TEXT.optional(), "tma": FLAG, "swizzle": TEXT.optional(), "steps": I32.optional(1)}
    | {"lazy": FLAG, "full_tile_version": FLAG}
    | READ_ONLY
    | ENDS_BLOCK
    # TMA loads it ahead, and threads read it from its stage, ``transposed`` to write it along another dimension.
    | {"read_by_threads": FLAG, "transposed": FLAG},
    "tiled_store": VIEW_ACCESS,
    "tiled_atomic_rmw": VIEW_ACCESS | REDUCE_ATOM,
    "multimem_load_reduce": VIEW_ACCESS,
    "multimem_reduce": VIEW_ACCESS,
    "multimem_store": VIEW_ACCESS,
    "load": POINTER_VECTOR | READ_ONLY | ENDS_BLOCK,
    "store": POINTER_VECTOR,
    "atomic_rmw": SCRATCH | REDUCE_ATOM | POINTER_VECTOR,
    "atomic_cas": SCRATCH,
    "reduce": SCRATCH,
    "scan": SCRATCH,
    # Bits of an element's packed index that index the passes of a tile through scratch.
    "extract_slice": SCRATCH | {"chunk_bits": I32.optional(0)},
    "insert_slice": SCRATCH | {"chunk_bits": I32.optional(0)},
    "alloca": LIFETIME_STORAGE,
    # The row of its instruction; the split of warps over m, n and batch; columns of tensor memory.
    "dot": MMA
    | SCRATCH
    | {
        "mma": TEXT.optional(),
        "warps": I32S.optional(),
        "tmem_columns": I32.optional(),
        # The accumulator stays in tensor memory, where each iteration rescales it; the left operand stays in shared memory.
        "rescaled": FLAG,
        "stationary": FLAG,
        # Four threads share each row of what tensor memory holds.
        "shares_rows": FLAG,
        # The left operand overwrites the accumulator that it is computed from.
        "overlaid": FLAG,
        # The operands that threads write to shared memory.
        "stored": I32S.optional(),
        # Their left one has its stages in tensor memory instead.
        "staged": FLAG,
        # Those of them that cp.async copies there, iterations ahead.
        "copied": I32S.optional(),
        # A pair of CTAs computes it as one MMA.
        "pair": FLAG,
        # Chunks along k in which operands of FMA dots pass through scratch.
        "k_chunks": I32.optional(1),
    },
}
