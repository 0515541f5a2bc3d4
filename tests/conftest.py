"""Marks the quick tests and leaves out the exhaustive ones; reads no other files where the quick ones alone are asked for.

The options --exhaustive and --cpu-report; a folder for what the processes of a session share; how many there are of them
and which takes which tests.
"""

import gc
import os
import signal
import sys
from itertools import groupby

import pytest

from tests import compiled_once, cpu_report
from tests.quick import MARK, TESTS, has_quick_tests, is_quick
from tests.sampled import Sample, is_begun_first, name_of, named_files, rows

EXHAUSTIVE = "exhaustive"
# Read when NumPy is imported, here before it is: threads that wait for each other on a busy machine cost ten times a matmul.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Tests start hundreds of processes, each of which would compile every module again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_addoption(parser):
    cpu_report.add_option(parser)
    parser.addoption(f"--{EXHAUSTIVE}", action="store_true", help="run the tests with the mark of this name, too")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: tests wait a quarter of their time, for servers, timeouts and each other."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Each process gets neighbouring tests, which share what they make, and helps the others when it has done its own."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


def pytest_configure(config):
    gc.disable()  # what is imported and collected stays: looking at it again and again finds nothing
    cpu_report.register(config)
    # A server would outlive the tests, and answer for code that they judge.
    os.environ.setdefault("TILEIRAS_SERVER", "0")
    # A shell's background job ignores Ctrl-C, and so would every program that tests stop by it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _draw_the_same_examples_wherever_a_test_runs()
    if not hasattr(config, "workerinput"):
        compiled_once.open_session()


def _draw_the_same_examples_wherever_a_test_runs():
    """Hypothesis also draws constants of the modules that happen to be imported: others in a run of all tests than in one of a file.

    Finding them parses each module of the package in each process that collects tests, half of what collecting costs.
    """
    from hypothesis.internal.conjecture import providers

    providers.is_local_module_file = lambda path: False


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    """What is collected is not looked at again, and what is young seldom: it is found to be alive, mostly."""
    gc.freeze()
    gc.set_threshold(50_000, 50, 10)
    gc.enable()


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        compiled_once.close_session()


@pytest.fixture(autouse=True, scope="session")
def _threads_of_the_tests_do_not_count():
    """A command that a test runs in its own process forks as it does in one of its own; xdist's thread holds no lock of ours."""
    from tileiras_build.workers.executor import forked_executor

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forked_executor, "has_threads", lambda: False)
        yield


def pytest_ignore_collect(collection_path, config):
    """Importing all test modules takes longer than some quick ones run."""
    asked = config.option.markexpr == MARK and collection_path.is_file()
    return True if asked and collection_path.name != "__init__.py" and not has_quick_tests(collection_path) else None


def pytest_collection_modifyitems(config, items):
    """Mark the tests that tests/quick.toml names, and as exhaustive what tests/sampled.toml leaves out of a plain run."""
    for path, inside in groupby(items, lambda item: item.path):
        if path.is_relative_to(TESTS) and has_quick_tests(path):
            for item in (item for item in inside if is_quick(path, item.name)):
                item.add_marker(getattr(pytest.mark, MARK))
    sample, named = Sample(), named_files(config.args, config.invocation_params.dir)
    for item in (item for item in items if item.path not in named and not item.get_closest_marker(EXHAUSTIVE)):
        taken = sample.takes(item.path, getattr(item, "originalname", item.name))
        if not taken and not item.get_closest_marker(MARK):
            item.add_marker(getattr(pytest.mark, EXHAUSTIVE))
    if not config.getoption(EXHAUSTIVE) and EXHAUSTIVE not in config.option.markexpr:
        left = {item for item in items if item.get_closest_marker(EXHAUSTIVE)}
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]
    items.sort(key=_rank)  # stable: all others stay beside their neighbours


def _rank(item: pytest.Item) -> int:
    """0 for a test so long that a process which begins it last would be waited for, 1 for one that waits itself."""
    if rows().is_left_out(*name_of(item.path, getattr(item, "originalname", item.name))):
        return 0
    return 1 if is_begun_first(item.path) else 2
