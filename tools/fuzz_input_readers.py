"""Pass thousands of damaged files to every reader: each must accept or refuse the file quickly, with one sentence, and survive.

Usage: python tools/fuzz_input_readers.py --count 50000 --seed 1          # of all kinds; exits with 1 where one fails
       python tools/fuzz_input_readers.py --kind ll --kind ptx --count 500 # of these kinds
       python tools/fuzz_input_readers.py --kind ll --only 17              # one input again; --keep DIR has failing ones

An input fails by a stack trace, an ``internal error``, a dead process, or more than CPU_SECONDS of processor time for a
file under SMALL bytes. The same seed and count give the same inputs.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tileiras_build import driver
from tileiras_build.cli.dispatch import main as command
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.ir.bytecode import disassemble
from tileiras_build.pipeline.job import Job
from tileiras_build.target.targets import find_target
from tileiras_build.workers.executor.cache import BuildCache, open_store
from tileiras_build.workers.executor.cache.store import BLOBS, RESULTS
from tools.fuzz_mutations import damage_any, damage_bytes, damage_one_byte, damage_text
from tools.fuzz_targets import (
    OUTCOMES,
    Failure,
    make_build,
    manifests_of_packages,
    pack_files,
    pack_folder,
    ptx_samples,
    read_kernel,
    read_package,
    settings_of,
    unpack_folder,
)

CPU_SECONDS, SMALL = 2.0, 1 << 16
MAX_SEED_LENGTH = 12_500  # bytes of a stage's text: a long one takes long to read, and has no other parts
HUNG_SECONDS = 300.0  # of wall time, which other processes share
MEMORY = 12 << 30
PREBUILT = ROOT / "examples" / "prebuilt" / "vector_add_f32.tilebc"
KERNELS = ("vector_add", "softmax", "transpose", "gelu", "histogram", "matmul", "prefix_sum", "gather_scatter")
TARGETS = ("80", "90", "100")
KEY = "5" * 64


# ---- what is damaged -----------------------------------------------------------------------------
@dataclass
class Seeds:
    """Good files of each kind; ``small`` ones come from a single kernel."""

    small: bool = False
    target: Job = field(default_factory=lambda: Job(find_target("90")))

    @cache
    def bytecode(self) -> list[bytes]:
        if self.small:
            return [PREBUILT.read_bytes()]
        found = [path.read_bytes() for path in sorted(PREBUILT.parent.glob("*.tilebc"))]
        for name in KERNELS:
            found += export_kernels(str(ROOT / "examples" / "kernels" / f"{name}.py")).values()
        return [data for data in found if len(data) < SMALL // 4]

    @cache
    def asm(self) -> list[bytes]:
        return [disassemble(data).encode() for data in self.bytecode()]

    @cache
    def stage(self, name: str) -> list[bytes]:
        found = (driver.lower(data, "tilebc", name, self.target)[f".{name}"] for data in self.bytecode())
        return sorted(text for text in found if len(text) < MAX_SEED_LENGTH)

    @cache
    def manifests(self) -> list[bytes]:
        sources = self.bytecode()[:3]
        return [driver.lower(data, "tilebc", "cubin", self.target)[".json"] for data in sources]

    @cache
    def cubins(self) -> list[bytes]:
        """Cubins with their manifests, packed."""
        return [pack_files(driver.lower(data, "tilebc", "cubin", self.target)) for data in self.bytecode()[:3]]

    @cache
    def kernels(self) -> list[bytes]:
        """PTX for the emulator: samples of its instructions, and what the compiler makes."""
        return [*ptx_samples(), *self.stage("ptx")]

    @cache
    def packages(self) -> list[bytes]:
        """Manifests of libraries; what stands for their images is no machine code, which nobody here runs."""
        return manifests_of_packages(self.manifests())

    @cache
    def builds(self) -> list[bytes]:
        """Build folders, packed: what reports read of them."""
        with tempfile.TemporaryDirectory(prefix="tileiras-mutate-") as folder:
            build = make_build(Path(folder) / "build", [PREBUILT.read_bytes()], self.target)
            run_command("report", str(build), "--html", f"{folder}/page.html")
            return [pack_folder(build)]

    def __hash__(self) -> int:
        return id(self)


# ---- who reads it --------------------------------------------------------------------------------
def run_command(*words: str) -> None:
    """The command line in this process; raises Failure for what it may not answer."""
    said = io.StringIO()
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")), redirect_stderr(said):
        try:
            code = command(words)
        except SystemExit as end:
            code = end.code
    if code not in (0, 1, 2) or "internal error" in said.getvalue() or "Traceback" in said.getvalue():
        raise Failure(f"{' '.join(words)} exits with {code}: {said.getvalue()}")
    OUTCOMES[f"{words[0]}: {_outcome(code, said.getvalue())}"] += 1


def _outcome(code: int, text: str) -> str:
    found = re.search(r"\w*error\[[\w-]+\]", text)
    return "taken" if code == 0 else found[0] if found else f"exit {code}"


def read_bytecode(data: bytes, folder: Path, chance: random.Random) -> None:
    """The disassembler, and the compiler: a few times as far as PTX."""
    path = _write(folder / "k.tilebc", data)
    run_command("dis", path, "-g")
    goal = "ptx" if chance.random() < 0.05 else chance.choice(("tileaa", "tileaa", "tileas"))
    run_command("lower", path, "--to", goal, "--sm", chance.choice(TARGETS), "-o", str(folder / f"k.{goal}"))


def read_asm(data: bytes, folder: Path, chance: random.Random) -> None:
    """The assembler."""
    run_command("asm", _write(folder / "k.mlir", data), "-o", str(folder / "k.tilebc"))


def read_stage(stage: str, goals: tuple[str, ...], data: bytes, folder: Path, chance: random.Random) -> None:
    """The compiler, entered at a stage; LLVM is started by the command in a process of its own."""
    goal = chance.choice(goals)
    run_command(
        "lower", _write(folder / f"k.{stage}", data), "--to", goal, "--sm", "90", "-o", str(folder / f"x.{goal}")
    )


def read_cache(data: bytes, folder: Path, chance: random.Random) -> None:
    """A cache folder with a damaged record: a miss or the right files, never others."""
    place = folder / "cache"
    cache = BuildCache(open_store(str(place)), warn=lambda text: None)
    files = {"a.ptx": b"ptx text", "a.json": b"{}"}
    cache.keep(KEY, files)
    kind = chance.choice((RESULTS, RESULTS, RESULTS, BLOBS))
    record = chance.choice(sorted((place / kind).rglob("?" * 64)))
    record.write_bytes(data if chance.random() < 0.02 else damage_any(record.read_bytes(), chance))
    if (found := cache.find(KEY, files.keys())) not in (None, files):
        raise Failure(f"the cache found {found}")
    run_command("cache", str(place), "--verify")


def read_manifest(data: bytes, folder: Path, chance: random.Random) -> None:
    """The reports over a build folder, and a library's loader."""
    (folder / "k.cubin").write_bytes(b"\x7fELF")
    _write(folder / "k.json", data)
    run_command("report", str(folder))
    if chance.random() < 0.2:
        run_command("report", str(folder), "--html", str(folder / "page.html"))


