"""Groups of asynchronous copies (cp.async and cp.async.bulk) that threads have issued and not waited for.

A copy is an object with ``perform(batch)`` and ``only(member)``, which returns its part for the threads in a mask over the
batch's threads (or None). It is performed at its wait, the latest moment that the ISA allows, so that a missing wait reads
stale bytes. Bulk copies also have ``read(batch)``, which reads the source without writing, and ``source_was_read``.
"""

from __future__ import annotations


class AsyncCopyGroups:
    """Committed groups, oldest first, and uncommitted copies of the threads of one ``ThreadGroup``."""

    __slots__ = ("groups", "pending")

    def __init__(self):
        self.groups: list[list] = []
        self.pending: list = []

    def __bool__(self):
        return bool(self.groups or self.pending)

    def commit(self) -> None:
        self.groups.append(self.pending)
        self.pending = []

    def perform(self, batch, newest: int) -> None:
        """Perform all groups but the ``newest``."""
        while len(self.groups) > newest:
            for work in self.groups.pop(0):
                work.perform(batch)

    def read(self, batch, newest: int) -> None:
        """Read the sources of all groups but the ``newest``; their writes are not visible yet."""
        for copies in self.groups[: max(len(self.groups) - newest, 0)]:
            for work in copies:
                work.read(batch)

    def perform_all(self, batch) -> None:
        if self.pending:
            self.commit()
        self.perform(batch, 0)

    def only(self, member) -> AsyncCopyGroups:
        """The part that belongs to the threads in the mask ``member``."""
        out = AsyncCopyGroups()
        out.groups = [_only(copies, member) for copies in self.groups]
        out.pending = _only(self.pending, member)
        return out

    @staticmethod
    def joined(queues: list[AsyncCopyGroups]) -> AsyncCopyGroups:
        """The merged queue of several sets of threads; waits count from the newest group."""
        out = AsyncCopyGroups()
        depth = max(len(q.groups) for q in queues)
        out.pending = [work for q in queues for work in q.pending]
        out.groups = [[] for _ in range(depth)]
        for q in queues:
            for i, copies in enumerate(reversed(q.groups)):
                out.groups[depth - 1 - i] += copies
        return out


def _only(copies: list, member) -> list:
    parts = (work.only(member) for work in copies)
    return [part for part in parts if part is not None]
