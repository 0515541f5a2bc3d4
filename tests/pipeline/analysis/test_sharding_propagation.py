"""The rules of division, against NumPy: parts of the operands alone give the parts of the results."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, f32, i32, i64
from xdsl.dialects.test import TestOp

from tileiras_build.ir.dialects.nv_tileas.ops import COUNTERPARTS
from tileiras_build.pipeline.analysis.sharding_propagation import Sharding, ShardingError, propagate

EXTENTS = st.sampled_from([1, 2, 4, 8])
SHAPES = st.lists(EXTENTS, min_size=1, max_size=4)


def build(name, shapes, result, **attributes):
    """(operation, its operands) on tiles of these shapes."""
    values = TestOp(result_types=[TensorType(f32, shape) for shape in shapes]).results
    op = COUNTERPARTS[f"nv_tileaa.{name}"]
    groups = [*values, *[None] * (len(op.operand_groups) - len(values))]
    if len(op.operand_groups) == 1 and op.operand_groups[0][1] == "*":
        groups = [list(values)]
    return op.make(groups, [TensorType(f32, result)], attributes, [])


def part(array, dim, rank, ctas):
    return array if dim is None else np.split(array, ctas, axis=dim)[rank]


def check(op, compute, ctas):
    """Every way to divide the operation that ``relate`` gives is right; returns how many there are."""
    rng, found = np.random.default_rng(0), 0
    operands = [rng.integers(0, 9, value.type.get_shape()).astype(float) for value in op.operands]
    whole = compute(*operands)
    for value in (*op.operands, *op.results):
        for dim in range(len(value.type.get_shape())):
            parts = propagate(op, value, dim, ctas)
            if parts is None:
                continue
            dims = dict(parts)
            assert dims[value] == dim
            for rank in range(ctas):
                mine = [part(array, dims[v], rank, ctas) for v, array in zip(op.operands, operands)]
                expected = part(whole, dims[op.results[0]], rank, ctas)
                np.testing.assert_array_equal(compute_of(op, mine, compute, expected.shape), expected)
            found += 1
    return found


def compute_of(op, operands, compute, shape):
    """Views and broadcasts of a part have the shape of the result's part."""
    if op.name == "nv_tileas.view":
        return operands[0].reshape(shape)
    if op.name == "nv_tileas.broadcast":
        return np.broadcast_to(operands[0], shape)
    return compute(*operands)


@settings(max_examples=40)
@given(st.data(), SHAPES, st.sampled_from([2, 4]))
def test_views(data, shape, ctas):
    size = int(np.prod(shape))
    cuts = sorted(data.draw(st.lists(st.integers(0, size.bit_length() - 1), max_size=3)))
    ends = [0, *cuts, size.bit_length() - 1]
    other = [1 << high - low for low, high in pairwise(ends)]
    check(build("view", [shape], other), lambda x: x.reshape(other), ctas)


def test_a_view_that_merges_dimensions_keeps_the_outer_ones_parts():
    op = build("view", [[8, 4]], [32])
    assert propagate(op, op.source, 0, 4) == [(op.source, 0), (op.result, 0)]
    assert propagate(op, op.result, 0, 4) == [(op.result, 0), (op.source, 0)]
    assert propagate(op, op.source, 1, 4) is None


@settings(max_examples=40)
@given(st.data(), SHAPES, st.sampled_from([2, 4]))
def test_permutations(data, shape, ctas):
    order = data.draw(st.permutations(range(len(shape))))
    op = build("permute", [shape], [shape[d] for d in order], permutation=DenseArrayBase.from_list(i64, order))
    found = check(op, lambda x: x.transpose(order), ctas)
    assert found == 2 * sum(extent % ctas == 0 for extent in shape)


@settings(max_examples=40)
@given(st.data(), SHAPES, st.sampled_from([2, 4]))
def test_broadcasts(data, shape, ctas):
    source = [data.draw(st.sampled_from([1, extent])) for extent in shape]
    check(build("broadcast", [source], shape), lambda x: np.broadcast_to(x, shape), ctas)


@settings(max_examples=40)
@given(st.data(), SHAPES.filter(lambda shape: len(shape) > 1), st.sampled_from([2, 4]))
def test_reductions_and_scans(data, shape, ctas):
    axis = data.draw(st.integers(0, len(shape) - 1))
    where = {"axis": IntegerAttr(axis, i32)}
    others = sum(extent % ctas == 0 for dim, extent in enumerate(shape) if dim != axis)
    reduced = build("reduce", [shape], [extent for dim, extent in enumerate(shape) if dim != axis], **where)
    assert check(reduced, lambda x: x.sum(axis=axis), ctas) == 2 * others
    assert check(build("scan", [shape], shape, **where), lambda x: x.cumsum(axis=axis), ctas) == 2 * others


@settings(max_examples=40)
@given(st.lists(EXTENTS, max_size=1), EXTENTS, EXTENTS, EXTENTS, st.sampled_from([2, 4]))
def test_dots(batch, m, n, k, ctas):
    op = build("dot", [[*batch, m, k], [*batch, k, n], [*batch, m, n]], [*batch, m, n])
    found = check(op, lambda a, b, c: a @ b + c, ctas)
    batches = sum(extent % ctas == 0 for extent in batch)
    assert found == 4 * batches + 3 * (m % ctas == 0) + 3 * (n % ctas == 0)


@settings(max_examples=40)
@given(SHAPES, st.sampled_from([2, 4]))
def test_elements(shape, ctas):
    assert check(build("addf", [shape, shape], shape), np.add, ctas) == 3 * sum(extent % ctas == 0 for extent in shape)


# ---- what does not go together -------------------------------------------------------------------
def test_one_tile_cannot_be_both_operands_of_a_dot():
    source = TestOp(result_types=[TensorType(f32, [8, 8])]).results[0]
    op = COUNTERPARTS["nv_tileaa.dot"].make([source, source, source, None, None], [source.type])
    with pytest.raises(ShardingError, match="both sharded and replicated|two dimensions"):
        Sharding(2).shard(op, op.result, 0)


def test_a_tile_and_its_transpose_are_not_added_in_parts():
    source = TestOp(result_types=[TensorType(f32, [8, 8])]).results[0]
    order = {"permutation": DenseArrayBase.from_list(i64, [1, 0])}
    turned = COUNTERPARTS["nv_tileaa.permute"].make([source], [source.type], order)
    total = COUNTERPARTS["nv_tileaa.addf"].make([source, turned.result], [source.type])
    with pytest.raises(ShardingError, match="two dimensions"):
        Sharding(2).shard(total, total.result, 0)
