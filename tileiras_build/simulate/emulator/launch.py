"""Launching a kernel: batches of CTAs, parameters, options."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...core.renamed_parameters import renamed_parameters
from . import parallel_ctas
from .errors import InvalidLaunch, name_internal_errors
from .isa.special_registers import SPECIALS
from .matmul.matmul import BLAS_ORDER, ROUNDED_ONCE, ROUNDING_MODES
from .memory import tensor_memory
from .memory.address_space import Memory
from .parallel_ctas import run_batches
from .performance_counters import Counters
from .persistent_grid import expand_persistent
from .process_count import ProcessPlan, requested_jobs
from .ptx.program import Program, load
from .sanitizers.finding_severities import FAULT, WARNING, Findings
from .sanitizers.initcheck import Initcheck
from .sanitizers.racecheck_between_ctas import CtaRacecheck, lacks_cta_ordering
from .simt.cta_batch import CtaBatch
from .simt.geometry import Geometry, check_shape
from .tensor_map import complete_parameters

BATCH_THREADS = int(os.environ.get("TILEIRAS_EMULATOR_BATCH", "32768"))  # larger batches exceed the CPU's caches
BATCH_BYTES = 1 << 30
MAX_THREADS_PER_CTA = 1024


@dataclass
class UnstartedCtas:
    """The CTAs of a launch that have not started, in cluster order: indices ``first`` to ``end``."""

    first: int
    end: int
    cluster: int

    def start(self, max_ctas: int) -> tuple[int, int]:
        """Start up to ``max_ctas``; returns (first CTA, count)."""
        first, count = self.first, min(max_ctas, self.end - self.first)
        self.first += count
        return first, count

    def cancel(self) -> int | None:
        """Cancel the last cluster; returns its first CTA, or None if all have started."""
        if self.first == self.end:
            return None
        self.end -= self.cluster
        return self.end


@dataclass(frozen=True)
class LaunchOptions:
    racecheck: bool = False
    counters: Counters | None = None
    findings: Findings = field(default_factory=Findings)
    matmul_rounding: str = ROUNDED_ONCE
    remaining: UnstartedCtas | None = None
    registers: int | None = None  # per thread at entry, as assigned by ptxas; None for PTX without a cubin
    deadline: float | None = None  # in time.monotonic()
    max_blocks: int | None = None  # maximum of basic blocks that a batch executes
    jobs: int | None = 1  # maximum of processes; None: chosen by cost
    started: Callable[[tuple[int, int, int]], None] | None = None
    cta_racecheck: CtaRacecheck | None = None
    initcheck: Initcheck | None = None

    def __post_init__(self):
        if self.matmul_rounding not in ROUNDING_MODES:
            raise ValueError(f"invalid matmul_rounding {self.matmul_rounding!r}: use {' or '.join(ROUNDING_MODES)}")
        if self.jobs is not None and self.jobs < 1:
            raise ValueError(f"invalid jobs {self.jobs}: use 1 or more")

    @property
    def has_observers(self) -> bool:
        """Whether an observer needs every access from the start."""
        return self.racecheck or any(one is not None for one in (self.counters, self.cta_racecheck, self.initcheck))

    @property
    def has_limits(self) -> bool:
        """Whether the launch has a time or block limit."""
        return self.deadline is not None or self.max_blocks is not None

    specials = SPECIALS
    codegen: tuple = ()


@renamed_parameters(sums="matmul_rounding")
def launch(
    artifacts,
    entry: str,
    grid,
    params,
    *,
    memory: Memory,
    check_races: bool | None = None,
    counters: Counters | None = None,
    findings: str | Mapping[str, str] | None = None,
    matmul_rounding: str = ROUNDED_ONCE,
    time_limit: float | None = None,
    block_limit: int | None = None,
    jobs: int | None = None,
    started: Callable[[tuple[int, int, int]], None] | None = None,
    cta_racecheck: bool = False,
    initcheck: Initcheck | None = None,
) -> None:
    """Run ``entry`` of ``artifacts.ptx`` over a grid.

    ``grid`` counts CTAs per axis, or clusters if the kernel has ``.blocksareclusters``. For a persistent kernel
    (``persistent_grid.py``) it counts tile blocks. ``params`` has one bytes object per kernel parameter, in order. Trailing
    tensor maps may be omitted; they are then encoded from the manifest (EmulatorError if a driver would reject one). So may
    the grid extents of a persistent kernel. The CTA shape is the kernel's ``.reqntid``, else
    ``artifacts.manifest["kernels"][entry]["threads_per_cta"]``. The manifest also has the size of dynamic shared memory and,
    with a cubin, the registers at entry.

    - ``check_races``: None reads ``TILEIRAS_EMULATOR_RACES``.
    - ``findings``: the action for findings (``finding_severities.py``): "fault" (the default, None), "warning" or "silent",
      for all or by name.
    - ``matmul_rounding``: the rounding of MMA accumulation (``matmul.py``).
    - ``time_limit``, ``block_limit``: the launch ends in a fault after this many seconds, or if a batch of CTAs executes more
      basic blocks.
    - ``jobs``: the maximum number of processes; CTAs that may communicate run in one process (``parallel_ctas.py``). None
      reads ``TILEIRAS_EMULATOR_JOBS``, else chooses the fastest number (``process_count.py``).
    - ``started``: called with the coordinates of each cluster in the grid of clusters, before it runs. Clusters then run one
      by one in this process.
    - ``cta_racecheck``: check for races between CTAs on global memory (``racecheck_between_ctas.py``), in one process.
    - ``initcheck``: records the first read of uninitialized memory (``initcheck.py``), in one process.

    Raises ValueError for an unknown finding or ``matmul_rounding``, and for ``jobs`` below 1.
    """
    kernel = (getattr(artifacts, "manifest", None) or {}).get("kernels", {}).get(entry, {})
    program = load(artifacts.ptx, entry, cluster_of(kernel.get("cluster")))
    with name_internal_errors(f"at the parameters of kernel {entry}"):
        grid, params, started = expand_persistent(kernel, grid, params, len(program.params), started, cta_racecheck)
        params = complete_parameters(entry, kernel, params, len(program.params))
    block = program.entry.reqntid or (kernel.get("threads_per_cta", 128), 1, 1)
    dynamic = kernel.get("shared_memory", {}).get("dynamic", 0)
    registers = kernel.get("resources", {}).get("registers")
    options = LaunchOptions(
        is_racecheck_wanted(check_races),
        counters,
        Findings(findings, FAULT),
        matmul_rounding,
        registers=registers,
        jobs=1 if cta_racecheck or initcheck is not None else requested_jobs(jobs),
        deadline=_deadline(time_limit),
        max_blocks=block_limit,
        started=started,
        cta_racecheck=CtaRacecheck() if cta_racecheck and lacks_cta_ordering(program) else None,
        initcheck=initcheck,
    )
    execute(program, grid, block, params, memory, dynamic, options)


def _deadline(time_limit: float | None) -> float | None:
    return None if time_limit is None else time.monotonic() + time_limit


def single_process_reason(artifacts, entry: str) -> str | None:
    """The reason why the CTAs of a kernel must run in one process, or None if several processes may share them."""
    kernel = (getattr(artifacts, "manifest", None) or {}).get("kernels", {}).get(entry, {})
    return parallel_ctas.single_process_reason(load(artifacts.ptx, entry, cluster_of(kernel.get("cluster"))))


@renamed_parameters(sums="matmul_rounding")
def run_ptx(
    ptx: str, entry: str, grid, block=None, params=(), *, memory: Memory | None = None, dynamic_shared: int = 0,
    check_races: bool | None = None, counters: Counters | None = None, cluster=None,
    findings: str | Mapping[str, str] | None = None, matmul_rounding: str = BLAS_ORDER, jobs: int | None = None,
    time_limit: float | None = None,
) -> None:  # fmt: skip
    """Run a kernel of PTX text. ``block`` may be None if the kernel has ``.reqntid``.

    ``cluster`` is the cluster shape of a kernel without ``.reqnctapercluster``. The other options are those of ``launch``, but
    ``findings=None`` means "warning", because other tools generated the PTX, and the default of ``matmul_rounding`` is "blas",
    which is faster.
    """
    program = load(ptx, entry, cluster_of(cluster))
    block = block or program.entry.reqntid
    if block is None:
        raise InvalidLaunch(f"kernel {entry} has no .reqntid: pass the block")
    options = LaunchOptions(
        is_racecheck_wanted(check_races),
        counters,
        Findings(findings, WARNING),
        matmul_rounding,
        jobs=requested_jobs(jobs),
        deadline=_deadline(time_limit),
    )
    execute(program, grid, block, params, memory or Memory(), dynamic_shared, options)


def is_racecheck_wanted(wanted: bool | None) -> bool:
    """Whether to check for races: as requested, else by the environment."""
    return os.environ.get("TILEIRAS_EMULATOR_RACES", "") not in ("", "0") if wanted is None else wanted


def cluster_of(shape) -> tuple | None:
    """The cluster shape of a launch, or None without clusters."""
    shape = (*((shape,) if isinstance(shape, int) else shape or ()), 1, 1, 1)[:3]
    return None if shape == (1, 1, 1) else shape


def execute(program: Program, grid, block, params, memory, dynamic, options: LaunchOptions):
    grid = (*((grid,) if isinstance(grid, int) else grid), 1, 1)[:3]
    block = (*((block,) if isinstance(block, int) else block), 1, 1)[:3]
    if program.blocks_are_clusters:
        grid = tuple(count * size for count, size in zip(grid, program.cluster))
    check_shape(program.cluster, grid)
    total = grid[0] * grid[1] * grid[2]
    block_params = parameter_block(program, params)
    program.reset_variables(memory)
    threads = block[0] * block[1] * block[2]
    if not 1 <= threads <= MAX_THREADS_PER_CTA:
        raise InvalidLaunch(
            f"kernel {program.entry.name} has {threads} threads per CTA: expected 1 to {MAX_THREADS_PER_CTA}"
        )
    size = batch_size(program, block, dynamic)
    if options.racecheck:
        size = max(min(size, 4096 // threads), 1)  # shadow arrays are large
    if program.cancels_launches:
        size = min(size, -(-total // 2))
    size = -(-size // program.cluster_size) * program.cluster_size
    if options.started is not None:
        size = program.cluster_size

    def run(first: int, count: int, options: LaunchOptions) -> None:
        if options.started is not None:
            options.started(cluster_coordinates(program, grid, first))
        with plan.add_sample(count), name_internal_errors(f"while kernel {program.entry.name} runs"):
            geometry = Geometry(tuple(grid), tuple(block), tuple(program.cluster), first, count)
            batch = CtaBatch(program, geometry, block_params, memory, dynamic, options)
            try:
                batch.run()
            finally:
                batch.prints.finish()

    plan = ProcessPlan(program, 1 if options.started is not None else options.jobs, total, threads, size, memory)
    with np.errstate(all="ignore"):
        run_all(plan, run, options)


def run_all(plan: ProcessPlan, run: Callable[[int, int, LaunchOptions], None], options: LaunchOptions) -> None:
    """Call ``run(first, count, options)`` for batches of all CTAs; chooses the number of processes for the remaining CTAs."""
    remaining = UnstartedCtas(0, plan.ctas, plan.program.cluster_size)
    options = replace(options, remaining=remaining)
    while left := remaining.end - remaining.first:
        if (jobs := plan.processes(left)) > 1:
            each = plan.batch(left, jobs)
            batches = [(first, min(each, plan.ctas - first)) for first in range(remaining.first, plan.ctas, each)]
            if run_batches(run, batches, jobs, plan.memory, options):
                return
            plan.max_processes, plan.history.is_single_process = 1, True
        run(*remaining.start(plan.size), options)


def cluster_coordinates(program: Program, grid: tuple, first: int) -> tuple[int, int, int]:
    """The coordinates, in the grid of clusters, of the cluster that starts at CTA ``first``."""
    x, y, _ = (count // size for count, size in zip(grid, program.cluster or (1, 1, 1)))
    number = first // program.cluster_size
    return number % x, number // x % y, number // (x * y)


def batch_size(program: Program, block, dynamic: int) -> int:
    """The number of CTAs per batch: enough to amortize NumPy's overhead; all that fit if CTAs may wait for each other."""
    threads = block[0] * block[1] * block[2]
    per_cta = threads * (4 * len(program.used) + program.local_size) + program.dynamic_base + dynamic
    if any(ins.op == "tcgen05" for ins in program.code):
        per_cta += tensor_memory.BYTES
    fit = max(BATCH_BYTES // max(per_cta, 1), 1)
    if program.synchronises:
        return fit
    return max(min(fit, BATCH_THREADS // threads), 1)


def parameter_block(program: Program, params) -> np.ndarray:
    """All parameters at their offsets in one aligned byte array."""
    if len(params) != len(program.params):
        raise InvalidLaunch(f"kernel {program.entry.name} has {len(program.params)} parameters, got {len(params)}")
    out = np.zeros(-(-program.param_size // 16) * 16 + 32, np.uint8)
    for variable, value in zip(program.params, params):
        if len(value) != variable.size:
            raise InvalidLaunch(f"parameter {variable.name} has {variable.size} bytes, got {len(value)}")
        out[variable.offset : variable.offset + variable.size] = np.frombuffer(value, np.uint8)
    return out
