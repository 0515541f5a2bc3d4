"""Kernels on multicast objects: the emulator's copies equal the interpreter's, and the instructions are as wide as they may be."""

import pytest

from tests.pipeline.tileas_to_ll.memory.multimem_kernels import reduce_and_store
from tileiras_build import driver
from tileiras_build.core.errors import TileirasError
from tileiras_build.ir.bytecode.opcodes import V13_5
from tileiras_build.ir.bytecode.reader import read_module
from tileiras_build.ir.bytecode.text_parser import assemble
from tileiras_build.simulate.interpreter.compare_with_compiled import ExpectedMemory, run_in_emulator
from tileiras_build.simulate.interpreter.derive_inputs import derive_inputs

TILE = ((60, 64), (64, 1), (32, 64))  # of the last tile four rows are outside


@pytest.mark.parametrize("sm", ["sm_90", "sm_100"])
@pytest.mark.parametrize("element, shapes, load, add, words", [
    ("f32", TILE, "add", "add", "add.v4.f32"),
    ("f16", TILE, "max", "add", "max.v4.f16x2"),
    ("bf16", TILE, "add", "add", "add.acc::f32.v4.bf16x2"),
    ("bf16", ((8, 4), (4, 1), (2, 4)), "add", "add", "add.acc::f32.bf16x2"),
    ("f16", ((64, 64), (1, 64), (32, 64)), "add", "add", "add.acc::f32.v4.f16x2"),
    ("f64", TILE, "add", "add", "add.f64"),
    ("i32", TILE, "min", "xor", "min.s32"),
    ("i64", TILE, "umax", "add", "max.u64"),
])  # fmt: skip
def test_copies_are_reduced_updated_and_stored(element, shapes, load, add, words, sm):
    data = assemble(reduce_and_store(element, *shapes, load, add), version=V13_5)
    artifacts = driver.compile(data, sm, stop_at="ptx")
    assert f"multimem.ld_reduce.relaxed.sys.global.{words} " in artifacts.ptx
    module = read_module(data)
    inputs = derive_inputs(module, "k", grid=(2, 1, 1))
    expected = ExpectedMemory(module, "k", inputs)
    assert not expected.compare(run_in_emulator(artifacts, "k", inputs))


def test_other_gpus_refuse():
    with pytest.raises(TileirasError, match="multimem-target.*sm_80 has no multimem instructions"):
        driver.compile(assemble(reduce_and_store("f32", *TILE, "add", "add"), version=V13_5), "sm_80", stop_at="ll")
