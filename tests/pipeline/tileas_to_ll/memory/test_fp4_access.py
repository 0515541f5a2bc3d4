"""4-bit elements in global memory share bytes, the even one in the lower half (Tile IR 13.3, tensor_view)."""

import ml_dtypes
import numpy as np
import pytest

import tileiras_build
from tests.simulate.interpreter.kernels import kernel
from tileiras_build.core.errors import TileirasError
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.simulate import emulator, interpreter

F4 = "f4E2M1FN"
# tensor shape, strides, tile: rows, columns, half bytes at either side, rows that begin within a byte, has_boundary_tile edges.
COPIES = {
    "rows": ((64, 64), (64, 1), (8, 32)),
    "columns": ((64, 64), (1, 64), (32, 8)),
    "thin": ((16, 8), (8, 1), (8, 1)),
    "odd": ((16, 8), (9, 1), (4, 4)),
    "edges": ((30, 22), (24, 1), (16, 16)),
    "tiny": ((2, 2), (8, 1), (1, 2)),
    "small": ((64, 64), (64, 1), (4, 4)),
}


def list_text(values, separator=", ") -> str:
    return separator.join(map(str, values))


def copy_text(shape, strides, tile) -> str:
    """Every block copies its tile from one tensor to another."""
    tensor = f"tensor_view<{list_text(shape, 'x')}x{F4}, strides=[{list_text(strides, ',')}]>"
    view, value = f"partition_view<tile=({list_text(tile, 'x')}), {tensor}>", f"tile<{list_text(tile, 'x')}x{F4}>"
    body = "  %i, %j, %k = get_tile_block_id : tile<i32>\n"
    for name in ("a", "b"):
        body += f"""  %{name}_v = make_tensor_view %{name}, shape = [{list_text(shape)}], strides = [{list_text(strides)}] : {tensor}
  %{name}_p = make_partition_view %{name}_v : {view}
"""
    body += f"""  %x, %t = load_view_tko weak %a_p[%i, %j] : {view}, tile<i32> -> {value}, token
  %s = store_view_tko weak %x, %b_p[%i, %j] : {value}, {view}, tile<i32> -> token"""
    return kernel({"a": F4, "b": F4}, body)


def halves(data: np.ndarray) -> np.ndarray:
    """The 4-bit elements of bytes, in order."""
    return np.stack([data & 15, data >> 4], 1).reshape(-1)


def launch(text: str, arrays, sm: str, grid=(1, 1, 1)) -> list[np.ndarray]:
    """Copies of the arrays after the compiled kernel; the interpreter leaves the same."""
    module = parse_text(text)
    artifacts = tileiras_build.compile(write_module(module), sm, stop_at="ptx")
    results = []
    for run in (
        lambda params, memory: emulator.launch(artifacts, "k", grid, params, memory=memory, check_races=True),
        lambda params, memory: interpreter.launch(module, "k", grid, params, memory=memory),
    ):
        copies = [np.frombuffer(bytearray(array.tobytes()), array.dtype) for array in arrays]
        memory = (interpreter if results else emulator).Memory()
        for copy in copies:
            memory.map_array(copy)
        run([copy.ctypes.data.to_bytes(8, "little") for copy in copies], memory)
        results.append(copies)
    for compiled, interpreted in zip(*results):
        np.testing.assert_array_equal(compiled, interpreted)
    return results[0]


