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
    """Compile and launch the kernels of cuTile Python with this compiler, until ``disable()``.

    ``target`` ("sm_90") is what kernels are compiled for: the current GPU where it is None, which ``device="cpu"`` has
    not. ``device`` is "gpu" (the CUDA driver's) or "cpu" (the emulator), whose ``options`` are the fields of
    ``devices.emulator_device.CpuOptions``; both devices take the tuning parameters (``pipeline/tuning_parameters.py``).
    Called again, it takes the place of what was enabled before. Raises Unsupported[cutile-version] for a cuda-tile that is not known, InvalidInput[cutile-missing]
    without any, InvalidInput[option-value] for an invalid tuning parameter, and InvalidInput[driver-missing] where there is no driver for ``device="gpu"``.
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
    """Whether cuTile's kernels are compiled and launched here."""
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
