"""Asynchronous work of a thread in groups: what cp.async and cp.async.bulk have issued and nobody has waited for.

A piece of work is an object with ``perform(batch)``, which does it, and ``only(member)``, the part that belongs to the
threads where the mask over the batch's threads holds (or None). It is done at the wait, the latest moment that the
ISA allows, so that a missing wait reads stale bytes. Bulk copies also have ``read(batch)``, which takes what they
copy but writes nothing yet, and ``source_was_read``.
"""

from __future__ import annotations


class AsyncCopyGroups:
    """Committed groups, oldest first, and what is not committed yet, of the threads of one ``Group``."""

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
        """Do the work of all groups but the ``newest``."""
        while len(self.groups) > newest:
            for work in self.groups.pop(0):
                work.perform(batch)

    def read(self, batch, newest: int) -> None:
        """Let all groups but the ``newest`` read their sources; what they write is not seen yet."""
        for copies in self.groups[: max(len(self.groups) - newest, 0)]:
            for work in copies:
                work.read(batch)

    def perform_all(self, batch) -> None:
        if self.pending:
            self.commit()
        self.perform(batch, 0)

    def only(self, member) -> AsyncCopyGroups:
        """The part of the threads where ``member`` holds."""
        out = AsyncCopyGroups()
        out.groups = [_only(copies, member) for copies in self.groups]
        out.pending = _only(self.pending, member)
        return out

    @staticmethod
    def joined(queues: list[AsyncCopyGroups]) -> AsyncCopyGroups:
        """The queue of several sets of threads as one; waits count from the newest group."""
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
