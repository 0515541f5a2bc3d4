"""block-scaled dots: correct results for every type, block and shape, by the instruction that scales where there is one."""

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr, i32

from tests.emulated_kernels import aligned, assembled, compiled, scheduled_case
from tests.pairwise import alternate
from tests.pipeline.tileaa_to_tileas.scaled_operands import KERNELS, expected, operands, padded, run_any, sizes
from tileiras_build import compile
from tileiras_build.core.errors import InternalError
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.ir.casting import as_op
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.pipeline.verifiers.cp_async_buffers import verify_cp_async_buffers
from tileiras_build.pipeline.verifiers.mbarrier_pipelines import verify_pipelines
from tileiras_build.simulate import emulator
from tileiras_build.target import sass_listing
from tileiras_build.target.element_types import ELEMENT_TYPES
from tileiras_build.target.targets import TARGETS

BLOCK_SCALE = {
    "e4m3": "kind::mxf8f6f4",
    "e5m2": "kind::mxf8f6f4",
    "e4m3_tall": "kind::mxf8f6f4",
    "e4m3_wide": "kind::mxf8f6f4",
    "e5m2_long": "kind::mxf8f6f4",
    "e4m3_rows": "kind::mxf8f6f4",
    "e4m3_across": "kind::mxf8f6f4",
    "e4m3_twice": "kind::mxf8f6f4",
    "e4m3_two_ctas": "kind::mxf8f6f4",
    "e4m3_ahead": "kind::mxf8f6f4",
    "e4m3_ahead_rows": "kind::mxf8f6f4",
    "e4m3_one_scale": "kind::mxf8f6f4",
    "e4m3_deep": "kind::mxf8f6f4",
    "e4m3_narrow": "kind::mxf8f6f4",
    "e4m3_batch": "kind::mxf8f6f4",
    "fp4": "kind::mxf4.",
    "fp4_pairs": "kind::mxf4.",
    "fp4_pairs_large": "kind::mxf4.",
    "fp4_pairs_turned": "kind::mxf4.",
    "fp4_one_scale": "kind::mxf8f6f4",
    "nvfp4_pairs": "kind::mxf4nvf4.",
    "nvfp4_pairs_turned": "kind::mxf4nvf4.",
    "mxfp4_fetched": "kind::mxf4.",
    "nvfp4_fetched": "kind::mxf4nvf4.",
    "nvfp4_fetched_turned": "kind::mxf4nvf4.",
    "mxfp4_bytes": "kind::mxf4.",
    "mxfp4_bytes_tall": "kind::mxf4.",
    "mxfp4_bytes_short": "kind::mxf4.",
    "mxfp4_bytes_small": "kind::mxf4.",
    "nvfp4_bytes": "kind::mxf4nvf4.",
    "nvfp4_bytes_wide": "kind::mxf4nvf4.",
    "nvfp4_bytes_tall": "kind::mxf4nvf4.",
    "mxfp4_bytes_ahead": "kind::mxf4.",
    "nvfp4_bytes_ahead": "kind::mxf4nvf4.",
    "nvfp4_bytes_reordered": "kind::mxf4nvf4.",
    "nvfp4_bytes_batch": "kind::mxf4nvf4.",
    "nvfp4_bytes_two_ctas": "kind::mxf4nvf4.",
    # mma.sync of PTX ISA 9.0 has no power of two for 16 elements, and elements that are not read in pairs keep the signs of scales.
    "fp4_blocks_of_16": None,
    "fp4_signed_scales": None,
    "mxfp4_bytes_of_16": None,
    "e4m3_divided": "kind::mxf8f6f4",
    "nvfp4_bytes_divided": "kind::mxf4nvf4.",
}

# Tensor memory has 128 rows or more; fp4 is loaded where rows are known to begin on multiples of 16 bytes.
IN_TENSOR_MEMORY = {
    name: kind
    for kind, names in {
        "kind::mxf8f6f4.block_scale":
            "e4m3 e5m2 e4m3_tall e4m3_wide e5m2_long e4m3_rows e4m3_across e4m3_twice e4m3_two_ctas e4m3_ahead e4m3_ahead_rows",
        "kind::mxf4.block_scale.block32":
            "mxfp4_fetched mxfp4_bytes mxfp4_bytes_tall mxfp4_bytes_short mxfp4_bytes_ahead",
        "kind::mxf4nvf4.block_scale.block16":
            "mxfp4_bytes_of_16 nvfp4_fetched nvfp4_fetched_turned nvfp4_bytes nvfp4_bytes_wide nvfp4_bytes_tall"
            " nvfp4_bytes_two_ctas nvfp4_bytes_reordered nvfp4_bytes_ahead",
    }.items()
    for name in names.split()
}  # fmt: skip


