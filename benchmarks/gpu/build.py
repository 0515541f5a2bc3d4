"""Prebuild what ``run.py`` measures: our kernels and, where it is installed, tileiras' cubins of the same bytecode.

    python benchmarks/gpu/build.py FOLDER [--sm 90] [--small] [--no-peer] [--only PATTERN]...

FOLDER gets ``plan.json``, the cubins, ours with their PTX, and the probes. The machine with the GPU needs that folder
and this one. ``--small`` is for a GPU that is emulated.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import compile_speed
import numpy as np

import tileiras_build
from tileiras_build.bytecode.export import Array, Case, export_kernels, load_cases
from tileiras_build.pipeline import ptx_to_cubin
from tileiras_build.pipeline.job import Job
from tileiras_build.targets import COMMON_SHARED_MEMORY, Target, find_target

BENCHMARKS = Path(__file__).resolve().parents[1]
KERNELS = (BENCHMARKS / "fast_path_kernels.py", BENCHMARKS / "gpu_kernels.py")
MOST_BYTES = 16 << 20  # of a plan with its cubins


@dataclass(frozen=True)
class Sizes:
    """How large problems are: sides of products (half of transposes), attention's length and heads, rows, elements.

    ``tail`` is what products have beyond ``side``: so many rows more, and columns less.
    """

    side: int
    length: int
    heads: int
    rows: int
    elements: int
    tail: int = 0


# Of kernels whose arrays are promised to be multiples of 16, of 128 along sequences and of 4096 elements; the sides of a
# tail are no multiples of any tile. Of those that are promised nothing, everything is odd.
PROMISED = {"small": Sizes(256, 256, 1, 4, 8192), "tail": Sizes(1008, 896, 3, 37, 12288, tail=16),
            "full": Sizes(4096, 4096, 32, 16384, 1 << 26)}  # fmt: skip
ODD = {"small": Sizes(251, 251, 1, 3, 8191), "tail": Sizes(1005, 901, 3, 37, 12289, tail=6),
       "full": Sizes(4095, 4095, 32, 16383, (1 << 26) - 1)}  # fmt: skip
# The same for a GPU that is emulated.
SMALL = {"tail": Sizes(208, 128, 2, 3, 12288, tail=16), "full": PROMISED["small"]}
SMALL_ODD = {"tail": Sizes(205, 133, 2, 3, 12289, tail=6), "full": ODD["small"]}


def variant(shapes: list, grid: list[int], scalars: tuple = (), work: float = 0) -> dict:
    """What one launch is told."""
    return {"shapes": shapes, "scalars": list(scalars), "grid": grid, "work": work}


def _tiles(length: int, tile: int) -> int:
    return -(-length // tile)


def _up(length: int, multiple: int) -> int:
    return _tiles(length, multiple) * multiple


def _tiled(case: Case, tile: list[int], m: int, n: int) -> list[int]:
    """A grid of the tiles of an (m, n) result; a persistent kernel counts them along one axis."""
    rows, columns = _tiles(m, tile[0]), _tiles(n, tile[1])
    return [rows * columns, 1, 1] if is_persistent(case) else [rows, columns, 1]


def _product(case: Case, numbers: list[int], sizes: Sizes) -> dict:
    m, n, k = sizes.side + sizes.tail, sizes.side - sizes.tail, sizes.side
    k = _up(k, numbers[2]) if "nan" in words(case) else k
    added = {"gelu": [[n]], "residual": [[m, n]]}
    shapes = [[m, k], [k, n], *(shape for word in words(case) for shape in added.get(word, [])), [m, n]]
    return variant(shapes, _tiled(case, numbers, m, n), work=2 * m * n * k)


def _scaled(case: Case, numbers: list[int], sizes: Sizes) -> dict:
    """Arrays of scales have 16 columns or a multiple of it; two fp4 of an array of bytes are one element of it."""
    block, pair = numbers[3], 2 if case.arguments[0].dtype == "uint8" else 1
    m, n, k = sizes.side + sizes.tail, sizes.side - sizes.tail, _up(sizes.side, 16 * block)
    operands = [[m, k // pair], [m, k // block], [n, k // pair], [n, k // block]]
    return variant([*operands, [m, n]], _tiled(case, numbers, m, n), work=2 * m * n * k)


def _attention(case: Case, numbers: list[int], sizes: Sizes) -> dict:
    tile, dim, length = numbers[0], numbers[2], sizes.length
    work = 4 * sizes.heads * length * length * dim // (2 if case.arguments[-1] else 1)
    return variant([[sizes.heads, length, dim]] * 4, [_tiles(length, tile), sizes.heads, 1], (dim**-0.5,), work)


def _row_length(case: Case, tile: int, sizes: Sizes) -> int:
    """A row fills its tile, or leaves some of it over."""
    return tile - 1 - sizes.tail if is_odd(case) else tile


def _layer_norm(case: Case, numbers: list[int], sizes: Sizes) -> dict:
    n = _row_length(case, numbers[0], sizes)
    return variant([[sizes.rows, n], [n], [n], [sizes.rows, n]], [sizes.rows, 1, 1], (1e-5,))


def _rms_norm(case: Case, numbers: list[int], sizes: Sizes) -> dict:
    n = _row_length(case, numbers[0], sizes)
    return variant([[sizes.rows, n], [n], [sizes.rows, n]], [sizes.rows, 1, 1], (1e-5,))


def _softmax(case: Case, numbers: list[int], sizes: Sizes) -> dict:
    return variant([[sizes.rows, _row_length(case, numbers[0], sizes)]] * 2, [sizes.rows, 1, 1])


def _transpose(case: Case, numbers: list[int], sizes: Sizes) -> dict:
    m, n = 2 * sizes.side + sizes.tail - is_odd(case), 2 * sizes.side - sizes.tail - is_odd(case)
    return variant([[m, n], [n, m]], _tiled(case, numbers, m, n))


def _vector_add(case: Case, numbers: list[int], sizes: Sizes) -> dict:
    return variant([[sizes.elements]] * 3, [_tiles(sizes.elements, numbers[0]), 1, 1])


PROBLEMS: dict[str, Callable[[Case, list[int], Sizes], dict]] = {
    "matmul": _product, "scaled": _scaled, "attention": _attention, "layer_norm": _layer_norm, "rms_norm": _rms_norm,
    "softmax": _softmax, "transpose": _transpose, "vector_add": _vector_add,
}  # fmt: skip
# What a name's first words and others among them make of it: a kind of ``problems.KINDS``.
KINDS = {"matmul": "product"}
KIND_WORDS = ("gelu", "residual", "causal")


def words(case: Case) -> list[str]:
    """What a case's name says."""
    return case.name.split("_")


