"""What the step of ``scons verify`` does that compares with the authors' references: its code alone decides what it finds."""

from __future__ import annotations

import hashlib
import json
from types import SimpleNamespace


def compare_kernels(bytecode: bytes, ptx: bytes, target: str, path: str, name: str) -> dict[str, bytes]:
    """The file ``name``: how the kernels made from the file at ``path`` fared, and which PTX that was; runs in a worker.

    Raises what ``references.check_kernels`` raises.
    """
    from ..core.tracing.audit_hooks import tracer

    with tracer().untraced():
        from ..manifest.ptx_manifest import manifest_of_ptx
        from ..verify.run_and_compare import check_kernels

    text = ptx.decode()
    compiled = SimpleNamespace(ptx=text, manifest=manifest_of_ptx(text) or {})
    outcomes = [outcome.to_json() for outcome in check_kernels(bytecode, compiled, target, path)]
    content = {"ptx": hashlib.sha256(ptx).hexdigest(), "kernels": outcomes}
    return {name: json.dumps(content, indent=1).encode()}
