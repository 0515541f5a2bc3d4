"""The memories of a batch of CTAs: shared, local and tensor memory, parameters, and the address space of the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..simt.geometry import Geometry
from . import buffer_pool
from .address_space import Memory, Region

if TYPE_CHECKING:
    from ..isa.setmaxnreg import RegisterPool
    from ..isa.tcgen05_async_queue import Tcgen05AsyncQueue
    from ..ptx.program import Program
    from .load_store import Site
    from .tensor_memory import TensorMemory

POISON = 0xFF  # uninitialized shared and local bytes: a NaN in every float format
_POOL = "shared memory"


class CtaMemories:
    """Shared memory is one array over the CTAs, ``shared_size`` bytes each, of which a CTA may access ``shared_limit``."""

    def __init__(
        self, program: Program, geometry: Geometry, params: np.ndarray, address_space: Memory, dynamic_shared: int
    ) -> None:
        self.program, self.geometry, self.params, self.address_space = program, geometry, params, address_space
        self.dynamic_shared = dynamic_shared
        self.shared_limit = program.dynamic_base + dynamic_shared if program.dynamic else program.shared_static
        has_dynamic = program.dynamic or dynamic_shared
        size = program.dynamic_base + dynamic_shared if has_dynamic else program.shared_static
        self.shared_size = max(-(-size // 16) * 16, 16)
        total = self.shared_size * geometry.ctas
        self.shared = buffer_pool.acquire(_POOL, total + 64)[:total]
        self.shared.fill(POISON)
        self.local_size = -(-program.local_size // 16) * 16
        self.local = np.full(self.local_size * geometry.threads * geometry.ctas, POISON, np.uint8)
        self.region_of: dict[Site, Region] = {}  # the last region of each access site
        self.tensor_memory: TensorMemory | None = None  # created at its first use, as its queue
        self.tcgen05_queue: Tcgen05AsyncQueue | None = None
        self.register_pool: RegisterPool | None = None  # created at the first setmaxnreg
        self._shared_views: dict = {}
        self._local_views: dict = {}

    def shared_view(self, dtype) -> np.ndarray:
        """Shared memory as elements of ``dtype``."""
        found = self._shared_views.get(dtype)
        if found is None:
            found = self._shared_views[dtype] = self.shared.view(dtype)
        return found

    def local_view(self, dtype) -> np.ndarray:
        """Local memory as elements of ``dtype``."""
        found = self._local_views.get(dtype)
        if found is None:
            found = self._local_views[dtype] = self.local.view(dtype)
        return found

    def finish(self) -> None:
        """Check tensor memory after all threads have exited, and return shared memory to the pool."""
        if self.tensor_memory is not None:
            self.tensor_memory.finish()
        buffer_pool.release(_POOL, self.shared)
