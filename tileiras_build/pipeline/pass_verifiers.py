"""PROOFS: what ``TILEIRAS_CHECK=2`` proves of the IR behind a pass, besides that it verifies.

A proof is a function of ``checkers``, named ``"module:function"`` and imported where it runs: the bytes of no artifact
depend on it. It takes a module, and raises InternalError where the module may go wrong. A row stands behind the pass
that makes what is proved, and again behind each later pass that moves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from xdsl.dialects.builtin import ModuleOp

from ..core.errors import InternalError, describe_exception

Verifier = Callable[[ModuleOp], object]

_VERIFIERS = "tileiras_build.pipeline.verifiers"
BARRIERS = f"{_VERIFIERS}.barriers:check_barriers"
CLUSTERS = f"{_VERIFIERS}.clusters:check_clusters"
CONVERSIONS = f"{_VERIFIERS}.conversions:check_conversions"
PEERS = f"{_VERIFIERS}.peers:check_peers"
PIPELINES = f"{_VERIFIERS}.pipelines:check_pipelines"
CP_ASYNC_BUFFERS = f"{_VERIFIERS}.rings:check_rings"
SHARED_MEMORY = f"{_VERIFIERS}.scratch:check_scratch"
TMA_STORES = f"{_VERIFIERS}.tma_stores:check_tma_stores"

PASS_VERIFIERS: Mapping[str, tuple[str, ...]] = {
    "tileas-insert-barriers": (BARRIERS,),
    "tileas-assign-layouts": (CONVERSIONS,),
    "tileas-specialize-warps": (BARRIERS, PIPELINES),
    "tileas-use-two-cta-mma": (CLUSTERS, PIPELINES),
    "tileas-multicast-loads": (CLUSTERS, PIPELINES),
    "tileas-rotate-mma-loop": (PIPELINES,),
    "tileas-hoist-async-mma-issue": (PIPELINES,),
    "tileas-software-pipeline-loads": (BARRIERS, CP_ASYNC_BUFFERS),
    "tileas-prefetch-fragments": (BARRIERS, CP_ASYNC_BUFFERS),
    # Its copies stay under way until a wait: where their bytes lie, AllocateSharedMemory says.
    "tileas-use-tma-stores": (BARRIERS,),
    "tileas-allocate-shared-memory": (CP_ASYNC_BUFFERS, SHARED_MEMORY, TMA_STORES),
    "tileas-ping-pong-warpgroups": (BARRIERS, CLUSTERS, PIPELINES, CP_ASYNC_BUFFERS, SHARED_MEMORY, TMA_STORES),
    "convert-nvgpu-and-gpu-to-nvvm": (PEERS,),
}


def run_verifiers(name: str, module: ModuleOp) -> None:
    """Run the proofs that stand behind pass ``name``; raises InternalError naming the pass and the proof."""
    for proof in PASS_VERIFIERS.get(name, ()):
        _run_verifier(name, proof, module)


def _run_verifier(name: str, proof: str, module: ModuleOp) -> None:
    function = proof.partition(":")[2]
    try:
        find_verifier(proof)(module)
    except InternalError as error:
        message = f"after pass {name}, {function} found: {error.message}"
        raise InternalError(error.id, message, location=error.location, remedy=error.remedy) from error
    except Exception as error:
        message = f"after pass {name}, {function} failed: {describe_exception(error)}"
        raise InternalError("verifier-failed", message) from error


def find_verifier(name: str) -> Verifier:
    """The function of a proof."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)
