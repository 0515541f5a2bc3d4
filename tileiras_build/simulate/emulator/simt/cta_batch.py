"""A batch of CTAs that run together: its geometry, memories, observers, scheduler and barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..codegen.function_cache import function_cache_of
from ..memory.address_space import Memory
from ..memory.cta_memories import CtaMemories
from ..printf_line_buffer import PrintfOutput
from ..ptx.program import Program
from ..sanitizers.observers import Observers
from .geometry import Geometry
from .scheduler import Scheduler
from .synchronization_state import Synchronization
from .thread_group import ThreadGroup
from .thread_sets import thread_set_cache

if TYPE_CHECKING:
    from ..launch import LaunchOptions


class CtaBatch:
    """Creates the parts of one batch, which its groups share with it."""

    def __init__(
        self, program: Program, geometry: Geometry, params: np.ndarray, address_space: Memory, dynamic_shared: int,
        options: LaunchOptions,
    ) -> None:  # fmt: skip
        self.program, self.geometry, self.options = program, geometry, options
        self.functions = function_cache_of(program)
        self.memories = CtaMemories(program, geometry, params, address_space, dynamic_shared)
        self.observers = Observers(program, geometry, self.memories, options)
        self.scheduler = Scheduler(self.functions, geometry, self.observers, options)
        self.sync = self.scheduler.sync = Synchronization(self)
        self.prints = PrintfOutput()

    def run(self) -> None:
        """Run all CTAs to completion."""
        geometry, program = self.geometry, self.program
        family = thread_set_cache((program, geometry, self.memories.dynamic_shared))
        threads = family.of(geometry.cta_column, np.arange(geometry.threads)[None], geometry.threads)
        group = ThreadGroup(self, threads.cta, threads.tid, list(self.functions.register_template), threads=threads)
        group.pc = program.starts[program.entry.name]
        self.scheduler.run(group)
        self.memories.finish()
