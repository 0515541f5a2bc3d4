"""What a report shows of a build folder: a row per kernel and GPU, and how it has changed since the last report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..core.errors import MALFORMED, InvalidInput, Location
from ..core.file_io import read_stored
from ..core.symbols.itanium_demangler import demangle
from ..manifest.launch_manifest import read_launch_manifest
from ..simulate.estimate.estimate_build import KernelEstimate, Problem, estimate_kernel
from ..target.occupancy import occupancy
from ..target.targets import TARGETS, Target, find_target, name_of
from .build_diff import Key
from .build_history import NUMBERS, History, Values
from .count_instructions import count_instructions
from .project_libraries import Member, read_members
from .resource_usage import no_manifest, read_document
from .verification_results import VerificationResult, verification_results


@dataclass(frozen=True)
class KernelRow:
    """One kernel on one GPU. Bytes: ``shared``, ``stack``, ``spill_*`` and ``size`` (of the cubin's file).

    ``instructions`` are those of its code. ``occupancy`` is in percent of a multiprocessor's warps, ``ctas`` how many run together, ``limit`` what limits them.
    ``reference`` says how it agrees with its author's reference. ``microseconds`` are estimated for a problem, and
    ``estimate_limit`` is the bound that they are. ``library`` is said where a project has several. None = not known.
    """

    kernel: str
    target: str
    registers: int | None
    spill_stores: int | None
    spill_loads: int | None
    shared: int | None
    stack: int | None
    threads: int
    occupancy: float | None
    ctas: int | None
    limit: str
    size: int
    instructions: int | None = None
    reference: str | None = None
    microseconds: float | None = None
    estimate_limit: str | None = None
    library: str | None = None


@dataclass(frozen=True)
class BuiltKernel:
    """One kernel on one GPU with what it is read from: its cubin, bytecode and symbol; and how it was compared and estimated."""

    row: KernelRow
    member: Member
    symbol: str
    compared: VerificationResult | None = None
    problem: Problem | None = None
    estimated: KernelEstimate | None = None


@dataclass(frozen=True)
class EstimateProblems:
    """What is estimated: kernels with the parameters of ``given``; or each by the launch that ``scons verify`` has compared."""

    explicit: Problem | None = None
    of_references: bool = False

    @property
    def wanted(self) -> bool:
        """Whether there is anything to estimate."""
        return self.explicit is not None or self.of_references

    @property
    def text(self) -> str:
        """What people are told of them; "" where nothing is estimated."""
        words = ["compared launches"] if self.of_references else []
        return "; ".join([*words, *([self.explicit.text] if self.explicit else [])])

    def of(self, compared: VerificationResult | None) -> Problem | None:
        """The problem of one kernel."""
        return compared.problem if self.of_references and compared else self.explicit


NO_PROBLEMS = EstimateProblems()


def read_rows(build_dir: Path, problems: EstimateProblems = NO_PROBLEMS) -> list[KernelRow]:
    """The rows of every cubin of ``build_dir``, as ``read_built`` finds them."""
    return [one.row for one in read_built(build_dir, problems=problems)]


def read_built(
    build_dir: Path, without: Collection[Path] = (), problems: EstimateProblems = NO_PROBLEMS
) -> list[BuiltKernel]:
    """The kernels of the cubins of ``build_dir``, and of the project's libraries that are elsewhere, but for the cubins ``without``.

    Raises InvalidInput where there is none, or a file is damaged.
    """
    members = read_members(build_dir)
    several = len({member.library for member in members}) > 1
    chosen = [member for member in members if member.cubin not in without]
    found = [one for member in chosen for one in _built_of(member, problems, several)]
    if not found:
        raise InvalidInput("report-no-cubins", "no cubin is in this folder", location=Location(str(build_dir)))
    return sorted(found, key=lambda one: (one.row.kernel, TARGETS[one.row.target].number, one.row.library or ""))


def _built_of(member: Member, problems: EstimateProblems, several: bool) -> Iterator[BuiltKernel]:
    path = member.cubin.with_suffix(".json")
    document = read_document(path)
    try:
        found = list(_built_of_document(document, member, problems))
    except MALFORMED as error:
        raise no_manifest(path, error) from None
    for one in found:
        yield replace(one, row=replace(one.row, library=member.library)) if several else one


def _built_of_document(document: dict, member: Member, problems: EstimateProblems) -> Iterator[BuiltKernel]:
    cubin, references = read_stored(member.cubin), verification_results(member.cubin)
    launches = read_launch_manifest(document).kernels if problems.wanted else {}
    target = find_target(name_of(document["target"]))
    for kernel, entry in document["kernels"].items():
        row = _row(demangle(kernel), target, entry, len(cubin))
        compared = references.get(row.kernel)
        row = replace(row, instructions=_instructions(cubin, kernel), reference=compared.text if compared else None)
        problem = problems.of(compared)
        found = estimate_kernel(cubin, kernel, launches, problem) if problem else None
        if found is not None:
            row = replace(row, microseconds=round(found.microseconds, 2), estimate_limit=found.limit)
        yield BuiltKernel(row, member, kernel, compared, problem, found)


def _instructions(cubin: bytes, kernel: str) -> int | None:
    try:
        return count_instructions(cubin, kernel)
    except InvalidInput:
        # The rest of the row is the manifest's, which does not need the cubin.
        return None


def _row(kernel: str, target: Target, entry: dict, size: int) -> KernelRow:
    used, threads = entry.get("resources", {}), entry.get("threads_per_cta", 0)
    registers, shared = used.get("registers"), used.get("shared")
    if shared is not None:
        shared += entry.get("shared_memory", {}).get("dynamic", 0)
    room = occupancy(target, threads, registers, shared) if None not in (registers, shared) and threads else None
    return KernelRow(
        kernel,
        target.name,
        registers,
        used.get("spill_stores"),
        used.get("spill_loads"),
        shared,
        used.get("stack"),
        threads,
        round(100 * room.share, 1) if room else None,
        room.ctas if room else None,
        room.limit if room else "",
        size,
    )


def keys_of(rows: Iterable[KernelRow]) -> list[Key]:
    """What identifies each row from one report to the next: kernel and GPU.

    A library is part of that only where several have a kernel of this name, so that another one changes nothing for the rest.
    """
    given = list(rows)
    count = Counter((row.kernel, row.target) for row in given)
    label = lambda row: f"{row.kernel} [{row.library}]" if count[row.kernel, row.target] > 1 else row.kernel
    return [(label(row), row.target) for row in given]


def values_of(rows: Iterable[KernelRow]) -> dict[str, Values]:
    """The numbers that a history keeps."""
    given = list(rows)
    numbers = (tuple(getattr(row, name) for name in NUMBERS) for row in given)
    return dict(zip(map(" ".join, keys_of(given)), numbers, strict=True))


def remember(
    history: History, rows: Iterable[KernelRow], when: float, problem: str = "", name: str | None = None
) -> dict[str, Values] | None:
    """Add a build of these rows; the numbers of the last one that differed, by key, None if there was none.

    Reports of an unchanged build compare with the same one again, so that making a report twice, with estimates for one
    problem or another, loses nothing.
    """
    history.add(values_of(rows), when, problem, name)
    before = history.before()
    return None if before is None else history.comparable(before)
