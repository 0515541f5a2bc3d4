"""The kernels of a corpus that lies beside the project, in the versions 13.4 and 13.5 of the bytecode: the same results."""

from pathlib import Path

import pytest

from tests import compiled_once
from tests.corpus.compare_results import DIFFERENT, EQUAL, compare, instructions, operations, pairs

CORPUS = Path(__file__).resolve().parents[3] / "shared/corpus_tilecpp"
OLDER, NEWER = CORPUS / "13.4", CORPUS / "13.5"
NAMES = pairs(OLDER, NEWER, []) if CORPUS.is_dir() else []
SAMPLE = (
    "relu_activation_fwd_kernel-2510",
    "softmax_kernel-3755",
    "geglu_fwd_kernel-e85c",
    "moe_align_block_size_stage2-0d49",
)
# These take minutes (their arrays have tens of millions of elements), or many seconds: compare_results.py runs them.
LARGE = ("fused_moe_kernel", "chunk_gated_delta_rule", "prefill_fmha_fwd", "recurrent_gated_delta_rule")
RUN = [name for name in NAMES if not name.startswith(LARGE)]
MARKED = [name if name.startswith(SAMPLE) else pytest.param(name, marks=pytest.mark.exhaustive) for name in RUN]


@pytest.mark.skipif(not NAMES, reason="the corpus of CUDA Tile C++ is not beside the project")
@pytest.mark.parametrize("name", MARKED)
def test_both_versions_of_a_kernel_give_the_same_values(name):
    """The same operations give them, whatever they compile to: of such kernels only the sample runs."""
    older, newer = ((folder / name).read_bytes() for folder in (OLDER, NEWER))
    if not name.startswith(SAMPLE) and operations(older) == operations(newer):
        return
    for outcome in compare(older, newer, "sm_90", compiled_once.compiled):
        assert outcome.result == EQUAL and outcome.changed > 0, str(outcome)


ADD = """
cuda_tile.module @m {{
  entry @k(%p: tile<ptr<i32>>) {{
    %number = constant <i32: {number}> : tile<i32>
    %token = make_token : token
    %stored = store_ptr_tko weak %p, %number token=%token : tile<ptr<i32>>, tile<i32> -> token
    return
  }}
}}
"""


def test_other_values_are_reported():
    from tileiras_build.ir.bytecode.text_parser import parse_text
    from tileiras_build.ir.bytecode.writer import write_module

    one, other = (write_module(parse_text(ADD.format(number=number))) for number in (7, 9))
    for newer, result in ((one, EQUAL), (other, DIFFERENT)):
        (outcome,) = compare(one, newer, "sm_90", compiled_once.compiled)
        assert (outcome.result, outcome.same_code, outcome.changed) == (result, result == EQUAL, 1)


def test_operations_that_differ_are_seen():
    from tileiras_build.ir.bytecode.text_parser import parse_text
    from tileiras_build.ir.bytecode.writer import write_module

    first, again, other = (operations(write_module(parse_text(ADD.format(number=number)))) for number in (7, 7, 9))
    assert first == again != other and len(first) == len(other)


def test_source_positions_are_no_instructions():
    assert instructions('.file 1 "a.cu"\n.loc 1 2 3 // here\n\tret; // done\n// nothing\n') == ["ret;"]
