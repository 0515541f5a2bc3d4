"""Write a folder with everything that a machine with a GPU, Python and NumPy needs to measure our kernels.

    python benchmarks/gpu/plan.py FOLDER [--sm 90] [--small] [--no-peer] [--only PATTERN]...

FOLDER gets the programs that run there, ``plan.json``, and in ``images`` our cubins with their PTX, tileiras' cubins of the
same bytecode where it is installed, and the probes. The plan has the kernels in the order of what they teach, how they are launched,
what the model says of them, and Triton's programs for the same problems. Copy it there; ``python FOLDER/run.py --help`` says what
to run. ``--small`` is for a GPU that is emulated.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import compile_speed
import estimates
import probes
import triton_peer
import variants

import tileiras_build
from tileiras_build.driver import Artifacts
from tileiras_build.frontend.export_cutile import Case, export_kernels, load_cases
from tileiras_build.pipeline import ptx_to_cubin
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ptx_to_cubin.run_ptxas import options as ptxas_options
from tileiras_build.target.targets import Target, find_target

MAX_BYTES = 16 << 20  # of a folder
FLUSH_BYTES = (
    1 << 30
)  # read before each timed launch: it takes longer than the launch's way through a library in Python
HERE_ALONE = ("plan.py", "variants.py", "probes.py")
# Kernels that are checked and timed one by one before the others are looked at: the first few minutes say most.
FIRST = (
    "matmul_f16_128x256x64", "attention_f16_128x128", "matmul_f16_256x128x64_2ctas", "attention_f16_128x128_causal",
    "softmax_f16_4096", "matmul_f16_128x128x64_persistent", "transpose_f16_64x64", "layer_norm_f16_4096",
)  # fmt: skip
THEN = ("matmul_bf16*", "matmul_f16_128x128*", "matmul_f16_2*", "attention*", "matmul_[ft]*", "*odd*", "scaled*", "*")


def main() -> int:
    options = _options()
    target, images = find_target(options.sm), options.folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    found = sorted(kernels(options.only or ["*"]), key=lambda pair: teaches(pair[0].name))
    rows = [_build(case, code, target, options) for case, code in found]
    _build_probes(target, images)
    _copy_programs(options.folder)
    (options.folder / "plan.json").write_text(json.dumps(_plan(rows, target, options.small), indent=1) + "\n")
    size = sum(file.stat().st_size for file in options.folder.rglob("*") if file.is_file())
    print(f"{len(rows)} kernels for {target.name} in {options.folder}: {size} bytes")
    return int(size > MAX_BYTES)


def kernels(patterns: list[str]) -> Iterator[tuple[Case, bytes]]:
    """Every case whose name matches, with its bytecode."""
    for path in variants.KERNELS:
        cases = {case.name: case for case in load_cases(path)}
        names = [name for name in cases if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
        yield from ((cases[name], code) for name, code in export_kernels(path, names).items())


def teaches(name: str) -> int:
    """The place of a kernel in the order of the plan."""
    order = (*FIRST, *THEN)
    return next(at for at, pattern in enumerate(order) if fnmatch.fnmatch(name, pattern))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sm", default="90", help="the GPU (default: 90)")
    parser.add_argument("--small", action="store_true", help="sizes that an emulator can run")
    parser.add_argument("--no-peer", action="store_true", help="leave tileiras out")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match")
    return parser.parse_args()


def _plan(rows: list[dict], target: Target, small: bool) -> dict:
    return {
        "versions": {"tileiras_build": getattr(tileiras_build, "__version__", "checkout"), "target": target.arch},
        "flush_bytes": 1 << 16 if small else FLUSH_BYTES,
        "first": [row["name"] for row in rows if row["name"] in FIRST],
        "images": [*_images_of(rows), *(_image(name, "probe") for name in probes.texts(target))],
        "probes": {"launches": probes.launches(target), "cases": probes.cases(rows)},
        "kernels": rows,
    }


def _images_of(rows: list[dict]) -> Iterator[dict]:
    for row in rows:
        dynamic = row["launch"]["shared_memory"]["dynamic"]
        yield _image(row["name"], "ours", dynamic, row["ptxas"])
        yield from (_image(row["name"], by) for by in row["images"] if by != "ours")


def _image(case: str, by: str, dynamic: int = 0, ptxas: Sequence[str] = ()) -> dict:
    """What the driver is to load: the entry of a file's name, allowed so much dynamic shared memory, and ptxas' options."""
    return {"case": case, "by": by, "dynamic": dynamic, "ptxas": list(ptxas)}


def _copy_programs(folder: Path) -> None:
    """What runs beside the GPU."""
    for path in (*Path(__file__).parent.glob("*.py"), variants.BENCHMARKS / "triton_kernels.py"):
        if path.name not in HERE_ALONE:
            shutil.copy(path, folder)


# ---- images ----------------------------------------------------------------------------------------------------------
def _build_probes(target: Target, images: Path) -> None:
    for name, text in probes.texts(target).items():
        cubin, _ = ptx_to_cubin.lower(text, Job(target))
        (images / f"{name}.probe.cubin").write_bytes(cubin)
        (images / f"{name}.probe.ptx").write_text(text)


def _build(case: Case, bytecode: bytes, target: Target, options: argparse.Namespace) -> dict:
    artifacts, images = tileiras_build.compile(bytecode, target.name), options.folder / "images"
    (images / f"{case.name}.ours.cubin").write_bytes(artifacts.cubin)
    (images / f"{case.name}.ours.ptx").write_text(artifacts.ptx)
    [launch] = artifacts.manifest["kernels"].values()
    row = {"name": case.name, **variants.problem(case, options.small), "launch": launch, "images": ["ours"]}
    row |= variants.arrays_of(case) | {"ptxas": _without_arch(ptxas_options(artifacts.ptx, artifacts.job))}
    if not options.no_peer and _build_peer(case.name, bytecode, target, images):
        row["images"].append("tileiras")
    return row if options.small else row | _of_full_size(case, row, artifacts, target)


def _without_arch(words: list[str]) -> list[str]:
    at = words.index("-arch")
    return words[:at] + words[at + 2 :]


def _of_full_size(case: Case, row: dict, artifacts: Artifacts, target: Target) -> dict:
    """What the model says of the full size, and Triton's programs for it, those with tensor descriptors first."""
    row["variants"]["full"]["triton"] = list(reversed(list(_triton_programs(case, row["variants"]["full"], target))))
    return {"modelled_us": round(estimates.ours(artifacts, row, target).microseconds, 2)}


