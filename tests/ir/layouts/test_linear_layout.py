"""The algebra of layouts against NumPy on arrays of coordinates."""

import pickle

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tileiras_build.ir.layouts import LinearLayout, coalesced, pack, unpack

from .strategies import layout_pairs, layouts

EXAMPLE = LinearLayout.from_bases({"register": [1, 8], "lane": [2, 4]}, (4, 4))


def held(layout, tile):
    """What every register of every thread holds of a tile."""
    return tile.reshape(-1)[layout.as_array()]


def numbered(layout):
    return numpy.arange(layout.size).reshape(layout.shape)


def test_the_example_of_the_essay():
    assert EXAMPLE.apply(register=2, lane=3) == (3, 2)
    assert EXAMPLE.apply(register=1, lane=0) == (0, 1)
    assert EXAMPLE.preimage(pack((3, 2), (4, 4))) == (2, 3, 0, 0)
    assert EXAMPLE.free_bits("lane") == 0b11100
    assert not EXAMPLE.is_injective and EXAMPLE.is_surjective


def test_rank_zero():
    scalar = coalesced((), (), 1, 4)
    assert scalar.apply(0, 31, 3) == () and scalar.num_registers == 1 and scalar.num_warps == 4
    assert scalar.expand_dims(0).broadcast_dim(0, 4).apply(3) == (3,)


@pytest.mark.parametrize("bad", [dict(shape=(3,)), dict(shape=(4,)), dict(lanes=(1,))])
def test_bad_layouts_are_refused(bad):
    good = dict(registers=(8,), lanes=(1, 2, 4, 0, 0), warps=(), shape=(16,))
    with pytest.raises(ValueError):
        LinearLayout(**(good | bad))


@settings(max_examples=40)
@given(layouts())
def test_apply_agrees_with_the_array(layout):
    array = layout.as_array()
    for warp in range(layout.num_warps):
        for lane in (0, 7, 31):
            found = [pack(layout.apply(r, lane, warp), layout.shape) for r in range(layout.num_registers)]
            assert found == list(array[0, warp, lane])
            base = layout.thread_index(lane, warp)
            assert found == [base ^ offset for offset in layout.register_offsets]


@settings(max_examples=40)
@given(layouts())
def test_free_bits_leave_each_element_once(layout):
    array = layout.as_array()[0]
    for axis, name in enumerate(("warp", "lane", "register")):
        free = layout.free_bits(name)
        array = array.take([i for i in range(array.shape[axis]) if not i & free], axis)
    assert sorted(array.reshape(-1)) == list(range(layout.size))


@settings(max_examples=40)
@given(layouts())
def test_preimage_is_a_holder_without_free_bits(layout):
    for index in range(layout.size):
        register, lane, warp, _ = layout.preimage(index)
        assert layout.index(register, lane, warp) == index
        assert not register & layout.free_bits("register") and not lane & layout.free_bits("lane")
        assert not warp & layout.free_bits("warp")


@settings(max_examples=40)
@given(layouts())
def test_distinct_registers(layout):
    distinct, ours, number = layout.distinct_registers()
    assert len(set(distinct.register_offsets)) == distinct.num_registers
    for mine, theirs in enumerate(number):
        assert layout.register_offsets[mine] == distinct.register_offsets[theirs]
        assert layout.register_offsets[mine] == layout.register_offsets[ours[theirs]]
    assert distinct.equivalent(layout) and layout.equivalent(distinct)


@settings(max_examples=40)
@given(layout_pairs())
def test_invert_and_compose_finds_every_element(pair):
    source, target = pair
    matrix = source.invert_and_compose(target)
    array = target.as_array()[0]
    for (warp, lane, register), index in numpy.ndenumerate(array):
        hardware = register | lane << len(target.registers) | warp << (len(target.registers) + 5)
        image = 0
        for bit, column in enumerate(matrix):
            image ^= column * (hardware >> bit & 1)
        assert source.index(*source.split_hardware(image)) == index


@settings(max_examples=40)
@given(layouts(), st.data())
def test_permute_dims(layout, data):
    order = data.draw(st.permutations(range(layout.rank)))
    tile = numbered(layout)
    assert (held(layout.permute_dims(order), tile.transpose(order)) == held(layout, tile)).all()


