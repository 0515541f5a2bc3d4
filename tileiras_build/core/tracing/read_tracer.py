"""ReadTracer: the reads of a program in this process, collected while one step runs."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice

from ..loaded_modules import LoadedModules, loaded_modules
from .classify_caller_frames import (
    PACKAGE,
    is_about_places,
    is_for_library,
    is_for_program,
    requesting_file,
    standard_callers,
    stat_kind,
)
from .created_paths import CreatedPaths
from .dependency_record import Dependency, DependencyRecord, ReadsChanged, describe, render_block
from .dependency_state import (
    ABSENT,
    FILE,
    Probe,
    Stamp,
    differs_in_ctime_only,
    is_compiled_module,
    is_installed,
    is_standard,
    stamp,
    type_of,
)
from .dependency_state import absolute as absolute_path
from .machine_facts import HOST, OF_SYSTEM, SYSTEM
from .portable_paths import PortablePaths
from .shared_flags import SharedFlags
from .step_reads import NO_READS, Contents, Key, StepReads, names_places

_OWN_VARIABLES = "TILEIRAS_"  # prefix of the variables that this package itself reads
_AT_START = ("sitecustomize", "usercustomize")
_EDITABLE = "__editable___tileiras_build"  # setuptools' finder of this package's sources
_RECENT = 50_000_000  # ns; a file that changed this recently may change again without a new time stamp
_UNKNOWN: Stamp = (0, 0, 0, 0, 0)  # in place of the stamp of such a file: equals that of no file
_RECHECK_SECONDS = 1.0  # seconds
_DEVICES = ("/dev/", "/proc/", "/sys/")
_IGNORED_DEVICES = ("/dev/null", "/dev/urandom", "/dev/random", "/proc/self/")
_PROCESS_PATHS = re.compile(r"/proc/self/(task/\d+/)?(environ$|cwd/|root/|fd/)")
# cuTile's cache of compiled launchers, queried at its import: exports do not read it.
_PLACES = frozenset(("HOME", "XDG_CACHE_HOME", "CUDA_TILE_CACHE_DIR", "CUDA_TILE_TEMP_DIR", "TMPDIR", "TEMP", "TMP"))
_BY_PATH = frozenset(("contents", "type", "stat", "link", "names", "shadows", "distributions", "startup"))
_OF_PROCESS = frozenset(("variable", "environment", "program", "machine", "path", "place"))


class ReadTracer:
    """The reads of this process while the tracer is ``active``.

    Names are absolute paths here; ``end`` makes them portable.
    """

    def __init__(self):
        self.signals = SharedFlags()
        self.active = self.is_loading = False
        self.step_reads: dict[Key, Stamp | str | None] = {}
        self._library_reads: dict[Key, Stamp | str | None] = {}
        self._library_rows: dict[Key, Dependency] = {}
        self._contents: dict[str, Contents] = {}
        self.created = CreatedPaths()
        self.changeable: set[str] = set()
        self._set: set[str] = set()
        self.untraced_actions: dict[str, None] = {}
        self._modules: LoadedModules | None = None
        self._libraries: set[str] = set()
        self._digests: dict[str, Contents] = {}
        self._written, self._checked, self._prepared = (-1, "[]"), 0.0, 0
        self._probe = _new_probe()
        self._search_path: list[str] = []
        self.depends_on_place = False

    @property
    def active(self) -> bool:
        """Whether reads are recorded now."""
        return self._active

    @active.setter
    def active(self, value: bool) -> None:
        self._active = value
        self.signals.is_silent = not value

    # ---- phases of a process

    def load(self) -> None:
        """Begin to load libraries: reads belong to them."""
        self.active = self.is_loading = True

    def loaded(self) -> None:
        """End loading libraries."""
        self._add_start()
        self._add_modules()
        self._modules = loaded_modules()
        self.active = self.is_loading = False

    def prepare(self, places: PortablePaths) -> None:
        """Compute the state of all library reads, so that a fork of this process need not.

        The rows have the loaded state, even if the files have changed since; a periodic check ends an outdated worker.
        """
        with self.untraced():
            self._block(_new_probe(), places)
            self._prepared = len(self._library_reads)
            if (now := time.monotonic()) - self._checked > _RECHECK_SECONDS:
                self.check(_new_probe())
                self._checked = now
        self.signals = SharedFlags()
        self.active = False
        self._forget()

    def begin(self) -> None:
        """Begin a step, in a prepared process."""
        self._search_path = list(sys.path)  # its own folders are recorded when they are searched
        self.active = True

    def _forget(self) -> None:
        """Drop the reads of the last step, or of loading."""
        self.step_reads, self._contents, self.untraced_actions = {}, {}, {}
        self.created, self.changeable, self._set = CreatedPaths(), set(), set()
        self._probe, self.depends_on_place = _new_probe(), False

    def end(self) -> StepReads:
        """End the step: its reads, from which ``record`` makes its record."""
        self._add_modules()
        self.active = False
        more = islice(reversed(self._library_reads.items()), len(self._library_reads) - self._prepared)
        libraries, probe = dict(more), _new_probe()
        reads = self.step_reads | libraries
        known = {key: self._read(probe, key, reads[key], libraries) for key in reads if key[0] in _OF_PROCESS}
        search_path = [os.path.abspath(folder) for folder in self._search_path]
        return StepReads(
            self.step_reads, libraries, known, self._contents, frozenset(self.changeable), search_path,
            self.depends_on_place, tuple(self.untraced_actions),
        )  # fmt: skip

    def record(self, step: StepReads, places: PortablePaths, made: Iterable[bytes]) -> DependencyRecord:
        """The record of a step in a fork of this process, which has ``made`` these files.

        Raises ReadsChanged if a read has changed since.
        """
        self._contents, probe = step.contents, _new_probe()
        changed = [key for key, found in step.reads.items() if key[1] in step.changeable and _is_changed(key, found)]
        reads = [
            step.known.get(key) or self._read(probe, key, step.reads[key])
            for key in sorted(step.reads.keys() - changed)
        ]
        search_path = Dependency("path", "", Probe(places).search_path(step.search_path))
        portable = [*(_renamed(read, places) for read in reads if not _is_above(read, places)), search_path]
        if step.depends_on_place or names_places(made, places):
            portable.append(Dependency("place", "", Probe(places).state("place", "")))
        modified = (f"it modifies {name}, which it also reads" for _, name in changed)
        untraced = dict.fromkeys((*step.untraced_actions, *modified))
        return DependencyRecord(tuple(portable), self._block_with(step, probe, places), tuple(untraced))

    def _block_with(self, step: StepReads, probe: Probe, places: PortablePaths) -> str:
        """The libraries' rows, including those of libraries that the step has loaded."""
        block = self._block(probe, places)
        if not step.libraries:
            return block
        more = {
            key: step.known.get(key) or self._read(probe, key, found, step.libraries)
            for key, found in step.libraries.items()
        }
        rows = self._library_rows | more
        return render_block(_renamed(rows[key], places) for key in sorted(rows))

    def _block(self, probe: Probe, places: PortablePaths) -> str:
        """The libraries' rows, serialized again only if there are more."""
        if self._written[0] != len(self._library_reads):
            self._checked = time.monotonic()
            for key in self._library_reads.keys() - self._library_rows.keys():
                self._library_rows[key] = self._read(probe, key, self._library_reads[key])
            reads = [self._library_rows[key] for key in sorted(self._library_reads)]
            self._written = len(reads), render_block(_renamed(read, places) for read in reads)
        return self._written[1]

    def check(self, probe: Probe) -> None:
        """Raise ReadsChanged if a read of loaded libraries has changed since."""
        for key, found in self._library_reads.items():
            kind, name = key
            if kind == "contents" and stamp(name) != found:
                self._library_reads[key] = self._read(probe, key, found).stamp
            elif kind not in ("contents", "variable", "machine") and probe.state(kind, name) != found:
                raise ReadsChanged(describe(Dependency(kind, name, "")))

    def variables(self) -> frozenset[str]:
        """The environment variables that libraries read while they were loaded."""
        return frozenset(name for kind, name in self._library_reads if kind == "variable")

    def stop(self) -> None:
        """End a failed step."""
        self.active = False

    @contextmanager
    def untraced(self) -> Iterator[None]:
        """Ignore reads in this block."""
        active, self.active = self.active, False
        try:
            yield
        finally:
            self.active = active

    # ---- reports of the hooks and this package

    def file(self, path: str, kind: str = "contents") -> None:
        """The program reads ``path``."""
        if not self.active:
            return
        name = self._resolve_own_links(self.absolute(path))
        if name.startswith(_DEVICES):
            if not name.startswith(_IGNORED_DEVICES) or _PROCESS_PATHS.match(name):
                self.untraced_actions[f"it reads {name}"] = None
        elif not self.is_own(name):
            self.note(kind, name)

    def search(self, module: str, folder: str) -> bool:
        """Record the search of a module in a folder; return whether it has an entry of that name."""
        if not self.active or self.is_own(folder):
            return True
        if os.path.splitext(folder)[1] and self._is_file(folder):
            self.file(folder)  # an archive
        path = os.path.abspath(folder)
        found = self.note("candidates", f"{path}//{module}")
        # A folder alone is a part of a namespace package, whose other parts may be anywhere.
        return bool(found) and (found != module or self._has_first_file(os.path.join(path, module)))

    def precede(self, folder: str) -> None:
        """Record that modules of ``folder`` precede installed ones and Python's own."""
        if not self.active or self.is_own(folder):
            return
        self.note("shadows", os.path.abspath(folder))
        for module in self._libraries:
            self.search(module, folder)

    def link(self, path: str) -> None:
        """The program queries ``path`` without following links."""
        self.file(path, "link")

    def stat(self, path: str) -> None:
        """The program queries the stat of ``path``; the caller determines which fields matter."""
        if self.active:
            self.file(path, stat_kind())

    def variable(self, name: str) -> None:
        """The program reads an environment variable."""
        if not self.active or name in self._set or name in _PLACES and is_about_places(self.is_loading):
            return
        if not name.startswith(_OWN_VARIABLES) and requesting_file().startswith(PACKAGE):
            return  # it passes all of them to ptxas
        self.note("variable", name)

    def assigned(self, name: str) -> None:
        """The program sets an environment variable."""
        self._set.add(name)

    def machine(self, fact: str) -> None:
        """The program queries a fact about the machine."""
        if self.active and not self.is_loading and is_for_program():
            callers = {frame.f_code.co_name for frame in standard_callers()}
            self.note("machine", SYSTEM if fact == HOST and callers & OF_SYSTEM else fact)

    def working_folder(self) -> None:
        """The program queries its working folder."""
        if self.active and not self.depends_on_place and not self.is_loading and is_for_program():
            self.depends_on_place = True

    def all_variables(self) -> None:
        """The program reads all environment variables."""
        if self.active and not requesting_file().startswith(PACKAGE):
            self.note("environment", "")

    # ---- representation
    def absolute(self, path: str) -> str:
        """The path without dots; a link before two dots is resolved first."""
        if os.pardir not in path:
            return os.path.abspath(path)
        links: list[str] = []
        with self.untraced():
            name = absolute_path(path, links=links)
        for link in links:
            self.link(link)
        return name

    def _is_file(self, name: str) -> bool:
        with self.untraced():
            return type_of(name) == FILE

    def _has_first_file(self, folder: str) -> bool:
        """Whether a package is a folder with an ``__init__``, which is searched in every folder of its name."""
        return bool(self.note("candidates", f"{folder}//__init__"))

    def exists(self, name: str) -> bool:
        with self.untraced():
            return type_of(name, follows=False) != ABSENT

    def note(self, kind: str, name: str) -> Stamp | str | None:
        key = (kind, name)
        if key in self._library_reads:
            return self._library_reads[key]
        rows = self._library_reads if self.is_loading or is_for_library(name) else self.step_reads
        if key in self.step_reads:
            found = rows[key] = self.step_reads.pop(key)
            return found
        with self.untraced():
            rows[key] = found = self._stamp(name) if kind == "contents" else self._probe.state(kind, name)
        return found

    def _stamp(self, name: str) -> Stamp | None:
        found = stamp(name)
        if found:
            is_recent = time.time_ns() - found[1] < _RECENT
            state = _new_probe().state("contents", name, None if is_recent else self._digests.get(name))
            self._contents[name] = _UNKNOWN if is_recent else found, state
        return found

    def is_own(self, name: str) -> bool:
        """Whether a path belongs to Python, to this package, or was created by the program."""
        if is_compiled_module(name) or f"{name}{os.sep}".startswith(PACKAGE + os.sep) or _EDITABLE in name:
            return True
        return is_standard(name) or name in self.created

    def _resolve_own_links(self, name: str) -> str:
        """The target of a link that the program has created."""
        if not self.created or name not in self.created:
            return name
        with self.untraced():
            return os.path.realpath(name)

    def _add_start(self) -> None:
        """Record what Python executes at startup: the modules of a site or a user."""
        for name in _AT_START:
            note_search(self, name, None)
            if isinstance(file := getattr(sys.modules.get(name), "__file__", None), str):
                self.note("contents", os.path.abspath(file))
        for folder in filter(is_installed, map(os.path.abspath, sys.path)):
            self.note("startup", folder)

    def _add_modules(self) -> None:
        """Record the files of all loaded libraries, and the searched folders of each library."""
        loading, self.is_loading = self.is_loading, True
        for name in self._modules.added() if self._modules else list(sys.modules):
            module = sys.modules.get(name)
            if (file := _installed_file(module)) is not None:
                self._libraries.add(name.partition(".")[0])
                self.file(file)
            if "." not in name and name not in sys.stdlib_module_names and getattr(module, "__spec__", None):
                note_search(self, name, None)
        self.is_loading = loading

    def _read(
        self, probe: Probe, key: Key, found: Stamp | str | None, libraries: Mapping[Key, object] = NO_READS
    ) -> Dependency:
        kind, name = key
        if kind == "machine":
            return Dependency(kind, name, str(found))  # the program may modify its process's copy
        if kind == "contents" and not isinstance(found, str):
            return self._read_contents(probe, name, found)
        state = probe.state(kind, name)
        if kind == "variable" and (name in self._set or key in libraries or key in self._library_reads):
            return Dependency(kind, name, str(found))
        if state != found:
            raise ReadsChanged(describe(Dependency(kind, name, state)))
        return Dependency(kind, name, state)

    def _read_contents(self, probe: Probe, name: str, found: Stamp | None) -> Dependency:
        noted = self._contents.get(name) or self._digests.get(name)
        state = probe.state("contents", name, noted)
        now = probe.stamps[name]
        is_other = noted is not None and found is not None and noted[1] != state
        if is_other or now != found and (noted is None or not differs_in_ctime_only(found, now)):
            raise ReadsChanged(describe(Dependency("contents", name, state)))
        if now:
            self._digests[name] = now, state
        return Dependency("contents", name, state, now)