def is_persistent(case: Case) -> bool:
    """Whether each block takes many tiles."""
    return "persistent" in words(case)


def is_odd(case: Case) -> bool:
    """Whether a kernel is promised nothing about lengths."""
    return "odd" in words(case)


def problem(case: Case, small: bool) -> dict:
    """What a kernel is run on: its kind, and shapes, scalars, grid, operations and bytes of each variant."""
    numbers = [argument for argument in case.arguments if isinstance(argument, int)]
    prefix = next(name for name in PROBLEMS if case.name.startswith(name))
    sizes = (ODD if is_odd(case) else PROMISED) | ((SMALL_ODD if is_odd(case) else SMALL) if small else {})
    variants = {name: PROBLEMS[prefix](case, numbers, size) for name, size in sizes.items()}
    for one in variants.values():
        one["bytes"] = sum(map(_bytes, _arrays(case), one["shapes"]))
    kind = "_".join([KINDS.get(prefix, prefix), *(word for word in words(case) if word in KIND_WORDS)])
    return {"kind": kind, "persistent": is_persistent(case), "variants": variants}


def _arrays(case: Case) -> list[Array]:
    return [argument for argument in case.arguments if isinstance(argument, Array)]


def _bytes(array: Array, shape: list[int]) -> int:
    pair = 2 if array.dtype == "float4_e2m1fn" else 1
    return math.prod(shape) * np.dtype(array.dtype).itemsize // pair


def arrays_of(case: Case) -> dict:
    """What a row says of its arrays."""
    return {"dtypes": formats(case), "unit_strides": [array.unit_stride for array in _arrays(case)]}


def formats(case: Case) -> list[str]:
    """How each array's numbers are stored: ``problems.FORMATS``. Scales of fp8 have no sign."""
    scales = case.name.startswith("scaled")
    return [
        "scale_e4m3" if scales and i in (1, 3) and array.dtype == "float8_e4m3fn" else array.dtype
        for i, array in enumerate(_arrays(case))
    ]


