"""Every operation that can be written as LLVM IR, by name: the union of the families' tables."""

from __future__ import annotations

from ..control import control_flow, diagnostics, program
from ..memory import atomics, global_memory, views
from ..pipelines import agents, async_copies, sequences, tensor_maps
from ..products import dot, scaled_sums, tensor_memory, warpgroup_dot
from ..values import arithmetic, collectives, convert_layout, division, mixed_sums, parked_tiles, shapes
from .kernel_emitter import Handler

FAMILIES = (
    agents,
    arithmetic,
    async_copies,
    atomics,
    collectives,
    control_flow,
    convert_layout,
    diagnostics,
    division,  # after arithmetic, whose rule it extends
    dot,
    global_memory,
    mixed_sums,  # after arithmetic, too
    parked_tiles,
    program,
    sequences,
    shapes,
    tensor_maps,
    tensor_memory,
    scaled_sums,
    views,
    warpgroup_dot,
)

HANDLERS: dict[str, Handler] = {name: handler for family in FAMILIES for name, handler in family.HANDLERS.items()}