def _new_probe() -> Probe:
    """A probe of absolute paths."""
    return Probe(PortablePaths("/", "/"))


def _is_changed(key: Key, found: Stamp | str | None) -> bool:
    return key[0] == "contents" and stamp(key[1]) != found


def _renamed(read: Dependency, places: PortablePaths) -> Dependency:
    if read.kind in _BY_PATH:
        return Dependency(read.kind, places.name(read.name), read.state, read.stamp)
    if read.kind == "candidates":
        folder, _, module = read.name.rpartition("//")
        return Dependency(read.kind, f"{places.name(folder)}//{module}", read.state)
    return read


def _is_above(read: Dependency, places: PortablePaths) -> bool:
    """Whether the read is of an ancestor of the project or of Python, on whose location no result depends."""
    return read.kind == "link" and places.any_below(read.name)


def _installed_file(module: object) -> str | None:
    """The file of a library's module; None for any other."""
    origin = getattr(module, "__file__", None)
    is_library = isinstance(origin, str) and is_installed(origin) and not origin.startswith(PACKAGE)
    return origin if is_library else None


def note_search(tracer: ReadTracer, module: str, path) -> None:
    """Record each folder up to the one with ``module``; Python's own modules can only be shadowed."""
    is_standard_module = path is None and module in sys.stdlib_module_names
    for folder in sys.path if path is None else path:
        if not isinstance(folder, str):
            continue
        if is_standard(os.path.abspath(folder)):
            if is_standard_module:
                return
        elif is_standard_module:
            tracer.note("shadows", os.path.abspath(folder))
        elif path is not None and is_installed(folder) and _has(tracer, folder, module):
            return  # a library's own submodules: the loaded files count
        elif tracer.search(module, folder):
            return


def _has(tracer: ReadTracer, folder: str, module: str) -> bool:
    with tracer.untraced():
        return bool(tracer._probe.state("candidates", f"{folder}//{module}"))
