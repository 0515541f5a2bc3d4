"""``CutileKernel``: a kernel of cuTile in the driver, for launch stubs and the hook of cuTile's own launcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.errors import Unsupported
from ...launch.runtime.launch_config_buffer import STRUCT_CODES
from ...launch.runtime.loaded_kernel import LoadedKernel
from ...target.targets import find_target
from .stream_driver import StreamDriver

if TYPE_CHECKING:
    from ..compiled_kernel_cache import CompiledKernel


class CutileKernel(LoadedKernel):
    """Raises Unsupported[cutile-argument] for a parameter that no launch can pass."""

    driver: StreamDriver

    def __init__(self, compiled: CompiledKernel, kernel: int, target: str, driver: StreamDriver):
        for param in compiled.launch.caller_parameters:
            if param.kind not in STRUCT_CODES:
                message = f"kernel {compiled.entry}: parameter {param.name} is a {param.kind}"
                raise Unsupported("cutile-argument", message)
        super().__init__(compiled.entry, compiled.launch, kernel, driver, driver.device()[0])
        self.may_be_programmatic = find_target(target).has("griddepcontrol")

    def allow_shared_memory(self, kernel: int) -> None:
        """Allow ``kernel``, a handle of this kernel, its dynamic shared memory on every GPU. Raises InvalidInput[driver]."""
        for device in range(self.driver.device_count()):
            self.driver.allow_shared_memory(kernel, device, self.launch.shared_memory.dynamic)
