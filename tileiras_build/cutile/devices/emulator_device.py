"""The emulator as a device: arrays are in the process's memory, launches are synchronous."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import InvalidInput, suggest
from ...launch.runtime.cuda_python_driver import stream_handle
from ...launch.runtime.kernel_library import check_grid
from ...launch.runtime.pack_arguments import ArrayView, pack_number
from ...simulate import emulator
from ...simulate.emulator.errors import ASSERTION, TIME_LIMIT
from ...target.targets import Target, find_target
from ..fakes import (
    array_info,
    cuda_core,
    install_cupy,
    jax_cpu_callback,
    libcuda,
    mark_uninitialized,
    streams,
    triton_driver,
)
from ..fakes.dlpack_capsules import DeviceArray
from ..fakes.post_import_hooks import cancel, on_import
from ..flatten_arguments import Array, ArrayTable, Value, parameter_prefix, parameter_values, refuse_read_only
from ..kernel_fault_report import KernelFault, NamedArray, NamedList, explain, name_of
from ..run_script_settings import COMPILE, LAUNCH, TUNE
from .run_initcheck import run_with_initcheck

if TYPE_CHECKING:
    from ...launch.runtime.generate_launch_stub import LaunchStub
    from ...manifest.variant_assumptions import Choice
    from ...simulate.emulator.sanitizers.initcheck import Initcheck
    from ..compiled_kernel_cache import CompiledKernel
    from ..profile import Profile
    from .cutile_kernel import CutileKernel

_PRINTS = "vprintf"  # the PTX call of a print: such a launch is not repeated
_UNTIMED = "tileiras_build: no GPU: ct.tune cannot measure times; it picks the first configuration that {}"
UNTIMED = {
    LAUNCH: _UNTIMED.format("runs; each is launched once (--tune compile: none is)"),
    COMPILE: _UNTIMED.format("compiles"),
}


@dataclass
class CpuOptions:
    """Options of the CPU device.

    race_check: detect data races
    time_limit: seconds per launch; None for no limit
    profile: the profile that collects counters, or None
    jobs: maximum worker processes per launch; None to choose automatically
    tune: how ``ct.tune`` treats each configuration: LAUNCH (once) or COMPILE
    init_check: detect uses of uninitialized memory; not together with ``profile``
    keep: run only the first sizes of each Triton benchmark; None for all
    """

    race_check: bool = False
    time_limit: float | None = None
    profile: Profile | None = None
    jobs: int | None = None
    tune: str = LAUNCH
    init_check: bool = False
    keep: int | None = None


class CpuDevice:
    """Runs kernels in the emulator."""

    stop_at = "ptx"
    has_native_launcher = has_own_memory = False

    def __init__(self, target: str | None, **options: Any):
        if target is None:
            remedy = "name one: enable('sm_90', device='cpu')"
            raise InvalidInput("cutile-device", "the emulator needs a target", remedy=remedy)
        self.target_info = find_target(target)
        self.target, self.number = self.target_info.name, self.target_info.number
        self.options = _options(options)
        self._tune_notice_shown = False  # the note on how ct.tune chooses
        self._single_process: dict[str, bool] = {}  # entry -> whether its blocks must run in one process
        self._busy = threading.Lock()  # loaded kernels have memory of their own

    def open(self) -> None:
        """Install the fake driver now, and the fake frameworks when they are imported."""
        mark_uninitialized.mark(self.options.init_check)
        open_frameworks(self.target_info, self.options.keep)

    def close(self) -> None:
        """Remove the fakes."""
        mark_uninitialized.mark(False)
        for name, stand_in in FRAMEWORKS.items():
            cancel(name)
            stand_in.remove()
        install_cupy.remove()

    def mapping(self, compiled: CompiledKernel) -> CutileKernel:
        """None: no other launcher loads a kernel here."""
        raise NotImplementedError

    def is_capturing(self, stream: object) -> bool:
        """Whether this thread's launches are captured in a graph."""
        return streams.capturing() is not None

    def as_device_arguments(self, names: Sequence[str], arguments: tuple[object, ...]) -> tuple[object, ...]:
        """Arrays in a form that looks like GPU memory."""
        shown = []
        for name, argument in zip_longest(names, arguments):
            with parameter_prefix(name):
                shown.append(_as_device_array(argument))
        return tuple(shown[: len(arguments)])

    def view(self, array: Any, stream: object) -> ArrayView:
        """The view of any array of this process."""
        return view_of(array_info.describe(array))

    def launch(
        self, compiled: CompiledKernel, grid: Sequence[int], values: Sequence[Value], stream: object, programmatic: bool
    ) -> None:
        """Run a kernel in the emulator, or record it in the graph that is being captured. Raises KernelFault."""
        stream_handle(stream)  # raises if it is not a stream
        blocks = check_grid(name_of(compiled.entry), grid, compiled.launch)
        refuse_read_only(name_of(compiled.entry), compiled.launch.caller_parameters, values)
        graph = streams.capturing()
        if graph is None:
            return self._run(compiled, blocks, values)
        if any(isinstance(value, ArrayTable) for value in values):
            raise RuntimeError("List argument in CUDAGraph isn't supported yet")  # cuTile's message
        graph.steps.append(partial(self._run, compiled, blocks, values))
        return None

    def launch_packed(
        self,
        compiled: CompiledKernel,
        grid: Sequence[int],
        params: list[bytes],
        named: list[NamedArray],
        stream: object,
    ) -> None:
        """Like ``launch``, for parameters that are packed already, and the arrays that they point into."""
        blocks, memory = check_grid(name_of(compiled.entry), grid, compiled.launch), emulator.Memory()
        for one in named:
            memory.map(one.array.base, one.array.size, one.array.owner)

        def run() -> None:
            with self._busy:
                self._emulate(compiled, blocks, params, memory, named)

        graph = streams.capturing()
        if graph is None:
            run()
        else:
            graph.steps.append(run)

    def _run(self, compiled: CompiledKernel, grid: tuple[int, int, int], values: Sequence[Value]) -> None:
        named, memory = _named(values), emulator.Memory()
        lists: list[NamedArray] = []

        def place(table: ArrayTable) -> int:
            lists.append(NamedList(table.name, array_info.table_of(table.table_rows()), len(table.views)))
            return lists[-1].array.address

        parameters = parameter_values(values, place)
        pairs = zip(compiled.launch.caller_parameters, parameters, strict=True)
        params = [pack_number(param.kind, number) or b"" for param, number in pairs]
        for one in (*named, *lists):
            memory.map(one.array.base, one.array.size, one.array.owner)
        with self._busy:
            self._emulate(compiled, grid, params, memory, named, lists)

    def _emulate(
        self,
        compiled: CompiledKernel,
        grid: tuple[int, int, int],
        params: list[bytes],
        memory: emulator.Memory,
        named: list[NamedArray],
        lists: Sequence[NamedArray] = (),
    ) -> None:
        options = self.options
        counters = None if options.profile is None else emulator.Counters()

        def run(unwritten: Initcheck | None, counters: emulator.Counters | None = None) -> None:
            emulator.launch(
                compiled, compiled.entry, grid, params, memory=memory, check_races=options.race_check or None,
                cta_racecheck=options.race_check, initcheck=unwritten,
                counters=counters, time_limit=options.time_limit, jobs=self._jobs(compiled),
            )  # fmt: skip

        try:
            if options.init_check:
                spans = [(one.array.base, one.array.size) for one in named]
                run_with_initcheck(run, memory, spans, is_repeatable=_PRINTS not in compiled.ptx)
            else:
                run(None, counters)
        except emulator.EmulatorError as error:
            if isinstance(error, emulator.EmulatorFault) and error.kind == ASSERTION:
                print(error.message)  # programs read the output of ct.assert_ from standard output
            raise explain(error, compiled, [*named, *lists]) from None
        finally:
            if options.profile is not None and counters is not None:
                options.profile.add(compiled, grid, counters)

    def _jobs(self, compiled: CompiledKernel) -> int | None:
        """The maximum number of processes for the blocks; if the user set one, report once why a kernel uses one process."""
        if self.options.jobs is None or self.options.jobs == 1:
            return self.options.jobs
        if compiled.entry not in self._single_process:
            why = emulator.single_process_reason(compiled, compiled.entry)
            self._single_process[compiled.entry] = why is not None
            if why is not None:
                print(f"tileiras_build: kernel {name_of(compiled.entry)} runs in one process: {why}", file=sys.stderr)
        return 1 if self._single_process[compiled.entry] else self.options.jobs

    def make_launch_stub(
        self,
        compiled: CompiledKernel,
        signature: Any,
        arguments: tuple[object, ...],
        choice: Choice,
        others: Sequence[Choice],
    ) -> LaunchStub | None:
        """None: the emulator takes much longer than any launch path."""
        return None

    def measure(
        self, launch: Callable[[], None], stream: object, flush: bool, limit: float | None, first: bool
    ) -> float:
        """1 us, as no GPU is timed: ``ct.tune`` selects the first configuration that runs, or compiles. ``limit`` is the time
        limit of the launch in seconds.
        """
        if not self._tune_notice_shown:
            self._tune_notice_shown = True
            print(UNTIMED[self.options.tune], file=sys.stderr)
        if limit is not None:
            self._launch_within(launch, limit)
        elif first and self.options.tune == LAUNCH:
            launch()
        return 1.0

    def measure_out_of_process(
        self,
        compiled: CompiledKernel,
        grid: Sequence[int],
        values: Sequence[Value],
        stream: object,
        flush: bool,
        limit: float,
    ) -> float | None:
        """None: a launch in the emulator can be stopped in this process."""
        return None

    def _launch_within(self, launch: Callable[[], None], limit: float) -> None:
        before, self.options = self.options, dataclasses.replace(self.options, time_limit=limit)
        try:
            launch()
        except KernelFault as error:
            if error.fault.kind == TIME_LIMIT:
                raise TimeoutError(f"CUDA kernel launch exceeded timeout of {limit:g} seconds") from None
            raise
        finally:
            self.options = before

    def synchronize(self, stream: object = None) -> None:
        """Nothing to do: launches are synchronous."""


