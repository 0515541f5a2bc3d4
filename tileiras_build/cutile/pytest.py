"""A pytest plugin that runs test suites of kernels without a GPU.

    pytest -p tileiras_build.cutile.pytest --tile-device cpu --tile-sm 90

The device is enabled before conftest files are read, in every worker of pytest-xdist, and in Python processes that tests start.
"""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import ExitStack
from typing import Any

import pytest

from ..core.errors import TileirasError
from .run_script_settings import LAUNCH, TUNE, Settings

_running = ExitStack()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    group = parser.getgroup("tileiras_build", "kernels of cuTile Python")
    group.addoption("--tile-device", choices=("cpu", "gpu"), help="where kernels run: in the emulator, or on a GPU")
    group.addoption("--tile-sm", default="90", metavar="SM", help="the target of --tile-device cpu (default: 90)")
    what = "run the first N parametrizations of each test only"
    group.addoption("--tile-keep", type=int, default=0, metavar="N", help=what)
    what = "time limit per launch (CPU; default: none)"
    group.addoption("--tile-time-limit", type=float, metavar="SECONDS", help=what)
    what = "how ct.tune treats configurations on the CPU (default: launch each once)"
    group.addoption("--tile-tune", choices=TUNE, default=LAUNCH, help=what)
    group.addoption(
        "--tile-race-check", action="store_true", help="detect data races, like compute-sanitizer racecheck (CPU)"
    )
    what = "detect uses of uninitialized memory, like compute-sanitizer initcheck (CPU)"
    group.addoption("--tile-init-check", action="store_true", help=what)
    what = "maximum worker processes per launch (CPU; default: chosen automatically)"
    group.addoption("--tile-jobs", type=_positive_int, metavar="N", help=what)


def _positive_int(text: str) -> int:
    """A positive integer; argparse reports the error."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text!r}")
    return int(text)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    """Enable the device before conftest files are read, as they may use it."""
    options = early_config.known_args_namespace
    if options.tile_device is None:
        return
    early_config.add_cleanup(_running.close)  # restores cuTile's functions, also after a usage error
    try:
        _enable(options)
    except TileirasError as error:
        raise pytest.UsageError(str(error)) from None


def _enable(options: Any) -> None:
    from . import enabled
    from .child_processes import inherit_device

    sm = options.tile_sm if options.tile_device == "cpu" else None
    limit, tune = options.tile_time_limit, options.tile_tune
    settings = Settings(
        options.tile_device, sm, options.tile_race_check, limit, options.tile_jobs, tune=tune,
        init_check=options.tile_init_check,
    )  # fmt: skip
    _running.enter_context(enabled(settings.sm, device=settings.device, **settings.options()))
    _running.enter_context(inherit_device(settings))


def pytest_report_header(config: pytest.Config) -> str | None:
    """The device, in pytest's header."""
    device = config.getoption("tile_device")
    if device is None:
        return None
    return f"tileiras_build: kernels run on the {device}" + (f" as sm_{_number(config)}" if device == "cpu" else "")


def _number(config: pytest.Config) -> str:
    return str(config.getoption("tile_sm")).removeprefix("sm_")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the first parametrizations of each test, of those that ``-k`` and ``-m`` selected."""
    keep = config.getoption("tile_keep")
    if not keep:
        return
    seen: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        name = item.nodeid.partition("[")[0]
        seen[name] += 1
        (kept if seen[name] <= keep else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
