"""Lets an SConstruct say ``Environment(tools=["tileiras"])``; the tool itself is ``tileiras_build.scons_tool``."""

from tileiras_build.scons_tool import exists, generate  # noqa: F401
