"""What a report shows of a build folder: a row per kernel and GPU, and how it has changed since the last report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..core.errors import MALFORMED, InvalidInput, Location
from ..core.file_io import read_stored
from ..core.symbols.itanium_demangler import demangle
from ..manifest.launch_manifest import Launch, read_launch_manifest
from ..simulate.estimate.described_launch import DescribedLaunch, described_settings
from ..simulate.estimate.estimate_kernel import KernelEstimate, Problem
from ..simulate.estimate.problem_size import fits_variant
from ..target.occupancy import occupancy
from ..target.targets import Target, find_target, name_of
from .build_diff import Key
from .build_history import METRICS, History, Values
from .cached_estimates import cached_estimate
from .count_sass_instructions import count_instructions
from .project_manifest import Member, read_members
from .report_cache import ReportCache
from .resource_usage import no_manifest, read_document
from .verification_results import VerificationResult, verification_results


@dataclass(frozen=True)
class KernelRow:
    """One kernel on one GPU. In bytes: ``shared``, ``stack``, ``spill_*`` and ``size`` (of the cubin file).

    ``instructions``: SASS instructions. ``occupancy``: percent of an SM's warps; ``ctas``: CTAs per SM; ``limit``: the limiting
    resource. ``reference``: result of the comparison with the author's reference. ``microseconds``: the estimate for a problem;
    ``estimate_limit``: its bound. ``library``: set if a project has several. None: unknown.
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
    """One kernel on one GPU with its inputs (cubin, bytecode, symbol), its verification result and its estimate."""

    row: KernelRow
    member: Member
    symbol: str
    compared: VerificationResult | None = None
    problem: Problem | None = None
    estimated: KernelEstimate | None = None


@dataclass(frozen=True)
class EstimateProblems:
    """The launches to estimate: ``explicit`` for all kernels that have its arguments; with ``of_references`` those of ``cases``
    and, for other kernels, those of ``scons verify``."""

    explicit: Problem | None = None
    of_references: bool = False
    cases: Mapping[tuple[str, str], DescribedLaunch] = field(default_factory=dict)

    @property
    def wanted(self) -> bool:
        """Whether any estimate is requested."""
        return self.explicit is not None or self.of_references

    @property
    def text(self) -> str:
        """The problems as reports print them; "" if nothing is estimated."""
        words = ["launches of the cases"] if self.of_references else []
        return "; ".join([*words, *([self.explicit.text] if self.explicit else [])])

    def of(
        self, compared: VerificationResult | None, name: str, target: Target, launches: Mapping[str, Launch]
    ) -> Problem | None:
        """The problem of one kernel of a cubin; None for a variant that launchers do not take for it."""
        if self.of_references and (found := self.cases.get((launches[name].variant_of or name, target.generation))):
            return problem_of(found, name, launches)
        return compared.problem if self.of_references and compared else self.explicit


NO_PROBLEMS = EstimateProblems()


def problem_of(case: DescribedLaunch, name: str, launches: Mapping[str, Launch]) -> Problem | None:
    """A case's launch in the names of the manifest, for its kernel or a variant of it that fits."""
    launch = launches[name]
    settings, general = described_settings(launch, case.arguments), launches[launch.variant_of or name]
    if settings is None or (general is not launch and not fits_variant(general, launch, settings, case.grid)):
        return None
    return Problem(settings, case.grid)


def read_rows(build_dir: Path, problems: EstimateProblems = NO_PROBLEMS) -> list[KernelRow]:
    """The rows of every cubin of ``build_dir``, as ``read_built`` finds them."""
    return [one.row for one in read_built(build_dir, problems=problems)]


def read_built(
    build_dir: Path,
    without: Collection[Path] = (),
    problems: EstimateProblems = NO_PROBLEMS,
    cache: ReportCache | None = None,
) -> list[BuiltKernel]:
    """The kernels of all cubins of ``build_dir`` and of the project's libraries elsewhere, except the cubins ``without``.

    Estimates are kept in ``cache``. Raises InvalidInput if there is none or a file is damaged.
    """
    members = read_members(build_dir)
    several = len({member.library for member in members}) > 1
    chosen = [member for member in members if member.cubin not in without]
    found = [one for member in chosen for one in _built_of(member, problems, several, cache)]
    if not found:
        raise InvalidInput("report-no-cubins", "no .cubin files in this folder", location=Location(str(build_dir)))
    return sorted(found, key=lambda one: (one.row.kernel, find_target(one.row.target).number, one.row.library or ""))


