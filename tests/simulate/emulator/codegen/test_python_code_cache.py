"""Compiled Python of kernels: what one process compiles for a while the next ones find; what is foreign or damaged is compiled."""

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
    """Where it is kept; what takes no time is worth it."""
    monkeypatch.setenv("TILEIRAS_CUTILE_CACHE", str(tmp_path))
    monkeypatch.setattr(python_code_cache, "MIN_COMPILE_SECONDS", 0)
    return tmp_path / f"local-{os.geteuid()}"


@pytest.fixture
def compiled(monkeypatch):
    """The texts that Python is given."""
    texts = []
    noted = lambda source, file, mode: (texts.append(source), compile(source, file, mode))[1]
    monkeypatch.setattr(python_code_cache, "compile", noted, raising=False)
    return texts


def value(one: PythonCodeCache, source: str = SOURCE, file: str = FILE) -> int:
    """What a function gives, after which all is kept."""
    scope: dict = {}
    code = one.code(source, file)
    assert code.co_filename == file
    exec(code, scope)
    one.store()
    return scope["block_0"](4)


def test_the_next_process_compiles_nothing(folder, compiled):
    assert [value(PythonCodeCache(PTX, ENTRY)) for _ in range(3)] == [5] * 3 and compiled == [SOURCE]


def test_functions_that_come_later_are_kept_with_those_before(folder, compiled):
    more = SOURCE.replace("1", "2")
    one = PythonCodeCache(PTX, ENTRY)
    assert (value(one), value(one, more)) == (5, 6)
    assert (value(PythonCodeCache(PTX, ENTRY), more), value(PythonCodeCache(PTX, ENTRY))) == (6, 5)
    assert value(PythonCodeCache(PTX, ENTRY), more) == 6 and compiled == [SOURCE, more]


def test_other_texts_and_other_names_of_theirs_are_compiled(folder, compiled):
    one = PythonCodeCache(PTX, ENTRY)
    value(one), value(one, file="<ptx kernel:7>"), value(one, SOURCE + " ")
    assert len(compiled) == 3


@pytest.mark.parametrize("other", [("other text", ENTRY), (PTX, "other")])
def test_kernels_have_records_of_their_own(folder, compiled, other):
    value(PythonCodeCache(PTX, ENTRY)), value(PythonCodeCache(*other))
    assert len(compiled) == 2 and len(os.listdir(folder)) == 2


@pytest.mark.parametrize("change", ["version", "flags"])
def test_another_python_compiles_itself(folder, compiled, change, monkeypatch):
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
def test_what_is_cut_short_is_compiled(folder, compiled, size):
    value(PythonCodeCache(PTX, ENTRY))
    (name,) = os.listdir(folder)
    os.truncate(folder / name, size)
    assert value(PythonCodeCache(PTX, ENTRY)) == value(PythonCodeCache(PTX, ENTRY)) == 5 and len(compiled) == 2


def test_what_is_changed_is_compiled(folder, compiled):
    value(PythonCodeCache(PTX, ENTRY))
    (name,) = os.listdir(folder)
    data = bytearray((folder / name).read_bytes())
    data[-1] ^= 1
    (folder / name).write_bytes(data)
    assert value(PythonCodeCache(PTX, ENTRY)) == 5 and len(compiled) == 2


def test_a_folder_that_others_may_write_to_is_not_read(folder, compiled):
    value(PythonCodeCache(PTX, ENTRY))
    folder.chmod(0o722)
    assert value(PythonCodeCache(PTX, ENTRY)) == 5 and len(compiled) == 2


def test_what_takes_little_is_not_kept(folder, compiled, monkeypatch):
    monkeypatch.setattr(python_code_cache, "MIN_COMPILE_SECONDS", 1)
    assert value(PythonCodeCache(PTX, ENTRY)) == 5 and not folder.exists()


def test_nothing_is_kept_where_the_user_wants_nothing(compiled, monkeypatch):
    monkeypatch.setattr(python_code_cache, "MIN_COMPILE_SECONDS", 0)
    assert [value(PythonCodeCache(PTX, ENTRY)) for _ in range(2)] == [5] * 2 and len(compiled) == 2


def test_a_record_has_no_more_than_so_many_functions(folder, compiled, monkeypatch):
    monkeypatch.setattr(python_code_cache, "MAX_FUNCTIONS", 2)
    one, other = PythonCodeCache(PTX, ENTRY), PythonCodeCache(PTX, ENTRY)
    value(one), value(one, SOURCE + "#")
    value(other, SOURCE + "##")
    value(PythonCodeCache(PTX, ENTRY), SOURCE + "##")
    assert len(compiled) == 3
    value(PythonCodeCache(PTX, ENTRY))
    assert len(compiled) == 4


def test_a_launch_leaves_its_functions_for_the_next_process(folder, compiled):
    def launch() -> list[int]:
        out = aligned(np.zeros(32, np.uint32))
        run(kernel("mov.u32 t0, %tid.x; mad.wide.u32 u4, t0, 4, u0; st.global.u32 [u4], t0;", 1, 32), out)
        program.load.cache_clear()
        return out.tolist()

    assert launch() == list(range(32)) and compiled
    before = len(compiled)
    assert launch() == list(range(32)) and len(compiled) == before
