"""The operations of alias-aware tile IR, one row each (reference: tileir-internals, section 2.3).

Tiles are ``tensor`` values; a rank-0 tile is a scalar. Integer arithmetic, comparisons and selections are ``arith``,
the transcendental functions are ``math``.
"""

from __future__ import annotations

from ..attribute_kinds import FLAG, I32, I32S, I64, TEXT, Declared, named_kind
from ..op_definition import TableOp, define
from ..op_traits import (
    CHEAP,
    CUSTOM_LAYOUT,
    ELEMENTWISE,
    ENTRY,
    NO_TILES,
    RETURN,
    LayoutTrait,
    MemoryEffect,
    MmaRole,
    OpTraits,
    RegionKind,
    ValueForwarding,
    region_traits,
)
from .memory_ops import (  # noqa: F401 - rows of OPERATIONS
    HINTS,
    AtomicCasOp,
    AtomicRmwOp,
    LoadOp,
    MultimemLoadReduceOp,
    MultimemReduceOp,
    MultimemStoreOp,
    StoreOp,
    TiledAtomicRmwOp,
    TiledLoadOp,
    TiledStoreOp,
)

ASSUMPTION = named_kind("a predicate", *(f"cuda_tile.{name}" for name in ("div_by", "bounded", "same_elements")))
CONTENTS = named_kind("a constant", "cuda_tile.dense")
SPECIFICATION = named_kind("a launch", "nv_tileaa.kernel_spec")
SCHEDULE = named_kind("a dictionary", "dictionary")
ARGUMENTS = named_kind("an array of dictionaries", "array")

# Attributes of many rows.
ROUNDING: Declared = {"rounding_mode": TEXT.optional("nearest_even")}
FLUSHING: Declared = {"flush_to_zero": FLAG}
SIGNS: Declared = {"signedness_lhs": TEXT.optional("signed"), "signedness_rhs": TEXT.optional("signed")}

COMBINER = region_traits(RegionKind.COMBINER)

AddFOp = define(
    "nv_tileaa.addf", "lhs rhs", "result", "float lhs + rhs", attributes=ROUNDING | FLUSHING, op_traits=ELEMENTWISE
)
SubFOp = define(
    "nv_tileaa.subf",
    "lhs rhs",
    "result",
    "floating-point difference",
    attributes=ROUNDING | FLUSHING,
    op_traits=ELEMENTWISE,
)
MulFOp = define(
    "nv_tileaa.mulf", "lhs rhs", "result", "float lhs * rhs", attributes=ROUNDING | FLUSHING, op_traits=ELEMENTWISE
)
DivFOp = define(
    "nv_tileaa.divf",
    "lhs rhs",
    "result",
    "floating-point quotient",
    attributes=ROUNDING | FLUSHING,
    op_traits=ELEMENTWISE,
)
RemFOp = define(
    "nv_tileaa.remf", "lhs rhs", "result", "floating-point remainder, sign of the dividend", op_traits=ELEMENTWISE
)
FmaOp = define(
    "nv_tileaa.fma",
    "lhs rhs acc",
    "result",
    "lhs * rhs + acc with one rounding",
    attributes=ROUNDING | FLUSHING,
    op_traits=ELEMENTWISE,
)
SqrtOp = define(
    "nv_tileaa.sqrt", "source", "result", "square root", attributes=ROUNDING | FLUSHING, op_traits=ELEMENTWISE
)
RsqrtOp = define(
    "nv_tileaa.rsqrt", "source", "result", "reciprocal square root", attributes=FLUSHING, op_traits=ELEMENTWISE
)
Exp2Op = define(
    "nv_tileaa.exp2", "source", "result", "2 to the power of source", attributes=FLUSHING, op_traits=ELEMENTWISE
)
MulHiUIOp = define("nv_tileaa.mulhiui", "lhs rhs", "result", "upper half of unsigned lhs * rhs", op_traits=ELEMENTWISE)
FpToFpOp = define(
    "nv_tileaa.fp_to_fp",
    "source",
    "result",
    "conversion between floating-point types",
    attributes=ROUNDING,
    op_traits=OpTraits(LayoutTrait.ELEMENTWISE, forwarding=ValueForwarding.ROUNDING),
)

# Matmul, reductions and scans.
DotOp = define(
    "nv_tileaa.dot",
    "lhs rhs acc lhs_scale? rhs_scale?",
    "result",
    "matrix multiply-accumulate, batched at rank 3",
    attributes=SIGNS | {"fast_acc": FLAG},
    op_traits=OpTraits(LayoutTrait.CUSTOM, mma=MmaRole.MULTIPLY),
)
ReduceOp = define(
    "nv_tileaa.reduce",
    "sources*",
    "results*",
    "combine the elements along an axis",
    regions=1,
    attributes={"axis": I32},
    op_traits=COMBINER,
)
ScanOp = define(
    "nv_tileaa.scan",
    "sources*",
    "results*",
    "inclusive prefix combination along an axis",
    regions=1,
    attributes={"axis": I32, "reverse": FLAG},
    op_traits=COMBINER,
)

