"""Counters of each kernel in the emulator, as a table and as JSON (``tileiras-build run --profile``)."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.file_io import write_files
from ..core.terminal import table_text
from ..simulate.emulator import Counters
from ..simulate.emulator.performance_counters import KINDS
from .kernel_fault_report import name_of

if TYPE_CHECKING:
    from .compiled_kernel_cache import CompiledKernel

COLUMNS = (
    "kernel", "launches", "blocks", "instructions", "tensor operations", "global bytes", "sectors/request",
    "bulk copies", "shared bytes", "bank conflicts",
)  # fmt: skip


@dataclass
class KernelProfile:
    """The counters of all launches of one kernel, compiled for one signature."""

    entry: str
    launches: int = 0
    blocks: int = 0
    counters: Counters = field(default_factory=Counters)

    def to_json(self) -> dict[str, object]:
        """As JSON; ``simulate/emulator/performance_counters.py`` documents the counters."""
        counts = self.counters
        return {
            "kernel": name_of(self.entry),
            "entry": self.entry,
            "launches": self.launches,
            "blocks": self.blocks,
            "instructions": {kind: counts.instructions.get(kind, 0) for kind in KINDS},
            "tensor_operations": counts.tensor_operations,
            "global": {
                "read": counts.global_read, "written": counts.global_written, "requests": counts.requests,
                "sectors": counts.sectors, "bulk_copies": counts.bulk_copies,
            },
            "shared": {
                "read": counts.shared_read, "written": counts.shared_written,
                "wavefronts": sum(counts.accesses.values()), "bank_conflicts": sum(counts.bank_conflicts.values()),
            },
        }  # fmt: skip

    def table_cells(self) -> tuple[str, ...]:
        """The table cells after the kernel's name."""
        counts = self.counters
        each = f"{counts.sectors / counts.requests:.1f}" if counts.requests else "-"
        columns = (
            self.launches, self.blocks, sum(counts.instructions.values()), counts.tensor_operations,
            counts.global_read + counts.global_written,
        )  # fmt: skip
        shared = counts.shared_read + counts.shared_written
        rest = (counts.bulk_copies, shared, sum(counts.bank_conflicts.values()))
        return *map(_grouped, columns), each, *map(_grouped, rest)


def _grouped(number: int) -> str:
    return f"{number:,}"


class Profile:
    """The counters of a run, by kernel."""

    def __init__(self) -> None:
        self.rows: dict[str, KernelProfile] = {}

    def add(self, compiled: CompiledKernel, grid: Sequence[int], counters: Counters) -> None:
        """Add one launch."""
        row = self.rows.setdefault(compiled.entry, KernelProfile(compiled.entry))
        row.launches += 1
        row.blocks += grid[0] * grid[1] * grid[2]
        row.counters.add(counters)

    def table(self) -> str:
        """A row per kernel, followed by its instructions by kind."""
        names = self._names()
        text = [
            table_text(
                COLUMNS, [(name, *row.table_cells()) for name, row in zip(names, self.rows.values(), strict=True)]
            )
        ]
        kinds = [
            (name, *(_grouped(row.counters.instructions.get(kind, 0)) for kind in KINDS))
            for name, row in zip(names, self.rows.values(), strict=True)
        ]
        return "\n\n".join([*text, table_text(("instructions of", *KINDS), kinds)])

    def _names(self) -> list[str]:
        """The kernels' names, numbered if one was compiled for several signatures."""
        plain = [name_of(entry) for entry in self.rows]
        seen: Counter[str] = Counter()
        names = []
        for name in plain:
            seen[name] += 1
            names.append(f"{name} #{seen[name]}" if plain.count(name) > 1 else name)
        return names

    def write(self, file: str | None) -> None:
        """Write the table to standard error, as standard output is the script's, and JSON to ``file``."""
        print(self.table(), file=sys.stderr)
        if file is not None:
            made = {"version": 1, "kernels": [row.to_json() for row in self.rows.values()]}
            write_files({Path(file): (json.dumps(made, indent=1) + "\n").encode()})
