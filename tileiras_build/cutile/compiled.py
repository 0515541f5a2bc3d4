"""Kernels compiled for a device, kept in memory and on disk.

The key of a kernel on disk is what decides its bytes, as the build's is: the bytecode, the target, the options, the
compiler's own code and libraries, libdevice and ptxas.
"""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..bytecode.signature import Signature, render
from ..bytecode.source_names import with_producer
from ..launch_manifest import Launch, read_launch_manifest
from .arguments import signed

if TYPE_CHECKING:
    from .devices import Device
    from .versions import Cutile


@dataclass(frozen=True, eq=False)
class Compiled:
    """A kernel for one kind of arguments: its ``entry``, ``ptx`` and ``manifest``, and where the device runs machine code its
    ``cubin``. The emulator takes it for artifacts."""

    entry: str
    manifest: dict
    ptx: str
    cubin: bytes | None

    @cached_property
    def launch(self) -> Launch:
        """How it is launched."""
        return read_launch_manifest(self.manifest).kernels[self.entry]


class Compiler:
    """Compiles each kernel once for each kind of arguments, whichever thread asks."""

    def __init__(self, cutile: Cutile, device: Device):
        self._cutile, self._device = cutile, device
        self._lock = threading.Lock()
        self._made: dict[tuple[object, str], Compiled] = {}
        self._locks: dict[tuple[object, str], threading.Lock] = {}

    def compiled(self, kernel: Any, signature: Any) -> Compiled:
        """The kernel for arguments of this signature."""
        key = (kernel, signature.symbol)
        found = self._made.get(key)
        if found is not None:
            return found
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._made:
                self._made[key] = self._compile(kernel, signature)
            return self._made[key]

    def _compile(self, kernel: Any, signature: Any) -> Compiled:
        from .. import driver

        target = self._device.target
        exported = self._cutile.export(kernel, signature, target)
        arguments = signed(self._cutile.parameter_names(kernel), signature)
        data = with_producer(exported.data, render({exported.entry: Signature(arguments)}))
        level = self._cutile.opt_level(kernel, target)
        made = driver.compile(data, target, opt_level=level, stop_at=self._device.stop_at, name=exported.entry)
        assert made.ptx is not None
        return Compiled(exported.entry, made.manifest, made.ptx, made.cubin)


def key_of(data: bytes, *parts: object) -> str:
    """64 hex digits of a bytecode and what else decides the result."""
    text = json.dumps([hashlib.sha256(data).hexdigest(), *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