def read_cubin(data: bytes, folder: Path, chance: random.Random) -> None:
    """The model, for a cubin with the launch that its manifest says, or without a manifest; and the reports over its folder."""
    unpack_folder(data, folder)
    settings = settings_of((folder / ".json").read_bytes())
    for suffix in (".cubin", ".json"):
        (folder / suffix).rename(folder / f"k{suffix}")
    damaged = folder / chance.choice(("k.cubin",) * 9 + ("k.json",))
    damage = chance.choice((damage_one_byte, damage_one_byte, damage_any))
    damaged.write_bytes(damage(damaged.read_bytes(), chance))
    if chance.random() < 0.2:
        (folder / "k.json").unlink()
        settings = ["--block", "128", "--set", "0=@4096", "--set", "1=64"]
    run_command("estimate", str(folder / "k.cubin"), "--grid", "4", *settings)
    if chance.random() < 0.3:
        run_command("report", str(folder))


def read_build(data: bytes, folder: Path, chance: random.Random) -> None:
    """The page over a build folder, one or two of whose files are damaged."""
    unpack_folder(data, folder / "build")
    for _ in range(chance.randint(1, 2)):
        path = chance.choice(sorted(path for path in (folder / "build").rglob("*") if path.is_file()))
        path.write_bytes(damage_any(path.read_bytes(), chance))
    how = chance.choice(
        (("--html", str(folder / "page.html")), ("--html", str(folder / "page.html"), "--pages"), ("--json",))
    )
    run_command("report", str(folder / "build"), *how)