@pytest.mark.parametrize("sm", ["sm_80", "sm_100"])
@pytest.mark.parametrize("name", COPIES)
def test_copies_of_tiles(name, sm):
    shape, strides, tile = COPIES[name]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 256, 2112, dtype=np.uint8) for _ in range(2))
    grid = (*(-(-size // extent) for size, extent in zip(shape, tile)), 1)
    _, copied = launch(copy_text(shape, strides, tile), [a, b], sm, grid)
    places = (np.arange(shape[0])[:, None] * strides[0] + np.arange(shape[1]) * strides[1]).reshape(-1)
    expected = halves(b)
    expected[places] = halves(a)[places]
    np.testing.assert_array_equal(halves(copied), expected)


def test_halves_of_a_byte_are_written_by_different_blocks_at_once():
    """The instruction must leave the other half to its writer."""
    ptx = tileiras_build.compile(write_module(parse_text(copy_text(*COPIES["thin"]))), "sm_90", stop_at="ptx").ptx
    assert "red.relaxed.gpu.global.and.b32" in ptx and "st.global.b8" not in ptx


def test_bytes_with_both_halves_in_a_thread_are_stored_whole():
    ptx = tileiras_build.compile(write_module(parse_text(copy_text(*COPIES["rows"]))), "sm_90", stop_at="ptx").ptx
    assert "red." not in ptx and "atom." not in ptx


DYNAMIC = f"tensor_view<?x?x{F4}, strides=[?,1]>"


def test_strides_known_at_run_time():
    shape, strides, tile = COPIES["rows"]
    text = copy_text(shape, strides, tile).replace(f"tensor_view<64x64x{F4}, strides=[64,1]>", DYNAMIC)
    text = text.replace(
        "shape = [64, 64], strides = [64, 1] :", "shape = [%size, %size], strides = [%size, 1] : tile<i32> ->"
    )
    text = text.replace("  %i, %j", "  %size = constant <i32: 64> : tile<i32>\n  %i, %j", 1)
    a, b = (np.random.default_rng(seed).integers(0, 256, 2048, dtype=np.uint8) for seed in (0, 1))
    np.testing.assert_array_equal(launch(text, [a, b], "sm_90", (8, 2, 1))[1], a)


VALUES = np.arange(16, dtype=np.uint8)
DECODED = VALUES.view(ml_dtypes.float4_e2m1fn).astype(np.float32)
FLOATS = """
  %f = ftof %x : tile<16xf4E2M1FN> -> tile<16xf32>
  %o_v = make_tensor_view %o, shape = [16], strides = [1] : tensor_view<16xf32, strides=[1]>
  %o_p = make_partition_view %o_v : partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>
  %s = store_view_tko weak %f, %o_p[%zero] : tile<16xf32>, partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>, tile<i32> -> token"""


def view_text(pointer: str, size: int, padding: str = "") -> str:
    tensor = f"tensor_view<{size}x{F4}, strides=[1]>"
    view = f"partition_view<tile=(16), {padding}{tensor}>"
    return f"""
  %v = make_tensor_view {pointer}, shape = [{size}], strides = [1] : {tensor}
  %p = make_partition_view %v : {view}
  %x, %t = load_view_tko weak %p[%zero] : {view}, tile<i32> -> tile<16x{F4}>, token"""


def packed(values) -> np.ndarray:
    return values[::2] | values[1::2] << np.uint8(4)


@pytest.mark.parametrize("sm", ["sm_80", "sm_120"])
def test_every_value_is_read_as_its_number(sm):
    text = kernel({"a": F4, "o": "f32"}, view_text("%a", 16) + FLOATS)
    _, out = launch(text, [packed(VALUES), np.zeros(16, np.float32)], sm)
    np.testing.assert_array_equal(out.view(np.int32), DECODED.view(np.int32))


def test_pointers_advance_by_half_bytes():
    text = kernel(
        {"a": F4, "o": "f32"},
        f"  %n = constant <i32: 4> : tile<i32>\n  %q = offset %a, %n : tile<ptr<{F4}>>, tile<i32> -> tile<ptr<{F4}>>"
        + view_text("%q", 16) + FLOATS,
    )  # fmt: skip
    _, out = launch(text, [packed(np.concatenate([VALUES[:4], VALUES])), np.zeros(16, np.float32)], "sm_90")
    np.testing.assert_array_equal(out, DECODED)


def test_tables_and_storage_of_half_bytes():
    """From a global constant through the block's own storage to f32."""
    tensor = f"tensor_view<16x{F4}, strides=[1]>"
    decoded = ", ".join(f"{number:e}" for number in DECODED)
    text = f"global @table alignment = 16 <{F4}: [{decoded}]> : tile<16x{F4}>\n" + kernel(
        {"o": "f32"},
        f"  %g = get_global @table : tile<ptr<{F4}>>" + view_text("%g", 16).replace("%t ", "%gt ") + f"""
  %a = alloca num_elem = 16, alignment = 16 : tile<ptr<{F4}>>
  %a_v = make_tensor_view %a, shape = [16], strides = [1] : {tensor}
  %a_p = make_partition_view %a_v : partition_view<tile=(16), {tensor}>
  %a_s = store_view_tko weak %x, %a_p[%zero] : tile<16x{F4}>, partition_view<tile=(16), {tensor}>, tile<i32> -> token
  %y, %y_t = load_view_tko weak %a_p[%zero] token=%a_s : partition_view<tile=(16), {tensor}>, tile<i32> -> tile<16x{F4}>, token"""
        + FLOATS.replace("ftof %x", "ftof %y"),
    )  # fmt: skip
    [out] = launch(text, [np.zeros(16, np.float32)], "sm_90")
    np.testing.assert_array_equal(out.view(np.int32), DECODED.view(np.int32))


def test_padding_of_negative_zeros():
    text = kernel({"a": F4, "o": "f32"}, view_text("%a", 6, "padding_value = neg_zero, ") + FLOATS)
    _, out = launch(text, [packed(VALUES[:6]), np.zeros(16, np.float32)], "sm_90")
    np.testing.assert_array_equal(
        out.view(np.int32), np.concatenate([DECODED[:6], [np.float32(-0.0)] * 10]).view(np.int32)
    )


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (f"  %b = reshape %a : tile<ptr<{F4}>> -> tile<1xptr<{F4}>>", "must have rank 0"),
        (
            view_text("%a", 16).replace("strides=[1]", "strides=[2]").replace("strides = [1]", "strides = [2]"),
            "exactly one",
        ),
    ],
)
def test_what_no_memory_can_hold_is_refused(body, says):
    with pytest.raises(TileirasError, match=says):
        parse_text(kernel({"a": F4}, body))
