"""cuTile Python on this compiler: ``ct.launch``, ``ct.tune`` and exports compile and launch without NVIDIA's tileiras.

    import tileiras_build.cutile

    tileiras_build.cutile.enable()                        # the current GPU, through the CUDA driver
    tileiras_build.cutile.enable("sm_90", device="cpu")   # the emulator: no GPU, no driver

``disable()`` restores cuTile's functions; ``with enabled(...)`` does so at its end. Importing this package imports
neither cuTile nor the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .session import Session

__all__ = ["disable", "enable", "enabled", "is_enabled"]


def enable(target: str | None = None, *, device: str = "gpu", **options: Any) -> Session:
    """Compile and launch cuTile Python kernels with this compiler, until ``disable()``.

    ``target`` ("sm_90") is the compilation target; None selects the current GPU, which requires ``device="gpu"``.
    ``device`` is "gpu" (through the CUDA driver) or "cpu" (the emulator), whose ``options`` are the fields of
    ``devices.emulator_device.CpuOptions``; both devices accept the tuning parameters (``pipeline/tuning_parameters.py``).
    A second call replaces the first. Raises Unsupported[cutile-version] for an unsupported cuda-tile, InvalidInput[cutile-missing]
    if there is none, InvalidInput[option-value] for an invalid tuning parameter, and InvalidInput[driver-missing] for
    ``device="gpu"`` without a driver.
    """
    from . import monkeypatch_cutile, session

    opened = session.open_session(target, device, options)
    monkeypatch_cutile.install(opened)
    return opened


def disable() -> None:
    """Restore cuTile's own functions; no-op unless enabled."""
    from . import monkeypatch_cutile

    monkeypatch_cutile.uninstall()


def is_enabled() -> bool:
    """Whether this compiler is enabled."""
    from . import monkeypatch_cutile

    return monkeypatch_cutile.current() is not None


@contextmanager
def enabled(target: str | None = None, *, device: str = "gpu", **options: Any) -> Iterator[Session]:
    """``enable`` for a ``with`` statement; its end restores the previous state."""
    from . import monkeypatch_cutile

    before = monkeypatch_cutile.current()
    opened = enable(target, device=device, **options)
    try:
        yield opened
    finally:
        monkeypatch_cutile.restore(before)
