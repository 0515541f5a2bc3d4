"""Every row of the first lowering: the operation, its operands, types and attributes; and what has no row."""

from pathlib import Path

import pytest
from public_operations import convert, kernel_text, parse_kernel

from tileiras_build.core.errors import InternalError, TileirasError, Unsupported
from tileiras_build.ir.bytecode import read_module
from tileiras_build.ir.bytecode.opcodes import V13_3, VERSIONS
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module
from tileiras_build.pipeline import tilebc_to_tileaa
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.rewriting.dialect_conversion import RuleTable
from tileiras_build.pipeline.tilebc_to_tileaa import (
    arithmetic,
    control_flow,
    convert_cudatile_to_tileaa,
    matmul_reduce_scan,
    memory,
    shapes,
)
from tileiras_build.pipeline.tilebc_to_tileaa.convert_cudatile_to_tileaa import POPULATORS, RULES, populate
from tileiras_build.target.targets import find_target

SAME_OPERANDS = arithmetic.SAME_OPERANDS | memory.SAME_OPERANDS | shapes.SAME_OPERANDS
F, I, B, P, PI = "f32:8", "i32:8", "i1:8", "ptr f32:8", "ptr i32:8"  # noqa: E741 - letters of types
ROUNDED = "rounding_mode = #cuda_tile.rounding<nearest_even>"
WRAPS = "overflow = #cuda_tile.overflow<none>"
SIGNED, UNSIGNED = (f"signedness = #cuda_tile.signedness<{sign}>" for sign in ("signed", "unsigned"))

# public operation -> operand types, result types, properties
_UNARY = "absf ceil cos cosh floor log log2 negf sin sinh tan rsqrt exp2"
_ROUNDED_UNARY = {"exp": "full", "tanh": "full", "sqrt": "nearest_even"}
SIGNATURES = {
    **{name: ([F], [F], "") for name in _UNARY.split()},
    **{name: ([F], [F], f"rounding_mode = #cuda_tile.rounding<{mode}>") for name, mode in _ROUNDED_UNARY.items()},
    **{name: ([F, F], [F], ROUNDED) for name in "addf subf mulf divf".split()},
    **{name: ([I, I], [I], WRAPS) for name in "addi subi muli shli".split()},
    **{name: ([I, I], [I], "") for name in "andi ori xori mulhii".split()},
    "absi": ([I], [I], ""),
    "atan2": ([F, F], [F], ""),
    "remf": ([F, F], [F], ""),
    "fpowf": ([F, F], [F], ""),
    "fpowi": ([F, I], [F], ""),
    "fma": ([F, F, F], [F], ROUNDED),
    "select": ([B, F, F], [F], ""),
    "trunci": ([I], ["i8:8"], WRAPS),
    "ftof": ([F], ["f16:8"], ROUNDED),
    "offset": ([P, I], [P], ""),
    "int_to_ptr": (["i64:8"], [P], ""),
    "ptr_to_int": ([P], ["i64:8"], ""),
    "ptr_to_ptr": ([P], [PI], ""),
    "bitcast": ([F], [I], ""),
    "pack": (["f4E2M1FN:8"], ["i8:4"], ""),
    "unpack": (["i8:4"], ["f4E2M1FN:8"], ""),
    "iota": ([], [I], ""),
    "make_token": ([], ["token"], ""),
    "memory_fence_alias_tko": (["token"], ["token"], ""),
    "get_tensor_shape": (["memref"], ["i32", "i32"], ""),
    "get_index_space_shape": (["partition"], ["i32", "i32"], ""),
    "make_partition_view": (["memref"], ["partition"], ""),
    "make_strided_view": (["memref"], ["strided"], ""),
    "make_gather_scatter_view": (["memref"], ["gather"], ""),
}
# "pow" is the name that the specification's text uses for what the bytecode calls fpowf.
NOT_IN_BYTECODE = {"pow"}


