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
from .matmul import gemm_jit
from .matmul.matmul import BLAS_ORDER, ROUNDED_ONCE, ROUNDING_MODES
from .memory import tensor_memory
from .memory.address_space import Memory
from .parallel_ctas import run_batches
from .performance_counters import Counters
from .persistent_grid import expand_persistent
from .process_count import ProcessPlan, requested_jobs
from .ptx.program import Program, load
from .sanitizers.initcheck import Initcheck
from .sanitizers.racecheck_between_ctas import CtaRacecheck, lacks_cta_ordering
from .sanitizers.unspecified_behavior import FAULT, WARNING, Findings
from .simt.cta_batch import CtaBatch
from .simt.geometry import Geometry, check_shape
from .tensor_map import complete_parameters

BATCH_THREADS = int(os.environ.get("TILEIRAS_EMULATOR_BATCH", "32768"))  # larger batches leave the caches
BATCH_BYTES = 1 << 30
MAX_THREADS_PER_CTA = 1024  # of a CTA


@dataclass
class UnstartedCtas:
    """The CTAs of a launch that have not started, cluster by cluster: from number ``first`` to ``end``."""

    first: int
    end: int
    cluster: int

    def start(self, max_ctas: int) -> tuple[int, int]:
        """(the first of the CTAs that start now, how many)."""
        first, count = self.first, min(max_ctas, self.end - self.first)
        self.first += count
        return first, count

    def cancel(self) -> int | None:
        """The first CTA of a cluster that now will not start, the last one; None where all have started."""
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
    registers: int | None = None  # per thread at entry, as ptxas assigned them; None where there is only PTX
    deadline: float | None = None  # of time.monotonic()
    max_blocks: int | None = None  # of instructions that the CTAs of a batch may run
    jobs: int | None = 1  # processes at most; None: as many as pay
    started: Callable[[tuple[int, int, int]], None] | None = None
    cta_racecheck: CtaRacecheck | None = None
    initcheck: Initcheck | None = None

    def __post_init__(self):
        if self.matmul_rounding not in ROUNDING_MODES:
            raise ValueError(f"matmul_rounding cannot be {self.matmul_rounding!r}: use {' or '.join(ROUNDING_MODES)}")
        if self.jobs is not None and self.jobs < 1:
            raise ValueError(f"jobs cannot be {self.jobs}: use 1 or more")

    @property
    def has_observers(self) -> bool:
        """Whether somebody looks at every access from the start."""
        return self.racecheck or any(one is not None for one in (self.counters, self.cta_racecheck, self.initcheck))

    @property
    def has_limits(self) -> bool:
        """Whether the launch may not take as long as it likes."""
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

    ``grid`` counts CTAs per axis, or clusters where the kernel says ``.blocksareclusters``; ``params`` holds one bytes object per kernel parameter, in order; trailing tensor
    maps may be left out: they are encoded from the manifest (EmulatorError where a driver would refuse), and so may the grid's
    extents of a persistent kernel (``persistent_grid.py``), whose ``grid`` counts tile programs. The CTA's
    shape is the kernel's ``.reqntid``, else ``artifacts.manifest["kernels"][entry]["threads_per_cta"]``; dynamic
    shared memory and, of a cubin, the registers at entry come from the manifest too. ``check_races=None`` asks ``TILEIRAS_EMULATOR_RACES``. ``findings`` says
    how those of ``unspecified_behavior.py`` are treated: "fault" (what None means: the code is ours), "warning" or "silent", for all or
    by name. ``matmul_rounding`` says how matrix products are accumulated (``matmul.py``). After ``time_limit`` seconds the launch ends
    in a fault, and where the CTAs that run together have run more than ``block_limit`` blocks of instructions. ``jobs``: at most so many processes run CTAs, one where those may see each other (``parallel_ctas.py``); None asks
    ``TILEIRAS_EMULATOR_JOBS`` and, unless it is set, takes as many as pay (``process_count.py``). With ``started`` clusters run one after
    the other, in this process, and it is called before each with its place in the grid of clusters: what the kernel then changes
    is that cluster's doing. ``cta_racecheck`` looks for races between CTAs on global memory
    (``racecheck_between_ctas.py``), in one process; ``initcheck`` records the first read of memory that nothing has written
    (``initcheck.py``), in one process too. Raises ValueError for a finding or a ``matmul_rounding`` that does not exist, and for
    fewer than one job.
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
    """Why the CTAs of a kernel of artifacts have to run in one process, in a sentence; None where several may share them."""
    kernel = (getattr(artifacts, "manifest", None) or {}).get("kernels", {}).get(entry, {})
    return parallel_ctas.single_process_reason(load(artifacts.ptx, entry, cluster_of(kernel.get("cluster"))))


