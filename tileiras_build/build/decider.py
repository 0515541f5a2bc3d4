"""Decides whether a dependency has changed, without reading files that cannot have changed.

SCons' own ``content-timestamp`` compares whole seconds: a stage that is rebuilt within the second of its last build
would count as unchanged, and an outdated cubin would remain. Here sources are compared by their contents, and so are
artifacts, unless size and time of change are those of the record (``artifact_node.py``).
"""

from __future__ import annotations

from .artifact_node import ArtifactFile, matches


def has_changed(dependency, target, previous, repository_node=None) -> bool:
    """SCons' decider: whether ``dependency`` differs from ``previous``, its record when ``target`` was built."""
    if isinstance(dependency, ArtifactFile) and hasattr(previous, "csig") and matches(previous, dependency.stat()):
        # SCons also records the state of each dependency in runs that build nothing.
        dependency.get_ninfo().csig = previous.csig
        return False
    return dependency.changed_content(target, previous)
