"""cuTile Python on this compiler: ``ct.launch``, ``ct.tune`` and exports compile and launch without NVIDIA's tileiras.

    import tileiras_build.cutile

    tileiras_build.cutile.enable()                        # the current GPU, through the CUDA driver
    tileiras_build.cutile.enable("sm_90", device="cpu")   # the emulator: no GPU, no driver

``disable()`` gives cuTile its functions back; ``with enabled(...)`` does so at its end. Importing this package imports
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
    """Compile and launch the kernels of cuTile Python here, until ``disable()``.

    ``target`` ("sm_90") is what kernels are compiled for: the current GPU where it is None, which ``device="cpu"`` has
    not. ``device`` is "gpu" (the CUDA driver's) or "cpu" (the emulator), whose ``options`` are those of ``devices.cpu.Options``;
    both have those of ``pipeline.tuning.TUNING``, numbers by which kernels are compiled.
    Called again, it takes the place of what was enabled before. Raises Unsupported[cutile-version] for a cuda-tile that is not known, InvalidInput[cutile-missing]
    without any, InvalidInput[option-value] for a number that ``TUNING`` does not allow, and InvalidInput[driver-missing] where there is no driver for ``device="gpu"``.
    """
    from . import monkeypatch_cutile, session

    made = session.open_session(target, device, options)
    monkeypatch_cutile.install(made)
    return made


def disable() -> None:
    """Give cuTile its own functions back; nothing happens where they are its own."""
    from . import monkeypatch_cutile

    monkeypatch_cutile.uninstall()


def is_enabled() -> bool:
    """Whether cuTile's kernels are compiled and launched here."""
    from . import monkeypatch_cutile

    return monkeypatch_cutile.current() is not None


@contextmanager
def enabled(target: str | None = None, *, device: str = "gpu", **options: Any) -> Iterator[Session]:
    """``enable`` for a ``with`` statement; at its end, what was before is again."""
    from . import monkeypatch_cutile

    before = monkeypatch_cutile.current()
    made = enable(target, device=device, **options)
    try:
        yield made
    finally:
        monkeypatch_cutile.restore(before)
