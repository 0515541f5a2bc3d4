"""Python processes that a script starts inherit its device.

Their environment names the device, and PYTHONPATH begins with a folder whose ``sitecustomize`` enables it when they import
cuTile.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from ..core.knobs import CUTILE_INHERITED
from ..target.targets import find_target
from .run_script_settings import Settings

FOLDER = Path(__file__).resolve().parent / "inherited"


def environment(settings: Settings) -> dict[str, str]:
    """The environment of processes that inherit the device; as there may be many, each launches in one process by default."""
    if settings.device == "cpu":
        settings = replace(settings, jobs=settings.jobs or 1)
    path = os.pathsep.join(filter(None, (str(FOLDER), os.environ.get("PYTHONPATH"))))
    return {CUTILE_INHERITED.name: json.dumps(asdict(settings)), "PYTHONPATH": path}


@contextmanager
def inherit_device(settings: Settings) -> Iterator[None]:
    """Make processes that are started from now on inherit the device."""
    added = environment(settings)
    before = {name: os.environ.get(name) for name in added}
    os.environ.update(added)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def enable_from_environment() -> None:
    """Enable the device of the environment when cuTile is imported; install the fake frameworks at once."""
    from .fakes.post_import_hooks import on_import

    settings = Settings(**json.loads(CUTILE_INHERITED.read()))
    if settings.device == "cpu":
        from .devices.emulator_device import open_frameworks

        open_frameworks(find_target(settings.sm or ""), settings.keep)

    def take_over(_: object) -> None:
        from . import enable

        enable(settings.sm, device=settings.device, **settings.options())

    on_import("cuda.tile", take_over)
