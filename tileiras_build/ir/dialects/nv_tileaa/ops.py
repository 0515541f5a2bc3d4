"""The operations of alias-aware tile IR, one row each (reference: tileir-internals, section 2.3).

Tiles are ``tensor`` values; a rank-0 tile is a scalar. Integer arithmetic, comparisons and selections are ``arith``,
the transcendental functions are ``math``.
"""

from __future__ import annotations

from ..attribute_kinds import FLAG, I32, I32S, I64, TEXT, Declared, named_kind
from ..op_definition import TableOperation, define
from ..op_traits import CHEAP, ELEMENTWISE, ENTRY, OWN, RETURN, SCALAR, Effect, Facts, Keeps, Layouts, Structure, flow

HINTS = named_kind("optimization hints", "cuda_tile.optimization_hints")
ASSUMPTION = named_kind("a predicate", *(f"cuda_tile.{name}" for name in ("div_by", "bounded", "same_elements")))
CONTENTS = named_kind("a constant", "cuda_tile.dense")
SPECIFICATION = named_kind("a launch", "nv_tileaa.kernel_spec")
ARGUMENTS = named_kind("an array of dictionaries", "array")

# Attributes that many rows have.
ROUNDING: Declared = {"rounding_mode": TEXT.optional("nearest_even")}
FLUSHING: Declared = {"flush_to_zero": FLAG}
ORDER: Declared = {"mem_semantic": TEXT.optional("weak"), "mem_scope": TEXT.optional("device")}
ACCESS: Declared = ORDER | {"optimization_hints": HINTS.optional()}
UPDATE: Declared = {"mode": TEXT, **ORDER}
SIGNS: Declared = {"signedness_lhs": TEXT.optional("signed"), "signedness_rhs": TEXT.optional("signed")}

# Facts that several rows have: reading and writing through pointers, and through views.
GATHER, SCATTER = Facts(Layouts.POINTER, Effect.READ), Facts(Layouts.POINTER, Effect.WRITE)
EXCHANGE = Facts(Layouts.POINTER, Effect.READ | Effect.WRITE)
TILE_READ, TILE_WRITTEN = Facts(Layouts.OWN, Effect.READ), Facts(Layouts.OWN, Effect.WRITE)
TILE_UPDATED = Facts(Layouts.OWN, Effect.READ | Effect.WRITE)
COMBINED = flow(Structure.COMBINATION)

AddFOp = define(
    "nv_tileaa.addf", "lhs rhs", "result", "floating-point sum", attributes=ROUNDING | FLUSHING, facts=ELEMENTWISE
)
SubFOp = define(
    "nv_tileaa.subf",
    "lhs rhs",
    "result",
    "floating-point difference",
    attributes=ROUNDING | FLUSHING,
    facts=ELEMENTWISE,
)
MulFOp = define(
    "nv_tileaa.mulf", "lhs rhs", "result", "floating-point product", attributes=ROUNDING | FLUSHING, facts=ELEMENTWISE
)
DivFOp = define(
    "nv_tileaa.divf", "lhs rhs", "result", "floating-point quotient", attributes=ROUNDING | FLUSHING, facts=ELEMENTWISE
)
RemFOp = define(
    "nv_tileaa.remf", "lhs rhs", "result", "floating-point remainder, sign of the dividend", facts=ELEMENTWISE
)
FmaOp = define(
    "nv_tileaa.fma",
    "lhs rhs acc",
    "result",
    "lhs * rhs + acc with one rounding",
    attributes=ROUNDING | FLUSHING,
    facts=ELEMENTWISE,
)
SqrtOp = define("nv_tileaa.sqrt", "source", "result", "square root", attributes=ROUNDING | FLUSHING, facts=ELEMENTWISE)
RsqrtOp = define(
    "nv_tileaa.rsqrt", "source", "result", "reciprocal square root", attributes=FLUSHING, facts=ELEMENTWISE
)
Exp2Op = define(
    "nv_tileaa.exp2", "source", "result", "2 to the power of source", attributes=FLUSHING, facts=ELEMENTWISE
)
MulHiUIOp = define("nv_tileaa.mulhiui", "lhs rhs", "result", "upper half of the unsigned product", facts=ELEMENTWISE)
FpToFpOp = define(
    "nv_tileaa.fp_to_fp",
    "source",
    "result",
    "conversion between floating-point types",
    attributes=ROUNDING,
    facts=Facts(Layouts.ELEMENTWISE, keeps=Keeps.ROUNDED),
)

# Products and collectives.
DotOp = define(
    "nv_tileaa.dot",
    "lhs rhs acc lhs_scale? rhs_scale?",
    "result",
    "matrix product, batched at rank 3",
    attributes=SIGNS | {"fast_acc": FLAG},
    facts=OWN,
)
ReduceOp = define(
    "nv_tileaa.reduce",
    "sources*",
    "results*",
    "combine the elements along an axis",
    regions=1,
    attributes={"axis": I32},
    facts=COMBINED,
)
ScanOp = define(
    "nv_tileaa.scan",
    "sources*",
    "results*",
    "inclusive prefix combination along an axis",
    regions=1,
    attributes={"axis": I32, "reverse": FLAG},
    facts=COMBINED,
)