def shape_of(name, tiles):
    """Sizes that take so many tiles down and across, and several steps, where the kernel has a loop."""
    if "batch" in name:
        return sizes(name)[:-1]
    m, n, k, _ = sizes(name)
    return tiles[0] * m, tiles[1] * n, 3 * k


SEEN = {
    "sm_100": lambda name, index: name in IN_TENSOR_MEMORY or name in ("fp4", "e4m3_narrow", "fp4_blocks_of_16"),
    "sm_120": lambda name, index: name not in IN_TENSOR_MEMORY or index % 6 == 0,
    "sm_80": lambda name, index: index % 16 == 0,
    "sm_90": lambda name, index: index % 16 == 11,
}

STICKING_OUT = alternate(
    "mxfp4_fetched mxfp4_bytes_short mxfp4_bytes_of_16 nvfp4_fetched nvfp4_bytes_wide nvfp4_bytes_tall".split(),
    ["sm_100", "sm_80", "sm_120"],
)
LENGTHS = [*(("e5m2", steps) for steps in (0, 1, 2, 9, 16)), *(("nvfp4_bytes_ahead", steps) for steps in (1, 2, 5, 9))]
# What other tests here run, at sizes that say more.
ELSEWHERE = {*STICKING_OUT, *((name, sm) for name, _ in LENGTHS for sm in ("sm_100", "sm_120"))}

# What alone has an instruction.
ALONE = (
    ("e5m2", "sm_90"), ("e5m2_long", "sm_80"), ("e4m3_across", "sm_80"), ("e4m3_twice", "sm_120"),
    ("e4m3_batch", "sm_100"), ("fp4_pairs_turned", "sm_100"),
)  # fmt: skip

# Kernels whose second number of a program counts no tiles, and one whose tile alone is no row of 16 bytes.
DOWN, ACROSS = (2, 1), (1, 2)
ONLY = {"e4m3_rows": DOWN, "e4m3_ahead_rows": DOWN, "e4m3_narrow": ACROSS}
# sm_100 sees what its tensor memory multiplies, sm_120 all others and some of those; the other two multiply what was scaled
# in registers, which is the same for kernels of the same types.
RESULTS = [
    (name, sm, ONLY.get(name, (DOWN, ACROSS)[(index + column) % 2]))
    for index, name in enumerate(BLOCK_SCALE)
    for column, sm in enumerate(SEEN)
    if (SEEN[sm](name, index) or (name, sm) in ALONE) and (name, sm) not in ELSEWHERE
]


@pytest.mark.parametrize(("name", "sm", "tiles"), RESULTS)
def test_results(name, sm, tiles):
    given = operands(name, shape_of(name, tiles))
    passed = [*given[:2], given[2].T, given[3].T, given[4]] if "turned" in name else given
    found = run_any(name, sm, passed, (1, 1, 1) if "batch" in name or name.endswith("rows") else (*tiles, 1))
    np.testing.assert_array_equal(found, (2 if name == "e4m3_twice" else 1) * expected(name, *given[:4]))


@pytest.mark.parametrize(("name", "tile", "scales"), [("e4m3", [32, 512], 16), ("nvfp4_bytes", [16, 512], 64)])
def test_deep_tiles_and_their_scales_take_shorter_steps(name, tile, scales):
    """Two tiles of each factor do not fit in shared memory."""
    tileas = compiled(KERNELS, f"{name}_divided", "sm_120").tileas
    assert f"tile = {tile}" in tileas and f"tile = {[tile[0], scales]}" in tileas


@pytest.mark.parametrize("sm", ["sm_100", "sm_120"])
@pytest.mark.parametrize(("name", "steps"), LENGTHS)
def test_loops_of_any_length(name, steps, sm):
    m, n, k = sizes(name)[:3]
    a, a_scale, b, b_scale, out = operands(name, (m, n, max(steps, 1) * k), seed=steps)
    given = [a, a_scale, b, b_scale, out] if steps else [a[:, :0], a_scale[:, :0], b[:0], b_scale[:0], out]
    np.testing.assert_array_equal(run_any(name, sm, given), expected(name, *given[:4]))


@pytest.mark.parametrize("name", ["fp4_pairs", "fp4_pairs_large", "fp4_pairs_turned"])
def test_pairs_of_fp4_are_copied_and_multiplied_as_bytes(name):
    artifacts = compiled(KERNELS, name, "sm_120")
    assert artifacts.tileas.count("nv_tileas.dot") == 1 and "packed" in artifacts.tileas
    assert "cp.async.ca" in artifacts.ptx or "cp.async.cg" in artifacts.ptx