def types(op):
    return [str(value.type) for value in (*op.operands, *op.results)]


@pytest.mark.seed("lowering-overview", "populators")
def test_three_parts_fill_the_table_in_their_order():
    arithmetic_and_control, memory_and_views, last = (set().union(*part) for part in POPULATORS)
    assert {"addf", "cmpi", "for", "if", "loop", "entry"} <= arithmetic_and_control
    assert {"load_view_tko", "offset", "join_tokens", "make_tensor_view", "make_partition_view"} <= memory_and_views
    assert last == {"mmaf", "mmaf_scaled", "mmai", "reduce", "scan"}
    assert list(RULES) == [f"cuda_tile.{name}" for part in POPULATORS for rows in part for name in rows]


@pytest.mark.seed("lowering-overview", "populators")
def test_an_operation_has_one_row():
    with pytest.raises(InternalError, match="rule-twice.*mmaf.* has two conversions"):
        populate([*POPULATORS, (matmul_reduce_scan.RULES,)])


def test_every_one_to_one_row_has_a_signature_here():
    assert set(SIGNATURES) >= set(SAME_OPERANDS) - NOT_IN_BYTECODE


@pytest.mark.seed("lowering-overview", "contract-tileaa")
@pytest.mark.parametrize("name", [name for name in SIGNATURES if name in SAME_OPERANDS])
def test_one_to_one(name):
    [op] = convert(name, *SIGNATURES[name])
    assert op.name == SAME_OPERANDS[name].name
    assert [value.index for value in op.operands] == list(range(len(SIGNATURES[name][0])))
    assert len(op.results) == len(SIGNATURES[name][1])
    assert not any("cuda_tile" in type for type in types(op))


@pytest.mark.parametrize("mode", ["nearest_even", "zero", "negative_inf", "positive_inf"])
@pytest.mark.parametrize("name", ["addf", "fma"])
def test_rounding_and_flushing_are_carried(name, mode):
    operands, results, _ = SIGNATURES[name]
    [op] = convert(name, operands, results, f"rounding_mode = #cuda_tile.rounding<{mode}>, flush_to_zero")
    assert op.attributes["rounding_mode"].data == mode and "flush_to_zero" in op.attributes


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("name", arithmetic.BY_SIGNEDNESS)
def test_signedness_picks_the_operation(name, signed):
    operands, results, extra = {
        "exti": ([I], ["i64:8"], ""),
        "itof": ([I], [F], ", " + ROUNDED),
        "ftoi": ([F], [I], ", rounding_mode = #cuda_tile.rounding<nearest_int_to_zero>"),
    }.get(name, ([I, I], [I], ""))
    [op] = convert(name, operands, results, (SIGNED if signed else UNSIGNED) + extra)
    assert op.name == arithmetic.BY_SIGNEDNESS[name][signed].name
    assert "ui" in op.name.removeprefix("arith.") or signed


# The verifier of the public dialect refuses an unsigned division rounded down.
@pytest.mark.parametrize(("rounding", "signed"), sorted(arithmetic.DIVISIONS.keys() - {("negative_inf", False)}))
def test_division_by_rounding_and_sign(rounding, signed):
    properties = f"{SIGNED if signed else UNSIGNED}, rounding = #cuda_tile.rounding<{rounding}>"
    [op] = convert("divi", [I, I], [I], properties)
    expected = {"zero": "div", "negative_inf": "floordiv" if signed else "div", "positive_inf": "ceildiv"}[rounding]
    assert op.name == f"arith.{expected}{'s' if signed else 'u'}i"


@pytest.mark.parametrize(("name", "propagates"), arithmetic.MIN_MAX)
def test_extremum_by_nan(name, propagates):
    [op] = convert(name, [F, F], [F], "propagate_nan" if propagates else "")
    assert op.name == f"arith.{name[:3]}{'imum' if propagates else 'num'}f"