# Shapes and construction.
SplatOp = define(
    "nv_tileaa.splat",
    "source",
    "result",
    "a tile whose elements all are one scalar",
    facts=Facts(Layouts.FREE, keeps=Keeps.ZEROS, cheap=True),
)
BroadcastOp = define(
    "nv_tileaa.broadcast",
    "source",
    "result",
    "repeat along dimensions of extent one",
    facts=Facts(Layouts.SHAPE, keeps=Keeps.ZEROS, cheap=True),
)
ViewOp = define(
    "nv_tileaa.view",
    "source",
    "result",
    "the same elements, in row-major order, in another shape",
    facts=Facts(Layouts.SHAPE, keeps=Keeps.ELEMENTS | Keeps.ZEROS, cheap=True),
)
PermuteOp = define(
    "nv_tileaa.permute",
    "source",
    "result",
    "reorder dimensions by permutation",
    attributes={"permutation": I32S},
    facts=Facts(Layouts.SHAPE, keeps=Keeps.ELEMENTS, cheap=True),
)
CatOp = define("nv_tileaa.cat", "lhs rhs", "result", "join two tiles along dim", attributes={"dim": I64}, facts=OWN)
ExtractSliceOp = define("nv_tileaa.extract_slice", "source indices*", "result", "one sub-tile, by its index", facts=OWN)
InsertSliceOp = define(
    "nv_tileaa.insert_slice", "source destination indices*", "result", "replace one sub-tile", facts=OWN
)
MakeRangeOp = define("nv_tileaa.make_range", "", "result", "0, 1, 2, …", facts=Facts(Layouts.FREE, cheap=True))
BitcastOp = define("nv_tileaa.bitcast", "source", "result", "the same bits as another element type", facts=CHEAP)
ReinterpretOp = define(
    "nv_tileaa.reinterpret", "source", "result", "the bytes of a 1-D tile as elements of another width", facts=OWN
)

# Pointers and views.
AddPtrOp = define(
    "nv_tileaa.addptr", "pointer offset", "result", "advance pointers by offsets in elements", facts=CHEAP
)
IntToPtrOp = define("nv_tileaa.int_to_ptr", "source", "result", "an address as a pointer", facts=CHEAP)
PtrToIntOp = define("nv_tileaa.ptr_to_int", "source", "result", "a pointer as an address", facts=ELEMENTWISE)
MakeMemRefOp = define(
    "nv_tileaa.make_memref", "base sizes* strides*", "result", "a strided object from its parts", facts=SCALAR
)
BlockTileOp = define("nv_tileaa.block_tile", "source", "result", "cut a memory reference into tiles", facts=SCALAR)
GetDimSizeOp = define("nv_tileaa.get_dim_size", "source", "results*", "the extents of a memory reference", facts=SCALAR)
GetTileCountOp = define(
    "nv_tileaa.get_tile_count", "source", "results*", "how many tiles a view has in each dimension", facts=SCALAR
)
GetGlobalOp = define(
    "nv_tileaa.get_global", "", "result", "the address of a global variable", attributes={"symbol": TEXT}, facts=SCALAR
)
AllocaOp = define(
    "nv_tileaa.alloca",
    "",
    "result",
    "storage for the life of the tile program",
    pure=False,
    attributes={"num_elem": I64, "alignment": I64, "global": FLAG},
    facts=SCALAR,
)

# Memory: every one may take a token and then gives one.
LoadOp = define(
    "nv_tileaa.load",
    "pointer mask? other? token?",
    "value result_token",
    "gather a tile",
    pure=False,
    attributes=ACCESS,
    facts=GATHER,
)
StoreOp = define(
    "nv_tileaa.store",
    "pointer value mask? token?",
    "result_token",
    "scatter a tile",
    pure=False,
    attributes=ACCESS,
    facts=SCATTER,
)
TiledLoadOp = define(
    "nv_tileaa.tiled_load",
    "view coords* token?",
    "value result_token",
    "read one tile of a view",
    pure=False,
    attributes=ACCESS,
    facts=TILE_READ,
)
TiledStoreOp = define(
    "nv_tileaa.tiled_store",
    "view value coords* token?",
    "result_token",
    "write one tile of a view",
    pure=False,
    attributes=ACCESS,
    facts=TILE_WRITTEN,
)
AtomicRmwOp = define(
    "nv_tileaa.atomic_rmw",
    "pointer value mask? token?",
    "old result_token",
    "atomic read-modify-write",
    pure=False,
    attributes=UPDATE,
    facts=EXCHANGE,
)
AtomicCasOp = define(
    "nv_tileaa.atomic_cas",
    "pointer compare value mask? token?",
    "old result_token",
    "atomic compare-and-swap",
    pure=False,
    attributes=ORDER,
    facts=EXCHANGE,
)
TiledAtomicRmwOp = define(
    "nv_tileaa.tiled_atomic_rmw",
    "view value coords* token?",
    "result_token",
    "atomic update of a tile",
    pure=False,
    attributes=UPDATE,
    facts=TILE_UPDATED,
)

