"""tools/cutile_conformance.py: a failure is called a matter of rounding only where it is one; reruns replace cases."""

import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest

from tools import cutile_conformance as tool


def message(relative: str) -> str:
    return f"AssertionError: Tensor-likes are not equal!\n\nGreatest relative difference: {relative} at index (0,)"


@pytest.mark.parametrize(
    ("relative", "name", "rounds"),
    [
        ("1.16e-07", "test_array_root_ops[sqrt-f32]", True),
        ("9.8e-4", "test_cast[RoundingMode.RA-True]", False),
        ("1.0", "test_array_astype[bool-f32]", False),
        ("6.6e-4", "test_array_trig[f16-sinh]", True),
        ("0.0078125", "test_array_trig[bf16-sinh]", True),
        ("inf", "test_array_trig[f32-sinh]", False),
        ("5e-07", "test_array_trig[f32-sin]", False),
    ],
)
def test_rounding_is_two_units_in_the_last_place(relative, name, rounds):
    assert tool.is_rounding(message(relative), name) is rounds
    assert (tool.reason_of(message(relative), name) == tool.ROUNDS) is rounds


@pytest.mark.parametrize(
    ("message", "reason", "within"),
    [
        ("assert 1 == 0\nthe driver refused: cuLaunchKernelEx: kernel k: 1 threads along axis 0, it was compiled for 32",
         "launches a cubin itself, as those of NVIDIA's tileiras: with one thread a block", False),
        ("MLIR translation rule for primitive 'cutile_call_ffi' not found for platform cpu", "needs JAX on a GPU", False),
        ("the driver refused: cuMemFree: 0x10 is the start of no allocation",
         "the driver refused: cuMemFree: 0x10 is the start of no allocation", True),
    ],
)  # fmt: skip
def test_what_the_driver_refuses_counts_unless_a_reason_is_known(message, reason, within):
    assert tool.reason_of(message, "test_it") == reason
    assert (reason not in tool.ENVIRONMENT) is within


def case(name: str, file: str, message: str | None = None) -> str:
    inside = "" if message is None else f'<failure message="{message}"/>'
    return f'<testcase classname="test.{file}.TestThing" name="{name}">{inside}</testcase>'


def test_rerun_files_replace_their_cases(tmp_path):
    whole, part = tmp_path / "sm_90.xml", tmp_path / "sm_90.part"
    old = case("a", "test_cast", "Timeout") + case("gone", "test_cast") + case("b", "test_other")
    whole.write_text(f"<testsuites><testsuite>{old}</testsuite></testsuites>")
    part.write_text(f"<testsuites><testsuite>{case('a', 'test_cast')}</testsuite></testsuites>")
    tool.replace_cases(whole, part)
    counts = tool.read_results(whole)
    assert counts == {"test_cast": {"passed": 1}, "test_other": {"passed": 1}}
    assert not part.exists()
    assert len(list(ElementTree.parse(whole).iter("testsuite"))) == 1


def test_tables_count_by_target_and_by_reason():
    jax, other = "failed: needs JAX on a GPU", "failed: wrong"
    first = {"test_jax": Counter({"passed": 2, jax: 3}), "test_cast": Counter({"passed": 4, jax: 1})}
    second = {"test_jax": Counter({"passed": 5, other: 1, "skipped: a | b": 2})}
    results = {"sm_80": first, "sm_90": second}
    assert list(tool.totals(results))[2:] == [
        "| pass | 6 | 5 |",
        "| fail, within reach | 0 | 1 |",
        "| out of reach | 4 | 0 |",
        "| skipped | 0 | 2 |",
    ]
    assert list(tool.reasons(results))[2:] == [
        f"| {jax} | 4 | 0 | cast, jax |",
        f"| {other} | 0 | 1 | jax |",
        "| skipped: a / b | 0 | 2 | jax |",
    ]
