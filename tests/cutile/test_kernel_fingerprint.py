"""A kernel's fingerprint covers all inputs of the front end: each change gives another key, and unsupported inputs give none."""

import dataclasses
import enum
import importlib
import importlib.util
import itertools
import linecache
import os
import subprocess
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import tileiras_build.cutile as hook
from tileiras_build.core.persistent_cache import user_cache
from tileiras_build.cutile import (
    compiled_kernel_cache,
    export_kernel_hooks,
    installation_fingerprint,
    kernel_fingerprint,
)
from tileiras_build.cutile.cuda_tile_versions import installed_version

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")
if not installed_version().looks_once:
    pytest.skip("kernels of this cuda-tile are not known by their origin", allow_module_level=True)
N = 128
PROGRAM = """
import cuda.tile as ct
from tests.cutile import test_kernel_fingerprint as tests
import math
{before}
@ct.kernel{options}
def scaled(x, tile: ct.Constant[int]):
    ct.store(x, (0,), ct.load(x, (0,), (tile,)) * {factor})
"""


@pytest.fixture(autouse=True)
def trusting(monkeypatch, tmp_path):
    """The tests before have used the front end without this package."""
    kernel_fingerprint.note_front_end(is_restored=True)
    monkeypatch.setattr(kernel_fingerprint, "_is_trusted", True)
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", str(tmp_path / "cache"))


_seconds = itertools.count(1_700_000_000)


def write(path, text):
    """Write a file that is newer than the last one by more than any cache of Python's overlooks."""
    path.write_text(text)
    when = next(_seconds)
    os.utime(path, (when, when))


def module_of(tmp_path, factor="2.0", before="", options="", name="program"):
    path = tmp_path / f"{name}.py"
    write(path, PROGRAM.format(factor=factor, before=before, options=options))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def launch(kernel, session, tile=N):
    x = np.ones(tile, np.float32)
    ct.launch(0, (1,), kernel, (x, tile))
    return float(x[0])


def asked(monkeypatch, session):
    """How often the front end is asked from now on."""
    calls, own = [], session.cutile.export
    monkeypatch.setattr(session.cutile, "export", lambda *arguments: calls.append(1) or own(*arguments))
    return calls


def key_of(module, tile=N):
    with hook.enabled("sm_90", device="cpu") as session:
        return session.compiler._fingerprint_key(
            module.scaled, session._signature(module.scaled, (np.ones(tile, np.float32), tile))
        )


def test_the_front_end_is_not_asked_twice(monkeypatch, tmp_path):
    for asks in (1, 0):
        with hook.enabled("sm_90", device="cpu") as session:
            calls = asked(monkeypatch, session)
            assert launch(module_of(tmp_path).scaled, session) == 2 and len(calls) == asks
            assert session.compiler.compilations == asks


def test_another_process_does_not_even_import_it(tmp_path):
    module_of(tmp_path)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, cuda.tile as ct, tileiras_build.cutile, program\n"
        "tileiras_build.cutile.enable('sm_90', device='cpu')\n"
        "x = np.ones(128, np.float32); ct.launch(0, (1,), program.scaled, (x, 128))\n"
        "print(x[0], *('cuda.tile._compile' in sys.modules, 'xdsl' in sys.modules, 'torch' in sys.modules))"
    )
    said = [subprocess.check_output([sys.executable, "-c", program, str(tmp_path)], text=True) for _ in range(2)]
    assert said[0].startswith("2.0 True True") and said[1] == "2.0 False False False\n"


SAME = [{}, {"before": ""}]
OTHERS = [
    {"factor": "3.0"},
    {"before": "\n"},  # another line
    {"options": "(occupancy=2)"},
    {"options": "(opt_level=1)"},
    {"factor": "K", "before": "K = 2.0"},
    {"factor": "K", "before": "K = 4.0"},
    {"factor": "K", "before": "K = 4"},
    {"factor": "K", "before": "K = -0.0"},
    {"factor": "K", "before": "K = 0.0"},
    {"factor": "f(2.0)", "before": "f = lambda x: x"},
    {"factor": "f(2.0)", "before": "def f(x): return x"},
    {"factor": "f(2.0)", "before": "def f(x, y=1.0): return x"},
    {"factor": "f(2.0)", "before": "def f(x, y=2.0): return x"},
    {"factor": "f(2.0)", "before": "g = 1.0; f = lambda x: x * g"},
    {"factor": "f(2.0)", "before": "g = 2.0; f = lambda x: x * g"},
    {"factor": "f(2.0)", "before": "f = ct.function(lambda x: x)"},
    {"factor": "T[1]", "before": "T = (1.0, 2.0)"},
    {"factor": "T[1]", "before": "T = (1.0, 3.0)"},
    {"factor": "ct.astype(ct.load(x, (0,), (tile,)), D)", "before": "D = ct.float32"},
    {"factor": "ct.astype(ct.load(x, (0,), (tile,)), D)", "before": "D = ct.float16"},
    {"factor": "math.pi"},
    {"factor": "tests.N"},
    {"factor": "math.pi", "before": "import numpy as math"},
    {"factor": "2.0", "before": "tile = ct.float32"},
]


