"""tools/seed_row_coverage.py: what was seen to run says of each mutation whether its text was at work."""

from dataclasses import replace

import pytest

from tools.seed_mutations import Mutation, find_file, read_mutations
from tools.seed_row_coverage import ROOT, Evidence, Reach

GUARD = find_file("llvm_ir_checks.py")
QUERIES = find_file("index_queries.py")
IN_A_FUNCTION = Mutation("d", "r", GUARD, "if known and (need is None or target.has(need)):", "if known:")
IN_A_TABLE = Mutation("d", "r", QUERIES, 'gpu.LaneIdOp: ("laneid"', 'gpu.LaneIdOp: ("warpsize"')


def evidence(name: str) -> Evidence:
    """That a function of a module was entered."""
    from tileiras_build.pipeline.ll_to_ptx import llvm_ir_checks
    from tileiras_build.pipeline.tileas_to_ll.convert_nvgpu_and_gpu_to_nvvm import index_queries

    code = getattr(llvm_ir_checks, name, None) or getattr(index_queries, name)
    return Evidence({0: code.__code__})


def test_a_text_in_a_function_is_at_work_where_the_function_runs():
    assert Reach(evidence("_check_nvvm")).has(IN_A_FUNCTION)
    assert not Reach(evidence("check_types")).has(IN_A_FUNCTION)


def test_an_entry_of_a_table_is_at_work_where_a_function_names_it_and_its_operation_is_made():
    seen = evidence("convert_index_query")
    assert not Reach(seen).has(IN_A_TABLE)
    assert Reach(replace(seen, operations={"LaneIdOp"})).has(IN_A_TABLE)
    assert not Reach(replace(evidence("check_types"), operations={"LaneIdOp"})).has(IN_A_TABLE)


@pytest.mark.parametrize("kind", ["_lines.text.replace(", "emit_assembly(module)).replace("])
def test_words_that_llvm_gets_or_prints(kind):
    mutation = next(one for one in read_mutations() if kind in one.new)
    [word] = [word for word in [mutation.new.partition("replace('")[2].partition("', '")[0]] if word]
    word = word.encode().decode("unicode_escape")
    assert Reach(Evidence(words={word})).has(mutation) and not Reach(Evidence()).has(mutation)


def test_files_are_those_of_the_repository():
    assert (ROOT / GUARD).exists()
