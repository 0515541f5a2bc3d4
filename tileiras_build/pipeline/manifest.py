"""The launch manifest: what a host must know to launch the kernels of a cubin.

    {"version": 1, "target": "sm_90a", "kernels": {entry: {
        "params": [{"name", "kind", "size", "offset"}...], "param_sizes": [bytes...], "threads_per_cta": 128,
        "shared_memory": {"static": n, "dynamic": n}, "cluster": [1, 1, 1], "tensor_maps": [],
        "resources": {"registers", "spill_stores", "spill_loads", "stack", "shared"}}}}      # from the cubin

It travels in ``.ll`` as named metadata, in ``.ptx`` as one comment line (``ll_to_ptx/metadata.py`` reads both), and
lies beside the cubin as ``.json``.
"""

from __future__ import annotations

import json

_LIBDEVICE = b"!tileiras.libdevice = "
_INLINE = b' = !{!"base64:'


def render_manifest(manifest: dict) -> bytes:
    """The ``.json`` file: keys in the order of the manifest, ending in a newline."""
    return (json.dumps(manifest, indent=1) + "\n").encode()


def asks_libdevice(data) -> bool:
    """Whether LLVM IR text, as bytes or a memory map of its file, asks for a libdevice that it does not carry."""
    named = data.find(b"\n" + _LIBDEVICE) >= 0 or data[: len(_LIBDEVICE)] == _LIBDEVICE
    return named and data.find(_INLINE) < 0
