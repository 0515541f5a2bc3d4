"""``scons report``: builds the libraries, then writes the HTML page of all of them into the first one's build folder.

Modules for reports are imported on use, so other builds do not wait for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import SCons.Node

from ..config.build_options import DEFAULTS, yes_no
from ..core.errors import TileirasError
from ..pipeline.tuning_parameters import BY_NAME
from ..reports.report_paths import page_path
from ..target.targets import find_target
from .always_build import REPORT, AlwaysBuildAction
from .scons_variables import option_text
from .stage_actions import kernel_name, step_timeout
from .step_timeline import BUILD, store_timeline

if TYPE_CHECKING:
    from ..tuning.case_launches import Launches

JOB_OPTIONS = ("opt", "lineinfo", "debug", "strategy", "serializer", *BY_NAME)
CURRENT = (SCons.Node.executed, SCons.Node.up_to_date)
PYTHON, _BYTECODE = ".py", ".tilebc"
LAUNCHES = "tileiras_build.tuning.case_launches:launches_of_file"


@dataclass
class ReportLibrary:
    """One library: its name, its build folder and the last artifacts of its kernels."""

    name: str
    folder: str
    last: list = field(default_factory=list)

    @property
    def bytecode(self) -> dict[str, str]:
        """The path of each kernel's bytecode by "GPU/name"."""
        return {f"{node.dir.name}/{kernel_name(node)}": _bytecode_of(node).path for node in self.last}


class ReportAction(AlwaysBuildAction):
    """Writes the page of the libraries ``parts``."""

    alias = REPORT

    def __init__(self, folder: str):
        self.folder = folder
        self.libraries: list[ReportLibrary] = []
        super().__init__()

    def write(self, path: str, env) -> None:
        """Write the page, which includes the build that ends with it."""
        build = env[BUILD]
        store_timeline(build.recorder, build.progress.steps, self.folder, jobs := env.GetOption("num_jobs"))
        self._write(path, env, jobs=jobs)
        build.progress.add_line(f"report: {Path(path).resolve().as_uri()}")

    def write_partial(self, path: str, env, lost: set) -> str:
        """Write the page of the available kernels, and return what is missing; "" if nothing is."""
        last = [node for part in self.libraries for node in part.last]
        missing = [node for node in last if node in lost or node.get_state() not in CURRENT]
        if not missing:
            return ""
        try:
            self._write(path, env, {Path(node.path) for node in missing})
        except TileirasError as error:
            return str(error)
        return f"{path} is missing {describe_missing(missing)}"

    def _write(self, path: str, env, without: Collection[Path] = (), jobs: int = 1) -> None:
        from ..reports.collect_rows import EstimateProblems
        from ..reports.html_report import ReportForm, write_report
        from ..reports.project_manifest import Library, write_project

        libraries = [Library(part.name, part.folder, part.bytecode) for part in self.libraries]
        write_project(Path(self.folder), libraries)
        form = ReportForm(yes_no("pages", env["pages"]), str(env["report_label"]) or None, jobs, _options(env))
        estimated = yes_no("estimate", env["estimate"])
        cases = self._launches(env, jobs) if estimated and not without else {}
        problems = EstimateProblems(None, estimated, cases)
        write_report(Path(self.folder), Path(path), without, problems=problems, form=form)

    def _launches(self, env, jobs: int) -> Launches:
        """The launches that the Python files name; those of a file that fails are left out: ``scons verify`` reports that."""
        targets: dict[str, set[str]] = {}
        for node in (node for part in self.libraries for node in part.last):
            if (file := _python_file(node)) is not None:
                targets.setdefault(file, set()).add(find_target(node.dir.name).generation)
        executor, limit = env[BUILD].executor(env), step_timeout(env)

        def read(file: str) -> Launches:
            try:
                return executor.run(LAUNCHES, file, sorted(targets[file]), timeout=limit)
            except TileirasError:
                return {}

        with ThreadPoolExecutor(jobs) as pool:
            return {key: launch for found in pool.map(read, targets) for key, launch in found.items()}


def _python_file(node) -> str | None:
    """The Python file that exports the kernel of an artifact."""
    bytecode = _bytecode_of(node)
    file = bytecode.sources[0].path if bytecode.has_builder() else ""
    return file if file.endswith(PYTHON) else None


def _options(env) -> tuple[str, ...]:
    """The options that determine the code, as the command line would set them, without defaults."""
    given = {name: option_text(name, env.get(name, DEFAULTS[name])) for name in JOB_OPTIONS}
    return tuple(f"{name}={text}" for name, text in given.items() if text != DEFAULTS[name])


def _bytecode_of(node):
    """The bytecode of an artifact."""
    while not node.name.endswith(_BYTECODE) and node.has_builder():
        node = node.sources[0]
    return node


def describe_missing(nodes: Iterable) -> str:
    """The missing kernels, with the targets that they are missing for."""
    kernels: dict[str, list[str]] = {}
    for node in nodes:
        kernels.setdefault(kernel_name(node), []).append(node.dir.name)
    return ", ".join(f"{kernel} ({', '.join(targets)})" for kernel, targets in kernels.items())


def add_report(env, name: str, folder: str, last: list) -> None:
    """Make ``scons report`` write the page when the artifacts ``last`` of a library exist; with -k, of those that exist."""
    build = env[BUILD]
    node = env.fs.File(f"#{page_path(Path(build.build_dirs[0]))}")
    if not node.has_builder():
        _add_page(env, node, build.build_dirs[0])
    node.builder.action.libraries.append(ReportLibrary(name, folder, list(last)))
    env.Depends(node, last)


def _add_page(env, node, folder: str) -> None:
    action = ReportAction(folder)
    env.Alias(ReportAction.alias, env.Command(node, [], action))
    env[BUILD].rest.append(lambda lost: action.write_partial(node.path, env, lost))
    env.AlwaysBuild(node)
    # SCons would delete the page before it writes it: if the write fails, the old page stays.
    env.Precious(node)
