"""Kernels that spill registers, compared with the cubins of NVIDIA's tileiras for the same bytecode.

    python benchmarks/spills.py [--sm 80,90,100,120] [--jobs 2] [FILE.tilebc | FOLDER]...

The kernels are those of the example library and of the files and folders. Counted are instructions that load or store
local memory (``tileiras_build/target/sass_listing.py``), in kernels of which ptxas says that it spills: arrays of their own, as
libdevice's sine has one, are none. tileiras compiles only what spills here. A kernel that spills where that of tileiras does not, or more often than it, is a demand not met: exit status 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import compile_speed

from tileiras_build import driver
from tileiras_build.core.errors import TileirasError
from tileiras_build.core.terminal import table_text
from tileiras_build.target import sass_listing
from tileiras_build.target.cubin_reader import read_cubin
from tileiras_build.target.targets import find_target, parse_targets

HEADER = ("kernel", "sm", "ours", "tileiras", "demand")


@dataclass(frozen=True)
class Work:
    """One kernel for one target. ``name`` says where it is from."""

    name: str
    sm: str
    bytecode: bytes
    peer: str | None


@dataclass(frozen=True)
class Found:
    """Instructions on local memory; ``theirs`` is None where tileiras refuses the kernel or was not asked, ``refused`` what our compiler says."""

    name: str
    sm: str
    ours: int
    theirs: int | None = None
    refused: str = ""

    @property
    def is_worse(self) -> bool:
        return self.theirs is not None and self.ours > self.theirs


def main() -> int:
    """Count and print; returns 1 where a kernel spills more than that of tileiras."""
    options = _options()
    work = _work(options)
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        found = [_shown(one) for one in pool.map(count, work, chunksize=8)]
    rows = [_cells(one) for one in found if one.ours]
    print(table_text(HEADER, rows) if rows else "no kernel spills")
    refused = [one for one in found if one.refused]
    print(f"\n{len(found)} cubins, {len(rows)} with spills, {len(refused)} kernels refused")
    if not work or work[0].peer is None:
        print("tileiras is not installed (pip install nvidia-cuda-tileiras): nothing to compare with")
    return int(any(one.is_worse for one in found))


def _shown(found: Found) -> Found:
    """Say at once what spills or is refused: all kernels take minutes."""
    if found.ours:
        print(*_cells(found), sep="\t", file=sys.stderr, flush=True)
    if found.refused:
        print(found.name, found.sm, found.refused, sep="\t", file=sys.stderr, flush=True)
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--sm", default="80,90,100,120", help="the targets (default: 80,90,100,120)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: one per core)")
    return parser.parse_args()


def _work(options: argparse.Namespace) -> list[Work]:
    peer = compile_speed.find_peer()
    kernels = [*compile_speed.export_examples().items(), *_read(options.files)]
    return [Work(name, target.name, code, peer) for name, code in kernels for target in parse_targets(options.sm)]


def _read(paths: Iterable[Path]) -> Iterable[tuple[str, bytes]]:
    for path in paths:
        for file in sorted(path.rglob("*.tilebc")) if path.is_dir() else [path]:
            yield str(file.relative_to(path.parent)), file.read_bytes()


def count(work: Work) -> Found:
    """Compile a kernel and count; by tileiras, too, where it spills."""
    try:
        made = driver.compile(work.bytecode, work.sm)
    except TileirasError as error:
        return Found(work.name, work.sm, 0, refused=str(error))
    resources = [kernel["resources"] for kernel in made.manifest["kernels"].values()]
    ours = spills_of(made.cubin) if any(one["spill_stores"] + one["spill_loads"] for one in resources) else 0
    return Found(work.name, work.sm, ours, _of_peer(work) if ours and work.peer else None)


def spills_of(cubin: bytes) -> int:
    """Instructions of its kernels that load or store local memory."""
    if not any(kernel.stack for kernel in read_cubin(cubin).kernels.values()):
        return 0
    return sum(
        listing.count(*sass_listing.SPILL) for listing in sass_listing.read_listings(sass_listing.disassemble(cubin))
    )


def _of_peer(work: Work) -> int | None:
    with tempfile.TemporaryDirectory() as folder:
        seconds = compile_speed.run_theirs(work.peer, work.bytecode, find_target(work.sm), Path(folder))
        made = Path(folder) / compile_speed.CUBIN
        return None if seconds == float("inf") else spills_of(made.read_bytes())


def _cells(found: Found) -> tuple[str, ...]:
    theirs = "-" if found.theirs is None else str(found.theirs)
    return found.name, found.sm, str(found.ours), theirs, "not met" if found.is_worse else ""


if __name__ == "__main__":
    sys.exit(main())
