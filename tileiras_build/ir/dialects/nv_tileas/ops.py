"""The operations of scheduled tile IR: counterparts of nv_tileaa, and operations that scheduling adds."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.traits import IsTerminator, Pure

from ...casting import defining_op
from ..attribute_kinds import FLAG, I32, I64S, TEXT
from ..nv_tileaa.ops import OPERATIONS
from ..op_definition import TableOp, define
from ..op_traits import (
    CUSTOM_LAYOUT,
    NO_TILES,
    LayoutTrait,
    MemoryEffect,
    MmaRole,
    OpTraits,
    RegionKind,
    ValueForwarding,
)
from .scheduling_attributes import (
    BOUNDS_CHECKS,
    COPY_ATOM,
    LAYOUT,
    LIFETIME_STORAGE,
    MMA,
    OPERAND_PLACEMENTS,
    PLACEMENT,
    POINTER_VECTOR,
    SCHEDULING_ATTRIBUTES,
    SCRATCH,
    VIEW_ACCESS,
)

# Unchanged until the kernel's signature is converted.
NOT_CONVERTED = frozenset({"nv_tileaa.func", "nv_tileaa.return", "nv_tileaa.global"})


def _spec(groups: tuple[tuple[str, str], ...]) -> str:
    return " ".join(name + (kind if kind != "1" else "") for name, kind in groups)


def _counterpart(source: type[TableOp]) -> type[TableOp]:
    return define(
        source.name.replace("nv_tileaa.", "nv_tileas."),
        _spec(source.operand_groups),
        _spec(source.result_groups),
        source.__doc__ or "",
        pure=any(isinstance(trait, Pure) for trait in source.traits.traits),
        terminator=any(isinstance(trait, IsTerminator) for trait in source.traits.traits),
        regions=source.region_count,
        attributes={**(source.declared or {}), **SCHEDULING_ATTRIBUTES.get(source.name.removeprefix("nv_tileaa."), {})},
        op_traits=source.op_traits,
    )


COUNTERPARTS: dict[str, type[TableOp]] = {
    op.name: _counterpart(op) for op in OPERATIONS if op.name not in NOT_CONVERTED
}

ConvertLayoutOp = define(
    "nv_tileas.convert_layout",
    "sources*",
    "results*",
    "the same tiles in other layouts",
    attributes=SCRATCH | {"chunk_bytes": I32.optional()},
    op_traits=OpTraits(LayoutTrait.CUSTOM, forwarding=ValueForwarding.LAYOUT_CAST | ValueForwarding.PRESERVES_ZERO),
)
# Tiles that are partly spilled to shared memory across a barrier. Each thread has its own slots.
SpillOp = define(
    "nv_tileas.spill",
    "value overwrites?",
    "result",
    "spill the last ``regs`` registers of each thread to shared memory, to the slot of the overwritten tile, if any",
    pure=False,
    attributes=LIFETIME_STORAGE | {"regs": I32},
    op_traits=CUSTOM_LAYOUT,
)
ReloadOp = define(
    "nv_tileas.reload",
    "spilled",
    "result",
    "a spilled tile, each element reloaded where it is used",
    pure=False,
    op_traits=CUSTOM_LAYOUT,
)
CtaRankOp = define("nv_tileas.get_cta_rank", "", "result", "the CTA's rank in the tile program", op_traits=NO_TILES)
ClusterReduceOp = define(
    "nv_tileas.cluster_reduce",
    "value",
    "result",
    "add the tiles of all CTAs of a cluster; each CTA has its shard of the result along ``dim``",
    pure=False,
    attributes=SCRATCH | {"dim": I32},
    op_traits=CUSTOM_LAYOUT,
)
BarrierOp = define(
    "nv_tileas.barrier",
    "",
    "",
    "barrier of all threads, with memory ordering; ``cluster``: of all CTAs of the cluster",
    pure=False,
    attributes=LIFETIME_STORAGE | {"cluster": FLAG},
    op_traits=OpTraits(LayoutTrait.NONE, MemoryEffect.BARRIER),
)

# Asynchronous copies into a multistage buffer.
AllocTensorOp = define(
    "nv_tileas.alloc_tensor",
    "over?",
    "result",
    "a ring buffer of tiles in shared memory, in the bytes ``over`` those of another one; ``own``: each warp reads only what it has copied itself",
    pure=False,
    attributes=LIFETIME_STORAGE | {"own": FLAG},
    op_traits=NO_TILES,
)
AsyncTiledLoadOp = define(
    "nv_tileas.async_tiled_load",
    "view coords* buffer stage enabled",
    "",
    "copy a tile of a view to a stage; ``after_write``: which a token ordered after a write",
    pure=False,
    attributes=VIEW_ACCESS | {"layout": LAYOUT, "after_write": FLAG},
    op_traits=OpTraits(LayoutTrait.NONE, MemoryEffect.COPY),
)
AsyncLoadOp = define(
    "nv_tileas.async_load",
    "pointer mask? other? buffer stage enabled",
    "",
    "copy a tile that is loaded through pointers to a stage, as above; ``other``, else zeros, where it is masked out",
    pure=False,
    attributes=POINTER_VECTOR | {"after_write": FLAG},
    op_traits=OpTraits(LayoutTrait.CUSTOM, MemoryEffect.COPY),
)
AsyncCommitOp = define(
    "nv_tileas.async_commit",
    "",
    "",
    "commit the copies since the last commit as one group",
    pure=False,
    op_traits=NO_TILES,
)
AsyncWaitOp = define(
    "nv_tileas.async_wait",
    "",
    "",
    "wait until at most pending groups are in flight; ``for_mma``: what has arrived is for instructions of the asynchronous proxy, "
    "after the next barrier; ``of_warp``: with all lanes of the warp",
    pure=False,
    attributes={"pending": I32, "for_mma": FLAG, "of_warp": FLAG},
    op_traits=NO_TILES,
)
LocalLoadOp = define(
    "nv_tileas.local_load",
    "buffer stage",
    "result",
    "read a stage, or the slice of its tile at ``starts``, into registers",
    pure=False,
    attributes=COPY_ATOM | {"starts": I64S.optional()},
    op_traits=CUSTOM_LAYOUT,
)
LocalStoreOp = define(
    "nv_tileas.local_store",
    "value buffer stage pipeline?",
    "",
    "write a tile to a stage, where instructions of the asynchronous proxy read it after the next barrier; ``pipeline``: the one whose "
    "stages the buffer has, too",
    pure=False,
    attributes=COPY_ATOM,
    op_traits=CUSTOM_LAYOUT,
)

# Tiles loaded by a producer warp. A pipeline is a ring of stages with two mbarriers each: full and empty. The position of a
# warp partition in it is an i32 token: the stage, and in the low bit the phase.
MakeTiledTmaDescOp = define(
    "nv_tileas.make_tiled_tma_desc",
    "source",
    "result",
    "the tensor map of a memory reference, encoded by the host",
    attributes={"dims": I64S, "box": I64S, "swizzle_mode": TEXT, "rounds": FLAG},
    op_traits=NO_TILES,
)
CreatePipelineOp = define(
    "nv_tileas.async.pipeline.create",
    "",
    "result",
    "the mbarriers of a ring of stages",
    pure=False,
    # ``producers``: the partitions that fill each stage. ``writers``: the warps of each CTA of a pair that do, for its first CTA.
    # ``in_each``: the threads of each CTA of a pair wait for what TMA loads for it, not the first CTA for the stages of both.
    attributes=LIFETIME_STORAGE
    | {
        "consumers": I32,
        "bytes": I32,
        "producers": I32.optional(1),
        "writers": I32.optional(),
        "ctas": I32.optional(),
        **dict.fromkeys(("pair", "in_each"), FLAG),
    },
    op_traits=NO_TILES,
)


def is_written_by_pair(pipeline: SSAValue) -> bool:
    """Whether warps of both CTAs of a pair fill the stages of a pipeline, by stores."""
    return "writers" in defining_op(pipeline).attributes


PipelineOfWarpgroupOp = define(
    "nv_tileas.async.pipeline.of_warpgroup",
    "pipelines*",
    "result",
    "the pipeline of this warpgroup, of one for each",
    op_traits=NO_TILES,
)
ProducerAcquireOp = define(
    "nv_tileas.async.pipeline.producer_acquire",
    "pipeline token",
    "",
    "wait until the stage is empty; expect its ``bytes``, else the pipeline's; ``by_readers`` none: those who read the stage fill it, too",
    pure=False,
    attributes={"by_readers": FLAG, "bytes": I32.optional()},
    op_traits=NO_TILES,
)
ProducerCommitOp = define(
    "nv_tileas.async.pipeline.producer_commit",
    "pipeline token",
    "",
    "arrive: this warp's writes to the stage are visible, also to tensor cores; ``ordered``: they have been before",
    pure=False,
    attributes={"ordered": FLAG},
    op_traits=NO_TILES,
)
ProducerTailOp = define(
    "nv_tileas.async.pipeline.producer_tail",
    "pipeline token",
    "",
    "wait until all stages are released; the last filled stage precedes the token's",
    pure=False,
    op_traits=NO_TILES,
)
ConsumerWaitOp = define(
    "nv_tileas.async.pipeline.consumer_wait",
    "pipeline token",
    "",
    "wait until the stage is full; ``by_issuer``: the warp that issues MMAs waits alone",
    pure=False,
    attributes={"by_issuer": FLAG},
    op_traits=NO_TILES,
)
ConsumerReleaseOp = define(
    "nv_tileas.async.pipeline.consumer_release",
    "pipeline token enabled?",
    "",
    "release the stage, or the ``previous_stage``, by this warp",
    pure=False,
    attributes={"previous_stage": FLAG},
    op_traits=NO_TILES,
)
AdvanceOp = define(
    "nv_tileas.async.pipeline.advance", "pipeline token", "result", "the token of the next stage", op_traits=NO_TILES
)
AsyncTiledTmaLoadOp = define(
    "nv_tileas.async.tiled_tma_load",
    "view desc coords* buffer pipeline token",
    "",
    "copy a tile of a view to a stage; its mbarrier counts the bytes",
    pure=False,
    attributes=BOUNDS_CHECKS | {"multicast": I32.optional()},
    op_traits=OpTraits(LayoutTrait.NONE, MemoryEffect.COPY),
)
AsyncTiledTmaStoreOp = define(
    "nv_tileas.async.tiled_tma_store",
    "view desc value coords* token?",
    "result_token",
    "store a tile to the operation's shared memory, and from there by TMA stores of one thread to the tensor; "
    "in ``chunks``, a bulk group each, of which at most ``slots`` are in shared memory at once",
    pure=False,
    attributes=SCRATCH
    | COPY_ATOM
    | BOUNDS_CHECKS
    | {"placement": PLACEMENT, "chunks": I32, "slots": I32, "after_accesses": FLAG},
    op_traits=OpTraits(LayoutTrait.CUSTOM, MemoryEffect.WRITE | MemoryEffect.COPY),
)
AsyncTmaStoreWaitOp = define(
    "nv_tileas.async.tma_store_wait",
    "",
    "",
    "wait until the copies of all tiled_tma_store have written (``read``: have read shared memory)",
    pure=False,
    attributes={"read": FLAG},
    op_traits=NO_TILES,
)
AsyncDotOp = define(
    "nv_tileas.async.dot",
    "lhs rhs acc lhs_stage? rhs_stage?",
    "result",
    "an asynchronous warpgroup MMA of operands in shared memory (lhs: or registers); ``pending``: wait until so many at most are in flight",
    pure=False,
    attributes=MMA | OPERAND_PLACEMENTS | {"mma": TEXT, "pending": I32.optional()},
    op_traits=OpTraits(LayoutTrait.CUSTOM, mma=MmaRole.MULTIPLY | MmaRole.ISSUE),
)
AsyncDotWaitOp = define(
    "nv_tileas.async.dot_wait",
    "source",
    "result",
    "wait until at most pending MMAs are in flight",
    pure=False,
    attributes={"pending": I32},
    op_traits=OpTraits(LayoutTrait.CUSTOM, mma=MmaRole.WAIT),
)
# Tensor memory: tiles of accumulators (and left operands) in columns of one allocation of the kernel.
CreateTmemOp = define(
    "nv_tileas.create_tmem",
    "",
    "result",
    "the kernel's columns of tensor memory; an address in shared memory",
    pure=False,
    attributes=LIFETIME_STORAGE | {"pair": FLAG},
    op_traits=NO_TILES,
)
AllocTmemOp = define(
    "nv_tileas.alloc_tmem",
    "source",
    "result",
    "a tile in tensor memory, from ``column`` on, in so many ``parts`` of columns that are apart where the tile is wider",
    pure=False,
    attributes={"column": I32, "parts": I32.optional()},
    op_traits=NO_TILES,
)
TmemLoadOp = define(
    "nv_tileas.tmem_load",
    "source stage?",
    "result",
    "read accumulators, or those of a stage, into registers; ``slice``: only some columns of a tile, the first of them, and how many the tile has",
    pure=False,
    attributes={"slice": I64S.optional()},
    op_traits=CUSTOM_LAYOUT,
)
TmemStoreOp = define(
    "nv_tileas.tmem_store",
    "value dest enabled? stage? filled?",
    "",
    "write a tile, or the one of a stage, of the pipeline ``filled``, from registers, or nothing where not enabled; ``chunk``: only this "
    "chunk of the columns, of as many as ``filled`` has stages; each warp then fills its stage; ``accumulator``: each element has a column",
    pure=False,
    attributes={"line_dim": I32.optional(), "chunk": I32.optional(), "accumulator": FLAG},
    op_traits=CUSTOM_LAYOUT,
)
TmemScaleOp = define(
    "nv_tileas.tmem_scale",
    "tile factor",
    "",
    "multiply a tile by factors",
    pure=False,
    op_traits=CUSTOM_LAYOUT,
)
# Scales to be copied to tensor memory: a stage in shared memory has the bytes of each column's lanes together.
StoreScalesOp = define(
    "nv_tileas.store_scales",
    "value buffer stage",
    "",
    "one warp writes scales to a stage, in the order of tensor memory",
    pure=False,
    op_traits=CUSTOM_LAYOUT,
)
CopyScalesOp = define(
    "nv_tileas.async.copy_scales",
    "source dest stage",
    "",
    "one thread copies a stage to the columns of the same stage in tensor memory, in order before its later MMAs",
    pure=False,
    op_traits=NO_TILES,
)
AsyncUmmaOp = define(
    "nv_tileas.async.umma",
    "lhs rhs acc accumulate lhs_stage? rhs_stage? pipeline? token? ready? lhs_scale? rhs_scale? acc_stage? scale_iteration?",
    "",
    "one thread issues an MMA of operands in shared memory (lhs: or tensor memory) with accumulators in tensor memory; its "
    "completion releases the stage of the pipeline, and fills ready",
    pure=False,
    # ``scale_iteration``: the index of the iteration in the pipeline of scales. ``chunk``: the index of the chunk of k, and
    # the number of chunks. ``rows``: the same of the tiles of rows. ``recomputed``: its addresses, as the thread has few registers.
    attributes=MMA
    | OPERAND_PLACEMENTS
    | {"mma": TEXT, "shape": I64S, "pair": FLAG, "chunk": I64S.optional(), "rows": I64S.optional(), "recomputed": FLAG},
    op_traits=OpTraits(LayoutTrait.NONE, mma=MmaRole.MULTIPLY | MmaRole.ISSUE | MmaRole.RELEASE),
)
UmmaCommitOp = define(
    "nv_tileas.async.umma_commit",
    "ready token?",
    "",
    "completion of all earlier MMAs fills ready, or the stage of it that a token names",
    pure=False,
    op_traits=OpTraits(LayoutTrait.NONE, mma=MmaRole.COMMIT),
)
UmmaAcquireOp = define(
    "nv_tileas.async.umma_acquire",
    "pipeline token",
    "",
    "wait until all warps have released the accumulators that fill the pipeline",
    pure=False,
    op_traits=OpTraits(LayoutTrait.NONE, mma=MmaRole.ACQUIRE),
)
UmmaReleaseOp = define(
    "nv_tileas.async.umma_release",
    "pipeline token",
    "",
    "completion of all earlier MMAs releases the stage",
    pure=False,
    op_traits=OpTraits(LayoutTrait.NONE, mma=MmaRole.RELEASE),
)
# Ping-pong order of the consumer warpgroups (``warpgroups`` of them) for the whole kernel.
SequenceOpenOp, SequenceWaitOp, SequenceArriveOp, SequenceCloseOp = (
    define(
        f"nv_tileas.async.sequence.{name}",
        "",
        "",
        meaning,
        pure=False,
        attributes={"warpgroups": I32},
        op_traits=NO_TILES,
    )
    for name, meaning in (
        ("open", "let the first warpgroup begin"),
        ("wait", "wait for this warpgroup's slot in the order"),
        ("arrive", "signal the next warpgroup"),
        ("close", "consume the last signal"),
    )
)
AgentSwitchOp = define(
    "nv_tileas.agent_switch",
    "",
    "",
    "warp specialization: producer warps run the first region, consumer warps the last, or the only one; one warp of each of the "
    "next ``issuers`` regions issues MMAs, and one of each further region copies scales",
    pure=False,
    attributes={"issuers": I32.optional(1)},
    regions=1,
    optional_regions=4,
    op_traits=OpTraits(LayoutTrait.NONE, region_kind=RegionKind.AGENT_SWITCH),
)
SCHEDULED = (
    ConvertLayoutOp, SpillOp, ReloadOp, CtaRankOp, ClusterReduceOp, BarrierOp, AllocTensorOp, AsyncTiledLoadOp, AsyncLoadOp, AsyncCommitOp,
    AsyncWaitOp, LocalLoadOp, LocalStoreOp, MakeTiledTmaDescOp, CreatePipelineOp, PipelineOfWarpgroupOp, ProducerAcquireOp, ProducerCommitOp,
    ProducerTailOp, ConsumerWaitOp, ConsumerReleaseOp, AdvanceOp, AsyncTiledTmaLoadOp, AsyncTiledTmaStoreOp, AsyncTmaStoreWaitOp, AsyncDotOp,
    AsyncDotWaitOp, CreateTmemOp, AllocTmemOp, TmemLoadOp, TmemStoreOp, TmemScaleOp, StoreScalesOp, CopyScalesOp, AsyncUmmaOp, UmmaCommitOp,
    UmmaAcquireOp, UmmaReleaseOp, SequenceOpenOp, SequenceWaitOp, SequenceArriveOp, SequenceCloseOp, AgentSwitchOp,
)  # fmt: skip
