"""tools/fuzz_input_readers.py: the same inputs for a seed, a few of each kind, and it notices what may not happen."""

import os

import pytest

from tileiras_build.core.errors import InternalError, InvalidInput
from tools import fuzz_input_readers
from tools.fuzz_input_readers import KINDS, Input, Kind, Seeds, check_all, check_input, plan

FEW = {"tileaa": 3, "tileas": 2, "ll": 2, "ptx": 2, "cubin": 4, "build": 2}


@pytest.fixture(scope="module")
def seeds():
    return Seeds(small=True)


@pytest.fixture(autouse=True)
def dumps(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEIRAS_DUMP", str(tmp_path / "dump"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_inputs_of_each_kind(kind, seeds, tmp_path):
    for number in range(FEW.get(kind, 12)):
        assert check_input(Input(kind, number, 99), seeds, tmp_path / "work", limited=False) is None


def test_inputs_are_the_same_for_a_seed(seeds):
    first, again = (Input("asm", 3, 1).make(seeds)[0] for _ in range(2))
    assert first == again != Input("asm", 3, 2).make(seeds)[0]


def test_every_kind_is_planned():
    inputs = plan(list(KINDS), 1000, 1)
    assert len(inputs) == 1000 and {one.kind for one in inputs} == set(KINDS)


def crash(*arguments):
    os._exit(7)


def loop(*arguments):
    while True:
        pass


def broken_contract(*arguments):
    raise InternalError("x", "our fault")


FAULTS = {
    "trace": (lambda *arguments: {}["x"], "KeyError"),
    "internal": (broken_contract, "internal error"),
    "crash": (crash, "the process ended with 7"),
    "hang": (loop, "no answer"),
}


@pytest.mark.parametrize("read, said", FAULTS.values(), ids=FAULTS)
def test_what_may_not_happen_is_noticed(read, said, seeds, tmp_path, monkeypatch):
    def through_the_command(data, folder, chance):
        monkeypatch.setattr(fuzz_input_readers, "command", lambda words: _answer(read))
        fuzz_input_readers.run_command("dis", "k")

    monkeypatch.setattr(fuzz_input_readers, "HUNG_SECONDS", 1.0)
    monkeypatch.setitem(KINDS, "bad", Kind(lambda seeds: [b"x"], lambda data, chance: data, through_the_command, 1))
    [(one, problem)] = check_all([Input("bad", 0, 1)], seeds, tmp_path)
    assert one.kind == "bad" and said in problem


def _answer(read) -> int:
    """As the command does: a diagnostic is a line and an exit code."""
    import sys

    try:
        read()
    except InternalError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def test_a_refusal_is_no_fault(seeds, tmp_path, monkeypatch):
    def refuse(words):
        print(InvalidInput("x", "bad input"))
        return 1

    monkeypatch.setattr(fuzz_input_readers, "command", refuse)
    assert list(check_all([Input("asm", 0, 1), Input("asm", 1, 1)], seeds, tmp_path)) == []
