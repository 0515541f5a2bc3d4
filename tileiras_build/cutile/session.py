"""A session: a device, the installed cuTile, and the kernels compiled so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..launch.runtime.generate_launch_stub import StubList
from ..pipeline.tuning_parameters import BY_NAME, parse_tuning, reject_former_names
from .compiled_kernel_cache import CompiledKernel, KernelCompiler
from .cuda_tile_versions import Cutile
from .devices import Device, open_device
from .flatten_arguments import Value, flatten, host_array, numbers_of, unknown_elements
from .launch_hook import STATE_ATTRIBUTE
from .native_launcher import PROGRAMMATIC, NativeLauncher, NoCubinYet, NotNative, can_launch_natively
from .tensor_map_launch_hook import DriverHook, install
from .validate_launch import checked

if TYPE_CHECKING:
    from ..manifest.variant_assumptions import Choice

_NO_DTYPE = "Unsupported array dtype"  # cuTile's message, which names no argument
_HOST_REMEDY = "copy it to the GPU, or run kernels without one: enable('sm_90', device='cpu')"


@dataclass(eq=False)
class KernelState:
    """The state of one kernel in a session: launch ``stubs``, ``compiled`` variants by the symbol that cuTile
    mangles from the signature, the ``native`` launcher if there is one (``native_tried``), and the entries and grids that
    ``ct.tune`` has ``measured``."""

    session: Session
    stubs: StubList = field(default_factory=StubList)
    compiled: dict[str, CompiledKernel] = field(default_factory=dict)
    measured: set[tuple[str, tuple[int, ...]]] = field(default_factory=set)
    native: NativeLauncher | None = None
    native_tried: bool = False


class Session:
    """One ``enable``: compiles each kernel once per signature, and launches it on ``device``."""

    def __init__(self, device: Device, cutile: Cutile, tuning: Mapping[str, int]):
        self.device, self.cutile = device, cutile
        self.compiler = KernelCompiler(cutile, device, tuning)
        self.driver_hook: DriverHook | None = (
            install(cutile.release.driver_launch) if device.has_native_launcher else None
        )

    def kernel_state(self, kernel: Any) -> KernelState:
        """The state of a kernel in this session."""
        found = getattr(kernel, STATE_ATTRIBUTE, None)
        if found is None or found.session is not self:
            found = KernelState(self)
            setattr(kernel, STATE_ATTRIBUTE, found)
        return found

    def enqueue(self, stream: object, grid: Any, kernel: Any, arguments: Any, programmatic: bool) -> None:
        """Launch a kernel by its fastest path."""
        state = getattr(kernel, STATE_ATTRIBUTE, None)
        if state is None or state.session is not self or type(arguments) is not tuple:
            self.launch(stream, grid, kernel, arguments, programmatic)
            return
        if (native := state.native) is not None:
            try:
                native = native.for_launch(grid, arguments)
                if programmatic:
                    native.launch(stream, grid, native.threads, native.twin, arguments, **PROGRAMMATIC)
                else:
                    native.launch(stream, grid, native.threads, native.twin, arguments)
                return
            # The checked launch below reports what cuTile's launcher rejects.
            except Exception as error:
                if isinstance(error, NoCubinYet) and self._launch_natively(
                    state, native, stream, grid, arguments, programmatic
                ):
                    return
        for stub in state.stubs.stubs:
            if stub(grid, arguments, stream, programmatic):
                return
        self.launch(stream, grid, kernel, arguments, programmatic)

    def launch(
        self, stream: object, grid: tuple[int, ...], kernel: Any, arguments: tuple[object, ...], programmatic: bool
    ) -> None:
        """Launch a kernel with all checks."""
        device, blocks = self.device, checked(stream, grid, kernel, arguments, self.cutile.kernel_class)
        state = self.kernel_state(kernel)
        signature = self._signature(kernel, arguments)
        compiled = self._compiled(state, kernel, signature)
        if not state.native_tried:
            state.native_tried, state.native = True, self._native(state, kernel, compiled)
            native = state.native and state.native.for_launch(blocks, arguments)
            if native and self._launch_natively(state, native, stream, grid, arguments, programmatic):
                return
        values = self._values(kernel, signature, arguments, stream)
        place = compiled.for_launch(blocks, numbers_of(values))
        chosen, choices = self._of_choice(state, kernel, signature, compiled, place), compiled.choices
        device.launch(chosen, blocks, values, stream, programmatic)
        state.stubs.add(
            (signature.symbol, chosen.entry),
            lambda: device.make_launch_stub(chosen, signature, arguments, choices[place], choices[:place]),
        )

    def _native(self, state: KernelState, kernel: Any, compiled: CompiledKernel) -> NativeLauncher | None:
        """The launcher in C, if the device has one, for a kernel that is ``compiled`` for some arguments."""
        if not can_launch_natively(self, compiled):
            return None

        def compile(given: Any, choice: Choice) -> tuple[CompiledKernel, CompiledKernel]:
            signature = self.cutile.as_ours(given, kernel)
            found = self._compiled(state, kernel, signature)
            return found, self._of_choice(state, kernel, signature, found, found.for_launches_of(choice))

        launcher = NativeLauncher(self, kernel, compiled.choices[-1], compile)
        launcher.add_variants(compiled)
        return launcher

    def _launch_natively(
        self,
        state: KernelState,
        native: NativeLauncher,
        stream: object,
        grid: Any,
        arguments: tuple[object, ...],
        programmatic: bool,
    ) -> bool:
        """Whether cuTile's launcher has loaded and launched the kernel: it cannot load one during a graph capture."""
        if self.device.is_capturing(stream):
            return False
        try:
            native.load_and_launch(stream, grid, arguments, PROGRAMMATIC if programmatic else {})
        except NotNative:
            state.native = None
            return False
        except Exception:
            return False
        return True

    def compile(self, kernel: Any, arguments: tuple[object, ...]) -> CompiledKernel:
        """The compiled kernel for these arguments."""
        return self._compiled(self.kernel_state(kernel), kernel, self._signature(kernel, arguments))

    def measure_out_of_process(
        self,
        stream: object,
        grid: tuple[int, ...],
        kernel: Any,
        arguments: tuple[object, ...],
        flush: bool,
        limit: float,
    ) -> float | None:
        """Microseconds of a launch in a process that can be killed; None if that is impossible (``Device``)."""
        device, blocks = self.device, checked(stream, grid, kernel, arguments, self.cutile.kernel_class)
        signature = self._signature(kernel, arguments)
        state = self.kernel_state(kernel)
        compiled = self._compiled(state, kernel, signature)
        values = self._values(kernel, signature, arguments, stream)
        place = compiled.for_launch(blocks, numbers_of(values))
        chosen = self._of_choice(state, kernel, signature, compiled, place)
        return device.measure_out_of_process(chosen, blocks, values, stream, flush, limit)

    def _values(self, kernel: Any, signature: Any, arguments: tuple[object, ...], stream: object) -> list[Value]:
        names = self.cutile.parameter_names(kernel)
        return flatten(names, signature, arguments, lambda array: self.device.view(array, stream))

    def _signature(self, kernel: Any, arguments: tuple[object, ...]) -> Any:
        """cuTile's signature of the arguments; raises cuTile's errors, and names an array that is not on the device."""
        shown = self.device.as_device_arguments(self.cutile.parameter_names(kernel), arguments)
        try:
            return self.cutile.signature(kernel, shown)
        except (BufferError, RuntimeError, ValueError) as error:
            own = self.device.has_own_memory
            name = host_array(self.cutile.parameter_names(kernel), arguments) if own else None
            if name is None:
                raise
            message = f"Input array is not on a CUDA device: {name} is in host memory; {_HOST_REMEDY}"
            raise ValueError(message) from error
        except TypeError as error:
            found = unknown_elements(self.cutile.parameter_names(kernel), arguments, self.cutile.element_kinds)
            if found is None or str(error) != _NO_DTYPE:
                raise
            message = f"{_NO_DTYPE}: unsupported element type {found[1]} of {found[0]}; convert it"
            raise TypeError(message) from None

    def _compiled(self, state: KernelState, kernel: Any, signature: Any) -> CompiledKernel:
        found = state.compiled.get(signature.symbol)
        return found or state.compiled.setdefault(signature.symbol, self.compiler.compile(kernel, signature))

    def _of_choice(
        self, state: KernelState, kernel: Any, signature: Any, compiled: CompiledKernel, place: int
    ) -> CompiledKernel:
        """One of the choices of a compiled kernel, which may be a variant that no launch has asked for so far."""
        choice = compiled.choices[place]
        found = compiled.of_choice(place) or state.compiled.get(choice.symbol)
        if found is not None:
            return found
        made = self.compiler.compile(kernel, signature, choice.launch.cluster[0])
        return state.compiled.setdefault(choice.symbol, made)


def open_session(target: str | None, device: str, options: dict[str, Any]) -> Session:
    """A session on a device; see ``cutile.enable``."""
    reject_former_names(options)
    tuning = parse_tuning(options)
    opened = open_device(device, target, {name: value for name, value in options.items() if name not in BY_NAME})
    return Session(opened, Cutile(), tuning)
