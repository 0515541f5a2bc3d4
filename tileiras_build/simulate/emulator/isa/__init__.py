"""The instruction set, one module per family; importing it registers them all (``registry``)."""

from __future__ import annotations

from . import (
    atomic,
    barriers_and_fences,
    cluster_launch_control,
    control_flow,
    cp_async,
    cp_async_bulk,
    cvt,
    float_instructions,
    integer_instructions,
    ld_st,
    ldmatrix_stmatrix,
    mbarrier,
    mma_sync,
    mov_setp_cvta,
    multimem,
    setmaxnreg,
    st_async_red_async,
    system_calls,
    tcgen05_instructions,
    tcgen05_mma,
    tensormap_replace,
    warp_collectives,
    wgmma,
)
from .handler_registry import CONVERGENT_GROUP_OPS, HANDLERS, NAMESPACE, is_warp_wide, result_kind, starts_function

__all__ = ["CONVERGENT_GROUP_OPS", "HANDLERS", "NAMESPACE", "is_warp_wide", "result_kind", "starts_function"]
