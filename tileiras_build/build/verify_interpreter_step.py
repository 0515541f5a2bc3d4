"""The step of ``scons verify`` against the interpreter; separate from ``verify_target.py``, as its signature covers its code."""

from __future__ import annotations

import json
from types import SimpleNamespace


def verify_kernels(bytecode: bytes, ptx: bytes, target: str, path: str) -> bytes:
    """The contents of a ``.verified`` file; runs in a worker. Raises InternalError if results differ."""
    from ..manifest.ptx_code_digest import code_digest
    from ..manifest.ptx_manifest import manifest_of_ptx
    from ..simulate.interpreter.verify_kernels import verify_against_interpreter

    text = ptx.decode()
    compiled = SimpleNamespace(ptx=text, manifest=manifest_of_ptx(text) or {})
    checks = verify_against_interpreter(bytecode, compiled, target, path)
    return json.dumps([check.to_json() | {"ptx": code_digest(ptx)} for check in checks], indent=1).encode()