def _options(user_options: dict[str, Any]) -> CpuOptions:
    known = [field.name for field in dataclasses.fields(CpuOptions)]
    if unknown := set(user_options) - set(known):
        option = sorted(unknown)[0]
        raise InvalidInput("cutile-device", f"unknown emulator option {option!r}", remedy=suggest(option, known))
    for name, value in user_options.items():
        takes = _OPTION_CHECKS.get(name)
        if value is not None and takes is not None and not takes[0](value):
            message = f"invalid value {value!r} of emulator option {name}"
            raise InvalidInput("cutile-device", message, remedy=f"use {takes[1]}")
    options = CpuOptions(**user_options)
    if options.init_check and options.profile is not None:
        message = "profile and initcheck cannot be combined"
        raise InvalidInput("cutile-device", message, remedy="run them separately")
    return options


_IS_NUMBER = (int, float)
_OPTION_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "tune": (lambda value: value in TUNE, " or ".join(TUNE)),
    "time_limit": (
        lambda value: type(value) in _IS_NUMBER and 0 < value < float("inf"),
        "a positive number of seconds",
    ),
    "jobs": (lambda value: type(value) is int and value > 0, "a positive number of processes"),
    "race_check": (lambda value: isinstance(value, bool), "True or False"),
    "init_check": (lambda value: isinstance(value, bool), "True or False"),
}