# Shapes and construction.
SplatOp = define(
    "nv_tileaa.splat",
    "source",
    "result",
    "a tile whose elements all are one scalar",
    op_traits=OpTraits(LayoutTrait.FREE, forwarding=ValueForwarding.PRESERVES_ZERO, rematerializable=True),
)
BroadcastOp = define(
    "nv_tileaa.broadcast",
    "source",
    "result",
    "repeat along dimensions of extent one",
    op_traits=OpTraits(LayoutTrait.SHAPE_DERIVED, forwarding=ValueForwarding.PRESERVES_ZERO, rematerializable=True),
)
ViewOp = define(
    "nv_tileaa.view",
    "source",
    "result",
    "the same elements, in row-major order, in another shape",
    op_traits=OpTraits(
        LayoutTrait.SHAPE_DERIVED,
        forwarding=ValueForwarding.VIEW_LIKE | ValueForwarding.PRESERVES_ZERO,
        rematerializable=True,
    ),
)
PermuteOp = define(
    "nv_tileaa.permute",
    "source",
    "result",
    "reorder dimensions by permutation",
    attributes={"permutation": I32S},
    op_traits=OpTraits(
        LayoutTrait.SHAPE_DERIVED,
        forwarding=ValueForwarding.VIEW_LIKE | ValueForwarding.PRESERVES_ZERO,
        rematerializable=True,
    ),
)
CatOp = define(
    "nv_tileaa.cat", "lhs rhs", "result", "join two tiles along dim", attributes={"dim": I64}, op_traits=CUSTOM_LAYOUT
)
ExtractSliceOp = define(
    "nv_tileaa.extract_slice", "source indices*", "result", "one sub-tile, by its index", op_traits=CUSTOM_LAYOUT
)
InsertSliceOp = define(
    "nv_tileaa.insert_slice", "source destination indices*", "result", "replace one sub-tile", op_traits=CUSTOM_LAYOUT
)
MakeRangeOp = define(
    "nv_tileaa.make_range", "", "result", "0, 1, 2, …", op_traits=OpTraits(LayoutTrait.FREE, rematerializable=True)
)
BitcastOp = define("nv_tileaa.bitcast", "source", "result", "the same bits as another element type", op_traits=CHEAP)
ReinterpretOp = define(
    "nv_tileaa.reinterpret",
    "source",
    "result",
    "the bytes of a 1-D tile as elements of another width",
    op_traits=CUSTOM_LAYOUT,
)

# Pointers and views.
AddPtrOp = define(
    "nv_tileaa.addptr", "pointer offset", "result", "advance pointers by offsets in elements", op_traits=CHEAP
)
IntToPtrOp = define("nv_tileaa.int_to_ptr", "source", "result", "an address as a pointer", op_traits=CHEAP)
PtrToIntOp = define("nv_tileaa.ptr_to_int", "source", "result", "a pointer as an address", op_traits=ELEMENTWISE)
MakeMemRefOp = define(
    "nv_tileaa.make_memref", "base sizes* strides*", "result", "a strided object from its parts", op_traits=NO_TILES
)
BlockTileOp = define(
    "nv_tileaa.block_tile", "source", "result", "cut a memory reference into tiles", op_traits=NO_TILES
)
GetDimSizeOp = define(
    "nv_tileaa.get_dim_size", "source", "results*", "the extents of a memory reference", op_traits=NO_TILES
)
GetTileCountOp = define(
    "nv_tileaa.get_tile_count", "source", "results*", "how many tiles a view has in each dimension", op_traits=NO_TILES
)
GetGlobalOp = define(
    "nv_tileaa.get_global",
    "",
    "result",
    "the address of a global variable",
    attributes={"symbol": TEXT},
    op_traits=NO_TILES,
)
AllocaOp = define(
    "nv_tileaa.alloca",
    "",
    "result",
    "storage for the life of the tile program",
    pure=False,
    attributes={"num_elem": I64, "alignment": I64, "global": FLAG},
    op_traits=NO_TILES,
)

