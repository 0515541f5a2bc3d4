"""Compiles one CUDA Tile C++ file for one SM: its bytecode, and the record of all files that nvcc has read.

``nvcc -tilebc --tile-only`` runs in the project's top folder, so that its messages, and what flags name, are relative to
that. Names of files in the bytecode are made relative too: the same sources give the same bytes in every folder.

Templates are instantiated in the file, or by ``instantiate``: each entry, such as ``scale<float, 256>``, becomes a line
after the file that takes the kernel's address.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...core.file_io import read_file
from ...core.tracing.dependency_record import Dependency, DependencyRecord, ReadsChanged, TracedResult
from ...core.tracing.dependency_state import Probe, Stamp, stamp
from ...core.tracing.portable_paths import PortablePaths
from ...core.tracing.subprocess_reads import SubprocessReads
from ...core.user_tmp import scratch_folder
from ..portable_source_names import rewrite_strings
from . import depfile, nvcc_diagnostics, nvcc_toolchain
from .nvcc_flags import with_standard

SUFFIX = ".cu"
BYTECODE = ".tilebc"
_CLOCK = 10_000_000  # ns; kernels stamp files with a clock that ticks every 1 to 10 ms
_digests: dict[str, tuple[Stamp, str]] = {}  # by path: cicc has 100 MB


@dataclass(frozen=True)
class Request:
    """A compilation: the file, the SM number, and nvcc (None: the installed one).

    ``flags`` are nvcc's; ``instantiate`` are kernels, as C++ names them.
    """

    path: str
    sm: int
    nvcc: str | None = None
    flags: tuple[str, ...] = ()
    instantiate: tuple[str, ...] = ()


def run_nvcc(request: Request, root: str) -> TracedResult:
    """The BYTECODE of all kernels of a file, and the files that were read.

    Raises InvalidInput: nvcc (its own messages), nvcc-missing, nvcc-version, host-compiler. Raises ReadsChanged where a file
    that was read has changed meanwhile.
    """
    root = os.path.realpath(root)
    read_file(os.path.join(root, request.path))
    nvcc = str(nvcc_toolchain.find_nvcc(request.nvcc))
    nvcc_toolchain.check_version(nvcc)
    tools, begun = nvcc_toolchain.toolchain_files(nvcc), time.time_ns()
    with scratch_folder() as folder:
        reads = SubprocessReads()
        data, dependencies, output = _run(request, nvcc, root, str(folder), reads)
        data = _make_paths_portable(data, {str(folder): os.path.dirname(request.path)} | _names_in_folders(nvcc, root))
        reading = _ReadRecord(root, begun, str(folder))
        reading.add_files([*dependencies, *reads.files, *map(os.path.realpath, reads.programs), *tools])
        reading.add_programs(reads.programs)
        reading.add_folders(reads.absent())
    unfollowed = () if reads.is_complete else ("this system does not tell what nvcc looks for",)
    return TracedResult({BYTECODE: data}, reading.record(unfollowed), nvcc_diagnostics.warnings_of(output, root))


def _run(request: Request, nvcc: str, root: str, folder: str, reads: SubprocessReads) -> tuple[bytes, list[str], str]:
    source = _source(request, root, folder)
    base = [nvcc, "-tilebc", "--tile-only", f"-arch=sm_{request.sm}", "-lineinfo", *with_standard(request.flags)]
    bytecode_path, listed = os.path.join(folder, "made.tilebc"), os.path.join(folder, "made.d")
    with reads.tracing() as begin:
        status, output = nvcc_toolchain.run(
            [*base, "-MD", "-MF", listed, "-o", bytecode_path, source], root, folder, begin
        )
    output = _without_wrapper_lines(output, source, request)
    if status or not os.path.isfile(bytecode_path):
        raise nvcc_diagnostics.nvcc_failure(output, status, request.path, root)
    dependencies = depfile.read_dependencies(Path(listed).read_text(errors="surrogateescape"), root)
    return Path(bytecode_path).read_bytes(), dependencies, output


def _source(request: Request, root: str, folder: str) -> str:
    """The file itself, or one that includes it and names the kernels to instantiate."""
    if not request.instantiate:
        return request.path if not request.path.startswith("-") else f"./{request.path}"
    path = os.path.join(folder, os.path.basename(request.path))
    lines = [
        f"[[maybe_unused]] static auto* const tileiras_instantiate_{index} = &{kernel};"
        for index, kernel in enumerate(request.instantiate)
    ]
    Path(path).write_text("\n".join([f'#include "{os.path.join(root, request.path)}"', *lines, ""]))
    return path


def _without_wrapper_lines(output: str, source: str, request: Request) -> str:
    """nvcc's output, with messages about the lines that ``_source`` appended attributed to their kernels."""
    if not request.instantiate:
        return output
    for line, kernel in enumerate(request.instantiate, 2):
        output = re.sub(
            rf"^{re.escape(source)}\({line}\): error: ", f"{request.path}(0): error: {kernel}: ", output, flags=re.M
        )
    # nvcc found no type for the variable: no template of this name matches.
    output = output.replace('cannot deduce "auto" type', "no kernel of the file takes these template arguments")
    return output.replace(source, request.path)


