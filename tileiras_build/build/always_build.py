"""An SCons action that runs at every call: its output describes the build."""

from __future__ import annotations

import SCons.Script
from SCons.Action import FunctionAction
from SCons.Errors import BuildError

from ..core.errors import TileirasError

COMMANDS, REPORT, TUNE, VERIFY = "commands", "report", "tune", "verify"  # the aliases that a run may request
NINJA = "ninja"
INSTALL, PACKAGE = "install", "package"


def is_requested(alias: str) -> bool:
    """Whether this run of SCons names ``alias`` on its command line."""
    return alias in map(str, SCons.Script.COMMAND_LINE_TARGETS)


def changes_files() -> bool:
    """Whether this run of SCons may write: not a dry run, question or help."""
    return not any(map(SCons.Script.GetOption, ("no_exec", "question", "help")))


class AlwaysBuildAction(FunctionAction):
    """Writes its target; ``alias`` is its name on the command line."""

    alias = ""

    def __init__(self):
        super().__init__(self._build, {})

    def get_presig(self, target, source, env, executor=None) -> bytes:
        """Empty, as the action always runs."""
        return b""

    def strfunction(self, target, source, env, executor=None) -> str:
        """The displayed line."""
        return f"{self.alias} {target[0].path}"

    def _build(self, target, source, env) -> BuildError | None:
        try:
            self.write(target[0].path, env)
        except TileirasError as error:
            return BuildError(target, str(error), status=error.exit_code, exitstatus=error.exit_code)
        return None

    def write(self, path: str, env) -> None:
        """Write the file at ``path``; a TileirasError fails the step."""
        raise NotImplementedError


class GraphAction(AlwaysBuildAction):
    """Describes the graph of the final artifacts ``last`` of libraries in ``file_name``."""

    file_name = ""

    def __init__(self, last: list):
        self.last = last
        super().__init__()


def add_graph_file(env, folder: str, action: type[GraphAction], last: list) -> None:
    """Make ``scons <alias>`` describe ``last``, artifact nodes; further libraries are added to the same file."""
    node = env.Dir(folder).File(action.file_name)
    if node.has_builder():
        node.builder.action.last.extend(last)
        return
    env.Alias(action.alias, env.Command(node, [], action(list(last))))
    env.AlwaysBuild(node)
