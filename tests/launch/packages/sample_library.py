"""A small library on disk: a kernel built for two GPUs and PTX, and a kernel whose manifest uses every field."""

import copy
import json
from pathlib import Path

from tests import compiled_once
from tests.examples.example_library import bytecode_of
from tileiras_build.core.file_io import write_files
from tileiras_build.launch.packages.package_library import KernelFiles, pack_kernel, pack_library
from tileiras_build.launch.runtime.library_manifest import CUBIN, PTX
from tileiras_build.pipeline.launch_manifest_json import render_manifest

PLAIN, TENSOR = "vector_add_f32", "vector_add_f16"
NAME = "sample"
TENSOR_MAP = {
    "param": 9, "element": "f16", "base": {"param": 0},
    "shape": [{"param": 1, "over": 2}, 4], "strides": [{"param": 2, "times": 2}], "box": [64, 4], "element_strides": [1, 1],
    "swizzle": "128B", "interleave": "none", "fill": "nan", "l2_promotion": "128B",
}  # fmt: skip


def artifacts_of(name: str, target: str):
    return compiled_once.compiled(bytecode_of(name), target, stop_at="cubin")


def with_tensor_map(manifest: dict) -> dict:
    """The manifest as if the kernel took a descriptor, 100 KB of dynamic shared memory and clusters of two blocks."""
    made = copy.deepcopy(manifest)
    kernel = made["kernels"][TENSOR]
    for row in kernel["params"]:
        row.pop("value", None)  # as if it took strides of any size
    kernel["params"].append({"name": "tensor_map_0", "kind": "tensor_map", "size": 128, "offset": 64})
    kernel |= {"tensor_maps": [TENSOR_MAP], "cluster": [2, 1, 1], "shared_memory": {"static": 0, "dynamic": 102400}}
    return made


def build(folder: Path, *, embed: bool = False) -> Path:
    """Write the library's package and return its folder. PLAIN is for sm_80, sm_90 and PTX of sm_80; TENSOR for sm_90."""
    plain = [_write(folder, PLAIN, sm, artifacts_of(PLAIN, sm).manifest) for sm in ("sm_80", "sm_90")]
    ptx = folder / "sm_80" / f"{PLAIN}.ptx"
    write_files({ptx: artifacts_of(PLAIN, "sm_80").ptx.encode()})
    tensor = _write(folder, TENSOR, "sm_90", with_tensor_map(artifacts_of(TENSOR, "sm_90").manifest))
    files = []
    for name, images in {PLAIN: (*plain, (PTX, str(ptx))), TENSOR: (tensor,)}.items():
        path = folder / "fatbin" / f"{name}.fatbin"
        write_files({path: pack_kernel(name, tuple(images))})
        files.append(KernelFiles(name, str(path), tuple(images)))
    made = pack_library(NAME, files, embed=embed)
    write_files({folder / NAME / name: data for name, data in made.items()})
    return folder / NAME


def _write(folder: Path, name: str, target: str, manifest: dict) -> tuple[str, str]:
    path = folder / target / f"{name}.cubin"
    write_files({path: artifacts_of(name, target).cubin, path.with_suffix(".json"): render_manifest(manifest)})
    return CUBIN, str(path)


def manifest_json(package: Path) -> dict:
    return json.loads((package / "manifest.json").read_text())
