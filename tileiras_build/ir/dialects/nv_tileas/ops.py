"""The operations of scheduled tile IR: counterparts of nv_tileaa and what scheduling adds."""

from __future__ import annotations

from xdsl.traits import IsTerminator, Pure

from ...layouts import LinearLayout, SharedLayout
from ..attribute_kinds import BOOLS, FLAG, I32, I32S, I64S, TEXT, Declared, data_kind
from ..cute.layout_attr import LayoutAttr
from ..cute.shared_layout_attr import SharedLayoutAttr
from ..nv_tileaa.ops import OPERATIONS, SIGNS
from ..op_definition import TableOperation, define
from ..op_traits import OWN, SCALAR, Effect, Facts, Keeps, Layouts, Structure

LAYOUT = data_kind("a layout", LayoutAttr, LinearLayout)
PLACEMENT = data_kind("a placement in shared memory", SharedLayoutAttr, SharedLayout)

# These stay as they are until the kernel's signature is converted.
KEPT = frozenset({"nv_tileaa.func", "nv_tileaa.return", "nv_tileaa.global"})

# Shared memory that an operation uses while it runs; ``sync_before``: a barrier first, for another's may still be read.
SCRATCH: Declared = {"scratch_bytes": I32.optional(), "scratch_offset": I32.optional(), "sync_before": FLAG}
# Where storage of the kernel's life lies.
STORAGE: Declared = {"shared_offset": I32.optional()}
# Elements per access; ``ragged``: single ones where a tile ends the tensor; dimensions along which no tile ends it in part.
WIDTH: Declared = {"vector": I32.optional()}
# Along which dimension of a tile of pointers they follow each other; none: the last.
ALONG: Declared = WIDTH | {"fastest": I32.optional()}
# What is asked of each tile index (``analysis/integer_ranges.py:Check``); without it, everything.
INDICES: Declared = {"index_checks": I32S.optional()}
ELEMENTS: Declared = WIDTH | INDICES | {"ragged": FLAG, "in_bounds": BOOLS.optional()}
# The instruction that a copy through shared memory or a reduction in memory is made by; none is the plain one.
LDMATRIX, LD_SHARED, STMATRIX, ST_SHARED = "ldmatrix", "ld.shared", "stmatrix", "st.shared"
ATOM, ATOM_LOOP = "atom", "atom.cas"
COPIED: Declared = {"copy_atom": TEXT.optional()}
REDUCED: Declared = {"reduce_atom": TEXT.optional()}
# How a product is made: partial sums of part of k, a left operand that comes through registers, two fp4 in a byte.
PRODUCT: Declared = SIGNS | {
    "fast_acc": FLAG,
    "packed": FLAG,
    "partial_sums": I32S.optional(),
    "scattered_rows": FLAG,
    # Iterations of the loop in whose turn it multiplies by the scales of a tile.
    "scale_steps": I32.optional(1),
}
# Its operands in shared memory.
PLACES: Declared = {"lhs_placement": PLACEMENT.optional(), "rhs_placement": PLACEMENT}

# What scheduling writes on an operation that nv_tileaa has as well.
ADDED: dict[str, Declared] = {
    # ``steps``: iterations of the loop that load the same tile, one after the other.
    # ``cache``: how caches should treat it, in PTX's words. ``late``: each access where its elements are used, when the next
    # one is under way. ``whole``: another way through the code, without bounds, for a tile that is inside the tensor.
    "tiled_load": ELEMENTS
    | {"cache": TEXT.optional(), "tma": FLAG, "swizzle": TEXT.optional(), "steps": I32.optional(1)}
    | {"late": FLAG, "whole": FLAG},
    "tiled_store": ELEMENTS,
    "tiled_atomic_rmw": ELEMENTS | REDUCED,
    "load": ALONG,
    "store": ALONG,
    "atomic_rmw": SCRATCH | REDUCED,
    "atomic_cas": SCRATCH,
    "reduce": SCRATCH,
    # Bits of an element's packed index that number the parts in which a tile passes through scratch.
    "extract_slice": SCRATCH | {"cut_bits": I32.optional(0)},
    "insert_slice": SCRATCH | {"cut_bits": I32.optional(0)},
    "alloca": STORAGE,
    # The mma row and how warps divide m, n and batch; or the row of a warpgroup, or of tensor memory and its columns.
    "dot": PRODUCT
    | SCRATCH
    | {
        "atom": TEXT.optional(),
        "warps": I32S.optional(),
        "warpgroup": TEXT.optional(),
        "tensor_memory": TEXT.optional(),
        "tensor_words": I32.optional(),
        # Its sum stays in tensor memory, where each iteration scales it; its left operand stays in shared memory.
        "rescaled": FLAG,
        "resident": FLAG,
        # Parts along k in which operands pass through scratch that no instruction for matrices takes.
        "k_parts": I32.optional(1),
    },
}