def _built_of(
    member: Member, problems: EstimateProblems, several: bool, cache: ReportCache | None
) -> Iterator[BuiltKernel]:
    path = member.cubin.with_suffix(".json")
    document = read_document(path)
    try:
        found = list(_built_of_document(document, member, problems, cache))
    except MALFORMED as error:
        raise no_manifest(path, error) from None
    for one in found:
        yield replace(one, row=replace(one.row, library=member.library)) if several else one


def _built_of_document(
    document: dict, member: Member, problems: EstimateProblems, cache: ReportCache | None
) -> Iterator[BuiltKernel]:
    cubin, references = read_stored(member.cubin), verification_results(member.cubin)
    wanted = problems.explicit or problems.cases or any(one.problem for one in references.values())
    launches = read_launch_manifest(document).kernels if problems.wanted and wanted else {}
    target = find_target(name_of(document["target"]))
    for kernel, entry in document["kernels"].items():
        row = _row(demangle(kernel), target, entry, len(cubin))
        compared = references.get(row.kernel)
        row = replace(row, instructions=_instructions(cubin, kernel), reference=compared.text if compared else None)
        problem = problems.of(compared, kernel, target, launches) if launches else None
        found = cached_estimate(cubin, kernel, launches, problem, cache) if problem else None
        if found is not None:
            row = replace(row, microseconds=round(found.microseconds, 2), estimate_limit=found.limit)
        yield BuiltKernel(row, member, kernel, compared, problem, found)


def _instructions(cubin: bytes, kernel: str) -> int | None:
    try:
        return count_instructions(cubin, kernel)
    except InvalidInput:
        # The rest of the row comes from the manifest.
        return None


def _row(kernel: str, target: Target, entry: dict, size: int) -> KernelRow:
    used, threads = entry.get("resources", {}), entry.get("threads_per_cta", 0)
    registers, shared = used.get("registers"), used.get("shared")
    if shared is not None:
        shared += entry.get("shared_memory", {}).get("dynamic", 0)
    found = occupancy(target, threads, registers, shared) if None not in (registers, shared) and threads else None
    return KernelRow(
        kernel,
        target.name,
        registers,
        used.get("spill_stores"),
        used.get("spill_loads"),
        shared,
        used.get("stack"),
        threads,
        round(100 * found.share, 1) if found else None,
        found.ctas if found else None,
        found.limit if found else "",
        size,
    )


def keys_of(rows: Iterable[KernelRow]) -> list[Key]:
    """The keys that identify rows across reports: kernel and GPU.

    The library is part of a key only if several libraries have a kernel of this name.
    """
    all_rows = list(rows)
    count = Counter((row.kernel, row.target) for row in all_rows)
    label = lambda row: f"{row.kernel} [{row.library}]" if count[row.kernel, row.target] > 1 else row.kernel
    return [(label(row), row.target) for row in all_rows]


def values_of(rows: Iterable[KernelRow]) -> dict[str, Values]:
    """The metrics that a history stores, by key."""
    all_rows = list(rows)
    values = (tuple(getattr(row, name) for name in METRICS) for row in all_rows)
    return dict(zip(map(" ".join, keys_of(all_rows)), values, strict=True))


def remember(
    history: History, rows: Iterable[KernelRow], when: float, problem: str = "", name: str | None = None
) -> dict[str, Values] | None:
    """Add a build of these rows to the history; return the metrics of the last build that differed, None if there is none.

    Repeated reports of an unchanged build compare with the same earlier build, whatever problems they
    estimate.
    """
    history.add(values_of(rows), when, problem, name)
    before = history.before()
    return None if before is None else history.comparable(before)
