"""Waits for saves, builds, and shows the changes. Ends with Ctrl-C.

SCons reports what it builds and what kernels read (``report_files_to_watcher.py``). A save of any file of the project starts a
build, which is incremental if only files of some kernels have changed; so does a save of any other file that kernels read
(helpers, headers, data in hidden folders).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ...core.errors import InvalidInput, Location
from ...core.terminal import coloured, first_location, is_terminal, print_table
from ...core.user_tmp import scratch_folder
from ...reports.build_diff import KernelMetrics, Key, changes, header, summary
from ...simulate.estimate.estimate_kernel import Problem
from .kernel_metrics import MetricsReader
from .report_files_to_watcher import VARIABLE, WatchMessage, receive

DEBOUNCE = 300  # ms: an editor's save is several changes
_RETRY_SECONDS = 5  # seconds for SCons to end after Ctrl-C
MAX_ROWS = 40  # rows of the first table
_CLEAR = "\x1b[2J\x1b[H"


def watch_project(options: argparse.Namespace) -> int:
    """``watch [WORD ...]``: build now and on every save. Raises InvalidInput[watch-project] without an SConstruct."""
    root = Path(options.directory).resolve()
    if not (root / "SConstruct").is_file():
        remedy = "use -C FOLDER, or create a project with tileiras-build init"
        raise InvalidInput(
            "watch-project", "no SConstruct here", location=Location(str(options.directory)), remedy=remedy
        )
    problem = Problem.read(options.settings, options.grid) if options.grid else None
    try:
        WatchSession(root, options.words_of_scons, problem).run()
    except KeyboardInterrupt:
        print("\nstopped")
    return 0


class WatchSession:
    """One run of the command: ``words`` are further arguments of SCons."""

    def __init__(self, root: Path, words: list[str], problem: Problem | None):
        self.root, self.words, self.with_estimate = root, words, problem is not None
        self.folder = root / build_folder(root, words)
        self.measures = MetricsReader(self.folder, problem)
        self.good: dict[Key, KernelMetrics] | None = None
        self.message = WatchMessage(folders=frozenset({str(self.folder)}))

    def run(self) -> None:
        """Build, and build again at every change, until Ctrl-C."""
        with scratch_folder() as folder:
            os.environ[VARIABLE] = str(folder / "message")
            read: set[Path] = set()
            changed: set[str] = set()
            while True:
                places = self._outside(read)
                for paths in self._saves(read):
                    changed |= paths
                    self.build(changed)
                    changed.clear()
                    read.clear()
                    read |= self.read_files()
                    if self._outside(read) != places:
                        break

    def _outside(self, read: set[Path]) -> set[Path]:
        """The watched files outside of the project's folder."""
        return {path for path in read if path.exists() and not path.is_relative_to(self.root)}

    def _saves(self, read: set[Path]) -> Iterator[set[str]]:
        """Sets of paths that were saved; an empty one first, when the watch has started."""
        from watchfiles import watch

        first = True
        places, filtered = (self.root, *self._outside(read)), self.is_relevant(read)
        for found in watch(*places, watch_filter=filtered, debounce=DEBOUNCE, rust_timeout=1, yield_on_timeout=True):
            if found or first:
                first = False
                yield {path for _, path in found}
            else:
                time.sleep(DEBOUNCE / 1000)

    def is_relevant(self, read: set[Path]):
        """A filter of relevant changes: files that the last build ``read``, anywhere; other files of the project, except for outputs
        of the build, and for files of editors and version control.
        """
        from watchfiles import DefaultFilter

        ordinary = DefaultFilter()

        def concerns(change, path: str) -> bool:
            found = Path(path)
            if found in read:
                return True
            made = (folder for folder in self.message.folders if not self.root.is_relative_to(folder))
            if not found.is_relative_to(self.root) or any(map(found.is_relative_to, made)):
                return False
            # Only the path within the project counts.
            inside = found.relative_to(self.root)
            return not any(part.startswith(".") for part in inside.parts) and ordinary(change, str(inside))

        return concerns

    def read_files(self) -> set[Path]:
        """The files that the last build read and did not make, except for installed ones."""
        from ...core.code_digest import PACKAGE
        from ...core.tracing.dependency_state import is_installed, is_standard

        own = tuple(f"{folder}{os.sep}" for folder in (PACKAGE, *self.message.folders))
        named = (
            path for path in self.message.files if not (path.startswith(own) or is_installed(path) or is_standard(path))
        )
        return {Path(path) for path in named if Path(path).is_file()}

    def build(self, changed: set[str]) -> None:
        """Build once, and show the result; the next build is compared with the last successful one."""
        if is_terminal(sys.stdout):
            sys.stdout.write(_CLEAR)
        # Editors write temporary files, too.
        names = ", ".join(sorted(self._shown(path) for path in changed if Path(path).exists())) or "everything"
        print(f"{time.strftime('%H:%M:%S')}  {names}", flush=True)
        start = time.monotonic()
        code, output = run_scons(self.root, self.words)
        self._receive_message()
        seconds = time.monotonic() - start
        if code:
            self._show_failure(output)
        else:
            self._show_changes(self.measures.read(), seconds)
        print("watching for changes; Ctrl-C to quit", flush=True)

    def _receive_message(self) -> None:
        """Read the message of the build; keep the last one if its scripts were not read to their end."""
        if (message := receive(Path(os.environ.get(VARIABLE, "")))) is not None:
            self.message = message
            self.measures.cubins = [Path(path) for path in message.cubins if Path(path).exists()]

    def _shown(self, path: str) -> str:
        return str(Path(path).relative_to(self.root)) if Path(path).is_relative_to(self.root) else path

    def _show_changes(self, now: dict[Key, KernelMetrics], seconds: float) -> None:
        before, self.good = self.good, now
        rows = changes(before or {}, now, self.with_estimate)
        print()
        if rows and len(rows) <= MAX_ROWS:
            print_table(header(self.with_estimate), rows)
            print()
        what = f"{len(now)} kernels" if before is None else summary(before, now, self.with_estimate)
        print(f"build succeeded in {seconds:.1f} s: {what}")

    def _show_failure(self, text: str) -> None:
        print(coloured(f"\n{text.rstrip()}", sys.stdout))
        if line := self._line_of(first_location(text)):
            print(f"\n{line}")
        kept = "" if self.good is None else " (the next build is compared with the last successful one)"
        print(f"\nbuild failed: fix it and save{kept}")

    def _line_of(self, place: str | None) -> str | None:
        """The line of a diagnostic, like in an editor."""
        if place is None:
            return None
        path, _, number = place.rpartition(":")
        try:
            lines = (self.root / path).read_text().splitlines()
            return f"{number:>6} | {lines[int(number) - 1]}"
        except (OSError, ValueError, IndexError):
            return None


def run_scons(root: Path, words: list[str]) -> tuple[int, str]:
    """The exit code of a build, and its output if it fails."""
    command = [sys.executable, "-P", "-m", "SCons", "-Q", "-k", *words]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as scons:
        try:
            out, errors = scons.communicate()
        except KeyboardInterrupt:
            # The terminal has sent SCons the signal, too; it ends its steps and writes its records.
            scons.communicate(timeout=_RETRY_SECONDS)
            raise
    return scons.returncode, errors or out


def build_folder(root: Path, words: list[str]) -> str:
    """The value of build_dir=: of the command line, of pyproject.toml, or the default."""
    from ...config.build_options import CHECKS, DEFAULTS
    from ...config.pyproject_table import read_table

    asked = [word.partition("=")[2] for word in words if word.startswith("build_dir=")]
    return asked[-1] if asked else (DEFAULTS | read_table(str(root), CHECKS))["build_dir"]
