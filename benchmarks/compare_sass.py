"""The machine code of the key kernels, compared with that of NVIDIA's tileiras for the same bytecode.

    python benchmarks/compare_sass.py [--sm 80,89,120] [--only NAME]... [--repeat 1] [--save FOLDER] [--estimate [--triton]] [FILE.tilebc]...

Without files the kernels of ``key_kernels.py`` are exported; those with block scales are compiled for targets
with an instruction that scales, fp8 stored by rows for those that bring it to tensor cores by TMA. Nothing runs on a
GPU: the figures are instructions in the cubins (``tileiras_build/target/sass_listing.py``), what a kernel takes, and CPU
time, ours measured in a process that has compiled before. Exit status 1 if a static demand is not met; each failure
is a row.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import compile_speed

from tileiras_build import driver
from tileiras_build.core.errors import TileirasError
from tileiras_build.core.terminal import table_text
from tileiras_build.target import sass_listing
from tileiras_build.target.cubin_reader import read_cubin
from tileiras_build.target.targets import Target, parse_targets

KERNELS = Path(__file__).with_name("key_kernels.py")

MAX_SPILLS = 8
MAX_PEER_RATIO = 1.15
STORE = ("UTMASTG",)
# What matmuls must consist of, by the first capability that a GPU has: one opcode of each group.
MATMUL = {
    "tcgen05": (("UTCHMMA", "UTCQMMA", "UTCOMMA", "UTCIMMA"), ("UTMALDG",), STORE),
    "wgmma": (("HGMMA", "QGMMA", "IGMMA"), ("UTMALDG",), STORE),
    "tma": (("HMMA", "QMMA", "OMMA"), ("UTMALDG",), STORE),
    "mma_fp8": (("HMMA", "QMMA"), ("LDSM",), ("LDGSTS",)),
    "cp_async": (("HMMA",), ("LDSM",), ("LDGSTS",)),
}
SCALED = "scaled"
# Kernels by their names, and what of it targets have for them; others are for all.
NEEDS = {f"{SCALED}*": ("tcgen05", "mma_block_scale"), "*_by_rows": ("tcgen05", "wgmma")}
WIDE_RESULTS = "tf32"  # in the name of a kernel whose results fill sectors from registers


@dataclass(frozen=True)
class Measured:
    """One compiler's cubin of one kernel; ``seconds`` of CPU time, ``notes`` of ptxas on lost performance."""

    listing: sass_listing.Listing
    registers: int
    shared: int
    seconds: float
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, cubin: bytes, shared: int | None, seconds: float, notes: Sequence[str] = ()) -> Measured:
        """``shared``: bytes of shared memory where the cubin does not say (dynamic)."""
        [listing] = sass_listing.read_listings(sass_listing.disassemble(cubin))
        resources = read_cubin(cubin).kernels[listing.name]
        return cls(listing, resources.registers, resources.shared if shared is None else shared, seconds, tuple(notes))

    @property
    def tensor(self) -> int:
        return self.listing.count(*sass_listing.TENSOR)

    @property
    def spills(self) -> int:
        return self.listing.count(*sass_listing.SPILL)


@dataclass(frozen=True)
class Row:
    """One kernel for one target by both compilers; ``theirs`` is None where that one refuses it."""

    kernel: str
    target: Target
    ours: Measured
    theirs: Measured | None

    @property
    def ratio(self) -> float | None:
        return self.ours.listing.total / self.theirs.listing.total if self.theirs else None

    def failures(self) -> list[str]:
        """The static demands that our cubin does not meet."""
        found = list(self.ours.notes)
        if self.ours.spills > MAX_SPILLS:
            found.append(f"{self.ours.spills} spill instructions, at most {MAX_SPILLS}")
        if fences := self.ours.listing.fences_in_loops:
            found.append(f"fences of the whole GPU in a loop: {', '.join(fences)}")
        if self.ratio is not None and self.ratio > MAX_PEER_RATIO:
            found.append(f"{self.ratio:.2f}x the instructions of tileiras, at most {MAX_PEER_RATIO:.2f}x")
        return found + (_check_matmul(self) if _is_matmul(self) else [])


def _is_matmul(row: Row) -> bool:
    """Whether the kernel consists of matmuls for which the target has an instruction."""
    lacks = row.kernel.startswith("matmul_f8") and not row.target.has("mma_fp8")
    return row.kernel.startswith(("matmul", "attention", SCALED)) and not lacks


def _check_matmul(row: Row) -> list[str]:
    listing, groups = row.ours.listing, next(groups for name, groups in MATMUL.items() if row.target.has(name))
    asked = [group for group in groups if group is not STORE or WIDE_RESULTS not in row.kernel]
    found = [f"no {' or '.join(group)}" for group in asked if not listing.count(*group)]
    return found if listing.loads_ahead else [*found, "no copy is issued ahead of the loop of MMAs"]