def test_all_that_decides_a_kernel_is_in_its_key(tmp_path):
    """Each line of the table is another kernel, or at another place; the first ones are one."""
    keys = [key_of(module_of(tmp_path, **change)) for change in [*SAME, *OTHERS[:-1]]]
    assert None not in keys and keys[0] == keys[1] and len(set(keys)) == len(keys) - 1
    assert key_of(module_of(tmp_path), 64) not in keys
    assert key_of(module_of(tmp_path, name="other")) not in keys


def test_what_a_name_means_that_the_function_has_itself_is_nothing_to_it(tmp_path):
    with_global = module_of(tmp_path, **OTHERS[-1])
    with_global.tile = np.ones(3)
    assert key_of(with_global) is not None


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass(frozen=True)
class Pair:
    one: float = 1.0


def test_a_constant_of_another_module_counts(monkeypatch, tmp_path):
    keys = [key_of(module_of(tmp_path, factor="tests.N"))]
    module = module_of(tmp_path, factor="tests.N")
    monkeypatch.setattr(module.tests, "N", 64)
    assert key_of(module, 128) not in [None, *keys]


@pytest.mark.parametrize(
    "change",
    [
        {"factor": "ct.static_eval(1 + 1)"},
        {"factor": "s(1 + 1)", "before": "s = ct.static_eval"},
        {"factor": "getattr(ct, 'static_eval')(1 + 1)"},
        {"factor": "tests.Pair().one"},
        {"factor": "K", "before": "K = tests.Color.RED"},
        {"factor": "K", "before": "K = tests.np.ones(3)"},
        {"factor": "K", "before": "K = object()"},
        {"factor": "f(2.0)", "before": "f = open"},
        {"factor": "f(2.0)", "before": "import functools; f = functools.partial(max, 1.0)"},
        {"factor": "f(2.0)", "before": "f = lambda x: x * h\nh = object()"},
        {"factor": "len('\\d')"},  # Python warns of it
        {"factor": "len('\N{GREEK SMALL LETTER MU}')"},
    ],
)
def test_what_is_not_known_has_no_key(tmp_path, change):
    with warnings.catch_warnings(action="ignore"):
        assert key_of(module_of(tmp_path, **change)) is None


def test_a_kernel_without_a_source_has_no_key():
    space = {}
    exec(PROGRAM.format(factor="2.0", before="", options=""), space)
    assert key_of(types.SimpleNamespace(scaled=space["scaled"])) is None


@pytest.mark.parametrize("name", ["CUDA_TILE_LOGS", "CUDA_TILE_DUMP_BYTECODE", "CUDA_TILE_TESTING_DISABLE_DIV"])
def test_where_cutile_is_asked_to_show_what_it_does_it_does_it(monkeypatch, tmp_path, name):
    assert key_of(module_of(tmp_path))
    monkeypatch.setenv(name, "1")
    assert key_of(module_of(tmp_path)) is None


