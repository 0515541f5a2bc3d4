"""Lists of operations are changed as xDSL changes them, and what is emptied is freed without Python's collector."""

import gc
import weakref
from contextlib import contextmanager

import pytest
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Block, Region

from tileiras_build.ir.dialects.fast_xdsl import append, create, erase, insert_before, ops_of_kind, release, walk


def undefined(type=i32):
    return create(llvm.UndefOp, (), (type,))


def sum_of(a, b):
    return create(llvm.AddOp, (a.results[0], b.results[0]), (i32,))


@pytest.mark.parametrize("place", range(3))
def test_insertion_is_that_of_xdsl(place):
    blocks = [Block([undefined(), undefined(), undefined()]) for _ in range(2)]
    made = [undefined(i64), undefined(i64)]
    insert_before(made[0], list(blocks[0].ops)[place])
    blocks[1].insert_op_before(made[1], list(blocks[1].ops)[place])
    forward, backward = [[[op.results[0].type for op in ops] for ops in (b.ops, reversed(b.ops))] for b in blocks]
    assert forward == backward
    assert blocks[0].first_op is next(iter(blocks[0].ops)) and made[0].parent is blocks[0]


def test_uses_are_those_of_xdsl():
    value = undefined()
    made = [sum_of(value, value), llvm.AddOp(value.results[0], value.results[0])]
    uses = [[use.index for use in value.results[0].uses if use.operation is op] for op in made]
    assert uses[0] == uses[1] and sorted(uses[0]) == [0, 1]


def test_instances_are_of_the_class_itself():
    a = undefined()
    assert ops_of_kind([a, made := sum_of(a, a)], llvm.AddOp) == [made]


@contextmanager
def without_collector():
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def test_what_is_released_needs_no_collector():
    """A value that several operations read, one from outside, arguments of blocks, and branches between these."""
    a, outer, inner = undefined(), Block(arg_types=[i32]), Block(arg_types=[i32, i32])
    made = [a, sum_of(a, a), create(llvm.AddOp, outer.args * 2, (i32,))]
    made.append(create(llvm.BrOp, (a.results[0], a.results[0]), successors=(inner,)))
    for op in made:
        append(outer, op)
    append(inner, create(llvm.AddOp, inner.args, (i32,)))
    append(inner, create(llvm.BrOp, (a.results[0],), successors=(outer,)))
    module = ModuleOp(Region([outer, inner]))
    freed = [*(value for op in walk(module) for value in op.results), *outer.args, *inner.args, outer, inner]
    freed = [weakref.ref(value) for value in freed]
    with without_collector():
        release(module)
        del op, a, made, outer, inner
        assert len(freed) == 9 and not any(reference() for reference in freed)


def test_what_is_erased_needs_no_collector():
    a, block = undefined(), Block()
    for op in (a, sum_of(a, a)):
        append(block, op)
    freed = weakref.ref(op.results[0])
    with without_collector():
        erase(op)
        del op
        assert freed() is None and a.results[0].first_use is None and list(block.ops) == [a]
