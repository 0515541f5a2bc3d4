"""The launch manifest: what a host must know to launch the kernels of a cubin.

    {"version": 2, "target": "sm_90a", "kernels": {entry: {
        "params": [{"name", "kind", "size", "offset", "role", "argument", "axis", "element", "access", "divisible_by",
                    "minimum", "maximum", "value"}...], "param_sizes": [bytes...],
        "arguments": [{"name", "kind", "param", "rank", "view"}...], "grid": {"axes": [0], "meaning": [words...], "group": n,
        "cluster": n, "programs": [{"least", "most", "param", "minimum"}...], "persistent": n}, "threads_per_cta": 128,
        "shared_memory": {"static": n, "dynamic": n}, "cluster": [1, 1, 1],
        "tensor_maps": [{"param", "element", "base", "shape", "strides", "box", "element_strides", "swizzle",
                         "interleave", "fill", "l2_promotion"}...],
        "resources": {"registers", "spill_stores", "spill_loads", "stack", "shared"},      # from the cubin
        "variant_of": entry, "split_k": [{"ctas": n, "programs": [...]}...], "tuning": {"point", "by", "stale"}}}}

``manifest/launch_manifest.py`` documents each member of a parameter and an argument; unknown ones are omitted.
``param_sizes`` are those of the parameters that the program declares; ``params`` also has the parameters after them. A
tensor map has the arguments of ``cuTensorMapEncodeTiled``, fastest dimension first, strides in bytes; the launcher
encodes it into the 128-byte parameter ``param`` (kind ``tensor_map``). ``base`` is ``{"param": i}``, the index of a
pointer parameter; each entry of ``shape`` and ``strides`` is an integer, or ``{"param": i, "times": n, "over": d}``: an
integer parameter times n, then divided by d (1 if absent); the kernel assumes divisibility. An extent of 0 is encoded
as 1: the driver rejects empty tensors, and none is read.

``grid.persistent`` is present if CTAs loop over tile programs (``tileaa-make-persistent``): the CTAs that fit on an SM
at once; 1 for PTX that was not assembled. The launcher passes the requested extents of the grid as the parameters of
the role ``grid``, in the order x, y and z, and launches along x at most as many CTAs, or clusters of them, as there are
tile programs; more than fit at once are correct, but slower.

``shared_memory`` is in bytes; a kernel's memory is all dynamic if it exceeds the static limit
(``target/sm_limits.py``), and the launcher sets ``CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES``.

``variant_of`` is present in the entry of a variant: a kernel with the same arguments as that one, and more assumptions, of the
grid by ``grid.cluster``. One with ``grid.programs`` is faster for grids of ``least`` to ``most`` tile blocks, where the integer parameter
``param`` is at least ``minimum``.

``split_k`` is present for launchers that have split-K variants compiled when a launch asks for them (``ct.launch``): the grids for which
a schedule with ``split_k`` is faster.

``tuning`` is present if the source has a space of constants and hints: the point that was compiled, who chose it ("default",
"model", "gpu", …), and ``stale`` if the space has changed since.

``opt_level`` is ptxas' optimization level, if that is not 3.

``cluster`` is the shape of the cluster of CTAs that executes one tile program; it is compiled into the kernel, whose
grid counts tile programs (``.blocksareclusters``), so the launch needs no attribute. ``grid.cluster`` is present if a
cluster executes so many tile programs, neighbours along x (``.reqnctapercluster``): the extent of a grid along x is a
multiple of it.

The manifest is named metadata in ``.ll``, one comment line in ``.ptx`` (``ll_to_ptx/embedded_metadata.py`` reads both),
and a ``.json`` file beside the cubin.
"""

from __future__ import annotations

import json


def render_manifest(manifest: dict) -> bytes:
    """The ``.json`` file: keys in the order of the manifest, ending in a newline."""
    return (json.dumps(manifest, indent=1) + "\n").encode()


def parse_cubin(data: bytes, name: str | None = None) -> tuple[bytes, dict]:
    """A cubin is the last artifact: nothing is compiled from it, so its manifest stays empty."""
    return data, {}


def render_cubin(value: tuple[bytes, dict]) -> dict[str, bytes]:
    """The files of a cubin: itself, and its manifest as JSON."""
    cubin, manifest = value
    return {".cubin": cubin, ".json": render_manifest(manifest)}
