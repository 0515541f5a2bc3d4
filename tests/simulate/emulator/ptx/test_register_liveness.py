"""Liveness of registers, for any order of queries."""

import random

import pytest

from tileiras_build.simulate.emulator.ptx.program import load

LENGTH = 300  # instructions of a block, more than the distance of checkpoints


def long_program():
    """One block whose instructions read two earlier registers each; some are predicated."""
    chosen = random.Random(7)
    lines = []
    for number in range(3, LENGTH):
        guard = "@%p1 " if number % 5 == 0 else ""
        lines.append(f"{guard}add.u32 %r{number % 40}, %r{chosen.randrange(40)}, %r{chosen.randrange(40)};")
    head = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n"
    body = "\n".join(["setp.eq.u32 %p1, %r1, 0;", *lines, "st.global.u32 [%rd1], %r7;", "ret;"])
    return load(f"{head}{{\n.reg .pred %p<2>; .reg .b32 %r<40>; .reg .b64 %rd<2>;\n{body}\n}}\n", "k")


def lives(program) -> list[int]:
    """The live registers before each instruction, by a backward scan."""
    live, found = 0, []
    for pc in reversed(range(len(program.code))):
        if program.code[pc].predicate is None:
            live &= ~program.writes[pc]
        live |= program.reads[pc]
        found.append(live)
    return found[::-1]


@pytest.mark.parametrize("seed", range(3))
def test_liveness_is_independent_of_the_order_of_queries(seed):
    program = long_program()
    places = random.Random(seed).sample(range(len(program.code)), len(program.code))
    expected = lives(program)
    assert [program.lives.at(pc) for pc in places] == [expected[pc] for pc in places]
    assert len(set(expected)) > 50
