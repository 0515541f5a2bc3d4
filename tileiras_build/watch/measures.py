"""What the cubins of a build folder are like, and how they differ from what they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from ..cpp_names import readable
from ..errors import TileirasError
from ..estimate.problem import launch_of_manifest, read_extents, read_settings
from ..files import read_file
from ..launch_manifest import Launch as Manifest
from ..launch_manifest import read_launch_manifest
from ..pipeline.ptx_to_cubin.cubin import read_info
from ..reports.resources import read_document, rows_of_manifest
from ..targets import TARGETS
from ..units import size_text

_INSTRUCTION = 16  # bytes, since sm_70
_NOP = 0x918  # the low twelve bits of NOP, which fills code up


@dataclass(frozen=True)
class Problem:
    """What a launch is estimated for: the values of parameters by name and the grid, as ``tileiras-build estimate`` takes them."""

    settings: tuple[str, ...]
    grid: str


@dataclass(frozen=True)
class Measure:
    """One kernel on one GPU: numbers, and bytes of spills, stack and shared memory; ``microseconds`` is estimated, None = not asked."""

    registers: int | None
    spills: int | None
    shared: int | None
    stack: int | None
    instructions: int | None
    microseconds: float | None


COLUMNS = {"registers": "registers", "spills": "spills", "shared": "shared memory", "stack": "stack",
           "instructions": "instructions", "microseconds": "estimate"}  # fmt: skip
_SIZES = ("spills", "shared", "stack")
Key = tuple[str, str]  # kernel, target


class Measures:
    """Reads the cubins of a build folder; of those that have not changed since, it knows what they are like."""

    def __init__(self, folder: Path, problem: Problem | None = None):
        self.folder, self.problem = folder, problem
        self._known: dict[Path, tuple[tuple[int, int, int], dict[Key, Measure]]] = {}

    def read(self) -> dict[Key, Measure]:
        """All kernels, by readable name and target. A cubin that cannot be read is left out: the build says why."""
        found: dict[Key, Measure] = {}
        for target in TARGETS:
            for cubin in sorted((self.folder / target).glob("*.cubin")):
                found |= self._of_cubin(cubin)
        return found

    def _of_cubin(self, cubin: Path) -> dict[Key, Measure]:
        try:
            stat = cubin.stat()
            state = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if self._known.get(cubin, (None,))[0] != state:
                self._known[cubin] = state, dict(self._measured(cubin))
            return self._known[cubin][1]
        except (TileirasError, OSError):
            return {}

    def _measured(self, cubin: Path) -> Iterator[tuple[Key, Measure]]:
        document, data = read_document(cubin.with_suffix(".json")), read_file(cubin)
        manifest = read_launch_manifest(document).kernels if self.problem else {}
        for row in rows_of_manifest(document):
            spilled = None if row.spill_stores is None else row.spill_stores + (row.spill_loads or 0)
            time = self._estimate(data, row.kernel, manifest)
            made = Measure(row.registers, spilled, row.shared_memory, row.stack, _instructions(data, row.kernel), time)
            yield (readable(row.kernel), row.target), made

    def _estimate(self, data: bytes, name: str, manifest: Mapping[str, Manifest]) -> float | None:
        """Microseconds; None where the kernel has other parameters than those that are set."""
        if self.problem is None or name not in manifest:
            return None
        from ..estimate.kernels import read_kernels
        from ..estimate.model import estimate

        try:
            settings, grid = read_settings(self.problem.settings), read_extents(self.problem.grid, "grid")
            return estimate(
                read_kernels(data)[name], launch_of_manifest(manifest[name], settings, grid), {}
            ).microseconds
        except TileirasError:
            return None


def _instructions(cubin: bytes, name: str) -> int | None:
    """How many instructions a kernel has, without what its code is filled up with."""
    code = read_info(cubin, name)[0].get(f".text.{name}")
    if code is None:
        return None
    starts = range(0, len(code), _INSTRUCTION)
    return sum(int.from_bytes(code[start : start + 2], "little") & 0xFFF != _NOP for start in starts)


def header(with_estimate: bool) -> tuple[str, ...]:
    """The columns of a table of rows."""
    return ("kernel", "SM", *(title for name, title in COLUMNS.items() if with_estimate or name != "microseconds"))


def changes(before: Mapping[Key, Measure], now: Mapping[Key, Measure], with_estimate: bool) -> list[tuple[str, ...]]:
    """A row for each kernel that is new, gone or another one: "29 -> 31" where a number has changed."""
    names = [field.name for field in fields(Measure) if with_estimate or field.name != "microseconds"]
    rows = []
    for key in dict.fromkeys([*now, *before]):
        old, new = before.get(key), now.get(key)
        if old != new:
            rows.append((*key, *(_cell(name, old, new) for name in names)))
    return rows


def _cell(name: str, old: Measure | None, new: Measure | None) -> str:
    texts = [_text(name, getattr(one, name)) if one is not None else None for one in (old, new)]
    if texts[0] is None or texts[0] == texts[1]:
        return texts[1] or "-"
    return f"{texts[0]} -> {texts[1] or 'gone'}"


def _text(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name == "microseconds":
        return f"{value:.1f} us"
    return size_text(value) if name in _SIZES else str(value)
