"""What SCons finds for ``tools=["tileiras"]``; the tool itself is ``tileiras_build.scons_tool``."""

from tileiras_build.scons_tool.library import exists, generate  # noqa: F401
