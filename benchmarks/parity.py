"""The instructions of tensor cores that we and NVIDIA's tileiras choose for the same bytecode, the worst kernels first.

    python benchmarks/parity.py [--sm 90,100] [--only PATTERN]... [--all] [--peer] [--worst N] [--markdown] [FILE.tilebc | FILE.mlir | FOLDER]...

A row has the family of instructions, the instructions in all, those of local memory, and the clocks of the model
(docs/report.md), ours / tileiras'. Without files the kernels are those of ``operand_forms.py``, at m = n = 4096, k = 1024.
Of files and folders the kernels with a dot count, with ``--all`` those without one, too, each program once; their arrays are guessed by their ranks, which both
compilers get alike, unless a launch is recorded beside the file (``record_launches.py``). Of a kernel with variants the one counts that this launch takes.
Figures of tileiras are kept in ``parity.json``, or ``--figures FILE``, by kernel and target, with a digest of the bytecode; ``--peer`` runs tileiras for those that are missing, and writes them there.
Exit status 1 if a family is slower than tileiras', local memory has more than 8 instructions more, or the clocks are more than 1.05 of its.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import compile_speed
from recorded_launches import RecordedLaunch
from result_table import result_table

from tileiras_build import driver
from tileiras_build.core.errors import TileirasError
from tileiras_build.ir.bytecode import disassemble
from tileiras_build.ir.bytecode.reader import read_module
from tileiras_build.ir.bytecode.text_parser import assemble
from tileiras_build.manifest.launch_manifest import Launch as Manifest
from tileiras_build.manifest.launch_manifest import read_launch_manifest
from tileiras_build.simulate.estimate.constant_bank_values import Launch, Shape
from tileiras_build.simulate.estimate.kernel_from_cubin import read_kernels
from tileiras_build.simulate.estimate.performance_model import estimate
from tileiras_build.simulate.estimate.problem_size import grid_in_ctas, launch_of_manifest, launched_kernel
from tileiras_build.target import sass_listing
from tileiras_build.target.gpu_models import gpu_model
from tileiras_build.target.targets import Target, parse_targets

FORMS = Path(__file__).with_name("operand_forms.py")
PEER_FIGURES = Path(__file__).with_name("parity.json")
TRANSPOSED = "transposed"  # in the name of a form whose right operand is (n, k)
BATCHED = "batches_of_two"
M, N, K, TILE_M = 4096, 4096, 1024, 128
GUESSED_SHAPES = {
    None: "16777216",
    0: "1",
    1: "4096",
    2: "4096x4096",
    3: "8x1024x1024",
    4: "4x8x1024x128",
    5: "2x2x8x1024x128",
}
GUESSED_SCALAR, GUESSED_GRID = "1024", (32, 32, 1)
MORE_LOCAL_MEMORY, MORE_CLOCKS = 8, 1.05
MODEL_SECONDS = 20  # of processor time: guessed arguments may make loops without end
PEER_SECONDS = 600
SUFFIXES, ENTRY = (".tilebc", ".tileirbc", ".mlir"), "cuda_tile.entry"
DOTS = {"cuda_tile.mmaf", "cuda_tile.mmai", "cuda_tile.mmaf_scaled"}

# Families from the slowest to the fastest, and the opcodes of each.
FAMILIES = {
    "-": (),
    "fma": ("FFMA", "HFMA2", "DFMA", "IMAD"),
    "mma.sync": ("HMMA", "IMMA", "DMMA", "QMMA", "OMMA"),
    "wgmma": ("HGMMA", "IGMMA", "QGMMA", "BGMMA"),
    "tcgen05": ("UTCHMMA", "UTCIMMA", "UTCQMMA", "UTCOMMA", "UTCMXQMMA"),
    "tcgen05 pair": (),
}
ORDER = list(FAMILIES)


@dataclass(frozen=True)
class Figures:
    """What a cubin shows; ``clocks`` by the model, None where it has no answer."""

    family: str
    instructions: int
    local_memory: int
    clocks: int | None


@dataclass(frozen=True)
class Kernel:
    """A kernel's bytecode, and its launch if that is recorded."""

    name: str
    code: bytes
    launch: RecordedLaunch | None = None


Peer = dict[str, tuple[str, Figures]]
"""Figures of tileiras by kernel and target, with a digest of the bytecode."""


