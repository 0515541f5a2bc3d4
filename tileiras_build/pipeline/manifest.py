"""The launch manifest: what a host must know to launch the kernels of a cubin.

    {"version": 1, "target": "sm_90a", "kernels": {entry: {
        "params": [{"name", "kind", "size", "offset"}...], "param_sizes": [bytes...], "threads_per_cta": 128,
        "shared_memory": {"static": n, "dynamic": n}, "cluster": [1, 1, 1], "tensor_maps": [],
        "resources": {"registers", "spill_stores", "spill_loads", "stack", "shared"}}}}      # from the cubin

It travels in ``.ll`` as named metadata, in ``.ptx`` as one comment line, and beside the cubin as ``.json``.
"""

from __future__ import annotations

import json
import re

PTX_PREFIX = "// tileiras.manifest: "
_LL_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")


def render_manifest(manifest: dict) -> bytes:
    """The ``.json`` file: UTF-8, keys in the order of the manifest, ending in a newline."""
    return (json.dumps(manifest, indent=1) + "\n").encode()


def manifest_of_ptx(ptx: str) -> dict:
    """The manifest that PTX text carries; {} where there is none."""
    for line in ptx.splitlines():
        if line.startswith(PTX_PREFIX):
            return json.loads(line.removeprefix(PTX_PREFIX))
    return {}


def manifest_of_ll(text: str) -> dict:
    """The manifest that LLVM IR text carries; {} where there is none."""
    string = _metadata_string(text, "tileiras.manifest")
    return json.loads(string) if string else {}


def libdevice_of_ll(text: str) -> str | None:
    """The file name of the libdevice that LLVM IR text asks for, e.g. "libdevice.10.bc"; None for none."""
    return _metadata_string(text, "tileiras.libdevice")


def asks_libdevice(data) -> bool:
    """Whether LLVM IR text, as bytes or a memory map of its file, asks for a libdevice."""
    return data.find(b"\n!tileiras.libdevice = ") >= 0 or data[:22] == b"!tileiras.libdevice = "


def _metadata_string(text: str, name: str) -> str | None:
    """The string of ``!name = !{!N}`` with ``!N = !{!"string"}``."""
    node = re.search(rf"^!{re.escape(name)} = !\{{!(\d+)\}}", text, re.MULTILINE)
    if node is None:
        return None
    value = re.search(rf'^!{node.group(1)} = !\{{!"((?:[^"\\]|\\[0-9A-Fa-f]{{2}})*)"\}}', text, re.MULTILINE)
    return _unescape(value.group(1)) if value else None


def _unescape(text: str) -> str:
    """LLVM's string escapes are bytes: ``\\22`` is a quote, ``\\C3\\A9`` an é."""
    raw = _LL_ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), text.encode().decode("latin-1"))
    return raw.encode("latin-1").decode()