@settings(max_examples=40)
@given(layouts())
def test_reshape_and_transpose(layout):
    tile = numbered(layout)
    assert (held(layout.reshape((layout.size,)), tile) == held(layout, tile)).all()
    assert layout.transpose().transpose() == layout


@settings(max_examples=40)
@given(layouts(), st.data())
def test_project_is_the_layout_of_a_broadcast_source(layout, data):
    dim = data.draw(st.integers(0, layout.rank - 1))
    small = layout.project(dim)
    tile = numbered(small)
    wide = numpy.broadcast_to(tile, layout.shape)
    assert (held(small, tile) == held(layout, numpy.ascontiguousarray(wide))).all()
    assert layout.drop_dim(dim).expand_dims(dim) == small


@settings(max_examples=40)
@given(layouts(), st.data())
def test_broadcast_dim_repeats_registers(layout, data):
    dim = data.draw(st.integers(0, layout.rank))
    source = layout.expand_dims(dim)
    result = source.broadcast_dim(dim, 4)
    tile = numbered(source)
    repeated = numpy.ascontiguousarray(numpy.broadcast_to(tile, result.shape))
    count = source.num_registers
    expected = held(source, tile)[..., [r % count for r in range(result.num_registers)]]
    assert (held(result, repeated) == expected).all()


@settings(max_examples=40)
@given(layouts(), st.data())
def test_cat_and_slice_registers(layout, data):
    dim = data.draw(st.integers(0, layout.rank - 1))
    first, second = numbered(layout), numbered(layout) + layout.size
    joined = layout.cat(dim)
    both = numpy.concatenate([held(layout, first), held(layout, second)], axis=-1)
    assert (held(joined, numpy.concatenate([first, second], axis=dim)) == both).all()
    part, registers = joined.slice_registers(dim, layout.shape[dim], layout.shape[dim])
    assert part == layout
    assert list(registers) == list(range(layout.num_registers, 2 * layout.num_registers))


@settings(max_examples=40)
@given(layouts())
def test_join(layout):
    first, second = numbered(layout), numbered(layout) + layout.size
    both = numpy.concatenate([held(layout, first), held(layout, second)], axis=-1)
    assert (held(layout.join(), numpy.stack([first, second], axis=-1)) == both).all()


def test_slice_of_lanes_needs_data_movement():
    layout = coalesced((64, 64), (1, 0), 4, 4)
    assert layout.slice_registers(1, 0, 32) is None
    part, registers = layout.slice_registers(0, 32, 32)
    assert part.shape == (32, 64) and len(registers) == part.num_registers == layout.num_registers // 2
    assert all(layout.apply(old, 5, 1)[0] - 32 == part.apply(new, 5, 1)[0] for new, old in enumerate(registers))


@settings(max_examples=40)
@given(layouts(), st.data())
def test_bits_along_say_what_a_reduction_combines(layout, data):
    dim = data.draw(st.integers(0, layout.rank - 1))
    along = layout.bits_along(dim)
    for name, bases in layout.bases.items():
        for bit, basis in enumerate(bases):
            assert (unpack(basis, layout.shape)[dim] != 0) == bool(along[name] >> bit & 1)


@pytest.mark.parametrize("vector", [1, 2, 4, 8])
@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_contiguous_is_the_vector_of_a_coalesced_layout(vector, order):
    layout = coalesced((64, 128), order, vector, 8)
    assert layout.contiguous(order) == vector
    assert layout.contiguous(order[::-1]) == 1


def test_registers_in_the_order_of_memory():
    """Also with copies of elements, and bits along another dimension."""
    layout = LinearLayout((8, 16, 256, 1, 0, 2, 4), (32, 64, 128, 512, 1024), (0, 0), (16, 128))
    ordered = layout.in_memory_order((1, 0))
    assert ordered.registers == (1, 2, 4, 8, 16, 256, 0) and ordered.contiguous() == 32
    assert layout.in_memory_order((0, 1)).contiguous((0, 1)) == 1 and ordered.equivalent(layout)
    assert ordered.in_memory_order((1, 0)) == ordered


@settings(max_examples=40)
@given(layouts())
def test_layouts_are_values(layout):
    copy = pickle.loads(pickle.dumps(layout))
    assert copy == layout and hash(copy) == hash(layout)
    assert LinearLayout.from_bases(layout.bases, layout.shape) == layout
