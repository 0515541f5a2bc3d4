"""``scons report``: builds the libraries, then writes the HTML page of their build folder."""

from __future__ import annotations

from pathlib import Path

import SCons.Script
from SCons.Action import FunctionAction
from SCons.Errors import BuildError

from ..errors import TileirasError
from ..reports.folder import page_path
from ..reports.page import write_report
from .timing import BUILD, keep_timeline

ALIAS = "report"


def is_wanted() -> bool:
    """Whether this run of SCons was asked for the report."""
    return ALIAS in map(str, SCons.Script.COMMAND_LINE_TARGETS)


class ReportAction(FunctionAction):
    """Writes the page of one build folder."""

    def __init__(self, folder: str):
        self.folder = folder
        super().__init__(self._build, {})

    def get_presig(self, target, source, env, executor=None) -> bytes:
        """Nothing: the page is written at every call."""
        return b""

    def strfunction(self, target, source, env, executor=None) -> str:
        """The line that is shown."""
        return f"{ALIAS} {target[0].path}"

    def _build(self, target, source, env) -> BuildError | None:
        build = env[BUILD]
        try:
            # The page shows the build that ends with it.
            if build.build_dirs and self.folder == build.build_dirs[0]:
                keep_timeline(build.recorder, build.progress.steps, self.folder, env.GetOption("num_jobs"))
            write_report(Path(self.folder), Path(target[0].path))
        except TileirasError as error:
            return BuildError(target, str(error), status=error.exit_code, exitstatus=error.exit_code)
        return None


def add_report(env, folder: str, last: list) -> None:
    """Let ``scons report`` write the page of ``folder`` once the artifacts ``last`` are there."""
    node = env.fs.File(str(page_path(Path(folder))))
    if node.has_builder():
        env.Depends(node, last)
        return
    env.Alias(ALIAS, env.Command(node, [], ReportAction(folder)))
    env.Depends(node, last)
    env.AlwaysBuild(node)
    # SCons would delete the page before it writes it: a page that cannot be written leaves the old one.
    env.Precious(node)
