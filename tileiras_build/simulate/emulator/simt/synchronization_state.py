"""The synchronization objects of a batch: CTA barriers, cluster barriers and mbarriers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cluster_barriers import ClusterBarriers
from .cta_barriers import CtaBarriers
from .mbarrier_waits import MbarrierWaits

if TYPE_CHECKING:
    from .cta_batch import CtaBatch


class Synchronization:
    """The barriers of one batch, and the groups waiting at them."""

    def __init__(self, batch: CtaBatch) -> None:
        parts = batch.geometry, batch.scheduler, batch.observers
        self.barriers, self.clusters, self.waits = CtaBarriers(*parts), ClusterBarriers(*parts), MbarrierWaits(batch)

    def has_waiters(self) -> bool:
        """Whether any group is waiting."""
        return bool(self.barriers.blocked or self.waits.sleepers or self.clusters.blocked)
