"""Lower LLVM IR text to PTX: link libdevice, optimize, generate code, correct the header."""

from __future__ import annotations

from ...manifest.ptx_manifest import manifest_comment, manifest_of_ptx
from ..job import Job
from .embedded_metadata import read_manifest

__all__ = ["lower", "manifest_comment", "manifest_of_ptx", "read_manifest"]


def lower(text: str, job: Job) -> str:
    """Compile an LLVM IR module to PTX for the job's target.

    Raises Unsupported[intrinsic-target] for instructions the GPU lacks, InvalidInput[unresolved-libdevice,
    libdevice-missing, libdevice-broken, kernel-name, opt-level], and InternalError[llvm, ...] for IR that LLVM
    rejects or would abort on.
    """
    # Loading LLVM takes 0.1 s and 50 MB, which callers that only read a manifest should not pay.
    from .compile_module import compile_module

    return compile_module(text, job)
