"""LibraryKernels: the kernels of one ``KernelLibrary`` call, all of them or those that an incremental build checks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from ..target.targets import Target
from .incremental.sconscript_trace import TRACE
from .library_member import TILECPP, Kernel, is_tilecpp, stem
from .per_kernel_options import Rows, check_files, check_options, settings_by_kernel
from .settings import Settings, read_settings

if TYPE_CHECKING:
    from ..pipeline.stages import Stage
    from .kernel_library import GraphBuilder, Rule

Chain = tuple[Kernel, Target, Settings]  # a kernel for a target


class LibraryKernels:
    """The kernels of one library: those that this run checks, or all of them."""

    def __init__(self, chain: GraphBuilder, env, name: str, nodes: list, sm: str | None, options: Rows):
        self._chain, self._env, self._name, self._nodes, self._options = chain, env, name, nodes, options
        self._read = lambda **given: read_settings(env, **{"sm": sm} | given)
        self._settings = self._read()
        self.folder = env.Dir(self._settings.build_dir).path
        self._kernels: dict[str, list[Kernel]] = {}
        self._last: dict[tuple[str, str], object] = {}
        self._all: list | None = None
        check_options(name, options)

    def selected(self) -> list | None:
        """The last artifacts of the kernels that this run checks; None if these must be all."""
        build = self._chain.build
        if build.dry_run is not None and build.dry_run.add(self):
            return []
        if (part := build.subset) is None:
            return None
        some = [node for node in self._nodes if part.contains(node)]
        files = {stem(node, TILECPP) for node in self._nodes if is_tilecpp(node)}
        self._find_kernels(some, part.names_outside(self._nodes) | files)
        names = {node.get_abspath(): [kernel.name for kernel in self._kernels[node.get_abspath()]] for node in some}
        if not part.agrees(names):
            return None
        # The full run has reported unused options.
        return self._make_chains(*self._find_chains(some, lambda error: None))

    def all(self) -> list:
        """The last artifacts of all kernels, in the order of the targets and, for each, of the sources."""
        if self._all is None:
            self._all = self._make_all()
        return self._all

    def chains(self) -> list[Chain]:
        """Each kernel for each of its targets, in order, without their nodes."""
        return self._find_all_chains(lambda error: None)[2]

    def rules(self, target: Target, own: Settings) -> tuple[object, list[tuple[Stage, Rule]]]:
        """The folder of the artifacts for a target, and the stages that make them."""
        folder = self._env.Dir(f"{own.build_dir}/{target.name}")
        table = self._chain.table
        rules = (
            self._chain.rule(self._env, own, target, previous, stage, folder) for previous, stage in pairwise(table)
        )
        return folder, list(zip(table[1:], rules, strict=True))

    def _make_all(self) -> list:
        build = self._chain.build
        found = self._find_all_chains(build.report_at_end)
        last = self._make_chains(*found)
        by_path = {path: [kernel.name for kernel in kernels] for path, kernels in self._kernels.items()}
        build.libraries.add(by_path, is_complete=all(node.srcnode() is node for node in self._nodes))
        return last

    def _find_kernels(self, nodes: list, taken: set[str]) -> None:
        """Find the kernels of the files ``nodes``; ``taken`` are the names of the library's other kernels."""
        new = [node for node in nodes if node.get_abspath() not in self._kernels]
        known = {kernel.name for kernels in self._kernels.values() for kernel in kernels}
        with TRACE.for_kernels():
            found = self._chain.kernels_of(self._env, new, self._settings, self._options, self._read, taken | known)
        self._kernels |= {node.get_abspath(): kernels for node, kernels in zip(new, found, strict=True)}

    def _make_chains(self, kernels: list[Kernel], own: dict[str, Settings], chains: list[Chain]) -> list:
        last = [self._last_of(*chain) for chain in chains]
        self._chain.verify(self._env, kernels, own)
        self._chain.tune(self._env, kernels, own)
        return last

    def _find_all_chains(self, later: Callable) -> tuple[list[Kernel], dict[str, Settings], list[Chain]]:
        """Those of all sources; ``later`` takes the error of a name that a kernel of a failed file may have."""
        self._find_kernels(self._nodes, set())
        made = self._find_chains(self._nodes, None if self._chain.build.all_known else later)
        kernels = [kernel for found in self._kernels.values() for kernel in found]
        files = [stem(node, TILECPP) for node in self._nodes if is_tilecpp(node)]
        check_files(self._name, self._options, kernels, files)
        return made

    def _find_chains(
        self, nodes: list, later: Callable | None
    ) -> tuple[list[Kernel], dict[str, Settings], list[Chain]]:
        """The kernels of ``nodes``, their settings by name, and each with each of its targets."""
        kernels = [kernel for node in nodes for kernel in self._kernels[node.get_abspath()]]
        self._chain.check_names(kernels, self._name, self.folder)
        own = settings_by_kernel(self._name, kernels, self._options, self._read, later)
        by_target = {target: None for kernel in kernels for target in own[kernel.name].targets}
        chains = [
            (kernel, target, own[kernel.name])
            for target in by_target
            for kernel in kernels
            if target in own[kernel.name].targets
        ]
        return kernels, own, chains

    def _last_of(self, kernel: Kernel, target: Target, own: Settings):
        key = kernel.name, target.name
        if key not in self._last:
            self._last[key] = self._chain.add_target(self._env, kernel, target, own)
        return self._last[key]
