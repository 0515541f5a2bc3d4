"""Metrics of the cubins in a build folder; unchanged cubins are not read again."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from ...core.errors import TileirasError
from ...core.file_io import read_stored
from ...core.symbols.itanium_demangler import demangle
from ...manifest.launch_manifest import read_launch_manifest
from ...reports.build_diff import KernelMetrics, Key
from ...reports.count_sass_instructions import count_instructions
from ...reports.resource_usage import read_document, rows_of_manifest
from ...simulate.estimate.estimate_kernel import Problem, estimate_kernel
from ...target.targets import ALL_TARGETS


class MetricsReader:
    """Reads the cubins of a build folder, and caches the metrics of unchanged ones."""

    def __init__(self, folder: Path, problem: Problem | None = None):
        self.folder, self.problem = folder, problem
        self.cubins: Collection[Path] | None = None  # of existing kernels; None: all in the folder
        self._known: dict[Path, tuple[tuple[int, int, int], dict[Key, KernelMetrics]]] = {}

    def read(self) -> dict[Key, KernelMetrics]:
        """All kernels, by readable name and target. A cubin that cannot be read is skipped: the build reports it."""
        found: dict[Key, KernelMetrics] = {}
        for cubin in self._cubins() if self.cubins is None else sorted(self.cubins):
            found |= self._of_cubin(cubin)
        return found

    def _cubins(self) -> list[Path]:
        return [cubin for target in ALL_TARGETS for cubin in sorted((self.folder / target).glob("*.cubin"))]

    def _of_cubin(self, cubin: Path) -> dict[Key, KernelMetrics]:
        try:
            stat = cubin.stat()
            state = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if self._known.get(cubin, (None,))[0] != state:
                self._known[cubin] = state, dict(self._read_metrics(cubin))
            return self._known[cubin][1]
        except (TileirasError, OSError):
            return {}

    def _read_metrics(self, cubin: Path) -> Iterator[tuple[Key, KernelMetrics]]:
        document, data = read_document(cubin.with_suffix(".json")), read_stored(cubin)
        manifest = read_launch_manifest(document).kernels if self.problem else {}
        for row in rows_of_manifest(document):
            spilled = None if row.spill_stores is None else row.spill_stores + (row.spill_loads or 0)
            time = estimate_kernel(data, row.kernel, manifest, self.problem) if self.problem else None
            instructions = count_instructions(data, row.kernel)
            made = KernelMetrics(
                row.registers, spilled, row.shared_memory, row.stack, instructions, time.microseconds if time else None
            )
            yield (demangle(row.kernel), row.target), made