@pytest.mark.parametrize("predicate", arithmetic.CMPI)
def test_integer_comparison(predicate):
    names = {"equal": "eq", "not_equal": "ne", "less_than": "lt", "less_than_or_equal": "le"}
    names |= {"greater_than": "gt", "greater_than_or_equal": "ge"}
    for sign, letter in ((SIGNED, "s"), (UNSIGNED, "u")):
        properties = f"comparison_predicate = #cuda_tile.comparison_predicate<{predicate}>, {sign}"
        [op] = convert("cmpi", [I, I], [B], properties)
        prefix = "" if predicate in ("equal", "not_equal") else letter
        assert (op.name, op.attributes["predicate"].data) == ("arith.cmpi", prefix + names[predicate])


@pytest.mark.parametrize("ordering", ["ordered", "unordered"])
@pytest.mark.parametrize("predicate", arithmetic.CMPF)
def test_float_comparison(predicate, ordering):
    names = {"equal": "eq", "not_equal": "ne", "less_than": "lt", "less_than_or_equal": "le"}
    names |= {"greater_than": "gt", "greater_than_or_equal": "ge"}
    properties = f"comparison_predicate = #cuda_tile.comparison_predicate<{predicate}>, "
    [op] = convert(
        "cmpf", [F, F], [B], properties + f"comparison_ordering = #cuda_tile.comparison_ordering<{ordering}>"
    )
    assert op.attributes["predicate"].data == ordering[0] + names[predicate]


def names_of(operations):
    return [op.name.split(".")[1] for op in operations]


@pytest.mark.parametrize(
    ("name", "operands", "results", "properties", "expected"),
    [
        ("negi", [I], [I], WRAPS, ["constant", "splat", "subi"]),
        ("negi", ["i32"], ["i32"], WRAPS, ["constant", "subi"]),
        ("reshape", ["f32:4x2"], ["f32:8"], "", ["view"]),
        ("reshape", ["f32"], ["f32:1x1"], "", ["splat"]),
        ("reshape", ["f32:1x1"], ["f32"], "", ["constant", "extract_slice"]),
        ("broadcast", ["f32:4x1"], ["f32:4x8"], "", ["broadcast"]),
        ("broadcast", ["f32:4x8"], ["f32:4x8"], "", []),
        ("permute", ["f32:4x2"], ["f32:2x4"], "permutation = array<i32: 1, 0>", ["permute"]),
        ("cat", ["f32:4x2", "f32:4x2"], ["f32:4x4"], "dim = 1 : i64", ["cat"]),
        ("extract", ["f32:8x4", "i32", "i32"], ["f32:2x2"], "", ["extract_slice"]),
        ("insert", ["f32:2x2", "f32:8x4", "i32", "i32"], ["f32:8x4"], "", ["insert_slice"]),
        ("assume", ["i32"], ["i32"], "predicate = #cuda_tile.div_by<16>", ["assume"]),
        ("join_tokens", ["token", "token"], ["token"], "", ["join_mem_token"]),
        ("get_tile_block_id", [], ["i32", "i32", "i32"], "", ["get_program_id"] * 3),
        ("get_num_tile_blocks", [], ["i32", "i32", "i32"], "", ["get_num_programs"] * 3),
        ("assert", [B], [], 'message = "no"', ["assert"]),
        ("gdc_wait_tko", ["token"], ["token"], "", ["grid_dependency"]),
        ("gdc_launch_dependents_tko", ["token"], ["token"], "", ["grid_dependency"]),
    ],
)
def test_shapes_and_the_rest(name, operands, results, properties, expected):
    assert names_of(convert(name, operands, results, properties)) == expected


WEAK = "memory_ordering_semantics = #cuda_tile.memory_ordering_semantics<weak>"
RELAXED = (
    "memory_ordering_semantics = #cuda_tile.memory_ordering_semantics<relaxed>, "
    "memory_scope = #cuda_tile.memory_scope<device>"
)
ADD = ", mode = #cuda_tile.atomic_rmw_mode<addf>"


