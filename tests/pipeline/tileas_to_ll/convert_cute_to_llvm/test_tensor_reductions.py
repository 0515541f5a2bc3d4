"""Boxes of shared memory combined with tensors: every form from cute_nvgpu to PTX, and numbers in the emulator."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import numpy as np
import pytest
from xdsl.ir import Operation

from tests.ir.dialects.nvvm.nvvm_kernels import translate
from tests.simulate.emulator.ptx_kernels import aligned
from tileiras_build.ir.dialects.nvvm.llvm_lowering import instruction_row
from tileiras_build.ir.dialects.nvvm.tma_reduce import MODES, REDUCTIONS, TensorReduceOp
from tileiras_build.pipeline import opt
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator.tensor_map import TensorMap

PASSES = ["convert-cute-and-cute-nvgpu-to-llvm", "convert-nvgpu-and-gpu-to-nvvm"]
ARGUMENTS = "%s: !cute.ptr<f16, smem>, %m: !cute_nvgpu.tma_desc, %i: i32, %h: i64"
# (red_op, mode, rank, whether there is a cache hint)
FORMS = [form for mode, ranks in MODES.items() for form in product(REDUCTIONS, [mode], ranks, [False, True])]


def reduction(kind: str, mode: str, rank: int, hinted: bool) -> str:
    """The operation of cute_nvgpu for one form."""
    types = ["!cute_nvgpu.tma_desc", "!cute.ptr<f16, smem>", *["i32"] * rank, *["i64"] * hinted]
    operands = f"%m, %s coords({', '.join(['%i'] * rank)}){' hint(%h)' if hinted else ''}"
    attributes = f'{{kind = "{kind}", mode = "{mode}"}}'
    return f"cute_nvgpu.arch.copy.SM100.tma_reduce {operands} {attributes} : ({', '.join(types)}) -> ()"


@cache
def lowered() -> str:
    """One kernel with every form, as nvvm operations."""
    body = "\n".join(reduction(*form) for form in FORMS)
    return opt.run(f"gpu.module @m {{ gpu.func @k({ARGUMENTS}) kernel {{\n{body}\ngpu.return }} }}", PASSES, sm="90")


def reductions() -> list[Operation]:
    return [op for op in opt.parse_module(lowered()).walk() if isinstance(op, TensorReduceOp)]


@pytest.mark.seed("nvgpu-gpu-to-nvvm", "tma-reduce")
def test_each_reduction_of_a_rank_is_an_intrinsic_of_its_own():
    names = {form: instruction_row(op).intrinsic(op) for form, op in zip(FORMS, reductions(), strict=True)}
    for (kind, mode, rank, _), name in names.items():
        assert name == f"llvm.nvvm.cp.async.bulk.tensor.reduce.{kind}.{mode}.{rank}d"
    assert len(set(names.values())) == 8 * (5 + 3)


@pytest.mark.seed("nvgpu-gpu-to-nvvm", "tma-reduce")
def test_the_operands_are_those_of_a_store():
    for (_, _, rank, hinted), op in zip(FORMS, reductions(), strict=True):
        hints = [value.name_hint for value in op.operands]
        assert hints == ["m", *["i"] * rank, "s", *["h"] * hinted]


@pytest.mark.seed("nvgpu-gpu-to-nvvm", "tma-reduce")
def test_the_assembler_takes_every_form():
    found = re.findall(r"cp\.reduce\.async\.bulk\.tensor\.(\d)d\.global\.shared::cta\.(\w+)\.(\w+)\.bulk_group(\S*)",
                       translate(lowered(), "90"))  # fmt: skip
    spelled = {"tile": "tile", "im2col": "im2col_no_offs"}
    assert found == [
        (str(rank), kind, spelled[mode], ".L2::cache_hint" if hinted else "") for kind, mode, rank, hinted in FORMS
    ]


# The first thread writes 1, 2, 3, 4 to shared memory and combines them with a row of a tensor.
KERNEL = """
gpu.module @m {{
  llvm.mlir.global internal @box() {{addr_space = 3 : i32, alignment = 128 : i64}} : !llvm.array<4 x i32>
  gpu.func @k(%m: !llvm.ptr) kernel {{
    %s = llvm.mlir.addressof @box : !llvm.ptr<3>
    {stores}
    nvvm.fence.proxy.async {{shared}}
    %column = llvm.mlir.constant(0 : i32) : i32
    %row = llvm.mlir.constant(2 : i32) : i32
    cute_nvgpu.arch.copy.SM100.tma_reduce %m, %s coords(%column, %row) {{kind = "{kind}"}}
      : (!llvm.ptr, !llvm.ptr<3>, i32, i32) -> ()
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group {{pending = 0}}
    gpu.return
  }}
}}
"""
STORE = """%v{0} = llvm.mlir.constant({1} : i32) : i32
    %p{0} = llvm.getelementptr %s[{0}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
    llvm.store %v{0}, %p{0} : i32, !llvm.ptr<3>"""


@pytest.mark.seed("nvgpu-gpu-to-nvvm", "tma-reduce")
@pytest.mark.parametrize(("kind", "combine"), [("add", np.add), ("max", np.maximum), ("xor", np.bitwise_xor)])
def test_a_row_is_combined_with_what_is_there(kind, combine):
    stores = "\n    ".join(STORE.format(index, index + 1) for index in range(4))
    ptx = translate(opt.run(KERNEL.format(stores=stores, kind=kind), PASSES, sm="90"), "90")
    tensor = aligned(np.arange(16, dtype=np.uint32).reshape(4, 4) % 5)
    expected = tensor.copy()
    expected[2] = combine(expected[2], np.arange(1, 5, dtype=np.uint32))
    memory = emulator.Memory()
    address = memory.map_array(tensor)
    encoded = TensorMap("u32", address, (4, 4), (16,), (4, 1), (1, 1), "none", "zero").encode()
    place = memory.map_array(aligned(np.frombuffer(encoded, np.uint8).copy()))
    emulator.run_ptx(ptx, "k", 1, (1, 1, 1), [place.to_bytes(8, "little")], memory=memory)
    np.testing.assert_array_equal(tensor, expected)
