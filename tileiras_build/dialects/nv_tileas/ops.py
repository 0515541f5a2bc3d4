"""The operations of scheduled tile IR: counterparts of nv_tileaa and what scheduling adds."""

from __future__ import annotations

from xdsl.traits import IsTerminator, Pure

from ..definition import TableOperation, define
from ..nv_tileaa.ops import OPERATIONS

# These stay as they are until the kernel's signature is converted.
KEPT = frozenset({"nv_tileaa.func", "nv_tileaa.return", "nv_tileaa.global"})


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
    )


COUNTERPARTS: dict[str, type[TableOperation]] = {op.name: _counterpart(op) for op in OPERATIONS if op.name not in KEPT}

ConvertLayoutOp = define("nv_tileas.convert_layout", "sources*", "results*", "the same tiles in other layouts")
CtaRankOp = define("nv_tileas.get_cta_rank", "", "result", "the CTA's number among those of the tile program")
BarrierOp = define("nv_tileas.barrier", "", "", "all threads meet; memory before is seen after", pure=False)

# Asynchronous copies into a ring of buffers.
AllocTensorOp = define("nv_tileas.alloc_tensor", "", "result", "a ring of tiles in shared memory", pure=False)
AsyncTiledLoadOp = define(
    "nv_tileas.async_tiled_load",
    "view coords* buffer stage enabled",
    "",
    "copy a tile of a view to a stage",
    pure=False,
)
AsyncCommitOp = define("nv_tileas.async_commit", "", "", "the copies since the last commit are one group", pure=False)
AsyncWaitOp = define("nv_tileas.async_wait", "", "", "until at most pending groups are under way", pure=False)
LocalLoadOp = define("nv_tileas.local_load", "buffer stage", "result", "read a stage into registers", pure=False)

# Tiles fetched by a warp of their own. A pipeline is a ring of stages with two mbarriers each: full and empty. Where an
# agent stands in it is an i32 token: the stage, and in the low bit the phase.
MakeTiledTmaDescOp = define(
    "nv_tileas.make_tiled_tma_desc", "source", "result", "the tensor map of a memory reference, encoded by the host"
)
CreatePipelineOp = define(
    "nv_tileas.async.pipeline.create", "", "result", "the mbarriers of a ring of stages", pure=False
)
ProducerAcquireOp = define(
    "nv_tileas.async.pipeline.producer_acquire",
    "pipeline token",
    "",
    "until the stage is empty; expect its bytes",
    pure=False,
)
ConsumerWaitOp = define(
    "nv_tileas.async.pipeline.consumer_wait", "pipeline token", "", "until the stage is full", pure=False
)
ConsumerReleaseOp = define(
    "nv_tileas.async.pipeline.consumer_release",
    "pipeline token enabled?",
    "",
    "this warp no longer reads the stage, or the one ``behind`` it",
    pure=False,
)
AdvanceOp = define("nv_tileas.async.pipeline.advance", "pipeline token", "result", "the token of the next stage")
AsyncTiledTmaLoadOp = define(
    "nv_tileas.async.tiled_tma_load",
    "view desc coords* buffer pipeline token",
    "",
    "copy a tile of a view to a stage; its mbarrier counts the bytes",
    pure=False,
)
AsyncTiledTmaStoreOp = define(
    "nv_tileas.async.tiled_tma_store",
    "view desc value coords* token?",
    "result_token",
    "a tile goes to the operation's shared memory, and from there by copies of one thread to its place in the tensor; "
    "in ``parts``, a group each, of which so many as there are ``slots`` are in shared memory at once",
    pure=False,
)
AsyncTmaStoreWaitOp = define(
    "nv_tileas.async.tma_store_wait",
    "",
    "",
    "until the copies of all tiled_tma_store have written (``read``: have read shared memory)",
    pure=False,
)
AsyncDotOp = define(
    "nv_tileas.async.dot",
    "lhs rhs acc lhs_stage? rhs_stage?",
    "result",
    "a warpgroup product with operands in shared memory (lhs: or registers); until at most ``pending`` are under way, if it says",
    pure=False,
)
AsyncDotWaitOp = define(
    "nv_tileas.async.dot_wait", "source", "result", "until at most pending products are under way", pure=False
)
# Tensor memory: tiles of accumulators (and left operands) in columns of one allocation of the kernel.
CreateTmemOp = define(
    "nv_tileas.create_tmem",
    "",
    "result",
    "the kernel's columns of tensor memory; an address in shared memory",
    pure=False,
)
AllocTmemOp = define(
    "nv_tileas.alloc_tmem", "source", "result", "a tile in tensor memory, from ``column`` on", pure=False
)
TmemLoadOp = define(
    "nv_tileas.tmem_load",
    "source stage?",
    "result",
    "read a tile, or the one of a stage, into registers",
    pure=False,
)
TmemStoreOp = define(
    "nv_tileas.tmem_store",
    "value dest enabled? stage?",
    "",
    "write a tile, or the one of a stage, from registers, or nothing where not enabled",
    pure=False,
)
AsyncUmmaOp = define(
    "nv_tileas.async.umma",
    "lhs rhs acc accumulate lhs_stage? rhs_stage? pipeline? token? ready? lhs_scale? rhs_scale? acc_stage?",
    "",
    "one thread multiplies operands in shared memory (lhs: or tensor memory) into tensor memory; what is done later "
    "empties the stage of the pipeline, and fills ready",
    pure=False,
)
UmmaCommitOp = define(
    "nv_tileas.async.umma_commit",
    "ready token?",
    "",
    "all products before, once done, fill ready, or the stage of it that a token names",
    pure=False,
)
UmmaAcquireOp = define(
    "nv_tileas.async.umma_acquire",
    "pipeline token",
    "",
    "until all warps have released the accumulators that fill the pipeline",
    pure=False,
)
# Turns of the warpgroups that compute, one after the other (``warpgroups`` of them) for as long as the kernel runs.
SequenceOpenOp, SequenceWaitOp, SequenceArriveOp, SequenceCloseOp = (
    define(f"nv_tileas.async.sequence.{name}", "", "", meaning, pure=False)
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
    "warps of the first region fetch, those of the last compute; one of a region between them issues products",
    pure=False,
    regions=2,
    optional_regions=1,
)
SCHEDULED = (
    ConvertLayoutOp,
    CtaRankOp,
    BarrierOp,
    AllocTensorOp,
    AsyncTiledLoadOp,
    AsyncCommitOp,
    AsyncWaitOp,
    LocalLoadOp,
    MakeTiledTmaDescOp,
    CreatePipelineOp,
    ProducerAcquireOp,
    ConsumerWaitOp,
    ConsumerReleaseOp,
    AdvanceOp,
    AsyncTiledTmaLoadOp,
    AsyncTiledTmaStoreOp,
    AsyncTmaStoreWaitOp,
    AsyncDotOp,
    AsyncDotWaitOp,
    CreateTmemOp,
    AllocTmemOp,
    TmemLoadOp,
    TmemStoreOp,
    AsyncUmmaOp,
    UmmaCommitOp,
    UmmaAcquireOp,
    SequenceOpenOp,
    SequenceWaitOp,
    SequenceArriveOp,
    SequenceCloseOp,
    AgentSwitchOp,
)