@dataclass(frozen=True)
class Row:
    """One kernel on one target; ``ours`` is a message where it is refused."""

    kernel: str
    target: str
    ours: Figures | str
    theirs: Figures | None

    @property
    def faults(self) -> tuple[bool, bool, bool]:
        """Whether the family is slower, local memory has more instructions, the clocks are more."""
        ours, theirs = self.ours, self.theirs
        if theirs is None:
            return (False, False, False)
        if isinstance(ours, str):
            return (True, False, False)
        return (
            ORDER.index(theirs.family) > max(ORDER.index(ours.family), ORDER.index("fma")),
            ours.local_memory > theirs.local_memory + MORE_LOCAL_MEMORY,
            (self.ratio or 0) > MORE_CLOCKS,
        )

    @property
    def ratio(self) -> float | None:
        """Our clocks to tileiras'."""
        if isinstance(self.ours, str) or self.theirs is None or not self.ours.clocks or not self.theirs.clocks:
            return None
        return self.ours.clocks / self.theirs.clocks

    @property
    def badness(self) -> tuple[bool | float, ...]:
        """Greater for what is worse beside tileiras: a slower family, more local memory, more clocks."""
        return (*self.faults, self.ratio or 0)

    def cells(self) -> tuple[str, ...]:
        """Ours / theirs of each figure."""
        if isinstance(self.ours, str):
            return self.kernel, self.target, self.ours, *["-"] * 4
        ours = asdict(self.ours)
        theirs = asdict(self.theirs) if self.theirs else dict.fromkeys(ours, "-")
        pairs = [" / ".join("-" if side[key] is None else str(side[key]) for side in (ours, theirs)) for key in ours]
        return self.kernel, self.target, *pairs, "-" if self.ratio is None else f"{self.ratio:.2f}"


def main() -> int:
    """Print the table."""
    options = _options()
    known = _read_peer_figures(options.figures)
    rows = []
    for kernel in _kernels(options):
        for target in parse_targets(options.sm):
            rows.append(_row(kernel, target, known, options.peer))
            print("\t".join(rows[-1].cells()), file=sys.stderr, flush=True)
        if options.peer:
            _write_peer_figures(known, options.figures)
    rows.sort(key=lambda row: row.badness, reverse=True)
    header = ("kernel", "sm", "family", "instructions", "local memory", "clocks", "ratio")
    print(result_table(header, [row.cells() for row in rows[: options.worst]], options.markdown))
    print(_summary([row for row in rows if row.theirs is not None]))
    return int(any(any(row.faults) for row in rows))


def _summary(compared: list[Row]) -> str:
    family, local, clocks = (sum(row.faults[fault] for row in compared) for fault in range(3))
    return (
        f"\n{len(compared)} compared with tileiras: {family} have a slower family, {local} more local memory,"
        f" {clocks} more than {MORE_CLOCKS} of its clocks.{_medians(compared)}"
    )


def _medians(compared: list[Row]) -> str:
    """The medians of instructions and clocks; nothing where no clocks are known."""
    clocks = [row.ratio for row in compared if row.ratio is not None]
    instructions = [
        row.ours.instructions / row.theirs.instructions
        for row in compared
        if row.theirs and not isinstance(row.ours, str)
    ]
    if not clocks:
        return ""
    return f" Medians: {median(instructions):.2f} of its instructions, {median(clocks):.2f} of its clocks ({len(clocks)} kernels)."


def _read_peer_figures(file: Path) -> Peer:
    found = json.loads(file.read_text()) if file.exists() else {}
    return {name: (digest, Figures(*figures)) for name, (digest, *figures) in found.items()}


def _write_peer_figures(known: Peer, file: Path) -> None:
    """A line for each kernel."""
    lines = (
        f"{json.dumps(name)}: {json.dumps([digest, *asdict(figures).values()])}"
        for name, (digest, figures) in sorted(known.items())
    )
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--sm", default="90,100", help="the targets (default: 90,100)")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match, * for anything")
    parser.add_argument("--all", action="store_true", help="of files and folders, kernels without dots, too")
    parser.add_argument("--peer", action="store_true", help="run tileiras where its figures are missing, and keep them")
    parser.add_argument(
        "--figures", type=Path, default=PEER_FIGURES, metavar="FILE", help="the file of tileiras' figures"
    )
    parser.add_argument("--worst", type=int, metavar="N", help="print the N worst rows")
    parser.add_argument("--markdown", action="store_true", help="as docs/measurements.md has it")
    return parser.parse_args()


def _kernels(options: argparse.Namespace) -> Iterator[Kernel]:
    from tileiras_build.frontend.export_cutile import export_kernels

    forms = {} if options.files else export_kernels(FORMS)
    found = _read(options.files, options.all) if options.files else [Kernel(*form) for form in forms.items()]
    patterns = options.only or ["*"]
    return (kernel for kernel in found if any(fnmatch.fnmatch(kernel.name, one) for one in patterns))


def _read(paths: list[Path], takes_all: bool) -> list[Kernel]:
    """The kernels of files and folders that have a dot, or all; of equal programs with equal launches the first."""
    files = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    found: dict[str, Kernel] = {}
    for file in files:
        if file.suffix in SUFFIXES and (code := _code(file, takes_all)) is not None:
            kernel = Kernel(f"{file.parent.name}/{file.stem}", code, RecordedLaunch.of(file))
            found.setdefault(f"{disassemble(code)}{kernel.launch}", kernel)
    return list(found.values())


def _code(file: Path, without_dot: bool) -> bytes | None:
    """A file's bytecode if it can be read and has one kernel, with a dot or ``without_dot``."""
    try:
        code = assemble(file.read_text()) if file.suffix == ".mlir" else file.read_bytes()
        names = [operation.name for operation in read_module(code, check=False).walk()]
    except TileirasError:
        return None
    return code if names.count(ENTRY) == 1 and (without_dot or not DOTS.isdisjoint(names)) else None


