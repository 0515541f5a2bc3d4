"""The bounds that the pipeline verifier assumes let each loop run."""

import pytest

from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.pipeline.verifiers.assumed_loop_bounds import assumed_bounds

# The bounds of two loops in their order: arguments of the kernel, or 8.
LOOPS = [(("%0", "%1"), ("%1", "%2")), (("%1", "%2"), ("%0", "%1")), (("%0", "%8"), ("%1", "%0")), (("%0", "%1"),) * 2]


def kernel(loops):
    """A kernel with loops in steps of 2."""
    text = "".join(
        f"  nv_tileas.for {lower}, {upper}, %9 : (i32, i32, i32) -> () {{\n  ^bb0(%1{number}: i32):\n    nv_tileas.continue\n  }}\n"
        for number, (lower, upper) in enumerate(loops)
    )
    constants = "".join(f"  %{name} = arith.constant {value} : i32\n" for name, value in ((8, 8), (9, 2)))
    body = f"^bb0(%0: i32, %1: i32, %2: i32):\n{constants}{text}  nv_tileaa.return"
    module = parse(f"nv_tileaa.func @k {{\n{body}\n}}\n".encode(), "k.mlir")
    return next(iter(module.body.block.ops))


@pytest.mark.parametrize("loops", LOOPS)
@pytest.mark.parametrize("trips", [0, 3])
def test_loops_that_share_bounds(loops, trips):
    func = kernel(loops)
    assumed = assumed_bounds(func, (trips, trips))
    for loop in (op for op in func.walk() if op.name == "nv_tileas.for"):
        lower, upper = (assumed.get(bound, 8) for bound in loop.operands[:2])
        assert upper - lower == 2 * trips


def test_a_loop_until_break_may_count_to_the_first_bound():
    func = kernel(LOOPS[0][1:])
    lower = next(op for op in func.walk() if op.name == "nv_tileas.for").operands[0]
    assert assumed_bounds(func, (3, 3))[lower] == 6