def _spec(groups: tuple[tuple[str, str], ...]) -> str:
    return " ".join(name + (kind if kind != "1" else "") for name, kind in groups)


def _counterpart(source: type[TableOperation]) -> type[TableOperation]:
    return define(
        source.name.replace("nv_tileaa.", "nv_tileas."),
        _spec(source.operand_groups),
        _spec(source.result_groups),
        source.__doc__ or "",
        pure=any(isinstance(trait, Pure) for trait in source.traits.traits),
        terminator=any(isinstance(trait, IsTerminator) for trait in source.traits.traits),
        regions=source.region_count,
        attributes={**(source.declared or {}), **ADDED.get(source.name.removeprefix("nv_tileaa."), {})},
        facts=source.facts,
    )


COUNTERPARTS: dict[str, type[TableOperation]] = {op.name: _counterpart(op) for op in OPERATIONS if op.name not in KEPT}

ConvertLayoutOp = define(
    "nv_tileas.convert_layout",
    "sources*",
    "results*",
    "the same tiles in other layouts",
    attributes=SCRATCH | {"part_bytes": I32.optional()},
    facts=Facts(Layouts.OWN, keeps=Keeps.TILE | Keeps.ZEROS),
)
# Tiles that wait for the threads to meet, in part in shared memory: each thread has places of its own there.
ParkOp = define(
    "nv_tileas.park",
    "value instead?",
    "result",
    "the tile, of whose elements each thread keeps the last ``words`` in shared memory; where another one's were, if it says",
    pure=False,
    attributes=STORAGE | {"words": I32},
    facts=OWN,
)
TakeBackOp = define(
    "nv_tileas.take_back",
    "parked",
    "result",
    "a parked tile in registers, each element when it is used",
    pure=False,
    facts=OWN,
)
CtaRankOp = define(
    "nv_tileas.get_cta_rank", "", "result", "the CTA's number among those of the tile program", facts=SCALAR
)
BarrierOp = define(
    "nv_tileas.barrier",
    "",
    "",
    "all threads meet; memory before is seen after",
    pure=False,
    facts=Facts(Layouts.NONE, Effect.BARRIER),
)

# Asynchronous copies into a ring of buffers.
AllocTensorOp = define(
    "nv_tileas.alloc_tensor",
    "",
    "result",
    "a ring of tiles in shared memory",
    pure=False,
    attributes=STORAGE,
    facts=SCALAR,
)
AsyncTiledLoadOp = define(
    "nv_tileas.async_tiled_load",
    "view coords* buffer stage enabled",
    "",
    "copy a tile of a view to a stage",
    pure=False,
    attributes=ELEMENTS | {"layout": LAYOUT},
    facts=Facts(Layouts.NONE, Effect.COPY),
)
AsyncCommitOp = define(
    "nv_tileas.async_commit", "", "", "the copies since the last commit are one group", pure=False, facts=SCALAR
)
AsyncWaitOp = define(
    "nv_tileas.async_wait",
    "",
    "",
    "until at most pending groups are under way",
    pure=False,
    attributes={"pending": I32},
    facts=SCALAR,
)
LocalLoadOp = define(
    "nv_tileas.local_load",
    "buffer stage",
    "result",
    "read a stage, or the part of its tile that starts at ``starts``, into registers",
    pure=False,
    attributes=COPIED | {"starts": I64S.optional()},
    facts=OWN,
)

