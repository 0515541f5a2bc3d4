"""Optional observers of memory accesses: the shared-memory race check and the bank-conflict counters."""

from __future__ import annotations

import numpy as np


class Watch:
    """Called for every access of one batch. ``races`` and ``counters`` switch its two halves."""

    def __init__(self, machine, races: bool, counters):
        self.machine, self.races, self.counters = machine, races, counters

    def __call__(self, site, group, pieces, writes: bool, selection, values=None):
        pass

    def barrier(self, ctas):
        pass

    def warp_barrier(self, group):
        pass