# Tokens, hints, diagnostics.
CreateMemTokenOp = define("nv_tileaa.create_mem_token", "", "result", "a token that orders nothing", facts=SCALAR)
JoinMemTokenOp = define("nv_tileaa.join_mem_token", "tokens*", "result", "after all of these", facts=SCALAR)
AssumeOp = define(
    "nv_tileaa.assume",
    "source",
    "result",
    "the same value with facts attached",
    attributes={"predicate": ASSUMPTION},
    facts=Facts(Layouts.ELEMENTWISE, keeps=Keeps.VALUE, cheap=True),
)
AssertOp = define(
    "nv_tileaa.assert",
    "condition",
    "",
    "stop the kernel unless all elements hold",
    pure=False,
    attributes={"message": TEXT},
    facts=OWN,
)
PrintOp = define(
    "nv_tileaa.print",
    "values* token?",
    "result_token",
    "print values from the device",
    pure=False,
    attributes={"format": TEXT},
    facts=Facts(Layouts.OWN, Effect.OUTPUT),
)
FenceAliasOp = define(
    "nv_tileaa.fence_alias",
    "token",
    "result_token",
    "order accesses to the same bytes by other names",
    pure=False,
    facts=Facts(Layouts.NONE, Effect.FENCE),
)
GridDependencyOp = define(
    "nv_tileaa.grid_dependency",
    "token?",
    "result_token",
    "programmatic dependent launch control",
    pure=False,
    attributes={"action": TEXT},
    facts=Facts(Layouts.NONE, Effect.GRID),
)

# Functions, grid and control flow that MLIR's scf cannot say (early exits).
# What a kernel asks for, what passes decide for it, and its launch where that is given.
KERNEL: Declared = {
    "sym_name": TEXT,
    "optimization_hints": HINTS.optional(),
    "num_warps": I32.optional(),
    "producer_warps": I32.optional(0),
    "agent_registers": I32S.optional(),
    "occupancy": I32.optional(),
    "occupancy_asked": I32.optional(),
    "divides_registers": FLAG,
    "num_ctas": I32.optional(),
    "num_ctas_declined": TEXT.optional(),
    "tile_group": I32.optional(1),
    "tile_group_declined": TEXT.optional(),
    "persistent_axes": I32S.optional(),
    "persistent_declined": TEXT.optional(),
    "shared_bytes": I32.optional(0),
    "shared_memory_saved": TEXT.optional(),
    "nv_tileaa.kernel_spec": SPECIFICATION.optional(),
    "nv_tileaa.target_spec": TEXT.optional(),
    "arg_attrs": ARGUMENTS.optional(),
    "signature": TEXT.optional(),
}
FuncOp = define("nv_tileaa.func", "", "", "a kernel", pure=False, regions=1, attributes=KERNEL, facts=ENTRY)
GlobalOp = define(
    "nv_tileaa.global",
    "",
    "",
    "a variable in global memory",
    pure=False,
    attributes={"sym_name": TEXT, "value": CONTENTS, "alignment": I64.optional(), "constant": FLAG},
    facts=SCALAR,
)
ReturnOp = define(
    "nv_tileaa.return", "values*", "", "end of a function; a kernel has no values", terminator=True, facts=RETURN
)
GetProgramIdOp = define(
    "nv_tileaa.get_program_id",
    "",
    "result",
    "the position of this tile program in the grid",
    attributes={"axis": I32},
    facts=SCALAR,
)
GetNumProgramsOp = define(
    "nv_tileaa.get_num_programs", "", "result", "the extent of the grid", attributes={"axis": I32}, facts=SCALAR
)
ForOp = define(
    "nv_tileaa.for",
    "lower upper step initial*",
    "results*",
    "counted loop",
    pure=False,
    regions=1,
    attributes={"unsigned": FLAG},
    facts=flow(Structure.COUNTED_LOOP),
)
LoopOp = define(
    "nv_tileaa.loop", "initial*", "results*", "loop until break", pure=False, regions=1, facts=flow(Structure.LOOP)
)
IfOp = define(
    "nv_tileaa.if", "condition", "results*", "two-way choice", pure=False, regions=2, facts=flow(Structure.CHOICE)
)
YieldOp = define(
    "nv_tileaa.yield", "values*", "", "end of a region with its values", terminator=True, facts=flow(Structure.YIELD)
)
BreakOp = define(
    "nv_tileaa.break", "values*", "", "leave the nearest loop", terminator=True, facts=flow(Structure.BREAK)
)
ContinueOp = define(
    "nv_tileaa.continue",
    "values*",
    "",
    "next iteration of the nearest loop",
    terminator=True,
    facts=flow(Structure.CONTINUE),
)

OPERATIONS: tuple[type[TableOperation], ...] = tuple(
    value
    for value in list(globals().values())
    if isinstance(value, type) and issubclass(value, TableOperation) and value is not TableOperation
)
