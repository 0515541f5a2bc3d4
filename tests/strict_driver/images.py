"""The images of ``wrong_calls.py``: kernels that each make one wrong launch possible, and files that are no images."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tileiras_build.launch.packages.fatbin import FatbinImage, make_fatbin
from tileiras_build.launch.runtime.library_manifest import CUBIN, PTX
from tileiras_build.pipeline.ptx_to_cubin import find_ptxas

_STORE = "ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x; st.global.u32 [%d0], %r0;"
# Registers that are all alive at once.
_MANY = "".join(
    ["ld.param.u64 %d0, [p]; "]
    + [f"ld.global.volatile.u32 %r{i}, [%d0+{4 * i}]; " for i in range(100)]
    + [f"st.global.volatile.u32 [%d0+{4 * i}], %r{i}; " for i in range(100)]
)
_STATIC = ".shared .align 4 .b8 s[65536]; mov.u32 %r0, %tid.x; st.volatile.shared.u32 [s], %r0;"
_MAP = ".param .align 64 .b8 p[128]"
# Name -> (directives, parameter, body).
KERNELS = {
    "plain": ("", ".param .u64 p", _STORE),
    "required": (".reqntid 32", ".param .u64 p", _STORE),
    "bounded": (".maxntid 64", ".param .u64 p", _STORE),
    "wide": ("", ".param .u64 p", _MANY),
    "pairs": (".reqnctapercluster 2", ".param .u64 p", _STORE),
    "tall": (".reqntid 32 .reqnctapercluster 1, 2 .blocksareclusters", ".param .u64 p", _STORE),
    "sixteen": (".reqnctapercluster 16", ".param .u64 p", _STORE),
    "static": ("", ".param .u64 p", _STATIC),
    "mapped": ("", _MAP, "mov.u32 %r0, %tid.x;"),
}  # fmt: skip


def ptx(target: str, names=tuple(KERNELS)) -> str:
    """PTX of these kernels."""
    texts = [f".version 9.0\n.target {target}\n.address_size 64\n"]
    for name in names:
        directives, parameter, body = KERNELS[name]
        body = ".reg .u32 %r<100>; .reg .u64 %d<2>;\n" + body.replace("; ", ";\n")
        texts.append(f".visible .entry {name}({parameter}) {directives} {{\n{body}\nret;\n}}\n")
    return "".join(texts)


def tile_ptx(target: str) -> str:
    """PTX of ``required`` in a module with the variable by which the driver knows images of tileiras."""
    head, kernel = ptx(target, ["required"]).split(".visible", 1)
    return f"{head}.visible .global .align 8 .b8 ___NV_TILE_LAUNCH_META_DATA___[64];\n.visible{kernel}"


def assemble(text: str, target: str, options: Sequence[str] = ()) -> bytes:
    """The cubin of PTX text."""
    command = [find_ptxas(), *options, f"-arch={target}", "-o", "/dev/stdout", "-"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def build(folder: Path) -> tuple[bytes, str]:
    """Write all images for a driver of sm_90; the cubin that can be launched, and its PTX."""
    text = ptx("sm_90a")
    cubin, other = assemble(text, "sm_90a"), assemble(ptx("sm_80", ["plain"]), "sm_80")
    broken = make_fatbin("broken", (FatbinImage(PTX, "sm_80", ptx("sm_80", ["plain"]).encode()),))
    files = {
        "large.cubin": cubin, "other.cubin": other, "tile.cubin": assemble(tile_ptx("sm_90a"), "sm_90a"),
        "text": b"no image" * 64,
        "host.elf": Path(sys.executable).resolve().read_bytes()[:4096],
        "other.fatbin": make_fatbin("other", (FatbinImage(CUBIN, "sm_80", other),)),
        "broken.fatbin": broken.replace(b"st.global.u32", b"xt.global.u32"),
    }  # fmt: skip
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return cubin, text
