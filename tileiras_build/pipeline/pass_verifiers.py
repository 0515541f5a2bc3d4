"""PROOFS: what ``TILEIRAS_CHECK=2`` proves of the IR behind a pass, besides that it verifies.

A proof is a function of ``checkers``, named ``"module:function"`` and imported where it runs: the bytes of no artifact
depend on it. It takes a module, and raises InternalError where the module may go wrong. A row stands behind the pass
that makes what is proved, and again behind each later pass that moves it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from xdsl.dialects.builtin import ModuleOp

from ..core.errors import InternalError, described

Proof = Callable[[ModuleOp], object]

_CHECKERS = "tileiras_build.pipeline.verifiers"
BARRIERS = f"{_CHECKERS}.barriers:check_barriers"
CLUSTERS = f"{_CHECKERS}.clusters:check_clusters"
CONVERSIONS = f"{_CHECKERS}.conversions:check_conversions"
PEERS = f"{_CHECKERS}.peers:check_peers"
PIPELINES = f"{_CHECKERS}.pipelines:check_pipelines"
RINGS = f"{_CHECKERS}.rings:check_rings"
SCRATCH = f"{_CHECKERS}.scratch:check_scratch"
TMA_STORES = f"{_CHECKERS}.tma_stores:check_tma_stores"

PROOFS: Mapping[str, tuple[str, ...]] = {
    "tileas-order-tokens": (BARRIERS,),
    "tileas-assign-layouts": (CONVERSIONS,),
    "tileas-specialize-warps": (BARRIERS, PIPELINES),
    "tileas-pair-ctas": (CLUSTERS, PIPELINES),
    "tileas-multicast-loads": (CLUSTERS, PIPELINES),
    "tileas-overlap-products": (PIPELINES,),
    "tileas-issue-ahead": (PIPELINES,),
    "tileas-pipeline-loads": (BARRIERS, RINGS),
    "tileas-carry-fragments": (BARRIERS, RINGS),
    # Its copies stay under way until a wait: where their bytes lie, AssignScratch says.
    "tileas-store-by-tma": (BARRIERS,),
    "tileas-assign-scratch": (RINGS, SCRATCH, TMA_STORES),
    "tileas-sequence-products": (BARRIERS, CLUSTERS, PIPELINES, RINGS, SCRATCH, TMA_STORES),
    "convert-nvgpu-and-gpu-to-nvvm": (PEERS,),
}


def prove(name: str, module: ModuleOp) -> None:
    """Run the proofs that stand behind pass ``name``; raises InternalError naming the pass and the proof."""
    for proof in PROOFS.get(name, ()):
        _prove(name, proof, module)


def _prove(name: str, proof: str, module: ModuleOp) -> None:
    function = proof.partition(":")[2]
    try:
        find_proof(proof)(module)
    except InternalError as error:
        message = f"after pass {name}, {function} found: {error.message}"
        raise InternalError(error.id, message, location=error.location, remedy=error.remedy) from error
    except Exception as error:
        message = f"after pass {name}, {function} failed: {described(error)}"
        raise InternalError("proof-failed", message) from error


def find_proof(name: str) -> Proof:
    """The function of a proof."""
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)
