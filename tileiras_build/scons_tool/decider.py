"""Decides whether a dependency has changed, without reading what cannot have changed.

SCons' own ``content-timestamp`` compares whole seconds: a stage that is rebuilt within the second of its last build
would count as unchanged, and an outdated cubin would stay. Here the contents are compared unless the dependency is
one of the build's own artifacts, was not made in this run, and is older than the target, by the file system's clock.
"""

from __future__ import annotations

import SCons.Node


def has_changed(dependency, target, previous, repository_node=None) -> bool:
    """SCons' decider: whether ``dependency`` differs from ``previous``, its record when ``target`` was built."""
    if dependency.has_builder() and _is_settled(dependency, target, previous):
        # SCons records what it has found of each dependency, in runs that build nothing too.
        dependency.get_ninfo().csig = previous.csig
        return False
    return dependency.changed_content(target, previous)


def _is_settled(dependency, target, previous) -> bool:
    if dependency.get_state() == SCons.Node.executed or not hasattr(previous, "csig"):
        return False
    recorded = getattr(previous, "timestamp", None), getattr(previous, "size", None)
    found, made = _stat(dependency), _stat(target)
    if found is None or made is None:
        return False
    return recorded == (int(found.st_mtime), found.st_size) and found.st_mtime_ns < made.st_mtime_ns


def _stat(node):
    """The node's file, as SCons has memorized it; None for nodes that are not files or do not exist."""
    stat = getattr(node, "stat", None)
    return stat() if stat else None