@pytest.mark.parametrize("name", ["mxfp4_fetched", "nvfp4_fetched_turned"])
def test_tensor_maps_of_fp4_are_of_bytes(name):
    """Extents along k are halved, and so are strides."""
    for sm in ("sm_100", "sm_120"):
        maps = compiled(KERNELS, name, sm).manifest["kernels"][name]["tensor_maps"]
        assert [row["element"] for row in maps[:2]] == ["u8", "u8"]
        assert all(row["shape"][0]["over"] == row["strides"][0]["over"] == 2 for row in maps[:2])
        assert all("over" not in row["shape"][1] for row in maps[:2])


# The twin of sm_120 makes the same code, and sm_90 has no such instruction.
SCALING = [
    *(
        (name, "sm_120")
        for index, name in enumerate(BLOCK_SCALE)
        if SEEN["sm_120"](name, index) or (name, "sm_120") in ELSEWHERE
    ),
    *(("e4m3", "sm_121"), ("nvfp4_bytes", "sm_121"), ("fp4", "sm_90")),
]


@pytest.mark.parametrize(("name", "sm"), SCALING)
def test_the_instruction_scales_where_it_can(name, sm):
    ptx = compiled(KERNELS, name, sm).ptx
    kind = BLOCK_SCALE[name] if TARGETS[sm].has("mma_block_scale") else None
    assert ("block_scale" in ptx, kind is None or kind in ptx) == (kind is not None, True)


@pytest.mark.parametrize("sm", ["sm_100", "sm_120"])
@pytest.mark.parametrize("name", ["e4m3_ahead", "e4m3_ahead_rows", "mxfp4_bytes_ahead", "nvfp4_bytes_ahead"])
def test_scales_are_copied_ahead(name, sm):
    """Where four bytes or more of a line are known to lie together."""
    tileas = compiled(KERNELS, name, sm).tileas
    loop = tileas[tileas.rindex("nv_tileas.for") :]
    assert loop.count("nv_tileas.async_tiled_load") == 2 and "nv_tileas.tiled_load" not in loop
    assert "cp.async.c" in compiled(KERNELS, name, sm).ptx
    assert verify_cp_async_buffers(parse(tileas.encode())) >= 1


@pytest.mark.parametrize(
    ("name", "steps"),
    [*(("e4m3_grouped", steps) for steps in (1, 8, 21)), ("mxfp4_bytes_grouped", 9), ("nvfp4_bytes_grouped", 9)],
)
def test_iterations_of_a_group_load_their_scales_once(name, steps):
    """Also where the last group is not complete: nothing multiplies by what lies behind."""
    m, n, k, _ = sizes(name)
    a, a_scale, b, b_scale, out = operands(name, (m, n, steps * k), seed=steps)
    turned = [b.T, padded(b_scale.T)] if name.startswith("e4m3") else [b, padded(b_scale.T).T]
    found = run_any(name, "sm_100", [a, padded(a_scale), *turned, out])
    np.testing.assert_array_equal(found, expected(name, a, a_scale, b, b_scale))
    module = parse(compiled(KERNELS, name, "sm_100").tileas.encode())
    [mma] = (as_op(op) for op in module.walk() if op.name == "nv_tileas.async.umma")
    assert mma.scale_steps * k // sizes(name)[-1] >= 16 and verify_cp_async_buffers(module) == 4


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("e4m3_pair", 1),
        ("e4m3_pair", 10),
        ("e4m3_pair_tall", 9),
        ("mxfp4_bytes_pairs", 5),
        ("nvfp4_bytes_large", 3),  # no hint: tensor memory of one CTA has no columns for its scales
        ("nvfp4_bytes_pair_persistent", 3),
    ],
)
def test_a_pair_of_ctas_has_scales_in_both(name, steps):
    """Those of its rows, and of all columns, also of tiles that stick out."""
    m, n, k, _ = sizes(name)
    a, a_scale, b, b_scale, out = operands(name, (m + 40, n + 16, steps * k), seed=steps)
    turned = [b.T, padded(b_scale.T)] if name.startswith("e4m3") else [b, padded(b_scale.T).T]
    grid = (2, 1, 1) if name.endswith("persistent") else (2, 2, 1)
    found = run_any(name, "sm_100", [a, padded(a_scale), *turned, out], grid)
    np.testing.assert_array_equal(found, expected(name, a, a_scale, b, b_scale))
    ptx = compiled(KERNELS, name, "sm_100").ptx
    assert "tcgen05.cp.cta_group::2" in ptx and "tcgen05.mma.cta_group::2.kind::mx" in ptx
    assert verify_pipelines(scheduled_case(KERNELS, name, "sm_100")) == 3


