"""Racecheck and the synccheck of clusters and mbarriers: checks of one batch that share the vector clocks of its threads."""

from __future__ import annotations

import numpy as np

from ..simt.geometry import Geometry
from .finding_severities import Findings
from .racecheck_shared_memory import SharedMemoryRacecheck
from .racecheck_tensor_memory import TensorMemoryRacecheck
from .synccheck_mbarrier import MbarrierSynccheck
from .synccheck_peer_running import ClusterSynccheck
from .vector_clocks import VectorClocks


class Racecheck:
    """The checks of accesses within CTAs and clusters, by what is accessed."""

    def __init__(self, geometry: Geometry, shared: np.ndarray, shared_size: int, findings: Findings) -> None:
        self.clocks = VectorClocks(geometry, shared_size)
        self.cluster = ClusterSynccheck(self.clocks, findings)
        self.mbarriers = MbarrierSynccheck(self.clocks, shared_size)
        self.tensor_memory = TensorMemoryRacecheck(self.clocks, self.cluster, findings)
        self.shared_memory = SharedMemoryRacecheck(self.clocks, shared, shared_size, findings)
