"""What the manifest says of parameters: roles, promises and accesses, the same on the way down as at its start."""

from itertools import cycle

import pytest

from tests.compiled_once import compiled
from tests.examples.example_library import bytecode_of
from tileiras_build.pipeline.analysis.kernel_parameters import describe
from tileiras_build.pipeline.tile_ir_text_format import parse

POINTER, INTEGER = "!nv_tileaa.ptr<f32>", "i32"
TEXT = """
nv_tileaa.func @{name} attributes {{num_warps = 1 : i32{more}}} {{
^bb0({arguments}):
  %t = nv_tileaa.create_mem_token : !nv_tileaa.mem_token
  %i = nv_tileaa.get_program_id {{axis = 1 : i32}} : i32
{body}
  nv_tileaa.return
}}
"""


def facts(body, types, name="k", signature=None):
    arguments = ", ".join(f"%{index}: {type}" for index, type in zip("abcdefgh", types))
    escaped = signature.replace('"', "\\22") if signature else ""
    more = f', signature = "{escaped}"' if signature else ""
    module = parse(TEXT.format(name=name, arguments=arguments, body=body, more=more).encode())
    [function] = [op for op in module.body.block.ops if op.name == "nv_tileaa.func"]
    return describe(function, name)


LOAD = "  %x, %u = nv_tileaa.load %{0} : (!nv_tileaa.ptr<f32>) -> (f32, !nv_tileaa.mem_token)\n"
STORE = "  %s = nv_tileaa.store %{0}, %{1} : (!nv_tileaa.ptr<f32>, f32) -> !nv_tileaa.mem_token\n"


@pytest.mark.parametrize(
    ("body", "access"),
    [
        ("", "unused"),
        (LOAD.format("a"), "loaded"),
        (STORE.format("a", "c"), "stored"),
        (LOAD.format("a") + STORE.format("a", "x"), "updated"),
        ("  %p = nv_tileaa.addptr %a, %b : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.ptr<f32>\n" + STORE.format("p", "c"), "stored"),
        ("  %o, %u = nv_tileaa.atomic_rmw %a, %c {mode = \"addf\"} : (!nv_tileaa.ptr<f32>, f32) -> (f32, !nv_tileaa.mem_token)\n",
         "updated"),
        ("  %n = nv_tileaa.ptr_to_int %a : (!nv_tileaa.ptr<f32>) -> i64\n" + LOAD.format("a"), None),
    ],
)  # fmt: skip
def test_access(body, access):
    assert facts(body, [POINTER, INTEGER, "f32"]).rows[0].access == access


LOOP = """
  %n = arith.constant 4 : i32
  %z = arith.constant 0 : i32
  %r, %q = nv_tileaa.for %z, %n, %n initial(%a, %b) : (i32, i32, i32, !nv_tileaa.ptr<f32>, !nv_tileaa.ptr<f32>) -> (!nv_tileaa.ptr<f32>, !nv_tileaa.ptr<f32>) {{
  ^bb1(%k: i32, %p: !nv_tileaa.ptr<f32>, %o: !nv_tileaa.ptr<f32>):
{body}
    nv_tileaa.continue {carried} : (!nv_tileaa.ptr<f32>, !nv_tileaa.ptr<f32>) -> ()
  }}
"""


def test_loops_keep_pointers_apart_or_mix_them():
    inside = LOAD.format("p") + STORE.format("o", "x")
    types = [POINTER, POINTER]
    apart = facts(_loop(inside, "%p, %o"), types)
    mixed = facts(_loop(inside, "%o, %p"), types)
    assert [row.access for row in apart.rows] == ["loaded", "stored"]
    assert [row.access for row in mixed.rows] == ["updated", "updated"]


def _loop(body, carried):
    return LOOP.format(body=body, carried=carried)


ASSUMED = """
  %p = nv_tileaa.assume %a {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %q = nv_tileaa.assume %p {predicate = #cuda_tile.div_by<24>} : !nv_tileaa.ptr<f32>
  %n = nv_tileaa.assume %b {predicate = #cuda_tile.bounded<0, ?>} : i32
  %m = nv_tileaa.assume %n {predicate = #cuda_tile.bounded<-4, 99>} : i32
  %w = nv_tileaa.assume %m {predicate = #cuda_tile.div_by<8>} : i32
"""


