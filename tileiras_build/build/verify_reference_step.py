"""The step of ``scons verify`` against references; separate from ``verify_target.py``, as its signature covers its code."""

from __future__ import annotations

import json
from types import SimpleNamespace


def compare_kernels(bytecode: bytes, ptx: bytes, target: str, path: str, name: str) -> dict[str, bytes]:
    """The file ``name``: the results of the kernels of the file at ``path``, and a digest of the code; runs in a worker.

    Raises the errors of ``verify.check_kernels``.
    """
    from ..core.tracing.audit_hooks import tracer

    with tracer().untraced():
        from ..manifest.ptx_code_digest import code_digest
        from ..manifest.ptx_manifest import manifest_of_ptx
        from ..verify.run_and_compare import check_kernels

    text = ptx.decode()
    compiled = SimpleNamespace(ptx=text, manifest=manifest_of_ptx(text) or {})
    outcomes = [outcome.to_json() for outcome in check_kernels(bytecode, compiled, target, path)]
    content = {"ptx": code_digest(ptx), "kernels": outcomes}
    return {name: json.dumps(content, indent=1).encode()}