def test_a_ring_of_groups_is_proved():
    """A group is read once, and may not be overwritten before."""
    module = parse(compiled(KERNELS, "nvfp4_bytes_onto", "sm_100").tileas.encode())
    barriers = [op for op in module.walk() if op.name == "nv_tileas.barrier" and op.prev_op]
    loop = next(op for op in barriers if op.prev_op.name == "nv_tileas.async_wait")
    loop.prev_op.attributes["pending"] = IntegerAttr(3, i32)
    with pytest.raises(InternalError, match="is read before every thread's copies"):
        verify_cp_async_buffers(module)


@pytest.mark.parametrize(
    ("name", "sm"),
    [
        *((name, "sm_100") for name in IN_TENSOR_MEMORY),
        ("e4m3", "sm_110"),
        ("mxfp4_bytes", "sm_103"),
        ("nvfp4_bytes", "sm_103"),
    ],
)
def test_tensor_memory_holds_scales(name, sm):
    assert f"tcgen05.mma.cta_group::1.{IN_TENSOR_MEMORY[name]}" in compiled(KERNELS, name, sm).ptx
    assert verify_pipelines(scheduled_case(KERNELS, name, sm)) >= 2


@pytest.mark.parametrize(("name", "sm"), STICKING_OUT)
def test_tiles_that_stick_out(name, sm):
    """On every side: the bytes, their scales and the result."""
    m, n, k, _ = sizes(name)
    given = operands(name, (m + m // 2 + 2, n // 2 + 16, 2 * k + 32), seed=1)
    np.testing.assert_array_equal(run_any(name, sm, given, (2, 1, 1)), expected(name, *given[:4]))


@pytest.mark.parametrize("sm", ["sm_100", "sm_120"])
@pytest.mark.parametrize("code", [0x7F, 0xFF])
def test_both_codes_of_no_number(code, sm):
    """They are scales without the sign, too; a zero with a sign is one (``operands``)."""
    given = operands("nvfp4_bytes", sizes("nvfp4_bytes")[:-1])
    given[1].view(np.uint8)[3, 5] = code
    found = run_any("nvfp4_bytes", sm, given)
    assert np.isnan(found[3]).all()
    np.testing.assert_array_equal(
        np.delete(found, 3, axis=0), np.delete(expected("nvfp4_bytes", *given[:4]), 3, axis=0)
    )


@pytest.mark.parametrize("sm", ["sm_100", "sm_120"])
@pytest.mark.parametrize("name", ["e4m3", "fp4"])
def test_a_scale_that_is_no_number(name, sm):
    """It spoils the row of the result."""
    given = operands(name, sizes(name)[:-1])
    given[1][3, 0] = np.nan
    found = run_any(name, sm, given)
    assert np.isnan(found[3]).all() and not np.isnan(np.delete(found, 3, axis=0)).any()


@pytest.mark.parametrize(
    ("name", "sm"),
    [
        ("e4m3", "sm_120"),
        ("e5m2", "sm_103"),
        ("mxfp4_bytes", "sm_100"),
        ("nvfp4_bytes", "sm_121"),
    ],
)
def test_the_assembler_takes_it(name, sm):
    """A dot of scaled blocks is one instruction there, too."""
    artifacts = assembled(KERNELS, name, sm)
    [listing] = sass_listing.read_listings(sass_listing.disassemble(artifacts.cubin))
    assert listing.count("QMMA", "OMMA", "UTCQMMA", "UTCOMMA") >= 2 and not listing.count(
        *sass_listing.SPILL, "HMMA", "UTCHMMA"
    )


UNSIGNED_SCALES = """cuda_tile.module @m {{
entry @k(%pa: tile<ptr<f4E2M1FN>>, %pb: tile<ptr<f4E2M1FN>>, %ps: tile<ptr<fnv8E5M3FNU>>, %pt: tile<ptr<fnv8E5M3FNU>>, %pc: tile<ptr<f32>>) {{
  %t = make_token : token
  %z = constant <i32: 0> : tile<i32>
  %none = constant <f32: 0.0> : tile<64x32xf32>
  %va = make_tensor_view %pa, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf4E2M1FN, strides=[64,1]>
  %vb = make_tensor_view %pb, shape = [64, 32], strides = [1, 64] : tensor_view<64x32xf4E2M1FN, strides=[1,64]>
  %vs = make_tensor_view %ps, shape = [64, {N}], strides = [{N}, 1] : tensor_view<64x{N}xfnv8E5M3FNU, strides=[{N},1]>
  %vt = make_tensor_view %pt, shape = [{N}, 32], strides = [32, 1] : tensor_view<{N}x32xfnv8E5M3FNU, strides=[32,1]>
  %vc = make_tensor_view %pc, shape = [64, 32], strides = [32, 1] : tensor_view<64x32xf32, strides=[32,1]>
  %qa = make_partition_view %va : partition_view<tile=(64x64), tensor_view<64x64xf4E2M1FN, strides=[64,1]>>
  %qb = make_partition_view %vb : partition_view<tile=(64x32), tensor_view<64x32xf4E2M1FN, strides=[1,64]>>
  %qs = make_partition_view %vs : partition_view<tile=(64x{N}), tensor_view<64x{N}xfnv8E5M3FNU, strides=[{N},1]>>
  %qt = make_partition_view %vt : partition_view<tile=({N}x32), tensor_view<{N}x32xfnv8E5M3FNU, strides=[32,1]>>
  %qc = make_partition_view %vc : partition_view<tile=(64x32), tensor_view<64x32xf32, strides=[32,1]>>
  %a, %ta = load_view_tko weak %qa[%z, %z] token = %t : partition_view<tile=(64x64), tensor_view<64x64xf4E2M1FN, strides=[64,1]>>, tile<i32> -> tile<64x64xf4E2M1FN>, token
  %b, %tb = load_view_tko weak %qb[%z, %z] token = %t : partition_view<tile=(64x32), tensor_view<64x32xf4E2M1FN, strides=[1,64]>>, tile<i32> -> tile<64x32xf4E2M1FN>, token
  %s, %ts = load_view_tko weak %qs[%z, %z] token = %t : partition_view<tile=(64x{N}), tensor_view<64x{N}xfnv8E5M3FNU, strides=[{N},1]>>, tile<i32> -> tile<64x{N}xfnv8E5M3FNU>, token
  %u, %tu = load_view_tko weak %qt[%z, %z] token = %t : partition_view<tile=({N}x32), tensor_view<{N}x32xfnv8E5M3FNU, strides=[32,1]>>, tile<i32> -> tile<{N}x32xfnv8E5M3FNU>, token
  %c = mmaf_scaled %a, %b, %none, %s, %u : tile<64x64xf4E2M1FN>, tile<64x32xf4E2M1FN>, tile<64x32xf32>, tile<64x{N}xfnv8E5M3FNU>, tile<{N}x32xfnv8E5M3FNU>
  %tc = store_view_tko weak %c, %qc[%z, %z] token = %t : tile<64x32xf32>, partition_view<tile=(64x32), tensor_view<64x32xf32, strides=[32,1]>>, tile<i32> -> token
  return
}}
}}"""


@pytest.mark.parametrize("sm", ["sm_80", "sm_90", "sm_107", "sm_120"])
@pytest.mark.parametrize("block", [16, 32])
def test_scales_of_the_type_without_a_sign(block, sm):
    """As NVIDIA's compiler takes them, with fp4 alone; no instruction here scales by them."""
    code = write_module(parse_text(UNSIGNED_SCALES.format(N=64 // block), "k"))
    made = compile(code, sm, stop_at="ptx")
    rng, memory = np.random.default_rng(block), emulator.Memory()
    a, b = (aligned(rng.integers(0, 256, (rows, 32)).astype(np.uint8)) for rows in (64, 32))
    s, t = (aligned(rng.integers(112, 132, shape).astype(np.uint8)) for shape in ((64, 64 // block), (64 // block, 32)))
    c = aligned(np.zeros((64, 32), np.float32))
    params = [int(memory.map_array(array)).to_bytes(8, "little") for array in (a, b, s, t, c)]
    emulator.launch(made, "k", (1, 1, 1), params, memory=memory)
    fp4, scale = (
        np.array([ELEMENT_TYPES[name].format.value(bits) for bits in range(1 << ELEMENT_TYPES[name].bits)])
        for name in ("f4E2M1FN", "fnv8E5M3FNU")
    )
    left, right = (np.stack([array & 15, array >> 4], axis=-1).reshape(len(array), 64) for array in (a, b))
    left, right = fp4[left] * np.repeat(scale[s], block, axis=1), fp4[right] * np.repeat(scale[t.T], block, axis=1)
    np.testing.assert_allclose(c, left @ right.T, rtol=1e-5, atol=1e-4)