def _row(kernel: Kernel, target: Target, known: Peer, runs_peer: bool) -> Row:
    try:
        artifacts = driver.compile(kernel.code, target.name)
    except TileirasError as error:
        return Row(kernel.name, target.name, error.id, None)
    symbol, manifest, launch = _launched(kernel, read_launch_manifest(artifacts.manifest).kernels, target)
    ours = _figures(artifacts.cubin, symbol, launch and _in_ctas(launch, manifest.cluster))
    return Row(kernel.name, target.name, ours, _theirs(kernel, target, (symbol, launch), known, runs_peer))


def _theirs(
    kernel: Kernel, target: Target, launched: tuple[str, Launch | None], known: Peer, runs_peer: bool
) -> Figures | None:
    """Tileiras' figures, from the file or by running it; ``launched``: our kernel, and its launch in tile blocks."""
    key, digest = f"{kernel.name} {target.name}", hashlib.sha256(kernel.code).hexdigest()[:16]
    if key in known and known[key][0] == digest:
        return known[key][1]
    if not runs_peer:
        return None
    try:
        found = _peer_figures(compile_speed.peer_cubin(kernel.code, target.name, PEER_SECONDS), *launched)
    except (FileNotFoundError, subprocess.SubprocessError):
        return None
    known[key] = (digest, found)
    return found


def _launched(kernel: Kernel, manifests: Mapping[str, Manifest], target: Target) -> tuple[str, Manifest, Launch | None]:
    """The kernel or variant that a launch takes, its manifest, and the launch in tile blocks; None where the model has no answer."""
    symbol, general = next((symbol, one) for symbol, one in manifests.items() if one.variant_of is None)
    settings, grid = _problem(kernel, general)
    try:
        symbol = launched_kernel(manifests, symbol, settings, grid)
        found = launch_of_manifest(manifests[symbol], settings, grid, gpu_model(target).sm_count)
    except TileirasError:
        return symbol, general, None
    return symbol, manifests[symbol], found


def _problem(kernel: Kernel, manifest: Manifest) -> tuple[dict[str, str], Shape]:
    """The arguments and the grid of a kernel: the recorded ones, a form's problem, or a guess."""
    if kernel.launch is not None:
        return kernel.launch.settings(manifest), kernel.launch.grid
    name, shapes = kernel.name, [f"{M}x{K}", f"{K}x{N}", f"{M}x{N}"]
    shapes = [shapes[0], f"{N}x{K}", shapes[2]] if TRANSPOSED in name else shapes
    shapes = [f"2x{shape}" for shape in shapes] if name == BATCHED else shapes
    if "/" in name:
        shapes, grid = [], GUESSED_GRID
    else:
        columns = int(name.split("_")[1]) if name.startswith("columns_") else TILE_M
        grid = (M // TILE_M, N // columns, 1)
    settings = {
        one.name: GUESSED_SCALAR if one.kind == "scalar" else GUESSED_SHAPES[one.rank] for one in manifest.arguments
    }
    return settings | dict(zip(settings, shapes, strict=False)), grid


def _in_ctas(launch: Launch, cluster: Shape) -> Launch:
    """A launch in tile blocks, each of which has a cluster of CTAs; a persistent kernel's has its CTAs already."""
    return launch if launch.tile_programs else replace(launch, grid=grid_in_ctas(launch.grid, cluster))


def _peer_figures(cubin: bytes, ours: str, launch: Launch | None) -> Figures:
    """Of several kernels those of the one that ours is a variant of: names of variants begin with it."""
    kernels = read_kernels(cubin)
    symbol = max(kernels, key=lambda name: (ours.startswith(name), len(name)))
    kernel = kernels[symbol]
    return _figures(cubin, symbol, launch and _in_ctas(compile_speed.peer_launch(launch, kernel), kernel.cluster))


def _figures(cubin: bytes, symbol: str, launch: Launch | None) -> Figures:
    listing = next(one for one in sass_listing.read_listings(sass_listing.disassemble(cubin)) if one.name == symbol)
    family = next((name for name in reversed(ORDER) if listing.count(*FAMILIES[name])), ORDER[0])
    if any(line.opcode in FAMILIES["tcgen05"] and ".2CTA" in line.mnemonic for line in listing.lines):
        family = ORDER[-1]
    local = listing.count(*sass_listing.SPILL)
    return Figures(family, listing.total, local, None if launch is None else _clocks(cubin, symbol, launch))


def _clocks(cubin: bytes, symbol: str, launch: Launch) -> int | None:
    signal.signal(signal.SIGVTALRM, _give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, MODEL_SECONDS)
    try:
        return round(estimate(read_kernels(cubin)[symbol], launch).clocks)
    except (TileirasError, TimeoutError):
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _give_up(*_: object) -> None:
    raise TimeoutError


if __name__ == "__main__":
    sys.exit(main())
