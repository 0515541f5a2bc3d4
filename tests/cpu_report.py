"""``pytest --cpu-report=FILE``: what each test costs in processor time, that of its child processes included.

The machine may be busy: processor seconds (user and system) say what a test costs where the clock does not. Seconds by the
clock stand behind them: a test that takes many more of those than others of its cost waits. A row is a test, or what starting
and collecting costs a process, or what giving tests to processes and hearing of them costs the one that starts the others;
rows are sorted, the dearest first; the summary is by file. What outlives the process that started it, such as the fork server of
a build, is in no row.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests import forked_dask, forked_scons

OPTION, START, CONTROL = "--cpu-report", "(start and collection)", "(the process that starts the others)"
SHOWN = 25


def processor_seconds() -> float:
    """User and system time of this process, of the children that it has waited for, and of what was forked for it."""
    return sum(os.times()[:4]) + forked_scons.processor_seconds() + forked_dask.processor_seconds()


class CpuMeter:
    """In each process that runs tests: gives each report the time since the last one."""

    def __init__(self, config: pytest.Config):
        self.config, self.start, self.last = config, 0.0, 0.0

    def pytest_collection_finish(self) -> None:
        self.start = self.last = processor_seconds()
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput[START] = self.start

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        time = processor_seconds()
        report.cpu, self.last = time - self.last, time
        return report


class CpuReport:
    """In the process that was started: adds up and writes."""

    def __init__(self, path: Path, meter: CpuMeter):
        self.path, self.meter = path, meter
        self.costs: Counter[str] = Counter()
        self.clock: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report) -> None:
        self.clock[report.nodeid] += report.duration
        self.costs[report.nodeid] += getattr(report, "cpu", 0.0)  # a worker that crashed reports none

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node) -> None:
        self.costs[START] += getattr(node, "workeroutput", {}).get(START, 0.0)

    def pytest_sessionfinish(self) -> None:
        self.costs[START] += self.meter.start
        if self.meter.start == 0.0:  # it has collected nothing itself
            self.costs[CONTROL] = sum(os.times()[:2])

    def pytest_terminal_summary(self, terminalreporter) -> None:
        rows = self.costs.most_common()
        self.path.write_text("".join(f"{cost:9.2f} {self.clock[name]:9.2f} {name}\n" for name, cost in rows))
        files, clock = Counter[str](), Counter[str]()
        for name, cost in rows:
            files[name.partition("::")[0]] += cost
            clock[name.partition("::")[0]] += self.clock[name]
        terminalreporter.section(
            f"processor seconds: {sum(self.costs.values()):.1f}, by the clock: {sum(self.clock.values()):.1f}"
        )
        for name, cost in files.most_common(SHOWN):
            terminalreporter.line(f"{cost:9.1f} {clock[name]:9.1f} {name}")


def add_option(parser: pytest.Parser) -> None:
    """The command line's option."""
    parser.addoption(OPTION, type=Path, metavar="FILE", help="write the processor seconds of each test to FILE")


def register(config: pytest.Config) -> None:
    """Measure where it is asked for; workers of xdist read their controller's options."""
    path = config.getoption(OPTION)
    if path is None:
        return
    meter = CpuMeter(config)
    config.pluginmanager.register(meter)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(CpuReport(path.absolute(), meter))
