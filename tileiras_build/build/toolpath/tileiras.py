"""What SCons finds for ``tools=["tileiras"]``; the tool itself is ``tileiras_build.build``."""

from tileiras_build.build.scons_entry import exists, generate  # noqa: F401
