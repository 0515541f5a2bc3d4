"""What pyproject.toml cannot say: SCons looks for tools in its own package, so a wheel has one file there.

With it ``Environment(tools=["tileiras"])`` works in a project that imports nothing. An editable install has the same file
beside the path to the sources.
"""

from pathlib import Path
from typing import ClassVar

from setuptools import Command, setup
from setuptools.command.build import build

SOURCE = Path("tileiras_build", "build", "toolpath", "tileiras.py")
INSTALLED = Path("SCons", "Tool", "tileiras.py")


class BuildSConsTool(Command):
    """Puts the tool's file into what is installed; setuptools sets ``editable_mode``."""

    description = "add the file by which SCons finds the tool"
    user_options: ClassVar = []

    def initialize_options(self):
        self.editable_mode = False

    def finalize_options(self):
        """There is no option."""

    def get_source_files(self):
        """What a source distribution needs for it."""
        return [SOURCE.as_posix()]

    def run(self):
        """Copy the file; what an editable install builds is not installed, so it goes where the wheel is packed."""
        command, folder = ("install", "install_purelib") if self.editable_mode else ("build", "build_lib")
        target = Path(getattr(self.get_finalized_command(command), folder), INSTALLED)
        self.mkpath(str(target.parent))
        self.copy_file(str(SOURCE), str(target))


class Build(build):
    """setuptools' build, and the step above."""

    sub_commands: ClassVar = [*build.sub_commands, ("build_scons_tool", None)]


setup(cmdclass={"build": Build, "build_scons_tool": BuildSConsTool})