# Tokens, hints, diagnostics.
CreateMemTokenOp = define("nv_tileaa.create_mem_token", "", "result", "a token that orders nothing", op_traits=NO_TILES)
JoinMemTokenOp = define("nv_tileaa.join_mem_token", "tokens*", "result", "after all of these", op_traits=NO_TILES)
AssumeOp = define(
    "nv_tileaa.assume",
    "source",
    "result",
    "the same value with facts attached",
    attributes={"predicate": ASSUMPTION},
    op_traits=OpTraits(LayoutTrait.ELEMENTWISE, forwarding=ValueForwarding.EXTENSION, rematerializable=True),
)
AssertOp = define(
    "nv_tileaa.assert",
    "condition",
    "",
    "stop the kernel unless all elements hold",
    pure=False,
    attributes={"message": TEXT},
    op_traits=CUSTOM_LAYOUT,
)
PrintOp = define(
    "nv_tileaa.print",
    "values* token?",
    "result_token",
    "print values from the device",
    pure=False,
    attributes={"format": TEXT},
    op_traits=OpTraits(LayoutTrait.CUSTOM, MemoryEffect.OUTPUT),
)
FenceAliasOp = define(
    "nv_tileaa.fence_alias",
    "token",
    "result_token",
    "order accesses to the same bytes by other names",
    pure=False,
    op_traits=OpTraits(LayoutTrait.NONE, MemoryEffect.FENCE),
)
GridDependencyOp = define(
    "nv_tileaa.grid_dependency",
    "token?",
    "result_token",
    "programmatic dependent launch control",
    pure=False,
    attributes={"action": TEXT},
    op_traits=OpTraits(LayoutTrait.NONE, MemoryEffect.GRID),
)

# Functions, grid and control flow that MLIR's scf cannot express (early exits).
# Requests of a kernel, decisions of passes, and its launch, if known.
KERNEL: Declared = {
    "sym_name": TEXT,
    "optimization_hints": HINTS.optional(),
    "num_warps": I32.optional(),
    "producer_warps": I32.optional(0),
    "partition_registers": I32S.optional(),
    "ctas_of_stages": I32.optional(1),
    "schedule": SCHEDULE.optional(),
    "num_ctas": I32.optional(),
    "num_ctas_declined": TEXT.optional(),
    "cluster_barriers": FLAG,
    "grid_cluster": I32.optional(),
    "grid_swizzle": I32.optional(1),
    "grid_reversed": I32.optional(),
    "grid_swizzle_declined": TEXT.optional(),
    "persistent_axes": I32S.optional(),
    "persistent_declined": TEXT.optional(),
    "shared_bytes": I32.optional(0),
    "shared_memory_fallback": TEXT.optional(),
    "nv_tileaa.kernel_spec": SPECIFICATION.optional(),
    "nv_tileaa.target_spec": TEXT.optional(),
    "arg_attrs": ARGUMENTS.optional(),
    "signature": TEXT.optional(),
}
FuncOp = define("nv_tileaa.func", "", "", "a kernel", pure=False, regions=1, attributes=KERNEL, op_traits=ENTRY)
GlobalOp = define(
    "nv_tileaa.global",
    "",
    "",
    "a variable in global memory",
    pure=False,
    attributes={"sym_name": TEXT, "value": CONTENTS, "alignment": I64.optional(), "constant": FLAG},
    op_traits=NO_TILES,
)
ReturnOp = define(
    "nv_tileaa.return", "values*", "", "end of a function; a kernel has no values", terminator=True, op_traits=RETURN
)
GetProgramIdOp = define(
    "nv_tileaa.get_program_id",
    "",
    "result",
    "the position of this tile program in the grid",
    attributes={"axis": I32},
    op_traits=NO_TILES,
)
GetNumProgramsOp = define(
    "nv_tileaa.get_num_programs", "", "result", "the extent of the grid", attributes={"axis": I32}, op_traits=NO_TILES
)
ForOp = define(
    "nv_tileaa.for",
    "lower upper step initial*",
    "results*",
    "counted loop",
    pure=False,
    regions=1,
    attributes={"unsigned": FLAG},
    op_traits=region_traits(RegionKind.FOR),
)
LoopOp = define(
    "nv_tileaa.loop",
    "initial*",
    "results*",
    "loop until break",
    pure=False,
    regions=1,
    op_traits=region_traits(RegionKind.LOOP),
)
IfOp = define(
    "nv_tileaa.if",
    "condition",
    "results*",
    "two-way choice",
    pure=False,
    regions=2,
    op_traits=region_traits(RegionKind.IF),
)
YieldOp = define(
    "nv_tileaa.yield",
    "values*",
    "",
    "end of a region with its values",
    terminator=True,
    op_traits=region_traits(RegionKind.YIELD),
)
BreakOp = define(
    "nv_tileaa.break",
    "values*",
    "",
    "leave the nearest loop",
    terminator=True,
    op_traits=region_traits(RegionKind.BREAK),
)
ContinueOp = define(
    "nv_tileaa.continue",
    "values*",
    "",
    "next iteration of the nearest loop",
    terminator=True,
    op_traits=region_traits(RegionKind.CONTINUE),
)

OPERATIONS: tuple[type[TableOp], ...] = tuple(
    value
    for value in list(globals().values())
    if isinstance(value, type) and issubclass(value, TableOp) and value is not TableOp
)
