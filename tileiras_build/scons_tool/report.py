"""``scons report``: builds the libraries, then writes the HTML page of their build folder.

A build that makes no report does not wait for the imports of one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import SCons.Node

from ..errors import TileirasError
from ..reports.folder import page_path
from .actions import kernel_name
from .always import AlwaysAction
from .timing import BUILD, keep_timeline

CURRENT = (SCons.Node.executed, SCons.Node.up_to_date)


class ReportAction(AlwaysAction):
    """Writes the page of one build folder."""

    alias = "report"

    def __init__(self, folder: str):
        self.folder = folder
        super().__init__()

    def write(self, path: str, env) -> None:
        """Write the page; it shows the build that ends with it."""
        from ..reports.page import write_report

        build = env[BUILD]
        if build.build_dirs and self.folder == build.build_dirs[0]:
            keep_timeline(build.recorder, build.progress.steps, self.folder, env.GetOption("num_jobs"))
        write_report(Path(self.folder), Path(path))

    def write_rest(self, path: str, env, last: list, lost: set) -> str:
        """Write the page of the kernels that are there, and return what is missing; "" where the page is whole."""
        missing = [node for node in last if node in lost or node.get_state() not in CURRENT]
        if not missing:
            return ""
        from ..reports.page import write_report

        try:
            write_report(
                Path(self.folder), Path(path), without={(node.dir.name, kernel_name(node)) for node in missing}
            )
        except TileirasError as error:
            return str(error)
        return f"{path} is without {shown(missing)}"


def shown(nodes: Iterable) -> str:
    """Kernels that are missing, with the targets that they are missing for."""
    kernels: dict[str, list[str]] = {}
    for node in nodes:
        kernels.setdefault(kernel_name(node), []).append(node.dir.name)
    return ", ".join(f"{kernel} ({', '.join(targets)})" for kernel, targets in kernels.items())


def add_report(env, folder: str, last: list) -> None:
    """Let ``scons report`` write the page of ``folder`` once the artifacts ``last`` are there; with -k of those that are."""
    node = env.fs.File(str(page_path(Path(folder))))
    if node.has_builder():
        env.Depends(node, last)
        return
    action = ReportAction(folder)
    env.Alias(ReportAction.alias, env.Command(node, [], action))
    env.Depends(node, last)
    env[BUILD].rest.append(lambda lost: action.write_rest(node.path, env, list(node.depends), lost))
    env.AlwaysBuild(node)
    # SCons would delete the page before it writes it: a page that cannot be written leaves the old one.
    env.Precious(node)
