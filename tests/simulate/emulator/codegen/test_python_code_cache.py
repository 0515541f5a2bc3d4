"""The cache of compiled Python: later processes reuse records; foreign or damaged records are ignored."""

import os

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import aligned, kernel, run
from tileiras_build.simulate.emulator.codegen import python_code_cache
from tileiras_build.simulate.emulator.codegen.python_code_cache import PythonCodeCache
from tileiras_build.simulate.emulator.ptx import program

PTX, ENTRY, FILE = "text", "kernel", "<ptx kernel:0>"
SOURCE = "def block_0(g):\n    return g + 1\n"


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """The cache folder, without a minimum compilation time."""
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", str(tmp_path))
    monkeypatch.setattr(python_code_cache, "MIN_COMPILE_SECONDS", 0)
    return tmp_path / f"local-{os.geteuid()}"


@pytest.fixture
def compiled(monkeypatch):
    """The sources that are compiled."""
    texts = []
    noted = lambda source, file, mode: (texts.append(source), compile(source, file, mode))[1]
    monkeypatch.setattr(python_code_cache, "compile", noted, raising=False)
    return texts


def value(one: PythonCodeCache, source: str = SOURCE, file: str = FILE) -> int:
    """The result of a function; stores the cache afterwards."""
    scope: dict = {}
    code = one.code(source, file)
    assert code.co_filename == file
    exec(code, scope)
    one.store()
    return scope["block_0"](4)


def test_next_process_compiles_nothing(folder, compiled):
    assert [value(PythonCodeCache(PTX, ENTRY)) for _ in range(3)] == [5] * 3 and compiled == [SOURCE]


def test_later_functions_are_added_to_the_record(folder, compiled):
    more = SOURCE.replace("1", "2")
    one = PythonCodeCache(PTX, ENTRY)
    assert (value(one), value(one, more)) == (5, 6)
    assert (value(PythonCodeCache(PTX, ENTRY), more), value(PythonCodeCache(PTX, ENTRY))) == (6, 5)
    assert value(PythonCodeCache(PTX, ENTRY), more) == 6 and compiled == [SOURCE, more]


def test_other_sources_and_file_names_are_compiled(folder, compiled):
    one = PythonCodeCache(PTX, ENTRY)
    value(one), value(one, file="<ptx kernel:7>"), value(one, SOURCE + " ")
    assert len(compiled) == 3


@pytest.mark.parametrize("other", [("other text", ENTRY), (PTX, "other")])
def test_each_kernel_has_its_own_record(folder, compiled, other):
    value(PythonCodeCache(PTX, ENTRY)), value(PythonCodeCache(*other))
    assert len(compiled) == 2 and len(os.listdir(folder)) == 2


@pytest.mark.parametrize("change", ["version", "flags"])
def test_another_python_ignores_the_record(folder, compiled, change, monkeypatch):
    value(PythonCodeCache(PTX, ENTRY))

    class Other:
        version = "3.99"
        flags = type("Flags", (), {"optimize": 2})

    class Python:
        version = Other.version if change == "version" else python_code_cache.sys.version
        flags = Other.flags if change == "flags" else python_code_cache.sys.flags

    monkeypatch.setattr(python_code_cache, "sys", Python)
    value(PythonCodeCache(PTX, ENTRY))
    assert len(compiled) == 2


@pytest.mark.parametrize("size", [0, 20, 32, 90])
def test_truncated_record_is_ignored(folder, compiled, size):
    value(PythonCodeCache(PTX, ENTRY))
    (name,) = os.listdir(folder)
    os.truncate(folder / name, size)
    assert value(PythonCodeCache(PTX, ENTRY)) == value(PythonCodeCache(PTX, ENTRY)) == 5 and len(compiled) == 2


def test_modified_record_is_ignored(folder, compiled):
    value(PythonCodeCache(PTX, ENTRY))
    (name,) = os.listdir(folder)
    data = bytearray((folder / name).read_bytes())
    data[-1] ^= 1
    (folder / name).write_bytes(data)
    assert value(PythonCodeCache(PTX, ENTRY)) == 5 and len(compiled) == 2


def test_folder_writable_by_others_is_not_read(folder, compiled):
    value(PythonCodeCache(PTX, ENTRY))
    folder.chmod(0o722)
    assert value(PythonCodeCache(PTX, ENTRY)) == 5 and len(compiled) == 2


def test_short_compilations_are_not_stored(folder, compiled, monkeypatch):
    monkeypatch.setattr(python_code_cache, "MIN_COMPILE_SECONDS", 1)
    assert value(PythonCodeCache(PTX, ENTRY)) == 5 and not folder.exists()


def test_cache_can_be_disabled(compiled, monkeypatch):
    monkeypatch.setattr(python_code_cache, "MIN_COMPILE_SECONDS", 0)
    assert [value(PythonCodeCache(PTX, ENTRY)) for _ in range(2)] == [5] * 2 and len(compiled) == 2


def test_maximum_functions_of_a_record(folder, compiled, monkeypatch):
    monkeypatch.setattr(python_code_cache, "MAX_FUNCTIONS", 2)
    one, other = PythonCodeCache(PTX, ENTRY), PythonCodeCache(PTX, ENTRY)
    value(one), value(one, SOURCE + "#")
    value(other, SOURCE + "##")
    value(PythonCodeCache(PTX, ENTRY), SOURCE + "##")
    assert len(compiled) == 3
    value(PythonCodeCache(PTX, ENTRY))
    assert len(compiled) == 4


def test_launch_stores_its_functions(folder, compiled):
    def launch() -> list[int]:
        out = aligned(np.zeros(32, np.uint32))
        run(kernel("mov.u32 t0, %tid.x; mad.wide.u32 u4, t0, 4, u0; st.global.u32 [u4], t0;", 1, 32), out)
        program.load.cache_clear()
        return out.tolist()

    assert launch() == list(range(32)) and compiled
    before = len(compiled)
    assert launch() == list(range(32)) and len(compiled) == before