def segments(*sizes):
    return f", operandSegmentSizes = array<i32: {', '.join(map(str, sizes))}>"


MEMORY = {
    "load_ptr_tko": ([P, B, F, "token"], [F, "token"], WEAK + segments(1, 1, 1, 1), "load", (1, 1, 1, 1)),
    "store_ptr_tko": ([P, F, B, "token"], ["token"], RELAXED + segments(1, 1, 1, 1), "store", (1, 1, 1, 1)),
    "atomic_rmw_tko": ([P, F, "token"], [F, "token"], RELAXED + ADD + segments(1, 1, 0, 1), "atomic_rmw", (1, 1, 0, 1)),
    "atomic_cas_tko": ([PI, I, I, B], [I, "token"], RELAXED + segments(1, 1, 1, 1, 0), "atomic_cas", (1, 1, 1, 1, 0)),
    "load_view_tko": (
        ["partition", "i32", "i32", "token"],
        ["f32:4x8", "token"],
        WEAK + segments(1, 2, 1),
        "tiled_load",
        (1, 2, 1),
    ),
    "store_view_tko": (
        ["f32:4x8", "partition", "i32", "i32"],
        ["token"],
        WEAK + segments(1, 1, 2, 0),
        "tiled_store",
        (1, 1, 2, 0),
    ),
}


@pytest.mark.seed("lowering-overview", "contract-tileaa")
@pytest.mark.parametrize("name", MEMORY)
def test_memory_operations_keep_their_groups(name):
    operands, results, properties, expected, sizes = MEMORY[name]
    [op] = convert(name, operands, results, properties)
    assert op.name == f"nv_tileaa.{expected}"
    assert op.properties["operandSegmentSizes"].get_values() == sizes
    assert op.attributes["mem_semantic"].data == ("weak" if "<weak>" in properties else "relaxed")
    assert ("mem_scope" in op.attributes) == ("memory_scope" in properties)
    if "mode" in properties:
        assert op.attributes["mode"].data == "addf"


def test_stored_tile_and_view_change_places():
    [op] = convert("store_view_tko", *MEMORY["store_view_tko"][:3])
    assert (op.view.index, op.value.index, [coord.index for coord in op.coords]) == (1, 0, [2, 3])


VIEWS = {
    "partition": ("partition", (4, 8), (4, 8), -1, "zero"),
    "strided": ("strided", (4, 8), (2, 8), -1, "none"),
    "gather": ("gather", (4, 8), (1, 1), 0, "none"),
}


@pytest.mark.seed("lowering-overview", "contract-tileaa")
@pytest.mark.parametrize("kind", VIEWS)
def test_views_carry_tile_steps_and_padding(kind):
    name = {"gather": "make_gather_scatter_view"}.get(kind, f"make_{kind}_view")
    [op] = convert(name, ["memref"], [kind])
    view = op.result.type
    assert (view.kind.data, view.tile, view.steps, view.sparse.data, view.padding.data) == VIEWS[kind]
    assert (view.source.shape, view.source.strides) == ((None, 16), (16, 1))


REDUCTION = """{
    ^bb1(%x: !cuda_tile.tile<f32>, %y: !cuda_tile.tile<f32>):
      %z = "cuda_tile.addf"(%x, %y) <{rounding_mode = #cuda_tile.rounding<nearest_even>}>
        : (!cuda_tile.tile<f32>, !cuda_tile.tile<f32>) -> !cuda_tile.tile<f32>
      "cuda_tile.yield"(%z) : (!cuda_tile.tile<f32>) -> ()
    }"""