@renamed_parameters(sums="matmul_rounding")
def run_ptx(
    ptx: str, entry: str, grid, block=None, params=(), *, memory: Memory | None = None, dynamic_shared: int = 0,
    check_races: bool | None = None, counters: Counters | None = None, cluster=None,
    findings: str | Mapping[str, str] | None = None, matmul_rounding: str = BLAS_ORDER, jobs: int | None = None,
    time_limit: float | None = None,
) -> None:  # fmt: skip
    """Run a kernel of a PTX text. ``block`` may be None where the kernel has ``.reqntid``.

    ``cluster`` is the shape of its clusters where it has no ``.reqnctapercluster``. ``findings`` is as of ``launch``, but
    None means "warning": the text is somebody's. So is ``matmul_rounding``, but its default is "blas", which is faster; ``jobs``, and ``time_limit``.
    """
    program = load(ptx, entry, cluster_of(cluster))
    block = block or program.entry.reqntid
    if block is None:
        raise InvalidLaunch(f"kernel {entry} has no .reqntid: give the block")
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
    """Whether to check for races: as told, else as the environment says."""
    return os.environ.get("TILEIRAS_EMULATOR_RACES", "") not in ("", "0") if wanted is None else wanted


def cluster_of(shape) -> tuple | None:
    """A launch's cluster shape, or None where its CTAs are on their own."""
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
            f"kernel {program.entry.name} has {threads} threads a CTA: 1 to {MAX_THREADS_PER_CTA} are possible"
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
    program.code_cache.store()
    gemm_jit.record_multiplications()


def run_all(plan: ProcessPlan, run: Callable[[int, int, LaunchOptions], None], options: LaunchOptions) -> None:
    """``run(first, count, options)`` for batches of all CTAs, by as many processes as there should be for those that are left."""
    remaining = UnstartedCtas(0, plan.ctas, plan.program.cluster_size)
    options = replace(options, remaining=remaining)
    while left := remaining.end - remaining.first:
        if (jobs := plan.processes(left)) > 1:
            each = plan.batch(left, jobs)
            batches = [(first, min(each, plan.ctas - first)) for first in range(remaining.first, plan.ctas, each)]
            if run_batches(run, batches, jobs, plan.memory, options):
                return
            plan.max_processes, plan.program.had_to_say = 1, True
        run(*remaining.start(plan.size), options)


def cluster_coordinates(program: Program, grid: tuple, first: int) -> tuple[int, int, int]:
    """Where the cluster that begins with CTA number ``first`` lies in the grid of clusters."""
    x, y, _ = (count // size for count, size in zip(grid, program.cluster or (1, 1, 1)))
    number = first // program.cluster_size
    return number % x, number // x % y, number // (x * y)


def batch_size(program: Program, block, dynamic: int) -> int:
    """CTAs that run together: enough to amortise NumPy's overhead; all that fit where CTAs may wait for each other."""
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
        raise InvalidLaunch(f"kernel {program.entry.name} takes {len(program.params)} parameters, got {len(params)}")
    out = np.zeros(-(-program.param_size // 16) * 16 + 32, np.uint8)
    for variable, value in zip(program.params, params):
        if len(value) != variable.size:
            raise InvalidLaunch(f"parameter {variable.name} has {variable.size} bytes, got {len(value)}")
        out[variable.offset : variable.offset + variable.size] = np.frombuffer(value, np.uint8)
    return out