# ---- probes ----------------------------------------------------------------------------------------------------------
# Each numbers 32 threads by way of what it tries; whether our kernels need that stands in the plan. read_all reads
# memory and keeps nothing: its sum is stored where it is all ones and the number of bytes is 0, which never is.
PROBES = """
.visible .entry static_shared(.param .u64 out) {
 .shared .align 16 .b8 room[SIZE];
 .reg .u32 %r<4>; .reg .u64 %d<4>;
 ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; mov.u64 %d2, room; add.u64 %d2, %d2, %d1;
 st.shared.u32 [%d2+PLACE], %r0; bar.sync 0; ld.shared.u32 %r1, [%d2+PLACE]; add.u64 %d0, %d0, %d1;
 st.global.u32 [%d0], %r1; ret; }
.extern .func (.param .b64 found) malloc (.param .b64 size);
.extern .func free (.param .b64 place);
.visible .entry heap(.param .u64 out) {
 .reg .u32 %r<4>; .reg .u64 %d<4>;
 ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4;
 { .param .b64 size; .param .b64 found;
   st.param.b64 [size], 64; call (found), malloc, (size); ld.param.b64 %d2, [found]; }
 st.u32 [%d2], %r0; ld.u32 %r1, [%d2]; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r1;
 { .param .b64 place; st.param.b64 [place], %d2; call free, (place); } ret; }
.visible .entry read_all(.param .u64 from, .param .u64 bytes) {
 .reg .u32 %r<12>; .reg .u64 %d<8>; .reg .pred %p<3>;
 ld.param.u64 %d0, [from]; ld.param.u64 %d1, [bytes]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
 mov.u32 %r3, %nctaid.x; mad.lo.u32 %r4, %r1, %r2, %r0; mul.wide.u32 %d2, %r4, 16; mul.lo.u32 %r5, %r2, %r3;
 mul.wide.u32 %d3, %r5, 16; mov.u32 %r6, 0;
LOOP: setp.ge.u64 %p0, %d2, %d1; @%p0 bra DONE; add.u64 %d4, %d0, %d2;
 ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%d4]; xor.b32 %r6, %r6, %r7; xor.b32 %r6, %r6, %r8; xor.b32 %r6, %r6, %r9;
 xor.b32 %r6, %r6, %r10; add.u64 %d2, %d2, %d3; bra LOOP;
DONE: setp.eq.u32 %p1, %r6, 0xffffffff; setp.eq.and.u64 %p2, %d1, 0, %p1; @%p2 st.global.u32 [%d0], %r6; ret; }
"""


def probes(target: Target) -> str:
    """PTX of the probes; static shared memory is as large as ptxas takes it."""
    size = target.max_shared_memory if target.has("tma") else COMMON_SHARED_MEMORY
    version = ".".join(map(str, target.ptx_version))
    text = PROBES.replace("SIZE", str(size)).replace("PLACE", str(size - 128))
    return f".version {version}\n.target {target.arch}\n.address_size 64\n{text}"


def probed_cases(rows: list[dict]) -> list[tuple[str, str]]:
    """One kernel with tensor maps, one with clusters, one image of tileiras."""
    tests = {
        "check": lambda row: row["launch"]["tensor_maps"] and row["launch"]["cluster"] == [1, 1, 1],
        "check ": lambda row: row["launch"]["cluster"] != [1, 1, 1],
        "tileiras": lambda row: "tileiras" in row["images"],
    }
    found = {what: next((row["name"] for row in rows if test(row)), None) for what, test in tests.items()}
    return [(name, what.strip()) for what, name in found.items() if name]


# ---- building --------------------------------------------------------------------------------------------------------
def main() -> int:
    options = _options()
    target = find_target(options.sm)
    options.folder.mkdir(parents=True, exist_ok=True)
    rows = [_build(case, code, target, options) for case, code in kernels(options.only or ["*"])]
    _build_probes(target, options.folder)
    plan = {
        "versions": {"tileiras_build": getattr(tileiras_build, "__version__", "checkout"), "target": target.arch},
        "flush_bytes": 1 << 16 if options.small else 256 << 20,
        "probes": {"entries": [["static_shared", False], ["heap", True]], "cases": probed_cases(rows)},
        "kernels": rows,
    }
    (options.folder / "plan.json").write_text(json.dumps(plan, indent=1) + "\n")
    size = sum(file.stat().st_size for file in options.folder.iterdir())
    print(f"{len(rows)} kernels for {target.name} in {options.folder}: {size} bytes")
    return int(size > MOST_BYTES)


def kernels(patterns: list[str]) -> Iterator[tuple[Case, bytes]]:
    """Every case whose name matches, with its bytecode."""
    for path in KERNELS:
        cases = {case.name: case for case in load_cases(path)}
        names = [name for name in cases if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
        yield from ((cases[name], code) for name, code in export_kernels(path, names).items())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sm", default="90", help="the GPU (default: 90)")
    parser.add_argument("--small", action="store_true", help="sizes that an emulator can run")
    parser.add_argument("--no-peer", action="store_true", help="leave tileiras out")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match")
    return parser.parse_args()


def _build_probes(target: Target, folder: Path) -> None:
    text = probes(target)
    cubin, _ = ptx_to_cubin.lower(text, Job(target))
    (folder / "probes.cubin").write_bytes(cubin)
    (folder / "probes.ptx").write_text(text)


def _build(case: Case, bytecode: bytes, target: Target, options: argparse.Namespace) -> dict:
    artifacts, folder = tileiras_build.compile(bytecode, target.name), options.folder
    (folder / f"{case.name}.ours.cubin").write_bytes(artifacts.cubin)
    (folder / f"{case.name}.ours.ptx").write_text(artifacts.ptx)
    [launch] = artifacts.manifest["kernels"].values()
    row = {"name": case.name, **problem(case, options.small), "launch": launch, "images": ["ours"]}
    row |= arrays_of(case)
    if not options.no_peer and _build_peer(case.name, bytecode, target, folder):
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