@pytest.mark.seed("lowering-overview", "contract-tileaa")
def test_reduction_and_scan_keep_axis_direction_and_region():
    identities = "identities = [0.0 : f32]"
    [reduce] = convert("reduce", ["f32:4x8"], ["f32:4"], f"dim = 1 : i32, {identities}", REDUCTION)
    [scan] = convert("scan", ["f32:4x8"], ["f32:4x8"], f"dim = 0 : i32, reverse = true, {identities}", REDUCTION)
    assert (reduce.attributes["axis"].value.data, scan.attributes["axis"].value.data) == (1, 0)
    assert "reverse" in scan.attributes and "reverse" not in reduce.attributes
    assert names_of(reduce.regions[0].blocks[0].ops) == ["addf", "yield"]


@pytest.mark.seed("lowering-overview", "populators-specialists")
@pytest.mark.parametrize(
    "missing", [arithmetic, control_flow, shapes], ids=lambda module: module.__name__.split(".")[-1]
)
def test_a_reduction_is_converted_by_the_rows_of_the_parts_before(missing, monkeypatch):
    constant = 'value = #cuda_tile.dense<"0000803f" : !cuda_tile.tile<f32>>'
    one = f'%one = "cuda_tile.constant"() <{{{constant}}}> : () -> !cuda_tile.tile<f32>\n'
    given = "reduce", ["f32:4x8"], ["f32:4"], "dim = 1 : i32, identities = [0.0 : f32]"
    region = REDUCTION.replace("%z = ", one + "%z = ").replace("(%x, %y)", "(%x, %one)")
    assert names_of(convert(*given, region)[0].regions[0].blocks[0].ops) == ["constant", "addf", "yield"]
    rest = [tuple(rows for rows in part if rows is not missing.RULES) for part in POPULATORS]
    monkeypatch.setattr(convert_cudatile_to_tileaa, "RULES", populate(rest))
    with pytest.raises(Unsupported, match="operation-unsupported"):
        convert(*given, region)


@pytest.mark.seed("lowering-overview", "type-functors")
@pytest.mark.parametrize(
    ("name", "operands", "forms"),
    [
        ("absf", ["f32:4x8"], ["tensor<4x8xf32>"]),
        ("absf", ["f32"], ["f32"]),
        ("offset", ["ptr f32", "i32"], ["!nv_tileaa.ptr<f32>", "i32"]),
        ("offset", [P, I], ["tensor<8x!nv_tileaa.ptr<f32>>", "tensor<8xi32>"]),
        ("memory_fence_alias_tko", ["token"], ["!nv_tileaa.mem_token"]),
    ],
)
def test_tiles_pointers_and_tokens_have_internal_forms(name, operands, forms):
    """Of arguments of blocks, of operands and of results alike."""
    [op] = convert(name, operands, operands[:1])
    assert types(op) == [*forms, forms[0]]
    assert [str(type) for type in op.parent.arg_types] == forms


@pytest.mark.seed("lowering-overview", "tokens-stay-values")
def test_tokens_are_values_that_order_memory():
    text = """entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
      %first = make_token : token
      %old, %read = load_ptr_tko weak %p token = %first : tile<ptr<f32>> -> tile<f32>, token
      %written = store_ptr_tko weak %p, %x token = %read : tile<ptr<f32>>, tile<f32> -> token
      %all = join_tokens %read, %written : token
      %done = store_ptr_tko weak %p, %old token = %all : tile<ptr<f32>>, tile<f32> -> token
      return
    }"""
    module = tilebc_to_tileaa.lower(parse_text(text), Job(find_target("sm_90")))
    made, load, store, join, last = (op for op in module.walk() if "token" in "".join(types(op)))
    assert [op.name for op in (made, join)] == ["nv_tileaa.create_mem_token", "nv_tileaa.join_mem_token"]
    assert [load.token, store.token, last.token] == [made.results[0], load.results[-1], join.results[0]]
    assert list(join.operands) == [load.results[-1], store.results[-1]]