def test_what_others_put_in_the_place_of_the_front_end_is_asked(monkeypatch, tmp_path):
    with hook.enabled("sm_90", device="cpu") as session:
        launch(module_of(tmp_path).scaled, session)
        monkeypatch.setattr(sys.modules["cuda.tile._compile"], "compile_tile", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            launch(module_of(tmp_path).scaled, session)


def test_where_the_front_end_has_looked_at_kernels_nothing_is_known(tmp_path):
    module = module_of(tmp_path, factor="K", before="K = 2.0")
    with hook.enabled("sm_90", device="cpu") as session:
        signature = session._signature(module.scaled, (np.ones(N, np.float32), N))
        launch(module_of(tmp_path).scaled, session)
    compile = sys.modules["cuda.tile._compile"]
    compile.compile_tile(
        module.scaled._annotated_function, (signature,), "sm_90", bytecode_version=session.cutile.bytecode_version, return_cubin=False
    )  # fmt: skip
    module.K = 3.0  # too late
    assert key_of(module) is None


def test_the_first_look_counts(monkeypatch, tmp_path):
    """As in cuTile: what names mean after the first launch is nothing to a kernel, whether the front end was asked or not."""
    change = {"factor": "K * f(1.0)", "before": "K = 2.0\ndef f(x): return x * L\nL = 3.0"}
    for asks in ([1, 1], [0, 1]):
        module = module_of(tmp_path, **change)
        with hook.enabled("sm_90", device="cpu") as session:
            calls = asked(monkeypatch, session)
            assert launch(module.scaled, session) == 6 and sum(calls) == asks[0]
            module.K = 5.0
            del module.L
            tile = N // 2 if asks[0] else N // 4
            assert launch(module.scaled, session, tile) == 6 and sum(calls) == sum(asks)
            assert module.K == 5 and not hasattr(module, "L")


def test_a_changed_cell_is_as_it_was_at_the_first_look(monkeypatch, tmp_path):
    def made(factor):
        @ct.kernel
        def scaled(x, tile: ct.Constant[int]):
            ct.store(x, (0,), ct.load(x, (0,), (tile,)) * factor)

        def change(new):
            nonlocal factor
            factor = new

        return scaled, change

    for _ in range(2):
        kernel, change = made(2.0)
        with hook.enabled("sm_90", device="cpu") as session:
            assert launch(kernel, session) == 2
            change(3.0)
            assert launch(kernel, session, N // 2) == 2
            assert launch(made(3.0)[0], session) == 3


def test_another_state_of_what_is_installed_is_another_key(monkeypatch, tmp_path):
    keys = [key_of(module_of(tmp_path))]
    monkeypatch.setattr("tileiras_build.cutile.compiled_kernel_cache.installation_fingerprint", lambda: "another")
    keys.append(key_of(module_of(tmp_path)))
    monkeypatch.setattr("tileiras_build.cutile.compiled_kernel_cache._read_files", lambda stop_at: (("libdevice", 1),))
    keys.append(key_of(module_of(tmp_path)))
    monkeypatch.setattr("tileiras_build.cutile.compiled_kernel_cache.installation_fingerprint", lambda: None)
    assert len({*keys}) == 3 and key_of(module_of(tmp_path)) is None


def test_the_files_of_the_stages_that_run_count():
    assembled, written = (compiled_kernel_cache._read_files(stage) for stage in ("cubin", "ptx"))
    assert written == assembled[: len(written)]
    assert [Path(file).name for file, *_ in assembled[len(written) :]] == ["ptxas"]


COMPREHENSION = """
def function(x):
    values = [K for K in (1, 2)]
    return x * K
K = {number}
"""


def test_a_name_may_be_a_variable_of_a_comprehension_and_another_elsewhere(tmp_path):
    described = []
    for number in (1.0, 2.0):
        path = tmp_path / "program.py"
        write(path, COMPREHENSION.format(number=number))
        linecache.checkcache()
        space = {"__name__": "program"}
        exec(compile(path.read_text(), path, "exec"), space)
        described.append(kernel_fingerprint._described(space["function"], kernel_fingerprint.FunctionSnapshot()))
    assert described[0] != described[1]


def test_a_damaged_record_is_made_again(monkeypatch, tmp_path):
    for asks in (1, 1, 0):
        with hook.enabled("sm_90", device="cpu") as session:
            calls = asked(monkeypatch, session)
            assert launch(module_of(tmp_path).scaled, session) == 2 and len(calls) == asks
        if asks and not (tmp_path / "damaged").exists():
            (tmp_path / "damaged").touch()
            for record in user_cache().folder.iterdir():
                record.write_bytes(record.read_bytes()[:-1])


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "package"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "code.py").write_text("one")
    monkeypatch.setattr(installation_fingerprint, "PACKAGE", folder)
    monkeypatch.setattr(installation_fingerprint, "_process_start", sys.maxsize)
    return folder


def test_a_changed_file_is_another_state(package, monkeypatch, tmp_path):
    states = [installation_fingerprint.installation_fingerprint.__wrapped__()]
    (package / "inner" / "code.py").write_text("two!")
    states.append(installation_fingerprint.installation_fingerprint.__wrapped__())
    (package / "inner" / "new.py").write_text("")
    states.append(installation_fingerprint.installation_fingerprint.__wrapped__())
    monkeypatch.syspath_prepend(tmp_path / "site")
    (tmp_path / "site" / "library-1.0.dist-info").mkdir(parents=True)
    states.append(installation_fingerprint.installation_fingerprint.__wrapped__())
    assert None not in states and len(set(states)) == 4
    (package / "inner" / "text.txt").write_text("")
    assert installation_fingerprint.installation_fingerprint.__wrapped__() == states[-1]


def test_code_that_was_changed_after_it_had_been_read_has_no_state(package, monkeypatch):
    before = installation_fingerprint.installation_fingerprint.__wrapped__()
    changed = max(path.stat().st_ctime_ns for path in package.rglob("*.py"))
    monkeypatch.setattr(installation_fingerprint, "_process_start", changed)
    assert before is not None and installation_fingerprint.installation_fingerprint.__wrapped__() is None


def test_what_is_known_is_found_out_once(monkeypatch):
    found = []
    for _ in range(2):
        assert installation_fingerprint.cached_lookup("what", lambda: found.append(1) or "that") == "that"
    monkeypatch.setattr(installation_fingerprint, "installation_fingerprint", lambda: None)
    assert installation_fingerprint.cached_lookup("what", lambda: "this") == "this" and found == [1]


def test_the_hooks_of_this_package_are_no_patches_of_the_front_end(monkeypatch):
    """Those of somebody else are."""
    front_end = importlib.import_module("cuda.tile._compile")
    with hook.enabled("sm_90", device="cpu"):
        assert front_end.compile_tile.__module__ == export_kernel_hooks.__name__
        assert kernel_fingerprint.is_front_end_unpatched()
        monkeypatch.setattr(front_end, "compile_tile", lambda *arguments: None)
        assert not kernel_fingerprint.is_front_end_unpatched()
