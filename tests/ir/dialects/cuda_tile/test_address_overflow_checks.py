"""Static sizes and strides that multiply to more than 64 bits are refused when a program is read."""

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.ir.bytecode import read_module
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module

HALF = 1 << 62
FITS = (1 << 61) - 1  # elements of f32 that are less than 2^63 bytes


def entry(*lines: str) -> str:
    head = "entry @k(%p: tile<ptr<f32>>, %n: tile<i64>) {\n%zero = constant <i64: 0> : tile<i64>\n"
    return head + "\n".join(lines) + "\nreturn\n}"


def view(shape: str, strides: str, sizes: str = "", steps: str = "") -> str:
    """A tensor view of f32; ``sizes`` and ``steps`` are the operands or constants."""
    type = f"tensor_view<{shape}xf32, strides=[{strides}]>"
    dynamic = "tile<i64> -> " if "%" in sizes + steps else ""
    sizes, steps = sizes or shape.replace("x", ", "), steps or strides
    return f"%v = make_tensor_view %p, shape = [{sizes}], strides = [{steps}] : {dynamic}{type}"


def partition(tile: str, strides: str, index: str) -> list[str]:
    tensor = f"tensor_view<?xf32, strides=[{strides}]>"
    parted = f"partition_view<tile=({tile}), {tensor}>"
    return [
        view("?", strides, "%n"),
        f"%w = make_partition_view %v : {parted}",
        f"%i = constant <i64: {index}> : tile<i64>",
        f"%a, %t = load_view_tko weak %w[%i] : {parted}, tile<i64> -> tile<{tile}xf32>, token",
    ]


def strided(steps: str, strides: str) -> list[str]:
    tensor = f"tensor_view<?xf32, strides=[{strides}]>"
    return [
        view("?", strides, "%n"),
        f"%w = make_strided_view %v : strided_view<tile=(4), traversal_strides=[{steps}], {tensor}>",
    ]


def offset(number: int, through: str = "") -> list[str]:
    lines = [f"%c = constant <i64: {number}> : tile<i64>"]
    if not through:
        return [*lines, "%q = offset %p, %c : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>"]
    return [
        *lines,
        "%d = reshape %c : tile<i64> -> tile<1xi64>",
        "%e = broadcast %d : tile<1xi64> -> tile<4xi64>",
        "%p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>",
        "%p4 = broadcast %p1 : tile<1xptr<f32>> -> tile<4xptr<f32>>",
        "%q = offset %p4, %e : tile<4xptr<f32>>, tile<4xi64> -> tile<4xptr<f32>>",
    ]


REFUSED = {
    "stride": ([view("?x?", f"{HALF},1", "%n, %n")], f"a stride of {HALF} elements of f32 does not fit in 64 bits"),
    "stride-itself": ([view("?x?", f"{1 << 63},1", "%n, %n")], "64 bits"),
    "size": ([view(f"{1 << 63}", "1")], "64 bits"),
    "extent": ([view(f"{1 << 30}", f"{1 << 32}")], "the distance between the first and the last element"),
    "extent-of-two": (
        [view(f"{1 << 31}x{1 << 30}", f"{1 << 30},{1 << 30}")],
        "the distance between the first and the last",
    ),
    "constant-stride": (
        [f"%s = constant <i64: {HALF}> : tile<i64>", view("?", "?", "%n", "%s")],
        f"a stride of {HALF} elements",
    ),
    "constant-size": (
        [f"%s = constant <i64: {HALF}> : tile<i64>", view("?", "4", "%s")],
        "the distance between the first and the last",
    ),
    "across-a-tile": (partition("8", f"{1 << 59}", "0"), "64 bits"),
    "tiles": (partition("8", f"{1 << 58}", "0"), "the distance between neighboring tiles"),
    "tile-number": (partition("1024", "1", f"{1 << 55}"), f"the distance to tile {1 << 55}"),
    "traversal": (strided(f"{1 << 30}", f"{1 << 32}"), "the distance between neighboring tiles"),
    "offset": (offset(HALF), f"an offset of {HALF} elements of f32 does not fit"),
    "offset-back": (offset(-HALF), f"an offset of {-HALF} elements of f32 does not fit"),
    "offset-of-a-tile": (offset(HALF, "tile"), f"an offset of {HALF} elements of f32 does not fit"),
    "allocation": (
        [f"%m = alloca num_elem = {HALF}, alignment = 16 : tile<ptr<f32>>"],
        f"an allocation of {HALF} elements of f32",
    ),
    "constant": ([f"%c = constant <i64: {1 << 64}> : tile<i64>"], "does not fit in i64"),
    "constant-i32": (["%c = constant <i32: 5000000000> : tile<i32>"], "5000000000 does not fit in i32"),
    "constant-below": (["%c = constant <i32: -2147483649> : tile<i32>"], "-2147483649 does not fit in i32"),
    "constant-bits": (["%c = constant <f32: 0x123456789> : tile<f32>"], "0x123456789 does not fit in f32"),
}


@pytest.mark.parametrize("lines, message", REFUSED.values(), ids=REFUSED)
def test_extents_beyond_64_bits(lines, message):
    with pytest.raises(InvalidInput) as caught:
        parse_text(entry(*lines), "k.mlir")
    assert message in caught.value.message and caught.value.location.line > 0


TAKEN = {
    "stride": [view("?x?", f"{FITS},1", "%n, %n")],
    "extent": [view(f"{1 << 30}", f"{1 << 30}")],
    "one-row": [view("1x4", f"{FITS},1")],
    "dynamic": [view("?x?", "?,1", "%n, %n", "%n, 1")],
    "tile-number": partition("1024", "1", f"{1 << 50}"),
    "traversal": strided(f"{1 << 30}", f"{1 << 28}"),
    "offset": offset(FITS),
    "offset-back": offset(-(1 << 61)),
    "zero": offset(0, "tile"),
    "constants": [
        "%a = constant <i32: 4294967295> : tile<i32>",
        "%b = constant <i32: -2147483648> : tile<i32>",
        "%c = constant <i8: 0xFF> : tile<i8>",
        "%d = constant <f32: 0xFFC00000> : tile<f32>",
    ],
}


@pytest.mark.parametrize("lines", TAKEN.values(), ids=TAKEN)
def test_what_fits_is_taken(lines):
    assert read_module(write_module(parse_text(entry(*lines))))


def test_bytecode_says_at_which_byte():
    from tileiras_build.ir.bytecode.writer import write_module as write

    good = write(parse_text(entry(view("?x?", f"{FITS},1", "%n, %n"))))
    packed = FITS.to_bytes(8, "little")
    assert good.count(packed) == 1
    with pytest.raises(InvalidInput, match="a stride of") as caught:
        read_module(good.replace(packed, HALF.to_bytes(8, "little")), "k.tilebc")
    assert caught.value.location.offset


def test_a_chain_is_followed_a_bounded_number_of_times():
    chain = [f"%c{i + 1} = assume div_by<1>, %c{i} : tile<i64>" for i in range(40)]
    first, last = (
        f"%c0 = constant <i64: {HALF}> : tile<i64>",
        "%q = offset %p, %c40 : tile<ptr<f32>>, tile<i64> -> tile<ptr<f32>>",
    )
    parse_text(entry(first, *chain, last))
    with pytest.raises(InvalidInput, match="an offset of"):
        parse_text(entry(first, *chain[:10], last.replace("%c40", "%c10")))