def _names_in_folders(nvcc: str, root: str) -> dict[str, str]:
    """Folder -> its name in the bytecode, the first that matches: a toolkit may be installed in the project."""
    toolkits = (os.path.dirname(os.path.dirname(path)) for path in (os.path.realpath(nvcc), os.path.abspath(nvcc)))
    return {toolkit: "cuda" for toolkit in toolkits} | {root: ""}


def _make_paths_portable(data: bytes, folders: dict[str, str]) -> bytes:
    """The bytecode with names of files relative to the project or the toolkit; others stay."""

    def rename(text: bytes) -> bytes:
        path = os.fsdecode(text)
        if not os.path.isabs(path):
            return text
        path = os.path.normpath(path)
        for folder, name in folders.items():
            if path == folder or path.startswith(folder + os.sep):
                return os.fsencode(os.path.normpath(os.path.join(name, path[len(folder) + 1 :])))
        return os.fsencode(path)

    return rewrite_strings(data, rename)


# ---- record of reads
class _ReadRecord:
    """The rows of a record, each checked for changes since nvcc started; files in the folder ``own`` do not count."""

    def __init__(self, root: str, begun: int, own: str):
        self._begun, self._root, self._places = begun, root, PortablePaths(root)
        self._own = os.path.join(own, "")
        self._looking = Probe(self._places)
        self._rows: list[tuple[bool, Dependency]] = []  # whether it is a file of the project

    def add_files(self, paths: Iterable[str]) -> None:
        for path in dict.fromkeys(map(os.path.normpath, paths)):
            if path.startswith(self._own):
                continue
            found = stamp(path)
            if found is None or max(found[:2]) > self._begun - _CLOCK:
                raise ReadsChanged(f"{path} changed")
            name = self._places.name(path)
            state = self._looking.state("contents", name, _digests.get(path))
            if stamp(path) != found:
                raise ReadsChanged(f"{path} changed")
            _digests[path] = found, state
            self._rows.append((path.startswith(self._root + os.sep), Dependency("contents", name, state, found)))

    def add_folders(self, folders: dict[str, set[str]]) -> None:
        for folder, names in folders.items():
            if f"{folder}{os.sep}".startswith(self._own):
                continue
            self._check_folder(folder, names)
            name = f"{self._places.name(folder)}//{'/'.join(sorted(names))}"
            row = Dependency("among", name, self._looking.state("among", name))
            self._rows.append((f"{folder}{os.sep}".startswith(self._root + os.sep), row))

    def add_programs(self, paths: Iterable[str]) -> None:
        """The programs found by PATH: another program of the same name may precede them."""
        for path in paths:
            name = os.path.basename(path)
            if shutil.which(name) == path:
                self._rows.append((False, Dependency("program", name, self._looking.state("program", name))))

    def _check_folder(self, folder: str, names: set[str]) -> None:
        """Whether a file of one of the names was created while nvcc ran."""
        for path in (os.path.join(folder, name) for name in names):
            found = stamp(path)
            if found is not None and os.path.isfile(path) and found[1] > self._begun - _CLOCK:
                raise ReadsChanged(f"{path} appeared")

    def record(self, unfollowed: tuple[str, ...]) -> DependencyRecord:
        """The record; reads that all files of a project share form a block of their own."""
        variables = [
            Dependency("variable", name, self._looking.state("variable", name)) for name in nvcc_toolchain.VARIABLES
        ]
        return DependencyRecord.of(self._sorted(True), [*self._sorted(False), *variables], unfollowed)

    def _sorted(self, own: bool) -> Iterator[Dependency]:
        rows = (row for is_own, row in self._rows if is_own == own)
        return iter(sorted(rows, key=lambda row: (row.kind, row.name)))