def main() -> int:
    """Measure and print; returns 1 if a kernel fails to compile or a demand is not met."""
    options = _options()
    kernels = _kernels(options)
    peer = compile_speed.find_peer()
    compile_speed.freeze()
    rows: list[Row] = []
    failures: list[tuple[str, str, str]] = []
    for target in parse_targets(options.sm):
        for name, bytecode in kernels.items():
            if not _suits(name, target):
                continue
            try:
                rows.append(_measure(name, bytecode, target, peer, options))
            except TileirasError as error:
                failures.append((target.name, name, str(error)))
    failures += [(row.target.name, row.kernel, failure) for row in rows for failure in row.failures()]
    _print(rows, failures, peer)
    if options.estimate and not options.files:
        _print_estimates(rows, options.triton)
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--sm", default="80,89,90,100,120", help="the targets (default: 80,89,90,100,120)")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match, * for anything")
    parser.add_argument("--repeat", type=int, default=1, help="the least CPU time of this many runs (default: 1)")
    parser.add_argument("--estimate", action="store_true", help="ask the model of docs/report.md too; takes no FILE")
    parser.add_argument(
        "--triton", action="store_true", help="with --estimate: of Triton's code for the same problems, too"
    )
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep both compilers' cubins there")
    return parser.parse_args()


def _kernels(options: argparse.Namespace) -> dict[str, bytes]:
    from tileiras_build.frontend.export_cutile import export_kernels

    if options.files:
        found = {file.stem: file.read_bytes() for file in options.files}
    else:
        found = export_kernels(KERNELS)
    patterns = options.only or ["*"]
    return {name: code for name, code in found.items() if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)}


def _suits(name: str, target: Target) -> bool:
    needs = (any(map(target.has, any_of)) for pattern, any_of in NEEDS.items() if fnmatch.fnmatch(name, pattern))
    return all(needs)


def _measure(name: str, bytecode: bytes, target: Target, peer: str | None, options: argparse.Namespace) -> Row:
    artifacts = driver.compile(bytecode, target.name)
    [kernel] = artifacts.manifest["kernels"].values()
    shared = sum(kernel["shared_memory"].values())
    seconds = min(compile_speed.run_ours(bytecode, target)[0] for _ in range(options.repeat))
    _save(options, name, target, "ours", artifacts.cubin)
    ours = Measured.of(artifacts.cubin, shared, seconds, artifacts.manifest.get("notes", ()))
    return Row(name, target, ours, _measure_peer(name, bytecode, target, peer, options))


def _measure_peer(name, bytecode, target, peer, options) -> Measured | None:
    if peer is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        seconds = min(
            compile_speed.run_theirs(peer, bytecode, target, Path(folder)) for _ in range(options.repeat)
        )  # fmt: skip
        cubin = Path(folder) / compile_speed.CUBIN
        if seconds == float("inf") or not cubin.exists():
            return None
        _save(options, name, target, "tileiras", cubin.read_bytes())
        return Measured.of(cubin.read_bytes(), None, seconds)


def _save(options: argparse.Namespace, name: str, target: Target, by: str, cubin: bytes) -> None:
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
        (options.save / f"{name}.{target.name}.{by}.cubin").write_bytes(cubin)


# ---- printing --------------------------------------------------------------------------------------------------------
COLUMNS = {
    "instr": lambda one: one.listing.total,
    "mma": lambda one: one.tensor,
    "ldsm": lambda one: one.listing.count("LDSM"),
    "async": lambda one: one.listing.count(*sass_listing.ASYNC_COPY),
    "spill": lambda one: one.spills,
    "regs": lambda one: one.registers,
    "smem": lambda one: one.shared,
    "ahead": lambda one: "yes" if one.listing.loads_ahead else "no",
}


def _print(rows: list[Row], failures: list[tuple[str, str, str]], peer: str | None) -> None:
    """A cell holds ours and tileiras' figure."""
    header = ("sm", "kernel", *COLUMNS, "ratio", "CPU ms", "CPU ratio")
    print(table_text(header, [_cells(row) for row in rows]))
    if peer is None:
        print("\ntileiras is not installed (pip install nvidia-cuda-tileiras): nothing to compare with")
    if failures:
        print("\n" + table_text(("sm", "kernel", "demand not met"), failures))


def _print_estimates(rows: list[Row], triton: bool) -> None:
    """What the model says of the same kernels."""
    import estimates

    chosen = estimates.SETS["fast-path"]
    cases = {case.name: (case, code) for case, code in estimates.kernels(["*"])}
    table = [estimates.row(*cases[row.kernel], row.target, chosen, triton) for row in rows]
    print("\n" + table_text(chosen.header(triton), table))


def _cells(row: Row) -> tuple[str, ...]:
    pairs = [f"{show(row.ours)} / {show(row.theirs) if row.theirs else '-'}" for show in COLUMNS.values()]
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
    times = [f"{1e3 * one.seconds:.0f}" if one else "-" for one in (row.ours, row.theirs)]
    speed = f"{row.ours.seconds / row.theirs.seconds:.2f}" if row.theirs else "-"
    return row.target.name, row.kernel, *pairs, ratio, " / ".join(times), speed


if __name__ == "__main__":
    sys.exit(main())