def test_assumptions_are_joined():
    pointer, number = facts(ASSUMED, [POINTER, INTEGER]).rows
    assert (pointer.divisor, pointer.element, pointer.role) == (48, "f32", "pointer")
    assert (number.divisor, number.minimum, number.maximum, number.role) == (8, 0, 99, "scalar")


def test_axes_of_the_grid():
    assert facts("", [INTEGER]).axes == [1]


MEMREF = """
  %m = nv_tileaa.make_memref %a sizes({sizes}) strides({strides}) : (!nv_tileaa.ptr<f32>{types}) -> !nv_tileaa.memref<f32, {type}>
"""


def view(sizes, strides, type):
    count = len([one for one in (*sizes.split(","), *strides.split(",")) if one])
    return MEMREF.format(sizes=sizes, strides=strides, types=", i32" * count, type=type)


TWO = [POINTER, *[INTEGER] * 4]


def test_the_convention_is_known_without_a_note():
    found = facts(view("%b, %c", "%d", "[?, ?], [?, 1]"), TWO)
    assert [(one.name, one.rank) for one in found.arguments] == [("arg0", 2)]
    assert [(row.name, row.axis, row.value) for row in found.rows[1:]] == [
        ("arg0_shape_0", 0, None), ("arg0_shape_1", 1, None), ("arg0_stride_0", 0, None), ("arg0_stride_1", 1, 1)
    ]  # fmt: skip


def test_dimensions_in_another_order_are_the_same_axes():
    note = '{"arguments": [["x", 2]]}'
    found = facts(view("%c, %b", "%d", "[?, ?], [1, ?]"), TWO, signature=note)
    assert {row.name: row.value for row in found.rows} == {
        "x": None, "x_shape_0": None, "x_shape_1": None, "x_stride_0": None, "x_stride_1": 1
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (view("%c, %b", "%d", "[?, ?], [?, 1]"), "k"),  # lengths in another order
        (view("%b, %c", "%b", "[?, ?], [?, 1]"), "k"),  # a stride that is a length
        (view("%b, %c", "%d", "[?, ?], [?, 1]"), "_Z1kPfiiii"),  # of C++, which has no such convention
        (view("%b, %c", "%d", "[?, ?], [?, 1]") + "  %y = arith.addi %e, %e : i32\n", "k"),  # what would be the unit stride is used
    ],
)  # fmt: skip
def test_other_conventions_are_scalars_and_addresses(body, name):
    found = facts(body, TWO, name)
    assert [one.rank for one in found.arguments] == [None] * 5
    assert [row.role for row in found.rows] == ["pointer", *["scalar"] * 4]
    assert found.argument_rows()[0]["view"]["strides"] == [None, 1]


def test_static_lengths_are_the_only_ones():
    note = '{"arguments": [["x", 2, 1]], "grid": ["rows"]}'
    found = facts(view("%b", "%d", "[?, 64], [?, 1]"), TWO, signature=note)
    assert [row.value for row in found.rows] == [None, None, 64, None, 1] and found.grid == ("rows",)


@pytest.mark.parametrize("note", ['{"arguments": [["x", 1]]}', '{"arguments": [["n"], ["x", 2]]}', "nothing"])
def test_a_note_that_does_not_fit_is_not_believed(note):
    assert facts("", TWO, signature=note).arguments[0].name == "arg0"


KERNELS = [
    "matmul_f16_nt",
    "batch_matmul_bf16_pairs",
    "histogram_i32",
    "gather_f32",
    "layer_norm_f32",
    "attention_f16_causal",
]


@pytest.mark.parametrize(("name", "sm"), list(zip(KERNELS, cycle(["sm_100", "sm_80", "sm_90"]))))
def test_passes_change_nothing_of_it(name, sm):
    """Copies, pipelines and tensor maps read and write what the program does."""
    artifacts = compiled(bytecode_of(name), sm, stop_at="tileas")
    before, after = (_kernel(getattr(artifacts, stage)) for stage in ("tileaa", "tileas"))
    assert before == after


def _kernel(text):
    [function] = [op for op in parse(text.encode()).body.block.ops if op.name == "nv_tileaa.func"]
    return describe(function, function.attributes["sym_name"].data)
