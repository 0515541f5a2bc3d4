"""``scons report``: builds the libraries, then writes the HTML page of their build folder."""

from __future__ import annotations

from pathlib import Path

from ..reports.folder import page_path
from ..reports.page import write_report
from .always import AlwaysAction
from .timing import BUILD, keep_timeline


class ReportAction(AlwaysAction):
    """Writes the page of one build folder."""

    alias = "report"

    def __init__(self, folder: str):
        self.folder = folder
        super().__init__()

    def write(self, path: str, env) -> None:
        """Write the page; it shows the build that ends with it."""
        build = env[BUILD]
        if build.build_dirs and self.folder == build.build_dirs[0]:
            keep_timeline(build.recorder, build.progress.steps, self.folder, env.GetOption("num_jobs"))
        write_report(Path(self.folder), Path(path))


def add_report(env, folder: str, last: list) -> None:
    """Let ``scons report`` write the page of ``folder`` once the artifacts ``last`` are there."""
    node = env.fs.File(str(page_path(Path(folder))))
    if node.has_builder():
        env.Depends(node, last)
        return
    env.Alias(ReportAction.alias, env.Command(node, [], ReportAction(folder)))
    env.Depends(node, last)
    env.AlwaysBuild(node)
    # SCons would delete the page before it writes it: a page that cannot be written leaves the old one.
    env.Precious(node)
