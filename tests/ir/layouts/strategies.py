"""Hypothesis strategies for layouts."""

from hypothesis import strategies as st

from tileiras_build.ir.layouts import LinearLayout

LANE_BITS = 5


@st.composite
def shapes(draw, max_bits: int = 9) -> tuple[int, ...]:
    bits = draw(st.integers(0, max_bits))
    shape = []
    for _ in range(draw(st.integers(0, 2))):
        part = draw(st.integers(0, bits))
        shape.append(1 << part)
        bits -= part
    return (*shape, 1 << bits)


@st.composite
def surjective_layouts(draw, shape: tuple[int, ...], warp_bits: int, mixed: bool = True) -> LinearLayout:
    """Every element occurs; spare hardware bits replicate; with ``mixed`` some bases move several index bits."""
    size = 1
    for dim in shape:
        size *= dim
    count = size.bit_length() - 1
    bases = draw(st.permutations([1 << bit for bit in range(count)]))
    if mixed and count > 1 and draw(st.booleans()):
        for _ in range(draw(st.integers(1, 6))):
            i, j = draw(st.integers(0, count - 1)), draw(st.integers(0, count - 2))
            bases[i] ^= bases[j + (j >= i)]
    register_bits = max(0, count - LANE_BITS - warp_bits) + draw(st.integers(0, 2))
    spare = register_bits + LANE_BITS + warp_bits - count
    bases += [draw(st.integers(0, size - 1)) if mixed else 0 for _ in range(spare)]
    bases = draw(st.permutations(bases))
    lanes_end = register_bits + LANE_BITS
    registers, lanes, warps = bases[:register_bits], bases[register_bits:lanes_end], bases[lanes_end:]
    return LinearLayout(tuple(registers), tuple(lanes), tuple(warps), shape)


@st.composite
def layouts(draw, mixed: bool = True) -> LinearLayout:
    return draw(surjective_layouts(draw(shapes()), draw(st.integers(0, 2)), mixed))


@st.composite
def layout_pairs(draw) -> tuple[LinearLayout, LinearLayout]:
    """Two layouts of one tile; often with equal warps, so that shuffles are possible."""
    shape, warp_bits = draw(shapes()), draw(st.integers(0, 2))
    source = draw(surjective_layouts(shape, warp_bits))
    if draw(st.booleans()):
        return source, draw(surjective_layouts(shape, warp_bits))
    bases = draw(st.permutations(source.registers + source.lanes))
    split = len(source.registers)
    return source, LinearLayout(tuple(bases[:split]), tuple(bases[split:]), source.warps, shape)
