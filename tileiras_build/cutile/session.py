"""What is enabled: a device, the installed cuTile, and the kernels compiled so far."""

from __future__ import annotations

from typing import Any

from .arguments import flatten
from .compiled import Compiled, Compiler
from .devices import Device, open_device
from .versions import Cutile


class Session:
    """One ``enable``: it compiles each kernel once for each kind of arguments, and launches it on ``device``."""

    def __init__(self, device: Device, cutile: Cutile):
        self.device, self.cutile = device, cutile
        self.compiler = Compiler(cutile, device)

    def launch(self, stream: object, grid: tuple[int, ...], kernel: Any, arguments: tuple[object, ...], programmatic: bool) -> None:  # fmt: skip
        """Run a kernel; everything is looked at."""
        device = self.device
        signature = self.cutile.signature(kernel, device.shown(arguments))
        compiled = self.compiler.compiled(kernel, signature)
        names = self.cutile.parameter_names(kernel)
        values = flatten(names, signature, arguments, lambda array: device.view(array, stream))
        device.launch(compiled, grid, values, stream, programmatic)

    def compile(self, kernel: Any, arguments: tuple[object, ...]) -> Compiled:
        """The kernel as it is launched with these arguments, compiled."""
        return self.compiler.compiled(kernel, self.cutile.signature(kernel, self.device.shown(arguments)))


def open_session(target: str | None, device: str) -> Session:
    """A session on a device; see ``cutile.enable``."""
    cutile = Cutile()
    return Session(open_device(device, target), cutile)