@pytest.mark.parametrize(
    ("bounds", "stays"),
    [
        ("%two to %two", False),
        ("%two to %one", False),
        ("%n to %n", False),
        ("%one to %two", True),
        ("%one to %n", True),
    ],
)
def test_a_loop_without_iterations_is_its_initial_values(bounds, stays):
    text = f"""entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{
      %one = constant <i32: 1> : tile<i32>
      %two = constant <i32: 2> : tile<i32>
      %result = for %i in ({bounds}, step %one) : tile<i32> iter_values(%total = %n) -> (tile<i32>) {{
        %more = addi %total, %i : tile<i32>
        continue %more : tile<i32>
      }}
      %done = store_ptr_tko weak %p, %result : tile<ptr<i32>>, tile<i32> -> token
      return
    }}"""
    module = tilebc_to_tileaa.lower(parse_text(text), Job(find_target("sm_90")))
    assert any(op.name == "nv_tileaa.for" for op in module.walk()) is stays


MMAS = {
    "mmaf": (["f16:16x16", "f16:16x16", "f32:16x16"], "", (1, 1, 1, 0, 0)),
    "mmai": (
        ["i8:16x16", "i8:16x16", "i32:16x16"],
        "signedness_lhs = #cuda_tile.signedness<signed>, signedness_rhs = #cuda_tile.signedness<unsigned>",
        (1, 1, 1, 0, 0),
    ),
}


@pytest.mark.seed("lowering-overview", "contract-tileaa")
@pytest.mark.parametrize("name", MMAS)
def test_mmas(name):
    operands, properties, sizes = MMAS[name]
    [op] = convert(name, operands, [operands[2]], properties)
    assert op.name == "nv_tileaa.dot" and op.properties["operandSegmentSizes"].get_values() == sizes
    if name == "mmai":
        assert (op.attributes["signedness_lhs"].data, op.attributes["signedness_rhs"].data) == ("signed", "unsigned")


@pytest.mark.parametrize("number", [0, 1, -1])
def test_integer_constants(number):
    data = number.to_bytes(4, "little", signed=True).hex()
    properties = f'value = #cuda_tile.dense<"{data}" : !cuda_tile.tile<i32>>'
    [op] = convert("constant", [], ["i32"], properties)
    assert op.properties["value"].value.data == number


def test_constant_tiles_are_splats_or_tables():
    splat = 'value = #cuda_tile.dense<"07000000" : !cuda_tile.tile<8xi32>>'
    table = f'value = #cuda_tile.dense<"{bytes(range(4)).hex()}" : !cuda_tile.tile<4xi8>>'
    assert names_of(convert("constant", [], ["i32:8"], splat)) == ["constant", "splat"]
    assert names_of(convert("constant", [], ["i8:4"], table)) == ["constant"]


def without_rows(monkeypatch, *names: str) -> None:
    """Another table: rows that are taken out and put back would stand at its end."""
    rows = {name: row for name, row in RULES.items() if name.removeprefix("cuda_tile.") not in names}
    monkeypatch.setattr(convert_cudatile_to_tileaa, "RULES", RuleTable(rows, otherwise=RULES.otherwise))


# ---- refusals ----------------------------------------------------------------------------------------------------
@pytest.mark.seed("lowering-overview", "contract-producer")
def test_operation_without_a_row_is_reported_once_with_its_types(monkeypatch):
    without_rows(monkeypatch, "absf")
    with pytest.raises(Unsupported, match="operation-unsupported.*operation absf .*8xf32.* has no lowering yet"):
        convert("absf", [F], [F])


@pytest.mark.seed("lowering-overview", "contract-producer")
def test_all_refusals_of_a_module_are_collected(monkeypatch):
    """Two operations without rows: both are named, the user of the first's result is not."""
    without_rows(monkeypatch, "absf", "sin")
    line = '%s = "cuda_tile.sin"(%r0) : (!cuda_tile.tile<8xf32>) -> !cuda_tile.tile<8xf32>\n"cuda_tile.return"'
    text = kernel_text("absf", [F], [F]).replace('"cuda_tile.return"', line)
    with pytest.raises(TileirasError) as caught:
        tilebc_to_tileaa.lower(parse_kernel(text), Job(find_target("sm_90")))
    message = str(caught.value)
    assert message.count("absf") == 1 and message.count("operation sin") == 1


