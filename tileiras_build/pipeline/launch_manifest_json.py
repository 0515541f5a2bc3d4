"""The launch manifest: what a host must know to launch the kernels of a cubin.

    {"version": 2, "target": "sm_90a", "kernels": {entry: {
        "params": [{"name", "kind", "size", "offset", "role", "argument", "axis", "element", "access", "divisible_by",
                    "minimum", "maximum", "value"}...], "param_sizes": [bytes...],
        "arguments": [{"name", "kind", "param", "rank", "view"}...], "grid": {"axes": [0], "meaning": [words...], "group": n,
        "persistent": n}, "threads_per_cta": 128,
        "shared_memory": {"static": n, "dynamic": n}, "cluster": [1, 1, 1],
        "tensor_maps": [{"param", "element", "base", "shape", "strides", "box", "element_strides", "swizzle",
                         "interleave", "fill", "l2_promotion"}...],
        "resources": {"registers", "spill_stores", "spill_loads", "stack", "shared"}}}}      # from the cubin

``launch_manifest.py`` says what each member of a parameter and an argument means; what is not known is left out.
``param_sizes`` are those of the parameters that the program declares; ``params`` also has what is behind them. A tensor
map is what ``cuTensorMapEncodeTiled`` takes, fastest dimension first, strides in bytes; the launcher encodes it
into the 128-byte parameter number ``param`` (kind ``tensor_map``). ``base`` is ``{"param": i}``, the number of a pointer
parameter; each entry of ``shape`` and ``strides`` is an integer, or ``{"param": i, "times": n, "over": d}``: an integer
parameter times n, then divided by d (1 where absent); the kernel relies on it being a multiple. An extent of 0 is encoded as 1: the driver knows no empty tensor, and none is read.

``grid.persistent`` is there where CTAs run tile programs one after the other (``tileaa-make-persistent``): the CTAs
that fit on an SM at once; 1 for PTX that was not assembled. The launcher gives the extents of the grid that it was asked for
as the parameters of the role ``grid``, in this order x, y and z, and launches along x no more CTAs, or clusters of them, than
there are tile programs; more than fit at once are right, and slower.

``shared_memory`` is in bytes; all of a kernel is dynamic where it takes more than every kernel may (``target/sm_limits.py``), and
the launcher asks for that with ``CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES``.

``opt_level`` is ptxas' optimization level, where that is not 3.

``cluster`` is the shape of the cluster of CTAs that executes one tile program; it is compiled into the kernel, whose
grid counts tile programs (``.blocksareclusters``) and thus takes no launch attribute.

It travels in ``.ll`` as named metadata, in ``.ptx`` as one comment line (``ll_to_ptx/embedded_metadata.py`` reads both), and
lies beside the cubin as ``.json``.
"""

from __future__ import annotations

import json


def render_manifest(manifest: dict) -> bytes:
    """The ``.json`` file: keys in the order of the manifest, ending in a newline."""
    return (json.dumps(manifest, indent=1) + "\n").encode()


def parse_cubin(data: bytes, name: str | None = None) -> tuple[bytes, dict]:
    """A cubin is the last artifact: nothing is made from it, so its manifest stays empty."""
    return data, {}


def render_cubin(value: tuple[bytes, dict]) -> dict[str, bytes]:
    """The files of a cubin: itself, and its manifest as JSON."""
    cubin, manifest = value
    return {".cubin": cubin, ".json": render_manifest(manifest)}
