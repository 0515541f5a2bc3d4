"""The report's sections, one per kernel name, cached and rendered again only if their inputs change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ..core.file_io import read_stored
from ..pipeline.stages import Stage, source_digest
from .build_history import History
from .cached_disassembly import ArtifactContents, ArtifactDetails, details_name, read_details
from .collect_rows import BuiltKernel, keys_of
from .history_view import HistoryView, view_history
from .kernel_view import inputs_of, text_files_of, view_kernel
from .render_templates import KERNEL, pack, render, template_text
from .report_cache import ReportCache
from .source_files import SourceFiles
from .verification_results import interpreted

_CODE = Stage(
    ".part", "the report's section of a kernel", "tileiras_build.reports.kernel_view:view_kernel",
    modules=("tileiras_build.reports.render_templates", "tileiras_build.reports.cached_disassembly"),
    libraries=("jinja2", "xdsl", "msgspec", "nvidia-cuda-nvdisasm"),
)  # fmt: skip


@dataclass(frozen=True)
class _Section:
    """A rendered section; ``sources`` are the digests of its source files by their name in debug information."""

    sources: dict[str, str]
    packed: str


@dataclass(frozen=True)
class _Kernel:
    """The kernels with one name: for each library, those of all GPUs, with their artifacts and histories."""

    libraries: list[list[tuple[BuiltKernel, ArtifactContents, HistoryView | None]]]

    @property
    def all(self) -> list[tuple[BuiltKernel, ArtifactContents, HistoryView | None]]:
        """The kernels of all libraries."""
        return [one for found in self.libraries for one in found]


def packed_sections(
    built: Sequence[BuiltKernel], history: History, cache: ReportCache, root: Path, jobs: int
) -> dict[str, str]:
    """The packed section of each kernel name; sources below ``root`` are shown. Raises InvalidInput[write-failed]."""
    kernels = _by_name(built, history)
    files = SourceFiles(root)
    names = {name: f"{_digest(kernel)}.part" for name, kernel in kernels.items()}
    known = {name: part for name in kernels if (part := _read(cache, names[name], kernels[name], files)) is not None}
    new = [kernel for name, kernel in kernels.items() if name not in known]
    inputs = [one for kernel in new for _, one, _ in kernel.all]
    facts = dict(zip(map(details_name, inputs), read_details(inputs, cache, jobs), strict=True))
    for kernel in kernels.values():
        for _, one, _ in kernel.all:
            cache.want(details_name(one))
    found = {}
    for name, kernel in kernels.items():
        if name not in known:
            known[name] = _render(kernel, facts, files)
            cache.write(names[name], msgspec.json.encode(known[name]))
        found[name] = known[name].packed
    cache.remove_unwanted()
    return found


def _by_name(built: Sequence[BuiltKernel], history: History) -> dict[str, _Kernel]:
    by_name: dict[str, dict[str | None, list]] = {}
    for one, key in zip(built, map(" ".join, keys_of(one.row for one in built)), strict=True):
        found = by_name.setdefault(one.row.kernel, {}).setdefault(one.row.library, [])
        found.append((one, inputs_of(one), view_history(history, key)))
    return {name: _Kernel(list(libraries.values())) for name, libraries in by_name.items()}


def _digest(kernel: _Kernel) -> str:
    """A digest of all inputs of a section except its sources, which are known only after rendering."""
    found = hashlib.sha256(source_digest(_CODE).encode() + template_text(KERNEL).encode())
    for one, inputs, view in kernel.all:
        contents = (one.row, one.symbol, one.compared, one.problem, one.estimated, view, inputs.digest)
        found.update(repr((contents, interpreted(one.member.cubin, one.symbol))).encode())
        for path in text_files_of(one).values():
            found.update(hashlib.sha256(read_stored(path)).digest())
    return found.hexdigest()[:32]


def _read(cache: ReportCache, name: str, kernel: _Kernel, files: SourceFiles) -> _Section | None:
    data = cache.read(name)
    try:
        part = None if data is None else msgspec.json.decode(data, type=_Section)
    except msgspec.MsgspecError:
        return None
    return part if part is not None and part.sources == _sources(part.sources, kernel, files) else None


def _sources(names: Iterable[str], kernel: _Kernel, files: SourceFiles) -> dict[str, str]:
    bytecode = kernel.all[0][0].member.bytecode
    return {name: hashlib.sha256(repr(files.read(name, bytecode)).encode()).hexdigest()[:32] for name in names}


def _render(kernel: _Kernel, facts: Mapping[str, ArtifactDetails], files: SourceFiles) -> _Section:
    texts, names = [], []
    for library in kernel.libraries:
        built, inputs, views = zip(*library, strict=True)
        view = view_kernel(built, [facts[details_name(one)] for one in inputs], files, views)
        names += view.files
        texts.append(render(KERNEL, kernel=view))
    return _Section(_sources(names, kernel, files), pack("".join(texts)))
