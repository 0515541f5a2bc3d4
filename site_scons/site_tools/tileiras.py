"""Lets an SConstruct say ``Environment(tools=["tileiras"])``; the tool itself is ``tileiras_build.build``."""

from tileiras_build.build import exists, generate  # noqa: F401
