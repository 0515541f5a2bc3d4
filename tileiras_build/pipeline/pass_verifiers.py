"""PASS_VERIFIERS: the verifiers that ``TILEIRAS_CHECK=2`` runs after each pass, besides the verifiers of operations.

A pass verifier is a function in ``verifiers/``, named ``"module:function"`` and imported when it runs, so that no
artifact depends on its source. Given a module, it raises InternalError if an execution may go wrong. It runs after the
pass that creates the operations that it checks, and after each later pass that moves them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from xdsl.dialects.builtin import ModuleOp

from ..core.errors import InternalError, describe_exception

Verifier = Callable[[ModuleOp], object]

_VERIFIERS = "tileiras_build.pipeline.verifiers"
BARRIERS = f"{_VERIFIERS}.token_barriers:verify_token_barriers"
CLUSTERS = f"{_VERIFIERS}.cluster_multicast:verify_cluster_multicast"
CONVERSIONS = f"{_VERIFIERS}.layout_conversions:verify_layout_conversions"
PEERS = f"{_VERIFIERS}.cluster_peer_lifetime:verify_peer_lifetime"
PIPELINES = f"{_VERIFIERS}.mbarrier_pipelines:verify_pipelines"
CP_ASYNC_BUFFERS = f"{_VERIFIERS}.cp_async_buffers:verify_cp_async_buffers"
SHARED_MEMORY = f"{_VERIFIERS}.shared_memory_allocation:verify_shared_memory_allocation"
TMA_STORES = f"{_VERIFIERS}.tma_stores:verify_tma_stores"

PASS_VERIFIERS: Mapping[str, tuple[str, ...]] = {
    "tileas-insert-token-barriers": (BARRIERS,),
    "tileas-assign-layouts": (CONVERSIONS,),
    "tileas-specialize-warps": (BARRIERS, PIPELINES),
    "tileas-use-two-cta-mma": (CLUSTERS, PIPELINES),
    "tileas-multicast-loads": (CLUSTERS, PIPELINES),
    "tileas-rotate-mma-loop": (PIPELINES,),
    "tileas-hoist-async-mma-issue": (PIPELINES,),
    "tileas-overlap-mmas": (PIPELINES,),
    "tileas-defer-mma-waits": (BARRIERS, PIPELINES, CP_ASYNC_BUFFERS),
    "tileas-software-pipeline-loads": (BARRIERS, CP_ASYNC_BUFFERS),
    "tileas-prefetch-fragments": (BARRIERS, CP_ASYNC_BUFFERS),
    "tileas-copy-operands-ahead": (BARRIERS, PIPELINES, CP_ASYNC_BUFFERS),
    "tileas-prefetch-gathered-tiles": (BARRIERS, PIPELINES),
    # Its copies are in flight until a wait; AllocateSharedMemory assigns their addresses later.
    "tileas-use-tma-stores": (BARRIERS,),
    "tileas-read-accumulators-late": (BARRIERS, PIPELINES),
    "tileas-read-accumulator-slices": (BARRIERS, PIPELINES),
    "tileas-reload-accumulators": (PIPELINES,),
    "tileas-allocate-shared-memory": (CP_ASYNC_BUFFERS, SHARED_MEMORY, TMA_STORES),
    "tileas-split-mma-issue": (BARRIERS, PIPELINES, CP_ASYNC_BUFFERS),
    "tileas-delay-mma-waits": (PIPELINES,),
    "tileas-ping-pong-warpgroups": (BARRIERS, CLUSTERS, PIPELINES, CP_ASYNC_BUFFERS, SHARED_MEMORY, TMA_STORES),
    "convert-nvgpu-and-gpu-to-nvvm": (PEERS,),
}


def run_verifiers(name: str, module: ModuleOp) -> None:
    """Run the verifiers of pass ``name``; raise InternalError with the pass and the verifier."""
    for verifier in PASS_VERIFIERS.get(name, ()):
        _run_verifier(name, verifier, module)


def _run_verifier(name: str, verifier: str, module: ModuleOp) -> None:
    function = verifier.partition(":")[2]
    try:
        find_verifier(verifier)(module)
    except InternalError as error:
        message = f"after pass {name}, {function} found: {error.message}"
        raise InternalError(error.id, message, location=error.location, remedy=error.remedy) from error
    except Exception as error:
        message = f"after pass {name}, {function} failed: {describe_exception(error)}"
        raise InternalError("verifier-failed", message) from error


def find_verifier(name: str) -> Verifier:
    """Import a verifier named ``"module:function"``."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)