def _triton_programs(case: Case, variant: dict, target: Target) -> Iterator[dict]:
    """Programs as data; arguments that are arrays have their number and, if they are descriptors, the box."""
    family = next((row for name, row in triton_peer.FAMILIES.items() if case.name.startswith(name)), None)
    if family is None or not triton_peer.has_programs(case):
        return
    for program in family.programs(case, variant, target):
        yield {**dataclasses.asdict(program), "arguments": _told(program), "configurations": family.configurations}


def _told(program: triton_peer.Program) -> dict:
    arrays = (name for name, value in program.arguments.items() if isinstance(value, triton_peer.Memory))
    indices = {name: number for number, name in enumerate(arrays)}
    return {
        name: {"array": indices[name], "shape": value.shape} if isinstance(value, triton_peer.Memory) else value
        for name, value in program.arguments.items()
    }


def _build_peer(name: str, bytecode: bytes, target: Target, images: Path) -> bool:
    peer = compile_speed.find_peer()
    if peer is None:
        return False
    with tempfile.TemporaryDirectory() as scratch:
        compile_speed.run_theirs(peer, bytecode, target, Path(scratch))
        cubin = Path(scratch) / compile_speed.CUBIN
        if cubin.exists():
            (images / f"{name}.tileiras.cubin").write_bytes(cubin.read_bytes())
        return cubin.exists()


if __name__ == "__main__":
    sys.exit(main())
