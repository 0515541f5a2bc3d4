"""Prebuild the kernels that ``run.py`` measures: ours and, where it is installed, tileiras' cubins of the same bytecode.

    python benchmarks/gpu/build.py FOLDER [--sm 90] [--only PATTERN]...

FOLDER gets ``plan.json`` and the cubins, ours with their PTX. The machine with the GPU needs that folder, ``run.py`` and its three libraries.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import compile_speed

import tileiras_build
from tileiras_build.bytecode.export import Case, export_kernels, load_cases
from tileiras_build.targets import Target, find_target

KERNELS = Path(__file__).resolve().parents[1] / "fast_path_kernels.py"
SIZE, LENGTH, HEADS, ROWS, ELEMENTS = 4096, 4096, 32, 16384, 1 << 26


def problem(case: Case) -> dict:
    """What a kernel is run on: its kind, the arrays' shapes, scalars, grid and floating-point operations."""
    numbers = [argument for argument in case.arguments if isinstance(argument, int)]
    return next(made(case, numbers) for name, made in PROBLEMS.items() if case.name.startswith(name))


def _product(case: Case, tiles: list[int]) -> dict:
    grid = [SIZE // tiles[0], SIZE // tiles[1], 1]
    return {"kind": "product", "shapes": [[SIZE, SIZE]] * 3, "scalars": [], "grid": grid, "work": 2 * SIZE**3}


def _attention(case: Case, numbers: list[int]) -> dict:
    tile, dim, causal = numbers[0], numbers[2], bool(case.arguments[-1])
    work = 4 * HEADS * LENGTH * LENGTH * dim // (2 if causal else 1)
    kind = "attention_causal" if causal else "attention"
    shapes = [[HEADS, LENGTH, dim]] * 4
    return {"kind": kind, "shapes": shapes, "scalars": [dim**-0.5], "grid": [LENGTH // tile, HEADS, 1], "work": work}


def _layer_norm(case: Case, numbers: list[int]) -> dict:
    n = numbers[0]
    shapes = [[ROWS, n], [n], [n], [ROWS, n]]
    return {"kind": "layer_norm", "shapes": shapes, "scalars": [1e-5], "grid": [ROWS, 1, 1], "work": 0}


def _softmax(case: Case, numbers: list[int]) -> dict:
    shapes = [[ROWS, numbers[0]]] * 2
    return {"kind": "softmax", "shapes": shapes, "scalars": [], "grid": [ROWS, 1, 1], "work": 0}


def _transpose(case: Case, tiles: list[int]) -> dict:
    grid = [2 * SIZE // tiles[0], 2 * SIZE // tiles[1], 1]
    return {"kind": "transpose", "shapes": [[2 * SIZE, 2 * SIZE]] * 2, "scalars": [], "grid": grid, "work": 0}


def _vector_add(case: Case, tiles: list[int]) -> dict:
    return {
        "kind": "vector_add", "shapes": [[ELEMENTS]] * 3, "scalars": [], "grid": [ELEMENTS // tiles[0], 1, 1], "work": 0,
    }  # fmt: skip


PROBLEMS = {
    "matmul": _product, "attention": _attention, "layer_norm": _layer_norm, "softmax": _softmax,
    "transpose": _transpose, "vector_add": _vector_add,
}  # fmt: skip


def main() -> int:
    options = _options()
    target = find_target(options.sm)
    options.folder.mkdir(parents=True, exist_ok=True)
    cases = {case.name: case for case in load_cases(KERNELS) if case.name.startswith(tuple(PROBLEMS))}
    names = [name for name in cases if any(fnmatch.fnmatch(name, pattern) for pattern in options.only or ["*"])]
    rows = [_build(cases[name], code, target, options.folder) for name, code in export_kernels(KERNELS, names).items()]
    versions = {"tileiras_build": getattr(tileiras_build, "__version__", "checkout"), "target": target.arch}
    text = json.dumps({"versions": versions, "kernels": rows}, indent=1) + "\n"
    (options.folder / "plan.json").write_text(text)
    print(f"{len(rows)} kernels for {target.name} in {options.folder}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sm", default="90", help="the GPU (default: 90)")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match")
    return parser.parse_args()


def _build(case: Case, bytecode: bytes, target: Target, folder: Path) -> dict:
    artifacts = tileiras_build.compile(bytecode, target.name)
    (folder / f"{case.name}.ours.cubin").write_bytes(artifacts.cubin)
    (folder / f"{case.name}.ours.ptx").write_text(artifacts.ptx)
    [launch] = artifacts.manifest["kernels"].values()
    arrays = [argument for argument in case.arguments if hasattr(argument, "ndim")]
    row = {"name": case.name, **problem(case), "launch": launch, "images": ["ours"]}
    row["dtypes"] = [array.dtype for array in arrays]
    row["unit_strides"] = [array.unit_stride for array in arrays]
    if _build_peer(case.name, bytecode, target, folder):
        row["images"].append("tileiras")
    return row


def _build_peer(name: str, bytecode: bytes, target: Target, folder: Path) -> bool:
    peer = compile_speed.find_peer()
    if peer is None:
        return False
    with tempfile.TemporaryDirectory() as scratch:
        compile_speed.run_theirs(peer, bytecode, target, Path(scratch))
        cubin = Path(scratch) / compile_speed.CUBIN
        if cubin.exists():
            (folder / f"{name}.tileiras.cubin").write_bytes(cubin.read_bytes())
        return cubin.exists()


if __name__ == "__main__":
    sys.exit(main())
