"""What was made before it was asked for: of the same call with the same files, once, and not without end."""

from tileiras_build.workers.executor.speculative_steps import SpeculativeResults

CALL = b"data", ".ll", ".ptx"
MADE = {".ptx": b"x" * 10}, None


def test_an_outcome_is_taken_once():
    outcomes = SpeculativeResults()
    outcomes.put((), CALL, MADE)
    assert outcomes.take((), CALL) is MADE
    assert outcomes.take((), CALL) is None


def test_only_the_same_call_with_the_same_files_takes_it():
    outcomes = SpeculativeResults()
    outcomes.put(("ptxas 7",), CALL, MADE)
    assert outcomes.take(("ptxas 8",), CALL) is None
    assert outcomes.take(("ptxas 7",), (b"other", *CALL[1:])) is None
    assert outcomes.take(("ptxas 7",), (*CALL[:2], ".cubin")) is None
    assert outcomes.take(("ptxas 7",), CALL) is MADE


def test_the_oldest_go_where_they_are_too_much():
    outcomes = SpeculativeResults(max_bytes=25)
    calls = [(bytes([number]), ".ll", ".ptx") for number in range(4)]
    for call in calls:
        outcomes.put((), call, MADE)
        outcomes.put((), call, MADE)
    assert [outcomes.take((), call) is MADE for call in calls] == [False, False, True, True]
