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
BarrierOp = define("nv_tileas.barrier", "", "", "all threads meet; memory before is seen after", pure=False)

# Asynchronous copies into a ring of buffers.
AllocTensorOp = define("nv_tileas.alloc_tensor", "", "result", "a ring of tiles in shared memory", pure=False)
AsyncTiledLoadOp = define(
    "nv_tileas.async_tiled_load", "view coords* buffer stage enabled", "", "copy a tile of a view to a stage", pure=False
)
AsyncCommitOp = define("nv_tileas.async_commit", "", "", "the copies since the last commit are one group", pure=False)
AsyncWaitOp = define("nv_tileas.async_wait", "", "", "until at most pending groups are under way", pure=False)
LocalLoadOp = define("nv_tileas.local_load", "buffer stage", "result", "read a stage into registers", pure=False)
SCHEDULED = (
    ConvertLayoutOp,
    BarrierOp,
    AllocTensorOp,
    AsyncTiledLoadOp,
    AsyncCommitOp,
    AsyncWaitOp,
    LocalLoadOp,
)
