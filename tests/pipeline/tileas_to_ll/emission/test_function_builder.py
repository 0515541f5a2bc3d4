"""What several operations compute is computed once where the code at hand may use it, and anew elsewhere."""

from tileiras_build.pipeline.common.llvm_type_constructors import I32
from tileiras_build.pipeline.tileas_to_ll.emission.instruction_builder import InstructionBuilder


def test_what_one_way_through_the_code_has_computed_is_not_reused_in_the_other():
    b, made = InstructionBuilder(), []

    def compute():
        made.append(b.add(b.mul(b.undefined(I32), 3), 5))
        return made[-1]

    def way():
        return b.get_or_create(("add",), compute), b.get_or_create(("add",), compute)

    [(first, _), (second, _)] = b.if_else(1, way, way)
    assert first[0] is first[1] and second[0] is second[1]
    assert first[0] is not second[0] and len(made) == 2
    assert b.get_or_create(("add",), compute) is b.get_or_create(("add",), compute) and len(made) == 3
