"""The instruction set, one module per family; importing it registers them all (``registry``)."""

from __future__ import annotations

from . import (
    atomic,
    builtin,
    bulk,
    cluster_launch,
    control,
    convert,
    copy,
    floating,
    integer,
    matrix,
    matrix_moves,
    mbarrier,
    memory,
    move,
    registers,
    remote,
    sync,
    tcgen05,
    tcgen05_mma,
    tensormap,
    warp,
    wgmma,
)
from .registry import GROUP_WIDE, HANDLERS, NAMESPACE, is_warp_wide, result_kind, starts_function

__all__ = ["GROUP_WIDE", "HANDLERS", "NAMESPACE", "is_warp_wide", "result_kind", "starts_function"]