@pytest.mark.seed("target-and-debug-info", "source-emitted")
def test_target_is_written_on_the_module():
    module = tilebc_to_tileaa.lower(parse_kernel(kernel_text("absf", [F], [F])), Job(find_target("sm_120")))
    assert module.attributes["nv_tileaa.compute_capability"].value.data == 120
    assert module.attributes["nv_tileaa.target_spec"].data == "sm_120a"


PREBUILT = sorted((Path(__file__).parents[3] / "examples" / "prebuilt").glob("*.tilebc"))


@pytest.mark.parametrize("path", PREBUILT, ids=lambda path: path.stem)
def test_every_version_of_the_bytecode_is_lowered_alike(path):
    module = read_module(path.read_bytes())
    versions = [version for version in VERSIONS if version >= V13_3]  # older files lack what these kernels use
    lowered = {
        str(tilebc_to_tileaa.lower(read_module(write_module(module, version=version)), Job(find_target("sm_90"))))
        for version in versions
    }
    assert len(lowered) == 1


MULTICAST = """entry @k(%base: tile<ptr<TYPE, <multicast>>>, %i: tile<i32>) {
  %view = make_tensor_view %base, shape = [SHAPE], strides = [STRIDE] : tile<ptr<TYPE, <multicast>>> -> VIEW
  %tiles = make_partition_view %view : partition_view<tile=(4), VIEW>
  %total, %after = multimem_load_reduce_view_tko acquire sys %tiles[%i] : partition_view<tile=(4), VIEW>, tile<i32> -> tile<4xTYPE>, token
  %added = multimem_reduce_view_tko relaxed device %tiles, %total[%i] token = %after : partition_view<tile=(4), VIEW>, tile<4xTYPE>, tile<i32>, token -> token
  %done = multimem_store_view_tko weak %tiles, %total[%i] token = %added : partition_view<tile=(4), VIEW>, tile<4xTYPE>, tile<i32>, token -> token
  return
}"""


def multicast(type, shape, stride):
    view = f"tensor_view<{shape}x{type}, strides=[{stride}], #cuda_tile.ptr_attr<multicast>>"
    text = MULTICAST.replace("VIEW", view).replace("TYPE", type)
    return parse_text(text.replace("SHAPE", str(shape)).replace("STRIDE", str(stride)))


@pytest.mark.parametrize("type, shape, stride", [("f32", 15, 3), ("bf16", 16, 1)])
def test_operations_on_multicast_objects_keep_order_and_reduction(type, shape, stride):
    module = tilebc_to_tileaa.lower(multicast(type, shape, stride), Job(find_target("sm_90")))
    found = {op.name: op for op in module.walk() if ".multimem" in op.name}
    load, add, store = (found[f"nv_tileaa.multimem_{name}"] for name in ("load_reduce", "reduce", "store"))
    assert [op.attributes["mem_semantic"].data for op in (load, add, store)] == ["acquire", "relaxed", "weak"]
    assert [op.attributes["mem_scope"].data for op in (load, add)] == ["sys", "device"]
    assert [op.attributes["mode"].data for op in (load, add)] == ["add", "add"]
    assert add.token is load.results[1] and store.token is add.results[0] and store.value is load.results[0]


@pytest.mark.parametrize("shape, stride", [(15, 1), (16, 2)])
def test_halves_that_are_not_in_pairs_are_refused(shape, stride):
    with pytest.raises(TileirasError) as caught:
        tilebc_to_tileaa.lower(multicast("f16", shape, stride), Job(find_target("sm_90")))
    assert str(caught.value).count("multimem-pairs") == 3
