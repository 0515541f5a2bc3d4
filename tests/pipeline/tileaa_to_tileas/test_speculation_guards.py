"""Scalars that are computed where the program does not come to them divide by no 0, and change nothing that it does."""

from pathlib import Path

import numpy as np
import pytest

from tests.emulated_kernels import compiled, run
from tests.pairwise import alternate
from tileiras_build.simulate.emulator.errors import EmulatorFault

KERNELS = Path(__file__).with_name("speculated_places.py")
SMS = ("sm_80", "sm_90", "sm_100", "sm_120")
PLACES = {
    "divided": lambda k, trips, number: k // number,
    "remaining": lambda k, trips, number: k % number,
    "until_zero": lambda k, trips, number: number // (trips - k),
    "shifted": lambda k, trips, number: number >> (k * 16),
}
K = 32


def launched(name, sm, trips, number, **options):
    """What a kernel leaves, and what its loop would add up."""
    rng = np.random.default_rng(trips)
    a, b = rng.integers(-2, 3, (64, 8 * K)).astype(np.float16), rng.integers(-2, 3, (8 * K, 64)).astype(np.float16)
    found = run(KERNELS, name, sm, [a, b, np.full((64, 64), 9, np.float32), trips, number], **options)[2]
    lines = [slice(K * at, K * at + K) for at in (PLACES[name](k, trips, number) for k in range(trips))]
    dots = (a[:, line].astype(np.float32) @ b[line].astype(np.float32) for line in lines)
    return found, sum(dots, np.zeros((64, 64), np.float32))


@pytest.mark.parametrize(("name", "sm"), alternate(["divided", "remaining"], SMS))
def test_a_loop_without_trips_divides_by_nothing(name, sm):
    """LLVM takes from a division in front of it that the divisor is not 0, and drops what is done where it is."""
    found, _ = launched(name, sm, 0, 0)
    assert (found == 1).all()


@pytest.mark.parametrize(
    ("name", "trips", "number"),
    [("divided", 5, 2), ("divided", 1, -1), ("remaining", 5, 3), ("until_zero", 3, 4), ("shifted", 2, 5)],
)
def test_places_are_those_of_the_iterations(name, trips, number):
    found, wanted = launched(name, "sm_80", trips, number)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", PLACES)
def test_no_division_in_llvm_ir_is_by_what_may_be_0(name):
    """Nor by -1, nor a shift by all bits, but in the loop where the program has it: each is of a chosen number."""
    lines = compiled(KERNELS, name, "sm_80").ll.splitlines()
    chosen = {line.split(" = ")[0].strip() for line in lines if " = select " in line}
    of_no_number = [line.split()[-1] for line in lines if any(f" {op} " in line for op in ("sdiv", "srem", "ashr"))]
    variable = [last for last in of_no_number if last.startswith("%")]
    assert variable and set(variable) <= chosen


@pytest.mark.parametrize(("options", "sm"), alternate([{}, {"persistent": 1}], SMS))
def test_a_division_behind_an_assertion_is_not_made_before_it(sm, options):
    """LLVM would take from it that the assertion holds."""
    with pytest.raises(EmulatorFault, match="assertion failed: no divisor"):
        launched_once(sm, 0, **options)


def launched_once(sm, divisor, **options):
    a, b = np.ones((64, K), np.float16), np.ones((K, 64), np.float16)
    return run(KERNELS, "asserted", sm, [a, b, np.full((64, 64), 9, np.float32), 1, divisor], **options)[2]
