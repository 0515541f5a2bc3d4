"""References to memory in MLIR's text form."""

from __future__ import annotations

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.pipeline.opt import run

LINES = [
    'memref.global "private" @a : memref<0xf16, 3>',
    'memref.global constant @b : memref<2xi32> = dense<[1, 2]> {alignment = 64 : i64}',
    'memref.global @c : memref<4xf32, 3> = uninitialized',
]
BODY = [
    "%r = memref.cast %m : memref<4xf32> to memref<*xf32>",
    "%r = memref.memory_space_cast %m : memref<4xf32> to memref<4xf32, 1>",
    "%r = memref.extract_aligned_pointer_as_index %m : memref<4xf32> -> index",
    "%r = memref.get_global @g : memref<4xf32>",
]


@pytest.mark.parametrize("line", LINES)
def test_a_global_reads_back(line):
    printed = run(f"builtin.module {{\n{line}\n}}", [])
    assert run(printed, []) == printed and line.split(" : ")[0] in printed


@pytest.mark.parametrize("line", BODY)
def test_an_operation_reads_back(line):
    printed = run(f"func.func @f(%m: memref<4xf32>) {{\n{line}\nfunc.return\n}}", [])
    assert run(printed, []) == printed and line.split("%m")[0].split(" = ")[1].strip() in printed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("memref.global @a : memref<?xf32>", "static shaped"),
        ("memref.global @a : f32", "expected a memref type"),
        ("memref.global @a : memref<2xi32> = dense<[1, 2, 3]>", "Shape mismatch"),
    ],
)
def test_a_global_that_is_none_is_refused(line, message):
    with pytest.raises(InvalidInput, match=message):
        run(f"builtin.module {{\n{line}\n}}", [])