class _View(ArrayView):
    """The view of an array, and its description."""

    description: array_info.ArrayDescription


def view_of(found: array_info.ArrayDescription) -> _View:
    """The view of an array in this process, as one on GPU 0."""
    made = _View(found.address, found.shape, found.strides, 0, _dtype(found), found.readonly)
    made.description = found
    return made


def _dtype(found: array_info.ArrayDescription) -> np.dtype | None:
    try:
        return np.dtype(found.element)
    except TypeError:
        return None


def _as_device_array(argument: Any) -> object:
    if type(argument) in (tuple, list):
        return type(argument)(_as_device_array(part) for part in argument)
    if dataclasses.is_dataclass(argument) and not isinstance(argument, type):
        fields = {field.name: getattr(argument, field.name) for field in dataclasses.fields(argument)}
        shown = {name: _as_device_array(value) for name, value in fields.items()}
        changed = any(shown[name] is not fields[name] for name in fields)
        return dataclasses.replace(argument, **shown) if changed else argument
    return DeviceArray(array_info.describe(argument)) if array_info.needs_device_view(argument) else argument


def _named(values: Sequence[Value]) -> list[NamedArray]:
    """The arrays of a launch; those of a list are named by their access."""
    found = []
    for value in values:
        if isinstance(value, Array):
            found.append((value.name, value.view))
        elif isinstance(value, ArrayTable):
            found += [(f"{value.name}[{index}]", view) for index, view in enumerate(value.views)]
    return [NamedArray(name, view.description) for name, view in found if isinstance(view, _View)]


class _TorchFake:
    """The fake of PyTorch, imported with PyTorch."""

    @staticmethod
    def install(target: Target, module: ModuleType) -> None:
        from ..fakes import torch_cuda

        torch_cuda.install(module, target)

    @staticmethod
    def remove() -> None:
        if "torch" in sys.modules:
            from ..fakes import torch_cuda

            torch_cuda.remove()


def open_frameworks(target: Target, keep: int | None = None) -> None:
    """Install the fake driver now, and fake frameworks when they are imported; ``keep`` is as in ``CpuOptions``."""
    libcuda.install(target)
    install_cupy.install()
    triton_driver.limit_benchmark_sizes(keep)
    for name, stand_in in FRAMEWORKS.items():
        on_import(name, partial(stand_in.install, target))


FRAMEWORKS: dict[str, Any] = {
    "torch": _TorchFake, "triton": triton_driver, "cuda.tile.jax": jax_cpu_callback, **cuda_core.FAKE_MODULES,
}  # fmt: skip
