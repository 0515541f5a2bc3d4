"""Every operation that can be written as LLVM IR, by name: the union of the families' tables."""

from __future__ import annotations

from . import (
    arithmetic,
    async_copies,
    atomics,
    collectives,
    control_flow,
    convert_layout,
    diagnostics,
    dot,
    memory,
    pipelines,
    program,
    sequences,
    shapes,
    tensor_maps,
    tensor_memory,
    views,
    warpgroup_dot,
)
from .kernel_emitter import Handler

FAMILIES = (
    arithmetic,
    async_copies,
    atomics,
    collectives,
    control_flow,
    convert_layout,
    diagnostics,
    dot,
    memory,
    pipelines,
    program,
    sequences,
    shapes,
    tensor_maps,
    tensor_memory,
    views,
    warpgroup_dot,
)

HANDLERS: dict[str, Handler] = {name: handler for family in FAMILIES for name, handler in family.HANDLERS.items()}