def read_npy(data: bytes, folder: Path, chance: random.Random) -> None:
    """An array that is given to a kernel."""
    path = _write(folder / "a.npy", data)
    others = [word for _ in range(2) for word in ("--arg", "f32:300")]
    run_command("run", str(PREBUILT), "--arg", path, *others, "--grid", "1")


def _write(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def _arrays(_: Seeds) -> list[bytes]:
    found = []
    for array in (np.arange(300, dtype=np.float32), np.zeros((2, 3), np.float32, order="F"), np.ones(4, np.complex64)):
        stream = io.BytesIO()
        np.save(stream, array)
        found.append(stream.getvalue())
    return found


@dataclass(frozen=True)
class Kind:
    """Where good files come from, how they are damaged, who reads them, and their share of all inputs."""

    seeds: Callable[[Seeds], list[bytes]]
    damage: Callable[[bytes, random.Random], bytes]
    read: Callable[[bytes, Path, random.Random], None]
    share: int
    seconds: float = CPU_SECONDS  # that a small one may take


def _stage(name: str, goals: tuple[str, ...], share: int) -> Kind:
    return Kind(lambda seeds: seeds.stage(name), damage_text, partial(read_stage, name, goals), share)


KINDS: dict[str, Kind] = {
    "tilebc": Kind(Seeds.bytecode, damage_bytes, read_bytecode, 120),
    "asm": Kind(Seeds.asm, damage_text, read_asm, 100),
    "tileaa": _stage("tileaa", ("tileas", "ll"), 15),
    "tileas": _stage("tileas", ("ll", "ll", "ptx"), 12),
    "ll": _stage("ll", ("ptx",), 15),
    "ptx": _stage("ptx", ("cubin",), 8),
    "cache": Kind(lambda seeds: [b"{}", bytes(100)], damage_any, read_cache, 85),
    "manifest": Kind(Seeds.manifests, damage_any, read_manifest, 70),
    "npy": Kind(_arrays, damage_bytes, read_npy, 75),
    "kernel": Kind(Seeds.kernels, damage_text, read_kernel, 120),
    "cubin": Kind(Seeds.cubins, lambda data, chance: data, read_cubin, 30, seconds=10.0),
    "package": Kind(Seeds.packages, damage_any, read_package, 60),
    "build": Kind(Seeds.builds, lambda data, chance: data, read_build, 30),
}


# ---- one after the other -------------------------------------------------------------------------
@dataclass(frozen=True)
class Input:
    """One damaged file: which of its kind it is, for a seed."""

    kind: str
    number: int
    seed: int

    def make(self, seeds: Seeds) -> tuple[bytes, random.Random]:
        """The bytes, and what its reader's choices are made with."""
        kind, chance = KINDS[self.kind], random.Random(f"{self.seed} {self.kind} {self.number}")
        return kind.damage(chance.choice(kind.seeds(seeds)), chance), chance


def check_input(one: Input, seeds: Seeds, folder: Path, limited: bool = True) -> str | None:
    """What is wrong with how the input is read, None where nothing is; ``limited``: too long is wrong as well."""
    data, chance = one.make(seeds)
    folder.mkdir(parents=True, exist_ok=True)
    start = _cpu_seconds()
    try:
        KINDS[one.kind].read(data, folder, chance)
    except Failure as failure:
        return str(failure)
    except Exception:
        return traceback.format_exc()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    used = _cpu_seconds() - start
    is_long = limited and used > KINDS[one.kind].seconds and len(data) < SMALL
    return f"{used:.1f} s of processor time" if is_long else None


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def plan(kinds: list[str], count: int, seed: int) -> list[Input]:
    """``count`` inputs over the kinds, by their shares."""
    total = sum(KINDS[kind].share for kind in kinds)
    return [Input(kind, n, seed) for kind in kinds for n in range(-(-count * KINDS[kind].share // total))][:count]


def check_all(inputs: list[Input], seeds: Seeds, scratch: Path) -> Iterator[tuple[Input, str]]:
    """The inputs that fail and why. They are read in a child, which is replaced when it dies or hangs."""
    done = 0
    while done < len(inputs):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _work(inputs[done:], seeds, scratch, writing)
        os.close(writing)
        with os.fdopen(reading, "rb", buffering=0) as stream:
            for problem in _answers(stream):
                if problem:
                    yield inputs[done], problem
                done += 1
        with suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if done < len(inputs):
            yield inputs[done], f"the process ended with {code}, or gave no answer for {HUNG_SECONDS:g} seconds"
            done += 1


def _answers(stream: io.RawIOBase) -> Iterator[str]:
    """What the child says of each input, until it ends or hangs."""
    rest = b""
    while select.select([stream], [], [], HUNG_SECONDS)[0]:
        if not (part := stream.read(1 << 16)):
            return
        *lines, rest = (rest + part).split(b"\n")
        yield from map(json.loads, lines)


def _work(inputs: list[Input], seeds: Seeds, scratch: Path, answers: int) -> None:
    """The child: never returns."""
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    OUTCOMES.clear()
    for one in inputs:
        problem = check_input(one, seeds, scratch / str(os.getpid()))
        (scratch / f"outcomes-{os.getpid()}.json").write_text(json.dumps(OUTCOMES))
        os.write(answers, json.dumps(problem or "").encode() + b"\n")
    os._exit(0)


def show_outcomes(scratch: Path) -> None:
    """How often what was answered."""
    total: Counter[str] = Counter()
    for path in scratch.glob("outcomes-*.json"):
        total.update(json.loads(path.read_text()))
    for outcome, count in total.most_common():
        print(f"{count:8} {outcome}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=KINDS, help="may be repeated (default: all)")
    parser.add_argument("--only", type=int, metavar="N", help="the input with this number of each kind")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the inputs that fail here")
    options = parser.parse_args()
    inputs = plan(options.kind or list(KINDS), options.count, options.seed)
    if options.only is not None:
        inputs = [Input(kind, options.only, options.seed) for kind in options.kind or KINDS]
    with tempfile.TemporaryDirectory(prefix="tileiras-mutate-") as scratch:
        os.environ["TILEIRAS_DUMP"] = f"{scratch}/dump"
        return _report(inputs, Path(scratch), options.keep)


def _report(inputs: list[Input], scratch: Path, keep: Path | None) -> int:
    seeds, failed, start = Seeds(), 0, time.monotonic()
    for one in inputs:
        KINDS[one.kind].seeds(seeds)  # before the first child is made, so that all have them
    for one, problem in check_all(inputs, seeds, scratch):
        failed += 1
        print(f"{one.kind} {one.number}: {problem.strip()}", flush=True)
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{one.kind}-{one.seed}-{one.number}").write_bytes(one.make(seeds)[0])
    show_outcomes(scratch)
    print(f"{failed} of {len(inputs)} inputs fail, {time.monotonic() - start:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
