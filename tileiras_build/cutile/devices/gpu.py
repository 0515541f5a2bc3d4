"""A GPU behind the CUDA driver."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsInt

from ...errors import InvalidInput
from ...runtime.arguments import ArrayView, pack_number
from ...runtime.driver import CudaDriver, LaunchConfig, stream_handle
from ...runtime.fast_binding import Packed, places_of
from ...runtime.library import check_grid
from ...runtime.tensor_maps import resolve
from ...targets import find_target
from ..arguments import ArrayTable, Value, numbers_of

if TYPE_CHECKING:
    from ..compiled import Compiled
    from . import Fast


class GpuDevice:
    """The current context's GPU."""

    stop_at = "cubin"

    def __init__(self, target: str | None):
        self._driver = CudaDriver()
        try:
            self.device, found = self._driver.device()
        except InvalidInput as error:
            raise _without_gpu(error) from None
        self.target = target or f"sm_{found}"
        self.number = find_target(self.target).number
        self._lock = threading.Lock()
        self._loaded: dict[Compiled, SupportsInt] = {}

    def shown(self, arguments: tuple[object, ...]) -> tuple[object, ...]:
        """As they are."""
        return arguments

    def view(self, array: object, stream: object) -> ArrayView:
        """Through DLPack or the CUDA array interface."""
        return self._driver.view(array, stream_handle(stream))

    def launch(
        self, compiled: Compiled, grid: Sequence[int], values: Sequence[Value], stream: object, programmatic: bool
    ) -> None:
        """Enqueue a kernel."""
        launch, handle = compiled.launch, stream_handle(stream)
        blocks = check_grid(compiled.entry, grid, launch.cluster)
        parts = [
            pack_number(param.kind, number) or b""
            for param, number in zip(launch.ordinary, numbers_of(values, self._place), strict=True)
        ]
        params = Packed.of(parts, places_of(launch.ordinary))
        rows = enumerate(launch.tensor_maps)
        params = params.with_maps(
            [self._driver.encode(resolve(compiled.entry, index, row, params)) for index, row in rows]
        )
        config = LaunchConfig(blocks, (launch.threads_per_cta, 1, 1), launch.shared_memory.dynamic, handle)
        self._driver.launch(self._kernel(compiled), config, params)

    def fast(self, compiled: Compiled, signature: Any, arguments: tuple[object, ...]) -> Fast | None:
        """None yet."""
        return None

    def synchronize(self, stream: object = None) -> None:
        """Wait for the stream, or for all of the context."""
        raise NotImplementedError

    def _place(self, table: ArrayTable) -> int:
        raise NotImplementedError

    def _kernel(self, compiled: Compiled) -> SupportsInt:
        """The driver's handle; loaded once."""
        if (found := self._loaded.get(compiled)) is not None:
            return found
        with self._lock:
            if compiled not in self._loaded:
                assert compiled.cubin is not None
                kernel = self._driver.kernel(self._driver.load(compiled.cubin), compiled.entry)
                self._driver.allow_shared_memory(kernel, self.device, compiled.launch.shared_memory.dynamic)
                self._loaded[compiled] = kernel
            return self._loaded[compiled]


def _without_gpu(error: InvalidInput) -> InvalidInput:
    remedy = "to run kernels without a GPU, use enable('sm_90', device='cpu')"
    return InvalidInput("driver-missing", error.message, remedy=remedy)