# Tiles fetched by a warp of their own. A pipeline is a ring of stages with two mbarriers each: full and empty. Where an
# agent stands in it is an i32 token: the stage, and in the low bit the phase.
MakeTiledTmaDescOp = define(
    "nv_tileas.make_tiled_tma_desc",
    "source",
    "result",
    "the tensor map of a memory reference, encoded by the host",
    attributes={"dims": I64S, "box": I64S, "swizzle_mode": TEXT, "rounds": FLAG},
    facts=SCALAR,
)
CreatePipelineOp = define(
    "nv_tileas.async.pipeline.create",
    "",
    "result",
    "the mbarriers of a ring of stages",
    pure=False,
    # ``producers``: the warps that fill each stage.
    attributes=STORAGE
    | {"consumers": I32, "bytes": I32, "producers": I32.optional(1), "ctas": I32.optional(), "pair": FLAG},
    facts=SCALAR,
)
ProducerAcquireOp = define(
    "nv_tileas.async.pipeline.producer_acquire",
    "pipeline token",
    "",
    "until the stage is empty; expect its bytes",
    pure=False,
    facts=SCALAR,
)
ProducerCommitOp = define(
    "nv_tileas.async.pipeline.producer_commit",
    "pipeline token",
    "",
    "what this warp has written to the stage is there, also for tensor cores to read",
    pure=False,
    facts=SCALAR,
)
ProducerTailOp = define(
    "nv_tileas.async.pipeline.producer_tail",
    "pipeline token",
    "",
    "until all stages have been given back: the last one was the one before the token's",
    pure=False,
    facts=SCALAR,
)
ConsumerWaitOp = define(
    "nv_tileas.async.pipeline.consumer_wait", "pipeline token", "", "until the stage is full", pure=False, facts=SCALAR
)
ConsumerReleaseOp = define(
    "nv_tileas.async.pipeline.consumer_release",
    "pipeline token enabled?",
    "",
    "this warp no longer reads the stage, or the one ``behind`` it",
    pure=False,
    attributes={"behind": FLAG},
    facts=SCALAR,
)
AdvanceOp = define(
    "nv_tileas.async.pipeline.advance", "pipeline token", "result", "the token of the next stage", facts=SCALAR
)
AsyncTiledTmaLoadOp = define(
    "nv_tileas.async.tiled_tma_load",
    "view desc coords* buffer pipeline token",
    "",
    "copy a tile of a view to a stage; its mbarrier counts the bytes",
    pure=False,
    attributes=INDICES | {"multicast": I32.optional()},
    facts=Facts(Layouts.NONE, Effect.COPY),
)
AsyncTiledTmaStoreOp = define(
    "nv_tileas.async.tiled_tma_store",
    "view desc value coords* token?",
    "result_token",
    "a tile goes to the operation's shared memory, and from there by copies of one thread to its place in the tensor; "
    "in ``parts``, a group each, of which so many as there are ``slots`` are in shared memory at once",
    pure=False,
    attributes=SCRATCH
    | COPIED
    | INDICES
    | {"placement": PLACEMENT, "parts": I32, "slots": I32, "after_accesses": FLAG},
    facts=Facts(Layouts.OWN, Effect.WRITE | Effect.COPY),
)
AsyncTmaStoreWaitOp = define(
    "nv_tileas.async.tma_store_wait",
    "",
    "",
    "until the copies of all tiled_tma_store have written (``read``: have read shared memory)",
    pure=False,
    attributes={"read": FLAG},
    facts=SCALAR,
)
AsyncDotOp = define(
    "nv_tileas.async.dot",
    "lhs rhs acc lhs_stage? rhs_stage?",
    "result",
    "a warpgroup product with operands in shared memory (lhs: or registers); until at most ``pending`` are under way, if it says",
    pure=False,
    attributes=PRODUCT | PLACES | {"atom": TEXT, "pending": I32.optional()},
    facts=OWN,
)
AsyncDotWaitOp = define(
    "nv_tileas.async.dot_wait",
    "source",
    "result",
    "until at most pending products are under way",
    pure=False,
    attributes={"pending": I32},
    facts=OWN,
)
# Tensor memory: tiles of accumulators (and left operands) in columns of one allocation of the kernel.
CreateTmemOp = define(
    "nv_tileas.create_tmem",
    "",
    "result",
    "the kernel's columns of tensor memory; an address in shared memory",
    pure=False,
    attributes=STORAGE | {"pair": FLAG},
    facts=SCALAR,
)
AllocTmemOp = define(
    "nv_tileas.alloc_tmem",
    "source",
    "result",
    "a tile in tensor memory, from ``column`` on",
    pure=False,
    attributes={"column": I32},
    facts=SCALAR,
)
TmemLoadOp = define(
    "nv_tileas.tmem_load",
    "source stage?",
    "result",
    "read a tile, or the one of a stage, into registers",
    pure=False,
    facts=OWN,
)
TmemStoreOp = define(
    "nv_tileas.tmem_store",
    "value dest enabled? stage? filled?",
    "",
    "write a tile, or the one of a stage, from registers, or nothing where not enabled; ``part``: of as many parts of its columns "
    "as the pipeline ``filled`` has stages this one, whose stage each warp then fills",
    pure=False,
    attributes={"line_dim": I32.optional(), "part": I32.optional()},
    facts=OWN,
)
TmemScaleOp = define(
    "nv_tileas.tmem_scale",
    "tile factor enabled?",
    "",
    "multiply a tile by factors, but where all of a warp's are 1, or nothing where not enabled",
    pure=False,
    facts=OWN,
)
# Scales on their way to tensor memory: a stage in shared memory has the bytes of each column's lanes together.
StoreScalesOp = define(
    "nv_tileas.store_scales",
    "value buffer stage",
    "",
    "one warp writes scales to a stage, in the order of tensor memory",
    pure=False,
    facts=OWN,
)
CopyScalesOp = define(
    "nv_tileas.async.copy_scales",
    "source dest stage",
    "",
    "one thread copies a stage to the columns of the same stage in tensor memory; products that it issues later read them there",
    pure=False,
    facts=SCALAR,
)
AsyncUmmaOp = define(
    "nv_tileas.async.umma",
    "lhs rhs acc accumulate lhs_stage? rhs_stage? pipeline? token? ready? lhs_scale? rhs_scale? acc_stage? scale_turn?",
    "",
    "one thread multiplies operands in shared memory (lhs: or tensor memory) into tensor memory; what is done later "
    "empties the stage of the pipeline, and fills ready",
    pure=False,
    # ``scale_turn``: the iteration's number in the ring of groups of scales. ``part``: number and count of parts along k, of which it
    # multiplies one.
    attributes=PRODUCT | PLACES | {"atom": TEXT, "shape": I64S, "pair": FLAG, "part": I64S.optional()},
    facts=SCALAR,
)
UmmaCommitOp = define(
    "nv_tileas.async.umma_commit",
    "ready token?",
    "",
    "all products before, once done, fill ready, or the stage of it that a token names",
    pure=False,
    facts=SCALAR,
)
UmmaAcquireOp = define(
    "nv_tileas.async.umma_acquire",
    "pipeline token",
    "",
    "until all warps have released the accumulators that fill the pipeline",
    pure=False,
    facts=SCALAR,
)
UmmaReleaseOp = define(
    "nv_tileas.async.umma_release",
    "pipeline token",
    "",
    "all products before, once done, empty the stage",
    pure=False,
    facts=SCALAR,
)
# Turns of the warpgroups that compute, one after the other (``warpgroups`` of them) for as long as the kernel runs.
SequenceOpenOp, SequenceWaitOp, SequenceArriveOp, SequenceCloseOp = (
    define(
        f"nv_tileas.async.sequence.{name}", "", "", meaning, pure=False, attributes={"warpgroups": I32}, facts=SCALAR
    )
    for name, meaning in (
        ("open", "the first warpgroup may have its first turn"),
        ("wait", "until it is this warpgroup's turn"),
        ("arrive", "this warpgroup's turn is over, the next one's begins"),
        ("close", "the first warpgroup takes the turn that was left"),
    )
)
AgentSwitchOp = define(
    "nv_tileas.agent_switch",
    "",
    "",
    "warps of the first region fetch, those of the last compute; one of the region behind the first issues products, and a warp "
    "of each further one copies scales",
    pure=False,
    regions=2,
    optional_regions=3,
    facts=Facts(Layouts.NONE, structure=Structure.AGENTS),
)
SCHEDULED = (
    ConvertLayoutOp, ParkOp, TakeBackOp, CtaRankOp, BarrierOp, AllocTensorOp, AsyncTiledLoadOp, AsyncCommitOp,
    AsyncWaitOp, LocalLoadOp, MakeTiledTmaDescOp, CreatePipelineOp, ProducerAcquireOp, ProducerCommitOp,
    ProducerTailOp, ConsumerWaitOp, ConsumerReleaseOp, AdvanceOp, AsyncTiledTmaLoadOp, AsyncTiledTmaStoreOp,
    AsyncTmaStoreWaitOp, AsyncDotOp, AsyncDotWaitOp, CreateTmemOp, AllocTmemOp, TmemLoadOp, TmemStoreOp,
    TmemScaleOp, StoreScalesOp, CopyScalesOp, AsyncUmmaOp, UmmaCommitOp, UmmaAcquireOp, UmmaReleaseOp,
    SequenceOpenOp, SequenceWaitOp, SequenceArriveOp, SequenceCloseOp, AgentSwitchOp,
)  # fmt: skip
