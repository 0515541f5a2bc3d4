"""What a report shows of a build folder: a row per kernel and GPU, and how it has changed since the last report."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ..cpp_names import readable
from ..errors import InvalidInput, Location
from ..estimate.builds import Problem, estimate_kernel
from ..files import read_file, write_files
from ..launch_manifest import read_launch_manifest
from ..targets import TARGETS, Target, find_target, name_of
from .folder import cubins_of, history_path
from .instructions import count_instructions
from .occupancy import occupancy
from .references import references_of
from .resources import no_manifest, read_document

VERSION = 1
_ESTIMATED = ("microseconds", "estimate_limit")


@dataclass(frozen=True)
class Row:
    """One kernel on one GPU. Bytes: ``shared``, ``stack``, ``spill_*`` and ``size`` (of the cubin's file).

    ``instructions`` are those of its code. ``occupancy`` is in percent of a multiprocessor's warps, ``ctas`` how many run together, ``limit`` what limits them.
    ``reference`` says how it agrees with its author's reference. ``microseconds`` are estimated for a problem, and
    ``estimate_limit`` is the bound that they are. None = not known.
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

    @property
    def key(self) -> str:
        """What identifies the row from one report to the next."""
        return f"{self.kernel} {self.target}"


def read_rows(build_dir: Path, without: Collection[tuple[str, str]] = (), problem: Problem | None = None) -> list[Row]:
    """The rows of every cubin of ``build_dir`` but (folder, name) ``without``, with estimates for ``problem``.

    Raises InvalidInput where there is none, or a file is damaged.
    """
    cubins = [path for path in cubins_of(build_dir) if (path.parent.name, path.stem) not in without]
    rows = [row for cubin in cubins for row in _rows_of(cubin, problem)]
    if not rows:
        raise InvalidInput("report-no-cubins", "no cubin is in this folder", location=Location(str(build_dir)))
    return sorted(rows, key=lambda row: (row.kernel, TARGETS[row.target].number))


def _rows_of(cubin: Path, problem: Problem | None) -> list[Row]:
    path = cubin.with_suffix(".json")
    document = read_document(path)
    try:
        return list(_rows_of_document(document, read_file(cubin), references_of(cubin), problem))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise no_manifest(path, error) from None


def _rows_of_document(
    document: dict, cubin: bytes, references: dict[str, str], problem: Problem | None
) -> Iterator[Row]:
    launches = read_launch_manifest(document).kernels if problem else {}
    target = find_target(name_of(document["target"]))
    for kernel, entry in document["kernels"].items():
        row = _row(readable(kernel), target, entry, len(cubin))
        row = replace(row, instructions=_instructions(cubin, kernel), reference=references.get(row.kernel))
        found = estimate_kernel(cubin, kernel, launches, problem) if problem else None
        yield replace(row, microseconds=round(found.microseconds, 2), estimate_limit=found.limit) if found else row


def _instructions(cubin: bytes, kernel: str) -> int | None:
    try:
        return count_instructions(cubin, kernel)
    except InvalidInput:
        # The rest of the row is the manifest's, which does not need the cubin.
        return None


def _row(kernel: str, target: Target, entry: dict, size: int) -> Row:
    used, threads = entry.get("resources", {}), entry.get("threads_per_cta", 0)
    registers, shared = used.get("registers"), used.get("shared")
    if shared is not None:
        shared += entry.get("shared_memory", {}).get("dynamic", 0)
    room = occupancy(target, threads, registers, shared) if None not in (registers, shared) and threads else None
    return Row(
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


def by_key(rows: list[Row]) -> dict[str, dict]:
    """What other reports compare with."""
    return {row.key: asdict(row) for row in rows}


def remember(build_dir: Path, rows: list[Row]) -> dict[str, dict] | None:
    """Keep ``rows`` for the next report; the rows of the last report that differed, by key, None if there was none.

    Reports of an unchanged build compare with the same one again, so that making a report twice, with estimates for one
    problem or another, loses nothing.
    """
    now = by_key(rows)
    last, before = _read_history(history_path(build_dir))
    if now != last:
        # What other estimates alone have changed leaves what the build is compared with.
        before = before if last is not None and _built(now) == _built(last) else last
        content = {"version": VERSION, "last": now, "before": before}
        write_files({history_path(build_dir): json.dumps(content).encode()})
    return before


def _built(rows: dict[str, dict]) -> dict[str, dict]:
    """The rows without what depends on the problem that is estimated."""
    return {key: {name: row[name] for name in row if name not in _ESTIMATED} for key, row in rows.items()}


def _read_history(path: Path) -> tuple[dict | None, dict | None]:
    if not path.exists():
        return None, None
    try:
        content = json.loads(read_file(path))
        if content["version"] != VERSION:
            raise ValueError(f"version {content['version']}, expected {VERSION}")
        return content["last"], content["before"]
    except (ValueError, KeyError, TypeError) as error:
        message = f"this is not what an earlier report has said: {error}"
        raise InvalidInput("report-history", message, location=Location(str(path)), remedy="delete it") from None
