"""A process that wrote an artifact need not parse it; any other bytes are parsed."""

from itertools import pairwise

import pytest

from tests.examples.example_library import bytecode_of
from tileiras_build import driver
from tileiras_build.pipeline import tile_ir_text_format
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.stages import STAGES
from tileiras_build.target.targets import find_target
from tileiras_build.workers.executor import written_modules

JOB = Job(find_target("sm_90"), lineinfo=True)
TO_LL = STAGES[: [stage.name for stage in STAGES].index("ll") + 1]


@pytest.fixture
def parsed(monkeypatch):
    """The texts that were parsed in a process that keeps modules."""
    texts: list[bytes] = []
    decode = tile_ir_text_format.decode
    monkeypatch.setattr(tile_ir_text_format, "decode", lambda data, name: texts.append(data) or decode(data, name))
    monkeypatch.setattr(written_modules, "_written", written_modules._written)
    written_modules.keep_written()
    return texts


def files(edit=lambda data: data) -> list[bytes]:
    """The files of a kernel up to LLVM IR, made one from the other, each after ``edit``."""
    made = [bytecode_of("matmul_f16_nt")]
    for before, stage in pairwise(TO_LL):
        data = edit(made[-1]) if len(made) > 1 else made[-1]
        made.append(driver.lower(data, before.suffix, stage.suffix, JOB, "k")[stage.suffix])
    return made


def test_modules_in_memory_give_the_files_of_parsed_text(parsed):
    in_memory = files()
    assert not parsed
    edited = files(lambda data: data + b"\n")
    assert len(parsed) == 2
    assert edited == in_memory


def test_another_text_than_the_written_one_is_parsed(parsed):
    first = files()[1]
    changed = first.replace(b"examples/kernels", b"elsewhere")
    assert changed != first
    driver.lower(first, ".tileaa", ".tileas", JOB, "k")
    driver.lower(changed, ".tileaa", ".tileas", JOB, "k")
    assert parsed == [first, changed]


def test_a_module_is_taken_once_and_the_oldest_goes(parsed):
    for number in range(written_modules.MOST + 1):
        written_modules.put(".tileaa", b"%d" % number, number)
    assert written_modules.take(".tileaa", b"0") is None
    assert written_modules.take(".tileas", b"1") is None
    assert [written_modules.take(".tileaa", b"1") for _ in range(2)] == [1, None]


def test_only_workers_keep_modules():
    written_modules.put(".tileaa", b"text", 1)
    assert written_modules.take(".tileaa", b"text") is None
